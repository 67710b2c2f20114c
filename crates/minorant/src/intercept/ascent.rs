//! The dual of a linear risk with a free intercept, climbed one example at a time. Its slopes must add up to
//! zero, which no step along one example can keep to. So sweeps see an intercept that is penalised for how
//! far they move it, and after each the penalty is taken off where it has come to (the method of multipliers:
//! the intercept is the multiplier of the equation). Bounds come from slopes that are levelled on the way.

use super::InterceptRisk;
use crate::risk::{Cancel, DualCoordinates, DualState, Plane, RowMetric, Sweep};
use minorant_linalg::Design;

impl DualCoordinates for InterceptRisk<'_> {
    fn examples(&self) -> Vec<u32> {
        DualCoordinates::examples(&self.inner)
    }

    fn metric(&self, lambda: f64, theta: Option<&[f64]>) -> Option<RowMetric> {
        let metric = DualCoordinates::metric(&self.inner, lambda, theta)?;
        Some(metric.with_intercept(&self.inner.rows.weights))
    }

    fn has_cheap_steps(&self) -> bool {
        self.inner.has_cheap_steps()
    }

    fn intercepts(&self) -> usize {
        self.loss().outputs()
    }

    fn sweep(
        &self,
        metric: &RowMetric,
        state: &mut DualState,
        order: &mut Vec<u32>,
        held: f64,
        cancel: &Cancel,
    ) -> Sweep {
        let with_constant = Design::new(self.inner.rows.matrix(), Some(1.0));
        let sweep = self.inner.sweep_over(&with_constant, metric, state, (order, held), cancel);
        let (sum, _) = self.sum_of_slopes(&state.slopes);
        let weights = state.w.len() - sum.len();
        for (b, sum) in state.w[weights..].iter_mut().zip(sum) {
            *b -= metric.of_intercept() * sum;
        }
        sweep
    }

    fn still_open(&self, state: &DualState, outputs: &[f64], held: f64) -> Vec<u32> {
        self.inner.still_open(state, outputs, held)
    }

    fn plane(&self, _metric: &RowMetric, _state: &DualState, _center: &[f64]) -> Option<Plane> {
        // The weights are those of slopes before they are levelled.
        None
    }
}
