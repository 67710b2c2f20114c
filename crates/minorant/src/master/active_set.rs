//! The active-set iteration: price all planes, let the best in, go to the stationary point of the
//! support or to the first weight that runs out, drop that plane, go on. Every round starts from a
//! gradient computed from the inner products, so rounding in the factor costs rounds, not accuracy.

use super::pricing::{Candidate, Problem};
use super::support::Exchange;
use super::{Master, MasterSolution, pairwise};

/// Rounds without progress after which the weights are as good as rounding lets them be.
const STALLED_ROUNDS: usize = 6;
/// The stalled round in which pairs of planes are tried, and how many steps it may take.
const ROUND_OF_PAIRS: usize = 3;
const PAIRS_PER_PLANE: usize = 10;
/// How many rounds may be spent on one pool, and which share of its violations is left in peace.
const POOL_ROUNDS: usize = 30;
const MILD_SHARE: f64 = 0.3;
/// A bound on the rounds of a solve that is never met in practice: it must end whatever comes.
const ROUNDS: usize = 100;
const ROUNDS_PER_PLANE: usize = 20;
/// Progress of the value that counts, relative to its size.
const LEAST_PROGRESS: f64 = 1e-15;
/// Progress of the gap that counts.
const LEAST_GAP_RATIO: f64 = 0.7;

impl Master {
    pub(super) fn run(&mut self, problem: &Problem<'_>, gap: f64) -> MasterSolution {
        let planes = self.weights.len();
        let mut steps = 0;
        let mut stalled = 0;
        let mut best_gap = f64::INFINITY;
        let mut best_value = f64::NEG_INFINITY;
        self.support.prepare(problem, &mut self.weights);
        self.best_weights.clone_from(&self.weights);
        for rounds_left in (0..ROUNDS + ROUNDS_PER_PLANE * planes).rev() {
            self.price(problem);
            let (value, now, noise) = (self.pricing.value, self.pricing.gap, self.pricing.noise);
            let least = LEAST_PROGRESS * value.abs().max(0.01 * noise / f64::EPSILON);
            let progress = value > best_value + least || now < LEAST_GAP_RATIO * best_gap;
            stalled = if progress { 0 } else { stalled + 1 };
            if now < best_gap {
                best_gap = now;
                self.best_weights.clone_from(&self.weights);
            }
            if value > best_value {
                best_value = value;
                self.anchor.clone_from(&self.weights);
            }
            if now <= gap || rounds_left == 0 {
                break;
            }
            // At the level of rounding there is nothing to gain from stronger means.
            if stalled >= if best_gap <= noise { 1 } else { STALLED_ROUNDS } {
                break;
            }
            if stalled > 0 && value < best_value - noise {
                // The factor led astray: back, with a new one.
                self.weights.clone_from(&self.anchor);
                self.support.refactor(problem, &mut self.weights);
                self.price(problem);
            }
            steps += self.round(problem, gap, stalled);
        }
        if self.pricing.gap.is_nan() || self.pricing.gap > best_gap {
            self.weights.clone_from(&self.best_weights);
            self.support.adopt(&self.weights);
            self.price(problem);
        }
        MasterSolution { value: self.pricing.value, gap: self.pricing.gap, steps }
    }

    /// Prices all planes at the normalised weights.
    fn price(&mut self, problem: &Problem<'_>) {
        self.normalise(problem.part_of);
        self.pricing.update(problem, &self.support, &self.weights);
    }

    /// One round from the last pricing, by the stronger means the longer the iteration has
    /// stalled: planes one by one, a new factor, pairs of planes.
    fn round(&mut self, problem: &Problem<'_>, gap: f64, stalled: usize) -> usize {
        let mut steps = 0;
        // If no plane violates more than its part's share of the gap, the gap is met. What is well
        // below rounding is no violation.
        let parts = self.parts as f64;
        let tolerance = (gap / parts).max(0.1 * self.pricing.noise / (parts * parts));
        if stalled == ROUND_OF_PAIRS {
            let (weights, gradient) = (&mut self.weights, &mut self.pricing.gradient);
            let limit = PAIRS_PER_PLANE * weights.len();
            steps += pairwise::polish(problem, weights, gradient, self.parts, tolerance, limit);
        }
        if self.support.stale || stalled > 1 {
            self.support.refactor(problem, &mut self.weights);
            self.price(problem);
        }
        if self.support.stale {
            // Rounding has emptied a part again: the next round begins with what it has now.
            return steps;
        }
        self.pricing.collect(tolerance, stalled > 0);
        self.support.attach(&self.pricing.residual);
        steps += self.let_in(problem);
        steps += self.approach(problem.part_of);
        if stalled == 0 {
            steps += self.exhaust_pool(problem, tolerance);
        }
        steps
    }

