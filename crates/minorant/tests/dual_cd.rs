//! `dual-cd` and `sgd`: the optimum of other methods and of Clarabel on random small problems of
//! every model, proofs by slopes that hold and tampered ones that do not, metrics and centres,
//! refusals in words, and a gap of `sgd` that shrinks.

mod common;

use common::{Case, Kind, Random, cases, difference, edit, fit, larger_case, random_case, referee};
use minorant::family::{Context, FittedModel};
use minorant::linalg::{Design, Matrix, Storage};
use minorant::proof::Proof;
use minorant::regularizer::L2;
use minorant::risk::hinge::Hinge;
use minorant::risk::multiclass_hinge::{MulticlassHinge, uniform_margins};
use minorant::risk::squared_hinge::SquaredHinge;
use minorant::risk::{Cancel, DualState, ExampleWeights, LinearRisk, Risk};
use minorant::solver::{self, Method, MethodOptions, Outcome, Problem, Status, StopRules};

const KINDS: [Kind; 6] = [
    Kind::Hinge,
    Kind::SquaredHinge,
    Kind::Logistic,
    Kind::Multiclass,
    Kind::MulticlassLoss,
    Kind::OneVsRest,
];

#[test]
fn the_optimum_is_that_of_other_methods() {
    for kind in KINDS {
        let mut refereed = 0;
        for seed in 0..cases(30, 1000) {
            let mut random = Random::new(seed * 31 + kind as u64);
            let mut case = random_case(kind, &mut random);
            case.lambda(random.scale(1e-3, 10.0));
            case.solver(Method::DualCd);
            case.seed(seed);
            case.tol(1e-7);
            let (model, report) = fit(&case);
            let told = format!("{kind:?} seed {seed}: {report:?}");
            assert_eq!(report.solver, "dual-cd");
            assert_eq!(report.status, Status::Converged, "{told}");
            let objective = report.certificate.objective;
            case.solver(Method::LsPBmrm);
            case.seed(0);
            case.tol(1e-9);
            let (_, other) = fit(&case);
            let near = 1e-6 * objective.abs() + 1e-11;
            assert!((objective - other.certificate.objective).abs() <= near, "{told} {other:?}");
            let stated = referee::state(&case);
            let solved: Option<Vec<(f64, f64)>> = stated.iter().map(|s| s.solve()).collect();
            if let Some(solved) = solved {
                let optimum: f64 = solved.iter().map(|s| s.0).sum();
                assert!(difference(objective, optimum) <= 1e-6, "{told}: Clarabel {optimum}");
                refereed += 1;
            }
            let verdict = model.audit(&case.data, case.weights().as_deref());
            assert!(verdict.holds == Some(true), "{told}: {}", verdict.why);
        }
        assert!(refereed > 10, "{kind:?}: {refereed} of all cases refereed");
    }
}

fn case_of(kind: Kind) -> Case {
    let mut case = larger_case(kind, 80, 6, 5);
    case.lambda(0.02);
    case.solver(Method::DualCd);
    case.tol(1e-5);
    case
}

/// Rejects what a change of the slopes makes of an honest model.
fn rejects(model: &FittedModel, case: &Case, what: &str, change: impl Fn(&mut Vec<f64>)) {
    let mut changed = model.clone();
    match &mut changed.proofs[0] {
        Some(Proof::Slopes(slopes)) => change(slopes),
        _ => panic!("no proof by slopes"),
    }
    assert!(changed.audit(&case.data, None).holds != Some(true), "{:?}: {what} passes", case.kind);
}

