//! λ‖w‖₁ + logistic loss: every method against a referee, certificates, audits, sparse answers,
//! refusals, and the experiment with random subgradients of Yu et al. (§8.4).

mod common;

use common::referee::state;
use common::{
    Case, Kind, L1_METHODS, METHODS, Random, cases, dense, difference, edit, fit, form, labels,
    larger_case, random_case, settings_of, with_l1,
};
use minorant::data::Dataset;
use minorant::family::linear::BIAS_WEIGHT;
use minorant::family::{Context, FittedModel};
use minorant::linalg::{Design, Storage};
use minorant::options::common::{BIAS, Norm, PENALTY};
use minorant::proof::Proof;
use minorant::regularizer::L2;
use minorant::risk::logistic::Logistic;
use minorant::risk::{Cancel, ExampleWeights, LinearRisk};
use minorant::solver::{
    self, Method, MethodOptions, Outcome, Owlqn, OwlqnStar, Problem, Solver, Status, StopRules,
    Subgradients,
};

const KINDS: [Kind; 3] = [Kind::Logistic, Kind::Softmax, Kind::OneVsRest];

fn random_l1_case(random: &mut Random) -> Case {
    let kind = random.pick(&KINDS);
    let mut case = with_l1(random_case(kind, random));
    case.lambda(random.scale(1e-4, 0.5));
    case
}

/// What the referee reaches, and the bound that it knows; nothing where it gives up.
fn optimum(case: &Case) -> Option<(f64, f64)> {
    let each: Option<Vec<(f64, f64)>> = state(case).iter().map(|stated| stated.solve()).collect();
    each.map(|each| each.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1)))
}

#[test]
fn methods_reach_the_referees_optimum_and_their_bounds_hold() {
    let mut judged = 0;
    for seed in 0..cases(60, 3000) {
        let mut random = Random::new(seed);
        let mut case = random_l1_case(&mut random);
        let Some((reached, bound)) = optimum(&case) else { continue };
        judged += 1;
        for method in L1_METHODS {
            case.solver(method);
            case.abs_tol(1e-12);
            case.tol(if method == Method::NewtonCd { 1e-8 } else { 1e-4 });
            // Sometimes cut short: a bound must hold wherever a run ends.
            let cut = random.chance(0.3);
            case.max_evals(if cut { 12 } else { 5000 });
            let (model, report) = fit(&case);
            let told = format!("seed {seed}, {:?}, {method:?}", case.kind);
            let found = report.certificate;
            let lower = found.lower_bound.expect("a bound");
            let rounding = 1e-8 * (1.0 + reached.abs());
            assert!(lower <= reached + rounding, "{told}: {lower} above {reached}");
            assert!(lower <= found.objective, "{told}: {lower} above {}", found.objective);
            assert!(
                found.objective >= bound - rounding,
                "{told}: {} below {bound}",
                found.objective
            );
            if method == Method::NewtonCd && !cut {
                assert!(found.certifies(1e-8) || found.gap() < Some(1e-11), "{told}: {report:?}");
                assert!(difference(found.objective, reached) < 1e-7, "{told}: {found:?} {reached}");
            }
            let audit = model.audit(&case.data, case.weights().as_deref());
            assert!(audit.holds == Some(true), "{told}: {}", audit.why);
        }
    }
    assert!(judged > 30, "the referee solved {judged} problems only");
}

#[test]
fn every_method_certifies_middling_problems() {
    for kind in KINDS {
        for method in L1_METHODS {
            let mut case = with_l1(larger_case(kind, 400, 30, 7));
            case.lambda(5e-3);
            case.solver(method);
            case.tol(1e-4);
            case.max_evals(3000);
            let (model, report) = fit(&case);
            assert_eq!(report.status, Status::Converged, "{kind:?} {method:?}: {report:?}");
            let nonzero = model.nonzero_weights();
            assert!(0 < nonzero && nonzero < report.dim, "{kind:?} {method:?}: {nonzero}");
            let zeros =
                form(&model).problems.iter().flat_map(|p| &p.weights).filter(|w| **w == 0.0);
            assert_eq!(zeros.count() + nonzero, report.dim);
        }
    }
}

/// ‖gradient at 0‖_∞ of a binary problem with equal weights.
fn largest_lambda(data: &Dataset) -> f64 {
    let n = data.features.rows();
    let mut gradient = vec![0.0; data.features.cols()];
    for i in 0..n {
        let sign = if data.labels.row(i) == [1] { 1.0 } else { -1.0 };
        data.features.row(i).for_each(|(j, x)| gradient[j] -= 0.5 * sign * x / n as f64);
    }
    gradient.into_iter().fold(0.0, |top, g: f64| top.max(g.abs()))
}

