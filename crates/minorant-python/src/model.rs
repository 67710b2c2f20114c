//! A trained model as a Python object: what the command's model files hold.

use crate::facts::{Facts, Recipe, recipe};
use crate::labels::Class;
use crate::train::refuse;
use minorant::FileError;
use minorant::model::{FittedModel, PROOF_BYTES, TaskName, TrainedLoss};
use minorant::train::Penalty;
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// A trained model with its certificate and, where it was kept, its proof.
#[pyclass(module = "minorant._core", frozen)]
pub(crate) struct Model(pub(crate) FittedModel);

pub(crate) fn file_error(error: &FileError) -> PyErr {
    match error {
        FileError::Io(..) => PyOSError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

#[pymethods]
impl Model {
    /// The weights of each problem: features by outputs, the constant feature last.
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
        let shape = [self.0.rows_of_weights(), self.0.outputs_per_problem()];
        let problems = self.0.problems.iter();
        problems.map(|problem| problem.weights.clone().into_pyarray(py).reshape(shape)).collect()
    }

    /// Saves the model to the file; the command reads it.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<bool> {
        py.detach(|| self.0.save(&path, PROOF_BYTES)).map_err(|error| file_error(&error))
    }

    /// Loads a model from a file that this package or the command wrote.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Model> {
        py.detach(|| FittedModel::load(&path)).map(Model).map_err(|error| file_error(&error))
    }

    /// The model from the bytes of a file.
    #[staticmethod]
    fn from_bytes(bytes: Vec<u8>) -> PyResult<Model> {
        let model = FittedModel::from_bytes(Path::new("a pickled model"), bytes);
        model.map(Model).or_else(refuse)
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
    fn task(&self) -> &'static str {
        match self.0.task {
            TaskName::Binary => "binary",
            TaskName::Multiclass => "multiclass",
            TaskName::OneVsRest => "one-vs-rest",
            TaskName::Multilabel => "multilabel",
        }
    }

    #[getter]
    fn loss(&self) -> &'static str {
        match self.0.loss {
            TrainedLoss::Hinge => "hinge",
            TrainedLoss::SquaredHinge => "squared_hinge",
            TrainedLoss::Logistic => "logistic",
            TrainedLoss::Ramp => "ramp",
            TrainedLoss::Transductive => "transductive",
        }
    }

    #[getter]
    fn penalty(&self) -> &'static str {
        match self.0.penalty {
            Penalty::L2 => "l2",
            Penalty::L1 => "l1",
        }
    }

    #[getter]
    fn classes(&self) -> Vec<Class> {
        self.0.classes.iter().map(Class::from).collect()
    }

    #[getter]
    fn features(&self) -> usize {
        self.0.features
    }

    #[getter]
    fn bias(&self) -> Option<f64> {
        self.0.bias
    }

    #[getter]
    fn ramp(&self) -> Option<f64> {
        self.0.ramp
    }

    #[getter]
    fn gamma(&self) -> Option<f64> {
        self.0.gamma
    }

    #[getter]
    fn balance_mean(&self) -> Option<f64> {
        self.0.balance_mean
    }

    #[getter]
    fn threshold(&self) -> Option<f64> {
        self.0.threshold
    }
}
