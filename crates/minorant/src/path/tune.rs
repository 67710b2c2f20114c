//! Cross-validation over λ: every fold is left out once, a path is walked on the others, and the
//! errors on the fold left out are averaged. Folds are seeded, and classes are dealt to them evenly. Or
//! a path is walked on all data, and data of its own tells the errors.

use super::{PathOptions, PathPoint, path};
use crate::family::linear::Rows;
use crate::family::{Data, Settings, TrainError, refuse};
use crate::options::common::WEIGHTS;
use crate::risk::Cancel;
use minorant_data::{Dataset, LabelRows, Labels};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// One λ and its errors.
#[derive(Debug, Clone, PartialEq)]
pub struct TunedPoint {
    /// λ.
    pub lambda: f64,
    /// The error on each fold left out.
    pub errors: Vec<f64>,
    /// Their mean.
    pub error: f64,
    /// The standard error of the mean; not a number where there is one error.
    pub standard_error: f64,
}

/// What cross-validation found.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuned {
    /// The λ, descending.
    pub points: Vec<TunedPoint>,
    /// The λ of least mean error; of several the largest.
    pub best_lambda: f64,
    /// Evaluations of all folds, each a pass over the rows that were not left out.
    pub evaluations: u64,
}

/// An error on a fold left out, as it is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FoldError {
    /// The fold, from 0 on.
    pub fold: usize,
    /// λ.
    pub lambda: f64,
    /// The error.
    pub error: f64,
}

/// Measures the error of every λ on each of `folds` folds; λ and errors are told as they come.
pub fn tune(
    data: &Dataset<'_>,
    settings: &Settings,
    lambdas: &[f64],
    folds: usize,
    seed: u64,
    cancel: &Cancel,
    tell: &mut dyn FnMut(FoldError),
) -> Result<Tuned, TrainError> {
    // Data that cannot be trained on is refused before it is dealt out.
    Rows::new(data, settings)?;
    let rows = data.features.rows();
    if folds < 2 || folds > rows {
        return refuse(format!("expected 2 to {rows} folds for {rows} rows, found {folds}"));
    }
    let fold_of = deal(&data.labels, folds, seed);
    let mut points: Vec<TunedPoint> = Vec::new();
    let mut evaluations = 0;
    for fold in 0..folds {
        let (left_out, kept): (Vec<usize>, Vec<usize>) =
            (0..rows).partition(|&row| fold_of[row] == fold);
        let mut settings = settings.clone();
        if let Some(weights) = settings.example_weights() {
            settings.put(&WEIGHTS, Some(kept.iter().map(|&row| weights[row]).collect()));
        }
        let validation = data.select_rows(&left_out);
        let wanted = PathOptions {
            lambdas,
            validation: Some((&validation).into()),
            start: None,
            fill: false,
        };
        let found = path(&data.select_rows(&kept), &settings, wanted, cancel, &mut |_| {})?;
        if !found.is_whole || cancel.is_cancelled() {
            let why = "cross-validation was stopped before every lambda had its errors";
            return refuse(why);
        }
        for (at, point) in found.points.iter().enumerate() {
            let (Some(lambda), Some(error)) = (point.report.lambda, point.validation_error) else {
                continue;
            };
            evaluations += point.report.evaluations;
            if points.len() == at {
                let new =
                    TunedPoint { lambda, errors: Vec::new(), error: 0.0, standard_error: 0.0 };
                points.push(new);
            }
            points[at].errors.push(error);
            tell(FoldError { fold, lambda, error });
        }
    }
    for point in &mut points {
        (point.error, point.standard_error) = mean_and_error(&point.errors);
    }
    best_of(points, evaluations)
}

fn best_of(points: Vec<TunedPoint>, evaluations: u64) -> Result<Tuned, TrainError> {
    // The first of equals: λ descends, and the larger one gives the simpler model.
    let best = points.iter().fold(None, |best: Option<&TunedPoint>, point| match best {
        Some(best) if best.error <= point.error => Some(best),
        _ => Some(point),
    });
    let best_lambda = best.map(|point| point.lambda);
    let none = || TrainError::Setting("cross-validation needs a lambda to try".into());
    Ok(Tuned { best_lambda: best_lambda.ok_or_else(none)?, points, evaluations })
}

/// Measures the error of every λ on data of its own, which stands for the one fold.
pub fn validate<'d>(
    data: impl Into<Data<'d>>,
    settings: &Settings,
    lambdas: &[f64],
    validation: Data<'_>,
    cancel: &Cancel,
    tell: &mut dyn FnMut(FoldError),
) -> Result<Tuned, TrainError> {
    let wanted = PathOptions { lambdas, validation: Some(validation), start: None, fill: false };
    let found = path(data, settings, wanted, cancel, &mut |point| {
        if let (Some(lambda), Some(error)) = (point.report.lambda, point.validation_error) {
            tell(FoldError { fold: 0, lambda, error });
        }
    })?;
    if !found.is_whole || cancel.is_cancelled() {
        return refuse("the path was stopped before every lambda had its error");
    }
    let evaluations = found.points.iter().map(|point| point.report.evaluations).sum();
    let point = |point: &PathPoint| {
        let (lambda, error) = (point.report.lambda?, point.validation_error?);
        Some(TunedPoint { lambda, errors: vec![error], error, standard_error: f64::NAN })
    };
    best_of(found.points.iter().filter_map(point).collect(), evaluations)
}

/// The mean of some errors, and the standard error of that mean.
fn mean_and_error(errors: &[f64]) -> (f64, f64) {
    let count = errors.len() as f64;
    let mean = errors.iter().sum::<f64>() / count;
    let variance = errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

/// The fold of each row: the rows of a class in a random order, dealt out one by one.
fn deal(labels: &Labels, folds: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.shuffle(&mut Pcg64Mcg::seed_from_u64(seed));
    if let LabelRows::Single(classes) = &labels.rows {
        order.sort_by_key(|&row| classes[row]);
    }
    let mut fold_of = vec![0; order.len()];
    for (at, &row) in order.iter().enumerate() {
        fold_of[row] = at % folds;
    }
    fold_of
}
