//! The same bits for any number of threads: weights, certificate and saved file of every model
//! with every method, on data large enough for many chunks.

mod common;

use common::{
    BASELINES, Kind, L1_METHODS, METHODS, NON_CONVEX_METHODS, fit, larger_case, methods_for,
    with_l1,
};
use minorant::solver::Method;
use rayon::ThreadPoolBuilder;

fn check(kind: Kind) {
    let methods: Vec<Method> = methods_for(kind).into_iter().chain(BASELINES).collect();
    check_methods(kind, &methods);
}

fn check_methods(kind: Kind, methods: &[Method]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model");
    for &method in methods {
        let mut case = larger_case(kind, 3000, 17, 5);
        if L1_METHODS.contains(&method) {
            case = with_l1(case);
        }
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
    check_methods(Kind::Logistic, &L1_METHODS);
    check_methods(Kind::Softmax, &L1_METHODS);
    check_methods(Kind::OneVsRest, &L1_METHODS);
}

#[test]
fn models_that_are_not_convex() {
    for kind in Kind::NON_CONVEX {
        check_methods(kind, &NON_CONVEX_METHODS);
    }
}
