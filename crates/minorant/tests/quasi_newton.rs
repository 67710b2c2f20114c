//! The walking methods on the counterexamples of the literature: the toy of §2.1.1 and Appendices
//! E.1 to E.3 of Yu et al., where methods for smooth objectives come to a halt and subgradient BFGS
//! does not; the chained problems against their closed form; functions of one's own; and what each
//! method refuses.

mod common;

use common::{Random, difference};
use minorant::problems::{ProblemName, TestProblem};
use minorant::regularizer::L2;
use minorant::risk::{Cancel, FunctionRisk, Point, Risk};
use minorant::solver::{
    Method, MethodError, MethodOptions, Outcome, Problem, RunError, Status, StopRules, run,
};

fn options() -> MethodOptions {
    MethodOptions { despite_kinks: true, ..MethodOptions::default() }
}

fn solve_with(problem: Problem<'_>, method: Method, rules: StopRules) -> Result<Outcome, RunError> {
    let mut solver = method.build(problem, &options()).expect("a method");
    run(&mut *solver, problem, rules, &Cancel::new(), &mut (), &mut ())
}

fn solve(test: &TestProblem, method: Method, most: u64) -> Outcome {
    let problem = Problem::new(&*test.risk, &test.regularizer).starting_at(Some(&test.start));
    let rules = StopRules { max_evaluations: Some(most), ..StopRules::default() };
    solve_with(problem, method, rules).expect("an outcome")
}

fn plain(name: ProblemName) -> TestProblem {
    name.build(None, 0.0, false).expect("a problem")
}

fn objective(outcome: &Outcome) -> f64 {
    outcome.certificate.objective
}

/// §2.1.1: the first step lands on the hinge x = 0. There subgradient BFGS finds the direction
/// without x component and steps to the optimum; methods that take one subgradient halt.
#[test]
fn the_toy() {
    let toy = plain(ProblemName::AbsToy);
    for method in [Method::SubBfgs, Method::SubLbfgs] {
        // Start, two steps, and the last pass.
        let outcome = solve(&toy, method, 4);
        assert!(objective(&outcome) < 1e-14, "{method:?}: {}", objective(&outcome));
        let outcome = solve(&toy, method, 100);
        assert_eq!((objective(&outcome), outcome.status), (0.0, Status::Converged), "{method:?}");
    }
    for method in [Method::Lbfgs, Method::Gd] {
        let outcome = solve(&toy, method, 100);
        assert_eq!(outcome.status, Status::Stalled, "{method:?}");
        assert!(outcome.point.w[0].abs() < 1e-12, "{method:?} halts on the hinge");
        assert!((objective(&outcome) - 0.9).abs() < 1e-12, "{method:?}: {}", objective(&outcome));
    }
}

/// E.1: steepest descent jams at the origin, where the function does not even have a minimum.
#[test]
fn wolfes_counterexample() {
    let wolfe = plain(ProblemName::Wolfe);
    let jammed = solve(&wolfe, Method::Gd, 1000);
    assert!(jammed.status == Status::Stalled && (0.0..1e-6).contains(&objective(&jammed)));
    assert!(jammed.point.w.iter().all(|w| w.abs() < 1e-6), "{:?}", jammed.point.w);
    for method in [Method::SubBfgs, Method::SubLbfgs] {
        assert!(objective(&solve(&wolfe, method, 20)) < -1e9, "{method:?}");
    }
}

/// E.2: steepest subgradient descent jams between two hinges.
#[test]
fn hiriart_urrutys_and_lemarechals_counterexample() {
    let hul = plain(ProblemName::Hul);
    let jammed = solve(&hul, Method::SubGd, 1000);
    assert!(jammed.status == Status::Stalled && (0.0..1e-6).contains(&objective(&jammed)));
    for method in [Method::SubBfgs, Method::SubLbfgs] {
        let outcome = solve(&hul, method, 20);
        assert!((objective(&outcome) + 100.0).abs() < 1e-9, "{method:?}: {}", objective(&outcome));
    }
    // The second step leads to the region y < 0 and ends at the hinge's end, (100, −300).
    let second = solve(&hul, Method::SubBfgs, 4);
    assert!((second.point.w[1] + 300.0).abs() < 1e-6, "{:?}", second.point.w);
}

/// E.3: BFGS with exact line search breaks down at the first kink.
#[test]
fn lewis_and_overtons_counterexample() {
    let problem = plain(ProblemName::LewisOverton);
    let halted = solve(&problem, Method::Lbfgs, 1000);
    assert!(halted.status == Status::Stalled && objective(&halted) > -2.0);
    for method in [Method::SubBfgs, Method::SubLbfgs] {
        assert!(objective(&solve(&problem, method, 20)) < -1e9, "{method:?}");
    }
}

