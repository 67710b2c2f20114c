//! Slopes of the examples' minorants that add up to zero over the examples, so that the plane they make
//! has no component along the intercept. At kinks a mixture of both sides brings that about; what is left
//! is scaled away, for a convex loss that is nowhere negative has with every minorant those whose slopes
//! are a share of it.

use super::small_system::SmallSystem;
use super::{InterceptRisk, NEAR};
use crate::risk::{BySlopes, Cancel, Duals, Plane, Point, RiskError, ScaledTangents};
use minorant_linalg::parallel::{map_chunks, map_chunks_mut};
use minorant_linalg::sum::Sum;

/// A sum of slopes that is this share of their sizes is rounding.
pub(super) const ROUNDING: f64 = 1e-15;
/// Corrections of the slopes' sum.
const CORRECTIONS: usize = 3;

/// What some slopes come to.
struct Sizes {
    /// Σ sᵢ |offset of the minorant|.
    offset: f64,
    /// Σ sᵢ |cᵢ| ‖xᵢ‖.
    normal: f64,
}

impl InterceptRisk<'_> {
    /// The slopes of all examples' tangents.
    pub(super) fn slopes(&self, outputs: &[f64]) -> Vec<f64> {
        let (loss, k) = (self.loss(), self.loss().outputs());
        let mut slopes = vec![0.0; outputs.len()];
        map_chunks_mut(&self.inner.rows.chunks, &mut slopes, k, |_, rows, slopes| {
            loss.slopes(rows.clone(), &outputs[rows.start * k..rows.end * k], slopes);
        });
        slopes
    }

    /// Σ sᵢ cᵢ by outputs, and the largest Σ sᵢ |cᵢ| of an output.
    pub(super) fn sum_of_slopes(&self, slopes: &[f64]) -> (Vec<f64>, f64) {
        let k = self.loss().outputs();
        let sums = map_chunks(&self.inner.rows.chunks, |_, rows| {
            let mut sums = vec![(Sum::new(), 0.0); k];
            for i in rows {
                let weight = self.weight(i);
                for ((sum, size), c) in sums.iter_mut().zip(&slopes[i * k..]) {
                    sum.add_product(weight, *c);
                    *size += (weight * c).abs();
                }
            }
            sums
        });
        let (mut total, mut sizes) = (vec![Sum::new(); k], vec![0.0; k]);
        for chunk in sums {
            for ((total, size), of_chunk) in total.iter_mut().zip(&mut sizes).zip(chunk) {
                total.add_scaled(1.0, of_chunk.0);
                *size += of_chunk.1;
            }
        }
        let largest = sizes.into_iter().fold(0.0, f64::max);
        (total.into_iter().map(Sum::value).collect(), largest)
    }

    /// The slopes of minorants that touch at centred outputs, or nearly so, and add up to 0 but for
    /// rounding.
    pub(super) fn balanced_slopes(&self, outputs: &[f64]) -> Vec<f64> {
        let mut slopes = match self.needs_mixture() {
            true => self.mixture(outputs).1,
            false => self.slopes(outputs),
        };
        self.mix_at_kinks(outputs, &mut slopes);
        self.drop_idle_outputs(&mut slopes);
        for _ in 0..CORRECTIONS {
            if !self.level(&mut slopes) {
                break;
            }
        }
        slopes
    }

    /// Scales slopes down, where their sum is more than rounding, so that it is 0; whether it was more.
    pub(super) fn level(&self, slopes: &mut [f64]) -> bool {
        let (sum, size) = self.sum_of_slopes(slopes);
        let is_tilted = sum.iter().any(|sum| sum.abs() > ROUNDING * size);
        if is_tilted {
            self.scale(slopes, &sum);
        }
        is_tilted
    }

    /// Where examples of one output lie on kinks, their slopes become the mixture of both sides, the
    /// same for all, that brings the sum nearest to 0.
    fn mix_at_kinks(&self, outputs: &[f64], slopes: &mut [f64]) {
        let Some(kinks) = self.loss().kinks().filter(|_| self.loss().outputs() == 1) else {
            return;
        };
        // Row, weight and the slopes of both sides.
        let ends = map_chunks(&self.inner.rows.chunks, |_, rows| {
            let at_kink = rows.filter(|&i| kinks.at_kink(i, &outputs[i..=i]));
            let ends = at_kink.map(|i| {
                let end = |d: f64| {
                    let mut c = [0.0];
                    kinks.steepest_tangent(i, &outputs[i..=i], &[d], &mut c);
                    c[0]
                };
                (i, self.weight(i), end(-1.0), end(1.0))
            });
            ends.collect::<Vec<_>>()
        });
        let ends = ends.concat();
        for &(i, _, low, _) in &ends {
            slopes[i] = low;
        }
        let missing = -self.sum_of_slopes(slopes).0[0];
        let room: Sum = ends.iter().map(|(_, weight, low, high)| weight * (high - low)).collect();
        let share = missing / room.value();
        if !share.is_finite() {
            return;
        }
        for (i, _, low, high) in ends {
            slopes[i] = low + share.clamp(0.0, 1.0) * (high - low);
        }
    }

    /// Where the slopes of an output have the same sign in all examples that weigh anything, as those of a
    /// class that none of these has, no intercept of it is the best one, and only slopes of 0 add up to 0. Of
    /// losses that depend on differences of outputs alone, what is taken from an output goes to those of the
    /// other sign, which leaves a minorant.
    fn drop_idle_outputs(&self, slopes: &mut [f64]) {
        let k = self.loss().outputs();
        let is_difference = |c: &[f64]| {
            c.iter().sum::<f64>().abs() <= NEAR * c.iter().map(|c| c.abs()).sum::<f64>()
        };
        if k == 1 || !slopes.chunks_exact(k).all(is_difference) {
            return;
        }
        for z in 0..k {
            let weighs = |i: &usize| self.weight(*i) > 0.0;
            let of_output = |slopes: &[f64], sign: f64| {
                (0..slopes.len() / k).filter(weighs).all(|i| sign * slopes[i * k + z] >= 0.0)
            };
            if !of_output(slopes, 1.0) && !of_output(slopes, -1.0) {
                continue;
            }
            for c in slopes.chunks_exact_mut(k).filter(|c| c[z] != 0.0) {
                let taken = std::mem::take(&mut c[z]);
                let others: f64 = c.iter().filter(|c| *c * taken < 0.0).sum();
                // Exactly nothing is left where there was one other only.
                let left = if others == -taken { 0.0 } else { (1.0 + taken / others).max(0.0) };
                c.iter_mut().filter(|c| **c * taken < 0.0).for_each(|c| *c *= left);
            }
        }
    }

    /// Scales slopes down, those of some examples more than others, so that their sum is 0 but for
    /// rounding: cᵢ becomes a common factor times cᵢ (1 − cᵢ·μ), with Σ sᵢ cᵢ cᵢᵀ μ = Σ sᵢ cᵢ.
    fn scale(&self, slopes: &mut [f64], sum: &[f64]) {
        let k = sum.len();
        let mu = self.multipliers(slopes, sum);
        let product = |c: &[f64]| c.iter().zip(&mu).map(|(c, mu)| c * mu).sum::<f64>();
        let most = slopes.chunks_exact(k).map(|c| -product(c)).fold(0.0, f64::max);
        // The largest factor becomes 1; none may be negative.
        let factor = (1.0 + most).recip();
        for c in slopes.chunks_exact_mut(k) {
            let scale = (factor * (1.0 - product(c))).clamp(0.0, 1.0);
            c.iter_mut().for_each(|c| *c *= scale);
        }
    }

    /// μ of [`InterceptRisk::scale`].
    fn multipliers(&self, slopes: &[f64], sum: &[f64]) -> Vec<f64> {
        let k = sum.len();
        let matrix = self.sum_of_matrices(|i, sum| {
            let (weight, c) = (self.weight(i), &slopes[i * k..(i + 1) * k]);
            for p in 0..k {
                for q in 0..k {
                    sum[p * k + q] += weight * c[p] * c[q];
                }
            }
        });
        SmallSystem::new(&matrix, k).solve(sum)
    }

    /// The share by which slopes would have to be scaled down, at most, so that their sum is 0 indeed.
    fn imbalance(&self, slopes: &[f64]) -> f64 {
        let k = self.loss().outputs();
        let (sum, size) = self.sum_of_slopes(slopes);
        // The sum itself is off by its last rounding.
        let off = |x: f64| f64::EPSILON * (x.abs() + f64::EPSILON * size);
        let sum: Vec<f64> = sum.iter().map(|x| x + off(*x).copysign(*x)).collect();
        let mu = self.multipliers(slopes, &sum);
        let largest = mu.iter().fold(0.0, |top: f64, mu| top.max(mu.abs()));
        let length = |c: &[f64]| c.iter().map(|c| c.abs()).sum::<f64>();
        let longest = slopes.chunks_exact(k).map(length).fold(0.0, f64::max);
        // Twice for the common factor, and twice for what is lost in solving for the multipliers. At the
        // worst nothing is left of the slopes.
        (4.0 * longest * largest).min(1.0)
    }

    fn sizes(&self, slopes: &[f64]) -> Sizes {
        let (rows, k) = (&self.inner.rows, self.loss().outputs());
        let sizes = map_chunks(&rows.chunks, |_, chunk| {
            let (mut offset, mut normal) = (0.0, 0.0);
            let mut c = vec![0.0; k];
            for i in chunk {
                c.copy_from_slice(&slopes[i * k..(i + 1) * k]);
                let size: f64 = c.iter().map(|c| c.abs()).sum();
                let height =
                    rows.loss.conjugate().and_then(|known| known.highest_offset(i, &mut c));
                offset += self.weight(i) * height.unwrap_or(0.0).abs();
                normal += self.weight(i) * size * rows.lengths[i];
            }
            [offset, normal]
        });
        let total = |at: usize| sizes.iter().map(|size| size[at]).sum::<f64>();
        Sizes { offset: total(0), normal: total(1) }
    }

    /// The highest minorant of slopes that add up to 0 but for rounding, what that can cost being told.
    pub(super) fn highest_balanced(&self, slopes: Vec<f64>) -> Option<ScaledTangents> {
        let (share, sizes) = (self.imbalance(&slopes), self.sizes(&slopes));
        let mut scaled = self.inner.highest_with_slopes(slopes)?;
        scaled.offset_error += share * sizes.offset;
        scaled.moved += share * sizes.normal;
        Some(scaled)
    }

    /// The plane of slopes that add up to 0 but for rounding, what that can cost taken off; nothing where
    /// some are no minorant's.
    pub(super) fn balanced_plane(
        &self,
        slopes: &mut [f64],
        cancel: &Cancel,
    ) -> Result<Option<Plane>, RiskError> {
        let Some(mut plane) = self.inner.plane_with_slopes(slopes, cancel)? else {
            return Ok(None);
        };
        let (share, sizes) = (self.imbalance(slopes), self.sizes(slopes));
        plane.offset_error += share * sizes.offset;
        plane.normal_error += share * sizes.normal;
        Ok(Some(plane))
    }
}

impl BySlopes for InterceptRisk<'_> {
    fn products(&self, vector: &[f64]) -> Vec<f64> {
        self.inner.products(vector)
    }

    fn normal(&self, slopes: &[f64]) -> Vec<f64> {
        self.inner.normal(slopes)
    }
}

impl Duals for InterceptRisk<'_> {
    fn slopes(&self) -> usize {
        Duals::slopes(&self.inner)
    }

    fn plane_with_slopes(
        &self,
        slopes: &mut [f64],
        cancel: &Cancel,
    ) -> Result<Option<Plane>, RiskError> {
        self.level(slopes);
        self.balanced_plane(slopes, cancel)
    }

    fn scaled_tangents(&self, point: &Point, factor: f64) -> Option<ScaledTangents> {
        let mut slopes = self.balanced_slopes(point.outputs.here());
        slopes.iter_mut().for_each(|slope| *slope *= factor);
        self.highest_balanced(slopes)
    }
}
