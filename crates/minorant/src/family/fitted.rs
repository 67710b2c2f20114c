//! The fitted model: facts, the family's form, and the proofs behind its bounds. It predicts, is
//! saved, loaded and audited in the same way for every family.

use super::data::Purpose;
use super::streaming::keep_for_one_pass;
use super::{
    Audited, Data, Evaluation, Facts, Form, Misfit, OwnedData, Predictions, Settings, Wanted, data,
    proof_arrays,
};
use crate::audit::{Audit, Claim, NO_PROOF, check, foresee, nothing_to_check, refused};
use crate::certificate::Certificate;
use crate::container::{Array, Container, FileError};
use crate::fingerprint::Fingerprint;
use crate::options::Effect;
use crate::proof::Proof;
use minorant_data::ReadError;
use minorant_linalg::sum::Sum;
use serde_json::{Map, Value as Json, json};
use std::any::Any;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const KIND: &str = "model";
const PROOF_KIND: &str = "proof";

/// Proofs up to this size are saved with the model.
pub const PROOF_BYTES: u64 = 64 << 20;

/// A trained model.
#[derive(Debug, Clone)]
pub struct FittedModel {
    /// What every model has.
    pub facts: Facts,
    /// What its family adds.
    form: Arc<dyn Form>,
    /// The proof behind the bound of each problem that was solved.
    pub proofs: Vec<Option<Proof>>,
}

/// What was computed of data, unless some of that could not be had.
fn intact<T>(data: Data<'_>, found: T) -> Result<T, String> {
    data.failure().map_or(Ok(found), Err)
}

impl FittedModel {
    pub(crate) fn new(facts: Facts, form: Box<dyn Form>, proofs: Vec<Option<Proof>>) -> Self {
        FittedModel { facts, form: form.into(), proofs }
    }

