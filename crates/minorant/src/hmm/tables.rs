//! The weights as paths need them: logarithms of probabilities, and Gaussians side by side so that
//! the densities of a frame under all of them are one sweep.

use super::shape::{Choice, Slots};
use super::{Covariance, Frames, HmmShape};
use crate::risk::cut::Cut;
use minorant_linalg::elementary::{exp, ln};
use std::ops::{Range, RangeInclusive};

/// Variances of standardised features stay within these bounds, whatever the weights are.
pub const VARIANCES: RangeInclusive<f64> = 1e-3..=1e3;

/// log(2π).
const LOG_TAU: f64 = 1.837_877_066_409_345_3;

/// A model's numbers at certain weights.
#[derive(Debug, Clone)]
pub struct Tables {
    pub(super) shape: HmmShape,
    pub(super) slots: Slots,
    pub(super) choices: Vec<Choice>,
    /// Logarithms of probabilities by slot; −∞ where there is no arc.
    pub(super) arcs: Vec<f64>,
    /// U times the mean, feature by feature, the Gaussians of a feature side by side; the mean itself
    /// where U is the identity.
    means: Vec<f64>,
    /// U below its diagonal, row by row, the Gaussians of an entry side by side.
    factors: Vec<f64>,
    /// Halved precisions, laid out alike.
    half_precisions: Vec<f64>,
    /// The logarithm of what a Gaussian's exponential is multiplied by, its mixture weight included.
    constants: Vec<f64>,
    /// The arcs into each state from states of its unit, numbered there, with their logarithms:
    /// those of state s are `into[into_at[s]..into_at[s + 1]]`.
    into: Vec<(u32, f64)>,
    into_at: Vec<usize>,
}

/// The log densities of a sequence's frames in the states of some units.
#[derive(Debug, Clone)]
pub struct Densities {
    /// The first of these states, and how many there are.
    first: usize,
    states: usize,
    /// Frame by frame.
    values: Vec<f64>,
}

impl Densities {
    /// Number of frames.
    pub(super) fn length(&self) -> usize {
        self.values.len() / self.states.max(1)
    }

    /// Those of a frame in `count` states from the `first` on, numbered through all units.
    pub(super) fn of(&self, frame: usize, first: usize, count: usize) -> &[f64] {
        let at = frame * self.states + first - self.first;
        &self.values[at..at + count]
    }
}

impl Tables {
    /// The numbers at these weights.
    pub fn new(shape: &HmmShape, w: &[f64]) -> Self {
        let (slots, choices) = (shape.slots(), shape.choices());
        let mut arcs = vec![f64::NEG_INFINITY; slots.len()];
        shape.certain().into_iter().for_each(|slot| arcs[slot] = 0.0);
        for choice in &choices {
            let logits = || logits(choice, w);
            let top = logits().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = logits().map(|z| exp(z - top)).sum();
            let norm = top + ln(sum);
            logits().zip(&choice.slots).for_each(|(z, &slot)| arcs[slot] = z - norm);
        }
        let gaussians = shape.gaussians();
        let mut means = vec![0.0; gaussians * shape.features];
        let mut half_precisions = means.clone();
        let mut factors = vec![0.0; gaussians * shape.pairs()];
        let mut constants = Vec::with_capacity(gaussians);
        for g in 0..gaussians {
            let mut constant = arcs[slots.mixture(g)];
            let rows = shape.means(g).zip(shape.log_precisions(g)).enumerate();
            for (j, (mean, log_precision)) in rows {
                let rho = within_bounds(w[log_precision]);
                means[j * gaussians + g] = w[mean];
                half_precisions[j * gaussians + g] = 0.5 * exp(rho);
                constant += 0.5 * (rho - LOG_TAU);
            }
            constants.push(constant);
            let mean = &w[shape.means(g)];
            for (pair, ((j, k), u)) in below(shape.features).zip(&w[shape.factor(g)]).enumerate() {
                factors[pair * gaussians + g] = *u;
                means[j * gaussians + g] += u * mean[k];
            }
        }
        let (mut into, mut into_at) = (Vec::new(), vec![0]);
        for to in 0..shape.all_states() {
            let first = to - to % shape.states;
            for from in 0..shape.states {
                let arc = arcs[slots.inner(first + from, to - first)];
                if arc > f64::NEG_INFINITY {
                    into.push((from as u32, arc));
                }
            }
            into_at.push(into.len());
        }
        let shape = *shape;
        Tables {
            shape,
            slots,
            choices,
            arcs,
            means,
            factors,
            half_precisions,
            constants,
            into,
            into_at,
        }
    }

