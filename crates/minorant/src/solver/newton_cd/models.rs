//! Second-order models of a risk over a working set of weights: with the Hessian at hand, or by
//! what the weights' steps have done to the examples' outputs.

use super::descent::Quadratic;
use crate::risk::{Cancel, RiskError, SecondDerivatives};
use minorant_linalg::cholesky::GrowingCholesky;
use minorant_linalg::dense::axpy;
use minorant_linalg::{ColumnSet, Columns};

/// The columns of the features that a working set has weights of.
#[derive(Debug)]
pub(super) struct WorkingColumns {
    columns: ColumnSet,
    /// For each weight its column, and its output.
    places: Vec<(usize, usize)>,
    outputs: usize,
}

impl WorkingColumns {
    /// Weight `at` of the problem belongs to feature `at / outputs` and output `at % outputs`; the
    /// set ascends.
    pub(super) fn new(columns: &Columns, set: &[usize], outputs: usize) -> Self {
        let mut features: Vec<usize> = set.iter().map(|at| at / outputs).collect();
        features.dedup();
        let mut places = Vec::with_capacity(set.len());
        let mut column = 0;
        for at in set {
            while features[column] != at / outputs {
                column += 1;
            }
            places.push((column, at % outputs));
        }
        let columns = columns.select(features.iter().copied());
        WorkingColumns { columns, places, outputs }
    }

    /// Entries of the columns.
    pub(super) fn entries(&self) -> u64 {
        self.columns.entries() as u64
    }

    /// The rows and values that belong to a weight, and its output.
    fn of(&self, weight: usize) -> (&[u32], &[f64], usize) {
        let (column, output) = self.places[weight];
        let (rows, values) = self.columns.column(column);
        (rows, values, output)
    }

    /// The weights of one output, as places in the working set, and their columns.
    fn of_output(&self, output: usize) -> (Vec<usize>, ColumnSet) {
        let weights: Vec<usize> =
            (0..self.places.len()).filter(|&weight| self.places[weight].1 == output).collect();
        let columns = self.columns.select(weights.iter().map(|&weight| self.places[weight].0));
        (weights, columns)
    }

    /// One column for each weight.
    fn of_weights(&self) -> ColumnSet {
        self.columns.select(self.places.iter().map(|&(column, _)| column))
    }

    /// For each weight the curvature that counts as none: a share of what it would be if every
    /// example were as curved as the most curved one. It depends on no other feature's size.
    pub(super) fn floors(&self, second: &SecondDerivatives) -> Vec<f64> {
        let top = second.diagonal.iter().copied().fold(0.0, f64::max);
        let every = vec![FLAT * top; second.diagonal.len() / self.outputs];
        self.places.iter().map(|&(column, _)| self.columns.square(column, &every)).collect()
    }

    /// Multiplications of a sweep over all weights: each column is read for the slope and for the
    /// step.
    pub(super) fn sweep_cost(&self) -> u64 {
        2 * self.places.iter().map(|&(c, _)| self.columns.column(c).0.len() as u64).sum::<u64>()
    }

    /// Multiplications that the Hessian takes, those of full rows at the pace of vectors.
    pub(super) fn hessian_cost(&self) -> u64 {
        if self.outputs == 1 { self.columns.gram_cost() } else { self.of_weights().gram_cost() }
    }
}

/// The share of the largest curvature that counts as none.
const FLAT: f64 = 1e-12;
/// Weights that may be moved at once: the cost grows with the third power.
const MOST_AT_ONCE: usize = 1024;
/// A pivot below this share of the diagonal is rounding.
const DEPENDENT: f64 = 1e-11;

/// The model with its Hessian: steps read no data.
#[derive(Debug)]
pub(super) struct WithHessian {
    hessian: Vec<f64>,
    slopes: Vec<f64>,
}

impl WithHessian {
    pub(super) fn new(
        columns: &WorkingColumns,
        second: &SecondDerivatives,
        slopes: Vec<f64>,
        ridges: &[f64],
        reduction: &[Vec<f64>],
        cancel: &Cancel,
    ) -> Result<Self, RiskError> {
        let size = slopes.len();
        let mut hessian = Self::hessian(columns, second, size, cancel)?;
        for r in reduction {
            for (row, x) in hessian.chunks_exact_mut(size.max(1)).zip(r) {
                axpy(-x, r, row);
            }
        }
        for (at, ridge) in ridges.iter().enumerate() {
            hessian[at * size + at] += ridge;
        }
        Ok(WithHessian { hessian, slopes })
    }

