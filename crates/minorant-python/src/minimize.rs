//! Minimising a Python function, and what that has in common with a user's own structure. Everything
//! runs on the calling thread: what is written in Python meets the same thread-local state, debugger
//! and signals as if Python had called it.

use crate::options::value_of_method;
use crate::train::refuse;
use crate::{trace, watch};
use minorant::certificate::Certificate;
use minorant::family::{method_options, stop_rules};
use minorant::options::Given;
use minorant::regularizer::L2;
use minorant::risk::{Cancel, FunctionRisk, Risk};
use minorant::solver::{self, Method, MethodError, MethodOptions, Outcome, Problem};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

type Vector<'py> = PyReadonlyArray1<'py, f64>;

/// What the user asks for, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options<'py> {
    lam: f64,
    method: String,
    #[pyo3(default)]
    center: Option<Vector<'py>>,
    #[pyo3(default)]
    weights: Option<Vector<'py>>,
    /// Options of the method and of when it stops, by their names.
    given: Bound<'py, PyDict>,
}

impl Options<'_> {
    fn regularizer(&self, dim: usize) -> PyResult<L2> {
        if self.lam == 0.0 {
            return Ok(L2::none());
        }
        let mut regularizer = L2::new(self.lam).or_else(refuse)?;
        if let Some(center) = &self.center {
            regularizer = regularizer.with_center(center.as_slice()?.to_vec()).or_else(refuse)?;
        }
        if let Some(weights) = &self.weights {
            regularizer = regularizer.with_weights(weights.as_slice()?.to_vec()).or_else(refuse)?;
        }
        regularizer.check(dim).or_else(refuse)?;
        Ok(regularizer)
    }
}

/// The best point of a run with what the run leaves behind (nothing where there is none), what went
/// wrong, and the exception that ended the run early, if one did.
pub(crate) type Solved<'py> = (Option<Bound<'py, PyDict>>, Option<String>, Option<PyErr>);

/// Minimises a risk that asks Python.
pub(crate) fn solve<'py>(
    py: Python<'py>,
    risk: &dyn Risk,
    start: Option<&[f64]>,
    options: &Options<'py>,
    cancel: &Cancel,
    callback: Option<&Py<PyAny>>,
) -> PyResult<Solved<'py>> {
    let method = Method::from_name(&options.method).or_else(refuse)?;
    let regularizer = options.regularizer(risk.dim())?;
    let mut given = Given::default();
    for (name, object) in &options.given {
        let name = name.extract::<String>()?.replace('_', "-");
        if let Some(value) = value_of_method(&name, &object)? {
            let set = given.set(&name, value);
            set.or_else(|error| {
                refuse(format!("{} {}", error.option.replace('-', "_"), error.what))
            })?;
        }
    }
    let settings = method_options(&given, 0, None);
    MethodOptions { seed: 0, memory: None, ..settings }.refuse_unused(method).or_else(refuse)?;
    let rules = stop_rules(&given);
    let watched = watch::here(py, cancel, callback, |observer| {
        let problem = Problem::new(risk, &regularizer).starting_at(start);
        let mut solver = method.build(problem, &settings)?;
        let outcome = solver::run(&mut *solver, problem, rules, cancel, observer, &mut ());
        let best = || solver.best().map(|best| (best.w.clone(), problem.objective(best)));
        Ok((outcome.map_err(|error| (error.to_string(), best())), method.resolve(problem).name()))
    });
    let (outcome, name) = watched.result.or_else(|error: MethodError| refuse(error))?;
    // Of a failed run, the risk itself may know how often it was evaluated.
    let (x, certificate, local_gap, evaluations, status, trouble) = match outcome {
        Ok(Outcome { point, ending: end, .. }) => {
            let status = end.status.as_str();
            (point.w, end.certificate, end.local_gap, end.evaluations, status, None)
        }
        Err((trouble, None)) => return Ok((None, Some(trouble), watched.raised)),
        Err((trouble, Some((x, objective)))) => {
            (x, Certificate { objective, lower_bound: None }, None, 0, "failed", Some(trouble))
        }
    };
    let dict = PyDict::new(py);
    dict.set_item("x", PyArray1::from_vec(py, x))?;
    dict.set_item("fun", certificate.objective)?;
    dict.set_item("lower_bound", certificate.lower_bound)?;
    dict.set_item("gap", certificate.gap())?;
    dict.set_item("nfev", evaluations)?;
    dict.set_item("nit", watched.records.len().saturating_sub(1))?;
    dict.set_item("status", status)?;
    dict.set_item("local_gap", local_gap)?;
    dict.set_item("method", name)?;
    dict.set_item("trace", trace::columns(py, &watched.records)?)?;
    Ok((Some(dict), trouble, watched.raised))
}

/// Minimises. `function` takes an array and returns a number and an array of its own length; the
/// Python half sees to that.
#[pyfunction]
pub(crate) fn minimize<'py>(
    py: Python<'py>,
    function: Py<PyAny>,
    argsup: Option<Py<PyAny>>,
    x0: Vector<'py>,
    convex: bool,
    options: Options<'py>,
    callback: Option<Py<PyAny>>,
) -> PyResult<Solved<'py>> {
    let start = x0.as_slice()?;
    let call = |w: &[f64]| -> PyResult<(f64, Vec<f64>)> {
        Python::attach(|py| {
            let answer = function.bind(py).call1((PyArray1::from_slice(py, w),))?;
            let (value, gradient): (f64, Vector<'_>) = answer.extract()?;
            Ok((value, gradient.as_slice()?.to_vec()))
        })
    };
    let mut risk = FunctionRisk::new(start.len(), convex, call);
    if let Some(argsup) = argsup {
        risk = risk.with_argsup(Box::new(move |w: &[f64], p: &[f64]| -> PyResult<Vec<f64>> {
            Python::attach(|py| {
                let arguments = (PyArray1::from_slice(py, w), PyArray1::from_slice(py, p));
                let answer = argsup.bind(py).call1(arguments)?;
                Ok(answer.extract::<Vector<'_>>()?.as_slice()?.to_vec())
            })
        }));
    }
    let (found, trouble, raised) =
        solve(py, &risk, Some(start), &options, &Cancel::new(), callback.as_ref())?;
    if let (Some(found), Some(_)) = (&found, &trouble) {
        found.set_item("nfev", risk.calls())?;
    }
    Ok((found, trouble, risk.failure().or(raised)))
}