    /// What the model looks like.
    pub fn shape(&self) -> HmmShape {
        self.shape
    }

    /// The smallest and the largest variance of all Gaussians; those of a full one are of each feature
    /// around what the features before it foretell.
    pub fn variances(&self) -> (f64, f64) {
        let variances = self.half_precisions.iter().map(|half| 0.5 / half);
        let wider = |(low, high): (f64, f64), v: f64| (low.min(v), high.max(v));
        variances.fold((f64::INFINITY, 0.0), wider)
    }

    /// The log densities of a frame under the Gaussians of some units, mixture weights included.
    pub(super) fn densities(&self, frame: &[f64], units: &Range<usize>, out: &mut Vec<f64>) {
        let gaussians = self.constants.len();
        let each = self.shape.states * self.shape.mixtures;
        let of_units = units.start * each..units.end * each;
        out.clear();
        out.extend_from_slice(&self.constants[of_units.clone()]);
        let rows = self.means.chunks_exact(gaussians);
        let mut factors = self.factors.chunks_exact(gaussians);
        let mut foretold = Vec::new();
        for (j, ((&x, means), precisions)) in
            frame.iter().zip(rows).zip(self.half_precisions.chunks_exact(gaussians)).enumerate()
        {
            let (means, precisions) = (&means[of_units.clone()], &precisions[of_units.clone()]);
            if self.factors.is_empty() {
                for ((out, mean), precision) in out.iter_mut().zip(means).zip(precisions) {
                    let away = x - mean;
                    *out -= precision * away * away;
                }
                continue;
            }
            foretold.clear();
            foretold.extend_from_slice(means);
            for (&before, factors) in frame[..j].iter().zip(&mut factors) {
                let factors = &factors[of_units.clone()];
                foretold.iter_mut().zip(factors).for_each(|(sum, u)| *sum -= u * before);
            }
            for ((out, foretold), precision) in out.iter_mut().zip(&foretold).zip(precisions) {
                let away = x - foretold;
                *out -= precision * away * away;
            }
        }
    }

    /// The log density of a frame under one Gaussian, its mixture weight included.
    fn density(&self, frame: &[f64], g: usize) -> f64 {
        let gaussians = self.constants.len();
        let mut density = self.constants[g];
        let mut factors = self.factors.chunks_exact(gaussians).map(|row| row[g]);
        for (j, x) in frame.iter().enumerate() {
            let mut foretold = self.means[j * gaussians + g];
            if !self.factors.is_empty() {
                frame[..j].iter().zip(&mut factors).for_each(|(x, u)| foretold -= u * x);
            }
            let away = x - foretold;
            density -= self.half_precisions[j * gaussians + g] * away * away;
        }
        density
    }

    /// The best Gaussian of a state for a frame; the first of equals.
    pub(super) fn best_gaussian(&self, frame: &[f64], state: usize) -> usize {
        let m = self.shape.mixtures;
        let mut best = (f64::NEG_INFINITY, state * m);
        for g in state * m..(state + 1) * m {
            let density = self.density(frame, g);
            if density > best.0 {
                best = (density, g);
            }
        }
        best.1
    }