    /// The name of the model.
    pub fn name(&self) -> &'static str {
        self.facts.model()
    }

    /// What its family adds to the facts.
    pub fn form(&self) -> &dyn Form {
        &*self.form
    }

    /// The form, for those who know its family; nothing where it is another family's.
    pub fn form_as<F: Form>(&self) -> Option<&F> {
        (self.form() as &dyn Any).downcast_ref()
    }

    /// The same model with another form of its family.
    pub fn with_form(&self, form: Box<dyn Form>) -> Self {
        FittedModel { form: form.into(), ..self.clone() }
    }

    /// Predicts.
    pub fn predict<'d>(&self, data: impl Into<Data<'d>>) -> Result<Predictions, String> {
        self.predict_with(data, Wanted::Labels)
    }

    /// Predicts, with decision values or probabilities.
    pub fn predict_with<'d>(
        &self,
        data: impl Into<Data<'d>>,
        wanted: Wanted,
    ) -> Result<Predictions, String> {
        wanted.check(self.facts.settings.entry())?;
        let data = data.into();
        intact(data, self.form.predict(data, wanted)?)
    }

    /// Compares predictions with the true outputs of the same data.
    pub fn evaluate<'d>(&self, data: impl Into<Data<'d>>) -> Result<Evaluation, String> {
        let data = data.into();
        intact(data, self.form.evaluate(data)?)
    }

    /// Reads data for the model, with the number of entries in columns that it does not know.
    pub fn read(
        &self,
        settings: &Settings,
        files: &[PathBuf],
        purpose: Purpose,
    ) -> Result<(OwnedData, usize), ReadError> {
        let (data, dropped) = data::read_for(self.form.reading(), settings, files, purpose)?;
        keep_for_one_pass(data.view(), settings);
        Ok((data, dropped))
    }

    /// Reads the data of an audit.
    pub fn read_for_audit(
        &self,
        settings: &Settings,
        files: &[PathBuf],
    ) -> Result<OwnedData, ReadError> {
        let data = data::read_for_audit(self.form.reading(), settings, files)?;
        keep_for_one_pass(data.view(), settings);
        Ok(data)
    }

    /// How many weights are not zero.
    pub fn nonzero_weights(&self) -> usize {
        self.form.weights().into_iter().flatten().filter(|w| **w != 0.0).count()
    }

    /// Whether every bound has a proof here.
    pub fn is_auditable(&self) -> bool {
        !self.proofs.is_empty() && self.proofs.iter().all(Option::is_some)
    }

    /// Whether a model of this name has a global bound to prove.
    pub fn is_convex(&self) -> bool {
        self.facts.settings.entry().model.is_convex
    }

    /// Whether the penalty makes weights zero, so that it is worth telling how many are.
    pub fn is_sparse(&self) -> bool {
        let settings = self.facts.settings.kept();
        let ratio = settings.get("l1_ratio").and_then(Json::as_f64);
        settings.get("penalty").and_then(Json::as_str) == Some("l1") || ratio > Some(0.0)
    }

    /// The settings that the model depends on, by their names in its file; null for those that
    /// only other models of its family have.
    pub fn settings_in_header(&self) -> Map<String, Json> {
        let family = self.facts.settings.entry().family;
        let all = family.options.iter().flat_map(|list| list.iter());
        let names = all.filter(|taken| taken.spec.effect == Effect::Model);
        let mut found: Map<String, Json> =
            names.map(|taken| (taken.spec.stored_name(), Json::Null)).collect();
        found.extend(self.facts.settings.kept());
        found
    }

    /// What an audit finds without looking at data, where there is no bound to check.
    pub fn without_a_bound(&self) -> Option<Audit> {
        let name = self.name();
        if !self.is_convex() {
            return Some(nothing_to_check(format!(
                "{name} is not convex: it has no global bound to check"
            )));
        }
        (!self.is_auditable()).then(|| nothing_to_check(NO_PROOF))
    }

    /// Checks the certificate against the data, by code that shares nothing with training.
    pub fn audit<'d>(&self, data: impl Into<Data<'d>>, example_weights: Option<&[f64]>) -> Audit {
        let data = data.into();
        if let Some(audit) = self.without_a_bound() {
            return audit;
        }
        let facts = &self.facts;
        let is_same = data.examples() == facts.examples
            && data.sha256_of(facts.fingerprint, example_weights) == facts.data_sha256;
        if !is_same {
            return refused(
                "this is not the data that the model was trained on (files, labels, example \
                 weights and the options for reading them must be the same)",
            );
        }
        let problems = match self.form.plain(Audited { facts, data, example_weights }) {
            Ok(problems) => problems,
            Err(why) => return refused(why),
        };
        if self.proofs.len() != problems.len() {
            let (proofs, problems) = (self.proofs.len(), problems.len());
            return refused(format!("the model has {proofs} proofs for {problems} problems"));
        }
        let found = check(facts.certificate.into(), facts.rounding, &problems, &self.proofs);
        intact(data, found).unwrap_or_else(refused)
    }

    /// Claims no more than an audit will find: where numbers are so large that rounding shows, planes
    /// that are made again from their points are not the same to the last digits. Where the audit's
    /// own objective lies within what training states of its rounding, the claim is that one, which is
    /// computed in twice the precision. Training's numbers and the audit's check each other: neither
    /// can raise a claim above the other's. Returns what is claimed now.
    pub(crate) fn claim_what_is_found(
        &mut self,
        data: Data<'_>,
        example_weights: Option<&[f64]>,
    ) -> Option<Certificate> {
        let facts = &self.facts;
        let problems = self.form.plain(Audited { facts, data, example_weights }).ok()?;
        let found = foresee(&problems, &self.proofs).ok()?;
        let mut is_exact = true;
        let mut claims = Vec::new();
        for (problem, found) in problems.iter().zip(found) {
            let Claim { objective: stated, lower_bound } = problem.claim;
            let range = stated - 2.0 * facts.rounding..=stated;
            // Twice the precision leaves ε of what the working one left.
            let found_above = found.objective.map(|found| found + f64::EPSILON * facts.rounding);
            let objective = found_above.filter(|objective| range.contains(objective));
            is_exact &= objective.is_some();
            let lower_bound = lower_bound.map(|bound| bound.min(found.lower_bound));
            claims.push(Certificate { objective: objective.unwrap_or(stated), lower_bound });
        }
        drop(problems);
        let objective = claims.iter().map(|claim| claim.objective).collect::<Sum>().value();
        let bounds = claims.iter().map(|claim| claim.lower_bound);
        let lower_bound = bounds.sum::<Option<f64>>();
        Arc::get_mut(&mut self.form)?.claim(&claims);
        self.facts.certificate = Certificate { objective, lower_bound };
        if is_exact {
            self.facts.rounding *= f64::EPSILON;
        }
        Some(self.facts.certificate)
    }

    // Files

    /// Saves the model, with its proof where that is at most `proof_bytes` long. Returns whether
    /// the proof is in the file.
    pub fn save(&self, path: &Path, proof_bytes: u64) -> Result<bool, FileError> {
        let with_proof = self.carries_proof(proof_bytes);
        self.container(with_proof).write(path, KIND)?;
        Ok(with_proof)
    }

    /// The bytes that [`FittedModel::save`] writes.
    pub fn to_bytes(&self, proof_bytes: u64) -> Vec<u8> {
        self.container(self.carries_proof(proof_bytes)).to_bytes(KIND)
    }

    fn carries_proof(&self, proof_bytes: u64) -> bool {
        let size = self.proofs.iter().flatten().map(proof_arrays::bytes).sum::<u64>();
        self.is_auditable() && size <= proof_bytes
    }

    fn container(&self, with_proof: bool) -> Container {
        let mut file = Container::new(&self.facts.header());
        self.form.write(&self.facts.settings, &mut file);
        if with_proof {
            self.put_proofs(&mut file);
        }
        file
    }

    /// The header of the model's file: the facts, the settings, and the form's own keys.
    pub fn header(&self) -> Map<String, Json> {
        match self.container(false).header {
            Json::Object(header) => header,
            _ => Map::new(),
        }
    }

    /// The arrays of the model's file by name, those of the proof left out.
    pub fn arrays(&self) -> BTreeMap<String, Array> {
        self.container(false).arrays
    }

    fn put_proofs(&self, file: &mut Container) {
        let weights = self.form.weights();
        for (k, proof) in self.proofs.iter().enumerate() {
            let Some(proof) = proof else { continue };
            let prefix = self.form.proof_prefix(k);
            proof_arrays::put(proof, &prefix, weights[k].len(), self.slopes_shape(), file);
        }
    }

    fn slopes_shape(&self) -> [usize; 2] {
        [self.facts.examples, self.form.slopes_of_example()]
    }

    /// Saves the proof alone. Returns whether there is one.
    pub fn save_proof(&self, path: &Path) -> Result<bool, FileError> {
        let (data_sha256, problems) = (&self.facts.data_sha256, self.proofs.len());
        let header = json!({"data_sha256": data_sha256, "problems": problems});
        let mut file = Container::new(&header);
        self.put_proofs(&mut file);
        file.write(path, PROOF_KIND)?;
        Ok(self.is_auditable())
    }

    /// Takes the proof from a file of its own.
    pub fn load_proof(&mut self, path: &Path) -> Result<(), FileError> {
        let mut container = Container::read(path, PROOF_KIND)?;
        let of_data = container.header.get("data_sha256").and_then(Json::as_str);
        let is_same = of_data == Some(self.facts.data_sha256.as_str());
        let proofs = self.take_proofs(&mut container);
        match proofs {
            Ok(proofs) if is_same => {
                self.proofs = proofs;
                Ok(())
            }
            _ => Err(FileError::content(path, "the proof of this model", "the proof of another")),
        }
    }

    fn take_proofs(&self, file: &mut Container) -> Result<Vec<Option<Proof>>, Misfit> {
        let shape = self.slopes_shape();
        let of = |(k, weights): (usize, &[f64])| {
            proof_arrays::take(file, &self.form.proof_prefix(k), weights.len(), shape)
        };
        self.form.weights().into_iter().enumerate().map(of).collect()
    }

    /// Loads a model of any family.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        Self::from_container(path, Container::read(path, KIND)?)
    }

    /// The model that [`FittedModel::to_bytes`] gave; `path` is what errors call it.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, FileError> {
        Self::from_container(path, Container::from_bytes(path, KIND, bytes)?)
    }

    fn from_container(path: &Path, mut container: Container) -> Result<Self, FileError> {
        let misfit =
            |Misfit(expected): Misfit| FileError::content(path, &expected, "something else");
        let mut facts = Facts::of_header(&container.header).map_err(misfit)?;
        let family = facts.settings.entry().family;
        let form = (family.load)(&mut facts, &mut container).map_err(misfit)?;
        let mut model = FittedModel::new(facts, form, Vec::new());
        model.proofs = model.take_proofs(&mut container).map_err(misfit)?;
        Ok(model)
    }
}
