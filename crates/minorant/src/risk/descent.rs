//! Stochastic descent on a linear risk, one example at a time, and what steps along single rows cost.
//! With steps of 1/(λ t) the weights after t of them are −1/(λ t) times the sum of the subgradients,
//! so that the sum is all there is to keep and no weight is ever rescaled.

use super::{Descent, ExampleWeights, LinearRisk, Loss, RowMetric};
use minorant_linalg::{Factors, RowStep};

/// One pass at work.
struct Descender<'d> {
    loss: &'d dyn Loss,
    weights: &'d ExampleWeights,
    examples: f64,
    lambda: f64,
    steps: u64,
    outputs: Vec<f64>,
    slopes: &'d mut [f64],
}

impl RowStep for Descender<'_> {
    #[inline(always)]
    fn step(&mut self, row: usize, outputs: &[f64], coefficients: &mut [f64]) -> bool {
        // Before the first step the sum is 0, whatever it is divided by.
        let scale = -1.0 / (self.lambda * self.steps.max(1) as f64);
        for (f, of_sum) in self.outputs.iter_mut().zip(outputs) {
            *f = scale * of_sum;
        }
        self.loss.tangent(row, &self.outputs, coefficients);
        let k = outputs.len();
        self.slopes[row * k..(row + 1) * k].copy_from_slice(coefficients);
        self.steps += 1;
        let share = self.examples * self.weights.of(row);
        let mut moves = false;
        for c in coefficients {
            *c *= share;
            moves |= *c != 0.0;
        }
        moves
    }
}

impl RowMetric {
    pub(super) fn factors(&self) -> Factors<'_> {
        Factors { columns: self.columns.as_deref(), bias: self.bias }
    }
}

impl LinearRisk<'_> {
    pub(super) fn descend_along(&self, metric: &RowMetric, order: &[u32], descent: &mut Descent) {
        let outputs = self.rows.loss.outputs();
        descent.slopes.resize(self.rows.design.rows() * outputs, 0.0);
        let mut descender = Descender {
            loss: &*self.rows.loss,
            weights: &self.rows.weights,
            examples: self.rows.design.rows() as f64,
            lambda: metric.lambda,
            steps: descent.steps,
            outputs: vec![0.0; outputs],
            slopes: &mut descent.slopes,
        };
        let step: &mut dyn RowStep = &mut descender;
        if outputs == 1 {
            self.rows.design.relax(order, metric.factors(), &mut descent.sum, step);
        } else {
            self.rows.design.relax_many(order, metric.factors(), outputs, &mut descent.sum, step);
        }
        descent.steps = descender.steps;
    }

    pub(super) fn row_metric(&self, lambda: f64, theta: Option<&[f64]>) -> Option<RowMetric> {
        let (k, cols) = (self.rows.loss.outputs(), self.rows.design.matrix().cols());
        let all = theta.map_or(&[][..], |theta| theta);
        if all.chunks_exact(k).any(|of_feature| of_feature.iter().any(|t| *t != of_feature[0])) {
            return None;
        }
        let factors: Vec<f64> =
            all.chunks_exact(k).map(|theta| 1.0 / (theta[0] * theta[0])).collect();
        let bias = factors.get(cols).copied().unwrap_or(1.0);
        let columns = factors.get(..cols).filter(|columns| columns.iter().any(|f| *f != 1.0));
        let square = |i: usize| match columns {
            // The lengths count the constant feature with the factor 1.
            None => {
                let of_bias = self.rows.design.bias().map_or(0.0, |b| b * b * (bias - 1.0));
                self.rows.lengths[i] * self.rows.lengths[i] + of_bias
            }
            Some(columns) => {
                let entries: f64 =
                    self.rows.design.matrix().row(i).map(|(j, x)| x * x * columns[j]).sum();
                entries + self.rows.design.bias().map_or(0.0, |b| b * b * bias)
            }
        };
        let curvature = |i: usize| (self.rows.weights.of(i) * square(i)).max(0.0) / lambda;
        let longest = self.rows.lengths.iter().copied().fold(0.0, f64::max);
        Some(RowMetric {
            lambda,
            curvatures: (0..self.rows.design.rows()).map(curvature).collect(),
            longest: longest * columns.unwrap_or(&[]).iter().copied().fold(bias.max(1.0), f64::max),
            columns: columns.map(<[f64]>::to_vec),
            bias,
            rests: None,
        })
    }
}
