//! `pdm`, mode `strict`: Algorithm 1 of the paper as printed. F(p), the least J with soft labels p,
//! is convex; a point r is its global maximiser iff no point q of its level set has
//! Δ = max over p of (p − q)ᵀ∇F(q) > 0 (Theorem 3), and m points of the level set stand for all of
//! it. The paper takes them on rays from the global minimiser, where there are none: F is finite on
//! the box of soft labels only. Weak labels repair this: with weights t·v of labels v, 0 < t ≤ 1,
//! F rises from F(v) to that of the labelled rows alone, and so meets the level of r.
//!
//! With the best labels u at q, F(q) + Δ is less the objective of the function trained at q: Δ > 0
//! says that it beats the incumbent before any polish. That is what makes the test so strict.

use super::ao;
use super::balance::best_labels;
use super::candidates::generator;
use super::work::{Problem, Stop, Worker};
use super::{Account, Options};
use crate::solver::Status;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;

/// Rounds, at most.
const ROUNDS: u64 = 1000;
/// Steps of the search for a point of the level set.
const ROOT_STEPS: usize = 12;
/// How near the level it has to be, relative to it.
const LEVEL: f64 = 1e-3;
/// Δ at most this, relative to the objective, counts as 0.
const ZERO: f64 = 1e-9;

pub(super) fn run(
    problem: &Problem<'_>,
    options: &Options,
    stop: &Stop,
    account: &mut Account<'_>,
) -> Result<(), Status> {
    let m = ((options.degree * problem.unlabelled.len() as f64).round() as usize).max(1);
    let mut rng = generator(options.seed, 0);
    let mut labels = random_labels(problem, &mut rng);
    for _ in 0..ROUNDS {
        let mut worker = Worker::new(problem, stop, account.left(), options.search_tol());
        let ended = round(&mut worker, labels, m, &mut rng);
        account.absorb(&mut worker);
        let (delta, next) = ended?;
        account.delta = Some(delta);
        match next {
            Some(next) => labels = next,
            None => return Ok(()),
        }
    }
    Err(Status::Stalled)
}

/// One round: the local solution, the approximate level set, and the best of its points. Returns Δ
/// and where to go on, if the test finds anything.
fn round(
    worker: &mut Worker<'_>,
    labels: Vec<bool>,
    m: usize,
    rng: &mut Pcg64Mcg,
) -> Result<(f64, Option<Vec<bool>>), Status> {
    let objective = ao::alternate(worker, labels)?;
    let mut best = (f64::NEG_INFINITY, Vec::new());
    for _ in 0..m {
        let direction = random_labels(worker.problem, rng);
        level_point(worker, &direction, objective)?;
        let (there, labels) = worker.objective();
        // (u − q)ᵀ∇F(q): the identity above, with F(q) on the level of the incumbent.
        let delta = objective - there;
        if delta > best.0 {
            best = (delta, labels);
        }
    }
    let improves = best.0 > ZERO * objective.abs();
    Ok((best.0, improves.then_some(best.1)))
}

/// Solves at the weight of weak labels at which F is on the level −`objective` (10).
fn level_point(worker: &mut Worker<'_>, labels: &[bool], objective: f64) -> Result<(), Status> {
    let (mut low, mut high) = (0.0, 1.0);
    let mut t = 1.0;
    for _ in 0..ROOT_STEPS {
        let weight = |y: bool, side: bool| if y == side { t } else { 0.0 };
        worker.solve(|j| weight(labels[j], true), |j| weight(labels[j], false))?;
        let above = worker.inner.primal() - objective;
        if above.abs() <= LEVEL * objective.abs() || (t == 1.0 && above < 0.0) {
            break;
        }
        if above > 0.0 {
            high = t
        } else {
            low = t
        }
        t = 0.5 * (low + high);
    }
    Ok(())
}

/// Random labels that meet the balance.
fn random_labels(problem: &Problem<'_>, rng: &mut Pcg64Mcg) -> Vec<bool> {
    let scores: Vec<f64> = problem.unlabelled.iter().map(|_| StandardNormal.sample(rng)).collect();
    best_labels(&scores, problem.balance)
}
