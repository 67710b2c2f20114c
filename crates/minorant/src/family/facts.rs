//! What every fitted model has: the model's name and settings, λ, the solver and how its run ended,
//! the certificate, and the fingerprint of the data. They stand beside the form's own keys in the
//! header of a model file. Threads, memory and limits of time are no facts of a model.

use super::{Data, Misfit, Settings, TrainReport};
use crate::audit::Claim;
use crate::certificate::Certificate;
use crate::fingerprint::Version;
use crate::options::common::WEIGHTS;
use serde_json::{Map, Value as Json, json};

/// The facts of a fitted model.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The model, with the settings that it depends on.
    pub settings: Settings,
    /// λ; nothing where losses are weighed by constants of their own.
    pub lambda: Option<f64>,
    /// The solver that found the model.
    pub solver: String,
    /// How the solver's run ended.
    pub status: String,
    /// The relative gap that was asked for.
    pub tol: f64,
    /// Objective and bound.
    pub certificate: Certificate,
    /// How far rounding may have moved the objective, which is rounded up by so much.
    pub rounding: f64,
    /// The gap of the last local model, where the problem is not convex.
    pub local_gap: Option<f64>,
    /// Iterations of the run; unknown in files of earlier versions.
    pub iterations: Option<u64>,
    /// Evaluations of the run; unknown in files of earlier versions.
    pub evaluations: Option<u64>,
    /// What the Python package keeps beside the model: names of features, types of labels.
    pub python: Option<Json>,
    /// Examples of the training data: rows, sequences or images.
    pub examples: usize,
    /// SHA-256 of the training data and of its example weights.
    pub data_sha256: String,
    /// Which fingerprint that is.
    pub fingerprint: Version,
}

impl From<Certificate> for Claim {
    fn from(certificate: Certificate) -> Self {
        let Certificate { objective, lower_bound } = certificate;
        Claim { objective, lower_bound }
    }
}

impl Facts {
    pub(crate) fn new(
        settings: &Settings,
        report: &TrainReport,
        data: Data<'_>,
        data_sha256: String,
    ) -> Self {
        let mut settings = settings.clone();
        // Example weights belong to the data, which its fingerprint stands for.
        if settings.entry().option(WEIGHTS.spec.name).is_some() {
            settings.put(&WEIGHTS, None);
        }
        Facts {
            lambda: report.lambda,
            solver: report.solver.into(),
            status: report.status.as_str().into(),
            tol: settings.tol(),
            certificate: report.certificate,
            rounding: report.rounding,
            local_gap: report.local_gap,
            iterations: Some(report.iterations),
            evaluations: Some(report.evaluations),
            python: None,
            examples: data.examples(),
            data_sha256,
            fingerprint: Version::default(),
            settings,
        }
    }

    /// The name of the model.
    pub fn model(&self) -> &'static str {
        self.settings.model()
    }

    /// Whether the bound proves a relative gap of at most what was asked for.
    pub fn is_certified(&self) -> bool {
        self.certificate.certifies(self.tol)
    }

    /// The keys of the header that every model has, and those of its settings.
    pub(super) fn header(&self) -> Map<String, Json> {
        let mut header = Map::new();
        header.extend(self.settings.kept());
        let facts = json!({
            "model": self.model(),
            "lambda": self.lambda,
            "solver": self.solver,
            "status": self.status,
            "tol": self.tol,
            "objective": self.certificate.objective,
            "lower_bound": self.certificate.lower_bound,
            "rounding": self.rounding,
            "local_gap": self.local_gap,
            "examples": self.examples,
            "data_sha256": self.data_sha256,
        });
        if let Json::Object(facts) = facts {
            header.extend(facts);
        }
        let counts = [("iterations", self.iterations), ("evaluations", self.evaluations)];
        let known = counts.into_iter().filter_map(|(name, count)| Some((name, json!(count?))));
        let python = self.python.clone().map(|notes| ("python", notes));
        let version = self.fingerprint.number().map(|number| (Version::KEY, json!(number)));
        header.extend(known.chain(python).chain(version).map(|(name, value)| (name.into(), value)));
        header
    }

    /// The facts that a header holds, of this version or of an earlier one.
    pub(super) fn of_header(header: &Json) -> Result<Self, Misfit> {
        let fields = header.as_object().ok_or_else(|| Misfit::without("a header with keys"))?;
        let incomplete = |name: &str| Misfit::without(format!("a complete header with {name}"));
        let text = |name: &str| {
            let found = fields.get(name).and_then(Json::as_str).map(String::from);
            found.ok_or_else(|| incomplete(name))
        };
        let number = |name: &str| fields.get(name).and_then(Json::as_f64);
        let whole = |name: &str| fields.get(name).and_then(Json::as_u64);
        let required = |name: &str| number(name).ok_or_else(|| incomplete(name));
        let mut settings = Settings::new(&text("model")?).map_err(|_| {
            let found = fields.get("model").and_then(Json::as_str).unwrap_or("none");
            Misfit::without(format!("a model that this version knows instead of '{found}'"))
        })?;
        settings
            .take_kept(fields)
            .map_err(|why| Misfit::without(format!("options within their ranges ({why})")))?;
        let objective = required("objective")?;
        let lambda = number("lambda");
        if lambda.is_some_and(|lambda| !(lambda > 0.0 && lambda.is_finite())) {
            return Err(Misfit::without("a positive lambda"));
        }
        let version = fields.get(Version::KEY);
        let fingerprint = Version::of_number(version.and_then(Json::as_u64))
            .filter(|known| known.number().is_some() == version.is_some())
            .ok_or_else(|| Misfit::without("a fingerprint of data that this version knows"))?;
        Ok(Facts {
            settings,
            lambda,
            solver: text("solver")?,
            status: text("status")?,
            tol: required("tol")?,
            certificate: Certificate { objective, lower_bound: number("lower_bound") },
            // Files of 0.1 state none.
            rounding: number("rounding").unwrap_or(0.0),
            local_gap: number("local_gap"),
            iterations: whole("iterations"),
            evaluations: whole("evaluations"),
            python: fields.get("python").cloned(),
            examples: whole("examples").ok_or_else(|| incomplete("examples"))? as usize,
            data_sha256: text("data_sha256")?,
            fingerprint,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_nobody_knows_is_named() {
        let header = json!({"model": "oracle", "solver": "auto", "objective": 1.0});
        let Err(Misfit(expected)) = Facts::of_header(&header) else { panic!("an unknown model") };
        assert!(expected.contains("instead of 'oracle'"), "{expected}");
    }

    #[test]
    fn a_fingerprint_is_that_of_the_version_which_the_file_names() {
        let header = json!({
            "model": "svm", "solver": "bmrm", "status": "converged", "tol": 1e-3,
            "objective": 1.0, "examples": 3, "data_sha256": "abc",
        });
        let read = |version: Option<Json>| {
            let mut header = header.clone();
            version.into_iter().for_each(|version| header["fingerprint"] = version);
            Facts::of_header(&header)
        };
        for (version, known) in [(None, Version::InOneStream), (Some(json!(2)), Version::OfRuns)] {
            let facts = read(version.clone()).expect("facts");
            assert_eq!(facts.fingerprint, known);
            // A file that is written again keeps what it has.
            assert_eq!(facts.header().get("fingerprint"), version.as_ref());
        }
        for version in [json!(1), json!(3), json!("2"), json!(null)] {
            let Err(Misfit(expected)) = read(Some(version)) else { panic!("unknown version") };
            assert!(expected.contains("a fingerprint of data that this version knows"));
        }
    }
}
