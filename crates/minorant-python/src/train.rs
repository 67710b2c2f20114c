//! The one entry point behind all estimators: examples and options in, a model and a report out.

use crate::data::Examples;
use crate::model::Model;
use crate::options::{refused, settings};
use crate::{trace, watch};
use minorant::family::{Context, Settings, TrainError};
use minorant::options::OptionError;
use minorant::options::common::{LAMBDA, THREADS};
use minorant::regularizer::RegularizerError;
use minorant::risk::Cancel;
use minorant::trace::Observer;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Iterations and evaluations of a run, which a model does not hold.
pub(crate) type Counts = (u64, u64);
/// What training returns: the model, its counts, the trace's columns, and the exception that ended
/// the run early, if one did.
type Trained<'py> = (Model, Counts, Bound<'py, PyDict>, Option<PyErr>);

/// A sentence as an exception.
pub(crate) fn refuse<T>(error: impl ToString) -> PyResult<T> {
    Err(PyValueError::new_err(error.to_string()))
}

/// Why nothing was trained, as an exception.
pub(crate) fn failed(error: TrainError) -> PyErr {
    match error {
        TrainError::Option(error) => refused(error),
        TrainError::Regularizer(RegularizerError::Lambda(lambda)) => {
            let what = format!("must be a positive number, not {lambda}");
            refused(OptionError::new(LAMBDA.spec.name, what))
        }
        other => PyValueError::new_err(other.to_string()),
    }
}

/// The number of threads that was asked for; 1 where none was.
pub(crate) fn threads(settings: &Settings) -> usize {
    settings.get(&THREADS).unwrap_or(1)
}

/// Trains. Small problems may go on past their tolerance for a while; a tolerance of 0 asks for
/// rounding.
#[pyfunction]
#[pyo3(signature = (model, examples, options, *, start=None, small=false, callback=None))]
pub(crate) fn train<'py>(
    py: Python<'py>,
    model: &str,
    examples: Examples<'py>,
    options: &Bound<'py, PyDict>,
    start: Option<PyReadonlyArray1<'py, f64>>,
    small: bool,
    callback: Option<Py<PyAny>>,
) -> PyResult<Trained<'py>> {
    let settings = settings(model, options)?;
    let held = examples.of_kind(settings.entry().data(&settings))?;
    let start = start.map(|start| PyResult::Ok(start.as_slice()?.to_vec())).transpose()?;
    let (cancel, threads) = (Cancel::new(), threads(&settings));
    let work = |observer: &mut dyn Observer| {
        let to_rounding = small || settings.tol() == 0.0;
        let context = Context { start, to_rounding, ..Context::default() };
        let context = context.cancelled_by(&cancel).observed_by(observer);
        minorant::family::train(held.view(), &settings, context)
    };
    // Small problems have short iterations; starting a thread would take longer than some of them.
    let watched = if small && threads == 1 {
        watch::here(py, &cancel, callback.as_ref(), work)
    } else {
        watch::run(py, threads, &cancel, callback.as_ref(), work)?
    };
    match watched.result {
        Ok((model, report)) => {
            let (counts, records) = ((report.iterations, report.evaluations), &watched.records);
            Ok((Model(model), counts, trace::columns(py, records)?, watched.raised))
        }
        Err(error) => Err(watched.raised.unwrap_or_else(|| failed(error))),
    }
}
