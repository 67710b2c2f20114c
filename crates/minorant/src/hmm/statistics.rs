//! Counts over paths: how often each arc was taken, which frames each Gaussian had, and the weights
//! under which these counts are most likely.

use super::shape::End;
use super::{HmmShape, Tables, Visit};
use minorant_linalg::elementary::ln;

/// Sums over paths.
#[derive(Debug, Clone)]
pub(super) struct Statistics {
    /// What the sequence counts whose paths are added.
    pub(super) weight: f64,
    /// How often each slot's arc or component was taken.
    counts: Vec<f64>,
    /// For each Gaussian the sums of its frames and of their squares.
    sums: Vec<f64>,
    squares: Vec<f64>,
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
        Statistics { weight: 1.0, counts, squares: sums.clone(), sums }
    }

    /// Adds the statistics of other sequences.
    pub(super) fn add(&mut self, other: &Statistics) {
        let pairs = [
            (&mut self.counts, &other.counts),
            (&mut self.sums, &other.sums),
            (&mut self.squares, &other.squares),
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
            for (j, (mean, rho)) in shape.means(g).zip(shape.log_precisions(g)).enumerate() {
                let center = self.sums[at + j] / frames;
                let variance = self.squares[at + j] / frames - center * center;
                w[mean] = center;
                w[rho] = -ln(variance.max(VARIANCE_FLOOR));
            }
        }
    }
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
