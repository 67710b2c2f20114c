//! What a run ends with: the outcome, or why there is none.

use super::Status;
use crate::archive::ArchiveError;
use crate::certificate::{BoundOverLambda, Certificate};
use crate::proof::Proof;
use crate::risk::{Point, RiskError};

/// What a run found.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The best point, with its risk computed at exactly these weights.
    pub point: Point,
    /// Objective and bound.
    pub certificate: Certificate,
    /// The dual point behind the bound, where it could be kept.
    pub proof: Option<Proof>,
    /// The gap of the local model, where the risk is not convex.
    pub local_gap: Option<f64>,
    /// The bound of the same dual point for every λ, where the method tells it.
    pub bounds: Option<BoundOverLambda>,
    /// How the run ended.
    pub status: Status,
    /// Evaluations.
    pub evaluations: u64,
    /// Iterations.
    pub iterations: u64,
    /// Steps of direction finding, where the method has that.
    pub direction_steps: u64,
    /// The iterations that Theorem 1 of Do and Artières allows, with the steepest plane seen.
    pub iteration_bound: Option<f64>,
    /// Seconds of optimisation.
    pub seconds: f64,
    /// Seconds of them in the master and the bundle's vectors.
    pub master_seconds: f64,
    /// How far rounding may have moved the objective, which is rounded up by so much.
    pub rounding: f64,
}

impl Outcome {
    /// The outcome of which only a point and its certificate are known.
    pub(crate) fn bare(point: Point, certificate: Certificate, status: Status) -> Self {
        Outcome {
            point,
            certificate,
            proof: None,
            local_gap: None,
            bounds: None,
            status,
            evaluations: 0,
            iterations: 0,
            direction_steps: 0,
            iteration_bound: None,
            seconds: 0.0,
            master_seconds: 0.0,
            rounding: 0.0,
        }
    }
}

/// Why there is no outcome.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RunError {
    /// The risk could not be evaluated.
    #[error(transparent)]
    Risk(#[from] RiskError),
    /// The checkpoint does not fit the problem.
    #[error(transparent)]
    Resume(#[from] ArchiveError),
    /// The checkpoint has used more evaluations than are allowed.
    #[error(
        "the checkpoint needs {needed} evaluations for an answer, but at most {most} are allowed"
    )]
    Spent {
        /// Evaluations that its answer takes.
        needed: u64,
        /// Evaluations that are allowed.
        most: u64,
    },
    /// The run was stopped before it had a first point.
    #[error("the run was stopped before its first evaluation ended")]
    NoPoint,
}
