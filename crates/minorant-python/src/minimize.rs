//! Minimising a Python function. Everything runs on the calling thread: the function meets the same
//! thread-local state, debugger and signals as if Python had called it.

use crate::train::refuse;
use crate::{trace, watch};
use minorant::certificate::Certificate;
use minorant::regularizer::L2;
use minorant::risk::{Cancel, FunctionRisk, Point};
use minorant::solver::{self, Method, MethodError, MethodOptions, Problem, StopRules};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// What the user asks for, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options<'py> {
    lam: f64,
    method: String,
    center: Option<PyReadonlyArray1<'py, f64>>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    tol: f64,
    max_evals: Option<u64>,
    max_seconds: Option<f64>,
    convex: bool,
    memory: Option<usize>,
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

/// The best point of a run, however the run ended.
struct Answer {
    x: Vec<f64>,
    certificate: Certificate,
    local_gap: Option<f64>,
    evaluations: u64,
    status: &'static str,
}

/// Minimises. `function` takes an array and returns a number and an array of its own length; the
/// Python half sees to that. Returns the best point (nothing where there is none), what was
/// wrong with the function, and the exception that ended the run early, if one did.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn minimize<'py>(
    py: Python<'py>,
    function: Py<PyAny>,
    x0: PyReadonlyArray1<'py, f64>,
    options: Options<'py>,
    callback: Option<Py<PyAny>>,
) -> PyResult<(Option<Bound<'py, PyDict>>, Option<String>, Option<PyErr>)> {
    let start = x0.as_slice()?;
    let method = Method::from_name(&options.method).or_else(refuse)?;
    let regularizer = options.regularizer(start.len())?;
    let call = |w: &[f64]| -> PyResult<(f64, Vec<f64>)> {
        Python::attach(|py| {
            let answer = function.bind(py).call1((PyArray1::from_slice(py, w),))?;
            let (value, gradient): (f64, PyReadonlyArray1<'_, f64>) = answer.extract()?;
            Ok((value, gradient.as_slice()?.to_vec()))
        })
    };
    let risk = FunctionRisk::new(start.len(), options.convex, call);
    let settings = MethodOptions { memory: options.memory, ..MethodOptions::default() };
    let rules = StopRules {
        tol: options.tol,
        max_evaluations: options.max_evals,
        max_seconds: options.max_seconds,
        ..StopRules::default()
    };
    let cancel = Cancel::new();
    let watched = watch::here(py, &cancel, callback.as_ref(), |observer| {
        let problem = Problem::new(&risk, &regularizer).starting_at(Some(start));
        let mut solver = method.build(problem, &settings)?;
        let outcome = solver::run(&mut *solver, problem, rules, &cancel, observer, &mut ());
        Ok(match outcome {
            Ok(outcome) => {
                let answer = Answer {
                    x: outcome.point.w,
                    certificate: outcome.certificate,
                    local_gap: outcome.local_gap,
                    evaluations: outcome.evaluations,
                    status: outcome.status.as_str(),
                };
                (Some(answer), None)
            }
            Err(error) => {
                let answer = |best: &Point| Answer {
                    x: best.w.clone(),
                    certificate: Certificate {
                        objective: problem.objective(best),
                        lower_bound: None,
                    },
                    local_gap: None,
                    evaluations: risk.calls(),
                    status: "failed",
                };
                (solver.best().map(answer), Some(error.to_string()))
            }
        })
    });
    let (answer, trouble) = watched.result.or_else(|error: MethodError| refuse(error))?;
    let raised = risk.failure().or(watched.raised);
    let result = answer.map(|answer| {
        let dict = PyDict::new(py);
        dict.set_item("x", PyArray1::from_vec(py, answer.x))?;
        dict.set_item("fun", answer.certificate.objective)?;
        dict.set_item("lower_bound", answer.certificate.lower_bound)?;
        dict.set_item("gap", answer.certificate.gap())?;
        dict.set_item("nfev", answer.evaluations)?;
        dict.set_item("nit", watched.records.len().saturating_sub(1))?;
        dict.set_item("status", answer.status)?;
        dict.set_item("local_gap", answer.local_gap)?;
        dict.set_item("trouble", &trouble)?;
        dict.set_item("trace", trace::columns(py, &watched.records)?)?;
        PyResult::Ok(dict)
    });
    Ok((result.transpose()?, trouble, raised))
}
