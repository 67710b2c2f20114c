//! The limited memory bundle method, runs without a regularizer, and stop rules besides the gap, on the
//! test problems of the literature.

use minorant::problems::ProblemName;
use minorant::risk::Cancel;
use minorant::solver::{Method, MethodOptions, Outcome, Problem, Status, StopRules, run};

fn solve(
    name: ProblemName,
    (dim, lambda, convex): (Option<usize>, f64, bool),
    method: Method,
    rules: StopRules,
) -> Outcome {
    let test = name.build(dim, lambda, convex).expect("a problem");
    let problem = Problem::new(&*test.risk, &test.regularizer).starting_at(Some(&test.start));
    let mut solver = method.build(problem, &MethodOptions::default()).expect("a solver");
    run(&mut *solver, problem, rules, &Cancel::new(), &mut (), &mut ()).expect("an outcome")
}

fn most(evaluations: u64) -> StopRules {
    StopRules {
        tol: 1e-7,
        abs_tol: 1e-9,
        max_evaluations: Some(evaluations),
        ..StopRules::default()
    }
}

/// Without a regularizer `auto` gets to the known minima, whether or not it knows that the risk is convex.
#[test]
fn known_minima_without_a_regularizer() {
    let rules = most(4000);
    for (name, dim, convex, minimum, size) in [
        (ProblemName::ChainedMifflin2, Some(1000), false, -706.55, 706.55),
        (ProblemName::ChainedMifflin2, Some(1000), true, -706.55, 706.55),
        (ProblemName::ChainedCrescent2, Some(1000), false, 0.0, 1.0),
        (ProblemName::Hul, None, true, -100.0, 100.0),
        (ProblemName::AbsToy, None, true, 0.0, 1.0),
    ] {
        let outcome = solve(name, (dim, 0.0, convex), Method::Auto, rules);
        let above = outcome.certificate.objective - minimum;
        assert!(above <= 1e-4 * size, "{name:?}: {above} above, {:?}", outcome.status);
        assert_eq!(outcome.certificate.lower_bound, None, "{name:?}");
    }
    for method in [Method::Nbm, Method::Lmbm] {
        let outcome = solve(ProblemName::Hul, (None, 0.0, true), method, rules);
        let objective = outcome.certificate.objective;
        assert!((objective + 100.0).abs() <= 1e-2, "{}: {objective}", method.name());
    }
}

/// What falls for ever is unbounded, and no convergence.
#[test]
fn what_falls_for_ever_is_unbounded() {
    for name in [ProblemName::Wolfe, ProblemName::LewisOverton] {
        for method in [Method::Auto, Method::SubBfgs, Method::Nbm, Method::Lmbm] {
            let outcome = solve(name, (None, 0.0, true), method, most(5000));
            let told = format!("{name:?} by {}", method.name());
            assert_eq!(outcome.status, Status::Unbounded, "{told}");
            assert_eq!(outcome.certificate.lower_bound, None, "{told}");
        }
    }
}

/// On a convex risk the method's own rule is no proof: `converged` means that the gap is proven.
#[test]
fn convergence_on_a_convex_risk_is_proven() {
    for lambda in [0.35, 1.0] {
        for method in [Method::Nbm, Method::Lmbm] {
            let problem = (Some(30), lambda, true);
            let rules = StopRules { max_evaluations: Some(2000), ..StopRules::default() };
            let outcome = solve(ProblemName::ChainedMifflin2, problem, method, rules);
            assert_eq!(outcome.status, Status::Converged, "{}", method.name());
            assert!(outcome.certificate.certifies(1e-3), "{}", method.name());
        }
    }
}

/// Rules that users ask for besides the gap: a run that they end has converged only if nothing is known
/// against it.
#[test]
fn further_rules_end_a_run() {
    let problem = (Some(50), 0.2, true);
    let name = ProblemName::ChainedMifflin2;
    let plain = solve(name, problem, Method::Nrbm, most(500));
    let change = StopRules { least_change: Some(1e-2), ..most(500) };
    let early = solve(name, problem, Method::Nrbm, change);
    assert!(early.evaluations < plain.evaluations);
    assert_eq!(early.status, Status::Stalled);
    let idle = StopRules { most_idle: Some(1), ..most(500) };
    let idle = solve(name, problem, Method::Nrbm, idle);
    assert!(idle.evaluations < plain.evaluations);
    // Theorem 1 is far from what a run takes.
    let bound = plain.iteration_bound.expect("a bound");
    assert!(bound >= plain.iterations as f64, "{bound}");
}