#[test]
fn zero_is_recognised_where_it_is_optimal() {
    for seed in 0..20 {
        let mut case = with_l1(larger_case(Kind::Logistic, 60, 9, seed));
        case.put(&BIAS, None);
        let top = largest_lambda(&case.data);
        for method in L1_METHODS {
            case.solver(method);
            case.tol(1e-9);
            for factor in [1.0, 1.0 + 1e-9, 2.0, 1e6] {
                case.lambda(factor * top);
                let (model, report) = fit(&case);
                assert!(report.evaluations <= 2, "{method:?}, {factor}: {report:?}");
                assert!(report.certificate.certifies(1e-9), "{method:?}, {factor}: {report:?}");
                assert!(form(&model).problems[0].weights.iter().all(|w| w.to_bits() == 0));
            }
            case.lambda(0.9 * top);
            assert!(fit(&case).0.nonzero_weights() > 0, "{method:?}");
        }
    }
}

fn tampered(model: &FittedModel, change: impl FnOnce(&mut FittedModel)) -> FittedModel {
    let mut model = model.clone();
    change(&mut model);
    model
}

fn slopes(model: &mut FittedModel) -> &mut Vec<f64> {
    match &mut model.proofs[0] {
        Some(Proof::Slopes(slopes)) => slopes,
        other => panic!("no proof by slopes: {other:?}"),
    }
}

#[test]
fn audits_hold_and_tampering_is_found() {
    for kind in KINDS {
        let mut case = with_l1(larger_case(kind, 120, 8, 3));
        case.lambda(1e-2);
        case.tol(1e-6);
        let (model, _) = fit(&case);
        let holds = |model: &FittedModel| model.audit(&case.data, None).holds == Some(true);
        assert!(holds(&model), "{kind:?}: {}", model.audit(&case.data, None).why);
        assert!(model.proofs.iter().all(Option::is_some));
        let raised = tampered(&model, |model| {
            let raise = 1e-6 * model.facts.certificate.objective;
            let raise = |bound: &mut Option<f64>| *bound = bound.map(|bound| bound + raise);
            edit(model, |form| raise(&mut form.problems[0].certificate.lower_bound));
            raise(&mut model.facts.certificate.lower_bound);
        });
        assert!(!holds(&raised), "{kind:?}: a raised bound");
        let other = |m: &mut FittedModel| m.facts.lambda = m.facts.lambda.map(|l| 1.001 * l);
        assert!(!holds(&tampered(&model, other)), "{kind:?}: another lambda");
        let other = |m: &mut FittedModel| m.facts.settings.put(&PENALTY, Norm::L2);
        assert!(!holds(&tampered(&model, other)), "{kind:?}: another penalty");
        assert!(!holds(&tampered(&model, |m| slopes(m)[5] *= 1.5)), "{kind:?}: another slope");
        assert!(!holds(&tampered(&model, |m| slopes(m)[5] = 2.0)), "{kind:?}: no slope");
        assert!(!holds(&tampered(&model, |m| slopes(m).truncate(5))), "{kind:?}: one too few");
        let weights = tampered(&model, |m| edit(m, |form| form.problems[0].weights[0] += 1e-3));
        assert!(!holds(&weights), "{kind:?}: other weights");
    }
}

#[test]
fn methods_refuse_penalties_that_they_are_not_made_for() {
    let sentence = |case: &Case| case.train(Context::default()).expect_err("a refusal").to_string();
    let able = [Method::ProxBmrm, Method::ProxPBmrm, Method::Auto];
    for kind in KINDS {
        for method in METHODS.into_iter().filter(|method| !able.contains(method)) {
            let mut case = with_l1(larger_case(kind, 40, 5, 1));
            case.solver(method);
            let why = sentence(&case);
            assert!(why.starts_with(method.name()), "{why}");
            assert!(why.contains("a quadratic regularizer beside the absolute weights"), "{why}");
            let instead = L1_METHODS.iter().chain(&able[..2]);
            assert!(instead.into_iter().all(|able| why.contains(able.name())), "{why}");
            assert!(!why.contains("ls-p-bmrm,"), "{why}");
        }
    }
    for method in L1_METHODS {
        for kind in [Kind::Hinge, Kind::Logistic, Kind::Softmax, Kind::Multilabel] {
            let mut case = larger_case(kind, 40, 5, 1);
            case.solver(method);
            let why = sentence(&case);
            let of_logistic = why.contains("needs the penalty l1");
            let of_svm = why.starts_with("solver ") && why.contains("does not exist for svm");
            let is_logistic = case.settings.model() == "logistic";
            // The svm has newton-cd for its smooth losses.
            let is_shared = is_logistic || method == Method::NewtonCd;
            assert!(if is_shared { of_logistic } else { of_svm }, "{why}");
            assert!(why.contains("ls-p-bmrm"), "{why}");
        }
    }
    let mut svm = larger_case(Kind::Hinge, 40, 5, 1);
    svm.put(&PENALTY, Norm::L1);
    let why = sentence(&svm);
    assert!(
        why.starts_with("penalty goes with logistic") && why.ends_with("not with svm"),
        "{why}"
    );
    let mut weighted = with_l1(larger_case(Kind::Logistic, 40, 5, 1));
    weighted.put(&BIAS_WEIGHT, Some(2.0));
    assert!(sentence(&weighted).contains("bias weight"));
}

