//! What a training run gives besides the model: counts, seconds, and how it ended.

use crate::certificate::Certificate;
use crate::solver::{Outcome, Status};
use serde_json::Value as Json;

/// What a training run gives besides the model.
#[derive(Debug, Clone)]
pub struct TrainReport {
    /// The solver that ran.
    pub solver: &'static str,
    /// Examples: rows, sequences or images.
    pub examples: usize,
    /// Columns of the data, the bias excluded.
    pub features: usize,
    /// Number of weights.
    pub dim: usize,
    /// λ; nothing where losses are weighed by constants of their own.
    pub lambda: Option<f64>,
    /// Ω at the weights.
    pub regularizer: f64,
    /// R at the weights.
    pub risk: f64,
    /// Objective and bound.
    pub certificate: Certificate,
    /// The gap of the last local model, where the risk is not convex.
    pub local_gap: Option<f64>,
    /// How the run ended.
    pub status: Status,
    /// Evaluations.
    pub evaluations: u64,
    /// Iterations.
    pub iterations: u64,
    /// Steps of direction finding, where the method has that.
    pub direction_steps: u64,
    /// The iterations that Theorem 1 of Do and Artières allows for the tolerance.
    pub iteration_bound: Option<f64>,
    /// Seconds of optimisation.
    pub seconds: f64,
    /// Seconds of optimisation that went into the master and the bundle's vectors.
    pub master_seconds: f64,
    /// How far rounding may have moved the objective, which is rounded up by so much.
    pub rounding: f64,
    /// The absolute gap that was enough, where it was not the one of the settings.
    pub abs_tol: Option<f64>,
    /// What else the family tells of the run, by the names that programs know it by.
    pub further: Vec<(&'static str, Json)>,
}

impl TrainReport {
    /// The report of runs that together found the answer: sums over all of them. There is one run
    /// unless classes are trained one against the rest.
    pub fn of_runs(
        solver: &'static str,
        (examples, features): (usize, usize),
        lambda: f64,
        outcomes: &[Outcome],
    ) -> Self {
        let sum = |of: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(of).sum::<f64>();
        let all = Outcome::together(outcomes);
        // The first run that did not converge tells how the whole ended.
        let status = outcomes.iter().map(|o| o.status).find(|status| *status != Status::Converged);
        TrainReport {
            solver,
            examples,
            features,
            dim: outcomes.iter().map(|o| o.point.w.len()).sum(),
            lambda: Some(lambda),
            regularizer: sum(&|o| o.certificate.objective - o.point.value),
            risk: sum(&|o| o.point.value),
            certificate: Certificate { objective: all.objective, lower_bound: all.lower_bound },
            local_gap: all.local_gap,
            status: status.unwrap_or(Status::Converged),
            evaluations: all.evaluations,
            iterations: all.iteration,
            direction_steps: outcomes.iter().map(|o| o.direction_steps).sum(),
            iteration_bound: outcomes.iter().map(|o| o.iteration_bound).sum(),
            seconds: all.seconds,
            master_seconds: all.master_seconds,
            rounding: sum(&|o| o.rounding),
            abs_tol: None,
            further: Vec::new(),
        }
    }

    /// The value that the family tells under this name.
    pub fn further(&self, name: &str) -> Option<&Json> {
        self.further.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}
