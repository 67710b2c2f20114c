//! Real data, where it is at hand: the optima lie where independent solvers found them, and the
//! methods with line search need no more evaluations than they are known to. Without the data the
//! tests say that they were skipped.

use minorant::data::{Dataset, Label, LabelRows, Labels, ReadOptions, read};
use minorant::family::{Context, Lambda, Settings, TrainReport, train};
use minorant::linalg::{Matrix, Storage};
use minorant::options::common::{MAX_EVALS, SOLVER, TOL};
use minorant::solver::{Method, Status};
use minorant::trace::TraceRecord;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    std::env::var_os("MINORANT_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    )
}

fn load(files: &[&str]) -> Option<Dataset<'static>> {
    let paths: Vec<PathBuf> = files.iter().map(|file| folder().join(file)).collect();
    if !paths[0].exists() {
        eprintln!("skipped: there is no {}", paths[0].display());
        return None;
    }
    Some(read(&paths, &ReadOptions::default()).unwrap())
}

fn settings(lambda: f64, method: Method, tol: f64) -> Settings {
    let mut settings =
        Settings::new("svm").unwrap().with(&SOLVER, method.name().into()).with(&TOL, tol);
    settings.set_lambda(Lambda::Lambda(lambda));
    settings
}

fn solve(data: &Dataset<'_>, lambda: f64, method: Method, tol: f64) -> TrainReport {
    let (_, report) = train(data, &settings(lambda, method, tol), Context::default()).unwrap();
    assert_eq!(report.status, Status::Converged);
    assert!(report.certificate.certifies(tol));
    report
}

/// Both methods certify 1e-4 within their evaluations.
fn within(data: &Dataset<'_>, lambda: f64, parts_most: u64, single_most: u64) {
    for (method, most) in [(Method::LsPBmrm, parts_most), (Method::LsBmrm, single_most)] {
        let report = solve(data, lambda, method, 1e-4);
        let name = method.name();
        assert!(report.evaluations <= most, "{name} at {lambda}: {} > {most}", report.evaluations);
    }
}

/// The optimum lies between these numbers, which are rounded to eleven digits.
fn optimum(data: &Dataset<'_>, lambda: f64, low: f64, high: f64) {
    let certificate = solve(data, lambda, Method::LsPBmrm, 1e-9).certificate;
    let (low, high) = (low - 5e-12, high + 5e-12);
    assert!(certificate.objective >= low, "{} < {low}", certificate.objective);
    assert!(certificate.lower_bound.unwrap() <= high, "{certificate:?} above {high}");
    assert!(certificate.objective <= high * (1.0 + 2e-9));
}

/// Evaluations until the objective is within `gap` of the optimum, by the run's trace.
fn evaluations_to(trace: &[TraceRecord], optimum: f64, gap: f64) -> Option<u64> {
    let close = |record: &&TraceRecord| record.best_objective <= (1.0 + gap) * optimum;
    trace.iter().find(close).map(|record| record.evaluations)
}

fn traced(
    data: &Dataset,
    lambda: f64,
    method: Method,
    tol: f64,
) -> (TrainReport, Vec<TraceRecord>) {
    let settings = settings(lambda, method, tol).with(&MAX_EVALS, Some(400));
    let mut trace = Vec::new();
    let context = Context::default().observed_by(&mut trace);
    let (_, report) = train(data, &settings, context).unwrap();
    (report, trace)
}

