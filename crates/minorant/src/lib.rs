//! Regularised risk minimisation with a proof.

pub mod archive;
pub mod bundle;
pub mod certificate;
pub mod line;
pub mod master;
pub mod regularizer;
pub mod risk;
pub mod solver;
pub mod trace;
