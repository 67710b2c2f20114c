//! Chains for Python: sequences as one matrix of tokens with the places where sequences start,
//! training, prediction, marginals and files.

use crate::facts::{Facts, Recipe, Trained, recipe, trained};
use crate::features::Features;
use crate::model::file_error;
use crate::tagger::Tagger;
use crate::train::{choose, refuse};
use crate::watch;
use minorant::data::{Attributes, Sequences};
use minorant::model::{AnyModel, ChainModel, PROOF_BYTES};
use minorant::risk::Cancel;
use minorant::solver::Method;
use minorant::structured::chain::Pairs;
use minorant::trace::Observer;
use minorant::train::{ChainName, ChainOptions, Lambda, Penalty, Per, train_chain as train};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What an estimator of chains asks for, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    penalty: String,
    observed_pairs: bool,
    boundary: bool,
    bias: Option<f64>,
    per: String,
    label_loss: Option<Vec<f64>>,
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
    fn options(self, model: ChainName) -> PyResult<ChainOptions> {
        let mut options = ChainOptions::new(model);
        let penalties = [("l2", Penalty::L2), ("l1", Penalty::L1)];
        options.penalty = choose("penalty", &self.penalty, &penalties)?;
        let units = [("sequence", Per::Sequence), ("token", Per::Token)];
        options.per = choose("unit of the mean", &self.per, &units)?;
        options.observed_pairs = self.observed_pairs;
        options.boundary = self.boundary;
        options.bias = self.bias;
        options.label_loss = self.label_loss;
        options.example_weights = self.sample_weight;
        options.lambda = self.lam.map(Lambda::Lambda).or(self.c.map(Lambda::C));
        options.method = Method::from_name(&self.method).or_else(refuse)?;
        options.method_options.memory = self.memory;
        options.method_options.seed = self.seed;
        options.rules.tol = self.tol;
        options.rules.max_evaluations = self.max_evals;
        options.rules.max_seconds = self.max_seconds;
        Ok(options)
    }
}

/// Sequences: one row a token, where each sequence starts and the last one ends, and what the
/// columns are called, if they have names.
pub(crate) fn sequences(
    features: &Features<'_>,
    starts: &PyReadonlyArray1<'_, u64>,
    attributes: Attributes,
) -> PyResult<Sequences> {
    let tokens = features.matrix()?;
    let tokens = tokens.select_rows(&(0..tokens.rows()).collect::<Vec<_>>());
    let starts: Vec<usize> = starts.as_slice()?.iter().map(|&start| start as usize).collect();
    let fits = starts.first() == Some(&0)
        && starts.last() == Some(&tokens.rows())
        && starts.is_sorted()
        && tokens.cols() == attributes.len();
    if !fits {
        return Err(PyValueError::new_err("the sequences do not fit their tokens"));
    }
    Ok(Sequences {
        tokens,
        starts,
        labels: Vec::new(),
        classes: Vec::new(),
        attributes,
        template: None,
        lines: Vec::new(),
        unknown: 0,
    })
}

/// Sequences with the label of each token.
pub(crate) fn labelled(
    features: &Features<'_>,
    starts: &PyReadonlyArray1<'_, u64>,
    attributes: Option<Vec<String>>,
    classes: Vec<String>,
    labels: &PyReadonlyArray1<'_, u16>,
) -> PyResult<Sequences> {
    let attributes = match attributes {
        Some(names) => Attributes::Named(Arc::new(names)),
        None => Attributes::Columns(features.matrix()?.cols()),
    };
    let mut data = sequences(features, starts, attributes)?;
    data.labels = labels.as_slice()?.to_vec();
    data.classes = classes;
    if data.labels.len() != data.tokens.rows()
        || data.labels.iter().any(|&label| label as usize >= data.classes.len())
    {
        return refuse("expected one label a token");
    }
    Ok(data)
}