    /// Rounds on the pool of the last pricing only, which cost no pass over all inner products,
    /// until what is left of its violations is mild. Their rounding is mended by the next pricing.
    fn exhaust_pool(&mut self, problem: &Problem<'_>, tolerance: f64) -> usize {
        let mut steps = 0;
        let enough = tolerance.max(MILD_SHARE * self.pricing.worst());
        for _ in 0..POOL_ROUNDS {
            self.pricing.reprice(problem, &self.support, &self.weights);
            if self.support.stale || self.pricing.worst() <= enough {
                break;
            }
            self.pricing.collect(enough, false);
            self.support.attach(&self.pricing.residual);
            steps += self.let_in(problem);
            steps += self.approach(problem.part_of);
        }
        steps
    }

    /// Lets the candidates into the support. One that depends on the members is exchanged for
    /// one of them: the objective is linear in that direction.
    fn let_in(&mut self, problem: &Problem<'_>) -> usize {
        let mut steps = 0;
        let candidates = std::mem::take(&mut self.pricing.candidates);
        for (i, candidate) in candidates.iter().enumerate() {
            let plane = candidate.plane;
            steps += 1;
            if !self.support.join(problem, plane, self.pricing.residual[plane]) {
                steps += self.exchange(problem, plane, &candidates[i + 1..]);
            }
        }
        self.pricing.candidates = candidates;
        steps
    }

    /// Lets in a plane that the support has just refused: goes along the direction that brings it
    /// in at no cost of curvature, drops the member whose weight runs out first and tries again.
    fn exchange(&mut self, problem: &Problem<'_>, plane: usize, later: &[Candidate]) -> usize {
        let mut steps = 0;
        loop {
            let Exchange { slope, curvature } = self.support.exchange(problem, plane);
            // The weights along the direction are α - t step; the plane's own is t.
            let (mut length, mut blocking) = (slope / curvature, None);
            for (position, &k) in self.support.members.iter().enumerate() {
                let taken = self.support.step[position];
                if taken > 0.0 && self.weights[k] < length * taken {
                    length = self.weights[k] / taken;
                    blocking = Some(position);
                }
            }
            // Also refuses a NaN.
            let worth_it = slope > 0.0 && length.is_finite();
            if worth_it {
                steps += 1;
                self.support.shift_residuals(
                    problem,
                    plane,
                    later,
                    length,
                    &mut self.pricing.residual,
                );
                self.pricing.residual[plane] -= length * curvature;
                for (&k, &taken) in self.support.members.iter().zip(&self.support.step) {
                    self.weights[k] = (self.weights[k] - length * taken).max(0.0);
                }
                self.weights[plane] += length;
            }
            let residual = self.pricing.residual[plane];
            match blocking {
                Some(position) if worth_it => {
                    self.weights[self.support.members[position]] = 0.0;
                    self.support.leave(position, problem.part_of);
                    if self.support.join(problem, plane, residual) {
                        return steps;
                    }
                }
                _ => {
                    if self.weights[plane] > 0.0 {
                        self.support.join_anyway(problem, plane, residual);
                    }
                    return steps;
                }
            }
        }
    }

    /// Goes to the stationary point over the support, dropping the planes whose weight runs out
    /// on the way.
    fn approach(&mut self, part_of: &[usize]) -> usize {
        let mut steps = 0;
        // The share of the attached residual that is still there.
        let mut remaining = 1.0;
        while remaining > 0.0 {
            steps += 1;
            self.support.direction();
            let (mut length, mut blocking) = (remaining, None);
            if !self.support.step.iter().sum::<f64>().is_finite() {
                self.support.stale = true;
                break;
            }
            for (position, (&k, &d)) in
                self.support.members.iter().zip(&self.support.step).enumerate()
            {
                // The last plane of a part cannot leave: its weight is 1 but for rounding.
                if d < 0.0 && self.weights[k] < -d * length && self.support.count[part_of[k]] > 1 {
                    length = self.weights[k] / -d;
                    blocking = Some(position);
                }
            }
            for (&k, &d) in self.support.members.iter().zip(&self.support.step) {
                self.weights[k] = (self.weights[k] + length * d).max(0.0);
            }
            let Some(position) = blocking else { break };
            self.weights[self.support.members[position]] = 0.0;
            self.support.leave(position, part_of);
            remaining -= length;
        }
        steps
    }
}
