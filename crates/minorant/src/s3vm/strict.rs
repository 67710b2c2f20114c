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
use super::work::{S3vmProblem, Solution, Worker};
use super::{Account, Options, Stop};
use crate::archive::{Archive, ArchiveError};
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

/// Where the search stands between two rounds.
pub(super) struct State {
    round: u64,
    labels: Vec<bool>,
    rng: Pcg64Mcg,
}

impl State {
    /// The state that was saved, or the one to begin with. The numbers that were drawn before the state
    /// was saved are drawn again, which brings the generator to where it was.
    pub(super) fn resume(
        saved: Option<Archive>,
        problem: &S3vmProblem<'_>,
        options: &Options,
    ) -> Result<Self, ArchiveError> {
        let mut rng = generator(options.seed, 0);
        let labels = random_labels(problem, &mut rng);
        let Some(mut archive) = saved else { return Ok(State { round: 0, labels, rng }) };
        let rounds = archive.take_up_to("round", 1, ROUNDS)?;
        let labels = archive.take_up_to("labels", problem.unlabelled.len(), 1)?;
        for _ in 0..rounds[0] * points(problem, options) {
            random_labels(problem, &mut rng);
        }
        let labels = labels.into_iter().map(|label| label == 1).collect();
        Ok(State { round: rounds[0], labels, rng })
    }

    fn save(&self, archive: &mut Archive) {
        archive.put_integers("round", [self.round]);
        archive.put_integers("labels", self.labels.iter().map(|label| u64::from(*label)));
    }
}

/// The number of points that stand for the level set: the paper's m.
fn points(problem: &S3vmProblem<'_>, options: &Options) -> u64 {
    ((options.degree * problem.unlabelled.len() as f64).round() as u64).max(1)
}

pub(super) fn run(
    problem: &S3vmProblem<'_>,
    options: &Options,
    stop: &Stop,
    account: &mut Account<'_, Solution>,
    mut state: State,
) -> Result<(), Status> {
    let m = points(problem, options);
    while state.round < ROUNDS {
        account.keep(|archive| state.save(archive));
        let mut worker = Worker::new(problem, stop, account.left(), options.search_tol());
        let ended = round(&mut worker, state.labels, m, &mut state.rng);
        account.absorb(&mut worker);
        let (delta, next) = ended?;
        account.delta = Some(delta);
        match next {
            Some(next) => state.labels = next,
            None => return Ok(()),
        }
        state.round += 1;
    }
    Err(Status::Stalled)
}

/// One round: the local solution, the approximate level set, and the best of its points. Returns Δ
/// and where to go on, if the test finds anything.
fn round(
    worker: &mut Worker<'_>,
    labels: Vec<bool>,
    m: u64,
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
fn random_labels(problem: &S3vmProblem<'_>, rng: &mut Pcg64Mcg) -> Vec<bool> {
    let scores: Vec<f64> = problem.unlabelled.iter().map(|_| StandardNormal.sample(rng)).collect();
    best_labels(&scores, problem.balance)
}
