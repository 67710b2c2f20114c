//! Small problems are finished to rounding: the gap is as small as rounding lets a bound be, an
//! example's weight counts like copies of it, proofs hold, and limits are kept.

mod common;

use common::{Case, Kind, Random, difference, fit, form, larger_case, random_case};
use minorant::data::{Dataset, LabelRows, Labels};

const KINDS: [Kind; 7] = [
    Kind::Hinge,
    Kind::SquaredHinge,
    Kind::Logistic,
    Kind::Multiclass,
    Kind::Softmax,
    Kind::OneVsRest,
    Kind::Multilabel,
];

fn finished(mut case: Case) -> Case {
    case.to_rounding = true;
    case
}

#[test]
fn the_gap_is_rounding_and_the_proof_holds() {
    for kind in KINDS {
        let case = finished(larger_case(kind, 300, 8, 3));
        let (model, report) = fit(&case);
        let gap = report.certificate.relative_gap().expect("a bound");
        assert!(gap < 1e-9, "{kind:?}: gap {gap:e}");
        assert_eq!(model.facts.status, "converged");
        let verdict = model.audit(&case.data, None);
        assert!(verdict.holds == Some(true), "{kind:?}: {}", verdict.why);
    }
}

/// The case with each row repeated as often as its weight says.
fn repeated(case: &Case, weights: &[usize]) -> Case {
    let times = |(row, times): (usize, &usize)| std::iter::repeat_n(row, *times);
    let rows: Vec<usize> = weights.iter().enumerate().rev().flat_map(times).collect();
    let labels = match &case.data.labels.rows {
        LabelRows::Single(labels) => LabelRows::Single(rows.iter().map(|&i| labels[i]).collect()),
        LabelRows::Sets { .. } => {
            let (mut starts, mut items) = (vec![0], Vec::new());
            for &i in &rows {
                items.extend_from_slice(case.data.labels.row(i));
                starts.push(items.len() as u64);
            }
            LabelRows::Sets { starts, items }
        }
        LabelRows::Numbers { .. } | LabelRows::None => unreachable!("cases have classes"),
    };
    let features = case.data.features.select_rows(&rows);
    let classes = case.data.labels.classes.clone();
    let data = Dataset { features, labels: Labels { classes, rows: labels } };
    Case { data, ..case.clone() }
}

#[test]
fn weights_equal_repetition() {
    for kind in KINDS {
        let mut case = finished(larger_case(kind, 200, 7, 8));
        let copies = repeated(&case, &(0..200).map(|i| i % 4).collect::<Vec<_>>());
        case.weigh((0..200).map(|i| f64::from(i % 4)).collect());
        let (weighted, _) = fit(&case);
        let (repeated, _) = fit(&copies);
        for (one, other) in form(&weighted).problems.iter().zip(&form(&repeated).problems) {
            for (a, b) in one.weights.iter().zip(&other.weights) {
                assert!(difference(*a, *b) < 1e-9, "{kind:?}: {a} and {b}");
            }
        }
    }
}

#[test]
fn random_problems_end_and_certify() {
    let mut random = Random::new(77);
    for round in 0..60 {
        let case = finished(random_case(KINDS[round % KINDS.len()], &mut random));
        let (_, report) = fit(&case);
        let gap = report.certificate.gap().expect("a bound");
        let size = report.certificate.objective.abs();
        assert!(gap <= 1e-6 * size + 1e-9, "{:?} {round}: gap {gap:e} of {size:e}", case.kind);
    }
}

#[test]
fn limits_are_kept() {
    for kind in [Kind::Logistic, Kind::SquaredHinge, Kind::Hinge, Kind::OneVsRest] {
        for most in [4, 7, 30] {
            let mut case = finished(larger_case(kind, 300, 8, 3));
            case.max_evals(most);
            let (_, report) = fit(&case);
            assert!(report.evaluations <= most, "{kind:?}: {} of {most}", report.evaluations);
        }
    }
}
