//! What trained models that label sequences have in common as Python objects: labels, marginals
//! and what their tokens look like. Chains and networks are classes on top of it.

use crate::chain::sequences;
use crate::features::Features;
use crate::watch;
use minorant::data::{Attributes, Sequences};
use minorant::model::SequenceModel;
use minorant::train::Per;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::sync::Arc;

/// A trained model that labels sequences.
#[pyclass(module = "minorant._core", frozen, subclass)]
pub(crate) struct Tagger {
    pub(crate) model: Arc<dyn SequenceModel + Send + Sync>,
    pub(crate) per: Per,
}

impl Tagger {
    /// Does some work on sequences without labels, on so many threads.
    fn work<T: Send>(
        &self,
        py: Python<'_>,
        (features, starts): (&Features<'_>, &PyReadonlyArray1<'_, u64>),
        threads: usize,
        work: impl FnOnce(&dyn SequenceModel, &Sequences) -> T + Send,
    ) -> PyResult<T> {
        let data = sequences(features, starts, self.model.attributes().clone())?;
        py.detach(|| Ok(watch::pool(threads)?.install(|| work(&*self.model, &data))))
    }
}

#[pymethods]
impl Tagger {
    /// The label of each token, as a position among the classes.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        features: Features<'py>,
        starts: PyReadonlyArray1<'py, u64>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<u16>>> {
        let labels =
            self.work(py, (&features, &starts), threads, |model, data| model.predict(data))?;
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
        let found =
            self.work(py, (&features, &starts), threads, |model, data| model.marginals(data))?;
        Ok(found.into_pyarray(py))
    }

    #[getter]
    fn per(&self) -> &'static str {
        match self.per {
            Per::Sequence => "sequence",
            Per::Token => "token",
        }
    }

    #[getter]
    fn classes(&self) -> Vec<String> {
        self.model.classes().to_vec()
    }

    /// The names of the attributes, where they have some.
    #[getter]
    fn attributes(&self) -> Option<Vec<String>> {
        match self.model.attributes() {
            Attributes::Named(names) => Some(names.to_vec()),
            _ => None,
        }
    }

    /// Number of attributes.
    #[getter]
    fn features(&self) -> usize {
        self.model.attributes().len()
    }

    /// Whether attributes are numbered by a hash of their names.
    #[getter]
    fn is_hashed(&self) -> bool {
        matches!(self.model.attributes(), Attributes::Hashed(_))
    }
}
