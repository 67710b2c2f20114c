//! What a training run gives besides the model: counts, seconds, and how it ended.

use crate::solver::{Ending, Outcome};
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
    /// How the run ended.
    pub ending: Ending,
    /// The absolute gap that was enough, where it was not the one of the settings.
    pub abs_tol: Option<f64>,
    /// What else the family tells of the run, by the names that programs know it by.
    pub further: Vec<(&'static str, Json)>,
}

impl std::ops::Deref for TrainReport {
    type Target = Ending;

    fn deref(&self) -> &Ending {
        &self.ending
    }
}

impl std::ops::DerefMut for TrainReport {
    fn deref_mut(&mut self) -> &mut Ending {
        &mut self.ending
    }
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
        TrainReport {
            solver,
            examples,
            features,
            dim: outcomes.iter().map(|o| o.point.w.len()).sum(),
            lambda: Some(lambda),
            regularizer: outcomes.iter().map(|o| o.certificate.objective - o.point.value).sum(),
            risk: outcomes.iter().map(|o| o.point.value).sum(),
            ending: Ending::of(outcomes),
            abs_tol: None,
            further: Vec::new(),
        }
    }

    /// The value that the family tells under this name.
    pub fn further(&self, name: &str) -> Option<&Json> {
        self.further.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}
