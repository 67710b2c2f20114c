//! Networks under a chain for Python: training, prediction, marginals and files. Sequences come as
//! those of chains do.

use crate::chain::labelled;
use crate::facts::{Facts, Recipe, Trained, recipe, trained};
use crate::features::Features;
use crate::model::file_error;
use crate::tagger::Tagger;
use crate::train::{choose, refuse};
use crate::watch;
use minorant::certificate::Certificate;
use minorant::model::{AnyModel, NeuroModel};
use minorant::neural::Activation;
use minorant::risk::Cancel;
use minorant::solver::Method;
use minorant::trace::Observer;
use minorant::train::{Lambda, NeuroOptions, Per, Pretrain, train_neuro as train};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the estimator asks for, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    hidden: Vec<usize>,
    activation: String,
    pretrain: String,
    boundary: bool,
    per: String,
    sample_weight: Option<Vec<f64>>,
    lam: Option<f64>,
    c: Option<f64>,
    method: String,
    memory: Option<usize>,
    seed: u64,
    tol: f64,
    max_evals: Option<u64>,
    max_seconds: Option<f64>,
    threads: usize,
}

impl Options {
    fn options(self) -> PyResult<NeuroOptions> {
        let activations = Activation::ALL.map(|activation| (activation.as_str(), activation));
        let starts = [Pretrain::Rbm, Pretrain::None].map(|start| (start.as_str(), start));
        let units = [("sequence", Per::Sequence), ("token", Per::Token)];
        let mut options = NeuroOptions {
            hidden: self.hidden,
            activation: choose("activation", &self.activation, &activations)?,
            pretrain: choose("way to pretrain", &self.pretrain, &starts)?,
            boundary: self.boundary,
            per: choose("unit of the mean", &self.per, &units)?,
            example_weights: self.sample_weight,
            lambda: self.lam.map(Lambda::Lambda).or(self.c.map(Lambda::C)),
            method: Method::from_name(&self.method).or_else(refuse)?,
            ..NeuroOptions::default()
        };
        options.method_options.memory = self.memory;
        options.method_options.seed = self.seed;
        options.rules.tol = self.tol;
        options.rules.max_evaluations = self.max_evals;
        options.rules.max_seconds = self.max_seconds;
        Ok(options)
    }
}

/// Trains.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn train_neuro<'py>(
    py: Python<'py>,
    features: Features<'py>,
    starts: PyReadonlyArray1<'py, u64>,
    attributes: Option<Vec<String>>,
    classes: Vec<String>,
    labels: PyReadonlyArray1<'py, u16>,
    options: Options,
    callback: Option<Py<PyAny>>,
) -> PyResult<Trained<'py, Neuro>> {
    let threads = options.threads;
    let options = options.options()?;
    let data = labelled(&features, &starts, attributes, classes, &labels)?;
    let cancel = Cancel::new();
    let work = |observer: &mut dyn Observer| train(&data, &options, &cancel, observer, &mut ());
    let watched = watch::run(py, threads, &cancel, callback.as_ref(), work)?;
    trained(py, watched, Neuro::new)
}

/// A trained network under a chain.
#[pyclass(module = "minorant._core", frozen, extends = Tagger)]
pub(crate) struct Neuro(Arc<NeuroModel>);

impl Neuro {
    fn new(model: NeuroModel) -> PyClassInitializer<Neuro> {
        let (per, model) = (model.per, Arc::new(model));
        PyClassInitializer::from(Tagger { model: model.clone(), per }).add_subclass(Neuro(model))
    }
}

#[pymethods]
impl Neuro {
    /// All weights, as the file has them.
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.weights)
    }

    /// The weights that training began with.
    fn start<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.start)
    }

    /// Saves the model to the file; the command reads it.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.save(&path)).map_err(|error| file_error(&error))
    }

    /// Loads a model from a file that this package or the command wrote.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Py<Neuro>> {
        match py.detach(|| AnyModel::load(&path)).map_err(|error| file_error(&error))? {
            AnyModel::Neuro(model) => Py::new(py, Neuro::new(model)),
            _ => refuse(format!("{} holds another model than a network", path.display())),
        }
    }

    /// The model from the bytes of a file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: Vec<u8>) -> PyResult<Py<Neuro>> {
        let name = Path::new("a pickled model");
        Py::new(py, Neuro::new(NeuroModel::from_bytes(name, bytes).or_else(refuse)?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Recipe<'py>> {
        recipe(slf, &slf.get().0.to_bytes())
    }

    #[getter]
    fn name(&self) -> &'static str {
        minorant::model::NEURO_CRF
    }

    /// What is known of the run that made it.
    #[getter]
    fn facts(&self) -> Facts {
        let certificate = Certificate { objective: self.0.objective, lower_bound: None };
        Facts::certified(&self.0.solver, &self.0.status, self.0.tol, certificate)
            .at(self.0.lambda)
            .near(self.0.local_gap)
    }

    #[getter]
    fn hidden(&self) -> Vec<usize> {
        self.0.network.hidden.clone()
    }

    #[getter]
    fn activation(&self) -> &'static str {
        self.0.network.activation.as_str()
    }

    #[getter]
    fn pretrain(&self) -> &'static str {
        self.0.pretrain.as_str()
    }

    #[getter]
    fn boundary(&self) -> bool {
        self.0.network.top.boundary
    }
}
