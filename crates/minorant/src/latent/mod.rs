//! Latent support vector machines with kernels: a row is positive if one of K components says so,
//! and which one is not told (a union of K half-spaces, or the complement of a polytope). An
//! assignment gives each positive row to one component; once it is fixed, the components are K
//! independent inner problems of [`crate::s3vm`]. The methods search for the assignment; [`fit`] calls
//! the method that was asked for.

mod ao;
mod cccp;
mod gd;
mod lcs;
mod pdm;
mod work;

pub use work::{Component, Problem, Solution};

use crate::risk::Cancel;
use crate::s3vm::{Account, Inner, Options, Rounds, S3vmError, Solver, Stop, generator};
use crate::solver::{Checkpoints, Status};
use crate::trace::Observer;
use work::Worker;

/// The methods that latent machines have.
pub const SOLVERS: [Solver; 5] = [Solver::Pdm, Solver::Gd, Solver::Cccp, Solver::Ao, Solver::Lcs];

/// What is wrong with a latent problem.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LatentError {
    /// Something that semi-supervised problems share.
    #[error(transparent)]
    Shared(#[from] S3vmError),
    /// The number of components is out of range.
    #[error("the number of components must be from 1 to {most}, not {found}")]
    Components {
        /// How many were asked for.
        found: usize,
        /// Positive rows.
        most: usize,
    },
    /// The method is none of these.
    #[error("latent-svm has no solver '{0}'; its solvers are: auto, pdm, gd, cccp, ao, lcs")]
    Solver(&'static str),
    /// There must be enough inner problems for an answer.
    #[error("at least one inner optimisation for each of {0} components is needed for an answer")]
    Evaluations(usize),
}

/// What a run found.
#[derive(Debug, Clone)]
pub struct Fit {
    /// The best machine.
    pub solution: Solution,
    /// A proven bound: with one component the problem is convex.
    pub lower_bound: Option<f64>,
    /// How the run ended.
    pub status: Status,
    /// Inner problems solved.
    pub evaluations: u64,
    /// Machines compared.
    pub iterations: u64,
    /// Seconds.
    pub seconds: f64,
}

/// Minimises the objective of a latent problem. The search is resumed where it was, down to the last
/// bit; the short methods begin again.
pub fn fit(
    problem: &Problem<'_>,
    options: &Options,
    cancel: &Cancel,
    observer: &mut dyn Observer,
    checkpoints: &mut dyn Checkpoints,
) -> Result<Fit, LatentError> {
    for (name, value) in [("C+", problem.c_pos), ("C-", problem.c_neg)] {
        if !(value > 0.0 && value.is_finite()) {
            return Err(S3vmError::Weight { name, value }.into());
        }
    }
    options.check()?;
    let (rows, labels) = (problem.gram.order(), problem.positive.len());
    if rows != labels {
        return Err(S3vmError::Lengths { rows, labels }.into());
    }
    if problem.rows.is_empty() || problem.rows.len() == labels {
        return Err(S3vmError::OneClass.into());
    }
    let (found, most) = (problem.components, problem.rows.len());
    if found == 0 || found > most {
        return Err(LatentError::Components { found, most });
    }
    if !SOLVERS.contains(&options.solver) {
        return Err(LatentError::Solver(options.solver.name()));
    }
    let k = problem.components as u64;
    let limit = options.rules.max_evaluations.unwrap_or(u64::MAX);
    if limit < k {
        return Err(LatentError::Evaluations(problem.components));
    }
    // One inner problem a component is kept for the last solve, to a finer tolerance.
    let mut account = Account::new(observer, checkpoints, limit - k);
    let saved = account
        .resume(limit, |archive| Solution::load(archive, problem))
        .map_err(S3vmError::from)?;
    let rounds = saved.map_or(Ok(Rounds::default()), |mut archive| Rounds::load(&mut archive));
    let rounds = rounds.map_err(S3vmError::from)?;
    let clock = account.clock;
    let stop = Stop { cancel: cancel.clone(), clock, max_seconds: options.rules.max_seconds };
    let ended = if account.limit < k {
        Err(Status::MaxEvals)
    } else if options.solver == Solver::Pdm && problem.components > 1 {
        pdm::run(problem, options, &stop, &mut account, rounds)
    } else {
        // These take seconds: they are not gone on with, but made again.
        account.keep(|_| ());
        let mut worker = Worker::new(problem, &stop, account.limit, options.search_tol());
        let ended = run_local(options.solver, &mut worker, options);
        account.count(worker.spent, worker.best.take(), 0.0);
        ended
    };
    account.close(ended);
    let solution = finish(problem, options, &stop, &mut account);
    let lower_bound = (problem.components == 1).then(|| solution.objective() - solution.local_gap);
    Ok(Fit {
        solution,
        lower_bound,
        status: ended.err().unwrap_or(Status::Converged),
        evaluations: account.evaluations,
        iterations: account.iterations,
        seconds: clock.seconds(),
    })
}

/// Runs a local method from rows gathered around random ones.
fn run_local(solver: Solver, worker: &mut Worker<'_>, options: &Options) -> Result<(), Status> {
    let assignment = pdm::gathered(worker.problem, &mut generator(options.seed, 0));
    match solver {
        Solver::Ao => ao::run(worker, assignment),
        Solver::Lcs => lcs::run(worker, assignment),
        Solver::Gd => gd::run(worker, assignment),
        _ => cccp::alternate(worker, assignment).map(|_| ()),
    }
}

/// Solves the inner problems of the best assignment to a fine tolerance, and measures the answer.
fn finish(
    problem: &Problem<'_>,
    options: &Options,
    stop: &Stop,
    account: &mut Account<'_, Solution>,
) -> Solution {
    let best = account.best.take();
    let assignment = best.as_ref().map_or_else(
        || pdm::gathered(problem, &mut generator(options.seed, 0)),
        |best| best.assignment.clone(),
    );
    let mut worker = Worker::new(problem, stop, u64::MAX, options.final_tol());
    // The worker has no best machine yet, so nothing stops these.
    let _ = worker.solve(&assignment, None);
    account.evaluations += worker.spent;
    worker.inners.iter_mut().for_each(Inner::refresh);
    let (objective, _) = worker.objective();
    let dual: f64 = worker.inners.iter().map(Inner::dual).sum();
    account.tell(objective, true);
    let found = worker
        .best
        .take()
        .filter(|found| best.as_ref().is_none_or(|best| found.objective() <= best.objective()));
    let solution = found.or(best).unwrap_or_else(|| unreachable!("the last solve is an answer"));
    Solution { local_gap: (solution.objective() + dual).max(0.0), ..solution }
}
