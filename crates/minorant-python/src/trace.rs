//! Records of a run for Python: one as a dictionary, all of them as columns.

use minorant::trace::TraceRecord;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// One record.
pub(crate) fn record<'py>(py: Python<'py>, record: &TraceRecord) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("iteration", record.iteration)?;
    dict.set_item("evaluations", record.evaluations)?;
    dict.set_item("seconds", record.seconds)?;
    dict.set_item("objective", record.objective)?;
    dict.set_item("best_objective", record.best_objective)?;
    dict.set_item("lower_bound", record.lower_bound)?;
    dict.set_item("gap", record.gap())?;
    dict.set_item("step", record.step)?;
    dict.set_item("step_length", record.step_length)?;
    dict.set_item("locality", record.locality)?;
    dict.set_item("planes", record.planes)?;
    dict.set_item("master_seconds", record.master_seconds)?;
    Ok(dict)
}

/// All records, column by column.
pub(crate) fn columns<'py>(
    py: Python<'py>,
    records: &[TraceRecord],
) -> PyResult<Bound<'py, PyDict>> {
    fn column<T>(records: &[TraceRecord], of: impl Fn(&TraceRecord) -> T) -> Vec<T> {
        records.iter().map(of).collect()
    }
    let dict = PyDict::new(py);
    dict.set_item("iteration", column(records, |r| r.iteration))?;
    dict.set_item("evaluations", column(records, |r| r.evaluations))?;
    dict.set_item("seconds", column(records, |r| r.seconds))?;
    dict.set_item("objective", column(records, |r| r.objective))?;
    dict.set_item("best_objective", column(records, |r| r.best_objective))?;
    dict.set_item("lower_bound", column(records, |r| r.lower_bound))?;
    dict.set_item("gap", column(records, TraceRecord::gap))?;
    dict.set_item("step", column(records, |r| r.step))?;
    dict.set_item("step_length", column(records, |r| r.step_length))?;
    dict.set_item("locality", column(records, |r| r.locality))?;
    dict.set_item("planes", column(records, |r| r.planes))?;
    dict.set_item("master_seconds", column(records, |r| r.master_seconds))?;
    Ok(dict)
}
