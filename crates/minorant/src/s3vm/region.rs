//! Theorem 1 of the paper: around its weights the inner problem's solution is affine in them. The
//! states of the coordinates say which; the region in which they hold is given by inequalities.

use super::inner::{Inner, State};
use crate::kernel::Gram;
use minorant_linalg::cholesky::GrowingCholesky;
use minorant_linalg::dense::axpy;
use minorant_linalg::sum::Sum;
use std::collections::VecDeque;

/// A critical region: the states of all coordinates at a solution.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Region {
    states: Vec<State>,
}

/// The solution that a region promises for other weights.
#[derive(Debug, Clone)]
pub struct ClosedForm {
    /// β.
    pub beta: Vec<f64>,
    /// Kβ.
    pub outputs: Vec<f64>,
    /// b.
    pub bias: f64,
    /// By how much the region's inequalities are broken there; 0 or less inside it.
    pub violation: f64,
}

impl Region {
    /// The region of a solved inner problem.
    pub fn of(inner: &Inner<'_>) -> Self {
        Region { states: (0..inner.beta().len()).map(|i| inner.state(i)).collect() }
    }

    /// The free coordinates, S.
    pub fn free(&self) -> Vec<usize> {
        let is_free = |i: &usize| matches!(self.states[*i], State::FreeLow | State::FreeHigh);
        (0..self.states.len()).filter(is_free).collect()
    }

    /// The explicit form of the solution in this region. Nothing where no coordinate is free (b is an
    /// interval then, and F has a kink), or where the free ones depend on one another.
    pub fn explicit(self, gram: &Gram<'_>) -> Option<Explicit> {
        let free = self.free();
        if free.is_empty() {
            return None;
        }
        let mut factor = GrowingCholesky::new(0);
        for (at, &i) in free.iter().enumerate() {
            let row = gram.row(i);
            let mut cross: Vec<f64> = free[..at].iter().map(|&j| row[j]).collect();
            factor.append(&mut cross, row[i], 1e-13 * row[i], &[]).ok()?;
        }
        let mut ones = vec![1.0; free.len()];
        factor.forward(&mut ones);
        factor.backward(&mut ones);
        Some(Explicit { region: self, free, factor, ones })
    }
}

/// A region with all that its solutions have in common: the free coordinates and the factor of their
/// block of the kernel matrix.
#[derive(Debug)]
pub struct Explicit {
    region: Region,
    free: Vec<usize>,
    factor: GrowingCholesky,
    /// K_SS⁻¹ 1.
    ones: Vec<f64>,
}

impl Explicit {
    /// The solution for weights λ⁺, λ⁻ by the closed form (2), if they lie no further outside the
    /// region (1) than `most`.
    pub fn solution(
        &self,
        gram: &Gram<'_>,
        plus: &[f64],
        minus: &[f64],
        most: f64,
    ) -> Option<ClosedForm> {
        // The bound coordinates are affine in the weights; the free ones follow from
        // [K_SS 1; 1ᵀ 0] [β_S; b] = [t − K_SB β_B; −1ᵀβ_B].
        let states = &self.region.states;
        let mut beta: Vec<f64> = (0..states.len())
            .map(|i| match states[i] {
                State::Low => -minus[i],
                State::Middle => plus[i] - minus[i],
                State::High => plus[i],
                State::FreeLow | State::FreeHigh => 0.0,
            })
            .collect();
        let mut outputs = vec![0.0; states.len()];
        for (i, b) in beta.iter().enumerate().filter(|(_, b)| **b != 0.0) {
            axpy(*b, &gram.row(i), &mut outputs);
        }
        let bound_sum = beta.iter().copied().collect::<Sum>().value();
        let target = |i: usize| if states[i] == State::FreeLow { 1.0 } else { -1.0 };
        let mut right: Vec<f64> = self.free.iter().map(|&i| target(i) - outputs[i]).collect();
        self.factor.forward(&mut right);
        self.factor.backward(&mut right);
        let bias = (right.iter().sum::<f64>() + bound_sum) / self.ones.iter().sum::<f64>();
        let mut violation = f64::NEG_INFINITY;
        for (at, &i) in self.free.iter().enumerate() {
            let (b, mid) = (right[at] - bias * self.ones[at], plus[i] - minus[i]);
            let (low, high) =
                if states[i] == State::FreeLow { (-minus[i], mid) } else { (mid, plus[i]) };
            violation = violation.max(low - b).max(b - high);
            beta[i] = b;
        }
        if violation > most {
            return None;
        }
        for &i in &self.free {
            axpy(beta[i], &gram.row(i), &mut outputs);
        }
        for i in 0..states.len() {
            let h = outputs[i] + bias;
            violation = violation.max(match states[i] {
                State::Low => 1.0 - h,
                State::Middle if plus[i] == 0.0 && minus[i] == 0.0 => f64::NEG_INFINITY,
                // Where one side does not count the kink is an end, and one inequality is void.
                State::Middle if plus[i] == 0.0 => -1.0 - h,
                State::Middle if minus[i] == 0.0 => h - 1.0,
                State::Middle => h.abs() - 1.0,
                State::High => h + 1.0,
                State::FreeLow | State::FreeHigh => f64::NEG_INFINITY,
            });
        }
        (violation <= most).then_some(ClosedForm { beta, outputs, bias, violation })
    }
}

/// The last regions that were explored, from which solutions are read off where the next weights lie in
/// one of them.
#[derive(Debug, Default)]
pub(super) struct Explored {
    latest: VecDeque<Explicit>,
    /// How many are kept.
    most: usize,
}

impl Explored {
    /// Keeps so many regions: those met most lately are the likeliest to be met again.
    pub(super) fn keeping(most: usize) -> Self {
        Explored { latest: VecDeque::new(), most }
    }

    /// Takes up the region of a problem that was solved.
    pub(super) fn add(&mut self, inner: &Inner<'_>) {
        if self.most == 0 {
            return;
        }
        let region = Region::of(inner);
        if self.latest.iter().any(|known| known.region == region) {
            return;
        }
        let Some(explicit) = region.explicit(inner.gram) else { return };
        self.latest.truncate(self.most - 1);
        self.latest.push_front(explicit);
    }

    /// The solution for these weights, if they lie in a region that is known.
    pub(super) fn find(
        &mut self,
        gram: &Gram<'_>,
        plus: &[f64],
        minus: &[f64],
        tol: f64,
    ) -> Option<ClosedForm> {
        let found = |known: &Explicit| known.solution(gram, plus, minus, tol);
        let (at, form) =
            self.latest.iter().enumerate().find_map(|(at, known)| Some((at, found(known)?)))?;
        let region = self.latest.remove(at)?;
        self.latest.push_front(region);
        Some(form)
    }
}

/// The gradient of F = min J in the weights: ∂F/∂λ⁺_i = −V(+1, h_i), ∂F/∂λ⁻_i = −V(−1, h_i).
pub fn gradient(inner: &Inner<'_>) -> (Vec<f64>, Vec<f64>) {
    let decisions = || (0..inner.beta().len()).map(|i| inner.decision(i));
    (
        decisions().map(|h| -(1.0 - h).max(0.0)).collect(),
        decisions().map(|h| -(1.0 + h).max(0.0)).collect(),
    )
}
