//! Feature matrices that stay where NumPy has them. The Python half hands over C-ordered arrays, or
//! the three arrays of a CSR matrix with indices in the library's own widths.

use minorant::linalg::{Matrix, Values};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::borrow::Cow;

/// Rows of features as Python hands them over.
#[derive(FromPyObject)]
pub(crate) enum Features<'py> {
    /// Dense rows in single precision.
    Dense32(PyReadonlyArray2<'py, f32>),
    /// Dense rows in double precision.
    Dense64(PyReadonlyArray2<'py, f64>),
    /// Columns, row starts, column indices, values in single precision.
    Sparse32(
        usize,
        PyReadonlyArray1<'py, u64>,
        PyReadonlyArray1<'py, u32>,
        PyReadonlyArray1<'py, f32>,
    ),
    /// The same in double precision.
    Sparse64(
        usize,
        PyReadonlyArray1<'py, u64>,
        PyReadonlyArray1<'py, u32>,
        PyReadonlyArray1<'py, f64>,
    ),
}

impl Features<'_> {
    /// The matrix, checked, without a copy.
    pub(crate) fn matrix(&self) -> PyResult<Matrix<'_>> {
        let matrix = match self {
            Features::Dense32(array) => {
                let [rows, cols] = shape(array.shape());
                Matrix::dense(rows, cols, Values::F32(Cow::Borrowed(array.as_slice()?)))
            }
            Features::Dense64(array) => {
                let [rows, cols] = shape(array.shape());
                Matrix::dense(rows, cols, Values::F64(Cow::Borrowed(array.as_slice()?)))
            }
            Features::Sparse32(cols, starts, columns, values) => {
                let values = Values::F32(Cow::Borrowed(values.as_slice()?));
                Matrix::csr(*cols, starts.as_slice()?, columns.as_slice()?, values)
            }
            Features::Sparse64(cols, starts, columns, values) => {
                let values = Values::F64(Cow::Borrowed(values.as_slice()?));
                Matrix::csr(*cols, starts.as_slice()?, columns.as_slice()?, values)
            }
        };
        matrix.map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

fn shape(shape: &[usize]) -> [usize; 2] {
    [shape[0], shape[1]]
}
