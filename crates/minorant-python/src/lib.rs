//! The compiled half of the Python package: arrays in, answers out. It borrows NumPy's memory, lets
//! go of the interpreter while the library works, and carries interrupts and exceptions across. It
//! computes nothing and decides nothing, and it knows no model by name: what parameters mean and
//! which values they have is the library's option table, and everything that a user sees stands in
//! `python/minorant`.

mod cache;
mod data;
mod minimize;
mod model;
mod options;
mod path;
mod predict;
mod structured;
mod trace;
mod train;
mod watch;

use pyo3::prelude::*;

/// The module `minorant._core`.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::{
        cache::Rows, cache::Tokens, cache::Writing, cache::bytes_of, cache::holds_sequences,
        cache::weights_of, methods, minimize::minimize, model::Model, options::OptionError,
        options::options_of, path::path, predict::scores, structured::train_structured,
        train::train, version,
    };
}

/// The names of all methods.
#[pyfunction]
fn methods() -> Vec<&'static str> {
    minorant::solver::Method::ALL.into_iter().map(|method| method.name()).collect()
}

/// The version of the library.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
