//! The compiled half of the Python package: arrays in, answers out. It borrows NumPy's memory, lets
//! go of the interpreter while the library works, and carries interrupts and exceptions across. It
//! computes nothing and decides nothing, and it knows no model by name: what parameters mean and
//! which values they have is the library's option table, and everything that a user sees stands in
//! `python/minorant`.

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
    use super::methods;
    #[pymodule_export]
    use super::minimize::minimize;
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::options::{OptionError, options_of};
    #[pymodule_export]
    use super::path::path;
    #[pymodule_export]
    use super::predict::scores;
    #[pymodule_export]
    use super::structured::train_structured;
    #[pymodule_export]
    use super::train::train;
    #[pymodule_export]
    use super::version;
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
