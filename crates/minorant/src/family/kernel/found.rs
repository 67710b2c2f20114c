//! From what searches found to the answer of a training run: the rows that count, and a report that
//! sums over the searches.

use super::form::{KernelForm, Machine, empty_rows};
use crate::certificate::Certificate;
use crate::family::{Answer, TrainReport};
use crate::kernel::Kernel;
use crate::latent::{Component, LatentFit};
use crate::risk::Point;
use crate::s3vm::S3vmFit;
use crate::solver::{Ending, Outcome};
use minorant_data::Dataset;
use serde_json::json;

/// What the searches for a model's decision functions found.
pub(super) struct Found {
    /// The decision functions, with a coefficient for each row.
    machines: Vec<Machine>,
    /// How the searches ended.
    outcomes: Vec<Outcome>,
    /// ½‖w‖² of all decision functions.
    regularizer: f64,
    /// The paper's Δ at the end, where the method knows it.
    delta: Option<f64>,
    /// Solutions that were read off known critical regions, where the method looks for them.
    regions_reused: Option<u64>,
}

/// The outcome of a search, whatever its solution is made of.
macro_rules! outcome {
    ($fit:expr) => {{
        let (fit, solution) = (&$fit, &$fit.solution);
        let objective = solution.regularizer + solution.risk;
        let certificate = Certificate { objective, lower_bound: fit.lower_bound };
        let point = Point::bare(Vec::new(), solution.risk);
        let mut outcome = Outcome::bare(point, certificate, fit.status);
        outcome.local_gap = Some(solution.local_gap);
        (outcome.evaluations, outcome.iterations) = (fit.evaluations, fit.iterations);
        outcome.seconds = fit.seconds;
        outcome
    }};
}

impl Found {
    /// One decision function for each search.
    pub(super) fn of_functions(fits: &[S3vmFit]) -> Self {
        let machine = |fit: &S3vmFit| {
            let (solution, objective) = (&fit.solution, fit.solution.objective());
            Machine { beta: solution.beta.clone(), bias: solution.bias, objective }
        };
        Found {
            machines: fits.iter().map(machine).collect(),
            outcomes: fits.iter().map(|fit| outcome!(*fit)).collect(),
            regularizer: fits.iter().map(|fit| fit.solution.regularizer).sum(),
            delta: fits.iter().filter_map(|fit| fit.delta).reduce(f64::max),
            regions_reused: fits.iter().map(|fit| fit.regions_reused).sum(),
        }
    }

    /// The components of a latent machine, which one search found together.
    pub(super) fn of_components(fit: LatentFit) -> Self {
        let objective = fit.solution.objective();
        let (outcomes, regularizer) = (vec![outcome!(fit)], fit.solution.regularizer);
        let machine = |Component { beta, bias }: Component| Machine { beta, bias, objective };
        let machines = fit.solution.components.into_iter().map(machine).collect();
        Found { machines, outcomes, regularizer, delta: None, regions_reused: None }
    }

    /// The answer of the training run, in a form that has no decision functions yet.
    pub(super) fn answer(
        self,
        mut form: KernelForm,
        solver: &'static str,
        data: &Dataset<'_>,
    ) -> Answer {
        let features = &data.features;
        let is_used = |i: &usize| self.machines.iter().any(|machine| machine.beta[*i] != 0.0);
        let rows: Vec<usize> = (0..features.rows()).filter(is_used).collect();
        let sizes = (features.rows(), features.cols());
        let report = TrainReport::of_runs(solver, sizes, 0.0, &self.outcomes);
        let Certificate { objective, lower_bound } = report.certificate;
        let lower_bound = lower_bound.map(|bound| bound.min(objective));
        let local_gap = report.local_gap.filter(|gap| gap.is_finite());
        let certificate = Certificate { objective, lower_bound };
        let report = TrainReport {
            dim: self.machines.iter().map(|machine| machine.beta.len() + 1).sum(),
            lambda: None,
            regularizer: self.regularizer,
            ending: Ending { certificate, local_gap, ..report.ending },
            abs_tol: None,
            further: vec![
                ("delta", json!(self.delta)),
                ("regions_reused", json!(self.regions_reused)),
                ("support", json!(rows.len())),
            ],
            ..report
        };
        let on_support = |machine: Machine| Machine {
            beta: rows.iter().map(|&i| machine.beta[i]).collect(),
            ..machine
        };
        form.machines = self.machines.into_iter().map(on_support).collect();
        form.support = match form.kernel {
            Kernel::Precomputed => empty_rows(rows.len()),
            _ => features.select_rows(&rows),
        };
        form.support_rows = rows;
        Answer { form: Box::new(form), proofs: Vec::new(), report }
    }
}
