//! What users ask of the penalty of linear models: the share of absolute weights, the weight of the
//! constant feature, signs and bounds. From options to a regularizer for training, and to the plain
//! penalty that audits compute with; what either does with it stands elsewhere.

use super::linear::BIAS_WEIGHT;
use super::{Settings, TrainError, refuse};
use crate::audit;
use crate::options::common::{BIAS, BOUNDS, L1_RATIO, NONNEGATIVE, Norm, PENALTY};
use crate::regularizer::{L2, Ranges, RegularizerError};

/// The share of absolute weights in the penalty.
pub(crate) fn l1_ratio(settings: &Settings) -> f64 {
    match settings.get(&PENALTY) {
        Norm::L1 => 1.0,
        Norm::L2 => settings.get(&L1_RATIO).unwrap_or(0.0),
    }
}

/// λ (r ‖w‖₁ + (1 − r)/2 ‖w‖²).
pub(crate) fn mixed(settings: &Settings, lambda: f64) -> Result<L2, RegularizerError> {
    // The user's λ is checked whatever the share is.
    let whole = L2::new(lambda)?;
    match l1_ratio(settings) {
        0.0 => Ok(whole),
        1.0 => L2::none().with_l1(lambda),
        ratio => L2::new(lambda * (1.0 - ratio))?.with_l1(lambda * ratio),
    }
}

/// The weights of a linear model, which lie feature by feature: `columns` of the data, the constant
/// feature with its θ where there is one, and so many outputs of each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinearWeights<'s> {
    /// Whether there is a constant feature, and with which θ; bounds.
    pub(crate) settings: &'s Settings,
    /// Columns of the data.
    pub(crate) columns: usize,
    /// Outputs.
    pub(crate) outputs: usize,
}

impl LinearWeights<'_> {
    fn features(&self) -> usize {
        self.columns + usize::from(self.settings.get(&BIAS).is_some())
    }

    /// θ of each weight, where not all are 1.
    fn thetas(&self) -> Option<Vec<f64>> {
        let theta = self.settings.get(&BIAS_WEIGHT)?;
        let mut all = vec![1.0; self.features() * self.outputs];
        all[self.columns * self.outputs..].fill(theta);
        Some(all)
    }

    /// The least and the greatest value of each weight, where some are bounded; refused where nothing
    /// lies between.
    fn ranges(&self) -> Result<Option<Vec<(f64, f64)>>, String> {
        let (nonnegative, bounds) = (self.settings.get(&NONNEGATIVE), self.settings.get(&BOUNDS));
        if !nonnegative && bounds.is_none() {
            return Ok(None);
        }
        let least = if nonnegative { 0.0 } else { f64::NEG_INFINITY };
        let mut columns = vec![(least, f64::INFINITY); self.columns];
        for &[column, low, high] in bounds.unwrap_or_default().as_chunks::<3>().0 {
            let Some(range) = columns.get_mut(column as usize - 1) else {
                return Err(format!(
                    "bounds are given for column {column} of data with {} columns",
                    self.columns
                ));
            };
            *range = (range.0.max(low), high);
            if range.0 > range.1 {
                return Err(format!(
                    "nonnegative weights leave nothing between the bounds {low} and {high} of column {column}"
                ));
            }
        }
        columns.resize(self.features(), (f64::NEG_INFINITY, f64::INFINITY));
        Ok(Some(columns.into_iter().flat_map(|range| vec![range; self.outputs]).collect()))
    }

    /// The regularizer with this λ.
    pub(crate) fn regularizer(&self, lambda: f64) -> Result<L2, TrainError> {
        if self.settings.get(&BIAS_WEIGHT).is_some() && l1_ratio(self.settings) > 0.0 {
            return refuse(
                "a bias weight goes with the penalty l2; l1 penalises the bias like the others",
            );
        }
        let mut regularizer = mixed(self.settings, lambda)?;
        if let Some(thetas) = self.thetas() {
            regularizer = regularizer.with_weights(thetas)?;
        }
        if let Some(ranges) = self.ranges()? {
            let (least, greatest) = ranges.into_iter().unzip();
            regularizer = regularizer.with_ranges(Ranges::new(least, greatest)?)?;
        }
        Ok(regularizer)
    }

    /// The same penalty for an audit.
    pub(crate) fn plain(&self, lambda: f64) -> Result<audit::Penalty, String> {
        let (theta, ranges) = (self.thetas(), self.ranges()?);
        Ok(audit::Penalty {
            theta,
            ranges,
            ..audit::Penalty::mixed(lambda, l1_ratio(self.settings))
        })
    }
}
