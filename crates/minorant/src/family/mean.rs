//! Example weights as users give them: checked once for rows, sequences and images alike, and what
//! they make of a mean. A weight is the same as so many repetitions of its example.

use super::{TrainError, refuse};
use crate::risk::ExampleWeights;
use minorant_linalg::sum::Sum;

/// Refuses weights that are not one number of 0 or more for each of so many examples, which are
/// called `what`.
pub(crate) fn check(weights: &[f64], examples: usize, what: &str) -> Result<(), TrainError> {
    if weights.len() != examples {
        let article = if what.starts_with('i') { "an" } else { "a" };
        return refuse(format!(
            "expected {examples} example weights, one {article} {what}, found {}",
            weights.len()
        ));
    }
    if let Some(at) = weights.iter().position(|s| !(*s >= 0.0 && s.is_finite())) {
        return refuse(format!(
            "expected weights of 0 or more, found {} for {what} {}",
            weights[at],
            at + 1
        ));
    }
    if !weights.iter().any(|s| *s > 0.0) {
        return refuse("expected some example weight above 0, found none");
    }
    if !weights.iter().sum::<f64>().is_finite() {
        return refuse("the example weights add up to more than a number can hold");
    }
    Ok(())
}

/// The examples that weigh something, in order; checks the weights.
pub(crate) fn counted(
    weights: Option<&[f64]>,
    examples: usize,
    what: &str,
) -> Result<Vec<usize>, TrainError> {
    let Some(weights) = weights else { return Ok((0..examples).collect()) };
    check(weights, examples, what)?;
    Ok((0..examples).filter(|&i| weights[i] > 0.0).collect())
}

/// A mean over units of which examples have several: Σ sᵢ lossᵢ / Σ sᵢ uᵢ.
pub(crate) struct Mean {
    /// sᵢ / Σ sᵢ uᵢ.
    pub(crate) shares: ExampleWeights,
    /// Σ sᵢ uᵢ.
    pub(crate) total: f64,
}

impl Mean {
    /// The mean over examples that have so many units each; they weigh 1 unless weights are given.
    pub(crate) fn new(
        weights: Option<&[f64]>,
        units: impl ExactSizeIterator<Item = usize>,
        what: &str,
    ) -> Result<Self, TrainError> {
        let Some(weights) = weights else {
            let total = units.sum::<usize>();
            return Ok(Mean { shares: ExampleWeights::mean(total), total: total as f64 });
        };
        check(weights, units.len(), what)?;
        let total = weights.iter().zip(units).map(|(s, u)| s * u as f64).collect::<Sum>().value();
        if !(total > 0.0 && total.is_finite()) {
            return refuse(format!(
                "expected a positive sum of example weights times tokens, found {total}"
            ));
        }
        let shares = weights.iter().map(|s| s / total).collect();
        Ok(Mean { shares: ExampleWeights::Each(shares), total })
    }
}
