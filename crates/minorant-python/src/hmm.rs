//! Hidden Markov models for Python: recordings as one matrix of frames with the places where
//! sequences start, training, prediction, scores and files.

use crate::facts::{Facts, Recipe, Trained, recipe, trained};
use crate::features::Features;
use crate::labels::Class;
use crate::model::file_error;
use crate::train::{choose, refuse};
use crate::watch;
use minorant::certificate::Certificate;
use minorant::data::{Label, LabelRows, Labels, Recordings};
use minorant::hmm::{Group, Task, Topology};
use minorant::model::{AnyModel, HMM, HmmModel};
use minorant::risk::Cancel;
use minorant::solver::Method;
use minorant::trace::Observer;
use minorant::train::{HmmOptions, Lambda, train_hmm as train};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// What the estimator asks for, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    task: String,
    topology: String,
    states: usize,
    mixtures: usize,
    group_weights: Vec<(String, f64)>,
    validation_fraction: f64,
    sample_weight: Option<Vec<f64>>,
    lam: Option<f64>,
    c: Option<f64>,
    method: String,
    seed: u64,
    tol: f64,
    max_evals: Option<u64>,
    max_seconds: Option<f64>,
    threads: usize,
}

impl Options {
    fn options(self) -> PyResult<HmmOptions> {
        let task = choose("task", &self.task, &Task::ALL.map(|t| (t.as_str(), t)))?;
        let mut options = HmmOptions { task, ..HmmOptions::default() };
        let topologies = Topology::ALL.map(|t| (t.as_str(), t));
        options.topology = choose("topology", &self.topology, &topologies)?;
        options.states = self.states;
        options.mixtures = self.mixtures;
        let groups = Group::ALL.map(|group| (group.as_str(), group));
        let group = |(name, weight): (String, f64)| Ok((choose("group", &name, &groups)?, weight));
        options.group_weights =
            self.group_weights.into_iter().map(group).collect::<PyResult<_>>()?;
        options.validation_fraction = self.validation_fraction;
        options.example_weights = self.sample_weight;
        options.lambda = self.lam.map(Lambda::Lambda).or(self.c.map(Lambda::C));
        options.method = Method::from_name(&self.method).or_else(refuse)?;
        options.method_options.seed = self.seed;
        options.rules.tol = self.tol;
        options.rules.max_evaluations = self.max_evals;
        options.rules.max_seconds = self.max_seconds;
        Ok(options)
    }
}

/// Recordings without labels.
fn recordings(frames: &Features<'_>, starts: &PyReadonlyArray1<'_, u64>) -> PyResult<Recordings> {
    let frames = frames.matrix()?;
    let frames = frames.select_rows(&(0..frames.rows()).collect::<Vec<_>>());
    let starts: Vec<usize> = starts.as_slice()?.iter().map(|&start| start as usize).collect();
    let fits =
        starts.first() == Some(&0) && starts.last() == Some(&frames.rows()) && starts.is_sorted();
    if !fits {
        return Err(PyValueError::new_err("the sequences do not fit their frames"));
    }
    let labels = Labels { classes: Vec::new(), rows: LabelRows::None };
    Ok(Recordings { frames, starts, labels })
}

/// Trains.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn train_hmm<'py>(
    py: Python<'py>,
    frames: Features<'py>,
    starts: PyReadonlyArray1<'py, u64>,
    classes: Vec<Class>,
    labels: PyReadonlyArray1<'py, u32>,
    options: Options,
    callback: Option<Py<PyAny>>,
) -> PyResult<Trained<'py, Hmm>> {
    let threads = options.threads;
    let options = options.options()?;
    let mut data = recordings(&frames, &starts)?;
    let labels = labels.as_slice()?.to_vec();
    let expected = match options.task {
        Task::Classify => data.len(),
        Task::Label => data.frames.rows(),
    };
    if labels.len() != expected || labels.iter().any(|&z| z as usize >= classes.len()) {
        return refuse(format!("expected {expected} labels"));
    }
    let classes = classes.into_iter().map(Label::from).collect();
    data.labels = Labels { classes, rows: LabelRows::Single(labels) };
    let cancel = Cancel::new();
    let work = |observer: &mut dyn Observer| train(&data, &options, &cancel, observer, &mut ());
    let watched = watch::run(py, threads, &cancel, callback.as_ref(), work)?;
    trained(py, watched, Hmm)
}

