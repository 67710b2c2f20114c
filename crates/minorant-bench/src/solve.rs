//! One run of one method on one problem, as all benchmarks start it: from w = 0 unless they say
//! otherwise, without proofs.

use anyhow::Result;
use minorant::regularizer::L2;
use minorant::risk::{Cancel, Risk};
use minorant::solver::{self, Method, MethodOptions, Outcome, Problem, StopRules};
use minorant::trace::Observer;

/// What a run may cost.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Budget {
    pub(crate) evaluations: Option<u64>,
    pub(crate) seconds: Option<f64>,
}

/// Plane models of the methods that have several.
pub(crate) const PARTS: usize = 16;

/// Minimises λ/2 ‖w‖² + risk to a certified relative gap.
pub(crate) fn run(
    risk: &dyn Risk,
    lambda: f64,
    method: Method,
    tol: f64,
    budget: Budget,
    observer: &mut dyn Observer,
) -> Result<Outcome> {
    run_from(None, risk, lambda, method, tol, budget, observer)
}

/// The same, started at the weights given.
pub(crate) fn run_from(
    start: Option<&[f64]>,
    risk: &dyn Risk,
    lambda: f64,
    method: Method,
    tol: f64,
    budget: Budget,
    observer: &mut dyn Observer,
) -> Result<Outcome> {
    let regularizer = L2::new(lambda)?;
    minimise(Problem::new(risk, &regularizer).starting_at(start), method, tol, budget, observer)
}

/// The same from w = 0, with settings of the method.
pub(crate) fn run_with(
    options: &MethodOptions,
    risk: &dyn Risk,
    lambda: f64,
    method: Method,
    tol: f64,
    budget: Budget,
    observer: &mut dyn Observer,
) -> Result<Outcome> {
    let regularizer = L2::new(lambda)?;
    minimise_with(options, Problem::new(risk, &regularizer), method, tol, budget, observer)
}

/// Minimises λ‖w‖₁ + risk to a certified relative gap.
pub(crate) fn run_l1(
    risk: &dyn Risk,
    lambda: f64,
    method: Method,
    tol: f64,
    budget: Budget,
) -> Result<Outcome> {
    let regularizer = L2::none().with_l1(lambda)?;
    minimise(Problem::new(risk, &regularizer), method, tol, budget, &mut ())
}

fn minimise(
    problem: Problem<'_>,
    method: Method,
    tol: f64,
    budget: Budget,
    observer: &mut dyn Observer,
) -> Result<Outcome> {
    let has_parts =
        matches!(method, Method::PBmrm | Method::ProxPBmrm | Method::LsPBmrm | Method::Hybrid);
    let options = MethodOptions { parts: has_parts.then_some(PARTS), ..MethodOptions::default() };
    minimise_with(&options, problem, method, tol, budget, observer)
}

fn minimise_with(
    options: &MethodOptions,
    problem: Problem<'_>,
    method: Method,
    tol: f64,
    budget: Budget,
    observer: &mut dyn Observer,
) -> Result<Outcome> {
    let mut solver = method.build(problem, options)?;
    let rules = StopRules {
        tol,
        abs_tol: 0.0,
        max_evaluations: budget.evaluations,
        max_seconds: budget.seconds,
        ..StopRules::default()
    };
    Ok(solver::run(&mut *solver, problem, rules, &Cancel::new(), observer, &mut ())?)
}
