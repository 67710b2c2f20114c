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
    /// The dual point behind the bound, where it could be kept.
    pub proof: Option<Proof>,
    /// The bound of the same dual point for every λ, where the method tells it.
    pub bounds: Option<BoundOverLambda>,
    /// How the run ended.
    pub ending: Ending,
}

/// How a run ended, or several together, and what that took.
#[derive(Debug, Clone, Copy)]
pub struct Ending {
    /// Objective and bound.
    pub certificate: Certificate,
    /// The gap of the last local model, where the risk is not convex.
    pub local_gap: Option<f64>,
    /// Why it ended.
    pub status: Status,
    /// Evaluations.
    pub evaluations: u64,
    /// Iterations.
    pub iterations: u64,
    /// Steps of direction finding, where the method has that.
    pub direction_steps: u64,
    /// The iterations that Theorem 1 of Do and Artières allows for the tolerance, with the steepest plane
    /// seen.
    pub iteration_bound: Option<f64>,
    /// Seconds of optimisation.
    pub seconds: f64,
    /// Seconds of optimisation that went into the master and the bundle's vectors.
    pub master_seconds: f64,
    /// How far rounding may have moved the objective, which is rounded up by so much.
    pub rounding: f64,
}

impl std::ops::Deref for Outcome {
    type Target = Ending;

    fn deref(&self) -> &Ending {
        &self.ending
    }
}

impl std::ops::DerefMut for Outcome {
    fn deref_mut(&mut self) -> &mut Ending {
        &mut self.ending
    }
}

impl Ending {
    /// An ending of which only the certificate is known.
    pub(crate) fn bare(certificate: Certificate, status: Status) -> Self {
        Ending {
            certificate,
            local_gap: None,
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

    /// What several runs come to together; the first that did not converge tells how the whole ended.
    pub(crate) fn of(outcomes: &[Outcome]) -> Self {
        let sum = |of: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(of).sum::<f64>();
        let whole = |of: &dyn Fn(&Outcome) -> u64| outcomes.iter().map(of).sum::<u64>();
        let status = outcomes.iter().map(|o| o.status).find(|status| *status != Status::Converged);
        let objective = sum(&|o| o.certificate.objective);
        let lower_bound = outcomes.iter().map(|o| o.certificate.lower_bound).sum();
        Ending {
            certificate: Certificate { objective, lower_bound },
            local_gap: outcomes.iter().map(|o| o.local_gap).sum(),
            status: status.unwrap_or(Status::Converged),
            evaluations: whole(&|o| o.evaluations),
            iterations: whole(&|o| o.iterations),
            direction_steps: whole(&|o| o.direction_steps),
            iteration_bound: outcomes.iter().map(|o| o.iteration_bound).sum(),
            seconds: sum(&|o| o.seconds),
            master_seconds: sum(&|o| o.master_seconds),
            rounding: sum(&|o| o.rounding),
        }
    }
}

impl Outcome {
    /// The outcome of which only a point and its certificate are known.
    pub(crate) fn bare(point: Point, certificate: Certificate, status: Status) -> Self {
        let ending = Ending::bare(certificate, status);
        Outcome { point, proof: None, bounds: None, ending }
    }

    /// The outcome of a run that was not begun: its start point, which is not evaluated, with the value that
    /// is known of it.
    pub(crate) fn not_begun(w: Vec<f64>, value: f64, status: Status) -> Self {
        let certificate = Certificate { objective: value, lower_bound: None };
        Outcome::bare(Point::bare(w, value), certificate, status)
    }

    /// What several runs, one after the other, come to together.
    pub(crate) fn together(outcomes: &[Outcome]) -> TraceRecord {
        let ending = Ending::of(outcomes);
        let Certificate { objective, lower_bound } = ending.certificate;
        TraceRecord {
            iteration: ending.iterations,
            evaluations: ending.evaluations,
            seconds: ending.seconds,
            objective,
            best_objective: objective,
            lower_bound,
            local_gap: ending.local_gap,
            master_seconds: ending.master_seconds,
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
        let ending = Ending {
            local_gap: known(local_gap),
            evaluations,
            iterations,
            direction_steps,
            seconds,
            master_seconds,
            rounding,
            ..Ending::bare(certificate, status)
        };
        Ok(Outcome { point, proof: Proof::load("", archive)?, bounds: None, ending })
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