/// Subgradient BFGS is fast at first and knows how far it is when it stops; the hybrid keeps up
/// with the better of its two halves all the way.
#[test]
fn walking_on_adult() {
    let Some(data) = load(&["adult/a9a.gz"]) else { return };
    let optimum = solve(&data, 1e-4, Method::LsPBmrm, 1e-9).certificate.objective;
    for tol in [1e-2, 1e-3] {
        let (report, trace) = traced(&data, 1e-4, Method::SubLbfgs, tol);
        assert_eq!(report.status, Status::Converged);
        assert!(evaluations_to(&trace, optimum, 1e-2).unwrap() <= 10);
        let certified = report.certificate.gap().unwrap();
        let true_gap = report.certificate.objective - optimum;
        assert!(certified <= 10.0 * true_gap, "{tol}: {certified} {true_gap}");
        if tol == 1e-3 {
            assert!(evaluations_to(&trace, optimum, 1e-3).unwrap() <= 50);
        }
    }
    let [walk, bundle, hybrid] = [Method::SubLbfgs, Method::LsPBmrm, Method::Hybrid]
        .map(|method| traced(&data, 1e-4, method, 1e-5).1);
    for gap in [1e-2, 1e-3, 1e-4] {
        let [walk, bundle, hybrid] =
            [&walk, &bundle, &hybrid].map(|trace| evaluations_to(trace, optimum, gap).unwrap());
        let most = 1.25 * walk.min(bundle) as f64 + 4.0;
        assert!(hybrid as f64 <= most, "{gap}: {hybrid}, against {walk} and {bundle}");
    }
}

#[test]
fn adult() {
    let Some(data) = load(&["adult/a9a.gz"]) else { return };
    within(&data, 1e-3, 26, 41);
    within(&data, 1e-5, 60, 200);
    optimum(&data, 1e-2, 0.38070336616, 0.38070336632);
    optimum(&data, 1e-3, 0.35652433, 0.35652433056);
    optimum(&data, 1e-5, 0.35092464682, 0.35092464697);
    // Where a cap on iterations leaves coordinate descent far from the optimum.
    assert!(solve(&data, 1e-6, Method::Auto, 1e-4).certificate.objective < 0.35084);
}

#[test]
fn letter() {
    let Some(data) = load(&["letter/letter.scale.gz"]) else { return };
    within(&data, 1e-2, 59, 84);
}

#[test]
fn scene() {
    let Some(data) = load(&["multilabel/scene/scene-train.arff.gz"]) else { return };
    within(&data, 1e-3, 88, 395);
}

#[test]
fn yeast_where_no_weights_are_best() {
    let Some(data) = load(&["multilabel/yeast/yeast-train.arff.gz"]) else { return };
    for method in [Method::Bmrm, Method::LmBmrm, Method::LsBmrm, Method::LsPBmrm, Method::Auto] {
        let report = solve(&data, 1e-2, method, 1e-3);
        assert!((report.certificate.objective - 1.0).abs() <= 1e-6, "{}", method.name());
    }
}

/// Even against odd digits, pixels divided by 255.
fn even_odd() -> Option<Dataset<'static>> {
    let images = ["mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz"];
    let data = load(&images)?;
    let (mut starts, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
    for i in 0..data.features.rows() {
        for (j, x) in data.features.row(i).filter(|(_, x)| *x != 0.0) {
            columns.push(j as u32);
            values.push(x / 255.0);
        }
        starts.push(columns.len() as u64);
    }
    let values = Storage::F64.store(values);
    let features = Matrix::csr(data.features.cols(), starts, columns, values).unwrap();
    let LabelRows::Single(digits) = data.labels.rows else { unreachable!("one digit a row") };
    let rows = LabelRows::Single(digits.iter().map(|digit| 1 - digit % 2).collect());
    let classes = vec![Label::Number(-1.0), Label::Number(1.0)];
    Some(Dataset { features, labels: Labels { classes, rows } })
}

#[test]
fn mnist_even_against_odd() {
    let Some(data) = even_odd() else { return };
    within(&data, 1e-3, 47, 82);
    within(&data, 1e-4, 88, 193);
    optimum(&data, 1e-2, 0.30824172232, 0.30824172293);
    optimum(&data, 1e-3, 0.26752475587, 0.26752475645);
    optimum(&data, 1e-4, 0.25380005129, 0.253800052);
}
