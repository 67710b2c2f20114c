//! Records of a run for Python: one as a dictionary, all of them as columns.

use minorant::trace::{Cell, TraceRecord};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

fn object(py: Python<'_>, cell: Cell) -> PyResult<Bound<'_, PyAny>> {
    match cell {
        Cell::Whole(count) => count.into_bound_py_any(py),
        Cell::Number(number) => number.into_bound_py_any(py),
        Cell::Word(name) => name.into_bound_py_any(py),
    }
}

/// One record.
pub(crate) fn record<'py>(py: Python<'py>, record: &TraceRecord) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, cell) in record.cells() {
        dict.set_item(name, object(py, cell)?)?;
    }
    Ok(dict)
}

/// All records, column by column.
pub(crate) fn columns<'py>(
    py: Python<'py>,
    records: &[TraceRecord],
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let rows: Vec<_> = records.iter().map(TraceRecord::cells).collect();
    for (at, (name, _)) in TraceRecord::default().cells().iter().enumerate() {
        let column = rows.iter().map(|row| object(py, row[at].1)).collect::<PyResult<Vec<_>>>()?;
        dict.set_item(name, column)?;
    }
    Ok(dict)
}
