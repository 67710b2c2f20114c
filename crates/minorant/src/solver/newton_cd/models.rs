//! Second-order models of a risk over a working set of weights: with the Hessian at hand, or by
//! what the weights' steps have done to the examples' outputs.

use super::descent::Quadratic;
use crate::risk::SecondDerivatives;
use minorant_linalg::dense::axpy;
use minorant_linalg::{ColumnSet, Columns};

/// The model with its Hessian Σ_i a_i x_i x_iᵀ (one output an example): steps read no data.
#[derive(Debug)]
pub(super) struct Gram {
    hessian: Vec<f64>,
    slopes: Vec<f64>,
}

impl Gram {
    pub(super) fn new(columns: &ColumnSet, second: &[f64], slopes: Vec<f64>) -> Self {
        Gram { hessian: columns.gram(second), slopes }
    }
}

impl Quadratic for Gram {
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
pub(super) struct OneOutput {
    columns: ColumnSet,
    second: Vec<f64>,
    slopes: Vec<f64>,
    curvatures: Vec<f64>,
    /// What steps have added to the first derivative in each example's output.
    change: Vec<f64>,
}

impl OneOutput {
    pub(super) fn new(columns: ColumnSet, second: Vec<f64>, slopes: Vec<f64>) -> Self {
        let curvatures = (0..columns.len()).map(|at| columns.square(at, &second)).collect();
        let change = vec![0.0; second.len()];
        OneOutput { columns, second, slopes, curvatures, change }
    }
}

impl Quadratic for OneOutput {
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
pub(super) struct ManyOutputs {
    columns: ColumnSet,
    /// For each weight its column, and its output.
    places: Vec<(usize, usize)>,
    outputs: usize,
    second: SecondDerivatives,
    slopes: Vec<f64>,
    curvatures: Vec<f64>,
    /// What steps have added to the outputs, r ...
    change: Vec<f64>,
    /// ... and bᵀr, an example each.
    along: Vec<f64>,
}

impl ManyOutputs {
    /// Weight `at` of the problem belongs to feature `at / outputs` and output `at % outputs`.
    pub(super) fn new(
        columns: &Columns,
        set: &[usize],
        outputs: usize,
        second: SecondDerivatives,
        slopes: Vec<f64>,
    ) -> Self {
        let mut features: Vec<usize> = set.iter().map(|at| at / outputs).collect();
        features.dedup();
        let columns = columns.select(features.iter().copied());
        let mut places = Vec::with_capacity(set.len());
        let mut column = 0;
        for at in set {
            while features[column] != at / outputs {
                column += 1;
            }
            places.push((column, at % outputs));
        }
        let curvature = |&(column, z): &(usize, usize)| {
            let (rows, xs) = columns.column(column);
            let square = |(&i, x): (&u32, &f64)| {
                let at = i as usize * outputs + z;
                (second.diagonal[at] - second.rank_one[at] * second.rank_one[at]) * x * x
            };
            rows.iter().zip(xs).map(square).sum()
        };
        let curvatures = places.iter().map(curvature).collect();
        let change = vec![0.0; second.diagonal.len()];
        let along = vec![0.0; second.diagonal.len() / outputs];
        ManyOutputs { columns, places, outputs, second, slopes, curvatures, change, along }
    }
}

impl Quadratic for ManyOutputs {
    fn slope(&self, at: usize) -> f64 {
        let (column, z) = self.places[at];
        let (rows, xs) = self.columns.column(column);
        let mut sum = 0.0;
        for (&i, x) in rows.iter().zip(xs) {
            let at = i as usize * self.outputs + z;
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
        let (column, z) = self.places[at];
        let (rows, xs) = self.columns.column(column);
        for (&i, x) in rows.iter().zip(xs) {
            let at = i as usize * self.outputs + z;
            self.change[at] += by * x;
            self.along[i as usize] += self.second.rank_one[at] * by * x;
        }
    }

    fn entries(&self, at: usize) -> u64 {
        // A feature's column serves all its outputs.
        (self.columns.column(self.places[at].0).0.len() / self.outputs) as u64
    }
}
