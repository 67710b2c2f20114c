//! Records of a run for Python: one as a dictionary, all of them as columns.

use minorant::trace::TraceRecord;
use pyo3::prelude::*;
use pyo3::types::PyDict;

macro_rules! fields {
    ($($name:literal: $of:expr;)+) => {
        /// One record.
        pub(crate) fn record<'py>(
            py: Python<'py>,
            record: &TraceRecord,
        ) -> PyResult<Bound<'py, PyDict>> {
            let dict = PyDict::new(py);
            $(dict.set_item($name, of($of)(record))?;)+
            Ok(dict)
        }

        /// All records, column by column.
        pub(crate) fn columns<'py>(
            py: Python<'py>,
            records: &[TraceRecord],
        ) -> PyResult<Bound<'py, PyDict>> {
            let dict = PyDict::new(py);
            $(dict.set_item($name, records.iter().map(of($of)).collect::<Vec<_>>())?;)+
            Ok(dict)
        }
    };
}

/// The function itself; its bounds tell the compiler that it takes records of any lifetime.
fn of<T>(field: impl Fn(&TraceRecord) -> T) -> impl Fn(&TraceRecord) -> T {
    field
}

fields! {
    "iteration": |r| r.iteration;
    "evaluations": |r| r.evaluations;
    "seconds": |r| r.seconds;
    "objective": |r| r.objective;
    "best_objective": |r| r.best_objective;
    "lower_bound": |r| r.lower_bound;
    "gap": |r| r.gap();
    "step": |r| r.step;
    "step_length": |r| r.step_length;
    "locality": |r| r.locality;
    "planes": |r| r.planes;
    "master_seconds": |r| r.master_seconds;
}
