//! From what searches found to the answer of a training run: the rows that count, and a report that
//! sums over the searches.

use super::Member;
use super::form::{KernelForm, Machine, empty_rows};
use crate::certificate::Certificate;
use crate::family::{Answer, TrainReport};
use crate::kernel::Kernel;
use crate::s3vm::{Balance, S3vmFit};
use crate::solver::Status;
use minorant_data::{Dataset, Label};
use minorant_linalg::Matrix;
use serde_json::json;

/// What the searches for a model's decision functions found.
pub(super) struct Found {
    pub(super) kernel: Kernel,
    /// The classes in order.
    pub(super) classes: Vec<Label>,
    /// The decision functions, with a coefficient for each row.
    pub(super) machines: Vec<Machine>,
    /// The searches.
    pub(super) searches: Vec<Search>,
    /// The method.
    pub(super) solver: &'static str,
    /// What losses count, by name.
    pub(super) weights: Vec<(&'static str, f64)>,
    /// The balance, where there is one.
    pub(super) balance: Option<Balance>,
}

/// One search, as a report tells of it.
pub(super) struct Search {
    pub(super) regularizer: f64,
    pub(super) risk: f64,
    pub(super) lower_bound: Option<f64>,
    pub(super) local_gap: f64,
    /// The paper's Δ at the end, where the method knows it.
    pub(super) delta: Option<f64>,
    pub(super) status: Status,
    pub(super) evaluations: u64,
    pub(super) iterations: u64,
    pub(super) seconds: f64,
}

impl From<&S3vmFit> for Search {
    fn from(fit: &S3vmFit) -> Self {
        Search {
            regularizer: fit.solution.regularizer,
            risk: fit.solution.risk,
            lower_bound: fit.lower_bound,
            local_gap: fit.solution.local_gap,
            delta: fit.delta,
            status: fit.status,
            evaluations: fit.evaluations,
            iterations: fit.iterations,
            seconds: fit.seconds,
        }
    }
}

impl From<&S3vmFit> for Machine {
    fn from(fit: &S3vmFit) -> Self {
        let solution = &fit.solution;
        let objective = solution.objective();
        Machine { beta: solution.beta.clone(), bias: solution.bias, objective }
    }
}

impl Found {
    /// The answer of the training run.
    pub(super) fn answer(self, member: &'static Member, data: &Dataset<'_>) -> Answer {
        let is_used = |i: &usize| self.machines.iter().any(|machine| machine.beta[*i] != 0.0);
        let support_rows: Vec<usize> = (0..data.features.rows()).filter(is_used).collect();
        let report = self.report(data, support_rows.len());
        let on_support = |machine: &Machine| Machine {
            beta: support_rows.iter().map(|&i| machine.beta[i]).collect(),
            ..*machine
        };
        let form = KernelForm {
            member,
            kernel: self.kernel,
            features: data.features.cols(),
            support: support_matrix(self.kernel, &data.features, &support_rows),
            machines: self.machines.iter().map(on_support).collect(),
            support_rows,
            classes: self.classes,
            weights: self.weights.into_iter().map(|(name, c)| (name.into(), c)).collect(),
            balance: self.balance,
        };
        Answer { form: Box::new(form), proofs: Vec::new(), report }
    }

    fn report(&self, data: &Dataset<'_>, support: usize) -> TrainReport {
        let searches = || self.searches.iter();
        let objective = searches().map(|s| s.regularizer + s.risk).sum::<f64>();
        let lower_bound = searches().map(|s| s.lower_bound).sum::<Option<f64>>();
        let lower_bound = lower_bound.map(|bound| bound.min(objective));
        // The first search that did not converge tells how the whole ended.
        let status = searches().map(|s| s.status).find(|status| *status != Status::Converged);
        let delta = searches().filter_map(|s| s.delta).reduce(f64::max);
        TrainReport {
            solver: self.solver,
            examples: data.features.rows(),
            features: data.features.cols(),
            dim: self.machines.iter().map(|machine| machine.beta.len() + 1).sum(),
            lambda: None,
            regularizer: searches().map(|s| s.regularizer).sum(),
            risk: searches().map(|s| s.risk).sum(),
            certificate: Certificate { objective, lower_bound },
            local_gap: Some(searches().map(|s| s.local_gap).sum::<f64>())
                .filter(|gap| gap.is_finite()),
            status: status.unwrap_or(Status::Converged),
            evaluations: searches().map(|s| s.evaluations).sum(),
            iterations: searches().map(|s| s.iterations).sum(),
            direction_steps: 0,
            seconds: searches().map(|s| s.seconds).sum(),
            master_seconds: 0.0,
            further: vec![("delta", json!(delta)), ("support", json!(support))],
        }
    }
}

/// The support rows as the model keeps them.
fn support_matrix(kernel: Kernel, matrix: &Matrix<'_>, rows: &[usize]) -> Matrix<'static> {
    let kept = || matrix.select_rows(rows);
    match kernel {
        Kernel::Precomputed => empty_rows(rows.len()).unwrap_or_else(kept),
        _ => kept(),
    }
}
