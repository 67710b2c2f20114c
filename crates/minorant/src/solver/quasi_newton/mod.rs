//! What the methods that walk from point to point share: the estimate of the inverse Hessian, the
//! search for a descent direction, line searches, the place where a walk stands, and the bundle
//! that goes with it and knows how far it still is. The methods themselves are one file each, one
//! floor up.

mod companion;
mod dense;
mod direction;
mod memory;
mod search;
mod variable;
mod walk;

pub(super) use companion::Companion;
pub(super) use dense::DenseInverse;
pub(super) use direction::{Direction, Effort, descent_direction};
pub(super) use memory::{LimitedMemory, pairs_that_fit};
pub(super) use search::{Reached, SearchRules};
pub(super) use variable::VariableMetric;
pub(super) use walk::{Site, Turn, Walk};

use crate::archive::{Archive, ArchiveError};
use minorant_linalg::dense::{dot, norm2};

/// Below this cosine between a step and the change of the gradient there is nothing to learn.
const LEAST_COSINE: f64 = 1e-14;

/// Whether a step `s` and the change `y` of the gradient along it tell of any curvature.
pub(super) fn bends(s: &[f64], y: &[f64]) -> bool {
    dot(s, y) > LEAST_COSINE * (norm2(s) * norm2(y)).sqrt()
}

/// to − from.
pub(super) fn difference(to: &[f64], from: &[f64]) -> Vec<f64> {
    to.iter().zip(from).map(|(to, from)| to - from).collect()
}

/// An estimate B of the inverse Hessian.
pub(super) trait InverseHessian: std::fmt::Debug {
    /// B v.
    fn times(&self, v: &[f64]) -> Vec<f64>;

    /// Takes in a step `s` and the change `y` of the gradient along it; sᵀy must be positive.
    fn update(&mut self, s: &[f64], y: &[f64]);

    /// Whether B tells nothing of the objective yet, not even its scale.
    fn is_fresh(&self) -> bool;

    /// Forgets everything.
    fn reset(&mut self);

    /// Writes the estimate.
    fn save(&self, archive: &mut Archive);

    /// Goes back to a saved estimate.
    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError>;
}

/// B = I, whatever happens.
#[derive(Debug)]
pub(super) struct Identity;

impl InverseHessian for Identity {
    fn times(&self, v: &[f64]) -> Vec<f64> {
        v.to_vec()
    }

    fn update(&mut self, _s: &[f64], _y: &[f64]) {}

    fn is_fresh(&self) -> bool {
        true
    }

    fn reset(&mut self) {}

    fn save(&self, _archive: &mut Archive) {}

    fn load(&mut self, _archive: &mut Archive) -> Result<(), ArchiveError> {
        Ok(())
    }
}
