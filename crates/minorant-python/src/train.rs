//! The one entry point behind all estimators: a data set and options in, a model and a report out.

use crate::facts::{Trained, trained};
use crate::features::Features;
use crate::labels::{Class, Rows, labels};
use crate::model::Model;
use crate::watch;
use minorant::data::{Dataset, LabelKind};
use minorant::risk::Cancel;
use minorant::solver::Method;
use minorant::trace::Observer;
use minorant::train::{
    Lambda, LossName, ModelName, Multiclass, Penalty, TrainOptions, TrainReport, Transduction,
};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// What an estimator asks for, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options<'py> {
    loss: String,
    penalty: String,
    multiclass: String,
    multilabel: bool,
    ramp: f64,
    gamma: f64,
    starts: usize,
    balance_mean: Option<f64>,
    lam: Option<f64>,
    c: Option<f64>,
    bias: Option<f64>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    class_weight: Vec<(Class, f64)>,
    method: String,
    memory: Option<usize>,
    parts: Option<usize>,
    seed: u64,
    tol: f64,
    /// Small problems are solved to rounding whatever `tol` says.
    small: bool,
    max_evals: Option<u64>,
    max_seconds: Option<f64>,
    start: Option<PyReadonlyArray1<'py, f64>>,
    pub(crate) threads: usize,
}

pub(crate) fn refuse<T>(error: impl ToString) -> PyResult<T> {
    Err(PyValueError::new_err(error.to_string()))
}

pub(crate) fn choose<T: Copy>(what: &str, name: &str, choices: &[(&str, T)]) -> PyResult<T> {
    let found = choices.iter().find(|(choice, _)| *choice == name);
    found.map_or_else(|| refuse(format!("there is no {what} '{name}'")), |choice| Ok(choice.1))
}

impl Options<'_> {
    pub(crate) fn options(self, model: &str) -> PyResult<TrainOptions> {
        let Some(name) = ModelName::from_name(model) else {
            return refuse(format!("there is no model '{model}'"));
        };
        let mut options = TrainOptions::new(name);
        let losses = [("hinge", LossName::Hinge), ("squared_hinge", LossName::SquaredHinge)];
        options.loss = choose("loss", &self.loss, &losses)?;
        let penalties = [("l2", Penalty::L2), ("l1", Penalty::L1)];
        options.penalty = choose("penalty", &self.penalty, &penalties)?;
        let ways = [("joint", Multiclass::Joint), ("ovr", Multiclass::OneVsRest)];
        options.multiclass = choose("way to train several classes", &self.multiclass, &ways)?;
        options.ramp = self.ramp;
        let (gamma, starts, balance_mean) = (self.gamma, self.starts, self.balance_mean);
        options.transduction = Transduction { gamma, starts, balance_mean };
        options.label_kind = self.multilabel.then_some(LabelKind::Multilabel);
        options.lambda = self.lam.map(Lambda::Lambda).or(self.c.map(Lambda::C));
        options.bias = self.bias;
        let reals = |array: Option<PyReadonlyArray1<'_, f64>>| {
            array.map(|array| PyResult::Ok(array.as_slice()?.to_vec())).transpose()
        };
        options.example_weights = reals(self.sample_weight)?;
        options.start = reals(self.start)?;
        let weights = self.class_weight.into_iter();
        options.class_weights = weights.map(|(class, weight)| (class.into(), weight)).collect();
        options.method = Method::from_name(&self.method).or_else(refuse)?;
        options.method_options.memory = self.memory;
        options.method_options.parts = self.parts;
        options.method_options.seed = self.seed;
        options.rules.tol = self.tol;
        options.to_rounding = self.small;
        options.rules.max_evaluations = self.max_evals;
        options.rules.max_seconds = self.max_seconds;
        Ok(options)
    }
}

/// Trains.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn train<'py>(
    py: Python<'py>,
    model: &str,
    features: Features<'py>,
    classes: Vec<Class>,
    rows: Rows<'py>,
    options: Options<'py>,
    callback: Option<Py<PyAny>>,
) -> PyResult<Trained<'py, Model>> {
    let (threads, small) = (options.threads, options.small);
    let options = options.options(model)?;
    let data = Dataset { features: features.matrix()?, labels: labels(classes, rows)? };
    let cancel = Cancel::new();
    let work = |observer: &mut dyn Observer| {
        minorant::train::train(&data, &options, &cancel, observer, &mut ())
    };
    // Small problems have short iterations; starting a thread would take longer than some of them.
    let watched = if small && threads == 1 {
        watch::here(py, &cancel, callback.as_ref(), work)
    } else {
        watch::run(py, threads, &cancel, callback.as_ref(), work)?
    };
    trained(py, watched, Model)
}

pub(crate) fn summary<'py>(py: Python<'py>, report: &TrainReport) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("method", report.solver)?;
    dict.set_item("lam", report.lambda)?;
    dict.set_item("objective", report.certificate.objective)?;
    dict.set_item("lower_bound", report.certificate.lower_bound)?;
    dict.set_item("local_gap", report.local_gap)?;
    dict.set_item("status", report.status.as_str())?;
    dict.set_item("evaluations", report.evaluations)?;
    dict.set_item("iterations", report.iterations)?;
    dict.set_item("seconds", report.seconds)?;
    Ok(dict)
}
