//! What a run ends with: the outcome, or why there is none.

use super::{Carrying, Checkpoints, Finished, Status, finished};
use crate::archive::{Archive, ArchiveError};
use crate::certificate::{BoundOverLambda, Certificate};
use crate::proof::Proof;
use crate::risk::{Point, RiskError};
use crate::trace::TraceRecord;

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

    /// The outcome of a run that was not begun: its start point, which is not evaluated, with the value that
    /// is known of it.
    pub(crate) fn not_begun(w: Vec<f64>, value: f64, status: Status) -> Self {
        let certificate = Certificate { objective: value, lower_bound: None };
        Outcome::bare(Point::bare(w, value), certificate, status)
    }

    /// What several runs, one after the other, come to together.
    pub(crate) fn together(outcomes: &[Outcome]) -> TraceRecord {
        let sum = |of: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(of).sum::<f64>();
        let objective = sum(&|o| o.certificate.objective);
        TraceRecord {
            iteration: outcomes.iter().map(|o| o.iterations).sum(),
            evaluations: outcomes.iter().map(|o| o.evaluations).sum(),
            seconds: sum(&|o| o.seconds),
            objective,
            best_objective: objective,
            lower_bound: outcomes.iter().map(|o| o.certificate.lower_bound).sum(),
            local_gap: outcomes.iter().map(|o| o.local_gap).sum(),
            master_seconds: sum(&|o| o.master_seconds),
            ..TraceRecord::default()
        }
    }

    /// The runs of a checkpoint that are finished, to go on behind them.
    pub(crate) fn resume(
        checkpoints: &mut dyn Checkpoints,
    ) -> Result<Carrying<'_, Vec<Self>>, RunError> {
        let load = |archive: &mut Archive| finished(archive, u64::MAX, Outcome::load);
        Ok(Carrying::resume(checkpoints, load)?)
    }

    /// The outcome that [`Finished::save`] stored.
    fn load(archive: &mut Archive) -> Result<Self, ArchiveError> {
        let w = archive.take_reals("w")?;
        let numbers = archive.take_reals("numbers")?;
        // Archives of 0.1 know none.
        let intercept = archive.take_reals("intercept").unwrap_or_default();
        let counts = archive.take_integers("counts")?;
        let (
            &[value, objective, bound, local_gap, seconds, master_seconds, rounding],
            &[evaluations, iterations, direction_steps, status],
        ) = (&numbers[..], &counts[..])
        else {
            return Err(ArchiveError("numbers".into()));
        };
        let known = |number: f64| Some(number).filter(|number| !number.is_nan());
        let point = Point { intercept, ..Point::bare(w, value) };
        let certificate = Certificate { objective, lower_bound: known(bound) };
        let status = Status::of_number(status).unwrap_or(Status::Stalled);
        Ok(Outcome {
            local_gap: known(local_gap),
            proof: Proof::load("", archive)?,
            evaluations,
            iterations,
            direction_steps,
            seconds,
            master_seconds,
            rounding,
            ..Outcome::bare(point, certificate, status)
        })
    }
}

impl Finished for Outcome {
    fn status(&self) -> Status {
        self.status
    }

    fn save(&self, archive: &mut Archive) {
        archive.put_reals("w", self.point.w.clone());
        let bound = self.certificate.lower_bound.unwrap_or(f64::NAN);
        let local_gap = self.local_gap.unwrap_or(f64::NAN);
        let numbers = [self.point.value, self.certificate.objective, bound, local_gap];
        let further = [self.seconds, self.master_seconds, self.rounding];
        archive.put_reals("numbers", [&numbers[..], &further].concat());
        archive.put_reals("intercept", self.point.intercept.clone());
        let status = self.status.number();
        let counts = [self.evaluations, self.iterations, self.direction_steps, status];
        archive.put_integers("counts", counts);
        if let Some(proof) = &self.proof {
            proof.save("", archive);
        }
    }
}

/// Why there is no outcome.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RunError {
    /// The risk could not be evaluated.
    #[error(transparent)]
    Risk(RiskError),
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
    #[error(
        "the run was stopped before its first evaluation ended: there is no model, and nothing to save"
    )]
    NoPoint,
}

impl From<RiskError> for RunError {
    fn from(error: RiskError) -> Self {
        match error {
            RiskError::Cancelled => RunError::NoPoint,
            error => RunError::Risk(error),
        }
    }
}
