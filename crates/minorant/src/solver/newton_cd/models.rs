//! Second-order models of a risk over a working set of weights: with the Hessian at hand, or by
//! what the weights' steps have done to the examples' outputs.

use super::descent::Quadratic;
use crate::risk::SecondDerivatives;
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
    ) -> Self {
        let k = columns.outputs;
        if k == 1 {
            return WithHessian { hessian: columns.columns.gram(&second.diagonal), slopes };
        }
        // −Σ_i (b ⊗ x)(b ⊗ x)ᵀ over all pairs of weights, and Σ_i a x xᵀ between weights of one
        // output.
        let size = slopes.len();
        let of_b = |weight: usize, row: usize, x: f64| {
            x * second.rank_one[row * k + columns.places[weight].1]
        };
        let rows = second.diagonal.len() / k;
        let mut hessian = columns.of_weights().map(of_b).gram(&vec![-1.0; rows]);
        for output in 0..k {
            let (weights, of_output) = columns.of_output(output);
            let diagonal: Vec<f64> =
                second.diagonal.iter().skip(output).step_by(k).copied().collect();
            let gram = of_output.gram(&diagonal);
            for (at, &weight) in weights.iter().enumerate() {
                for (other, entry) in weights.iter().zip(&gram[at * weights.len()..]) {
                    hessian[weight * size + other] += entry;
                }
            }
        }
        WithHessian { hessian, slopes }
    }
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
}

/// The model by columns, one output an example.
#[derive(Debug)]
pub(super) struct OneOutput<'c> {
    columns: &'c ColumnSet,
    second: Vec<f64>,
    slopes: Vec<f64>,
    curvatures: Vec<f64>,
    /// What steps have added to the first derivative in each example's output.
    change: Vec<f64>,
}

impl<'c> OneOutput<'c> {
    pub(super) fn new(columns: &'c WorkingColumns, second: Vec<f64>, slopes: Vec<f64>) -> Self {
        let columns = &columns.columns;
        let curvatures = (0..columns.len()).map(|at| columns.square(at, &second)).collect();
        let change = vec![0.0; second.len()];
        OneOutput { columns, second, slopes, curvatures, change }
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
    ) -> Self {
        let k = columns.outputs;
        let curvature = |weight: usize| {
            let (rows, xs, output) = columns.of(weight);
            let square = |(&i, x): (&u32, &f64)| {
                let at = i as usize * k + output;
                (second.diagonal[at] - second.rank_one[at] * second.rank_one[at]) * x * x
            };
            rows.iter().zip(xs).map(square).sum()
        };
        let curvatures = (0..slopes.len()).map(curvature).collect();
        let change = vec![0.0; second.diagonal.len()];
        let along = vec![0.0; second.diagonal.len() / k];
        ManyOutputs { columns, second, slopes, curvatures, change, along }
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