/// Trains.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn train_chain<'py>(
    py: Python<'py>,
    model: &str,
    features: Features<'py>,
    starts: PyReadonlyArray1<'py, u64>,
    attributes: Option<Vec<String>>,
    classes: Vec<String>,
    labels: PyReadonlyArray1<'py, u16>,
    options: Options,
    callback: Option<Py<PyAny>>,
) -> PyResult<Trained<'py, Chain>> {
    let Some(name) = ChainName::from_name(model) else {
        return refuse(format!("there is no chain '{model}'"));
    };
    let threads = options.threads;
    let options = options.options(name)?;
    let data = labelled(&features, &starts, attributes, classes, &labels)?;
    let cancel = Cancel::new();
    let work = |observer: &mut dyn Observer| train(&data, &options, &cancel, observer, &mut ());
    let watched = watch::run(py, threads, &cancel, callback.as_ref(), work)?;
    trained(py, watched, Chain::new)
}

/// The name of the model that a file holds.
#[pyfunction]
pub(crate) fn model_name(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| AnyModel::name_in(&path)).map_err(|error| file_error(&error))
}

/// A trained chain with its certificate and, where it was kept, its proof.
#[pyclass(module = "minorant._core", frozen, extends = Tagger)]
pub(crate) struct Chain(Arc<ChainModel>);

impl Chain {
    fn new(model: ChainModel) -> PyClassInitializer<Chain> {
        let (per, model) = (model.per, Arc::new(model));
        PyClassInitializer::from(Tagger { model: model.clone(), per }).add_subclass(Chain(model))
    }

    fn of(model: AnyModel, name: &Path) -> PyResult<PyClassInitializer<Chain>> {
        match model {
            AnyModel::Chain(model) => Ok(Chain::new(model)),
            _ => refuse(format!("{} holds another model than a chain", name.display())),
        }
    }
}

#[pymethods]
impl Chain {
    /// All weights, as the file has them.
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.weights)
    }

    /// The pairs that have a weight, where not all have: where the labels of each attribute begin,
    /// the labels, and the label pairs as from · K + to.
    fn pairs(&self) -> Option<(Vec<usize>, Vec<u16>, Vec<u32>)> {
        match &self.0.shape.pairs {
            Pairs::All => None,
            Pairs::Observed { starts, labels, transitions } => {
                Some((starts.clone(), labels.clone(), transitions.clone()))
            }
        }
    }

    /// Saves the model to the file; the command reads it.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<bool> {
        py.detach(|| self.0.save(&path, PROOF_BYTES)).map_err(|error| file_error(&error))
    }

    /// Loads a chain from a file that this package or the command wrote.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Py<Chain>> {
        let model = py.detach(|| AnyModel::load(&path)).map_err(|error| file_error(&error))?;
        Py::new(py, Chain::of(model, &path)?)
    }

    /// The chain from the bytes of a file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: Vec<u8>) -> PyResult<Py<Chain>> {
        let name = Path::new("a pickled model");
        Py::new(py, Chain::of(AnyModel::from_bytes(name, bytes).or_else(refuse)?, name)?)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Recipe<'py>> {
        recipe(slf, &slf.get().0.to_bytes(PROOF_BYTES))
    }

    #[getter]
    fn name(&self) -> &'static str {
        self.0.model.as_str()
    }

    /// What is known of the run that made it.
    #[getter]
    fn facts(&self) -> Facts {
        Facts::certified(&self.0.solver, &self.0.status, self.0.tol, self.0.certificate)
            .at(self.0.lambda)
    }

    #[getter]
    fn penalty(&self) -> &'static str {
        match self.0.penalty {
            Penalty::L2 => "l2",
            Penalty::L1 => "l1",
        }
    }

    #[getter]
    fn boundary(&self) -> bool {
        self.0.shape.boundary
    }

    #[getter]
    fn bias(&self) -> Option<f64> {
        self.0.shape.bias
    }

    #[getter]
    fn label_loss(&self) -> Option<Vec<f64>> {
        self.0.label_loss.clone()
    }
}