/// Rejects what changes of the slopes make of the model that a case has.
fn check_tampering(case: &Case, outputs: usize) {
    let (kind, model) = (case.kind, fit(case).0);
    let k = outputs;
    assert!(model.audit(&case.data, None).holds == Some(true), "{kind:?}");
    let first = |s: &[f64]| (0..s.len()).step_by(k).find(|&at| s[at] != 0.0).expect("a slope");
    rejects(&model, case, "one slope reversed", |s| {
        let at = first(s);
        s[at..at + k].iter_mut().for_each(|s| *s = -*s);
    });
    rejects(&model, case, "slopes outside of the box", |s| {
        s.iter_mut().for_each(|s| *s *= if kind == Kind::SquaredHinge { -1.0 } else { 3.0 });
    });
    rejects(&model, case, "a slope just outside of the box", |s| {
        let at = first(s);
        let size = if kind == Kind::SquaredHinge { -1e-9 } else { 1.0 + 1e-9 };
        s[at] = size * s[at].signum();
        let others = -s[at] / (k - 1).max(1) as f64;
        s[at + 1..at + k].fill(others);
    });
    rejects(&model, case, "the steepest slope left out", |s| {
        let steepest = (0..s.len()).max_by(|&a, &b| s[a].abs().total_cmp(&s[b].abs()));
        let at = steepest.expect("a slope") / k * k;
        s[at..at + k].fill(0.0);
    });
    rejects(&model, case, "other slopes", |s| s.iter_mut().for_each(|s| *s *= 0.9));
    rejects(&model, case, "no slopes at all", |s| s.fill(0.0));
    rejects(&model, case, "a slope of NaN", |s| s[3] = f64::NAN);
    rejects(&model, case, "an infinite slope", |s| s[3] = f64::INFINITY);
    rejects(&model, case, "a slope less", |s| s.truncate(s.len() - 1));
    rejects(&model, case, "swapped rows", |s| s.rotate_left(7 * k));
    // Slopes of planes of a curved loss prove more than the planes do.
    let proven = model.audit(&case.data, None).lower_bound;
    let mut raised = model.clone();
    let raise = |bound: &mut Option<f64>| *bound = proven.map(|bound| bound + 1e-6);
    edit(&mut raised, |form| raise(&mut form.problems[0].certificate.lower_bound));
    raise(&mut raised.facts.certificate.lower_bound);
    assert!(raised.audit(&case.data, None).holds != Some(true), "{kind:?}: a raised bound passes");
}

#[test]
fn tampered_slopes_are_rejected() {
    for kind in [Kind::Hinge, Kind::SquaredHinge, Kind::Multiclass, Kind::MulticlassLoss] {
        check_tampering(&case_of(kind), if kind.is_binary() { 1 } else { 4 });
    }
}

/// Where there are fewer examples than features, planes tell the slopes of their examples, and so do
/// combinations of planes.
#[test]
fn tampered_slopes_of_planes_are_rejected() {
    let kinds = [
        Kind::Hinge,
        Kind::SquaredHinge,
        Kind::Logistic,
        Kind::Multiclass,
        Kind::MulticlassLoss,
        Kind::Softmax,
        Kind::Multilabel,
    ];
    for kind in kinds {
        for (method, memory) in
            [(Method::LsBmrm, None), (Method::PBmrm, None), (Method::LmBmrm, Some(4))]
        {
            let mut case = larger_case(kind, 30, 41, 5);
            case.lambda(0.1);
            case.solver(method);
            memory.into_iter().for_each(|planes| case.memory(planes));
            case.tol(1e-4);
            case.max_evals(500);
            check_tampering(&case, if kind.is_binary() { 1 } else { 4 });
        }
    }
}

fn run(risk: &dyn Risk, regularizer: &L2, method: Method, tol: f64) -> Outcome {
    let problem = Problem::new(risk, regularizer);
    let mut solver = method.build(problem, &MethodOptions::default()).expect("a solver");
    let rules = StopRules { tol, max_evaluations: Some(20_000), ..StopRules::default() };
    solver::run(&mut *solver, problem, rules, &Cancel::new(), &mut (), &mut ()).expect("a run")
}

