//! From a data set to a fitted model: labels become a task, the task a risk, the risk is minimised
//! by a method, and the answer becomes a model with its certificate and proof. Front ends (the
//! command, Python) call [`train`]; no mathematics is done here.

mod chain;
mod from_svm;
mod hmm;
mod image;
mod kernel;
mod machines;
mod neuro;
mod one_vs_rest;
mod options;
mod start;
mod task;
mod validation;

pub use chain::{ChainName, ChainOptions, Per, train_chain};
pub use hmm::{HmmOptions, train_hmm};
pub use image::{ImageModelName, ImageOptions, train_images};
pub use kernel::{
    KernelName, LatentOptions, RobustOptions, S3vmOptions, train_latent, train_robust, train_s3vm,
};
pub use neuro::{NeuroOptions, Pretrain, train_neuro};
pub use options::{
    Lambda, LossName, ModelName, Multiclass, Penalty, TrainError, TrainOptions, Transduction,
};
pub use start::start_from;
pub(crate) use task::{Task, weights_of};

use crate::certificate::Certificate;
use crate::model::{FittedModel, SubProblem};
use crate::risk::Cancel;
use crate::solver::{self, Checkpoints, Outcome, Problem, RunError, Solver, Status, StopRules};
use crate::trace::Observer;
use minorant_data::Dataset;
use minorant_linalg::Design;

/// What a training run gives besides the model.
#[derive(Debug, Clone)]
pub struct TrainReport {
    /// The method that ran.
    pub solver: &'static str,
    /// Rows.
    pub examples: usize,
    /// Columns of the data, the bias excluded.
    pub features: usize,
    /// Number of weights.
    pub dim: usize,
    /// λ.
    pub lambda: f64,
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
    /// Seconds of optimisation.
    pub seconds: f64,
    /// Seconds of them in the master and the bundle's vectors.
    pub master_seconds: f64,
}

impl TrainReport {
    /// The report of one run, on so many examples and features.
    pub fn of_run(
        solver: &'static str,
        (examples, features): (usize, usize),
        lambda: f64,
        outcome: &Outcome,
    ) -> Self {
        TrainReport {
            solver,
            examples,
            features,
            dim: outcome.point.w.len(),
            lambda,
            regularizer: outcome.certificate.objective - outcome.point.value,
            risk: outcome.point.value,
            certificate: outcome.certificate,
            local_gap: outcome.local_gap,
            status: outcome.status,
            evaluations: outcome.evaluations,
            iterations: outcome.iterations,
            direction_steps: outcome.direction_steps,
            seconds: outcome.seconds,
            master_seconds: outcome.master_seconds,
        }
    }
}

/// Trains a model.
pub fn train(
    data: &Dataset<'_>,
    options: &TrainOptions,
    cancel: &Cancel,
    observer: &mut dyn Observer,
    checkpoints: &mut dyn Checkpoints,
) -> Result<(FittedModel, TrainReport), TrainError> {
    let task = Task::new(&data.labels, options)?;
    let weights = weights_of(&data.labels, &task, options)?;
    let design = Design::new(&data.features, options.bias);
    let lambda = options.lambda(&task)?;
    let outputs = task.outputs_per_problem();
    let dim = design.features() * outputs;
    let regularizer = options.regularizer(lambda, design.features(), outputs)?;
    regularizer.check(dim)?;
    options.check_start(dim * task.problems())?;
    let (outcomes, method) = if let Task::OneVsRest { .. } = task {
        one_vs_rest::solve(
            &task,
            design,
            &weights,
            &regularizer,
            options.l1(lambda),
            options,
            cancel,
            observer,
            checkpoints,
        )?
    } else if from_svm::is_start_of(&task, options) {
        let rows = from_svm::Rows { task: &task, data, weights };
        from_svm::solve(&rows, &regularizer, options, cancel, observer, checkpoints)?
    } else {
        let risk = task.risk(0, design, weights, options);
        let problem = Problem::new(&*risk, &regularizer)
            .with_l1(options.l1(lambda))
            .starting_at(options.start.as_deref());
        let (method, settings) = options.method_for(problem);
        let mut solver = method.build(problem, &settings)?;
        let rules = options.rules;
        let outcome = solve(&mut *solver, problem, options, rules, cancel, observer, checkpoints)?;
        (vec![outcome], method)
    };
    let report = summarise(&outcomes, lambda, data, method.name());
    // The fingerprint reads the data once more, for which somebody in a hurry does not wait.
    let fingerprint = || crate::fingerprint::of(data, options.example_weights.as_deref());
    let sha256 = if cancel.is_hurried() { String::new() } else { fingerprint() };
    let model = FittedModel::new(data, sha256, options, &task, &report, problems(outcomes));
    Ok((model, report))
}

