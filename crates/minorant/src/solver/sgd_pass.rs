//! One pass of stochastic subgradient descent over the examples in a random order, with steps of
//! 1/(λ t) and lazy scaling: a method of its own (`sgd`), and a cheap start for others.

use super::Problem;
use crate::risk::{Descent, Examples, RowMetric};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// What steps along the problem's examples cost; nothing where it has none.
pub(super) fn metric(problem: Problem<'_>) -> Option<RowMetric> {
    let regularizer = problem.regularizer;
    problem.risk.examples()?.metric(regularizer.lambda(), regularizer.weights())
}

/// Puts the examples into the order of sweep number `sweep`; it depends on nothing else but the
/// seed and their order before, so that a resumed run draws the same.
pub(super) fn shuffle(order: &mut [u32], seed: u64, sweep: u64) {
    let seed = seed ^ (sweep + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    order.shuffle(&mut Pcg64Mcg::seed_from_u64(seed));
}

/// Pass number `pass` over all examples. The weights that it ends at are −sum / (λ steps).
pub(super) fn sgd_pass(
    examples: &dyn Examples,
    metric: &RowMetric,
    seed: u64,
    pass: u64,
    descent: &mut Descent,
) {
    let mut order: Vec<u32> = (0..examples.len() as u32).collect();
    shuffle(&mut order, seed, pass);
    examples.descend(metric, &order, descent);
}
