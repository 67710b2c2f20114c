//! One pass of stochastic subgradient descent over the examples in a random order, with steps of
//! 1/(λ t) and lazy scaling: a method of its own (`sgd`), and a cheap start for others.

use super::Problem;
use crate::archive::{Archive, ArchiveError};
use crate::risk::{Descent, Examples, RowMetric};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// The most steps that may be left out: so many that counting on from there stays exact.
pub(super) const MOST_STEPS: f64 = (1u64 << 52) as f64;

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

/// Whether passes over the examples can be made without a metric: of structured examples, whose
/// subgradients are no multiples of rows, the weights are changed at each step.
pub(super) fn goes_without_metric(problem: Problem<'_>) -> bool {
    let risk = problem.risk;
    let of_examples = risk.is_convex() && risk.lines().is_none() && risk.examples().is_some();
    of_examples && problem.regularizer.weights().is_none()
}

/// One pass over examples in order by plain steps η₀ / (1 + λ η₀ t), of which `steps` were made before:
/// w −= η (gradient of Ω + n · gradient of the example's share). Each w is shown.
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

/// One pass of plain steps from w = 0 over all examples, and the mean of the weights of its second half.
pub(super) fn mean_of_pass(
    problem: Problem<'_>,
    examples: &dyn Examples,
    seed: u64,
    first_step: f64,
) -> Vec<f64> {
    let n = examples.len();
    let mut order: Vec<u32> = (0..n as u32).collect();
    shuffle(&mut order, seed, 0);
    let mut w = vec![0.0; problem.risk.dim()];
    let mut mean = vec![0.0; w.len()];
    let share = 1.0 / (n - n / 2) as f64;
    let mut step = 0;
    descend(problem, examples, &order, (first_step, 0), &mut w, |w| {
        if step >= n / 2 {
            mean.iter_mut().zip(w).for_each(|(mean, w)| *mean += share * w);
        }
        step += 1;
    });
    mean
}

/// Passes from w = 0 for methods that want a better start, with the steps that they have made.
#[derive(Debug, Clone)]
pub(super) struct Passes {
    descent: Descent,
    pub(super) made: u64,
}

/// Examples that the first step length is estimated from.
const SAMPLE: usize = 100;

impl Passes {
    /// None yet. As many steps are left out as would have to come before one that about halves the
    /// loss of an example: with longer ones the first pass is spent on coming back from far away.
    pub(super) fn new(problem: Problem<'_>, examples: &dyn Examples, metric: &RowMetric) -> Self {
        let n = examples.len();
        let w = vec![0.0; problem.risk.dim()];
        let (mut loss, mut bend) = (0.0, 0.0);
        let mut unused = vec![0.0; w.len()];
        for example in (0..n).step_by((n / SAMPLE).max(1)) {
            loss += examples.add_subgradient(example, &w, 0.0, &mut unused);
            bend += n as f64 * metric.curvatures()[example];
        }
        let steps = 2.0 * bend / (n as f64 * loss);
        let steps = if steps.is_finite() { steps.ceil().min(MOST_STEPS) as u64 } else { 0 };
        Passes { descent: Descent { sum: w, steps, slopes: Vec::new() }, made: 0 }
    }

    /// One more pass.
    pub(super) fn pass(&mut self, examples: &dyn Examples, metric: &RowMetric, seed: u64) {
        sgd_pass(examples, metric, seed, self.made, &mut self.descent);
        self.made += 1;
    }

    /// Where the last pass ended.
    pub(super) fn w(&self, lambda: f64) -> Vec<f64> {
        let scale = -1.0 / (lambda * self.descent.steps.max(1) as f64);
        self.descent.sum.iter().map(|sum| scale * sum).collect()
    }

    pub(super) fn save(&self, archive: &mut Archive) {
        archive.put_reals("sgd.sum", self.descent.sum.clone());
        archive.put_integers("sgd.counts", [self.descent.steps, self.made]);
    }

    /// The passes that were saved, if there were any.
    pub(super) fn load(dim: usize, archive: &mut Archive) -> Result<Option<Self>, ArchiveError> {
        let Ok(sum) = archive.take_reals("sgd.sum") else { return Ok(None) };
        let counts = archive.take_integers("sgd.counts")?;
        let [steps, made] = counts[..] else { return Err(ArchiveError("sgd.counts".into())) };
        if sum.len() != dim {
            return Err(ArchiveError("sgd.sum".into()));
        }
        Ok(Some(Passes { descent: Descent { sum, steps, slopes: Vec::new() }, made }))
    }
}
