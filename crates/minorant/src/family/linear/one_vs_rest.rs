//! One class against the rest: the objective is the sum of one binary objective a class, which
//! share nothing, so they are solved one after the other. Bounds add up; the budget of evaluations
//! and seconds is one for all.

use super::Rows;
use crate::family::{Asked, TrainError, Walk, refuse};
use crate::options::common::INTERCEPT;
use crate::regularizer::L2;
use crate::risk::{Cancel, Point};
use crate::solver::{Method, Outcome, Problem, RunError, Status, StopRules};
use crate::trace::{Observer, TraceRecord};

/// Solves the problems of all classes in order.
pub(super) fn solve(
    rows: &Rows<'_>,
    regularizer: &L2,
    walk: &mut Walk<'_>,
) -> Result<(Vec<Outcome>, Method), TrainError> {
    let classes = rows.targets.classes;
    let asked = walk.asked;
    let all = asked.settings.rules();
    check_evaluations(all.max_evaluations, classes)?;
    let mut state = Outcome::resume(&mut *walk.checkpoints)?;
    // At w = 0 a binary loss does not depend on the sign: all classes start alike.
    let zero = vec![0.0; rows.dim()];
    let start = rows.risk(0).at(zero, &Cancel::new()).map_err(RunError::from)?.value;
    let mut method = Method::Auto;
    let mut interrupted = false;
    let cut_by = || match asked.cancel.is_cancelled() {
        true => Status::Interrupted,
        false => Status::MaxSeconds,
    };
    let dim = rows.dim();
    while state.carried.len() < classes {
        let class = state.carried.len();
        let begin = asked.start.map(|w| &w[class * dim..][..dim]);
        interrupted |= class > 0 && asked.cancel.is_cancelled();
        if interrupted && (asked.cancel.is_hurried() || classes > MANY) {
            // The objective is known only where the class starts at 0: there it is the loss alone.
            let (w, value) = begin.map_or((vec![0.0; dim], start), |w| (w.to_vec(), f64::NAN));
            let mut outcome = Outcome::not_begun(w, value, cut_by());
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
        let before = Outcome::together(&state.carried);
        let waiting = (classes - class - 1) as u64;
        // Once the user or the clock has said stop, the other classes only get their start point.
        let rules = StopRules {
            max_evaluations: if interrupted {
                Some(1)
            } else {
                all.max_evaluations
                    .map(|most| most.saturating_sub(before.evaluations + waiting).max(1))
            },
            max_seconds: all.max_seconds.map(|most| most - before.seconds),
            ..all
        };
        let token = if interrupted { Cancel::new() } else { asked.cancel.clone() };
        let waiting = start * waiting as f64;
        let mut shifted = Shifted { observer: &mut *walk.observer, before, waiting };
        let mut outcome;
        let own = Asked { cancel: &token, ..asked };
        (outcome, method) = Walk { asked: own, observer: &mut shifted, checkpoints: &mut state }
            .minimise(problem, rules)?;
        if interrupted && outcome.status == Status::MaxEvals {
            outcome.status = cut_by();
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

/// Makes the records of one class those of the whole sequence. Classes that wait count with the
/// objective of their start point and with the bound 0, which no class goes below.
struct Shifted<'o> {
    observer: &'o mut dyn Observer,
    before: TraceRecord,
    waiting: f64,
}

impl Observer for Shifted<'_> {
    fn iteration(&mut self, record: &TraceRecord) {
        let others = self.before.objective + self.waiting;
        let bound = record.lower_bound.unwrap_or(0.0).max(0.0);
        self.observer.iteration(&TraceRecord {
            objective: others + record.objective,
            best_objective: others + record.best_objective,
            lower_bound: self.before.lower_bound.map(|before| before + bound),
            ..record.behind(&self.before)
        });
    }
}
