//! Caches for Python: one that is written batch by batch, and the rows or the sequences of one that is open.
//! What does not fit memory stays on disk.

use crate::data::{Examples, shown};
use crate::train::refuse;
use minorant::data::{
    Attributes, Cache, CacheWriter, Dataset, Format, LabelKind, LabelRows, ReadError, ReadOptions,
    SequenceFormat, SequenceOptions, Sequences, read_sequences,
};
use minorant::family::Streaming;
use minorant::linalg::{Matrix, Traffic};
use minorant::options::Value;
use minorant::options::common::MAX_MEMORY;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A cache that is being written.
#[pyclass(module = "minorant._core", name = "CacheWriter", frozen)]
pub(crate) struct Writing(Mutex<Option<CacheWriter>>);

/// The rows of a cache that is open, with their labels.
#[pyclass(module = "minorant._core", frozen)]
pub(crate) struct Rows {
    pub(crate) data: Dataset<'static>,
}

/// The sequences of a cache that is open.
#[pyclass(module = "minorant._core", frozen)]
pub(crate) struct Tokens {
    pub(crate) data: Sequences,
}

/// The weights of the examples of a cache, where they have some.
#[pyfunction]
pub(crate) fn weights_of(
    py: Python<'_>,
    path: PathBuf,
) -> PyResult<Option<Bound<'_, PyArray1<f64>>>> {
    let found = py.detach(|| Cache::open(&path)?.weights()).map_err(unreadable)?;
    Ok(found.map(|weights| weights.into_pyarray(py)))
}

/// Whether a cache holds sequences of tokens, and not rows.
#[pyfunction]
pub(crate) fn holds_sequences(path: PathBuf) -> PyResult<bool> {
    Ok(Cache::open(&path).map_err(unreadable)?.holds_sequences())
}

fn unreadable(error: ReadError) -> PyErr {
    match error {
        ReadError::Io { .. } => PyOSError::new_err(error.to_string()),
        ReadError::Content { .. } => PyValueError::new_err(error.to_string()),
    }
}

/// Bytes as people write them.
#[pyfunction]
pub(crate) fn bytes_of(text: &str) -> PyResult<u64> {
    match MAX_MEMORY.spec.kind.parse(text) {
        Ok(Value::Whole(bytes)) if bytes > 0 => Ok(bytes),
        _ => refuse(format!("expected a number of bytes such as 500M or 4G, found '{text}'")),
    }
}

#[pymethods]
impl Writing {
    #[new]
    #[pyo3(signature = (path, names=None))]
    fn new(path: PathBuf, names: Option<Vec<String>>) -> PyResult<Self> {
        let mut writer = CacheWriter::create(&path).map_err(unreadable)?;
        writer.set_names(names.unwrap_or_default());
        Ok(Writing(Mutex::new(Some(writer))))
    }

    /// Appends rows with their labels, if they have some.
    #[pyo3(signature = (examples, weights=None))]
    fn push(
        &self,
        py: Python<'_>,
        examples: Examples<'_>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<()> {
        let rows = examples.rows()?;
        let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
        py.detach(|| match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(writer) => writer.push(&rows, weights).map_err(unreadable),
            None => refuse("the cache is complete"),
        })
    }

    /// Gives the file its name.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| match self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(writer) => writer.finish().map_err(unreadable),
            None => refuse("the cache is complete"),
        })
    }
}

