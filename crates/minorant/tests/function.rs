//! Risks from functions: minimised like any other, and failures told apart.

use minorant::regularizer::L2;
use minorant::risk::{Cancel, FunctionRisk, Risk, RiskError};
use minorant::solver::{Method, MethodOptions, Outcome, Problem, RunError, StopRules, run};

/// Σ |w_i − i| and a subgradient.
fn distance(w: &[f64]) -> (f64, Vec<f64>) {
    let away = |(i, w): (usize, &f64)| w - i as f64;
    let value = w.iter().enumerate().map(|it| away(it).abs()).sum();
    (value, w.iter().enumerate().map(|it| away(it).signum()).collect())
}

fn solve<F>(risk: &FunctionRisk<F, String>) -> Result<Outcome, RunError>
where
    F: Fn(&[f64]) -> Result<(f64, Vec<f64>), String> + Sync,
{
    let regularizer = L2::new(0.1).expect("a regularizer");
    let problem = Problem::new(risk, &regularizer);
    let rules = StopRules { tol: 1e-9, ..StopRules::default() };
    let mut solver = Method::Auto.build(problem, &MethodOptions::default()).expect("a solver");
    run(&mut *solver, problem, rules, &Cancel::new(), &mut (), &mut ())
}

#[test]
fn a_function_is_minimised_with_a_bound_if_it_is_convex() {
    let outcome = solve(&FunctionRisk::new(3, true, |w| Ok(distance(w)))).expect("an outcome");
    // 0.1 i < 1: every coordinate ends at its kink.
    for (i, w) in outcome.point.w.iter().enumerate() {
        assert!((w - i as f64).abs() < 1e-6, "{:?}", outcome.point.w);
    }
    assert!(outcome.certificate.certifies(1e-9));
    let outcome = solve(&FunctionRisk::new(3, false, |w| Ok(distance(w)))).expect("an outcome");
    assert_eq!(outcome.certificate.lower_bound, None);
}

#[test]
fn failures_come_back() {
    let failing = FunctionRisk::new(2, true, |w: &[f64]| {
        if w == [0.0, 0.0] { Ok(distance(w)) } else { Err("no more".to_string()) }
    });
    assert!(matches!(solve(&failing), Err(RunError::Risk(RiskError::Failed(_)))));
    assert_eq!(failing.failure().as_deref(), Some("no more"));

    let short = FunctionRisk::new(2, true, |_: &[f64]| Ok::<_, String>((0.0, vec![1.0])));
    let why = solve(&short).expect_err("a failure").to_string();
    assert!(why.contains("2 numbers, found 1"), "{why}");

    let nan = FunctionRisk::new(1, true, |_: &[f64]| Ok::<_, String>((f64::NAN, vec![1.0])));
    assert!(matches!(solve(&nan), Err(RunError::Risk(RiskError::NotFinite(_)))));
}

#[test]
fn a_point_and_its_plane_take_one_call() {
    let calls = std::sync::atomic::AtomicU64::new(0);
    let risk = FunctionRisk::new(2, true, |w: &[f64]| {
        calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok::<_, String>(distance(w))
    });
    let cancel = Cancel::new();
    let point = risk.at(vec![3.0, 4.0], &cancel).expect("a point");
    let plane = risk.planes(&point, 1, &cancel).expect("a plane").remove(0);
    assert_eq!(plane.normal, [1.0, 1.0]);
    assert_eq!(plane.offset, -1.0);
    assert_eq!(calls.into_inner(), 1);
}

/// Σ |w_i − 10| where all w are below 4, and not finite elsewhere.
fn walled(w: &[f64]) -> (f64, Vec<f64>) {
    if w.iter().any(|w| *w > 4.0) {
        return (f64::INFINITY, vec![f64::NAN; w.len()]);
    }
    (w.iter().map(|w| 10.0 - w).sum(), vec![-1.0; w.len()])
}

#[test]
fn steps_to_where_it_is_not_finite_were_too_long() {
    let methods =
        [Method::Nrbm, Method::NrbmLs, Method::ProxNrbm, Method::Nbm, Method::Lmbm, Method::Lbfgs];
    for method in methods {
        let is_smooth = method == Method::Lbfgs;
        let risk = FunctionRisk::new(2, is_smooth, |w: &[f64]| Ok::<_, String>(walled(w)));
        let risk = if is_smooth { risk.smooth() } else { risk };
        let regularizer = L2::new(0.1).expect("a regularizer");
        let problem = Problem::new(&risk, &regularizer);
        let rules = StopRules { max_evaluations: Some(80), ..StopRules::default() };
        let mut solver = method.build(problem, &MethodOptions::default()).expect("a solver");
        let outcome = run(&mut *solver, problem, rules, &Cancel::new(), &mut (), &mut ());
        // At the wall a method without a model sees no way on, and says why.
        assert!(outcome.is_ok() || method == Method::Lbfgs, "{}", method.name());
        let best = solver.best().expect("a point");
        // The lowest point lies right at the wall.
        let (name, objective) = (method.name(), problem.objective(best));
        assert!(objective < 13.7, "{name}: {objective} at {:?}", best.w);
    }
}

#[test]
fn a_function_that_stays_infinite_ends_the_run_and_keeps_the_best_point() {
    let calls = std::sync::atomic::AtomicU64::new(0);
    let risk = FunctionRisk::new(3, false, |w: &[f64]| {
        let call = calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (value, gradient) = distance(w);
        Ok::<_, String>((if call < 2 { value } else { f64::NAN }, gradient))
    });
    let regularizer = L2::new(0.1).expect("a regularizer");
    let problem = Problem::new(&risk, &regularizer);
    for method in [Method::NrbmLs, Method::ProxNrbm, Method::Nbm, Method::Lmbm] {
        calls.store(0, std::sync::atomic::Ordering::Relaxed);
        let mut solver = method.build(problem, &MethodOptions::default()).expect("a solver");
        let rules = StopRules::default();
        let why = run(&mut *solver, problem, rules, &Cancel::new(), &mut (), &mut ())
            .expect_err("a failure")
            .to_string();
        assert!(why.contains("at evaluation") && why.contains("NaN"), "{}: {why}", method.name());
        assert!(solver.best().is_some());
    }
    assert!(calls.into_inner() < 100);
}
