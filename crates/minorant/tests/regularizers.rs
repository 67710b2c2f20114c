//! What is penalised besides squares, and what is not: elastic net, absolute weights alone, signs and
//! bounds, and an intercept that is free. Every bundle method against a referee on small random problems,
//! with audits that hold and altered ones that do not; the same bits on any number of threads and after
//! a resume; and refusals.

mod common;

use common::referee::state;
use common::{Case, Kind, Random, cases, difference, edit, fit, form, larger_case, random_case};
use minorant::archive::Archive;
use minorant::family::linear::BIAS_WEIGHT;
use minorant::family::{Context, FittedModel};
use minorant::options::common::{
    BIAS, BOUNDS, INTERCEPT, Intercept, L1_RATIO, NONNEGATIVE, SOLVER,
};
use minorant::path::{PathOptions, geometric, path};
use minorant::proof::Proof;
use minorant::risk::Cancel;
use minorant::solver::{Checkpoints, Method};

const KINDS: [Kind; 7] = [
    Kind::Hinge,
    Kind::SquaredHinge,
    Kind::Logistic,
    Kind::Multiclass,
    Kind::Softmax,
    Kind::Multilabel,
    Kind::OneVsRest,
];

const BUNDLE_METHODS: [Method; 6] =
    [Method::Bmrm, Method::LsBmrm, Method::LsPBmrm, Method::PBmrm, Method::ProxBmrm, Method::Auto];

/// A random penalty, and in half of the cases a free intercept.
fn penalise(case: &mut Case, random: &mut Random) {
    let columns = case.data.features.cols();
    let penalty = random.between(0, 5);
    let ratio = [None, Some(0.3), Some(0.9), Some(1.0), None, Some(0.5)][penalty];
    if ratio.is_some() {
        case.put(&BIAS_WEIGHT, None);
        case.put(&L1_RATIO, ratio);
    }
    if random.chance(if penalty == 0 { 0.8 } else { 0.3 }) {
        case.put(&NONNEGATIVE, true);
    }
    if penalty >= 4 {
        let mut bounds = Vec::new();
        for column in 1..=columns {
            let least = random.pick(&[f64::NEG_INFINITY, -0.1, 0.0, 0.0]);
            let greatest = random.pick(&[f64::INFINITY, 0.05, 0.5, 0.0]);
            if random.chance(0.6) {
                bounds.extend([column as f64, least, greatest]);
            }
        }
        case.put(&BOUNDS, Some(bounds));
    }
    if random.chance(0.5) {
        case.put(&BIAS_WEIGHT, None);
        case.put(&BIAS, None);
        // Without a weight on either side no intercept would be the best one.
        case.put(&minorant::family::linear::CLASS_WEIGHT, Vec::new());
        case.put(&minorant::options::common::WEIGHTS, None);
        case.put(&INTERCEPT, Some(Intercept::Free));
    }
}

/// What the referee reaches, and the bound that it knows; nothing where it gives up.
fn optimum(case: &Case) -> Option<(f64, f64)> {
    let each: Option<Vec<(f64, f64)>> = state(case).iter().map(|stated| stated.solve()).collect();
    each.map(|each| each.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1)))
}

/// The objective at a model's weights by the referee's formulas.
fn objective(case: &Case, model: &FittedModel) -> f64 {
    let each = state(case).into_iter().zip(&form(model).problems);
    each.map(|(stated, problem)| {
        let mut w = problem.weights.clone();
        w.extend(problem.intercept.iter().flatten());
        let is_kept = |(w, (least, greatest)): (&f64, &(f64, f64))| least <= w && w <= greatest;
        assert!(w.iter().zip(&stated.ranges).all(is_kept), "a bound is not kept");
        stated.objective(&w)
    })
    .sum()
}

