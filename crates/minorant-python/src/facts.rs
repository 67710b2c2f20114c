//! What all trained models have in common as Python objects: the facts of the run that made them,
//! and how they are pickled. What only one model has stands with its class.

use crate::train::{refuse, summary};
use crate::{trace, watch::Watched};
use minorant::train::TrainReport;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use std::fmt::Display;

/// The facts of a run. What a model has not is none.
#[pyclass(module = "minorant._core", frozen, get_all)]
pub(crate) struct Facts {
    pub(crate) lam: Option<f64>,
    pub(crate) method: String,
    pub(crate) status: String,
    pub(crate) tol: f64,
    pub(crate) objective: f64,
    pub(crate) lower_bound: Option<f64>,
    pub(crate) local_gap: Option<f64>,
}

/// What training returns: the model, a report, the trace's columns, and the exception that ended
/// the run early, if one did.
pub(crate) type Trained<'py, M> = (M, Bound<'py, PyDict>, Bound<'py, PyDict>, Option<PyErr>);

/// What a watched run left, for Python.
pub(crate) fn trained<'py, M, N, E: Display>(
    py: Python<'py>,
    watched: Watched<Result<(M, TrainReport), E>>,
    wrap: impl FnOnce(M) -> N,
) -> PyResult<Trained<'py, N>> {
    match watched.result {
        Ok((model, report)) => {
            let columns = trace::columns(py, &watched.records)?;
            Ok((wrap(model), summary(py, &report)?, columns, watched.raised))
        }
        Err(error) => watched.raised.map_or_else(|| refuse(error), Err),
    }
}

/// How pickle makes an object anew: a function, and what it is called with.
pub(crate) type Recipe<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>,));

/// The recipe of a class that has `from_bytes`.
pub(crate) fn recipe<'py, T>(object: &Bound<'py, T>, bytes: &[u8]) -> PyResult<Recipe<'py>> {
    let class: Bound<'py, PyType> = object.as_any().get_type();
    Ok((class.getattr("from_bytes")?, (PyBytes::new(object.py(), bytes),)))
}
