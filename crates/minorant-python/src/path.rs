//! A whole range of λ for Python: a model and a report for each, and what is proven in between.

use crate::data::Examples;
use crate::model::Model;
use crate::options::settings;
use crate::train::{Counts, failed, threads};
use crate::watch;
use minorant::path::{PathOptions, path as walk};
use minorant::risk::Cancel;
use minorant::trace::Observer;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// One λ: the model, its counts, its error on the training data and on the validation data.
type PathPoint = (Model, Counts, f64, Option<f64>);
/// Two neighbours, the smaller first, and the largest relative gap from one to the other.
type Between = (f64, f64, Option<f64>);

/// Solves for every λ. Returns the points, what is proven in between, and whether all λ asked for
/// were reached.
#[pyfunction]
#[pyo3(signature = (model, examples, options, lams, *, validation=None, fill=true))]
#[allow(clippy::type_complexity)]
pub(crate) fn path<'py>(
    py: Python<'py>,
    model: &str,
    examples: Examples<'py>,
    options: &Bound<'py, PyDict>,
    lams: Vec<f64>,
    validation: Option<Examples<'py>>,
    fill: bool,
) -> PyResult<(Vec<PathPoint>, Vec<Between>, bool)> {
    let settings = settings(model, options)?;
    let data = examples.rows()?;
    let validation = validation.as_ref().map(Examples::rows).transpose()?;
    let wanted = PathOptions {
        lambdas: &lams,
        validation: validation.as_ref().map(Into::into),
        start: None,
        fill,
    };
    let cancel = Cancel::new();
    let work = |_: &mut dyn Observer| walk(&data, &settings, wanted, &cancel, &mut |_| {});
    let watched = watch::run(py, threads(&settings), &cancel, None, work)?;
    if let Some(raised) = watched.raised {
        return Err(raised);
    }
    let found = watched.result.map_err(failed)?;
    let between = found.between.iter().map(|b| (b.lo, b.hi, b.relative_gap)).collect();
    let point = |point: minorant::path::PathPoint| {
        let counts = (point.report.iterations, point.report.evaluations);
        (Model(point.model), counts, point.train_error, point.validation_error)
    };
    Ok((found.points.into_iter().map(point).collect(), between, found.is_whole))
}