#[test]
fn methods_reach_the_referees_optimum_and_their_bounds_hold() {
    let (mut judged, mut wrong) = (0, Vec::new());
    for seed in 0..cases(150, 2000) {
        let mut random = Random::new(seed);
        let kind = KINDS[seed as usize % KINDS.len()];
        let mut case = random_case(kind, &mut random);
        penalise(&mut case, &mut random);
        let Some((reached, bound)) = optimum(&case) else { continue };
        judged += 1;
        let pure = case.settings.get(&L1_RATIO) == Some(1.0);
        let method = match pure {
            true => Method::ProxBmrm,
            false => random.pick(&BUNDLE_METHODS),
        };
        let is_free = case.settings.get(&INTERCEPT).is_some();
        let has_dual = ![Kind::Softmax, Kind::Multilabel].contains(&kind);
        let by_dual = is_free && has_dual && !pure && seed % 4 < 2;
        let method = if by_dual { Method::DualCd } else { method };
        case.solver(method);
        case.abs_tol(1e-10);
        case.tol(if pure { 1e-3 } else { 1e-6 });
        case.max_evals(5000);
        let told =
            format!("seed {seed}, {:?}, {method:?}", case.settings.given().collect::<Vec<_>>());
        let trained = case.train(Context::default());
        let (model, report) = match trained {
            Ok(trained) => trained,
            Err(why) => {
                wrong.push(format!("{told}: {why}"));
                continue;
            }
        };
        let found = report.certificate;
        let lower = found.lower_bound.unwrap_or(f64::NEG_INFINITY);
        let rounding = 1e-7 * (1.0 + reached.abs());
        if lower > reached + rounding {
            wrong.push(format!("{told}: the bound {lower} lies above {reached}"));
        }
        if found.objective < bound - rounding {
            wrong.push(format!("{told}: the objective {} lies below {bound}", found.objective));
        }
        if difference(found.objective, objective(&case, &model)) > 1e-9 {
            let plain = objective(&case, &model);
            wrong.push(format!("{told}: the objective is {plain}, not {}", found.objective));
        }
        if !(found.certifies(case.settings.tol()) || found.gap() <= Some(1e-10)) {
            wrong.push(format!("{told}: {:?} {found:?}, {reached}", report.status));
        }
        let audit = model.audit(&case.data, case.weights().as_deref());
        if audit.holds != Some(true) {
            wrong.push(format!("{told}: {}", audit.why));
        }
        let claim = audit.lower_bound.unwrap_or(f64::INFINITY);
        if let Some(forged) = raised(&model, claim).filter(|forged| case.holds(forged)) {
            wrong.push(format!("{told}: {:?} is believed", forged.facts.certificate));
        }
    }
    assert!(wrong.is_empty(), "{} of {judged}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(judged > 100, "the referee solved {judged} problems only");
}

/// Where no weight is worth its price, the intercept is all there is; a model file keeps the share.
#[test]
fn nothing_but_an_intercept_may_be_left() {
    for kind in [Kind::Logistic, Kind::Softmax] {
        let mut case = larger_case(kind, 60, 4, 3);
        case.put(&BIAS, None);
        case.put(&INTERCEPT, Some(Intercept::Free));
        case.put(&L1_RATIO, Some(0.9));
        case.lambda(100.0);
        let (model, report) = fit(&case);
        assert!(report.certificate.certifies(1e-3) && model.nonzero_weights() == 0, "{report:?}");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("model");
        model.save(&path, u64::MAX).expect("a saved model");
        let loaded = FittedModel::load(&path).expect("a model");
        assert!(case.holds(&loaded), "{kind:?}");
        assert_eq!(loaded.facts.settings.get(&L1_RATIO), Some(0.9));
        assert!(bytes_of(&loaded) == bytes_of(&model), "{kind:?}: another file");
    }
}

#[test]
fn dual_ascent_takes_proximal_steps() {
    let kinds = [Kind::Hinge, Kind::SquaredHinge, Kind::Multiclass, Kind::OneVsRest];
    for seed in 0..cases(60, 2000) {
        let mut random = Random::new(seed);
        let mut case = random_case(kinds[seed as usize % kinds.len()], &mut random);
        penalise(&mut case, &mut random);
        case.put(&INTERCEPT, None);
        // One against the rest may be logistic.
        if case.settings.model() != "svm" {
            continue;
        }
        if case.settings.get(&L1_RATIO) == Some(1.0) {
            case.put(&L1_RATIO, Some(0.99));
        }
        let Some((reached, bound)) = optimum(&case) else { continue };
        case.solver(Method::DualCd);
        case.abs_tol(1e-10);
        case.tol(1e-6);
        case.max_evals(20_000);
        let (model, report) = fit(&case);
        let told = format!("seed {seed}, {:?}", case.settings.given().collect::<Vec<_>>());
        let found = report.certificate;
        let rounding = 1e-7 * (1.0 + reached.abs());
        assert!(found.lower_bound <= Some(reached + rounding), "{told}: {found:?} {reached}");
        assert!(found.objective >= bound - rounding, "{told}: {found:?} {bound}");
        assert!(difference(found.objective, objective(&case, &model)) < 1e-9, "{told}");
        assert!(found.certifies(1e-6) || found.gap() <= Some(1e-10), "{told}: {report:?}");
        assert!(case.holds(&model), "{told}");
    }
}

/// The same model with a bound a little above the one that its audit finds, which may be more than was
/// claimed, where that is no rounding.
fn raised(model: &FittedModel, found: f64) -> Option<FittedModel> {
    let mut forged = model.clone();
    let bound = model.facts.certificate.lower_bound.filter(|bound| *bound > 1e-3)?;
    let higher = found.max(bound) * (1.0 + 1e-5);
    let rounding = model.facts.rounding;
    if higher > model.facts.certificate.objective || rounding > 1e-7 * bound {
        return None;
    }
    forged.facts.certificate.lower_bound = Some(higher);
    edit(&mut forged, |form| {
        let share = higher / bound;
        for problem in &mut form.problems {
            problem.certificate.lower_bound = problem.certificate.lower_bound.map(|b| b * share);
        }
    });
    Some(forged)
}

#[test]
fn slopes_that_do_not_add_up_are_refused() {
    for kind in [Kind::Hinge, Kind::Logistic, Kind::Softmax, Kind::Multiclass, Kind::Multilabel] {
        let mut case = larger_case(kind, 80, 5, 2);
        case.put(&BIAS, None);
        case.put(&INTERCEPT, Some(Intercept::Free));
        let (model, _) = fit(&case);
        assert!(case.holds(&model), "{kind:?}");
        let mut forged = model.clone();
        let Some(Some(Proof::Slopes(slopes))) = forged.proofs.first_mut() else {
            panic!("{kind:?}: no slopes")
        };
        let outputs = slopes.len() / 80;
        // One row loses its slopes, which any loss allows.
        let row = slopes.chunks(outputs).position(|c| c[0].abs() > 0.1).expect("a slope");
        slopes[row * outputs..(row + 1) * outputs].fill(0.0);
        let audit = forged.audit(&case.data, None);
        assert!(audit.holds == Some(false) && audit.why.contains("add up"), "{}", audit.why);
        let mut other = model.clone();
        edit(&mut other, |form| {
            form.problems[0].intercept.as_mut().expect("an intercept")[0] += 0.1;
        });
        assert!(!case.holds(&other), "{kind:?}: another intercept is believed");
    }
}

/// A free intercept shifts with the features, and the objective stays.
#[test]
fn far_away_intercepts_certify() {
    for kind in [Kind::Hinge, Kind::SquaredHinge, Kind::Logistic] {
        let mut case = larger_case(kind, 400, 3, 5);
        case.put(&BIAS, None);
        case.put(&INTERCEPT, Some(Intercept::Free));
        case.tol(1e-6);
        let (near, _) = fit(&case);
        let rows: Vec<Vec<f64>> = (0..400)
            .map(|i| {
                let mut row = [0.0; 3];
                case.data.features.row(i).for_each(|(j, x)| row[j] = x);
                row.iter().map(|x| x + 1e6).collect()
            })
            .collect();
        case.data.features = common::dense(&rows, 3, minorant::linalg::Storage::F64);
        let (far, report) = fit(&case);
        assert!(report.certificate.certifies(1e-6), "{kind:?} {report:?}");
        let (near, far) = (near.facts.certificate.objective, far.facts.certificate.objective);
        assert!(difference(far, near) < 1e-5, "{kind:?}: {far} and {near}");
        assert!(case.holds(&fit(&case).0));
    }
}

#[test]
fn one_class_in_ten_thousand_certifies() {
    let mut random = Random::new(3);
    let rows: Vec<Vec<f64>> = (0..10_000).map(|_| random.normals(4)).collect();
    for kind in [Kind::Hinge, Kind::Logistic] {
        let mut case = larger_case(kind, 20, 4, 1);
        case.put(&BIAS, None);
        case.put(&INTERCEPT, Some(Intercept::Free));
        case.data.features = common::dense(&rows, 4, minorant::linalg::Storage::F64);
        let labels = (0..10_000).map(|i| u32::from(i == 77)).collect();
        case.data.labels.rows = minorant::data::LabelRows::Single(labels);
        let (model, report) = fit(&case);
        assert!(report.certificate.certifies(1e-3), "{kind:?} {report:?}");
        assert!(case.holds(&model), "{kind:?}");
    }
}

#[test]
fn what_does_not_work_says_what_does() {
    let mut case = larger_case(Kind::Hinge, 40, 5, 1);
    let told = |case: &Case| case.train(Context::default()).expect_err("a refusal").to_string();
    case.put(&NONNEGATIVE, true);
    for solver in ["subbfgs", "sgd", "nrbm", "newton"] {
        case.put(&SOLVER, solver.into());
        let told = told(&case);
        assert!(told.contains("ls-bmrm") && told.contains("without absolute weights"), "{told}");
    }
    case.put(&SOLVER, "auto".into());
    case.put(&BOUNDS, Some(vec![1.0, f64::NEG_INFINITY, -1.0]));
    assert!(told(&case).contains("leave nothing between"));
    case.put(&BOUNDS, Some(vec![9.0, 0.0, 1.0]));
    assert!(told(&case).contains("column 9 of data with 5 columns"));
    for wrong in [vec![1.0, 2.0], vec![0.0, 1.0, 2.0], vec![1.0, 2.0, 1.0], vec![1.5, 0.0, 1.0]] {
        case.put(&BOUNDS, Some(wrong));
        assert!(told(&case).starts_with("bounds "));
        case = larger_case(Kind::Hinge, 40, 5, 1);
    }
    case.put(&INTERCEPT, Some(Intercept::Free));
    assert!(told(&case).contains("does not go together with bias"));
    let mut case = larger_case(Kind::MultilabelLoss, 40, 5, 1);
    case.put(&BIAS, None);
    case.put(&INTERCEPT, Some(Intercept::Free));
    assert!(told(&case).contains("a label loss of multilabel data"));
    let mut case = larger_case(Kind::Hinge, 40, 5, 1);
    case.put(&BIAS_WEIGHT, Some(2.0));
    case.put(&L1_RATIO, Some(0.5));
    assert!(told(&case).contains("a bias weight goes with the penalty l2"));
}

#[test]
fn paths_tell_what_holds_in_between() {
    for (kind, ratio) in [(Kind::Hinge, Some(0.5)), (Kind::Multiclass, None), (Kind::Hinge, None)] {
        let mut case = larger_case(kind, 200, 7, 2);
        case.put(&L1_RATIO, ratio);
        case.put(&NONNEGATIVE, ratio.is_none());
        case.put(&BIAS, None);
        case.put(&INTERCEPT, (kind == Kind::Hinge).then_some(Intercept::Free));
        case.tol(1e-3);
        let lambdas = geometric(0.1, 1e-3, 4).expect("a grid");
        let options = PathOptions { lambdas: &lambdas, validation: None, start: None, fill: true };
        let found = path(&case.data, &case.settings, options, &Cancel::new(), &mut |_| {});
        let found = found.expect("a path");
        for (pair, between) in found.points.windows(2).zip(&found.between) {
            let claim = between.relative_gap.expect("a bound in between");
            assert!(claim < 0.1, "{kind:?}: {between:?}");
            let lambda = (between.lo * between.hi).sqrt();
            let at = |point: &minorant::path::PathPoint| {
                let report = &point.report;
                let own = report.lambda.expect("a lambda");
                report.risk + report.regularizer * lambda / own
            };
            let better = at(&pair[0]).min(at(&pair[1]));
            let mut exact = larger_case(kind, 200, 7, 2);
            exact.settings = case.settings.clone();
            exact.lambda(lambda);
            exact.tol(1e-8);
            let best = fit(&exact).1.certificate.objective;
            assert!(
                better - best <= (claim + 1e-9) * better,
                "{kind:?}: {between:?} {better} {best}"
            );
            assert!(better >= best * (1.0 - 1e-7), "{kind:?}: {better} {best}");
        }
    }
}

/// Cases whose bits are compared.
fn penalised_cases() -> Vec<Case> {
    let make = |kind: Kind, method: Method, ratio: Option<f64>, is_free: bool| {
        let mut case = larger_case(kind, 700, 9, 4);
        case.solver(method);
        case.tol(1e-6);
        case.lambda(1e-2);
        case.put(&L1_RATIO, ratio);
        case.put(&NONNEGATIVE, ratio.is_none());
        if is_free {
            case.put(&BIAS, None);
            case.put(&INTERCEPT, Some(Intercept::Free));
        }
        case
    };
    vec![
        make(Kind::Hinge, Method::LsPBmrm, Some(0.4), false),
        make(Kind::Hinge, Method::DualCd, Some(0.4), false),
        make(Kind::Multiclass, Method::DualCd, None, false),
        make(Kind::Hinge, Method::LsBmrm, None, true),
        make(Kind::Logistic, Method::NewtonCd, Some(0.7), true),
        make(Kind::Multiclass, Method::Bmrm, Some(0.2), true),
        make(Kind::Softmax, Method::ProxBmrm, None, true),
        make(Kind::Softmax, Method::NewtonCd, None, false),
    ]
}

fn bytes_of(model: &FittedModel) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model");
    model.save(&path, u64::MAX).expect("a saved model");
    std::fs::read(path).expect("a model file")
}

