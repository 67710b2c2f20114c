//! One class against the rest: the objective is the sum of one binary objective a class, which
//! share nothing, so they are solved one after the other. Bounds add up; the budget of evaluations
//! and seconds is one for all.

use super::Rows;
use crate::archive::{Archive, ArchiveError};
use crate::certificate::Certificate;
use crate::family::carried::{Carrying, Finished, finished};
use crate::family::{Asked, TrainError, Walk, refuse};
use crate::options::common::INTERCEPT;
use crate::proof::Proof;
use crate::regularizer::L2;
use crate::risk::{Cancel, Point};
use crate::solver::{Checkpoints, Method, Outcome, Problem, RunError, Status, StopRules};
use crate::trace::{Observer, TraceRecord};

/// Solves the problems of all classes in order.
pub(super) fn solve(
    rows: &Rows<'_>,
    regularizer: &L2,
    walk: &mut Walk<'_>,
) -> Result<(Vec<Outcome>, Method), TrainError> {
    let classes = rows.targets.classes();
    let asked = walk.asked;
    let all = asked.settings.rules();
    check_evaluations(all.max_evaluations, classes)?;
    let mut state = resume(&mut *walk.checkpoints)?;
    // At w = 0 a binary loss does not depend on the sign: all classes start alike.
    let zero = vec![0.0; rows.dim()];
    let start = rows.risk(0).at(zero, &Cancel::new()).map_err(RunError::from)?.value;
    let mut method = Method::Auto;
    let mut interrupted = false;
    let dim = rows.dim();
    while state.carried.len() < classes {
        let class = state.carried.len();
        let begin = asked.start.map(|w| &w[class * dim..][..dim]);
        interrupted |= class > 0 && asked.cancel.is_cancelled();
        if interrupted && (asked.cancel.is_hurried() || classes > MANY) {
            // The objective is known only where the class starts at 0: there it is the loss alone.
            let (w, value) = begin.map_or((vec![0.0; dim], start), |w| (w.to_vec(), f64::NAN));
            let cancelled = asked.cancel.is_cancelled();
            let status = if cancelled { Status::Interrupted } else { Status::MaxSeconds };
            let mut outcome = not_begun(w, value, status);
            if rows.settings.get(&INTERCEPT).is_some() || regularizer.ranges().is_some() {
                // The best intercept is another one for each class, and bounds may not allow 0.
                let risk = rows.risk(class);
                let problem = Problem::new(&*risk, regularizer).starting_at(begin);
                let point = risk.at(problem.start_point(), &Cancel::new());
                outcome.point = point.map_err(RunError::from)?;
                outcome.certificate.objective = problem.objective(&outcome.point);
            }
            state.carried.push(outcome);
            continue;
        }
        let risk = rows.risk(class);
        let problem = Problem::new(&*risk, regularizer).starting_at(begin);
        let used: u64 = state.carried.iter().map(|o| o.evaluations).sum();
        let spent: f64 = state.carried.iter().map(|o| o.seconds).sum();
        let waiting = (classes - class - 1) as u64;
        // Once the user or the clock has said stop, the other classes only get their start point.
        let rules = StopRules {
            max_evaluations: if interrupted {
                Some(1)
            } else {
                all.max_evaluations.map(|most| most.saturating_sub(used + waiting).max(1))
            },
            max_seconds: all.max_seconds.map(|most| most - spent),
            ..all
        };
        let token = if interrupted { Cancel::new() } else { asked.cancel.clone() };
        let mut shifted = Shifted::new(&mut *walk.observer, &state.carried, classes, start);
        let mut outcome;
        let own = Asked { cancel: &token, ..asked };
        (outcome, method) = Walk { asked: own, observer: &mut shifted, checkpoints: &mut state }
            .minimise(problem, rules)?;
        if interrupted && outcome.status == Status::MaxEvals {
            let cancelled = asked.cancel.is_cancelled();
            outcome.status = if cancelled { Status::Interrupted } else { Status::MaxSeconds };
        }
        interrupted |= matches!(outcome.status, Status::Interrupted | Status::MaxSeconds);
        if class > 0 {
            // A number for each row and each class would be more than the data.
            outcome.point.outputs = Point::bare(Vec::new(), 0.0).outputs;
        }
        state.carried.push(outcome);
    }
    Ok((state.carried, method))
}

/// Classes that all get an evaluation whatever the clock says; of more than these, those whose turn has not
/// come when it is over keep their start.
const MANY: usize = 256;

/// Refuses fewer evaluations than classes.
pub(crate) fn check_evaluations(most: Option<u64>, classes: usize) -> Result<(), TrainError> {
    if most.is_some_and(|most| most < classes as u64) {
        return refuse(format!(
            "one-vs-rest over {classes} classes needs at least {classes} evaluations"
        ));
    }
    Ok(())
}

