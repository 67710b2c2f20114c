//! What a user may ask of a training run, checked once, with one sentence for each thing that can
//! be wrong.

use super::task::Task;
use crate::regularizer::{L2, RegularizerError};
use crate::solver::{Method, MethodError, MethodOptions, Problem, RunError, StopRules};
use minorant_data::{Label, LabelKind};

/// The models by the names that users type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelName {
    /// Support vector machine.
    Svm,
    /// Logistic regression.
    Logistic,
    /// Support vector machine with the ramp loss, for data with outliers.
    RampSvm,
    /// Transductive support vector machine, for rows of which most have no label.
    Tsvm,
}

impl ModelName {
    /// All models.
    pub const ALL: [ModelName; 4] =
        [ModelName::Svm, ModelName::Logistic, ModelName::RampSvm, ModelName::Tsvm];

    /// The name that users type.
    pub fn as_str(self) -> &'static str {
        match self {
            ModelName::Svm => "svm",
            ModelName::Logistic => "logistic",
            ModelName::RampSvm => "ramp-svm",
            ModelName::Tsvm => "tsvm",
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

impl Lambda {
    /// λ for so many examples of weight 1; without a setting that of C = 1.
    pub(crate) fn value(setting: Option<Lambda>, examples: usize) -> Result<f64, TrainError> {
        match setting {
            None => Ok(1.0 / examples as f64),
            Some(Lambda::Lambda(lambda)) => Ok(lambda),
            Some(Lambda::C(c)) if c > 0.0 && c.is_finite() => Ok(1.0 / (c * examples as f64)),
            Some(Lambda::C(c)) => {
                Err(TrainError::Setting(format!("C must be a positive number, not {c}")))
            }
        }
    }
}

/// The settings of the transductive support vector machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transduction {
    /// γ: the weight of the mean loss of the rows without a label.
    pub gamma: f64,
    /// How many runs from different starts are made; the best is kept.
    pub starts: usize,
    /// Where the mean decision over the rows without a label is to lie.
    pub balance_mean: Option<f64>,
}

impl Default for Transduction {
    fn default() -> Self {
        Transduction { gamma: 1.0, starts: 1, balance_mean: None }
    }
}

impl Transduction {
    /// The weight κ of the penalty κ/2 (mean decision − balance mean)²: wherever all decisions can
    /// be shifted freely, it keeps the mean within 0.1 of what was asked for, for a shift by t
    /// changes the losses by (1 + γ) t at most.
    pub fn balance_weight(&self) -> f64 {
        10.0 * (1.0 + self.gamma)
    }

    fn check(&self) -> Result<(), TrainError> {
        let wrong = |sentence: String| Err(TrainError::Setting(sentence));
        if !(self.gamma >= 0.0 && self.gamma.is_finite()) {
            return wrong(format!("gamma must be a number of 0 or more, not {}", self.gamma));
        }
        if self.starts == 0 {
            return wrong("the number of starts must be at least 1".into());
        }
        match self.balance_mean {
            Some(mean) if !mean.is_finite() => {
                wrong(format!("the balance mean must be a finite number, not {mean}"))
            }
            _ => Ok(()),
        }
    }
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
    /// The ramp loss is constant where a margin is below this: min(1 − ramp, hinge).
    pub ramp: f64,
    /// What rows without a label weigh beside those with one.
    pub transduction: Transduction,
    /// λ or C; 1/Σ sᵢ if not given (tsvm: over the rows with a label).
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
            ramp: -1.0,
            transduction: Transduction::default(),
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

    /// Refuses settings out of range.
    pub(super) fn check(&self) -> Result<(), TrainError> {
        if !(self.ramp < 1.0 && self.ramp.is_finite()) {
            return Err(TrainError::Setting(format!(
                "the ramp must be a finite number below 1, not {}",
                self.ramp
            )));
        }
        self.transduction.check()
    }

    /// λ: as given, from C, or 1/Σ sᵢ over the rows that have a label.
    pub(crate) fn lambda(&self, task: &Task) -> Result<f64, TrainError> {
        let weight = |i: usize| self.example_weights.as_ref().map_or(1.0, |weights| weights[i]);
        let total: f64 = (0..task.rows()).filter(|&i| task.is_labelled(i)).map(weight).sum();
        match self.lambda {
            None => Ok(1.0 / total),
            Some(Lambda::Lambda(lambda)) => Ok(lambda),
            Some(Lambda::C(c)) if c > 0.0 && c.is_finite() => Ok(1.0 / (c * total)),
            Some(Lambda::C(c)) => {
                Err(TrainError::Setting(format!("C must be a positive number, not {c}")))
            }
        }
    }

    /// The method that is to solve a problem, with its settings. Planes get to rounding where
    /// coordinate steps creep.
    pub(super) fn method_for(&self, problem: Problem<'_>) -> (Method, MethodOptions) {
        let is_auto = self.method == Method::Auto;
        let method = if is_auto && self.to_rounding {
            Method::pick_bundle(problem)
        } else {
            self.method.resolve(problem)
        };
        (method, MethodOptions { hands_over: is_auto, ..self.method_options })
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