#[test]
fn threads_do_not_change_a_bit() {
    for case in penalised_cases() {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.expect("a pool").install(|| bytes_of(&fit(&case).0))
        };
        let alone = run(1);
        for threads in [2, 3, 8] {
            assert!(run(threads) == alone, "{:?}: threads change the model", case.kind);
        }
    }
}

/// The states of a run, one after each iteration.
#[derive(Default)]
struct States {
    from: Option<Archive>,
    all: Vec<Archive>,
}

impl Checkpoints for States {
    fn resume(&mut self) -> Option<Archive> {
        self.from.take()
    }

    fn is_due(&mut self) -> bool {
        true
    }

    fn store(&mut self, archive: Archive) {
        self.all.push(archive);
    }
}

#[test]
fn resumed_runs_end_with_the_same_bits() {
    for case in penalised_cases() {
        let mut states = States::default();
        let whole = case.train(Context::default().kept_by(&mut states)).expect("a model").0;
        let middle = states.all.len() / 2;
        let from = states.all.swap_remove(middle);
        let mut states = States { from: Some(from), all: Vec::new() };
        let resumed = case.train(Context::default().kept_by(&mut states)).expect("a model").0;
        assert!(bytes_of(&whole) == bytes_of(&resumed), "{:?}: another model", case.kind);
    }
}
