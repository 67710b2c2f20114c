//! How good predicted numbers are: errors, the share of the spread that is explained, and for quantiles
//! what they cost, how many targets lie below them, and how many rows have them in the wrong order.

use super::losses::LossName;
use crate::family::classes::share;
use crate::family::{Evaluation, Numbers, Style};
use minorant_linalg::sum::Sum;

/// Compares predictions with targets; `levels` are those of quantiles, in the order of the predictions.
/// The first measure is the one that paths and cross-validation go by: what the loss is about.
pub(super) fn compare(
    loss: LossName,
    levels: &[f64],
    targets: &[f64],
    predicted: &Numbers,
) -> Evaluation {
    let rows = targets.len();
    // Of several quantiles one stands for all.
    let middle = middle_of(levels);
    let mean = |of: &dyn Fn(usize) -> f64| (0..rows).map(of).collect::<Sum>().value() / rows as f64;
    let residual = |i: usize| targets[i] - predicted.row(i)[middle];
    let center = mean(&|i| targets[i]);
    let squares = mean(&|i| residual(i) * residual(i));
    let spread = mean(&|i| (targets[i] - center) * (targets[i] - center));
    // Targets that are all alike leave nothing to explain.
    let explained = (spread > 0.0 && rows > 1).then(|| 1.0 - squares / spread);
    let pinball = |k: usize| {
        mean(&|i| {
            let above = targets[i] - predicted.row(i)[k];
            (levels[k] * above).max((levels[k] - 1.0) * above)
        })
    };
    let covered = |k: usize| {
        let below = (0..rows).filter(|&i| targets[i] <= predicted.row(i)[k]).count();
        share(below as f64, rows)
    };
    let mut evaluation =
        Evaluation { counts: vec![("examples", rows)], unit: "", ..Evaluation::default() };
    let errors = [
        ("mae", "mean absolute error", Some(mean(&|i| residual(i).abs()))),
        ("rmse", "root mean squared error", Some(squares.sqrt())),
        ("r2", "R²", explained),
    ];
    let each = |of: &dyn Fn(usize) -> f64| (0..levels.len()).map(of).collect::<Vec<f64>>();
    let pinball = each(&pinball);
    if !levels.is_empty() {
        let mean = pinball.iter().sum::<f64>() / levels.len() as f64;
        evaluation.number("error", "mean pinball loss", Some(mean), Style::Number);
    }
    let order = if loss == LossName::Squares { [1, 0, 2] } else { [0, 1, 2] };
    for (key, words, value) in order.map(|at| errors[at]) {
        evaluation.number(key, words, value, Style::Number);
    }
    if levels.is_empty() {
        return evaluation;
    }
    evaluation.lists.push(("quantiles", "quantiles", levels.to_vec()));
    evaluation.lists.push(("pinball", "pinball loss", pinball));
    evaluation.lists.push(("coverage", "targets not above", each(&covered)));
    let crosses = |&i: &usize| predicted.row(i).windows(2).any(|two| two[0] > two[1]);
    evaluation.counts.push(("crossings", (0..rows).filter(crosses).count()));
    evaluation
}

/// The quantile nearest to the median; of two the lower one.
pub fn middle_of(levels: &[f64]) -> usize {
    let away = |k: usize| (levels[k] - 0.5).abs();
    let nearest = (0..levels.len()).reduce(|best, k| if away(k) < away(best) { k } else { best });
    nearest.unwrap_or(0)
}
