//! Networks under a chain for Python: training, prediction, marginals and files. Sequences come as
//! those of chains do.

use crate::chain::{labelled, on_sequences};
use crate::facts::{Facts, Recipe, Trained, recipe, trained};
use crate::features::Features;
use crate::model::file_error;
use crate::train::{choose, refuse};
use crate::watch;
use minorant::data::Attributes;
use minorant::model::{AnyModel, NeuroModel, SequenceModel};
use minorant::neural::Activation;
use minorant::risk::Cancel;
use minorant::solver::Method;
use minorant::trace::Observer;
use minorant::train::{Lambda, NeuroOptions, Per, Pretrain, train_neuro as train};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// What the estimator asks for, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    hidden: Vec<usize>,
    activation: String,
    pretrain: String,
    boundary: bool,
    per: String,
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
    trained(py, watched, Neuro)
}

/// A trained network under a chain.
#[pyclass(module = "minorant._core", frozen)]
pub(crate) struct Neuro(NeuroModel);

#[pymethods]
impl Neuro {
    /// The label of each token, as a position among the classes.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        features: Features<'py>,
        starts: PyReadonlyArray1<'py, u64>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<u16>>> {
        let labels = on_sequences(py, (&features, &starts), &self.0.attributes, threads, |data| {
            self.0.predict(data)
        })?;
        Ok(labels.into_pyarray(py))
    }

    /// The probability of each label at each token, token by token.
    fn marginals<'py>(
        &self,
        py: Python<'py>,
        features: Features<'py>,
        starts: PyReadonlyArray1<'py, u64>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let found = on_sequences(py, (&features, &starts), &self.0.attributes, threads, |data| {
            self.0.marginals(data)
        })?;
        Ok(found.into_pyarray(py))
    }

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
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Neuro> {
        match py.detach(|| AnyModel::load(&path)).map_err(|error| file_error(&error))? {
            AnyModel::Neuro(model) => Ok(Neuro(model)),
            _ => refuse(format!("{} holds another model than a network", path.display())),
        }
    }

    /// The model from the bytes of a file.
    #[staticmethod]
    fn from_bytes(bytes: Vec<u8>) -> PyResult<Neuro> {
        let name = Path::new("a pickled model");
        NeuroModel::from_bytes(name, bytes).map(Neuro).or_else(refuse)
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
        Facts {
            lam: Some(self.0.lambda),
            method: self.0.solver.clone(),
            status: self.0.status.clone(),
            tol: self.0.tol,
            objective: self.0.objective,
            lower_bound: None,
            local_gap: self.0.local_gap,
        }
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

    #[getter]
    fn per(&self) -> &'static str {
        match self.0.per {
            Per::Sequence => "sequence",
            Per::Token => "token",
        }
    }

    #[getter]
    fn classes(&self) -> Vec<String> {
        self.0.classes.clone()
    }

    /// The names of the attributes, where they have some.
    #[getter]
    fn attributes(&self) -> Option<Vec<String>> {
        match &self.0.attributes {
            Attributes::Named(names) => Some(names.to_vec()),
            _ => None,
        }
    }

    /// Number of attributes.
    #[getter]
    fn features(&self) -> usize {
        self.0.attributes.len()
    }

    /// Whether attributes are numbered by a hash of their names.
    #[getter]
    fn is_hashed(&self) -> bool {
        matches!(self.0.attributes, Attributes::Hashed(_))
    }
}
