//! Regularised risk minimisation with a proof.

pub mod archive;
pub mod audit;
pub mod bundle;
pub mod certificate;
pub mod checkpoint;
mod container;
mod fingerprint;
pub mod generate;
pub mod line;
pub mod master;
pub mod model;
pub mod regularizer;
pub mod risk;
pub mod solver;
pub mod trace;
pub mod train;

pub use container::{FileError, write_atomically};
pub use minorant_data as data;
pub use minorant_linalg as linalg;
