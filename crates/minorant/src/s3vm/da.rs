//! `da`: deterministic annealing (Sindhwani, Keerthi & Chapelle 2006). Labels are soft: an
//! entropy term keeps them so, and as its temperature falls they harden. [`super::ao`] ends the search.

use super::ao;
use super::balance::{best_labels, soft_labels};
use super::work::Worker;
use crate::solver::Status;

/// How the temperature falls, in units of C2.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cooling {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) divisor: f64,
    /// Inner problems at one temperature, at most.
    pub(super) steps: usize,
}

/// The method's own.
pub(super) const SLOW: Cooling = Cooling { from: 10.0, to: 1e-4, divisor: 1.5, steps: 10 };

/// Soft labels that move less have settled at their temperature.
const SETTLED: f64 = 1e-2;
/// Soft labels this close to 0 or 1 are as hard as they get.
const HARD: f64 = 1e-3;

/// Cools from soft labels, then alternates; the worker keeps the best function.
pub(super) fn anneal(
    worker: &mut Worker<'_>,
    mut p: Vec<f64>,
    cooling: Cooling,
) -> Result<f64, Status> {
    let (c2, balance) = (worker.problem.c2, worker.problem.balance);
    let mut temperature = cooling.from;
    while temperature >= cooling.to {
        for _ in 0..cooling.steps {
            worker.solve_soft(&p)?;
            let next = soft_labels(&worker.gains(), temperature * c2, balance);
            let moved = next.iter().zip(&p).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            p = next;
            if moved < SETTLED {
                break;
            }
        }
        if p.iter().all(|p| *p < HARD || *p > 1.0 - HARD) {
            break;
        }
        temperature /= cooling.divisor;
    }
    let halves: Vec<f64> = p.iter().map(|p| p - 0.5).collect();
    ao::alternate(worker, best_labels(&halves, balance))
}

/// Soft labels that know nothing but the balance.
pub(super) fn centre(worker: &Worker<'_>) -> Vec<f64> {
    let problem = worker.problem;
    let u = problem.unlabelled.len();
    let labelled = problem.signs.iter().filter(|s| **s != 0).count().max(1);
    let positive = problem.signs.iter().filter(|s| **s > 0).count();
    let (low, high) = problem.balance;
    let count = (positive as f64 / labelled as f64 * u as f64).clamp(low as f64, high as f64);
    vec![count / u.max(1) as f64; u]
}

/// The method: from the centre.
pub(super) fn run(worker: &mut Worker<'_>) -> Result<(), Status> {
    let p = centre(worker);
    anneal(worker, p, SLOW).map(|_| ())
}
