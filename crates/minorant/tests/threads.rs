//! The same bits for any number of threads: weights, certificate and saved file of every model
//! with every method, on data large enough for many chunks.

mod common;

use common::{
    BASELINES, Case, Kind, L1_METHODS, METHODS, NON_CONVEX_METHODS, fit, larger_case, methods_for,
    with_l1,
};
use minorant::family::linear::{LOSS, LossName};
use minorant::options::common::{BIAS, INTERCEPT, Intercept, L1_RATIO, NONNEGATIVE};
use minorant::solver::Method;
use rayon::ThreadPoolBuilder;

fn check(kind: Kind) {
    let methods: Vec<Method> = methods_for(kind).into_iter().chain(BASELINES).collect();
    check_methods(kind, &methods, |_| {});
}

fn check_methods(kind: Kind, methods: &[Method], change: impl Fn(&mut Case)) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model");
    for &method in methods {
        let mut case = larger_case(kind, 3000, 17, 5);
        change(&mut case);
        case.solver(method);
        case.tol(1e-6);
        // Walking methods get slow near the optimum, and have shown all they do before.
        let walks = !METHODS.contains(&method);
        case.max_evals(if walks { 15 } else { 40 });
        if method == Method::LmBmrm {
            case.memory(6);
        }
        let mut first: Option<Vec<u8>> = None;
        for threads in [1, 2, 3, 8] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            let bytes = pool.install(|| {
                let (model, report) = fit(&case);
                assert!(report.evaluations > 3, "{kind:?}: too easy a problem");
                assert_eq!(report.certificate, model.facts.certificate);
                model.save(&path, u64::MAX).expect("a saved model");
                std::fs::read(&path).expect("a model file")
            });
            let first = first.get_or_insert_with(|| bytes.clone());
            assert!(*first == bytes, "{kind:?} {method:?}: {threads} threads change the model");
        }
    }
}

#[test]
fn binary_models() {
    check(Kind::Hinge);
    check(Kind::SquaredHinge);
    check(Kind::Logistic);
}

#[test]
fn multiclass_models() {
    check(Kind::Multiclass);
    check(Kind::MulticlassLoss);
    check(Kind::Softmax);
    check(Kind::OneVsRest);
}

#[test]
fn multilabel_models() {
    check(Kind::Multilabel);
    check(Kind::MultilabelLoss);
}

#[test]
fn models_with_l1_penalty() {
    for kind in [Kind::Logistic, Kind::Softmax, Kind::OneVsRest] {
        check_methods(kind, &L1_METHODS, |case| *case = with_l1(case.clone()));
    }
}

#[test]
fn huber_hinges() {
    let all = methods_for(Kind::SquaredHinge).into_iter().chain(BASELINES);
    let methods: Vec<Method> = all.filter(|method| *method != Method::DualCd).collect();
    check_methods(Kind::SquaredHinge, &methods, |case| case.put(&LOSS, LossName::HuberHinge));
}

/// Kinds that a free intercept and other penalties are tried with; those that are smooth are marked.
const PLAIN: [(Kind, bool); 6] = [
    (Kind::Hinge, false),
    (Kind::SquaredHinge, true),
    (Kind::Logistic, true),
    (Kind::Multiclass, false),
    (Kind::Softmax, true),
    (Kind::Multilabel, false),
];

#[test]
fn models_with_free_intercepts() {
    for (kind, is_smooth) in PLAIN {
        let last = if is_smooth { Method::Newton } else { Method::Auto };
        let has_dual = ![Kind::Softmax, Kind::Multilabel].contains(&kind);
        let dual = has_dual.then_some(Method::DualCd);
        let methods: Vec<Method> = [Method::LsPBmrm, last].into_iter().chain(dual).collect();
        check_methods(kind, &methods, |case| {
            case.put(&BIAS, None);
            case.put(&INTERCEPT, Some(Intercept::Free));
        });
    }
}

#[test]
fn models_with_mixed_penalties_and_bounds() {
    for (kind, is_smooth) in PLAIN {
        let last = if is_smooth { Method::NewtonCd } else { Method::ProxBmrm };
        check_methods(kind, &[Method::LsPBmrm, last], |case| case.put(&L1_RATIO, Some(0.4)));
        check_methods(kind, &[Method::LsBmrm, last], |case| case.put(&NONNEGATIVE, true));
    }
}

#[test]
fn models_that_are_not_convex() {
    for kind in Kind::NON_CONVEX {
        check_methods(kind, &NON_CONVEX_METHODS, |_| {});
    }
}
