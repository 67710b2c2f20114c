//! F(p), the least J with soft labels p, as Algorithm 1 of the paper uses it: its value and slopes
//! anywhere, its minimiser by subgradient descent, and the climb to a local maximiser over the labels
//! that meet the balance. How the inner problem behind it is solved is no matter here.

use super::balance::best_labels;
use super::work::{S3vmProblem, Worker};
use crate::solver::Status;

/// Steps of subgradient descent to the minimiser.
const DESCENT_STEPS: usize = 100;
/// ... which ends where its best value has not fallen by this share in so many steps.
const DESCENT_PROGRESS: (f64, usize) = (1e-5, 20);
/// Steps of gradient ascent, at most.
const ASCENT_STEPS: usize = 200;
/// Labels that move less than this have arrived.
const SETTLED: f64 = 1e-6;

/// F at a point: its value, and one or two vertices of its subdifferential.
#[derive(Debug)]
pub(super) struct Soft {
    pub(super) value: f64,
    pub(super) slopes: Vec<f64>,
    /// The other vertex, where the offset of the decision function is an interval.
    other: Option<Vec<f64>>,
}

impl Soft {
    /// How steep F goes on outside the box of soft labels: as steep as a row may be that is decided
    /// within the margin.
    pub(super) fn steepness(problem: &S3vmProblem<'_>) -> f64 {
        2.0 * problem.c2
    }

    /// F at q, which may lie outside the box: one inner optimisation.
    pub(super) fn at(worker: &mut Worker<'_>, q: &[f64]) -> Result<Soft, Status> {
        let inside: Vec<f64> = q.iter().map(|q| q.clamp(0.0, 1.0)).collect();
        worker.solve_soft(&inside)?;
        let steepness = Soft::steepness(worker.problem);
        let outside = q.iter().zip(&inside).map(|(q, p)| (q - p).abs());
        let value = worker.inner.dual() + steepness * outside.sum::<f64>();
        let (low, high) = worker.inner.biases();
        let bias = worker.inner.bias();
        let slopes_with = |bias_there: f64| {
            let gains = worker.gains_moved(bias_there - bias);
            let slope = |(gain, (q, p)): (f64, (&f64, &f64))| match q - p {
                0.0 => gain,
                // At the end of the box F has a kink: outside it is never flatter than inside.
                over if over > 0.0 => gain.max(steepness),
                _ => gain.min(-steepness),
            };
            gains.into_iter().zip(q.iter().zip(&inside)).map(slope).collect::<Vec<f64>>()
        };
        let other = (high - low > worker.tol).then(|| slopes_with(high));
        Ok(Soft { value, slopes: slopes_with(if other.is_some() { low } else { bias }), other })
    }

    /// The vertices of the subdifferential that are known.
    pub(super) fn vertices(&self) -> impl Iterator<Item = &[f64]> {
        std::iter::once(&self.slopes[..]).chain(self.other.as_deref())
    }
}

/// p*: the minimiser of F over the box, by projected subgradient descent with steps 1/√t, whose best
/// value comes as near as O(1/√t).
pub(super) fn minimiser(worker: &mut Worker<'_>) -> Result<Vec<f64>, Status> {
    let mut p = vec![0.5; worker.problem.unlabelled.len()];
    let mut best = (f64::INFINITY, p.clone());
    let mut since = (f64::INFINITY, 0);
    let scale = 0.5 / Soft::steepness(worker.problem);
    for step in 1..=DESCENT_STEPS {
        let here = Soft::at(worker, &p)?;
        if here.value < best.0 {
            best = (here.value, p.clone());
        }
        if best.0 < since.0 - DESCENT_PROGRESS.0 * best.0.abs() || since.0 == f64::INFINITY {
            since = (best.0, step);
        } else if step - since.1 >= DESCENT_PROGRESS.1 {
            break;
        }
        let length = scale / (step as f64).sqrt();
        p.iter_mut().zip(&here.slopes).for_each(|(p, g)| *p = (*p - length * g).clamp(0.0, 1.0));
    }
    Ok(best.1)
}

/// Climbs from p to a local maximiser of F over the labels that meet the balance, by projected gradient
/// ascent: F is convex, so that every step leads up. Returns F there; the worker keeps the best
/// function of the way.
pub(super) fn ascend(worker: &mut Worker<'_>, p: &mut Vec<f64>) -> Result<f64, Status> {
    let scale = 1.0 / Soft::steepness(worker.problem);
    for _ in 0..ASCENT_STEPS {
        let here = Soft::at(worker, p)?;
        worker.objective();
        let moved: Vec<f64> = p.iter().zip(&here.slopes).map(|(p, g)| p + scale * g).collect();
        let next = project(&moved, worker.problem.balance);
        let far = next.iter().zip(&*p).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        if far <= SETTLED {
            return Ok(here.value);
        }
        *p = next;
    }
    let here = Soft::at(worker, p)?;
    worker.objective();
    Ok(here.value)
}

/// The nearest labels from 0 to 1 whose sum meets the balance.
pub(super) fn project(q: &[f64], (low, high): (usize, usize)) -> Vec<f64> {
    let at = |nu: f64| q.iter().map(|q| (q - nu).clamp(0.0, 1.0)).collect::<Vec<f64>>();
    let sum = |p: &[f64]| p.iter().sum::<f64>();
    let unmoved = at(0.0);
    let free = sum(&unmoved);
    let target = free.clamp(low as f64, high as f64);
    if target == free {
        return unmoved;
    }
    if target <= 0.0 || target >= q.len() as f64 {
        return vec![if target <= 0.0 { 0.0 } else { 1.0 }; q.len()];
    }
    // The sum falls with ν, from all to none.
    let least = q.iter().copied().fold(f64::INFINITY, f64::min) - 1.0;
    let most = q.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (mut left, mut right) = (least, most);
    for _ in 0..200 {
        let middle = 0.5 * (left + right);
        if middle <= left || middle >= right {
            break;
        }
        if sum(&at(middle)) > target { left = middle } else { right = middle }
    }
    let nearest = at(right);
    // Labels that were hard all along are given exactly as many as they should be.
    if nearest.iter().all(|p| *p == 0.0 || *p == 1.0) && sum(&nearest) != target {
        let scores: Vec<f64> = q.iter().map(|q| q - right).collect();
        let labels = best_labels(&scores, (target as usize, target as usize));
        return labels.iter().map(|y| f64::from(u8::from(*y))).collect();
    }
    nearest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Lcg;

    #[test]
    fn projections_meet_the_balance_and_are_nearest() {
        let mut rng = Lcg::new(5);
        for _ in 0..200 {
            let q: Vec<f64> = (0..7).map(|_| 2.0 * rng.signed()).collect();
            for balance in [(0, 7), (3, 3), (0, 1), (5, 7), (7, 7), (0, 0)] {
                let p = project(&q, balance);
                let sum: f64 = p.iter().sum();
                assert!(sum > balance.0 as f64 - 1e-9 && sum < balance.1 as f64 + 1e-9, "{sum}");
                // No other labels that meet it are nearer: (q − p)ᵀ(r − p) ≤ 0.
                let other: Vec<f64> = (0..7).map(|_| rng.unit()).collect();
                let r = project(&other, balance);
                let angle: f64 = (0..7).map(|j| (q[j] - p[j]) * (r[j] - p[j])).sum();
                assert!(angle <= 1e-7, "{angle}");
            }
        }
    }
}
