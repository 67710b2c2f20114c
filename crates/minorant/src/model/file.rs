//! Models and proofs as files.

use super::{
    AnyModel, ChainModel, FittedModel, HMM, HmmModel, ImageModel, KernelModel, NEURO_CRF,
    NeuroModel, Penalty, SubProblem, TaskName, TrainedLoss,
};
use crate::certificate::Certificate;
use crate::container::{Container, FileError};
use crate::proof::Proof;
use crate::train::{ChainName, ImageModelName, KernelName, ModelName};
use minorant_data::Label;
use serde::{Deserialize, Serialize};
use std::path::Path;

pub(super) const KIND: &str = "model";
pub(super) const PROOF_KIND: &str = "proof";

/// A label in JSON: a number or a text.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum JsonLabel {
    Number(f64),
    Text(String),
}

impl From<&Label> for JsonLabel {
    fn from(label: &Label) -> Self {
        match label {
            Label::Number(number) => JsonLabel::Number(*number),
            Label::Text(text) => JsonLabel::Text(text.clone()),
        }
    }
}

impl From<JsonLabel> for Label {
    fn from(label: JsonLabel) -> Self {
        match label {
            JsonLabel::Number(number) => Label::Number(number),
            JsonLabel::Text(text) => Label::Text(text),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    model: String,
    task: TaskName,
    loss: TrainedLoss,
    classes: Vec<JsonLabel>,
    features: usize,
    bias: Option<f64>,
    bias_weight: Option<f64>,
    penalty: Penalty,
    lambda: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ramp: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gamma: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    balance_mean: Option<f64>,
    class_weights: Vec<(JsonLabel, f64)>,
    threshold: Option<f64>,
    solver: String,
    status: String,
    tol: f64,
    objective: f64,
    lower_bound: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    local_gap: Option<f64>,
    examples: usize,
    data_sha256: String,
    problems: Vec<ProblemHeader>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ProblemHeader {
    objective: f64,
    lower_bound: Option<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ProofHeader {
    data_sha256: String,
    problems: usize,
}

#[derive(Debug, Deserialize)]
struct NameHeader {
    model: String,
}

impl AnyModel {
    /// Loads a model; the name in its header says which kind it is.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        Self::from_container(path, Container::read(path, KIND)?)
    }

    /// The name of the model that a file holds.
    pub fn name_in(path: &Path) -> Result<String, FileError> {
        let header: NameHeader = Container::read(path, KIND)?.header(path)?;
        Ok(header.model)
    }

    /// The model that the bytes of a file hold; `path` is what errors call it.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, FileError> {
        Self::from_container(path, Container::from_bytes(path, KIND, bytes)?)
    }

    fn from_container(path: &Path, container: Container) -> Result<Self, FileError> {
        let header: NameHeader = container.header(path)?;
        if ChainName::from_name(&header.model).is_some() {
            return ChainModel::from_container(container, path).map(AnyModel::Chain);
        }
        if KernelName::from_name(&header.model).is_some() {
            return KernelModel::from_container(path, container).map(AnyModel::Kernel);
        }
        if header.model == HMM {
            return HmmModel::from_container(container, path).map(AnyModel::Hmm);
        }
        if ImageModelName::from_name(&header.model).is_some() {
            return ImageModel::from_container(container, path).map(AnyModel::Image);
        }
        if header.model == NEURO_CRF {
            return NeuroModel::from_container(container, path).map(AnyModel::Neuro);
        }
        FittedModel::from_container(path, container).map(AnyModel::Linear)
    }
}

impl FittedModel {
    /// Saves the model, with its proof where that is at most `proof_bytes` long. Returns whether
    /// the proof is in the file.
    pub fn save(&self, path: &Path, proof_bytes: u64) -> Result<bool, FileError> {
        let with_proof = self.is_auditable() && self.proof_size() <= proof_bytes;
        self.container(with_proof).write(path, KIND)?;
        Ok(with_proof)
    }

    /// The bytes that [`FittedModel::save`] writes.
    pub fn to_bytes(&self, proof_bytes: u64) -> Vec<u8> {
        let with_proof = self.is_auditable() && self.proof_size() <= proof_bytes;
        self.container(with_proof).to_bytes(KIND)
    }

    /// Saves the proof alone. Returns whether there is one.
    pub fn save_proof(&self, path: &Path) -> Result<bool, FileError> {
        let header =
            ProofHeader { data_sha256: self.data_sha256.clone(), problems: self.problems.len() };
        let mut container = Container::new(&header);
        self.put_proofs(&mut container);
        container.write(path, PROOF_KIND)?;
        Ok(self.is_auditable())
    }

    /// Bytes of the proofs.
    fn proof_size(&self) -> u64 {
        let proofs = self.problems.iter().filter_map(|problem| problem.proof.as_ref());
        proofs.map(|proof| 8 * proof.len() as u64).sum()
    }

    fn put_proofs(&self, container: &mut Container) {
        for (k, problem) in self.problems.iter().enumerate() {
            let Some(proof) = &problem.proof else { continue };
            let points = match proof {
                Proof::Points(points) => points,
                Proof::Slopes(slopes) => {
                    let shape = [self.examples, self.outputs_per_problem()];
                    container.put_reals(&format!("proof.{k}.slopes"), &shape, slopes.clone());
                    continue;
                }
                // Linear models have no outputs to speak of.
                Proof::Outputs(_) => continue,
            };
            let count = points.len();
            let parts = points.first().map_or(0, |point| point.part_weights.len());
            let (w, alpha, ties) = Proof::arrays(points);
            container.put_reals(&format!("proof.{k}.points"), &[count, problem.weights.len()], w);
            container.put_reals(&format!("proof.{k}.alpha"), &[count, parts], alpha);
            container.put_integers(&format!("proof.{k}.ties"), ties);
        }
    }

    fn container(&self, with_proof: bool) -> Container {
        let header = Header {
            model: self.model.as_str().into(),
            task: self.task,
            loss: self.loss,
            classes: self.classes.iter().map(JsonLabel::from).collect(),
            features: self.features,
            bias: self.bias,
            bias_weight: self.bias_weight,
            penalty: self.penalty,
            lambda: self.lambda,
            ramp: self.ramp,
            gamma: self.gamma,
            balance_mean: self.balance_mean,
            class_weights: self.class_weights.iter().map(|(l, w)| (l.into(), *w)).collect(),
            threshold: self.threshold,
            solver: self.solver.clone(),
            status: self.status.clone(),
            tol: self.tol,
            objective: self.certificate.objective,
            lower_bound: self.certificate.lower_bound,
            local_gap: self.local_gap,
            examples: self.examples,
            data_sha256: self.data_sha256.clone(),
            problems: self
                .problems
                .iter()
                .map(|problem| ProblemHeader {
                    objective: problem.certificate.objective,
                    lower_bound: problem.certificate.lower_bound,
                })
                .collect(),
        };
        let mut container = Container::new(&header);
        let (rows, outputs) = (self.rows_of_weights(), self.outputs_per_problem());
        for (k, problem) in self.problems.iter().enumerate() {
            container.put_reals(&format!("weights.{k}"), &[rows, outputs], problem.weights.clone());
        }
        if let Some(delta) = &self.label_loss {
            let classes = self.classes.len();
            container.put_reals("label_loss", &[classes, classes], delta.clone());
        }
        if with_proof {
            self.put_proofs(&mut container);
        }
        container
    }

    /// Loads a model.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        Self::from_container(path, Container::read(path, KIND)?)
    }

    /// The model that [`FittedModel::to_bytes`] gave; `path` is what errors call it.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, FileError> {
        Self::from_container(path, Container::from_bytes(path, KIND, bytes)?)
    }

