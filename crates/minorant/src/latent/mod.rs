//! Latent support vector machines with kernels: a row is positive if one of K components says so,
//! and which one is not told (a union of K half-spaces, or the complement of a polytope). Once each
//! positive row has chosen its component, these are K independent inner problems of
//! [`crate::s3vm`]; the methods search for the choice. [`fit`] is the door.

mod ao;
mod cccp;
mod gd;
mod lcs;
mod pdm;
mod work;

pub use work::{Component, LatentProblem, Solution};

use crate::risk::Cancel;
use crate::s3vm::{Account, Inner, Options, Rounds, S3vmError, Solver, Stop, bound_of, generator};
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
    /// The run may solve fewer inner problems than an answer takes.
    #[error("at least one inner optimisation for each of {0} components is needed for an answer")]
    Evaluations(usize),
}

/// What a run found.
#[derive(Debug, Clone)]
pub struct LatentFit {
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
    problem: &LatentProblem<'_>,
    options: &Options,
    cancel: &Cancel,
    observer: &mut dyn Observer,
    checkpoints: &mut dyn Checkpoints,
) -> Result<LatentFit, LatentError> {
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
    let stop = Stop::new(cancel, clock, options.rules.max_seconds);
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
    let ended = ended.and(stop.was_heeded());
    account.close(ended);
    let (solution, cut) = finish(problem, options, &stop, &mut account, ended.is_err());
    let lower_bound = (problem.components == 1).then(|| solution.objective() - solution.local_gap);
    let lower_bound = lower_bound.filter(|bound| bound.is_finite());
    Ok(LatentFit {
        solution,
        lower_bound,
        status: ended.and(cut).err().unwrap_or(Status::Converged),
        evaluations: account.evaluations,
        iterations: account.iterations,
        seconds: clock.seconds(),
    })
}

/// Runs a local method from rows gathered around random ones.
fn run_local(solver: Solver, worker: &mut Worker<'_>, options: &Options) -> Result<(), Status> {
    let chosen = pdm::gathered(worker.problem, &mut generator(options.seed, 0));
    match solver {
        Solver::Ao => ao::run(worker, chosen),
        Solver::Lcs => lcs::run(worker, chosen),
        Solver::Gd => gd::run(worker, chosen),
        _ => cccp::alternate(worker, chosen).map(|_| ()),
    }
}

/// Solves the inner problems of the best choice to a fine tolerance, and measures the answer; returns
/// besides what has cut the solving short, if anything. Where the run was stopped there is but a moment
/// left, in which the solving goes on from the solutions that are known.
fn finish(
    problem: &LatentProblem<'_>,
    options: &Options,
    stop: &Stop,
    account: &mut Account<'_, Solution>,
    was_stopped: bool,
) -> (Solution, Result<(), Status>) {
    let best = account.best.take();
    let chosen = best.as_ref().map_or_else(
        || pdm::gathered(problem, &mut generator(options.seed, 0)),
        |best| best.chosen.clone(),
    );
    let last = stop.for_the_last();
    let mut worker = Worker::new(problem, &last, u64::MAX, options.final_tol());
    let solved = (0..problem.components).try_for_each(|k| {
        let start = best.as_ref().filter(|_| was_stopped).map(|best| &best.components[k].beta[..]);
        worker.solve_component_from(k, &chosen, start)
    });
    account.evaluations += worker.spent;
    if let (Err(status), Some(best)) = (solved, &best) {
        // The bounds of the components, less the share of ½‖w‖² that is not their own.
        let bound = |(k, component): (usize, &Component)| {
            let (plus, minus) = problem.weights(k, &chosen);
            bound_of(&component.beta, 0.0, &plus, &minus)
        };
        let bounds: Option<f64> = best.components.iter().enumerate().map(bound).sum();
        let gap = bounds.map(|bound| (best.objective() + best.regularizer - bound).max(0.0));
        let local_gap = gap.unwrap_or(f64::INFINITY);
        return (Solution { local_gap, ..best.clone() }, Err(status));
    }
    let is_cut = worker.inners.iter().any(Inner::is_cut);
    let cut = if is_cut { last.check() } else { Ok(()) };
    worker.inners.iter_mut().for_each(Inner::refresh);
    let (objective, _) = worker.objective();
    let dual: f64 = worker.inners.iter().map(Inner::dual).sum();
    account.tell(objective, true);
    let found = worker
        .best
        .take()
        .filter(|found| best.as_ref().is_none_or(|best| found.objective() <= best.objective()));
    let solution = found.or(best).unwrap_or_else(|| unreachable!("the last solve is an answer"));
    (Solution { local_gap: (solution.objective() + dual).max(0.0), ..solution }, cut)
}
