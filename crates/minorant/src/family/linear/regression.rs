//! `regression`: numbers to be met instead of classes. Its losses by their names with their options, the
//! targets as the losses take them, and the risk that they make. What is measured of predictions stands
//! in `residuals.rs`; fitting, paths and files are those of all linear models.

use super::builders::Regression;
use super::losses::{LossName, OF_TARGETS, of_rows};
use super::targets::Targets;
use crate::audit::residual::PlainResidual;
use crate::family::builder::taken;
use crate::family::{Settings, TrainError, refuse};
use crate::intercept::huber_scale::{HuberScale, Scale};
use crate::options::Kind::{Ascending, Flag, Number};
use crate::options::Range::{Inside, NotNegative, Positive};
use crate::options::common::INTERCEPT;
use crate::options::{Need, options};
use crate::risk::quantiles::{MOST, Quantiles};
use crate::risk::residual::{Residual, Shape, Targets as Numbers};
use crate::risk::{Cancel, ExampleWeights, Risk};
use crate::solver::StopRules;
use minorant_data::{LabelRows, Labels};
use minorant_linalg::Design;

options! {
    /// What it costs to miss a target y with a prediction f
    pub LOSS: LossName = ("loss", "LOSS", OF_TARGETS).default("squares").probe("absolute");
    /// Quantiles to predict, ascending; several are one problem, which crossings make dearer
    pub TAU: Vec<f64> = ("tau", "T[,T...]", Ascending(Inside))
        .default("0.5").needs(&[Need::Is("loss", &["quantile"])])
        .probe_with("0.2,0.8", &["--loss", "quantile"]);
    /// Targets that are missed by no more than E cost nothing
    pub EPSILON: f64 = ("epsilon", "E", Number(NotNegative))
        .default("0.1")
        .needs(&[Need::Is("loss", &["epsilon-insensitive", "squared-epsilon-insensitive"])])
        .probe_with("0.4", &["--loss", "epsilon-insensitive"]);
    /// huber: the loss is quadratic as far as D from the target
    pub HUBER: f64 = ("huber", "D", Number(Positive))
        .default("1.35").needs(&[Need::Is("loss", &["huber"])])
        .probe_with("0.3", &["--loss", "huber"]);
    /// huber: fit the scale of the targets along, which D then counts in
    pub HUBER_SCALE: bool = ("huber-scale", "", Flag)
        .default("false").needs(&[Need::Is("loss", &["huber"])])
        .probe_with("", &["--loss", "huber"]);
}

taken! {
    /// The options that choose the loss of a regression.
    pub(super) OWN;
    (Regression) word loss: LOSS;
    (Regression) numbers tau: TAU;
    (Regression) f64 epsilon: EPSILON;
    (Regression) f64 huber: HUBER;
    (Regression) flag huber_scale: HUBER_SCALE;
}

/// The levels of the quantiles that a regression predicts; none where it has another loss.
pub(super) fn levels(settings: &Settings) -> Vec<f64> {
    let is_quantile = settings.model() == "regression" && settings.get(&LOSS) == LossName::Quantile;
    if is_quantile { settings.get(&TAU) } else { Vec::new() }
}

/// The one target of each row.
pub(super) fn numbers(labels: &Labels) -> Result<&[f64], String> {
    match &labels.rows {
        LabelRows::Numbers { width: 1, values } => Ok(values),
        LabelRows::Numbers { width, .. } => {
            Err(format!("regression takes one target a row, found {width}"))
        }
        LabelRows::None => Err("the data has no targets".into()),
        LabelRows::Single(_) | LabelRows::Sets { .. } => {
            Err("regression takes numbers as targets, found classes as labels".into())
        }
    }
}

/// The targets of rows that are to be trained on.
pub(super) fn targets(labels: &Labels, settings: &Settings) -> Result<Targets, TrainError> {
    let levels = levels(settings);
    if levels.len() > MOST {
        return refuse(format!("expected at most {MOST} quantiles, found {}", levels.len()));
    }
    let numbers = Numbers::new(numbers(labels)?.to_vec());
    Ok(Targets::Numbers { numbers, outputs: levels.len().max(1) })
}

