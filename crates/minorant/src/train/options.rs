//! What a user may ask of a training run, checked once, with one sentence for each thing that can
//! be wrong.

use crate::regularizer::{L2, RegularizerError};
use crate::solver::{Method, MethodError, MethodOptions, RunError, StopRules};
use minorant_data::{Label, LabelKind, Labels};

/// The models by the names that users type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelName {
    /// Support vector machine.
    Svm,
    /// Logistic regression.
    Logistic,
}

impl ModelName {
    /// All models.
    pub const ALL: [ModelName; 2] = [ModelName::Svm, ModelName::Logistic];

    /// The name that users type.
    pub fn as_str(self) -> &'static str {
        match self {
            ModelName::Svm => "svm",
            ModelName::Logistic => "logistic",
        }
    }

    /// The model with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        ModelName::ALL.into_iter().find(|model| model.as_str() == name)
    }
}

/// The losses of the support vector machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LossName {
    /// max(0, 1 − margin).
    #[default]
    Hinge,
    /// Its square.
    SquaredHinge,
}

/// How weights are penalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Penalty {
    /// λ/2 ‖w‖².
    #[default]
    L2,
    /// λ ‖w‖₁.
    L1,
}

/// How more than two classes are trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Multiclass {
    /// All together.
    #[default]
    Joint,
    /// Each class against the rest.
    OneVsRest,
}

/// The strength of the regularization.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lambda {
    /// λ itself.
    Lambda(f64),
    /// LIBLINEAR's C = 1/(λ Σ sᵢ).
    C(f64),
}

/// Everything that a training run depends on besides the data.
#[derive(Debug, Clone)]
pub struct TrainOptions {
    /// The model.
    pub model: ModelName,
    /// The support vector machine's loss.
    pub loss: LossName,
    /// How weights are penalised.
    pub penalty: Penalty,
    /// How more than two classes are trained.
    pub multiclass: Multiclass,
    /// What the labels are, if not by their look.
    pub label_kind: Option<LabelKind>,
    /// Δ: row by row the true class, column by column the other one, in class order.
    pub label_loss: Option<Vec<f64>>,
    /// λ or C; 1/Σ sᵢ if not given.
    pub lambda: Option<Lambda>,
    /// The constant feature.
    pub bias: Option<f64>,
    /// The constant feature's regularization weight θ.
    pub bias_weight: Option<f64>,
    /// One weight for each example.
    pub example_weights: Option<Vec<f64>>,
    /// Weights of some classes; 1 for the others.
    pub class_weights: Vec<(Label, f64)>,
    /// The method.
    pub method: Method,
    /// Its settings.
    pub method_options: MethodOptions,
    /// When to stop.
    pub rules: StopRules,
    /// Whether to go on to rounding whatever the tolerances say.
    pub to_rounding: bool,
    /// Weights to start from, those of one problem after the other.
    pub start: Option<Vec<f64>>,
}

impl TrainOptions {
    /// The defaults for a model.
    pub fn new(model: ModelName) -> Self {
        TrainOptions {
            model,
            loss: LossName::default(),
            penalty: Penalty::default(),
            multiclass: Multiclass::default(),
            label_kind: None,
            label_loss: None,
            lambda: None,
            bias: None,
            bias_weight: None,
            example_weights: None,
            class_weights: Vec::new(),
            method: Method::Auto,
            method_options: MethodOptions {
                proof_bytes: crate::model::PROOF_BYTES,
                ..MethodOptions::default()
            },
            rules: StopRules::default(),
            to_rounding: false,
            start: None,
        }
    }

    /// λ: as given, from C, or 1/Σ sᵢ.
    pub(crate) fn lambda(&self, labels: &Labels) -> Result<f64, TrainError> {
        let total: f64 = match &self.example_weights {
            Some(weights) => weights.iter().sum(),
            None => labels.len() as f64,
        };
        match self.lambda {
            None => Ok(1.0 / total),
            Some(Lambda::Lambda(lambda)) => Ok(lambda),
            Some(Lambda::C(c)) if c > 0.0 && c.is_finite() => Ok(1.0 / (c * total)),
            Some(Lambda::C(c)) => {
                Err(TrainError::Setting(format!("C must be a positive number, not {c}")))
            }
        }
    }

    /// Refuses start weights that are not `dim` finite numbers.
    pub(crate) fn check_start(&self, dim: usize) -> Result<(), TrainError> {
        let Some(start) = &self.start else { return Ok(()) };
        if start.len() == dim && start.iter().all(|w| w.is_finite()) {
            return Ok(());
        }
        Err(TrainError::Setting(format!(
            "expected {dim} finite weights to start from, found {}",
            start.len()
        )))
    }

    /// The factor of ‖w‖₁.
    pub(crate) fn l1(&self, lambda: f64) -> f64 {
        if self.penalty == Penalty::L1 { lambda } else { 0.0 }
    }

    /// λ/2 ‖θ ∘ w‖² with the bias's own θ, where that is the penalty.
    pub(crate) fn regularizer(
        &self,
        lambda: f64,
        features: usize,
        outputs: usize,
    ) -> Result<L2, TrainError> {
        if let Some(bias) = self.bias.filter(|bias| !bias.is_finite()) {
            return Err(TrainError::Setting(format!(
                "the bias must be a finite number, not {bias}"
            )));
        }
        let regularizer = L2::new(lambda)?;
        if self.penalty == Penalty::L1 {
            if self.bias_weight.is_some() {
                return Err(TrainError::Setting(
                    "a bias weight goes with the penalty l2; l1 penalises the bias like the others"
                        .into(),
                ));
            }
            return Ok(L2::none());
        }
        let Some(theta) = self.bias_weight else { return Ok(regularizer) };
        if self.bias.is_none() {
            return Err(TrainError::Setting("a bias weight needs a bias: add --bias 1".into()));
        }
        let mut weights = vec![1.0; features * outputs];
        weights[(features - 1) * outputs..].fill(theta);
        Ok(regularizer.with_weights(weights)?)
    }
}

/// Why nothing was trained.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A setting is out of range or does not go with the others.
    #[error("{0}")]
    Setting(String),
    /// The regularizer cannot be made.
    #[error(transparent)]
    Regularizer(#[from] RegularizerError),
    /// The method cannot be had.
    #[error(transparent)]
    Method(#[from] MethodError),
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}