/// A trained hidden Markov model.
#[pyclass(module = "minorant._core", frozen)]
pub(crate) struct Hmm(HmmModel);

impl Hmm {
    fn work<T: Send>(
        &self,
        py: Python<'_>,
        frames: &Features<'_>,
        starts: &PyReadonlyArray1<'_, u64>,
        threads: usize,
        work: impl FnOnce(&Recordings) -> T + Send,
    ) -> PyResult<T> {
        let data = recordings(frames, starts)?;
        if data.frames.cols() != self.0.shape.features {
            return refuse(format!(
                "expected frames of {} features, found {}",
                self.0.shape.features,
                data.frames.cols()
            ));
        }
        py.detach(|| Ok(watch::pool(threads)?.install(|| work(&data))))
    }
}

#[pymethods]
impl Hmm {
    /// The class of each sequence, or the label of each frame, as positions among the classes.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        frames: Features<'py>,
        starts: PyReadonlyArray1<'py, u64>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let labels = self.work(py, &frames, &starts, threads, |data| self.0.predict(data))?;
        Ok(labels.into_pyarray(py))
    }

    /// The score of each class for each sequence, sequence by sequence.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        frames: Features<'py>,
        starts: PyReadonlyArray1<'py, u64>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let scores = self.work(py, &frames, &starts, threads, |data| self.0.scores(data))?;
        Ok(scores.into_pyarray(py))
    }

    /// The same model with the maximum-likelihood weights that training started from.
    fn start(&self) -> Hmm {
        Hmm(HmmModel { weights: self.0.start.clone(), ..self.0.clone() })
    }

    /// Saves the model to the file; the command reads it.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.save(&path)).map_err(|error| file_error(&error))
    }

    /// Loads a model from a file that this package or the command wrote.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Hmm> {
        match py.detach(|| AnyModel::load(&path)) {
            Ok(AnyModel::Hmm(model)) => Ok(Hmm(model)),
            Ok(_) => refuse(format!("{} holds another model than {HMM}", path.display())),
            Err(error) => Err(file_error(&error)),
        }
    }

    /// The model from the bytes of a file.
    #[staticmethod]
    fn from_bytes(bytes: Vec<u8>) -> PyResult<Hmm> {
        HmmModel::from_bytes(Path::new("a pickled model"), bytes).map(Hmm).or_else(refuse)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Recipe<'py>> {
        recipe(slf, &slf.get().0.to_bytes())
    }

    #[getter]
    fn name(&self) -> &'static str {
        HMM
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
    fn task(&self) -> &'static str {
        self.0.shape.task.as_str()
    }

    #[getter]
    fn topology(&self) -> &'static str {
        self.0.shape.topology.as_str()
    }

    #[getter]
    fn states(&self) -> usize {
        self.0.shape.states
    }

    #[getter]
    fn mixtures(&self) -> usize {
        self.0.shape.mixtures
    }

    #[getter]
    fn features(&self) -> usize {
        self.0.shape.features
    }

    #[getter]
    fn classes(&self) -> Vec<Class> {
        self.0.classes.iter().map(Class::from).collect()
    }

    #[getter]
    fn group_weights(&self) -> Vec<(&'static str, f64)> {
        self.0.group_weights.iter().map(|(group, weight)| (group.as_str(), *weight)).collect()
    }

    #[getter]
    fn validation_fraction(&self) -> f64 {
        self.0.validation_fraction
    }

    #[getter]
    fn validation_error(&self) -> Option<f64> {
        self.0.validation_error
    }
}
