//! The one loop that runs every method: it takes steps until a rule stops the run, tells observers,
//! hands out checkpoints, and makes the outcome. What a step does is the method's business.

use super::{
    Checkpoints, Ending, Halt, Outcome, Problem, Run, RunError, Solver, Status, Step, StopRules,
};
use crate::archive::Archive;
use crate::certificate::Certificate;
use crate::risk::{Cancel, RiskError};
use crate::trace::{Observer, TraceRecord};

/// Iterations without any progress after which a run counts as stalled.
const STALL: u32 = 20;

/// Runs a method until a rule stops it.
pub fn run(
    solver: &mut dyn Solver,
    problem: Problem<'_>,
    rules: StopRules,
    cancel: &Cancel,
    observer: &mut dyn Observer,
    checkpoints: &mut dyn Checkpoints,
) -> Result<Outcome, RunError> {
    let mut run = Run::new(problem, rules, cancel.clone());
    let mut iteration = 0;
    let mut started = false;
    if let Some(mut archive) = checkpoints.resume() {
        iteration = run.load(&mut archive)? + 1;
        solver.load(&mut archive)?;
        started = true;
        let needed = run.evaluations + u64::from(solver.best_is_combined());
        if let Some(most) = rules.max_evaluations.filter(|most| *most < needed) {
            return Err(RunError::Spent { needed, most });
        }
    }
    let mut stored = None;
    let mut status = loop {
        // Where a limit or the user ends the run, a later one goes on from here: the step below
        // may still prove convergence, but it must not be half done in the checkpoint.
        let last = iteration.checked_sub(1);
        if let Some(last) =
            last.filter(|_| run.spent().is_some() && checkpoints.are_wanted() && stored != last)
        {
            checkpoints.store(archive_of(&run, last, solver));
        }
        let result = if started {
            run.mind_the_clock();
            solver.step(&mut run)
        } else {
            solver.start(&mut run)
        };
        started = true;
        match result {
            Ok(step) => {
                if let Some(best) = solver.best() {
                    observer.best(&best.w);
                }
                observer.iteration(&record(&run, iteration, step, solver));
                run.idle_iterations += 1;
                let crawls = run.crawls();
                if checkpoints.is_due() {
                    checkpoints.store(archive_of(&run, iteration, solver));
                    stored = Some(iteration);
                }
                iteration += 1;
                if let Err(Halt::Stop(status)) = run.own_rules(&step) {
                    break status;
                }
                if run.falls_for_ever() {
                    break Status::Unbounded;
                }
                if crawls || run.idle_iterations > STALL {
                    break Status::Stalled;
                }
            }
            Err(Halt::Stop(status)) => break status,
            // What overflows on the way leaves the best point as it is.
            Err(Halt::Failed(RiskError::NotFinite(_))) if run.best_objective.is_finite() => {
                break Status::Stalled;
            }
            Err(Halt::Failed(error)) => return Err(error.into()),
        }
    };
    // Work that is stopped half way does not know by whom.
    if status == Status::Interrupted && !cancel.is_cancelled() {
        status = Status::MaxSeconds;
    }
    if let Err(Halt::Stop(Status::Converged)) = solver.conclude(&mut run) {
        status = Status::Converged;
    }
    // Where the risk ends at a wall, the best point lies before it; a risk that has never come back
    // is out of order.
    if let (Status::Stalled, Some((error, _)), false) =
        (status, run.trouble.take(), run.has_come_back)
    {
        return Err(error.into());
    }
    let mut point = solver.best().cloned().ok_or(RunError::NoPoint)?;
    if solver.best_is_combined() && !cancel.is_hurried() {
        // The answer's objective is that of the weights saved, to the last bit; an interrupted
        // run does this last pass too.
        run.evaluations += 1;
        point = problem.risk.at(point.w, &Cancel::new())?;
    }
    let objective = run.objective(&point)?;
    // The risk is told as it is claimed: rounded up.
    let rounding = problem.risk.value_error(&point);
    point.value += rounding;
    point.error = 0.0;
    // A bound may pass the objective by what the objective lost to rounding.
    let lower_bound = run.proven_bound().map(|bound| bound.min(objective));
    // What was combined may turn out higher where it is computed afresh.
    let enough = (rules.tol * objective.abs()).max(rules.abs_tol);
    let is_wide = lower_bound.is_some_and(|bound| objective - bound > enough);
    if is_wide && solver.best_is_combined() && status == Status::Converged {
        status = Status::Stalled;
    }
    let ending = Ending {
        certificate: Certificate { objective, lower_bound },
        local_gap: run.known_local_gap(),
        status,
        evaluations: run.evaluations,
        iterations: iteration,
        direction_steps: run.direction_steps,
        iteration_bound: run.iteration_bound(),
        seconds: run.seconds(),
        master_seconds: run.master_time.as_secs_f64(),
        rounding,
    };
    Ok(Outcome { point, proof: run.proof.take(), bounds: run.bounds.take(), ending })
}

fn archive_of(run: &Run<'_>, iteration: u64, solver: &dyn Solver) -> Archive {
    let mut archive = Archive::default();
    run.save(iteration, &mut archive);
    solver.save(&mut archive);
    archive
}

fn record(run: &Run<'_>, iteration: u64, step: Step, solver: &dyn Solver) -> TraceRecord {
    TraceRecord {
        iteration,
        evaluations: run.evaluations,
        seconds: run.seconds(),
        objective: step.objective,
        best_objective: run.best_objective,
        lower_bound: run.proven_bound(),
        local_gap: run.known_local_gap(),
        step: step.kind,
        step_length: step.length,
        locality: solver.locality(),
        accuracy: None,
        planes: solver.planes(),
        master_seconds: run.master_time.as_secs_f64(),
    }
}