/// The bias is penalised like the other weights.
#[test]
fn the_bias_can_be_zero() {
    let mut case = with_l1(larger_case(Kind::Logistic, 80, 6, 2));
    case.lambda(0.05);
    case.put(&BIAS, Some(1e-3));
    let (model, _) = fit(&case);
    assert_eq!(*form(&model).problems[0].weights.last().expect("a bias"), 0.0);
    assert!(model.nonzero_weights() > 0);
}

fn run_with(case: &Case, solver: &mut dyn Solver, evaluations: u64) -> Outcome {
    let n = case.data.features.rows();
    let sign = |i: usize| if case.data.labels.row(i) == [1] { 1.0 } else { -1.0 };
    let loss = Logistic::new((0..n).map(sign).collect());
    let design = Design::new(&case.data.features, None);
    let risk = LinearRisk::new(design, loss, ExampleWeights::mean(n));
    let regularizer = L2::none().with_l1(1e-2).expect("a regularizer");
    let problem = Problem::new(&risk, &regularizer);
    let rules = StopRules { tol: 1e-3, max_evaluations: Some(evaluations), ..StopRules::default() };
    solver::run(solver, problem, rules, &Cancel::new(), &mut (), &mut ()).expect("an outcome")
}

/// With subgradients drawn at random OWL-QN breaks down and OWL-QN* does not (§8.4).
#[test]
fn random_subgradients_break_owlqn_only() {
    for seed in 0..5 {
        let case = larger_case(Kind::Logistic, 300, 40, seed);
        let dim = case.data.features.cols();
        let random = (Subgradients::Random, seed);
        let usual = run_with(&case, &mut Owlqn::new(dim, 15, (Subgradients::Least, 0)), 2000);
        assert!(usual.certificate.certifies(1e-3), "seed {seed}: {:?}", usual.certificate);
        let broken = run_with(&case, &mut Owlqn::new(dim, 15, random), 2000);
        assert!(!broken.certificate.certifies(1e-3), "seed {seed}: {:?}", broken.certificate);
        let star = run_with(&case, &mut OwlqnStar::new(dim, 15, random), 2000);
        assert!(star.certificate.certifies(1e-3), "seed {seed}: {:?}", star.certificate);
        assert!(star.direction_steps > 0);
    }
}

#[test]
fn auto_takes_newtons_method() {
    let case = with_l1(larger_case(Kind::Softmax, 60, 6, 4));
    let (model, report) = fit(&case);
    assert_eq!((model.facts.solver.as_str(), report.solver), ("newton-cd", "newton-cd"));
    let problem = l1_problem_without_curvature();
    assert_eq!(Method::Auto.resolve(problem), Method::ProxBmrm);
    assert!(Method::NewtonCd.build(problem, &MethodOptions::default()).is_err());
}

/// A hinge with λ‖w‖₁: kinks on both sides.
fn l1_problem_without_curvature() -> Problem<'static> {
    let matrix = minorant::linalg::Matrix::dense(2, 1, vec![1.0, -1.0].into()).expect("a matrix");
    let matrix = Box::leak(Box::new(matrix));
    let loss = minorant::risk::hinge::Hinge::new(vec![1.0, -1.0]);
    let risk = LinearRisk::new(Design::new(matrix, None), loss, ExampleWeights::mean(2));
    let regularizer = L2::none().with_l1(0.1).expect("a regularizer");
    Problem::new(Box::leak(Box::new(risk)), Box::leak(Box::new(regularizer)))
}

#[test]
fn features_that_others_make_up_for_do_not_hold_it_up() {
    let mut random = Random::new(5);
    let row = |random: &mut Random| {
        let row = random.normals(10);
        let sums = (0..10).map(|j| row[j] + [0.0, 0.5][j % 2] * row[(j + 1) % 10]);
        row.iter().copied().chain(sums).collect()
    };
    let rows: Vec<Vec<f64>> = (0..375).map(|_| row(&mut random)).collect();
    let labels = labels(&mut random, Kind::Logistic, rows.len(), 2);
    let data = Dataset { features: dense(&rows, 20, Storage::F64), labels };
    let settings = settings_of(Kind::Logistic, &mut random, 2);
    let mut case = with_l1(Case::new(Kind::Logistic, data, settings));
    case.lambda(1e-6 / rows.len() as f64);
    case.tol(1e-6);
    case.solver(Method::NewtonCd);
    let (_, report) = fit(&case);
    assert_eq!(report.status, Status::Converged);
    assert!(report.evaluations < 50, "{}", report.evaluations);
    case.solver(Method::Owlqn);
    let (_, report) = fit(&case);
    assert!(report.evaluations < 1000, "{:?}, {}", report.status, report.evaluations);
}