/// Runs a method on one problem, to the tolerances or to rounding.
fn solve(
    solver: &mut dyn Solver,
    problem: Problem<'_>,
    options: &TrainOptions,
    rules: StopRules,
    cancel: &Cancel,
    observer: &mut dyn Observer,
    checkpoints: &mut dyn Checkpoints,
) -> Result<Outcome, RunError> {
    if !options.to_rounding {
        return solver::run(solver, problem, rules, cancel, observer, checkpoints);
    }
    // A smooth problem is finished by other means than planes; one with kinks by more of them.
    let to_rounding = StopRules { tol: 0.0, abs_tol: 0.0, ..rules };
    let smooth = problem.risk.is_smooth() && problem.l1 == 0.0;
    let first = if smooth { rules } else { to_rounding };
    let mut outcome = solver::run(solver, problem, first, cancel, observer, checkpoints)?;
    let proof_bytes = options.method_options.proof_bytes;
    solver::finish(problem, &mut outcome, rules, proof_bytes, cancel, observer)?;
    // Where rounding is the aim, to be stopped by it is to converge.
    if outcome.status == Status::Stalled && outcome.certificate.certifies(rules.tol) {
        outcome.status = Status::Converged;
    }
    Ok(outcome)
}

pub(crate) fn problems(outcomes: Vec<Outcome>) -> Vec<SubProblem> {
    let problem = |outcome: Outcome| SubProblem {
        weights: outcome.point.w,
        outputs: outcome.point.outputs,
        certificate: outcome.certificate,
        proof: outcome.proof,
    };
    outcomes.into_iter().map(problem).collect()
}

/// Sums over the subproblems; there is one unless classes are trained one against the rest.
pub(crate) fn summarise(
    outcomes: &[Outcome],
    lambda: f64,
    data: &Dataset<'_>,
    solver: &'static str,
) -> TrainReport {
    let sum = |of: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(of).sum::<f64>();
    let bounds = outcomes.iter().map(|o| o.certificate.lower_bound);
    let lower_bound = bounds.sum::<Option<f64>>();
    // The first class that did not converge tells how the whole run ended.
    let status = outcomes.iter().map(|o| o.status).find(|status| *status != Status::Converged);
    TrainReport {
        solver,
        examples: data.features.rows(),
        features: data.features.cols(),
        dim: outcomes.iter().map(|o| o.point.w.len()).sum(),
        lambda,
        regularizer: sum(&|o| o.certificate.objective - o.point.value),
        risk: sum(&|o| o.point.value),
        certificate: Certificate { objective: sum(&|o| o.certificate.objective), lower_bound },
        local_gap: outcomes.iter().map(|o| o.local_gap).sum(),
        status: status.unwrap_or(Status::Converged),
        evaluations: outcomes.iter().map(|o| o.evaluations).sum(),
        iterations: outcomes.iter().map(|o| o.iterations).sum(),
        direction_steps: outcomes.iter().map(|o| o.direction_steps).sum(),
        seconds: sum(&|o| o.seconds),
        master_seconds: sum(&|o| o.master_seconds),
    }
}
