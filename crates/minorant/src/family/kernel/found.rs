//! From what searches found to the answer of a training run: the rows that count, and a report that
//! sums over the searches.

use super::Member;
use super::choice::Rows;
use super::form::{KernelForm, Machine, empty_rows};
use crate::certificate::Certificate;
use crate::family::{Answer, TrainReport};
use crate::kernel::Kernel;
use crate::latent::{Component, LatentFit};
use crate::risk::Point;
use crate::s3vm::{Balance, Options, S3vmFit};
use crate::solver::Outcome;
use minorant_data::{Dataset, Label};
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
    common: Common,
}

/// What was searched, and how.
pub(super) struct Common {
    pub(super) kernel: Kernel,
    /// The classes in order.
    pub(super) classes: Vec<Label>,
    /// The method.
    pub(super) solver: &'static str,
    /// What losses count, by name.
    pub(super) weights: Vec<(&'static str, f64)>,
    /// The balance, where there is one.
    pub(super) balance: Option<Balance>,
}

impl Common {
    pub(super) fn new(
        rows: &Rows<'_>,
        classes: &[Label],
        method: &Options,
        weights: [(&'static str, f64); 2],
    ) -> Self {
        let (solver, weights) = (method.solver.name(), weights.into());
        Common { kernel: rows.kernel, classes: classes.to_vec(), solver, weights, balance: None }
    }
}

/// The outcome of a search, whatever its solution is made of.
macro_rules! outcome {
    ($fit:expr) => {{
        let (fit, solution) = (&$fit, &$fit.solution);
        Outcome {
            point: Point { w: Vec::new(), outputs: Vec::new(), value: solution.risk },
            certificate: Certificate {
                objective: solution.regularizer + solution.risk,
                lower_bound: fit.lower_bound,
            },
            proof: None,
            local_gap: Some(solution.local_gap),
            bounds: None,
            status: fit.status,
            evaluations: fit.evaluations,
            iterations: fit.iterations,
            direction_steps: 0,
            seconds: fit.seconds,
            master_seconds: 0.0,
        }
    }};
}

impl Found {
    /// One decision function for each search.
    pub(super) fn of_functions(fits: &[S3vmFit], common: Common) -> Self {
        let machine = |fit: &S3vmFit| {
            let (solution, objective) = (&fit.solution, fit.solution.objective());
            Machine { beta: solution.beta.clone(), bias: solution.bias, objective }
        };
        Found {
            machines: fits.iter().map(machine).collect(),
            outcomes: fits.iter().map(|fit| outcome!(*fit)).collect(),
            regularizer: fits.iter().map(|fit| fit.solution.regularizer).sum(),
            delta: fits.iter().filter_map(|fit| fit.delta).reduce(f64::max),
            common,
        }
    }

    /// The components of a latent machine, which one search found together.
    pub(super) fn of_components(fit: LatentFit, common: Common) -> Self {
        let objective = fit.solution.objective();
        let (outcomes, regularizer) = (vec![outcome!(fit)], fit.solution.regularizer);
        let machine = |Component { beta, bias }: Component| Machine { beta, bias, objective };
        let machines = fit.solution.components.into_iter().map(machine).collect();
        Found { machines, outcomes, regularizer, delta: None, common }
    }

    /// The answer of the training run.
    pub(super) fn answer(self, member: &'static Member, data: &Dataset<'_>) -> Answer {
        let is_used = |i: &usize| self.machines.iter().any(|machine| machine.beta[*i] != 0.0);
        let support_rows: Vec<usize> = (0..data.features.rows()).filter(is_used).collect();
        let report = self.report(data, support_rows.len());
        let on_support = |machine: &Machine| Machine {
            beta: support_rows.iter().map(|&i| machine.beta[i]).collect(),
            ..*machine
        };
        let Common { kernel, classes, weights, balance, .. } = self.common;
        let kept = || data.features.select_rows(&support_rows);
        let form = KernelForm {
            member,
            kernel,
            features: data.features.cols(),
            support: match kernel {
                Kernel::Precomputed => empty_rows(support_rows.len()).unwrap_or_else(kept),
                _ => kept(),
            },
            machines: self.machines.iter().map(on_support).collect(),
            support_rows,
            classes,
            weights: weights.into_iter().map(|(name, c)| (name.into(), c)).collect(),
            balance,
        };
        Answer { form: Box::new(form), proofs: Vec::new(), report }
    }

    fn report(&self, data: &Dataset<'_>, support: usize) -> TrainReport {
        let sizes = (data.features.rows(), data.features.cols());
        let report = TrainReport::of_runs(self.common.solver, sizes, 0.0, &self.outcomes);
        let Certificate { objective, lower_bound } = report.certificate;
        let lower_bound = lower_bound.map(|bound| bound.min(objective));
        TrainReport {
            dim: self.machines.iter().map(|machine| machine.beta.len() + 1).sum(),
            lambda: None,
            regularizer: self.regularizer,
            certificate: Certificate { objective, lower_bound },
            local_gap: report.local_gap.filter(|gap| gap.is_finite()),
            further: vec![("delta", json!(self.delta)), ("support", json!(support))],
            ..report
        }
    }
}