    /// The Hessian of the risk over so many weights.
    fn hessian(
        columns: &WorkingColumns,
        second: &SecondDerivatives,
        size: usize,
        cancel: &Cancel,
    ) -> Result<Vec<f64>, RiskError> {
        let k = columns.outputs;
        let goes_on = || !cancel.is_cancelled();
        if k == 1 {
            return columns.columns.gram(&second.diagonal, &goes_on).ok_or(RiskError::Cancelled);
        }
        // −Σ_i (b ⊗ x)(b ⊗ x)ᵀ over all pairs of weights, and Σ_i a x xᵀ between weights of one
        // output.
        let of_b = |weight: usize, row: usize, x: f64| {
            x * second.rank_one[row * k + columns.places[weight].1]
        };
        let rows = second.diagonal.len() / k;
        let hessian = columns.of_weights().map(of_b).gram(&vec![-1.0; rows], &goes_on);
        let mut hessian = hessian.ok_or(RiskError::Cancelled)?;
        for output in 0..k {
            let (weights, of_output) = columns.of_output(output);
            let diagonal: Vec<f64> =
                second.diagonal.iter().skip(output).step_by(k).copied().collect();
            let gram = of_output.gram(&diagonal, &goes_on).ok_or(RiskError::Cancelled)?;
            for (at, &weight) in weights.iter().enumerate() {
                for (other, entry) in weights.iter().zip(&gram[at * weights.len()..]) {
                    hessian[weight * size + other] += entry;
                }
            }
        }
        Ok(hessian)
    }
}

impl WithHessian {
    /// Moves a weight and those of the support that its column is a combination of, along the
    /// direction in which the model is flat, to where λ‖z‖₁ is less and one of them becomes zero:
    /// its place in the support, or the support's length where it is the weight itself. Nothing
    /// where there is no such way.
    fn slide(
        &mut self,
        z: &mut [f64],
        support: &[usize],
        combination: &[f64],
        weight: usize,
        lambda: f64,
    ) -> Option<usize> {
        let all: Vec<usize> = support.iter().copied().chain([weight]).collect();
        let mut d: Vec<f64> = combination.iter().map(|c| -c).chain([1.0]).collect();
        let each = all.iter().zip(&d);
        let slope: f64 = each.map(|(&at, d)| (self.slopes[at] + lambda.copysign(z[at])) * d).sum();
        if slope > 0.0 {
            d.iter_mut().for_each(|d| *d = -*d);
        }
        let ends = all.iter().zip(&d).map(|(&at, &d)| to_zero(z[at], d));
        let (spared, length) = ends.enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b))?;
        if !length.is_finite() || !d.iter().all(|d| d.is_finite()) {
            return None;
        }
        for (place, (&at, &d)) in all.iter().zip(&d).enumerate() {
            let to = if place == spared { 0.0 } else { z[at] + length * d };
            self.step(at, to - z[at]);
            z[at] = to;
        }
        Some(spared)
    }
}

/// How far a weight can go in a direction until it becomes zero.
fn to_zero(z: f64, d: f64) -> f64 {
    if z * d < 0.0 { -z / d } else { f64::INFINITY }
}

impl Quadratic for WithHessian {
    #[inline]
    fn slope(&self, at: usize) -> f64 {
        self.slopes[at]
    }

    #[inline]
    fn curvature(&self, at: usize) -> f64 {
        self.hessian[at * self.slopes.len() + at]
    }

    fn step(&mut self, at: usize, by: f64) {
        let size = self.slopes.len();
        axpy(by, &self.hessian[at * size..(at + 1) * size], &mut self.slopes);
    }

    fn entries(&self, _at: usize) -> u64 {
        0
    }

    /// Newton's step on the support, up to where the first weight becomes zero. Weights that the
    /// support can do without become zero before.
    fn leap(&mut self, z: &mut [f64], lambda: f64) {
        let size = self.slopes.len();
        let mut factor = GrowingCholesky::new(0);
        let mut support = Vec::new();
        for at in 0..size {
            while z[at] != 0.0 {
                let row = &self.hessian[at * size..(at + 1) * size];
                let mut cross: Vec<f64> = support.iter().map(|&other| row[other]).collect();
                if factor.append(&mut cross, row[at], DEPENDENT * row[at], &[]).is_ok() {
                    support.push(at);
                    break;
                }
                // It depends on the others, as far as numbers can tell: one of them can be spared.
                factor.backward(&mut cross);
                let Some(spared) = self.slide(z, &support, &cross, at, lambda) else { break };
                if spared < support.len() {
                    factor.delete(spared);
                    support.remove(spared);
                }
            }
            if support.len() > MOST_AT_ONCE {
                return;
            }
        }
        let slope = |&at: &usize| -(self.slopes[at] + lambda.copysign(z[at]));
        let mut d: Vec<f64> = support.iter().map(slope).collect();
        factor.forward(&mut d);
        factor.backward(&mut d);
        if !d.iter().all(|d| d.is_finite()) {
            return;
        }
        let each = support.iter().zip(&d);
        let length = each.map(|(&at, &d)| to_zero(z[at], d)).fold(1.0, f64::min);
        for (&at, &d) in support.iter().zip(&d) {
            // The weight that ends the leap becomes exactly zero.
            let to = if to_zero(z[at], d) <= length { 0.0 } else { z[at] + length * d };
            self.step(at, to - z[at]);
            z[at] = to;
        }
    }
}