/// The outcome of a run that was not begun: its start point, which is not evaluated, with the value that
/// is known of it.
pub(super) fn not_begun(w: Vec<f64>, value: f64, status: Status) -> Outcome {
    let certificate = Certificate { objective: value, lower_bound: None };
    Outcome::bare(Point::bare(w, value), certificate, status)
}

/// Makes the records of one class those of the whole sequence. Classes that wait count with the
/// objective of their start point and with the bound 0, which no class goes below.
struct Shifted<'o> {
    observer: &'o mut dyn Observer,
    before: TraceRecord,
    waiting: f64,
}

impl<'o> Shifted<'o> {
    fn new(
        observer: &'o mut dyn Observer,
        finished: &[Outcome],
        classes: usize,
        start: f64,
    ) -> Self {
        let sum = |of: &dyn Fn(&Outcome) -> f64| finished.iter().map(of).sum::<f64>();
        let objective = sum(&|o| o.certificate.objective);
        let before = TraceRecord {
            iteration: finished.iter().map(|o| o.iterations).sum(),
            evaluations: finished.iter().map(|o| o.evaluations).sum(),
            seconds: sum(&|o| o.seconds),
            objective,
            best_objective: objective,
            lower_bound: finished.iter().map(|o| o.certificate.lower_bound).sum(),
            master_seconds: sum(&|o| o.master_seconds),
            ..TraceRecord::default()
        };
        Shifted { observer, before, waiting: start * (classes - finished.len() - 1) as f64 }
    }
}

impl Observer for Shifted<'_> {
    fn iteration(&mut self, record: &TraceRecord) {
        let others = self.before.objective + self.waiting;
        let bound = record.lower_bound.unwrap_or(0.0).max(0.0);
        self.observer.iteration(&TraceRecord {
            iteration: self.before.iteration + record.iteration,
            evaluations: self.before.evaluations + record.evaluations,
            seconds: self.before.seconds + record.seconds,
            objective: others + record.objective,
            best_objective: others + record.best_objective,
            lower_bound: self.before.lower_bound.map(|before| before + bound),
            master_seconds: self.before.master_seconds + record.master_seconds,
            ..record.clone()
        });
    }
}

impl Finished for Outcome {
    fn status(&self) -> Status {
        self.status
    }

    fn save(&self, archive: &mut Archive) {
        archive.put_reals("w", self.point.w.clone());
        let bound = self.certificate.lower_bound.unwrap_or(f64::NAN);
        let local_gap = self.local_gap.unwrap_or(f64::NAN);
        let numbers = [self.point.value, self.certificate.objective, bound, local_gap];
        let further = [self.seconds, self.master_seconds, self.rounding];
        archive.put_reals("numbers", [&numbers[..], &further].concat());
        archive.put_reals("intercept", self.point.intercept.clone());
        let status = self.status.number();
        let counts = [self.evaluations, self.iterations, self.direction_steps, status];
        archive.put_integers("counts", counts);
        if let Some(proof) = &self.proof {
            proof.save("", archive);
        }
    }
}

/// The runs of a checkpoint that are finished, to go on behind them.
pub(super) fn resume(
    checkpoints: &mut dyn Checkpoints,
) -> Result<Carrying<'_, Vec<Outcome>>, RunError> {
    let load = |archive: &mut Archive| finished(archive, u64::MAX, load_outcome);
    Ok(Carrying::resume(checkpoints, load)?)
}

fn load_outcome(archive: &mut Archive) -> Result<Outcome, ArchiveError> {
    let w = archive.take_reals("w")?;
    let numbers = archive.take_reals("numbers")?;
    // Archives of 0.1 know none.
    let intercept = archive.take_reals("intercept").unwrap_or_default();
    let counts = archive.take_integers("counts")?;
    let (
        &[value, objective, bound, local_gap, seconds, master_seconds, rounding],
        &[evaluations, iterations, direction_steps, status],
    ) = (&numbers[..], &counts[..])
    else {
        return Err(ArchiveError("numbers".into()));
    };
    let known = |number: f64| Some(number).filter(|number| !number.is_nan());
    let point = Point { intercept, ..Point::bare(w, value) };
    let certificate = Certificate { objective, lower_bound: known(bound) };
    let status = Status::of_number(status).unwrap_or(Status::Stalled);
    Ok(Outcome {
        local_gap: known(local_gap),
        proof: Proof::load("", archive)?,
        evaluations,
        iterations,
        direction_steps,
        seconds,
        master_seconds,
        rounding,
        ..Outcome::bare(point, certificate, status)
    })
}