/// With a regularizer the counterexamples have optima, and the methods prove them.
#[test]
fn regularised_counterexamples_are_certified() {
    let names =
        [ProblemName::AbsToy, ProblemName::Wolfe, ProblemName::Hul, ProblemName::LewisOverton];
    for name in names {
        for lambda in [0.01, 1.0] {
            let test = name.build(Some(2), lambda, false).expect("a problem");
            let mut intervals = Vec::new();
            for method in [Method::SubBfgs, Method::SubLbfgs, Method::Hybrid, Method::LsBmrm] {
                let problem =
                    Problem::new(&*test.risk, &test.regularizer).starting_at(Some(&test.start));
                let rules = StopRules { tol: 1e-6, ..StopRules::default() };
                let outcome = solve_with(problem, method, rules).expect("an outcome");
                assert_eq!(outcome.status, Status::Converged, "{name:?} {lambda} {method:?}");
                let bound = outcome.certificate.lower_bound.expect("a bound");
                intervals.push((bound, objective(&outcome)));
            }
            let highest = intervals.iter().map(|i| i.0).fold(f64::NEG_INFINITY, f64::max);
            let lowest = intervals.iter().map(|i| i.1).fold(f64::INFINITY, f64::min);
            assert!(highest <= lowest, "{name:?} {lambda}: {intervals:?}");
        }
    }
}

fn value(risk: &dyn Risk, w: &[f64]) -> Point {
    risk.at(w.to_vec(), &Cancel::new()).expect("a point")
}

/// Gradients agree with differences, directional slopes with the subdifferential, and the planes
/// of convex problems lie below them.
#[test]
fn problems_know_their_slopes() {
    let mut random = Random::new(11);
    for name in ProblemName::ALL {
        let dim = if name.build(Some(7), 0.1, false).is_ok() { 7 } else { 2 };
        let convex = name != ProblemName::ChainedCrescent2;
        let test = name.build(Some(dim), 0.1, convex).expect("a problem");
        assert_eq!((test.risk.dim(), test.risk.is_convex()), (dim, convex));
        for case in 0..200 {
            // Some points on kinks: whole coordinates.
            let w: Vec<f64> = if case % 2 == 0 {
                random.normals(dim).iter().map(|w| 2.0 * w).collect()
            } else {
                (0..dim).map(|_| random.between(0, 2) as f64 - 1.0).collect()
            };
            let p = random.normals(dim);
            let point = value(&*test.risk, &w);
            let planes = test.risk.planes(&point, 1, &Cancel::new()).expect("planes");
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            assert!(difference(dot(&planes[0].normal, &w) + planes[0].offset, point.value) < 1e-11);
            let all = test.risk.subdifferential().expect("a subdifferential");
            let mut steepest = planes[0].normal.clone();
            let kinks = all.kinks(&point);
            all.steepen(&point, &kinks, &p, &mut steepest, &Cancel::new()).expect("a subgradient");
            let h = 1e-7;
            let ahead: Vec<f64> = w.iter().zip(&p).map(|(w, p)| w + h * p).collect();
            let rise = (value(&*test.risk, &ahead).value - point.value) / h;
            let slope = dot(&steepest, &p);
            assert!(
                (rise - slope).abs() < 1e-4 * (1.0 + slope.abs()),
                "{name:?} at {w:?} along {p:?}: {rise} {slope}"
            );
            if convex {
                let v: Vec<f64> = random.normals(dim).iter().map(|v| 3.0 * v).collect();
                let (below, above) =
                    (dot(&planes[0].normal, &v) + planes[0].offset, value(&*test.risk, &v).value);
                assert!(below <= above + 1e-10 * (1.0 + above.abs()), "{name:?}");
            }
            // Lines agree with values.
            if let Some(lines) = test.risk.lines() {
                let to = value(&*test.risk, &ahead);
                let t = 3.0 * random.unit();
                let between = lines.between(&point, &to, t);
                let line = lines.line(&point, &to);
                assert!(difference(line.value(t), between.value) < 1e-12, "{name:?}");
                let right = line.slopes(0.0).right / h;
                assert!(
                    (right - slope).abs() < 1e-5 * (1.0 + slope.abs()),
                    "{name:?} {right} {slope}"
                );
            }
        }
    }
}

#[test]
fn chained_mifflin_reaches_its_closed_form() {
    for (dim, lambda) in [(2, 1.0), (100, 0.5), (1000, 1.0)] {
        let test = ProblemName::ChainedMifflin2.build(Some(dim), lambda, true).expect("a problem");
        let minimum = test.minimum.expect("a closed form");
        for method in [Method::SubLbfgs, Method::Bmrm, Method::Lbfgs] {
            let problem =
                Problem::new(&*test.risk, &test.regularizer).starting_at(Some(&test.start));
            let rules = StopRules { tol: 1e-5, ..StopRules::default() };
            let outcome = solve_with(problem, method, rules).expect("an outcome");
            assert_eq!(outcome.status, Status::Converged, "{dim} {lambda} {method:?}");
            let slack = 1e-12 * (1.0 + minimum.abs());
            let bound = outcome.certificate.lower_bound.expect("a bound");
            assert!(bound <= minimum + slack && minimum <= objective(&outcome) + slack, "{dim}");
        }
    }
    let exact = ProblemName::ChainedMifflin2.build(Some(100), 0.5, true).expect("a problem");
    assert!((exact.minimum.expect("a closed form") - (-100.0 / 12.0 + 1.0 / 6.0)).abs() < 1e-12);
    let kinked = ProblemName::ChainedMifflin2.build(Some(100), 0.1, true).expect("a problem");
    assert_eq!(kinked.minimum, None);
}

