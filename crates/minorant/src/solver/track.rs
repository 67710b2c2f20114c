//! The same risk under one λ after the other: a solver goes on with its planes and from its best point,
//! which hold for every λ. Which λ there are and what becomes of the answers is `path`'s business.

use super::{
    Method, MethodError, MethodOptions, Outcome, Problem, RunError, Solver, Status, StopRules, run,
};
use crate::certificate::BoundOverLambda;
use crate::risk::{Cancel, Point};

/// What goes along from one λ of a path to the next: the solver with its planes and its best point.
pub(crate) struct Track {
    pub(crate) method: Method,
    solver: Option<Box<dyn Solver>>,
    last: Option<Point>,
    /// The bound over λ that the last run proved, Ω and the risk at its weights, and λ of Ω's quadratic.
    pub(crate) bounds: Option<BoundOverLambda>,
    pub(crate) penalty: f64,
    pub(crate) risk: f64,
    pub(crate) quadratic: f64,
}

impl std::fmt::Debug for Track {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Track").field("method", &self.method).finish_non_exhaustive()
    }
}

impl Track {
    /// The beginning of a path.
    pub(crate) fn new() -> Self {
        Track {
            method: Method::Auto,
            solver: None,
            last: None,
            bounds: None,
            penalty: 0.0,
            risk: 0.0,
            quadratic: 0.0,
        }
    }

    /// Solves a problem from where the last one with the same risk ended, and keeps the solver.
    pub(crate) fn solve<E>(
        &mut self,
        problem: Problem<'_>,
        asked: Method,
        options: &MethodOptions,
        rules: StopRules,
        cancel: &Cancel,
    ) -> Result<Outcome, E>
    where
        E: From<MethodError> + From<RunError>,
    {
        let last = self.last.take();
        let start = last.as_ref().map(|point| point.w.clone());
        let is_first = start.is_none();
        let given = problem.start;
        let problem = problem.starting_at(start.as_deref().or(given));
        let carried = match (&mut self.solver, last) {
            (Some(solver), Some(point)) => solver.restart_at(point),
            _ => false,
        };
        if !carried {
            self.method = match asked {
                // What climbs example by example has no planes to hand on.
                Method::Auto => match Method::pick_bundle(problem) {
                    Method::Bcfw => Method::PBmrm,
                    method => method,
                },
                method => method,
            };
            self.solver = Some(self.method.build_owned(problem, options)?);
        }
        let Some(solver) = &mut self.solver else { unreachable!("a solver was just built") };
        // A first answer is owed even to those who have already asked to stop.
        let token = if is_first { Cancel::new() } else { cancel.clone() };
        let mut outcome = run(&mut **solver, problem, rules, &token, &mut (), &mut ())?;
        if outcome.status == Status::MaxEvals && cancel.is_cancelled() {
            outcome.status = Status::Interrupted;
        }
        let regularizer = problem.regularizer;
        self.bounds = outcome.bounds.clone();
        self.penalty = regularizer.value(&outcome.point.w);
        self.quadratic = regularizer.lambda();
        self.risk = outcome.point.value;
        self.last = Some(outcome.point.clone());
        Ok(outcome)
    }
}
