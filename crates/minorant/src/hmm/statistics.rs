//! Counts over paths: how often each arc was taken, which frames each Gaussian had, and the weights
//! under which these counts are most likely.

use super::shape::End;
use super::tables::below;
use super::{Covariance, HmmShape, Tables, Visit};
use minorant_linalg::elementary::ln;

/// Sums over paths.
#[derive(Debug, Clone)]
pub(super) struct Statistics {
    /// What the sequence counts whose paths are added.
    pub(super) weight: f64,
    /// How often each slot's arc or component was taken.
    counts: Vec<f64>,
    /// For each Gaussian the sums of its frames, of their squares, and where it is full of the products
    /// of each feature with those before it.
    sums: Vec<f64>,
    squares: Vec<f64>,
    products: Vec<f64>,
}

/// Each alternative of a choice counts as if taken this often more: none gets probability 0.
const BEFOREHAND: f64 = 1.0;
/// No variance is below this, in units of the feature's variance over all frames.
pub(super) const VARIANCE_FLOOR: f64 = 0.05;
/// A Gaussian with less than this is left as it is.
const ALIVE: f64 = 1e-6;

impl Statistics {
    pub(super) fn new(shape: &HmmShape) -> Self {
        let sums = vec![0.0; shape.gaussians() * shape.features];
        let counts = vec![0.0; shape.slots().len()];
        let products = vec![0.0; shape.gaussians() * shape.pairs()];
        Statistics { weight: 1.0, counts, squares: sums.clone(), sums, products }
    }

    /// Adds the statistics of other sequences.
    pub(super) fn add(&mut self, other: &Statistics) {
        let pairs = [
            (&mut self.counts, &other.counts),
            (&mut self.sums, &other.sums),
            (&mut self.squares, &other.squares),
            (&mut self.products, &other.products),
        ];
        for (own, other) in pairs {
            own.iter_mut().zip(other).for_each(|(own, other)| *own += other);
        }
    }

    /// Adds an arc or a component that was taken so often.
    pub(super) fn count(&mut self, slot: usize, times: f64) {
        self.counts[slot] += self.weight * times;
    }

    /// Adds a frame that a Gaussian had so often.
    pub(super) fn add_frame(&mut self, tables: &Tables, g: usize, times: f64, frame: &[f64]) {
        let weight = self.weight * times;
        self.counts[tables.slots.mixture(g)] += weight;
        let features = frame.len();
        let sums = &mut self.sums[g * features..(g + 1) * features];
        let squares = &mut self.squares[g * features..(g + 1) * features];
        for ((sum, square), x) in sums.iter_mut().zip(squares).zip(frame) {
            *sum += weight * x;
            *square += weight * x * x;
        }
        let pairs = tables.shape.pairs();
        let products = &mut self.products[g * pairs..(g + 1) * pairs];
        for (product, (j, k)) in products.iter_mut().zip(below(features)) {
            *product += weight * frame[j] * frame[k];
        }
    }

    /// Adds a path with its best Gaussians.
    pub(super) fn add_path(&mut self, tables: &Tables, path: &[Visit], sequence: &[f64]) {
        count_arcs(tables, path, self.weight, &mut self.counts);
        for (visit, frame) in path.iter().zip(sequence.chunks_exact(tables.shape.features)) {
            self.add_frame(tables, tables.best_gaussian(frame, visit.state), 1.0, frame);
        }
    }

    /// Sets the weights to the most likely ones; a Gaussian without frames stays as it is.
    pub(super) fn fit(&self, shape: &HmmShape, w: &mut [f64]) {
        let slots = shape.slots();
        for choice in shape.choices() {
            let logit = |slot: usize| ln(self.counts[slot] + BEFOREHAND);
            let norm = if choice.slots.len() > choice.weights.len() {
                logit(choice.slots[choice.slots.len() - 1])
            } else {
                let total: f64 = choice.slots.iter().map(|&s| self.counts[s] + BEFOREHAND).sum();
                ln(total)
            };
            for (weight, &slot) in choice.weights.clone().zip(&choice.slots) {
                w[weight] = logit(slot) - norm;
            }
        }
        for g in 0..shape.gaussians() {
            let frames = self.counts[slots.mixture(g)];
            if frames < ALIVE {
                continue;
            }
            let at = g * shape.features;
            if shape.covariance == Covariance::Full {
                self.fit_full(shape, g, frames, w);
                continue;
            }
            for (j, (mean, rho)) in shape.means(g).zip(shape.log_precisions(g)).enumerate() {
                let center = self.sums[at + j] / frames;
                let variance = self.squares[at + j] / frames - center * center;
                w[mean] = center;
                w[rho] = -ln(variance.max(VARIANCE_FLOOR));
            }
        }
    }
}

