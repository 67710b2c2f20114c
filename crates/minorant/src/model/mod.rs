//! The fitted model: what predicts, what is saved, and what its certificate rests on. Training
//! makes it, [`mod@file`] stores it, [`crate::audit`] checks it; it knows no solver.

mod attributes;
mod chain;
pub mod file;
mod hmm;
mod image;
mod kernel;
pub mod metrics;
mod neuro;
mod predict;
mod proof_arrays;
mod sequence;
mod tokens;

pub use chain::ChainModel;
pub(crate) use hmm::predict_frames;
pub use hmm::{HMM, HmmModel};
pub use image::{ImageEvaluation, ImageModel, ImageShape};
pub(crate) use kernel::empty_rows;
pub use kernel::{KernelModel, Machine};
pub use neuro::{NEURO_CRF, NeuroModel};
pub use predict::{Predictions, Scores};
pub use sequence::SequenceModel;
pub use tokens::TokenEvaluation;

use crate::certificate::Certificate;
use crate::proof::Proof;
pub use crate::train::Penalty;
use crate::train::{LossName, ModelName, Task, TrainOptions, TrainReport};
use minorant_data::{Dataset, Label};

/// A model of any kind, as a file may hold it.
#[derive(Debug, Clone)]
pub enum AnyModel {
    /// A linear model.
    Linear(FittedModel),
    /// A chain.
    Chain(ChainModel),
    /// A kernel model.
    Kernel(KernelModel),
    /// A hidden Markov model.
    Hmm(HmmModel),
    /// A model of images.
    Image(ImageModel),
    /// A network under a chain.
    Neuro(NeuroModel),
}

/// Proofs up to this size are saved with the model.
pub const PROOF_BYTES: u64 = 64 << 20;

/// What a model was trained for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskName {
    /// Two classes.
    Binary,
    /// Several classes, trained together.
    Multiclass,
    /// Several classes, each against the rest.
    OneVsRest,
    /// Sets of classes.
    Multilabel,
}

/// The loss that a model was trained with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrainedLoss {
    /// The hinge loss of the task.
    Hinge,
    /// The squared hinge loss.
    SquaredHinge,
    /// The logistic or softmax loss.
    Logistic,
    /// The hinge loss, cut off.
    Ramp,
    /// The hinge loss where there is a label, the distance from any label's margin elsewhere.
    Transductive,
}

impl TrainedLoss {
    /// Whether the loss is convex, so that a bound can exist.
    pub fn is_convex(self) -> bool {
        !matches!(self, TrainedLoss::Ramp | TrainedLoss::Transductive)
    }
}

/// One of the problems that were solved for a model.
#[derive(Debug, Clone)]
pub struct SubProblem {
    /// Its weights, feature by feature.
    pub weights: Vec<f64>,
    /// The outputs of the training rows at these weights, where they are still known.
    pub outputs: Vec<f64>,
    /// Its objective and bound.
    pub certificate: Certificate,
    /// The dual point behind the bound.
    pub proof: Option<Proof>,
}

/// A trained linear model.
#[derive(Debug, Clone)]
pub struct FittedModel {
    /// The model's name.
    pub model: ModelName,
    /// The task.
    pub task: TaskName,
    /// The loss.
    pub loss: TrainedLoss,
    /// The classes in order.
    pub classes: Vec<Label>,
    /// Columns of the data, the bias excluded.
    pub features: usize,
    /// The constant feature.
    pub bias: Option<f64>,
    /// Its regularization weight.
    pub bias_weight: Option<f64>,
    /// How weights are penalised.
    pub penalty: Penalty,
    /// λ.
    pub lambda: f64,
    /// Where the ramp loss bends.
    pub ramp: Option<f64>,
    /// The weight of rows without a label.
    pub gamma: Option<f64>,
    /// Where their mean decision was to lie.
    pub balance_mean: Option<f64>,
    /// Class weights that were not 1.
    pub class_weights: Vec<(Label, f64)>,
    /// Δ, where it was given.
    pub label_loss: Option<Vec<f64>>,
    /// A multilabel row has the labels whose score is above this.
    pub threshold: Option<f64>,
    /// The method that found the weights.
    pub solver: String,
    /// How its run ended.
    pub status: String,
    /// The relative gap that was asked for.
    pub tol: f64,
    /// Objective and bound.
    pub certificate: Certificate,
    /// The gap of the last local model, where the risk is not convex.
    pub local_gap: Option<f64>,
    /// Rows of the training data.
    pub examples: usize,
    /// SHA-256 of the training data: features, labels and example weights.
    pub data_sha256: String,
    /// The problems that were solved: one, or one for each class.
    pub problems: Vec<SubProblem>,
}