/// The shape of a loss that is one of residuals.
fn shape(loss: LossName, settings: &Settings) -> Shape {
    match loss {
        LossName::Absolute => Shape::ABSOLUTE,
        LossName::Quantile => Shape::quantile(levels(settings)[0]),
        LossName::EpsilonInsensitive => Shape::epsilon_insensitive(settings.get(&EPSILON)),
        LossName::SquaredEpsilonInsensitive => {
            Shape::squared_epsilon_insensitive(settings.get(&EPSILON))
        }
        LossName::Huber => Shape::huber(settings.get(&HUBER)),
        _ => Shape::SQUARES,
    }
}

/// The risk of targets under a loss.
pub(super) fn risk<'a>(
    loss: LossName,
    numbers: &Numbers,
    design: Design<'a>,
    weights: ExampleWeights,
    settings: &Settings,
) -> Box<dyn Risk + 'a> {
    if fits_scale(loss, settings) {
        let (delta, is_free) = (settings.get(&HUBER), settings.get(&INTERCEPT).is_some());
        return Box::new(HuberScale::new(design, numbers.clone(), weights, delta, is_free));
    }
    let levels = levels(settings);
    if levels.len() > 1 {
        return of_rows(design, Quantiles::new(numbers.clone(), levels), weights, settings);
    }
    of_rows(design, Residual::new(numbers.clone(), shape(loss, settings)), weights, settings)
}

/// Whether the scale of the targets is fitted along.
pub(super) fn fits_scale(loss: LossName, settings: &Settings) -> bool {
    loss == LossName::Huber && settings.get(&HUBER_SCALE)
}

/// The scale at outputs of all rows, where it is fitted along.
pub(super) fn scale(
    loss: LossName,
    targets: &Targets,
    weights: &ExampleWeights,
    outputs: &[f64],
    settings: &Settings,
) -> Option<f64> {
    let Targets::Numbers { numbers, .. } = targets else { return None };
    let found = |delta| Scale::of(outputs, numbers, weights, delta).sigma;
    // A run that has not begun knows no outputs.
    let is_known = fits_scale(loss, settings) && outputs.len() == numbers.len();
    is_known.then(|| found(settings.get(&HUBER)))
}

/// The loss as the audit has it.
pub(super) fn plain<'a>(
    loss: LossName,
    levels: &'a [f64],
    scale: Option<f64>,
    settings: &Settings,
) -> PlainResidual<'a> {
    match loss {
        LossName::Absolute => PlainResidual::Absolute,
        LossName::Quantile => PlainResidual::Quantiles(levels),
        LossName::EpsilonInsensitive => PlainResidual::EpsilonInsensitive(settings.get(&EPSILON)),
        LossName::SquaredEpsilonInsensitive => {
            PlainResidual::SquaredEpsilonInsensitive(settings.get(&EPSILON))
        }
        LossName::Huber => match scale {
            Some(scale) => PlainResidual::HuberScale(settings.get(&HUBER), scale),
            None => PlainResidual::Huber(settings.get(&HUBER)),
        },
        _ => PlainResidual::Squares,
    }
}

/// When a run on these targets stops. Targets have a scale, and an absolute gap that nobody gave is one
/// relative to the objective at w = 0: where all targets can be met, the objective goes to 0 and there
/// is nothing else to measure gaps by.
pub(super) fn rules(
    targets: &Targets,
    risk: &dyn Risk,
    settings: &Settings,
) -> Result<StopRules, TrainError> {
    let rules = settings.rules();
    if !matches!(targets, Targets::Numbers { .. }) || settings.is_given("abs-tol") {
        return Ok(rules);
    }
    // The outputs there are known without a look at the data.
    let at_zero = risk.at(vec![0.0; risk.dim()], &Cancel::new());
    let scale = at_zero.map_err(crate::solver::RunError::from)?.value;
    Ok(StopRules { abs_tol: rules.abs_tol * scale, ..rules })
}