/// θ that differs between features, and a centre elsewhere than at 0.
#[test]
fn metrics_and_centres_are_respected() {
    let mut random = Random::new(8);
    let (n, d, k) = (60, 5, 3);
    let rows = common::rows(&mut random, n, d, common::Values::Normal);
    let signs: Vec<f64> = (0..n).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
    let labels: Vec<u32> = (0..n).map(|i| (i % k) as u32).collect();
    for matrix in [common::dense(&rows, d, Storage::F64), common::sparse(&rows, d, Storage::F64)] {
        for bias in [None, Some(0.7)] {
            let design = Design::new(&matrix, bias);
            let features = design.features();
            let mean = || ExampleWeights::mean(n);
            let joint = MulticlassHinge::new(k, labels.clone(), uniform_margins(k));
            let risks: [(Box<dyn Risk + '_>, usize); 3] = [
                (Box::new(LinearRisk::new(design, Hinge::new(signs.clone()), mean())), 1),
                (Box::new(LinearRisk::new(design, SquaredHinge::new(signs.clone()), mean())), 1),
                (Box::new(LinearRisk::new(design, joint, mean())), k),
            ];
            for (risk, outputs) in &risks {
                let theta: Vec<f64> = (0..features).map(|_| random.scale(0.3, 3.0)).collect();
                let theta: Vec<f64> =
                    theta.iter().flat_map(|t| std::iter::repeat_n(*t, *outputs)).collect();
                let center = random.normals(features * outputs);
                let regularizer = L2::new(0.03).expect("an L2").with_weights(theta);
                let regularizer = regularizer.and_then(|l2| l2.with_center(center)).expect("an L2");
                let other = run(&**risk, &regularizer, Method::LsBmrm, 1e-9).certificate;
                let own = run(&**risk, &regularizer, Method::DualCd, 1e-7);
                assert_eq!(own.status, Status::Converged);
                assert!(difference(own.certificate.objective, other.objective) < 1e-6);
                assert!(own.certificate.lower_bound.expect("a bound") <= other.objective);
            }
        }
    }
}

/// What asking for a method says.
fn refusal(case: &Case) -> String {
    case.train(Context::default()).expect_err("a refusal").to_string()
}

#[test]
fn what_cannot_be_done_is_said_in_a_sentence() {
    for kind in [Kind::Softmax, Kind::Multilabel, Kind::MultilabelLoss] {
        let mut case = larger_case(kind, 40, 6, 2);
        case.solver(Method::DualCd);
        let told = refusal(&case);
        assert!(told.starts_with("dual-cd needs a hinge, squared hinge or logistic"), "{told}");
        assert!(told.contains("use one of: auto, bmrm"), "{told}");
        assert!(!told.ends_with("dual-cd"), "{told}");
    }
    let mut random = Random::new(1);
    let rows = common::rows(&mut random, 12, 2, common::Values::Normal);
    let matrix = common::dense(&rows, 2, Storage::F64);
    let loss = MulticlassHinge::new(2, (0..12).map(|i| i % 2).collect(), uniform_margins(2));
    let risk = LinearRisk::new(Design::new(&matrix, None), loss, ExampleWeights::mean(12));
    let refused = |method: Method, regularizer: &L2| {
        let built = method.build(Problem::new(&risk, regularizer), &MethodOptions::default());
        built.err().expect("a refusal").to_string()
    };
    let uneven = L2::new(1.0).and_then(|l2| l2.with_weights(vec![1.0, 2.0, 1.0, 1.0]));
    for method in [Method::DualCd, Method::Sgd] {
        let told = refused(method, uneven.as_ref().expect("an L2"));
        assert!(told.contains("the same for all outputs of a feature"), "{told}");
    }
    let elsewhere = L2::new(1.0).and_then(|l2| l2.with_center(vec![1.0; 4])).expect("an L2");
    assert!(refused(Method::Sgd, &elsewhere).contains("centred at 0"));
    assert!(refused(Method::DualCd, &L2::none()).contains("quadratic regularizer"));
}

/// Visits are counted in units of all examples, each check as one; limits are kept to.
#[test]
fn evaluations_are_counted_and_limited() {
    for kind in [Kind::Hinge, Kind::Multiclass] {
        let mut case = larger_case(kind, 400, 8, 6);
        case.lambda(1e-4);
        case.tol(1e-9);
        for method in [Method::DualCd, Method::Sgd] {
            case.solver(method);
            let mut last = f64::INFINITY;
            for most in [1, 2, 3, 4, 7, 20, 60] {
                case.max_evals(most);
                let (model, report) = fit(&case);
                assert_eq!(report.status, Status::MaxEvals, "{method:?} {most}");
                assert!(report.evaluations <= most, "{method:?} {most}: {}", report.evaluations);
                assert!(report.evaluations + 2 >= most, "{method:?} {most}: stopped early");
                let gap = report.certificate.gap().unwrap_or(f64::INFINITY);
                assert!(gap <= last, "{method:?}: the gap grew from {last} to {gap}");
                last = gap;
                if report.certificate.lower_bound.is_some() {
                    assert!(model.audit(&case.data, None).holds == Some(true), "{method:?} {most}");
                }
            }
        }
    }
}

#[test]
fn sgd_closes_the_gap_of_every_loss() {
    // One class after the other would take all evaluations for the first one.
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::OneVsRest) {
        let mut case = larger_case(kind, 300, 6, 9);
        case.lambda(0.05);
        case.solver(Method::Sgd);
        case.tol(1e-9);
        let mut gap_after = |evaluations: u64| {
            case.max_evals(evaluations);
            let (model, report) = fit(&case);
            assert!(model.audit(&case.data, None).holds == Some(true), "{kind:?}");
            report.certificate.relative_gap().expect("a bound")
        };
        let (early, late) = (gap_after(4), gap_after(400));
        assert!(late < 0.5 * early && late < 0.05, "{kind:?}: {early} and then {late}");
    }
}