    fn from_container(path: &Path, mut container: Container) -> Result<Self, FileError> {
        let header: Header = container.header(path)?;
        let error = |expected: &str, found: &str| FileError::content(path, expected, found);
        let model = ModelName::from_name(&header.model)
            .ok_or_else(|| error("a model that this version knows", &header.model))?;
        let mut fitted = FittedModel {
            model,
            task: header.task,
            loss: header.loss,
            classes: header.classes.into_iter().map(Label::from).collect(),
            features: header.features,
            bias: header.bias,
            bias_weight: header.bias_weight,
            penalty: header.penalty,
            lambda: header.lambda,
            ramp: header.ramp,
            gamma: header.gamma,
            balance_mean: header.balance_mean,
            class_weights: header.class_weights.into_iter().map(|(l, w)| (l.into(), w)).collect(),
            label_loss: container.take_reals("label_loss").map(|(_, delta)| delta),
            threshold: header.threshold,
            solver: header.solver,
            status: header.status,
            tol: header.tol,
            certificate: Certificate {
                objective: header.objective,
                lower_bound: header.lower_bound,
            },
            local_gap: header.local_gap,
            examples: header.examples,
            data_sha256: header.data_sha256,
            problems: Vec::new(),
        };
        let classes = fitted.classes.len();
        let positive = |x: f64| x > 0.0 && x.is_finite();
        let numbers_fit = positive(fitted.lambda)
            && fitted.features < usize::MAX
            && fitted.bias.is_none_or(f64::is_finite)
            && fitted.bias_weight.is_none_or(|theta| fitted.bias.is_some() && positive(theta))
            && fitted.label_loss.as_ref().is_none_or(|delta| delta.len() == classes * classes);
        if !numbers_fit {
            return Err(error(
                "features, lambda, bias and label loss that a model can have",
                "others",
            ));
        }
        let expected_problems = if fitted.task == TaskName::OneVsRest { classes } else { 1 };
        if classes < 2 || header.problems.len() != expected_problems {
            let found = format!("{classes} classes and {} problems", header.problems.len());
            return Err(error("two or more classes and their problems", &found));
        }
        let shape = [fitted.rows_of_weights(), fitted.outputs_per_problem()];
        for (k, problem) in header.problems.iter().enumerate() {
            let weights = container.take_reals(&format!("weights.{k}"));
            let weights = weights.filter(|(found, _)| *found == shape).map(|(_, values)| values);
            let weights = weights.filter(|values| values.iter().all(|w| w.is_finite()));
            fitted.problems.push(SubProblem {
                weights: weights.ok_or_else(|| {
                    error(&format!("{} x {} finite weights", shape[0], shape[1]), "other weights")
                })?,
                outputs: Vec::new(),
                certificate: Certificate {
                    objective: problem.objective,
                    lower_bound: problem.lower_bound,
                },
                proof: None,
            });
        }
        fitted.take_proofs(&mut container).ok_or_else(|| error("a proof that fits", "another"))?;
        Ok(fitted)
    }

