//! Stochastic gradient descent over the examples, one seeded pass at a time, with steps 1/(λ t) in
//! the regularizer's metric. A step costs no more than the example's entries: the regularizer's
//! share of it is one multiplication. Evaluations are counted by whoever asks for a pass.

use super::Problem;
use crate::archive::{Archive, ArchiveError};
use crate::risk::{Cancel, Examples, LazyWeights, RiskError};
use minorant_linalg::dense::norm2;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// Examples between two looks at the cancellation token.
const POLL: usize = 4096;
/// Examples that the first step length is estimated from.
const SAMPLE: usize = 100;
/// A smaller scale is multiplied into the values before they overflow.
const LEAST_SCALE: f64 = 1e-6;

/// Where the descent stands.
#[derive(Debug, Clone)]
pub(super) struct Sgd {
    /// The weights.
    pub(super) w: Vec<f64>,
    /// t: the next step is 1/(λ (t + 1)).
    time: f64,
    /// Passes made.
    pub(super) passes: u64,
}

impl Sgd {
    /// Starts at `w`; the first step is 1/(λ (`time` + 1)).
    pub(super) fn new(w: Vec<f64>, time: f64) -> Self {
        Sgd { w, time, passes: 0 }
    }

    /// The time at which a step would about halve the loss of one example at the start: with
    /// earlier ones the first pass is spent on coming back from far away.
    pub(super) fn calm_time(problem: Problem<'_>, examples: &dyn Examples, w: &[f64]) -> f64 {
        let n = examples.len();
        let (mut loss, mut square) = (0.0, 0.0);
        let mut gradient = vec![0.0; w.len()];
        for example in (0..n).step_by((n / SAMPLE).max(1)) {
            gradient.fill(0.0);
            loss += examples.add_subgradient(example, w, 1.0, &mut gradient);
            square += n as f64 * norm2(&problem.regularizer.slope_in_metric(&gradient));
        }
        let time = 2.0 * square / (loss * problem.regularizer.lambda());
        if time.is_finite() { time } else { 0.0 }
    }

    /// One step for each example, in a random order.
    pub(super) fn pass(
        &mut self,
        problem: Problem<'_>,
        examples: &dyn Examples,
        seed: u64,
        cancel: &Cancel,
    ) -> Result<(), RiskError> {
        let (n, regularizer) = (examples.len(), problem.regularizer);
        let mut order: Vec<usize> = (0..n).collect();
        let stream = seed ^ (self.passes + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        order.shuffle(&mut Pcg64Mcg::seed_from_u64(stream));
        let center = regularizer.given_center();
        let (mut values, mut time) = (self.w.clone(), self.time);
        if let Some(center) = center {
            values.iter_mut().zip(center).for_each(|(w, c)| *w -= c);
        }
        let mut weights = LazyWeights { center, theta: regularizer.weights(), scale: 1.0, values };
        for batch in order.chunks(POLL) {
            cancel.check()?;
            for &example in batch {
                time += 1.0;
                // The regularizer's part: w − w_reg shrinks by 1 − λη with λη = 1/t.
                weights.scale *= (time - 1.0) / time;
                if weights.scale < LEAST_SCALE {
                    let scale = std::mem::replace(&mut weights.scale, 1.0);
                    weights.values.iter_mut().for_each(|value| *value *= scale);
                }
                // n times an example's share of the risk is the risk in the mean.
                let step = n as f64 / (regularizer.lambda() * time * weights.scale);
                examples.descend(example, &mut weights, step);
            }
        }
        let LazyWeights { scale, values, .. } = weights;
        self.w = values;
        self.w.iter_mut().for_each(|w| *w *= scale);
        if let Some(center) = center {
            self.w.iter_mut().zip(center).for_each(|(w, c)| *w += c);
        }
        self.time = time;
        self.passes += 1;
        Ok(())
    }

    pub(super) fn save(&self, archive: &mut Archive) {
        archive.put_reals("sgd.w", self.w.clone());
        archive.put_reals("sgd.time", vec![self.time]);
        archive.put_integers("sgd.passes", [self.passes]);
    }

    /// The descent that was saved, if there was one.
    pub(super) fn load(dim: usize, archive: &mut Archive) -> Result<Option<Self>, ArchiveError> {
        let Ok(w) = archive.take_reals("sgd.w") else { return Ok(None) };
        if w.len() != dim {
            return Err(ArchiveError("sgd.w".into()));
        }
        let time = archive.take_real("sgd.time")?;
        Ok(Some(Sgd { w, time, passes: archive.take_integer("sgd.passes")? }))
    }
}
