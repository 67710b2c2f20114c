//! Runs that go on past their tolerances, to rounding: by ever more planes where the risk has kinks, by
//! other means (`finish`) where it is smooth. They end after so many further evaluations.

use super::{Checkpoints, Outcome, Problem, RunError, Solver, Status, StopRules, finish, run};
use crate::risk::Cancel;
use crate::trace::{Observer, TraceRecord};

/// Evaluations that a run may go on for past its tolerance.
const FURTHER: u64 = 1000;

/// Ends a run that has gone on past its tolerance for long enough, and one that the user cancels.
struct Further<'o> {
    observer: &'o mut dyn Observer,
    users: &'o Cancel,
    token: &'o Cancel,
    tol: f64,
    /// The most evaluations, once the tolerance is met.
    most: Option<u64>,
}

impl Observer for Further<'_> {
    fn best(&mut self, w: &[f64]) {
        self.observer.best(w);
    }

    fn iteration(&mut self, record: &TraceRecord) {
        self.observer.iteration(record);
        let gap = record.lower_bound.map(|bound| record.best_objective - bound);
        let is_near = |gap: f64| gap <= self.tol * record.best_objective.abs() && self.tol > 0.0;
        if self.most.is_none() && gap.or(record.local_gap).is_some_and(is_near) {
            self.most = Some(record.evaluations + FURTHER);
        }
        if self.users.is_hurried() {
            self.token.hurry();
        } else if self.users.is_cancelled()
            || self.most.is_some_and(|most| record.evaluations >= most)
        {
            self.token.cancel();
        }
    }
}

/// Runs a method to rounding. With a tolerance of 0 nothing but the rules limits the evaluations.
pub fn run_to_rounding(
    solver: &mut dyn Solver,
    problem: Problem<'_>,
    rules: StopRules,
    proof_bytes: u64,
    cancel: &Cancel,
    observer: &mut dyn Observer,
    checkpoints: &mut dyn Checkpoints,
) -> Result<Outcome, RunError> {
    // A smooth problem is finished by other means than planes; one with kinks by more of them.
    let to_rounding = StopRules { tol: 0.0, abs_tol: 0.0, ..rules };
    let smooth = problem.risk.is_smooth() && problem.regularizer.is_quadratic();
    let first = if smooth { rules } else { to_rounding };
    let token = Cancel::new();
    let mut further =
        Further { observer, users: cancel, token: &token, tol: rules.tol, most: None };
    let mut outcome = run(solver, problem, first, &token, &mut further, checkpoints)?;
    let was_near = further.most.is_some();
    finish(problem, &mut outcome, rules, proof_bytes, cancel, observer)?;
    // Where rounding is the aim, a run that rounding or the limit past the tolerance stops has
    // converged.
    let is_over = match outcome.status {
        Status::Stalled => outcome.certificate.certifies(rules.tol),
        Status::Interrupted => was_near && !cancel.is_cancelled(),
        _ => false,
    };
    if is_over {
        outcome.status = Status::Converged;
    }
    Ok(outcome)
}