#[pymethods]
impl Rows {
    /// Opens a cache, its labels as classes or as targets.
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        as_targets: bool,
        max_memory: Option<u64>,
    ) -> PyResult<Self> {
        let options = ReadOptions {
            label_kind: as_targets.then_some(LabelKind::Targets),
            // What labels a model needs is for the estimators to say.
            for_prediction: true,
            format: Some(Format::Mnt),
            rows_in_memory: Streaming::rows_in_memory(max_memory),
            ..ReadOptions::default()
        };
        let read = || minorant::data::read(&[path], &options);
        Ok(Rows { data: py.detach(read).map_err(unreadable)? })
    }

    /// Rows and columns, stored entries, and the bytes of a value.
    #[getter]
    fn facts(&self) -> Facts {
        facts_of(&self.data.features)
    }

    /// The rows with these numbers, which ascend; those that stay on disk do so here as well.
    fn select(&self, py: Python<'_>, numbers: PyReadonlyArray1<'_, u64>) -> PyResult<Rows> {
        let rows: Vec<usize> = numbers.as_slice()?.iter().map(|&row| row as usize).collect();
        let most = self.data.features.rows();
        if !rows.is_sorted() || rows.last().is_some_and(|&row| row >= most) {
            return refuse(format!("expected numbers of rows below {most} in ascending order"));
        }
        Ok(Rows { data: py.detach(|| self.data.select_rows(&rows)) })
    }

    /// Bytes that were read from disk so far, and those of rows that stay in memory; nothing where all
    /// rows are in memory.
    #[getter]
    fn traffic(&self) -> Option<(u64, u64)> {
        traffic_of(&self.data.features)
    }

    /// The labels: classes with the number of each row's; classes with where the numbers of each row start
    /// and the numbers; or targets. Nothing where rows have none.
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let labels = &self.data.labels;
        let classes: Vec<_> =
            labels.classes.iter().map(|class| shown(py, class)).collect::<PyResult<_>>()?;
        let found = match &labels.rows {
            LabelRows::None => return Ok(None),
            LabelRows::Single(ids) => (classes, ids.clone().into_pyarray(py)).into_pyobject(py)?,
            LabelRows::Sets { starts, items } => {
                let items = items.clone().into_pyarray(py);
                (classes, starts.clone().into_pyarray(py), items).into_pyobject(py)?
            }
            LabelRows::Numbers { width, values } => {
                (*width, values.clone().into_pyarray(py)).into_pyobject(py)?
            }
        };
        Ok(Some(found))
    }
}

/// Shape, stored entries, and the bytes of a value.
type Facts = ((usize, usize), usize, usize);

fn facts_of(matrix: &Matrix<'_>) -> Facts {
    ((matrix.rows(), matrix.cols()), matrix.entries(), matrix.width())
}

fn traffic_of(matrix: &Matrix<'_>) -> Option<(u64, u64)> {
    let Traffic { bytes_read, resident_bytes } = matrix.blocks()?.traffic();
    Some((bytes_read, resident_bytes))
}

#[pymethods]
impl Tokens {
    /// Opens a cache of sequences. Attributes are those of a model, by their names or by how many there are,
    /// or else those that so many tokens have.
    #[new]
    #[pyo3(signature = (path, names=None, width=None, min_count=None, max_memory=None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        names: Option<Vec<String>>,
        width: Option<usize>,
        min_count: Option<u64>,
        max_memory: Option<u64>,
    ) -> PyResult<Self> {
        let named = names.map(|names| Attributes::Named(names.into()));
        let options = SequenceOptions {
            format: Some(SequenceFormat::Mnt),
            known: named.or(width.map(Attributes::Columns)),
            min_count: min_count.unwrap_or(0),
            rows_in_memory: Streaming::rows_in_memory(max_memory),
            ..SequenceOptions::default()
        };
        let shown = path.display().to_string();
        let data = py.detach(|| read_sequences(&[path], &options)).map_err(unreadable)?;
        match data.attributes {
            Attributes::Hashed(_) => refuse(format!(
                "the attributes of {shown} are hashed: only the command can use them"
            )),
            _ => Ok(Tokens { data }),
        }
    }

    /// Tokens and attributes, stored entries, and the bytes of a value.
    #[getter]
    fn facts(&self) -> Facts {
        facts_of(&self.data.tokens)
    }

    /// Bytes that were read from disk so far, and those of tokens that stay in memory; nothing where all
    /// tokens are in memory.
    #[getter]
    fn traffic(&self) -> Option<(u64, u64)> {
        traffic_of(&self.data.tokens)
    }

    /// Where each sequence starts, and where the last one ends.
    fn starts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.data.starts.iter().map(|&at| at as u64).collect::<Vec<_>>().into_pyarray(py)
    }

    /// The names of the columns, where they have some.
    fn names(&self) -> Option<Vec<String>> {
        match &self.data.attributes {
            Attributes::Named(names) => Some(names.to_vec()),
            Attributes::Hashed(_) | Attributes::Columns(_) => None,
        }
    }

    /// The labels in order, and the number of each token's; nothing where tokens have none.
    fn labels<'py>(&self, py: Python<'py>) -> Option<(Vec<String>, Bound<'py, PyArray1<u32>>)> {
        let Sequences { classes, labels, .. } = &self.data;
        let numbers = || labels.iter().map(|&label| label.into()).collect::<Vec<u32>>();
        (!labels.is_empty()).then(|| (classes.clone(), numbers().into_pyarray(py)))
    }
}
