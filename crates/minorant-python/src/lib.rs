//! The compiled half of the Python package: arrays in, answers out. It borrows NumPy's memory, lets
//! go of the interpreter while the library works, and carries interrupts and exceptions across. It
//! computes nothing and decides nothing: defaults, checks of parameters and everything that a user
//! sees stand in `python/minorant`.

mod chain;
mod facts;
mod features;
mod hmm;
mod kernel;
mod labels;
mod minimize;
mod model;
mod neuro;
mod path;
mod predict;
mod structured;
mod tagger;
mod trace;
mod train;
mod watch;

use pyo3::prelude::*;

/// The module `minorant._core`.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::chain::{Chain, model_name, train_chain};
    #[pymodule_export]
    use super::facts::Facts;
    #[pymodule_export]
    use super::hmm::{Hmm, train_hmm};
    #[pymodule_export]
    use super::kernel::{KernelMachine, train_kernel};
    #[pymodule_export]
    use super::methods;
    #[pymodule_export]
    use super::minimize::minimize;
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::neuro::{Neuro, train_neuro};
    #[pymodule_export]
    use super::path::path;
    #[pymodule_export]
    use super::predict::scores;
    #[pymodule_export]
    use super::structured::train_structured;
    #[pymodule_export]
    use super::tagger::Tagger;
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
