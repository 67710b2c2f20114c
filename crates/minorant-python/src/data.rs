//! Examples as Python hands them over, and as the library takes them: rows, sequences of tokens or
//! recordings, whichever a model asks for. Features of rows stay where NumPy has them: the Python
//! half hands over C-ordered arrays, or the three arrays of a CSR matrix with indices in the
//! library's own widths.

use crate::cache::{Rows, Tokens};
use crate::train::refuse;
use minorant::data::{
    Attributes, Dataset, Label, LabelRows, LabelledBy, Labels, Recordings, Sequences,
};
use minorant::family::{Data, DataKind, Form, Reading};
use minorant::linalg::{Matrix, Values};
use numpy::{PyReadonlyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use std::borrow::Cow;
use std::sync::Arc;

type Starts<'py> = PyReadonlyArray1<'py, u64>;

/// Numbers in single or in double precision.
#[derive(FromPyObject)]
pub(crate) enum Reals<'py> {
    /// In single precision.
    Single(PyReadonlyArrayDyn<'py, f32>),
    /// In double precision.
    Double(PyReadonlyArrayDyn<'py, f64>),
}

impl Reals<'_> {
    fn values(&self) -> PyResult<Values<'_>> {
        Ok(match self {
            Reals::Single(array) => Values::F32(Cow::Borrowed(array.as_slice()?)),
            Reals::Double(array) => Values::F64(Cow::Borrowed(array.as_slice()?)),
        })
    }

    fn shape(&self) -> &[usize] {
        match self {
            Reals::Single(array) => array.shape(),
            Reals::Double(array) => array.shape(),
        }
    }
}

/// Rows of features as Python hands them over.
#[derive(FromPyObject)]
pub(crate) enum Features<'py> {
    /// Columns, row starts, column indices and values.
    Sparse(usize, Starts<'py>, PyReadonlyArray1<'py, u32>, Reals<'py>),
    /// Dense rows.
    Dense(Reals<'py>),
    /// The rows of a cache.
    Cached(Bound<'py, Rows>),
    /// The tokens of a cache.
    Tokens(Bound<'py, Tokens>),
}

impl Features<'_> {
    /// The matrix, checked, without a copy.
    pub(crate) fn matrix(&self) -> PyResult<Matrix<'_>> {
        match self {
            Features::Sparse(cols, starts, columns, reals) => {
                Matrix::csr(*cols, starts.as_slice()?, columns.as_slice()?, reals.values()?)
                    .or_else(refuse)
            }
            Features::Dense(reals) => match *reals.shape() {
                [rows, cols] => Matrix::dense(rows, cols, reals.values()?).or_else(refuse),
                _ => refuse("expected an array of two dimensions"),
            },
            Features::Cached(rows) => Ok(rows.get().data.features.view()),
            Features::Tokens(tokens) => Ok(tokens.get().data.tokens.view()),
        }
    }
}

/// A class: a number or a text.
pub(crate) fn label(object: &Bound<'_, PyAny>) -> PyResult<Label> {
    object.extract().map(Label::Number).or_else(|_| object.extract().map(Label::Text))
}

/// The same as a Python object.
pub(crate) fn shown<'py>(py: Python<'py>, label: &Label) -> PyResult<Bound<'py, PyAny>> {
    match label {
        Label::Number(number) => number.into_bound_py_any(py),
        Label::Text(text) => text.into_bound_py_any(py),
    }
}

/// Which classes the examples have.
#[derive(FromPyObject)]
enum Numbers<'py> {
    /// One class number a row, sequence, token or frame.
    Single(PyReadonlyArray1<'py, u32>),
    /// Where each row's class numbers start, and the class numbers.
    Sets(Starts<'py>, PyReadonlyArray1<'py, u32>),
    /// A target a row.
    Targets(PyReadonlyArray1<'py, f64>),
}

/// Examples of any kind: a Python object with these attributes, which are None where the kind of data
/// does not have them.
#[derive(FromPyObject)]
pub(crate) struct Examples<'py> {
    /// A row for each row, token or frame.
    features: Features<'py>,
    /// Where each sequence starts, and where the last one ends.
    starts: Option<Starts<'py>>,
    /// What the columns are called.
    names: Option<Vec<String>>,
    /// The classes in order.
    classes: Vec<Bound<'py, PyAny>>,
    /// Which of these classes the examples have.
    labels: Option<Numbers<'py>>,
}

/// Examples as the library takes them.
pub(crate) enum Held<'a> {
    Rows(Dataset<'a>),
    Sequences(Sequences),
    Recordings(Recordings),
}

impl Held<'_> {
    /// The data, borrowed.
    pub(crate) fn view(&self) -> Data<'_> {
        match self {
            Held::Rows(data) => Data::Rows(data),
            Held::Sequences(data) => Data::Sequences(data),
            Held::Recordings(data) => Data::Recordings(data),
        }
    }
}

