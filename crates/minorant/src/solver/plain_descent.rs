//! Stochastic gradient descent by plain steps η₀ / (1 + λ η₀ t), over examples whose subgradients may be
//! of any kind. η₀ is the power of two that does best on one pass over a small sample, as Bottou's
//! program for conditional random fields chooses it. `sgd` is made of such passes, and one is the start
//! of methods with a prox term on structures. Nothing here evaluates the whole risk, nor counts.

use super::Problem;
use crate::risk::Examples;

/// The first value of η₀ that is tried, and how many are at most.
const GUESS: f64 = 0.125;
const TRIALS: usize = 12;

/// η₀ by trying powers of two on a sample, from these weights on and as long as they get better; and how
/// often an example was visited for it.
pub(super) fn choose_first_step(
    problem: Problem<'_>,
    examples: &dyn Examples,
    sample: &[u32],
    from: &[f64],
) -> (f64, usize) {
    let n = examples.len();
    let mut visited = 0;
    let mut try_step = |first_step: f64| {
        let mut w = from.to_vec();
        descend(problem, examples, sample, (first_step, 0), &mut w, |_| ());
        let mut unused = vec![0.0; w.len()];
        let value = |&i: &u32| examples.add_subgradient(i as usize, &w, 0.0, &mut unused);
        let risk: f64 = sample.iter().map(value).sum();
        visited += 2 * sample.len();
        let objective = risk * n as f64 / sample.len() as f64 + problem.regularizer.value(&w);
        if objective.is_finite() { objective } else { f64::INFINITY }
    };
    let mut best = (GUESS, try_step(GUESS));
    let mut factor = 2.0;
    for trial in 1..TRIALS {
        let first_step = factor * best.0;
        let value = try_step(first_step);
        if value < best.1 {
            best = (first_step, value);
        } else if trial == 1 {
            factor = 0.5;
        } else {
            break;
        }
    }
    (best.0, visited)
}

/// One pass over examples in order: w −= η (gradient of Ω + n · gradient of the example's share), where
/// `steps` were made before. Each w is shown.
pub(super) fn descend(
    problem: Problem<'_>,
    examples: &dyn Examples,
    order: &[u32],
    (first_step, steps): (f64, u64),
    w: &mut [f64],
    mut show: impl FnMut(&[f64]),
) {
    let lambda = problem.regularizer.lambda();
    let n = examples.len() as f64;
    let mut gradient = vec![0.0; w.len()];
    for (t, &i) in order.iter().enumerate() {
        let step = first_step / (1.0 + lambda * first_step * (steps + t as u64) as f64);
        gradient.fill(0.0);
        examples.add_subgradient(i as usize, w, n, &mut gradient);
        problem.regularizer.add_gradient(w, &mut gradient);
        w.iter_mut().zip(&gradient).for_each(|(w, g)| *w -= step * g);
        show(w);
    }
}
