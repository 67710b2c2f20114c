//! Sums over all paths through known units, and all components: the log-likelihood of a sequence,
//! and the expected counts over its paths (the expectation step of EM). Each frame's unit is
//! given, so that only the states of that unit count there.

use super::shape::End;
use super::statistics::Statistics;
use super::{Tables, Task};
use minorant_linalg::elementary::{exp, exp_all, ln, softplus};

/// log Σ exp of a few numbers, for which there is `room`.
fn log_sum(values: impl Iterator<Item = f64>, room: &mut Vec<f64>) -> f64 {
    room.clear();
    room.extend(values);
    let top = room.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    room.iter_mut().for_each(|value| *value -= top);
    exp_all(room);
    top + ln(room.iter().sum())
}

/// log (e^a + e^b).
fn log_of_two(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + softplus(low - high) }
}

/// What the recursions of one sequence need.
struct Walk<'a> {
    tables: &'a Tables,
    unit: &'a dyn Fn(usize) -> usize,
    length: usize,
    /// Log densities of each frame under the Gaussians of its unit.
    gaussians: Vec<f64>,
    /// The same, summed over the Gaussians of a state.
    states: Vec<f64>,
}

impl<'a> Walk<'a> {
    fn new(tables: &'a Tables, sequence: &'a [f64], unit: &'a dyn Fn(usize) -> usize) -> Self {
        let shape = tables.shape;
        let each = shape.states * shape.mixtures;
        let length = sequence.len() / shape.features;
        let mut of_unit = Vec::with_capacity(each);
        let mut gaussians = Vec::with_capacity(length * each);
        for (t, frame) in sequence.chunks_exact(shape.features).enumerate() {
            tables.densities(frame, &(unit(t)..unit(t) + 1), &mut of_unit);
            gaussians.extend_from_slice(&of_unit);
        }
        let mut room = Vec::new();
        let of_state = |of: &[f64]| log_sum(of.iter().copied(), &mut room);
        let states = gaussians.chunks_exact(shape.mixtures).map(of_state).collect();
        Walk { tables, unit, length, gaussians, states }
    }

    /// The state with this number in the unit of frame `t`.
    fn state(&self, t: usize, at: usize) -> usize {
        (self.unit)(t) * self.tables.shape.states + at
    }

    /// Into the first frame.
    fn begin(&self, at: usize) -> f64 {
        let (slots, arcs) = (self.tables.slots, &self.tables.arcs);
        arcs[slots.begin((self.unit)(0))] + arcs[slots.entry(self.state(0, at))]
    }

    /// From frame t − 1 to frame t within the unit.
    fn within(&self, t: usize, from: usize, to: usize) -> f64 {
        if (self.unit)(t - 1) == (self.unit)(t) {
            self.tables.inner(self.state(t - 1, from), to)
        } else {
            f64::NEG_INFINITY
        }
    }

    /// The same out of the unit and into one.
    fn across(&self, t: usize, from: usize, to: usize) -> f64 {
        if self.tables.shape.task == Task::Classify {
            return f64::NEG_INFINITY;
        }
        let (slots, arcs) = (self.tables.slots, &self.tables.arcs);
        arcs[slots.exit(self.state(t - 1, from))]
            + arcs[slots.switch((self.unit)(t - 1), (self.unit)(t))]
            + arcs[slots.entry(self.state(t, to))]
    }

    /// Out of the last frame.
    fn end(&self, at: usize) -> f64 {
        match self.tables.shape.may_end(at, self.length) {
            End::Exit => self.tables.arcs[self.tables.slots.exit(self.state(self.length - 1, at))],
            End::Free => 0.0,
            End::Never => f64::NEG_INFINITY,
        }
    }

    fn arc(&self, t: usize, from: usize, to: usize) -> f64 {
        log_of_two(self.within(t, from, to), self.across(t, from, to))
    }