    /// Takes the proof from a file of its own.
    pub fn load_proof(&mut self, path: &Path) -> Result<(), FileError> {
        let mut container = Container::read(path, PROOF_KIND)?;
        let header: ProofHeader = container.header(path)?;
        let fits = header.data_sha256 == self.data_sha256
            && header.problems == self.problems.len()
            && self.take_proofs(&mut container).is_some();
        if fits {
            return Ok(());
        }
        Err(FileError::Content {
            path: path.into(),
            expected: "the proof of this model".into(),
            found: "the proof of another".into(),
        })
    }

    /// Moves proofs out of a container; nothing if one does not fit the weights.
    fn take_proofs(&mut self, container: &mut Container) -> Option<()> {
        let slopes_shape = [self.examples, self.outputs_per_problem()];
        for (k, problem) in self.problems.iter_mut().enumerate() {
            if let Some((shape, slopes)) = container.take_reals(&format!("proof.{k}.slopes")) {
                problem.proof = Some(slopes).filter(|_| shape == slopes_shape).map(Proof::Slopes);
                problem.proof.as_ref()?;
                continue;
            }
            let Some((shape, w)) = container.take_reals(&format!("proof.{k}.points")) else {
                continue;
            };
            let (alpha_shape, alpha) = container.take_reals(&format!("proof.{k}.alpha"))?;
            let count = *shape.first()?;
            if shape != [count, problem.weights.len()] || alpha_shape.first() != Some(&count) {
                return None;
            }
            let ties = container.take_integers(&format!("proof.{k}.ties"))?;
            problem.proof = Some(Proof::from_arrays(count, &w, &alpha, &ties)?);
        }
        Some(())
    }
}
