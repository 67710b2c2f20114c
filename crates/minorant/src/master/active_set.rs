//! The active-set iteration: price all planes, let the best in, go to the stationary point of the
//! support or to the first weight that runs out, drop that plane, go on. Every round starts from a
//! gradient computed from the inner products, so rounding in the factor costs rounds, not accuracy.

use super::pricing::{Candidate, Problem};
use super::support::Exchange;
use super::{Master, MasterSolution, pairwise};

/// Rounds without progress after which the weights are as good as rounding lets them be.
const STALLED_ROUNDS: usize = 6;
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
        self.support.prepare(problem, &self.weights);
        let most_rounds = 100 + 20 * planes;
        for _ in 0..most_rounds {
            self.normalise(problem.part_of);
            self.pricing.update(problem, &self.support, &self.weights);
            let (value, now) = (self.pricing.value, self.pricing.gap);
            let scale = value.abs().max(self.pricing.noise / f64::EPSILON * 0.01);
            let progress =
                value > best_value + LEAST_PROGRESS * scale || now < LEAST_GAP_RATIO * best_gap;
            best_value = best_value.max(value);
            if now < best_gap {
                best_gap = now;
                self.best_weights.clone_from(&self.weights);
            }
            if now <= gap.max(0.0) {
                return MasterSolution { value, gap: now, steps };
            }
            stalled = if progress { 0 } else { stalled + 1 };
            if stalled >= STALLED_ROUNDS {
                break;
            }
            if stalled == 2 || stalled == 4 {
                self.support.refactor(problem, &self.weights);
            }
            if stalled == 3 {
                let tolerance = gap / self.parts as f64;
                steps += pairwise::polish(
                    problem,
                    &mut self.weights,
                    &mut self.pricing.gradient,
                    self.parts,
                    tolerance,
                    10 * planes,
                );
                self.support.refactor(problem, &self.weights);
                continue;
            }
            let tolerance = gap.max(0.25 * self.pricing.noise) / (2.0 * self.parts as f64);
            self.pricing.collect(tolerance, stalled > 0);
            self.support.attach(&self.pricing.residual);
            steps += self.let_in(problem);
            steps += self.approach(problem.part_of);
        }
        if self.pricing.gap > best_gap {
            self.weights.clone_from(&self.best_weights);
            self.support.refactor(problem, &self.weights);
            self.pricing.update(problem, &self.support, &self.weights);
        }
        MasterSolution { value: self.pricing.value, gap: self.pricing.gap, steps }
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
