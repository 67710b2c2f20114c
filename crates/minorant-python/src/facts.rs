//! What all trained models have in common as Python objects: the facts of the run that made them,
//! and how they are pickled. What only one model has stands with its class.

use crate::train::{refuse, summary};
use crate::{trace, watch::Watched};
use minorant::certificate::Certificate;
use minorant::train::TrainReport;
use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use std::fmt::Display;

/// The facts of a run. What a model has not is none.
#[pyclass(module = "minorant._core", frozen, get_all)]
pub(crate) struct Facts {
    lam: Option<f64>,
    method: String,
    status: String,
    tol: f64,
    objective: f64,
    lower_bound: Option<f64>,
    local_gap: Option<f64>,
}

impl Facts {
    /// The method, how it ended, the gap that it was asked for, and what it found.
    pub(crate) fn certified(method: &str, status: &str, tol: f64, found: Certificate) -> Self {
        Facts {
            lam: None,
            method: method.into(),
            status: status.into(),
            tol,
            objective: found.objective,
            lower_bound: found.lower_bound,
            local_gap: None,
        }
    }

    /// With a λ.
    pub(crate) fn at(self, lambda: f64) -> Self {
        Facts { lam: Some(lambda), ..self }
    }

    /// With the gap of the last local model, where there is one.
    pub(crate) fn near(self, local_gap: Option<f64>) -> Self {
        Facts { local_gap, ..self }
    }
}

/// What training returns: the model, a report, the trace's columns, and the exception that ended
/// the run early, if one did.
pub(crate) type Trained<'py, M> = (Py<M>, Bound<'py, PyDict>, Bound<'py, PyDict>, Option<PyErr>);

/// What a watched run left, for Python.
pub(crate) fn trained<'py, M, N: PyClass, I: Into<PyClassInitializer<N>>, E: Display>(
    py: Python<'py>,
    watched: Watched<Result<(M, TrainReport), E>>,
    wrap: impl FnOnce(M) -> I,
) -> PyResult<Trained<'py, N>> {
    match watched.result {
        Ok((model, report)) => {
            let columns = trace::columns(py, &watched.records)?;
            Ok((Py::new(py, wrap(model))?, summary(py, &report)?, columns, watched.raised))
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
