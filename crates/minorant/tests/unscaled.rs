//! Features of very different sizes: every run ends by itself, whatever the method. Baselines may
//! end far from the optimum there; that a run goes on for ever is a defect.
#![allow(clippy::print_stderr)]

mod common;

use common::{Case, Kind, Random, cases, dense, labels, settings_of, with_l1};
use minorant::data::Dataset;
use minorant::family::{Context, TrainError};
use minorant::linalg::Storage;
use minorant::solver::{Method, Status};

/// More evaluations than any run on a small problem may take.
const MOST: u64 = 100_000;

const KINDS: [Kind; 6] = [
    Kind::Hinge,
    Kind::SquaredHinge,
    Kind::Logistic,
    Kind::Multiclass,
    Kind::Softmax,
    Kind::Multilabel,
];

/// Columns of sizes between 1e-3 and 1e5.
fn unscaled(kind: Kind, random: &mut Random) -> Case {
    let (n, d) = (random.between(20, 60), random.between(3, 10));
    let classes = if kind.is_binary() { 2 } else { 3 };
    let sizes: Vec<f64> = (0..d).map(|_| random.scale(1e-3, 1e5)).collect();
    let mut row = |_| sizes.iter().map(|size| size * random.normal()).collect();
    let rows: Vec<Vec<f64>> = (0..n).map(&mut row).collect();
    let labels = labels(random, kind, n, classes);
    let data = Dataset { features: dense(&rows, d, Storage::F64), labels };
    let mut case = Case::new(kind, data, settings_of(kind, random, classes));
    case.lambda(random.scale(1e-5, 1.0));
    case.tol(random.pick(&[1e-3, 1e-6, 1e-9]));
    case.max_evals(MOST);
    case
}

/// What a run with this method tells, or nothing where it is not for the case.
fn end_of(case: &Case, method: Method) -> Option<(Status, String)> {
    if !case.settings.entry().solvers().contains(&method.name()) {
        return None;
    }
    let mut case = case.clone();
    case.solver(method);
    let (_, report) = match case.train(Context::default()) {
        Err(TrainError::Method(_)) => return None,
        trained => trained.expect("a model"),
    };
    let gap = report.certificate.relative_gap().unwrap_or(f64::NAN);
    let (status, evaluations, seconds) = (report.status, report.evaluations, report.seconds);
    let told = format!("{status:?}, {evaluations} evaluations, {seconds:.1} s, gap {gap:.1e}");
    Some((status, told))
}

#[test]
fn every_run_ends_by_itself() {
    let mut late = Vec::new();
    for seed in 0..cases(12, 72) {
        let mut random = Random::new(seed);
        let kind = KINDS[seed as usize % KINDS.len()];
        let mut all = vec![unscaled(kind, &mut random)];
        if matches!(kind, Kind::Logistic | Kind::Softmax) {
            let mut case = with_l1(all[0].clone());
            case.lambda(random.scale(1e-9, 1e-1));
            all.push(case);
        }
        for (case, method) in all.iter().flat_map(|case| Method::ALL.map(|method| (case, method))) {
            let Some((status, told)) = end_of(case, method) else { continue };
            let told = format!("seed {seed} {kind:?} {}: {told}", method.name());
            eprintln!("{told}");
            if status == Status::MaxEvals {
                late.push(told);
            }
        }
    }
    assert!(late.is_empty(), "{late:#?}");
}