impl FittedModel {
    /// Puts the model together after training; `data_sha256` is the fingerprint of the data.
    pub(crate) fn new(
        data: &Dataset<'_>,
        data_sha256: String,
        options: &TrainOptions,
        task: &Task,
        report: &TrainReport,
        mut problems: Vec<SubProblem>,
    ) -> Self {
        let threshold = match task {
            Task::Multilabel { member, .. } => {
                Some(predict::best_threshold(&problems[0].outputs, member))
            }
            _ => None,
        };
        problems.iter_mut().for_each(|problem| problem.outputs = Vec::new());
        let is_transductive = options.model == ModelName::Tsvm;
        FittedModel {
            model: options.model,
            task: match task {
                Task::Binary { .. } => TaskName::Binary,
                Task::Transductive { outputs: 1, .. } => TaskName::Binary,
                Task::Multiclass { .. } | Task::Transductive { .. } => TaskName::Multiclass,
                Task::OneVsRest { .. } => TaskName::OneVsRest,
                Task::Multilabel { .. } => TaskName::Multilabel,
            },
            loss: match (options.model, options.loss) {
                (ModelName::Logistic, _) => TrainedLoss::Logistic,
                (ModelName::Svm, LossName::Hinge) => TrainedLoss::Hinge,
                (ModelName::Svm, LossName::SquaredHinge) => TrainedLoss::SquaredHinge,
                (ModelName::RampSvm, _) => TrainedLoss::Ramp,
                (ModelName::Tsvm, _) => TrainedLoss::Transductive,
            },
            classes: task.class_labels(&data.labels),
            features: data.features.cols(),
            bias: options.bias,
            bias_weight: options.bias_weight,
            penalty: options.penalty,
            lambda: report.lambda,
            ramp: (options.model == ModelName::RampSvm).then_some(options.ramp),
            gamma: is_transductive.then_some(options.transduction.gamma),
            balance_mean: options.transduction.balance_mean.filter(|_| is_transductive),
            class_weights: options.class_weights.clone(),
            label_loss: options.label_loss.clone(),
            threshold,
            solver: report.solver.into(),
            status: report.status.as_str().into(),
            tol: options.rules.tol,
            certificate: report.certificate,
            local_gap: report.local_gap,
            examples: data.features.rows(),
            data_sha256,
            problems,
        }
    }

    /// Linear outputs of one of its problems.
    pub fn outputs_per_problem(&self) -> usize {
        match self.task {
            TaskName::Binary | TaskName::OneVsRest => 1,
            TaskName::Multiclass | TaskName::Multilabel => self.classes.len(),
        }
    }

    /// Features, the constant one included.
    pub fn rows_of_weights(&self) -> usize {
        self.features + usize::from(self.bias.is_some())
    }

    /// How many weights are not zero.
    pub fn nonzero_weights(&self) -> usize {
        self.problems.iter().flat_map(|p| &p.weights).filter(|w| **w != 0.0).count()
    }

    /// Whether every bound has a proof in the model.
    pub fn is_auditable(&self) -> bool {
        self.problems.iter().all(|problem| problem.proof.is_some())
    }
}