    fn forward(&self) -> Vec<f64> {
        let q = self.tables.shape.states;
        let mut alpha: Vec<f64> = Vec::with_capacity(self.length * q);
        let mut room = Vec::with_capacity(q);
        for t in 0..self.length {
            for to in 0..q {
                let before = if t == 0 {
                    self.begin(to)
                } else {
                    let last = &alpha[(t - 1) * q..t * q];
                    let ways = last.iter().enumerate().map(|(at, a)| a + self.arc(t, at, to));
                    log_sum(ways, &mut room)
                };
                alpha.push(before + self.states[t * q + to]);
            }
        }
        alpha
    }

    fn total(&self, alpha: &[f64]) -> f64 {
        let q = self.tables.shape.states;
        let ends = (0..q).map(|at| alpha[(self.length - 1) * q + at] + self.end(at));
        log_sum(ends, &mut Vec::with_capacity(q))
    }

    fn backward(&self) -> Vec<f64> {
        let q = self.tables.shape.states;
        let mut beta = vec![0.0; self.length * q];
        let mut room = Vec::with_capacity(q);
        for at in 0..q {
            beta[(self.length - 1) * q + at] = self.end(at);
        }
        for t in (1..self.length).rev() {
            for at in 0..q {
                let on =
                    |to: usize| self.arc(t, at, to) + self.states[t * q + to] + beta[t * q + to];
                beta[(t - 1) * q + at] = log_sum((0..q).map(on), &mut room);
            }
        }
        beta
    }
}

/// log p of a sequence whose frames belong to known units.
pub fn log_likelihood(tables: &Tables, sequence: &[f64], unit: &dyn Fn(usize) -> usize) -> f64 {
    if sequence.is_empty() {
        return 0.0;
    }
    let walk = Walk::new(tables, sequence, unit);
    walk.total(&walk.forward())
}

/// Adds what the paths of a sequence leave behind, each with its probability; the result is log p.
pub(super) fn add_expectations(
    tables: &Tables,
    sequence: &[f64],
    unit: &dyn Fn(usize) -> usize,
    statistics: &mut Statistics,
) -> f64 {
    if sequence.is_empty() {
        return 0.0;
    }
    let walk = Walk::new(tables, sequence, unit);
    let (alpha, beta) = (walk.forward(), walk.backward());
    let total = walk.total(&alpha);
    if !total.is_finite() {
        return total;
    }
    let (q, m, slots) = (tables.shape.states, tables.shape.mixtures, tables.slots);
    for (t, frame) in sequence.chunks_exact(tables.shape.features).enumerate() {
        for at in 0..q {
            let here = alpha[t * q + at] + beta[t * q + at] - total;
            let state = walk.state(t, at);
            for c in 0..m {
                let share = walk.gaussians[(t * q + at) * m + c] - walk.states[t * q + at];
                let weight = exp(here + share);
                if weight > 0.0 {
                    statistics.add_frame(tables, state * m + c, weight, frame);
                }
            }
            if t == 0 {
                let weight = exp(here);
                statistics.count(slots.begin(state / q), weight);
                statistics.count(slots.entry(state), weight);
                continue;
            }
            for from in 0..q {
                let around =
                    alpha[(t - 1) * q + from] + walk.states[t * q + at] + beta[t * q + at] - total;
                let old = walk.state(t - 1, from);
                let within = exp(around + walk.within(t, from, at));
                let across = exp(around + walk.across(t, from, at));
                if within > 0.0 {
                    statistics.count(slots.inner(old, at), within);
                }
                if across > 0.0 {
                    statistics.count(slots.exit(old), across);
                    statistics.count(slots.switch(old / q, state / q), across);
                    statistics.count(slots.entry(state), across);
                }
            }
        }
    }
    for at in 0..q {
        if tables.shape.may_end(at, walk.length) == End::Exit {
            let last = (walk.length - 1) * q + at;
            let weight = exp(alpha[last] + walk.end(at) - total);
            statistics.count(slots.exit(walk.state(walk.length - 1, at)), weight);
        }
    }
    total
}