impl Examples<'_> {
    /// The rows of features with their labels.
    pub(crate) fn rows(&self) -> PyResult<Dataset<'_>> {
        let features = self.features.matrix()?;
        let labels = self.labels(features.rows())?;
        Ok(Dataset { features, labels })
    }

    /// The examples as data to train on.
    pub(crate) fn of_kind(&self, kind: DataKind) -> PyResult<Held<'_>> {
        match kind {
            DataKind::Rows => self.rows().map(Held::Rows),
            DataKind::Sequences => {
                let attributes = match &self.names {
                    Some(names) => Attributes::Named(Arc::new(names.clone())),
                    None => Attributes::Columns(self.features.matrix()?.cols()),
                };
                self.sequences(attributes)
            }
            DataKind::Recordings(labelled_by) => self.recordings(labelled_by),
            DataKind::Plates | DataKind::Parts => {
                refuse("the model is of images, which the Python package does not hand over")
            }
        }
    }

    /// The examples as data that a model predicts, which knows what its columns are.
    pub(crate) fn for_model(&self, form: &dyn Form) -> PyResult<Held<'_>> {
        match form.reading() {
            Reading { attributes: Some(attributes), .. } => self.sequences(attributes.clone()),
            reading => self.of_kind(reading.kind),
        }
    }

    fn sequences(&self, attributes: Attributes) -> PyResult<Held<'static>> {
        let (tokens, starts) = self.joined()?;
        if tokens.cols() != attributes.len() {
            return refuse("the sequences do not have the columns that their names are for");
        }
        let labels = self.labels(tokens.rows())?;
        let numbers = match &labels.rows {
            // Labels of tokens are numbered by 16 bits, which the Python half sees to.
            LabelRows::Single(numbers) => numbers.iter().map(|&z| z as u16).collect(),
            _ => Vec::new(),
        };
        Ok(Held::Sequences(Sequences {
            tokens,
            starts,
            labels: numbers,
            classes: labels.classes.iter().map(ToString::to_string).collect(),
            attributes,
            template: match &self.features {
                Features::Tokens(tokens) => tokens.get().data.template.clone(),
                _ => None,
            },
            lines: Vec::new(),
            unknown: 0,
        }))
    }

    fn recordings(&self, labelled_by: LabelledBy) -> PyResult<Held<'static>> {
        let (frames, starts) = self.joined()?;
        let labels = self.labels(match labelled_by {
            LabelledBy::Sequence => starts.len() - 1,
            LabelledBy::Frame => frames.rows(),
        })?;
        Ok(Held::Recordings(Recordings { frames, starts, labels }))
    }

    /// The rows of all sequences, and where each sequence starts and the last one ends.
    fn joined(&self) -> PyResult<(Matrix<'static>, Vec<usize>)> {
        let rows = match &self.features {
            Features::Tokens(tokens) => tokens.get().data.tokens.clone(),
            others => {
                let rows = others.matrix()?;
                rows.select_rows(&(0..rows.rows()).collect::<Vec<_>>())
            }
        };
        let starts = self.starts.as_ref().map(|starts| starts.as_slice()).transpose()?;
        let starts: Vec<usize> = starts.unwrap_or(&[]).iter().map(|&at| at as usize).collect();
        let fits =
            starts.first() == Some(&0) && starts.last() == Some(&rows.rows()) && starts.is_sorted();
        if fits {
            Ok((rows, starts))
        } else {
            refuse("the starts of the sequences do not fit the number of rows")
        }
    }

    /// The labels of so many rows, sequences, tokens or frames, where there are any.
    fn labels(&self, expected: usize) -> PyResult<Labels> {
        let (rows, found, numbers) = match &self.labels {
            None => (LabelRows::None, expected, &[][..]),
            Some(Numbers::Single(numbers)) => {
                let numbers = numbers.as_slice()?;
                (LabelRows::Single(numbers.to_vec()), numbers.len(), numbers)
            }
            Some(Numbers::Targets(targets)) => {
                let targets = targets.as_slice()?;
                if !targets.iter().all(|target| target.is_finite()) {
                    return refuse("expected finite targets");
                }
                (Labels::of_targets(targets).rows, targets.len(), &[][..])
            }
            Some(Numbers::Sets(starts, items)) => {
                let (starts, items) = (starts.as_slice()?.to_vec(), items.as_slice()?);
                let is_whole = starts.is_sorted() && starts.last() == Some(&(items.len() as u64));
                let found = if is_whole { starts.len() - 1 } else { 0 };
                (LabelRows::Sets { starts, items: items.to_vec() }, found, items)
            }
        };
        if found != expected || numbers.iter().any(|&z| z as usize >= self.classes.len()) {
            return refuse(format!("expected {expected} labels of the classes, found {found}"));
        }
        let classes = self.classes.iter().map(label).collect::<PyResult<_>>()?;
        Ok(Labels { classes, rows })
    }
}