/// Integers up to 2000 that nobody has scaled: single examples pull the weights about, and what
/// `auto` begins with the planes must end.
#[test]
fn planes_take_over_where_coordinates_creep() {
    let mut handed_over = 0;
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let (n, d, k) = (25, 7, 4);
        let mut cell = || if random.chance(0.3) { (1000.0 * random.normal()).round() } else { 0.0 };
        let rows: Vec<Vec<f64>> = (0..n).map(|_| (0..d).map(|_| cell()).collect()).collect();
        let matrix = common::sparse(&rows, d, Storage::F64);
        let labels = (0..n).map(|i| (i % k) as u32).collect();
        let loss = MulticlassHinge::new(k, labels, uniform_margins(k));
        let risk = LinearRisk::new(Design::new(&matrix, None), loss, ExampleWeights::mean(n));
        let regularizer = L2::new(1.0 / n as f64).expect("a regularizer");
        let problem = Problem::new(&risk, &regularizer);
        assert_eq!(Method::Auto.resolve(problem), Method::DualCd);
        let outcome = run(&risk, &regularizer, Method::Auto, 1e-3);
        assert!(outcome.certificate.certifies(1e-3), "seed {seed}: {outcome:?}");
        assert!(outcome.evaluations < 5_000, "seed {seed}: {} evaluations", outcome.evaluations);
        handed_over += usize::from(outcome.evaluations > 1_000);
    }
    assert!(handed_over > 0, "no case here needs planes");
}

/// A sweep that is cancelled moves nothing more.
#[test]
fn a_cancelled_sweep_leaves_slopes_and_weights_as_they_are() {
    let rows = Matrix::dense(3, 1, vec![1.0, -2.0, 0.5].into()).expect("a matrix");
    let loss = Hinge::new(vec![1.0, -1.0, 1.0]);
    let risk = LinearRisk::new(Design::new(&rows, None), loss, ExampleWeights::mean(3));
    let dual = risk.dual_coordinates().expect("a dual that is climbed by examples");
    let metric = dual.metric(0.1, None).expect("a metric");
    let cancel = Cancel::new();
    let (mut state, mut order) =
        (DualState { slopes: vec![0.0; 3], w: vec![0.0], drift: 0.0 }, dual.examples());
    assert!(dual.sweep(&metric, &mut state, &mut order, 0.0, &cancel).rise > 0.0);
    let (before, mut order) = (state.clone(), dual.examples());
    cancel.cancel();
    let sweep = dual.sweep(&metric, &mut state, &mut order, 0.0, &cancel);
    assert_eq!((sweep.rise, state.slopes, state.w), (0.0, before.slopes, before.w));
}
