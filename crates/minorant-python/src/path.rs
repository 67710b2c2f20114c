//! A whole range of λ for Python: a model and a report for each, and what is proven in between.

use crate::features::Features;
use crate::labels::{Class, Rows, labels};
use crate::model::Model;
use crate::train::{Options, refuse, summary};
use crate::watch;
use minorant::data::Dataset;
use minorant::path::{PathOptions, path as walk};
use minorant::risk::Cancel;
use minorant::trace::Observer;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// One λ: the model, its report, its error on the training data and on the validation data.
type PathPoint<'py> = (Model, Bound<'py, PyDict>, f64, Option<f64>);
/// Two neighbours, the smaller first, and the largest relative gap from one to the other.
type Between = (f64, f64, Option<f64>);

/// Solves for every λ. Returns the points, what is proven in between, and whether all λ asked for
/// were reached.
#[pyfunction]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
pub(crate) fn path<'py>(
    py: Python<'py>,
    model: &str,
    features: Features<'py>,
    classes: Vec<Class>,
    rows: Rows<'py>,
    options: Options<'py>,
    lams: Vec<f64>,
    validation: Option<(Features<'py>, Vec<Class>, Rows<'py>)>,
    fill: bool,
) -> PyResult<(Vec<PathPoint<'py>>, Vec<Between>, bool)> {
    let threads = options.threads;
    let options = options.options(model)?;
    let data = Dataset { features: features.matrix()?, labels: labels(classes, rows)? };
    let kept;
    let validation = match validation {
        Some((features, classes, rows)) => {
            kept = features;
            Some(Dataset { features: kept.matrix()?, labels: labels(classes, rows)? })
        }
        None => None,
    };
    let wanted = PathOptions { lambdas: &lams, validation: validation.as_ref(), fill };
    let cancel = Cancel::new();
    let work = |_: &mut dyn Observer| walk(&data, &options, wanted, &cancel, &mut |_| {});
    let watched = watch::run(py, threads, &cancel, None, work)?;
    if let Some(raised) = watched.raised {
        return Err(raised);
    }
    let found = watched.result.or_else(refuse)?;
    let between = found.between.iter().map(|b| (b.lo, b.hi, b.relative_gap)).collect();
    let point = |point: minorant::path::PathPoint| {
        let report = summary(py, &point.report)?;
        Ok((Model(point.model), report, point.train_error, point.validation_error))
    };
    let points = found.points.into_iter().map(point).collect::<PyResult<_>>()?;
    Ok((points, between, found.is_whole))
}