/// The model by columns, one output an example.
#[derive(Debug)]
pub(super) struct OneOutput<'c> {
    columns: &'c ColumnSet,
    second: Vec<f64>,
    slopes: Vec<f64>,
    ridges: Vec<f64>,
    curvatures: Vec<f64>,
    /// What steps have added to the first derivative in each example's output.
    change: Vec<f64>,
}

impl<'c> OneOutput<'c> {
    pub(super) fn new(
        columns: &'c WorkingColumns,
        second: Vec<f64>,
        slopes: Vec<f64>,
        ridges: Vec<f64>,
    ) -> Self {
        let columns = &columns.columns;
        let curvature = |(at, ridge): (usize, &f64)| columns.square(at, &second) + ridge;
        let curvatures = ridges.iter().enumerate().map(curvature).collect();
        let change = vec![0.0; second.len()];
        OneOutput { columns, second, slopes, ridges, curvatures, change }
    }
}

impl Quadratic for OneOutput<'_> {
    #[inline]
    fn slope(&self, at: usize) -> f64 {
        self.slopes[at] + self.columns.dot(at, &self.change)
    }

    #[inline]
    fn curvature(&self, at: usize) -> f64 {
        self.curvatures[at]
    }

    fn step(&mut self, at: usize, by: f64) {
        self.slopes[at] += self.ridges[at] * by;
        self.columns.add(at, by, &self.second, &mut self.change);
    }

    fn entries(&self, at: usize) -> u64 {
        self.columns.column(at).0.len() as u64
    }
}

/// The model by columns, K outputs an example with the second derivative diag(a) − b bᵀ.
#[derive(Debug)]
pub(super) struct ManyOutputs<'c> {
    columns: &'c WorkingColumns,
    second: SecondDerivatives,
    slopes: Vec<f64>,
    ridges: Vec<f64>,
    curvatures: Vec<f64>,
    /// What steps have added to the outputs, r ...
    change: Vec<f64>,
    /// ... and bᵀr, an example each.
    along: Vec<f64>,
}

impl<'c> ManyOutputs<'c> {
    pub(super) fn new(
        columns: &'c WorkingColumns,
        second: SecondDerivatives,
        slopes: Vec<f64>,
        ridges: Vec<f64>,
    ) -> Self {
        let k = columns.outputs;
        let curvature = |(weight, ridge): (usize, &f64)| {
            let (rows, xs, output) = columns.of(weight);
            let square = |(&i, x): (&u32, &f64)| {
                let at = i as usize * k + output;
                (second.diagonal[at] - second.rank_one[at] * second.rank_one[at]) * x * x
            };
            rows.iter().zip(xs).map(square).sum::<f64>() + ridge
        };
        let curvatures = ridges.iter().enumerate().map(curvature).collect();
        let change = vec![0.0; second.diagonal.len()];
        let along = vec![0.0; second.diagonal.len() / k];
        ManyOutputs { columns, second, slopes, ridges, curvatures, change, along }
    }
}

impl Quadratic for ManyOutputs<'_> {
    fn slope(&self, at: usize) -> f64 {
        let (rows, xs, output) = self.columns.of(at);
        let mut sum = 0.0;
        for (&i, x) in rows.iter().zip(xs) {
            let at = i as usize * self.columns.outputs + output;
            let change = self.second.diagonal[at] * self.change[at]
                - self.second.rank_one[at] * self.along[i as usize];
            sum += x * change;
        }
        self.slopes[at] + sum
    }

    #[inline]
    fn curvature(&self, at: usize) -> f64 {
        self.curvatures[at]
    }

    fn step(&mut self, at: usize, by: f64) {
        self.slopes[at] += self.ridges[at] * by;
        let (rows, xs, output) = self.columns.of(at);
        for (&i, x) in rows.iter().zip(xs) {
            let at = i as usize * self.columns.outputs + output;
            self.change[at] += by * x;
            self.along[i as usize] += self.second.rank_one[at] * by * x;
        }
    }

    fn entries(&self, at: usize) -> u64 {
        // All outputs of a feature together are one look at its column.
        self.columns.of(at).0.len().div_ceil(self.columns.outputs) as u64
    }
}
