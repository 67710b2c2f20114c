//! A trained model of any family as a Python object: what the command's model files hold.

use crate::data::Examples;
use crate::train::refuse;
use crate::watch;
use minorant::family::{FittedModel, Outputs, PROOF_BYTES, Predictions, Wanted};
use minorant::{Array, FileError};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

/// A trained model with its certificate and, where it was kept, its proof.
#[pyclass(module = "minorant._core", frozen)]
pub(crate) struct Model(pub(crate) FittedModel);

fn file_error(error: FileError) -> PyErr {
    match error {
        FileError::Io(..) => PyOSError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// JSON as Python's own objects.
pub(crate) fn parsed<'py>(py: Python<'py>, json: &Json) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json.to_string(),))
}

impl Model {
    fn predictions(
        &self,
        py: Python<'_>,
        examples: &Examples<'_>,
        wanted: Wanted,
        threads: usize,
    ) -> PyResult<Predictions> {
        let held = examples.for_model(self.0.form())?;
        let work = || self.0.predict_with(held.view(), wanted);
        py.detach(|| PyResult::Ok(watch::pool(threads)?.install(work)))?.or_else(refuse)
    }
}

#[pymethods]
impl Model {
    /// The header of its file: facts of the run that made it, settings, and what the model adds.
    #[getter]
    fn header<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        parsed(py, &Json::Object(self.0.header()))
    }

    /// The arrays of its file by name, those of a proof left out.
    #[getter]
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, array) in self.0.arrays() {
            match array {
                Array::Reals { shape, values } => {
                    dict.set_item(name, values.into_pyarray(py).reshape(shape)?)?;
                }
                Array::Integers { values } => dict.set_item(name, values.into_pyarray(py))?,
            }
        }
        Ok(dict)
    }

    /// The class of each row, sequence, token or frame, as a position among the classes.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        examples: Examples<'py>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        match self.predictions(py, &examples, Wanted::Labels, threads)?.outputs {
            Outputs::Labels(labels) | Outputs::Tokens { labels, .. } => Ok(labels.into_pyarray(py)),
            Outputs::Sets(_) | Outputs::Structures(_) | Outputs::Values(_) => {
                refuse(format!("{} does not predict one class each", self.0.name()))
            }
        }
    }

    /// Decision values, a row for each example or token; or the probabilities of a token's labels.
    #[pyo3(signature = (examples, threads, *, marginals=false))]
    fn scores<'py>(
        &self,
        py: Python<'py>,
        examples: Examples<'py>,
        threads: usize,
        marginals: bool,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let wanted = if marginals { Wanted::Marginals } else { Wanted::Scores };
        match self.predictions(py, &examples, wanted, threads)?.numbers {
            Some(numbers) => {
                let shape = [numbers.rows(), numbers.width];
                numbers.values.into_pyarray(py).reshape(shape)
            }
            None => refuse(format!("{} predicts no numbers besides its labels", self.0.name())),
        }
    }

    /// The same model with the weights that training began with, where its file holds them.
    fn at_start(&self) -> PyResult<Model> {
        match self.0.form().at_start() {
            Some(form) => Ok(Model(self.0.with_form(form))),
            None => refuse(format!("{} does not keep the weights it began with", self.0.name())),
        }
    }

    /// The same model with notes in JSON of what the Python half keeps in the header of its file.
    fn noted(&self, notes: Option<&str>) -> PyResult<Model> {
        let mut model = self.0.clone();
        model.facts.python = notes.map(serde_json::from_str).transpose().or_else(refuse)?;
        Ok(Model(model))
    }

    /// Saves the model to the file; the command reads it.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<bool> {
        py.detach(|| self.0.save(&path, PROOF_BYTES)).map_err(file_error)
    }

    /// Loads a model from a file that this package or the command wrote.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Model> {
        py.detach(|| FittedModel::load(&path)).map(Model).map_err(file_error)
    }

    /// The bytes of its file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes(PROOF_BYTES))
    }

    /// The model from the bytes of a file.
    #[staticmethod]
    fn from_bytes(bytes: Vec<u8>) -> PyResult<Model> {
        FittedModel::from_bytes(Path::new("a pickled model"), bytes).map(Model).or_else(refuse)
    }

    /// How pickle makes the object anew: a function, and what it is called with.
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.get_type().getattr("from_bytes")?, (slf.get().to_bytes(slf.py()),)))
    }
}
