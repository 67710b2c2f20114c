//! Proofs by slopes: one minorant for each example, as high as its loss allows (the loss's convex
//! conjugate, written out again for the audit alone).

use super::tangent::Truth;
use super::{Examples, Minorant};
use crate::model::{FittedModel, TrainedLoss};
use minorant_linalg::parallel::split_evenly;
use rayon::prelude::*;

/// Blocks that rows are added up in.
const BLOCKS: usize = 64;
/// How far slopes may lie outside of what the loss allows, by rounding; they are moved back.
const OUTSIDE: f64 = 1e-12;

impl Examples<'_> {
    /// The minorants of blocks of rows, from the slopes of all rows.
    pub(super) fn minorants_with(&self, slopes: &[f64]) -> Result<Vec<Minorant>, String> {
        let (rows, k) = (self.data.features.rows(), self.outputs());
        if slopes.len() != rows * k {
            return Err(format!("the proof has {} slopes for {rows} rows", slopes.len()));
        }
        let of_block = |block: std::ops::Range<usize>| {
            let mut sum = self.empty_minorant(block.len());
            for i in block {
                let mut slope = slopes[i * k..(i + 1) * k].to_vec();
                let truth = self.truth(i);
                let offset = highest_offset(self.model, truth, &mut slope).ok_or_else(|| {
                    format!("the slopes of row {} are no minorant's of its loss", i + 1)
                })?;
                let weight = self.weights[i];
                slope.iter_mut().for_each(|slope| *slope *= weight);
                sum.offset.add(weight * offset);
                sum.offset_size += weight * offset.abs();
                sum.add_row(&self.entries(i), &slope);
            }
            Ok(sum)
        };
        split_evenly(rows, BLOCKS.min(rows)).into_par_iter().map(of_block).collect()
    }
}

/// The largest offset with which `offset + slope · f` lies below the row's loss everywhere.
fn highest_offset(model: &FittedModel, truth: Truth<'_>, slope: &mut [f64]) -> Option<f64> {
    if let Truth::Sign(positive) = truth {
        let sign = if positive { 1.0 } else { -1.0 };
        let most = if model.loss == TrainedLoss::SquaredHinge { f64::MAX } else { 1.0 };
        let q = allowed(-sign * slope[0], most)?;
        slope[0] = -sign * q;
        return Some(match model.loss {
            TrainedLoss::Hinge => q,
            TrainedLoss::SquaredHinge => q - 0.25 * q * q,
            TrainedLoss::Logistic => entropy(q) + entropy(1.0 - q),
            TrainedLoss::Ramp | TrainedLoss::Transductive => return None,
        });
    }
    let Truth::Class(label) = truth else { return None };
    let mut others = 0.0;
    for (z, slope) in slope.iter_mut().enumerate().filter(|(z, _)| *z != label) {
        *slope = allowed(*slope, 1.0)?;
        others += *slope;
        debug_assert_ne!(z, label);
    }
    let total = allowed(others, 1.0)?;
    if (slope[label] + total).abs() > OUTSIDE {
        return None;
    }
    // Moved back onto the simplex, so that the slopes add up to 0 as well as numbers can.
    if others > 1.0 {
        slope.iter_mut().for_each(|slope| *slope /= others);
    }
    slope[label] = -total;
    let rest = slope.iter().enumerate().filter(|(z, _)| *z != label);
    Some(match (model.loss, &model.label_loss) {
        (TrainedLoss::Hinge, Some(delta)) => {
            rest.map(|(z, s)| s * delta[label * slope.len() + z]).sum()
        }
        (TrainedLoss::Hinge, None) => total,
        (TrainedLoss::Logistic, _) => {
            rest.map(|(_, s)| entropy(*s)).sum::<f64>() + entropy(1.0 - total)
        }
        (TrainedLoss::SquaredHinge | TrainedLoss::Ramp | TrainedLoss::Transductive, _) => {
            return None;
        }
    })
}

/// A number that ought to lie between 0 and `most`, moved there if rounding has carried it out.
fn allowed(q: f64, most: f64) -> Option<f64> {
    (-OUTSIDE <= q && q <= most + OUTSIDE).then(|| q.clamp(0.0, most))
}

fn entropy(q: f64) -> f64 {
    if q > 0.0 { -q * q.ln() } else { 0.0 }
}
