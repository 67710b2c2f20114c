//! `regression`: numbers to be met instead of classes. Its losses by their names with their options, the
//! targets as the losses take them, and the risk that they make. What is measured of predictions stands
//! in `residuals.rs`; fitting, paths and files are those of all linear models.

use super::TargetKind;
use super::builders::Regression;
use super::losses::{LossName, OF_TARGETS, WeightedRows};
use super::targets::{Targets, Truths};
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
    let truths = Truths::Numbers(Numbers::new(numbers(labels)?.to_vec()));
    let kind = TargetKind::Numbers;
    Ok(Targets { kind, classes: 0, outputs: kind.outputs(0, levels.len()), truths })
}

/// A loss of residuals, as training and as the audit have it; `levels` are those of quantiles, of which
/// training has the first here, and `scale` is the one that was fitted along.
pub(super) fn of_residuals<'a>(
    loss: LossName,
    levels: &'a [f64],
    scale: Option<f64>,
    settings: &Settings,
) -> (Shape, PlainResidual<'a>) {
    let (epsilon, delta) = (settings.get(&EPSILON), settings.get(&HUBER));
    match loss {
        LossName::Absolute => (Shape::ABSOLUTE, PlainResidual::Absolute),
        LossName::Quantile => (Shape::quantile(levels[0]), PlainResidual::Quantiles(levels)),
        LossName::EpsilonInsensitive => {
            (Shape::epsilon_insensitive(epsilon), PlainResidual::EpsilonInsensitive(epsilon))
        }
        LossName::SquaredEpsilonInsensitive => (
            Shape::squared_epsilon_insensitive(epsilon),
            PlainResidual::SquaredEpsilonInsensitive(epsilon),
        ),
        LossName::Huber => {
            let with_scale = |scale| PlainResidual::HuberScale(delta, scale);
            (Shape::huber(delta), scale.map_or(PlainResidual::Huber(delta), with_scale))
        }
        _ => (Shape::SQUARES, PlainResidual::Squares),
    }
}

/// The risk of targets under a loss.
pub(super) fn risk<'a>(
    loss: LossName,
    numbers: &Numbers,
    rows: WeightedRows<'a>,
) -> Box<dyn Risk + 'a> {
    let (numbers, settings) = (numbers.clone(), rows.settings);
    if fits_scale(loss, settings) {
        let (delta, is_free) = (settings.get(&HUBER), settings.get(&INTERCEPT).is_some());
        return Box::new(HuberScale::new(rows.design, numbers, rows.weights, delta, is_free));
    }
    let levels = levels(settings);
    if levels.len() > 1 {
        return rows.risk(Quantiles::new(numbers, levels));
    }
    rows.risk(Residual::new(numbers, of_residuals(loss, &levels, None, settings).0))
}

/// Whether the scale of the targets is fitted along.
pub(super) fn fits_scale(loss: LossName, settings: &Settings) -> bool {
    loss == LossName::Huber && settings.get(&HUBER_SCALE)
}

/// The scale at outputs of all rows, where it is fitted along.
pub(super) fn scale(
    loss: LossName,
    numbers: &Numbers,
    weights: &ExampleWeights,
    outputs: &[f64],
    settings: &Settings,
) -> Option<f64> {
    // A run that has not begun knows no outputs.
    let is_known = fits_scale(loss, settings) && outputs.len() == numbers.len();
    is_known.then(|| Scale::of(outputs, numbers, weights, settings.get(&HUBER)).sigma)
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
    if targets.kind != TargetKind::Numbers || settings.is_given("abs-tol") {
        return Ok(rules);
    }
    // The outputs there are known without a look at the data.
    let at_zero = risk.at(vec![0.0; risk.dim()], &Cancel::new());
    let scale = at_zero.map_err(crate::solver::RunError::from)?.value;
    // Where no target is missed at w = 0, there is nothing to gain and nothing to measure by.
    let scale = if scale > 0.0 { scale } else { 1.0 };
    Ok(StopRules { abs_tol: rules.abs_tol * scale, ..rules })
}