    /// For each frame of a sequence and each state of some units the density under its best
    /// Gaussian.
    pub fn best_densities(&self, sequence: &[f64], units: Range<usize>) -> Densities {
        let (m, features) = (self.shape.mixtures, self.shape.features);
        let states = units.len() * self.shape.states;
        let mut all = Vec::with_capacity(states * m);
        let mut best = Vec::with_capacity(sequence.len() / features * states);
        for frame in sequence.chunks_exact(features) {
            self.densities(frame, &units, &mut all);
            if m == 1 {
                best.extend_from_slice(&all);
            } else {
                let top = |of: &[f64]| of.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                best.extend(all.chunks_exact(m).map(top));
            }
        }
        Densities { first: units.start * self.shape.states, states, values: best }
    }

    /// Adds `weight` times the derivatives of a frame's log density under a Gaussian in its mean, in the
    /// logarithms of its precisions and in its factor. The bounds of variances hold those beyond still.
    pub(super) fn add_derivatives(
        &self,
        w: &[f64],
        frame: &[f64],
        g: usize,
        weight: f64,
        gradient: &mut [f64],
    ) {
        let gaussians = self.constants.len();
        let (means, mut factor) = (self.shape.means(g), self.shape.factor(g));
        let is_full = self.shape.covariance == Covariance::Full;
        let rows = means.clone().zip(self.shape.log_precisions(g)).enumerate();
        for (j, (mean, log_precision)) in rows {
            let precision = 2.0 * self.half_precisions[j * gaussians + g];
            let before = means.start..if is_full { mean } else { means.start };
            // z_j = Σ over k ≤ j of u_jk (x_k − μ_k).
            let mut away = frame[j] - w[mean];
            for ((k, mean), u) in before.clone().enumerate().zip(factor.clone()) {
                away += w[u] * (frame[k] - w[mean]);
            }
            let pull = weight * precision * away;
            gradient[mean] += pull;
            for ((k, mean), u) in before.enumerate().zip(factor.by_ref()) {
                gradient[mean] += pull * w[u];
                gradient[u] -= pull * (frame[k] - w[mean]);
            }
            if within_bounds(w[log_precision]) == w[log_precision] {
                gradient[log_precision] += 0.5 * weight * (1.0 - precision * away * away);
            }
        }
    }

    /// Adds the derivatives in the logits of what is linear in the logarithms of probabilities,
    /// with `counts` as factors.
    pub(super) fn add_logit_derivatives(&self, counts: &[f64], gradient: &mut [f64]) {
        for choice in &self.choices {
            let total: f64 = choice.slots.iter().map(|&slot| counts[slot]).sum();
            for (weight, &slot) in choice.weights.clone().zip(&choice.slots) {
                gradient[weight] += counts[slot] - total * exp(self.arcs[slot]);
            }
        }
    }

    /// The arcs into a state from states of its unit.
    #[inline]
    pub(super) fn into(&self, state: usize) -> &[(u32, f64)] {
        &self.into[self.into_at[state]..self.into_at[state + 1]]
    }

    /// Logarithms of probability of a transition within the unit of `from` to its `to`-th state.
    #[inline]
    pub(super) fn inner(&self, from: usize, to: usize) -> f64 {
        self.arcs[self.slots.inner(from, to)]
    }
}

/// The logits of a choice, one for each slot.
fn logits<'a>(choice: &'a Choice, w: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    let pinned = choice.slots.len() - choice.weights.len();
    w[choice.weights.clone()].iter().copied().chain(std::iter::repeat_n(0.0, pinned))
}

/// The places below the diagonal of a matrix, row by row.
pub(super) fn below(features: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..features).flat_map(|j| (0..j).map(move |k| (j, k)))
}

fn within_bounds(log_precision: f64) -> f64 {
    log_precision.clamp(-ln(*VARIANCES.end()), -ln(*VARIANCES.start()))
}

/// Fixed chunks of sequences, so that sums come out the same on any number of threads.
pub(super) fn chunks(frames: &Frames<'_>, dim: usize) -> Vec<std::ops::Range<usize>> {
    let cut = Cut::of_examples(frames.len(), frames.values.len(), dim);
    cut.ranges(cut.chunks())
}
