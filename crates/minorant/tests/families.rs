//! What families, builders and options promise to Rust programs, through the public doors alone.

use minorant::data::{Attributes, Images, Sequences};
use minorant::family::{Context, Settings, train};
use minorant::generate::{noisy_plane, parts, parts_shape};
use minorant::linalg::Matrix;
use minorant::options::common::{LAMBDA, SOLVER, TOL};
use minorant::options::{Kind, Value};
use minorant::prelude::Svm;
use std::sync::Arc;

#[test]
fn a_flag_is_set_where_it_stands_alone_and_not_by_its_default() {
    assert_eq!(Kind::Flag.parse(""), Ok(Value::Flag(true)));
    assert_eq!(Kind::Flag.parse("false"), Ok(Value::Flag(false)));
}

#[test]
fn setters_are_the_options_and_mistakes_are_told_when_fitting() {
    let svm = Svm::new().lambda(0.5).solver("ls-bmrm").class_weight("dog", 2.0);
    let svm = svm.class_weight("cat", 3.0).weights([1.0, 2.0]).max_evals(7);
    let given: Vec<&str> = svm.settings().given().map(|(name, _)| name).collect();
    assert_eq!(given, ["class-weight", "lambda", "max-evals", "solver", "weights"]);
    let data = noisy_plane(20, 3, 1, 0);
    let told = |svm: &Svm| svm.fit(&data).expect_err("a refusal").to_string();
    assert!(told(&Svm::new().huber(-1.0)).starts_with("huber must be a positive number"));
    assert!(told(&Svm::new().solver("magic")).starts_with("solver 'magic' does not exist"));
    assert!(told(&Svm::new().loss("ak")).starts_with("loss must be hinge or"));
    let threads = Svm::new().threads(1);
    assert!(threads.fit(&data).is_ok());
    let told = threads.fit_with(&data, Context::default()).expect_err("a refusal").to_string();
    assert!(told.starts_with("threads goes with fit"), "{told}");
}

/// At the points of a bundle that has a plane an image, outputs tie but for rounding: training
/// and audit must name the same ones.
#[test]
fn proofs_by_planes_of_single_images_are_confirmed() {
    for (seed, lambda) in (0..8).flat_map(|seed| [(seed, 0.1), (seed, 0.003)]) {
        let images = parts(seed, 8);
        let data = Images::Parts { shape: parts_shape(), images, labelled: true };
        for solver in ["p-bmrm", "prox-p-bmrm", "bmrm"] {
            let settings = Settings::new("tree-svm")
                .unwrap()
                .with(&LAMBDA, Some(lambda))
                .with(&SOLVER, solver.into())
                .with(&TOL, 1e-9);
            let (model, _) = train(&data, &settings, Context::default()).unwrap();
            let audit = model.audit(&data, None);
            assert_eq!(audit.holds, Some(true), "{seed} {solver}: {}", audit.why);
        }
    }
}

fn sequences(names: &[&str]) -> Sequences {
    let values: Vec<f64> = (0..4 * names.len()).map(|at| f64::from(at as u8 % 3)).collect();
    let names = names.iter().map(ToString::to_string).collect();
    Sequences {
        tokens: Matrix::dense(4, values.len() / 4, values.into()).unwrap(),
        starts: vec![0, 3, 4],
        labels: vec![0, 1, 0, 1],
        classes: vec!["a".into(), "b".into()],
        attributes: Attributes::Named(Arc::new(names)),
        template: None,
        lines: Vec::new(),
        unknown: 0,
    }
}

#[test]
fn columns_that_mean_something_else_are_refused() {
    let data = sequences(&["x", "y"]);
    let settings = Settings::new("chain-crf").unwrap();
    let (model, _) = train(&data, &settings, Context::default()).unwrap();
    assert_eq!(model.predict(&data).unwrap().labels().len(), 4);
    for other in [&["y", "x"][..], &["x", "y", "z"]] {
        assert!(model.predict(&sequences(other)).is_err());
    }
}