impl Statistics {
    /// Mean, precisions and factor of a full Gaussian with so many frames. Its covariances are drawn
    /// towards 0 as if a frame for each feature knew of none, so that few frames make no thin Gaussian.
    fn fit_full(&self, shape: &HmmShape, g: usize, frames: f64, w: &mut [f64]) {
        let (d, pairs) = (shape.features, shape.pairs());
        let means: Vec<f64> =
            self.sums[g * d..(g + 1) * d].iter().map(|sum| sum / frames).collect();
        let share = frames / (frames + d as f64);
        let mut covariance = vec![0.0; d * d];
        for j in 0..d {
            let variance = self.squares[g * d + j] / frames - means[j] * means[j];
            covariance[j * d + j] = variance.max(VARIANCE_FLOOR);
        }
        for ((j, k), product) in below(d).zip(&self.products[g * pairs..]) {
            covariance[j * d + k] = share * (product / frames - means[j] * means[k]);
        }
        let (variances, factor) = factorised(covariance, d);
        w[shape.means(g)].copy_from_slice(&means);
        w[shape.factor(g)].copy_from_slice(&factor);
        for (rho, variance) in shape.log_precisions(g).zip(variances) {
            w[rho] = -ln(variance);
        }
    }
}

/// The variances of each feature around what the features before it foretell, and the factor U below
/// its diagonal: with U of ones on its diagonal the inverse of the matrix is Uᵀ D U, where D has the
/// variances' inverses. Only the lower triangle of the matrix is read.
fn factorised(mut matrix: Vec<f64>, d: usize) -> (Vec<f64>, Vec<f64>) {
    let mut variances: Vec<f64> = Vec::with_capacity(d);
    for j in 0..d {
        for k in 0..j {
            let sum: f64 =
                (0..k).map(|m| matrix[j * d + m] * matrix[k * d + m] * variances[m]).sum();
            matrix[j * d + k] = (matrix[j * d + k] - sum) / variances[k];
        }
        let sum: f64 = (0..j).map(|m| matrix[j * d + m] * matrix[j * d + m] * variances[m]).sum();
        variances.push((matrix[j * d + j] - sum).max(VARIANCE_FLOOR));
    }
    // U = L⁻¹: u_jk = −Σ over k ≤ m < j of l_jm u_mk.
    let mut inverse = vec![0.0; d * d];
    for j in 0..d {
        inverse[j * d + j] = 1.0;
        for k in 0..j {
            let sum: f64 = (k..j).map(|m| matrix[j * d + m] * inverse[m * d + k]).sum();
            inverse[j * d + k] = -sum;
        }
    }
    (variances, below(d).map(|(j, k)| inverse[j * d + k]).collect())
}

/// Adds `weight` for each arc that a path takes.
pub(super) fn count_arcs(tables: &Tables, path: &[Visit], weight: f64, counts: &mut [f64]) {
    let (slots, q) = (tables.slots, tables.shape.states);
    let mut last: Option<usize> = None;
    for visit in path {
        let unit = visit.state / q;
        match (last, visit.enters) {
            (Some(from), false) => counts[slots.inner(from, visit.state % q)] += weight,
            (None, _) => {
                counts[slots.begin(unit)] += weight;
                counts[slots.entry(visit.state)] += weight;
            }
            (Some(from), true) => {
                counts[slots.exit(from)] += weight;
                counts[slots.switch(from / q, unit)] += weight;
                counts[slots.entry(visit.state)] += weight;
            }
        }
        last = Some(visit.state);
    }
    if let Some(state) = last.filter(|&s| tables.shape.may_end(s % q, path.len()) == End::Exit) {
        counts[slots.exit(state)] += weight;
    }
}