/// The minimum −55.685092 of the kinked cell was found by an interior-point method.
#[test]
fn chained_mifflin_with_kinks() {
    let test = ProblemName::ChainedMifflin2.build(Some(100), 0.1, true).expect("a problem");
    for method in [Method::SubLbfgs, Method::SubBfgs] {
        let outcome = solve(&test, method, 2000);
        assert!(outcome.certificate.certifies(1e-3), "{method:?}: {:?}", outcome.certificate);
        let bound = outcome.certificate.lower_bound.expect("a bound");
        assert!(bound <= -55.685091 && -55.685093 <= objective(&outcome), "{method:?}");
    }
}

type Told = Result<(f64, Vec<f64>), String>;

/// |w₀ − 1| + Σ (w_i − i)² as a function of the user's own.
fn own(w: &[f64]) -> Told {
    let value = (w[0] - 1.0).abs() + (1..w.len()).map(|i| (w[i] - i as f64).powi(2)).sum::<f64>();
    let slope = |i: usize| if i == 0 { (w[0] - 1.0).signum() } else { 2.0 * (w[i] - i as f64) };
    Ok((value, (0..w.len()).map(slope).collect()))
}

#[test]
fn functions_of_ones_own_are_minimised() {
    let regularizer = L2::new(0.1).expect("a regularizer");
    let calls = std::sync::atomic::AtomicU64::new(0);
    let outcomes = [Method::Bmrm, Method::Lbfgs].map(|method| {
        let risk = FunctionRisk::new(4, true, |w: &[f64]| {
            calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            own(w)
        });
        let rules = StopRules { tol: 1e-6, ..StopRules::default() };
        solve_with(Problem::new(&risk, &regularizer), method, rules).expect("an outcome")
    });
    // w₀ = 1; w_i minimises λ/2 w² + (w − i)², so w_i = 2i / (2 + λ).
    let part = |i: f64| 0.05 * (2.0 * i / 2.1).powi(2) + (2.0 * i / 2.1 - i).powi(2);
    let minimum = 0.05 + part(1.0) + part(2.0) + part(3.0);
    for outcome in &outcomes {
        let bound = outcome.certificate.lower_bound.expect("a bound");
        assert!(bound <= minimum + 1e-12 && minimum <= objective(outcome) + 1e-12);
    }
    assert!(outcomes[0].certificate.certifies(1e-6));
    assert!(calls.into_inner() >= outcomes[0].evaluations + outcomes[1].evaluations);
}

#[test]
fn functions_that_fail_say_so() {
    let regularizer = L2::new(0.1).expect("a regularizer");
    let fail = |told: &str, function: fn(&[f64]) -> Told| {
        let risk = FunctionRisk::new(2, true, function);
        let error =
            solve_with(Problem::new(&risk, &regularizer), Method::Bmrm, StopRules::default());
        let sentence = error.expect_err("a failure").to_string();
        assert!(sentence.contains(told), "{sentence}");
    };
    fail("out of paper", |_| Err("out of paper".into()));
    fail("expected a subgradient of 2 numbers, found 1", |_| Ok((0.0, vec![1.0])));
    fail("its value is NaN", |_| Ok((f64::NAN, vec![1.0, 1.0])));
    fail("coordinate 1 of its subgradient is inf", |_| Ok((0.0, vec![1.0, f64::INFINITY])));
}

#[test]
fn methods_say_what_they_lack() {
    let regularizer = L2::new(0.1).expect("a regularizer");
    let refuse = |risk: &dyn Risk, regularizer: &L2, method: Method, part: &str| {
        let problem = Problem::new(risk, regularizer);
        match method.build(problem, &MethodOptions::default()) {
            Err(MethodError::Lacks { need, instead, .. }) => {
                assert!(need.contains(part) && !instead.is_empty(), "{need}");
            }
            other => panic!("{method:?}: {:?}", other.map(|_| ())),
        }
    };
    let kinked = FunctionRisk::new(3, true, own);
    refuse(&kinked, &regularizer, Method::Lbfgs, "without kinks");
    refuse(&kinked, &regularizer, Method::SubLbfgs, "subdifferential");
    refuse(&kinked, &regularizer, Method::Hybrid, "lines");
    refuse(&kinked, &L2::none(), Method::Subgradient, "lambda above 0");
    let bent = FunctionRisk::new(3, false, own);
    refuse(&bent, &regularizer, Method::Bmrm, "convex");
}
