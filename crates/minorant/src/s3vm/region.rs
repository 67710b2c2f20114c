//! Theorem 1 of the paper: around its weights the inner problem's solution is affine in them. The
//! states of the coordinates say which; the region in which they hold is given by inequalities.

use super::inner::{Inner, State};
use minorant_linalg::cholesky::GrowingCholesky;
use minorant_linalg::sum::Sum;

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
    /// b.
    pub bias: f64,
    /// J(β).
    pub dual: f64,
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

    /// The solution for weights λ⁺, λ⁻ by the closed form (2), and how far outside the region (1)
    /// they lie. Nothing where no coordinate is free (b is an interval then, and F has a kink), or
    /// where the free ones depend on one another.
    pub fn closed_form(
        &self,
        inner: &Inner<'_>,
        plus: &[f64],
        minus: &[f64],
    ) -> Option<ClosedForm> {
        let n = self.states.len();
        let free = self.free();
        if free.is_empty() {
            return None;
        }
        // The bound coordinates are affine in the weights; the free ones follow from
        // [K_SS 1; 1ᵀ 0] [β_S; b] = [t − K_SB β_B; −1ᵀβ_B].
        let mut beta: Vec<f64> = (0..n)
            .map(|i| match self.states[i] {
                State::Low => -minus[i],
                State::Middle => plus[i] - minus[i],
                State::High => plus[i],
                State::FreeLow | State::FreeHigh => 0.0,
            })
            .collect();
        let bound_sum = beta.iter().copied().collect::<Sum>().value();
        let product = |i: usize, beta: &[f64]| {
            let row = inner.gram.row(i);
            row.iter().zip(beta).map(|(k, b)| k * b).collect::<Sum>().value()
        };
        let target = |i: usize| if self.states[i] == State::FreeLow { 1.0 } else { -1.0 };
        let mut right: Vec<f64> = free.iter().map(|&i| target(i) - product(i, &beta)).collect();
        let mut factor = GrowingCholesky::new(0);
        for (at, &i) in free.iter().enumerate() {
            let row = inner.gram.row(i);
            let mut cross: Vec<f64> = free[..at].iter().map(|&j| row[j]).collect();
            factor.append(&mut cross, row[i], 1e-13 * row[i], &[]).ok()?;
        }
        let mut ones = vec![1.0; free.len()];
        for x in [&mut right, &mut ones] {
            factor.forward(x);
            factor.backward(x);
        }
        let bias = (right.iter().sum::<f64>() + bound_sum) / ones.iter().sum::<f64>();
        for (at, &i) in free.iter().enumerate() {
            beta[i] = right[at] - bias * ones[at];
        }
        let outputs: Vec<f64> = (0..n).map(|i| product(i, &beta)).collect();
        let mut violation = f64::NEG_INFINITY;
        let mut dual = Sum::default();
        for i in 0..n {
            let (h, b, mid) = (outputs[i] + bias, beta[i], plus[i] - minus[i]);
            violation = violation.max(match self.states[i] {
                State::Low => 1.0 - h,
                State::FreeLow => (-minus[i] - b).max(b - mid),
                State::Middle if plus[i] == 0.0 && minus[i] == 0.0 => f64::NEG_INFINITY,
                // Where one side does not count the kink is an end, and one inequality is void.
                State::Middle if plus[i] == 0.0 => -1.0 - h,
                State::Middle if minus[i] == 0.0 => h - 1.0,
                State::Middle => h.abs() - 1.0,
                State::FreeHigh => (mid - b).max(b - plus[i]),
                State::High => h + 1.0,
            });
            dual.add(0.5 * b * outputs[i]);
            dual.add((-b - 2.0 * minus[i]).max(b - 2.0 * plus[i]));
        }
        Some(ClosedForm { beta, bias, dual: dual.value(), violation })
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
