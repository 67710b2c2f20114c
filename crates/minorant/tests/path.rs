//! Paths over λ: the gap claimed in between holds at random λ there, every point is certified and
//! audited, warm solves cost less than cold ones; and cross-validation over paths.

mod common;

use common::{Case, Kind, Random, cases, difference, fit, form, larger_case, random_case, referee};
use minorant::family::{FittedModel, TrainReport};
use minorant::linalg::{Design, Storage};
use minorant::path::{Path, PathOptions, geometric, path, tune};
use minorant::regularizer::L2;
use minorant::risk::hinge::Hinge;
use minorant::risk::{Cancel, ExampleWeights, LinearRisk};
use minorant::solver::{self, Method, MethodOptions, Problem, StopRules};

fn walk(case: &Case, lambdas: &[f64], fill: bool) -> Path {
    let options = PathOptions { lambdas, validation: None, start: None, fill };
    path(&case.data, &case.settings, options, &Cancel::new(), &mut |_| {}).expect("a path")
}

fn lambda_of(report: &TrainReport) -> f64 {
    report.lambda.expect("a lambda")
}

fn at_lambda(case: &Case, lambda: f64) -> Case {
    let mut case = case.clone();
    case.lambda(lambda);
    case
}

/// The objective of a model's weights at another λ, by plain sums.
fn objective(case: &Case, lambda: f64, model: &FittedModel) -> f64 {
    let stated = referee::state(&at_lambda(case, lambda));
    stated.iter().zip(&form(model).problems).map(|(s, p)| s.objective(&p.weights)).sum()
}

fn check(kind: Kind, seed: u64) {
    let mut random = Random::new(seed * 31 + kind as u64);
    let mut case = random_case(kind, &mut random);
    case.tol(random.pick(&[1e-2, 1e-3]));
    case.solver(random.pick(&[
        Method::Auto,
        Method::Auto,
        Method::LsBmrm,
        Method::Bmrm,
        Method::ProxPBmrm,
    ]));
    let high = random.scale(1e-2, 10.0);
    let low = high / random.scale(2.0, 100.0);
    let lambdas = geometric(low, high, random.between(2, 5)).expect("a grid");
    let fill = random.chance(0.8);
    let found = walk(&case, &lambdas, fill);
    let told = format!("{kind:?} seed {seed} {:?} fill {fill}", case.settings.solver());
    assert!(found.is_whole && found.between.len() + 1 == found.points.len(), "{told}");
    let tol = case.settings.tol();
    for point in &found.points {
        let (report, model) = (&point.report, &point.model);
        assert!(report.certificate.certifies(tol) || report.certificate.gap() <= Some(1e-12));
        let verdict = model.audit(&case.data, case.weights().as_deref());
        assert!(
            verdict.holds == Some(true),
            "{told} lambda {}: {}",
            lambda_of(report),
            verdict.why
        );
        let plain = objective(&case, lambda_of(report), model);
        assert!(difference(report.certificate.objective, plain) < 1e-12, "{told}");
    }
    let asked: Vec<f64> = found.points.iter().map(|point| lambda_of(&point.report)).collect();
    assert!(asked.windows(2).all(|pair| pair[0] > pair[1]), "{told}: {asked:?}");
    assert!(lambdas.iter().all(|lambda| asked.contains(lambda)), "{told}: {asked:?}");
    for (at, between) in found.between.iter().enumerate() {
        let ends = (asked[at + 1], asked[at]);
        assert_eq!((between.lo, between.hi), ends, "{told}");
        let claim = between.relative_gap.expect("a bound in between");
        let certified = |point: &minorant::path::PathPoint| point.report.certificate.certifies(tol);
        if fill && certified(&found.points[at]) && certified(&found.points[at + 1]) {
            assert!(claim <= 3.0 * tol, "{told}: {between:?}");
        }
    }
    // At a random λ in between, the better neighbour is as good as claimed.
    for _ in 0..3 {
        let at = random.between(0, found.between.len() - 1);
        let between = found.between[at];
        let lambda = random.scale(between.lo, between.hi);
        let mut exact = at_lambda(&case, lambda);
        exact.tol(1e-9);
        exact.solver(Method::LsPBmrm);
        let best = fit(&exact).1.certificate.objective;
        let here = |point: usize| objective(&case, lambda, &found.points[point].model);
        let better = here(at).min(here(at + 1));
        let gap = if better > best { (better - best) / better } else { 0.0 };
        let claim = between.relative_gap.expect("a bound in between");
        assert!(gap <= claim + 1e-12, "{told} at {lambda}: {gap} but claimed {claim}");
        assert!(better >= best * (1.0 - 1e-8) - 1e-12, "{told}: below the optimum");
    }
}

#[test]
fn claims_in_between_hold() {
    for kind in Kind::ALL {
        for seed in 0..cases(6, 200) {
            check(kind, seed);
        }
    }
}

#[test]
fn bounds_hold_for_every_lambda() {
    for seed in 0..cases(20, 500) {
        let mut random = Random::new(seed);
        let (n, d) = (40, 6);
        let rows = common::rows(&mut random, n, d, common::Values::Normal);
        let matrix = common::dense(&rows, d, Storage::F64);
        let signs = (0..n).map(|_| random.pick(&[1.0, -1.0])).collect();
        let mean = ExampleWeights::mean(n);
        let risk = LinearRisk::new(Design::new(&matrix, Some(1.0)), Hinge::new(signs), mean);
        let solve = |lambda: f64, tol: f64| {
            let regularizer = L2::new(lambda).expect("a regularizer");
            let problem = Problem::new(&risk, &regularizer);
            let mut method =
                Method::LsBmrm.build(problem, &MethodOptions::default()).expect("a method");
            let rules = StopRules { tol, ..StopRules::default() };
            solver::run(&mut *method, problem, rules, &Cancel::new(), &mut (), &mut ())
                .expect("an outcome")
        };
        let lambda = random.scale(1e-3, 1.0);
        let found = solve(lambda, 1e-2);
        let bounds = found.bounds.expect("a bound over lambda");
        let stated = found.ending.certificate.lower_bound.expect("a bound");
        assert_eq!(bounds.at(lambda), stated, "seed {seed}: the bound at the problem's own lambda");
        for _ in 0..4 {
            let other = lambda * random.scale(0.01, 100.0);
            let best = solve(other, 1e-9).certificate.objective;
            assert!(bounds.at(other) <= best, "seed {seed}: {} above {best}", bounds.at(other));
        }
    }
}

#[test]
fn warm_paths_cost_less_than_cold_solves() {
    for kind in [Kind::Hinge, Kind::Multiclass, Kind::Softmax, Kind::OneVsRest] {
        let case = larger_case(kind, 600, 12, 2);
        let lambdas = geometric(1e-1, 1e-4, 7).expect("a grid");
        let warm: u64 =
            walk(&case, &lambdas, false).points.iter().map(|p| p.report.evaluations).sum();
        let cold: u64 =
            lambdas.iter().map(|&lambda| fit(&at_lambda(&case, lambda)).1.evaluations).sum();
        assert!(4 * warm < 3 * cold, "{kind:?}: {warm} warm, {cold} cold");
    }
}

#[test]
fn limits_hold_for_the_whole_path() {
    for kind in [Kind::Hinge, Kind::OneVsRest] {
        let mut case = larger_case(kind, 200, 7, 2);
        let lambdas = geometric(1e-1, 1e-4, 7).expect("a grid");
        for most in [4, 9, 17, 40] {
            case.max_evals(most);
            let found = walk(&case, &lambdas, true);
            let all: u64 = found.points.iter().map(|point| point.report.evaluations).sum();
            assert!(all <= most, "{kind:?}: {all} of {most}");
            assert!(!found.points.is_empty());
        }
        case.max_evals(9);
        assert!(!walk(&case, &lambdas, true).is_whole, "{kind:?}");
    }
}

#[test]
fn grids_are_geometric_and_checked() {
    assert_eq!(geometric(1.0, 1e-2, 3).expect("a grid"), [1.0, 0.1, 1e-2]);
    assert_eq!(geometric(1e-2, 1.0, 3).expect("a grid"), [1.0, 0.1, 1e-2]);
    assert_eq!(geometric(0.5, 0.5, 1).expect("a grid"), [0.5]);
    for (from, to, count) in
        [(0.0, 1.0, 3), (-1.0, 1.0, 3), (1.0, f64::INFINITY, 3), (1.0, f64::NAN, 3), (1.0, 2.0, 1)]
    {
        assert!(geometric(from, to, count).is_err(), "{from}:{to}:{count}");
    }
    let why = geometric(1e-5, 1.0, 100_000_000).expect_err("too many").to_string();
    assert!(why.contains("at most 100000 points, not 100000000"), "{why}");
}

#[test]
fn cross_validation_is_seeded_and_honest() {
    for kind in [Kind::Hinge, Kind::Multiclass, Kind::Multilabel, Kind::OneVsRest] {
        let mut case = larger_case(kind, 150, 6, 8);
        case.weigh((0..150).map(|i| 1.0 + (i % 3) as f64).collect());
        let lambdas = geometric(1.0, 1e-3, 4).expect("a grid");
        let run = |seed| {
            let mut told = 0;
            let count = &mut |_| told += 1;
            let (data, settings) = (&case.data, &case.settings);
            let tuned = tune(data, settings, &lambdas, 3, seed, &Cancel::new(), count);
            let tuned = tuned.expect("errors");
            assert_eq!(told, 12);
            tuned
        };
        let tuned = run(1);
        assert_eq!(tuned, run(1), "{kind:?}: not seeded");
        assert!(tuned.points != run(2).points, "{kind:?}: the same folds whatever the seed");
        let least = tuned.points.iter().map(|p| p.error).fold(f64::INFINITY, f64::min);
        let best = tuned.points.iter().find(|p| p.error == least).expect("a best one");
        assert_eq!(best.lambda, tuned.best_lambda, "{kind:?}");
        for point in &tuned.points {
            assert_eq!(point.errors.len(), 3);
            let mean = point.errors.iter().sum::<f64>() / 3.0;
            let spread: f64 = point.errors.iter().map(|e| (e - mean).powi(2)).sum();
            assert!((point.error - mean).abs() < 1e-15);
            assert!((point.standard_error - (spread / 6.0).sqrt()).abs() < 1e-15);
        }
    }
    let case = larger_case(Kind::Hinge, 50, 4, 8);
    for folds in [0, 1, 51] {
        let why = tune(&case.data, &case.settings, &[1.0], folds, 0, &Cancel::new(), &mut |_| {});
        assert!(why.expect_err("a refusal").to_string().contains("2 to 50 folds"));
    }
}
