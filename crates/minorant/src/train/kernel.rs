//! From a data set to a fitted kernel model: `s3vm`, `latent-svm` and `robust-svm`. Labels become
//! signs, rows a kernel matrix; more than two classes are trained one against the rest. No
//! mathematics is done here.

use super::machines::Machines;
use super::{TrainError, TrainReport};
use crate::certificate::Certificate;
use crate::fingerprint::Fingerprint;
use crate::kernel::{Gram, Kernel, Points};
use crate::latent;
use crate::model::{KernelModel, Machine, empty_rows};
use crate::risk::Cancel;
use crate::s3vm::large::{LARGE, LargeProblem, fit_large};
use crate::s3vm::{self, Balance, Fit, RampProblem};
use crate::solver::{Checkpoints, RunError, Status, StopRules};
use crate::trace::Observer;
use minorant_data::{Dataset, Label, LabelRows};
use minorant_linalg::Matrix;

/// The kernel models by the names that users type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelName {
    /// The semi-supervised support vector machine.
    S3vm,
    /// The latent support vector machine.
    LatentSvm,
    /// The support vector machine with the ramp loss.
    RobustSvm,
}

impl KernelName {
    /// All of them.
    pub const ALL: [KernelName; 3] =
        [KernelName::S3vm, KernelName::LatentSvm, KernelName::RobustSvm];

    /// The name that users type.
    pub fn as_str(self) -> &'static str {
        match self {
            KernelName::S3vm => "s3vm",
            KernelName::LatentSvm => "latent-svm",
            KernelName::RobustSvm => "robust-svm",
        }
    }

    /// The model with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        KernelName::ALL.into_iter().find(|model| model.as_str() == name)
    }
}

/// Everything that training a semi-supervised machine depends on besides the data.
#[derive(Debug, Clone)]
pub struct S3vmOptions {
    /// The kernel; of a width that fits the data if not given.
    pub kernel: Option<Kernel>,
    /// What a labelled row's loss counts.
    pub c1: f64,
    /// What an unlabelled row's loss counts; 1, and less for more than a thousand rows, if not
    /// given.
    pub c2: Option<f64>,
    /// What is asked of the number of positive labels among the unlabelled rows.
    pub balance: Balance,
    /// The method and its settings.
    pub method: s3vm::Options,
    /// Memory for the kernel matrix, in bytes.
    pub max_bytes: u64,
}

impl Default for S3vmOptions {
    fn default() -> Self {
        S3vmOptions {
            kernel: None,
            c1: 100.0,
            c2: None,
            balance: Balance::Auto,
            method: s3vm::Options::default(),
            max_bytes: 2 << 30,
        }
    }
}

/// Everything that training a latent machine depends on besides the data.
#[derive(Debug, Clone)]
pub struct LatentOptions {
    /// The kernel; of a width that fits the data if not given.
    pub kernel: Option<Kernel>,
    /// Number of components.
    pub components: usize,
    /// What a positive row's loss counts.
    pub c_pos: f64,
    /// What a negative row's loss counts, for each component.
    pub c_neg: f64,
    /// The method and its settings.
    pub method: s3vm::Options,
    /// Memory for the kernel matrix, in bytes.
    pub max_bytes: u64,
}

impl Default for LatentOptions {
    fn default() -> Self {
        LatentOptions {
            kernel: None,
            components: 2,
            c_pos: 1.0,
            c_neg: 1.0,
            method: s3vm::Options::default(),
            max_bytes: 2 << 30,
        }
    }
}

/// Everything that training a machine with the ramp loss depends on besides the data.
#[derive(Debug, Clone)]
pub struct RobustOptions {
    /// The kernel; of a width that fits the data if not given.
    pub kernel: Option<Kernel>,
    /// What a row's loss counts.
    pub c: f64,
    /// Where the loss bends: no row costs more than 1 − S.
    pub ramp: f64,
    /// The method and its settings.
    pub method: s3vm::Options,
    /// Memory for the kernel matrix, in bytes.
    pub max_bytes: u64,
}

impl Default for RobustOptions {
    fn default() -> Self {
        RobustOptions {
            kernel: None,
            c: 1.0,
            ramp: -1.0,
            method: s3vm::Options::default(),
            max_bytes: 2 << 30,
        }
    }
}

impl S3vmOptions {
    /// All settings that a run depends on but for how far to go, as checkpoints name them.
    pub fn settings(&self) -> String {
        let of_losses = (self.c1, self.c2, self.balance);
        format!("s3vm {:?}", (self.kernel, of_losses, of_method(&self.method)))
    }
}

impl LatentOptions {
    /// All settings that a run depends on but for how far to go, as checkpoints name them.
    pub fn settings(&self) -> String {
        let of_losses = (self.components, self.c_pos, self.c_neg);
        format!("latent-svm {:?}", (self.kernel, of_losses, of_method(&self.method)))
    }
}

impl RobustOptions {
    /// All settings that a run depends on but for how far to go, as checkpoints name them.
    pub fn settings(&self) -> String {
        let of_losses = (self.c, self.ramp);
        format!("robust-svm {:?}", (self.kernel, of_losses, of_method(&self.method)))
    }
}

/// Tolerances are among them: inner problems are solved to them.
fn of_method(method: &s3vm::Options) -> impl std::fmt::Debug {
    let s3vm::Options { solver, mode, degree, ramp, seed, rules } = *method;
    (solver, mode, degree, ramp, seed, rules.tol, rules.abs_tol)
}

/// Unlabelled rows whose losses count 1 each, unless told otherwise; of more they count as much as
/// these do together.
const FULL_WEIGHT: usize = 1000;

fn refuse<T>(sentence: impl Into<String>) -> Result<T, TrainError> {
    Err(TrainError::Setting(sentence.into()))
}

fn setting(error: impl std::fmt::Display) -> TrainError {
    TrainError::Setting(error.to_string())
}

/// Trains a semi-supervised machine: rows labelled 0 have no label. Also returns the paper's Δ at
/// the end, where the method knows it.
pub fn train_s3vm(
    data: &Dataset<'_>,
    options: &S3vmOptions,
    cancel: &Cancel,
    observer: &mut dyn Observer,
    checkpoints: &mut dyn Checkpoints,
) -> Result<(KernelModel, TrainReport, Option<f64>), TrainError> {
    let (classes, labels) = classes_of(data)?;
    let unlabelled = labels.iter().filter(|label| label.is_none()).count();
    let count = |class: u32| labels.iter().filter(|label| **label == Some(class)).count();
    let machines = if classes.len() == 2 { 1 } else { classes.len() };
    let fixed = matches!(options.balance, Balance::Count(_) | Balance::Between(..));
    if fixed && machines > 1 {
        return refuse(format!(
            "the balance is a number of positive labels, which goes with two classes, not with {}; for more take auto or none",
            classes.len()
        ));
    }
    let rules = options.method.rules;
    if rules.max_evaluations.is_some_and(|most| most < machines as u64) {
        return refuse(format!(
            "at least one inner optimisation for each of {machines} classes is needed for an answer"
        ));
    }
    let kernel = options.kernel.unwrap_or_else(|| usual_kernel(&data.features));
    kernel.check().map_err(setting)?;
    let points = Points::new(&data.features);
    // By search, many rows are dealt with from coarse to fine, without a kernel matrix.
    let is_large = labels.len() > LARGE
        && kernel != Kernel::Precomputed
        && (options.method.solver, options.method.mode) == (s3vm::Solver::Pdm, s3vm::Mode::Search);
    let gram = if is_large {
        None
    } else {
        Some(Gram::new(kernel, &points, options.max_bytes).map_err(setting)?)
    };
    let c2 = options.c2.unwrap_or(FULL_WEIGHT as f64 / unlabelled.max(FULL_WEIGHT) as f64);
    let shape = (labels.len(), unlabelled);
    let mut state = Machines::resume(checkpoints, shape, machines).map_err(RunError::from)?;
    while state.finished.len() < machines {
        let machine = state.finished.len();
        let positive = if machines == 1 { 1 } else { machine as u32 };
        let sign = |label: &Option<u32>| match label {
            None => 0,
            Some(class) if *class == positive => 1,
            Some(_) => -1,
        };
        let signs: Vec<i8> = labels.iter().map(sign).collect();
        let balance = options
            .balance
            .interval(count(positive), labels.len() - unlabelled, unlabelled)
            .map_err(setting)?;
        // What earlier classes left over, shared by those to come.
        let spent = state.spent(rules.max_evaluations, machines)?;
        let seconds = state.seconds();
        let most = rules.max_evaluations.map(|most| (most - spent) / (machines - machine) as u64);
        let rules = StopRules {
            max_evaluations: most,
            max_seconds: rules.max_seconds.map(|most| (most - seconds).max(0.0)),
            ..rules
        };
        let method = s3vm::Options { rules, ..options.method };
        let fit = match &gram {
            Some(gram) => {
                let problem = s3vm::Problem::new(gram, signs, options.c1, c2, balance);
                s3vm::fit(&problem, &method, cancel, observer, &mut state)
            }
            None => {
                let (c1, points, signs) = (options.c1, &points, &signs[..]);
                let problem = LargeProblem { kernel, points, signs, c1, c2, balance };
                fit_large(problem, &method, cancel, observer, &mut state)
            }
        };
        state.finished.push(fit.map_err(setting)?);
    }
    let fits = state.finished;
    let report = summarise(&fits, data, options.method.solver.name());
    let delta = fits.iter().map(|fit| fit.delta).fold(None, |most: Option<f64>, delta| {
        match (most, delta) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        }
    });
    let used = |i: &usize| fits.iter().any(|fit| fit.solution.beta[*i] != 0.0);
    let support_rows: Vec<usize> = (0..labels.len()).filter(used).collect();
    let machine = |fit: &Fit| Machine {
        beta: support_rows.iter().map(|&i| fit.solution.beta[i]).collect(),
        bias: fit.solution.bias,
        objective: fit.solution.objective(),
    };
    let machines = fits.iter().map(machine).collect();
    let model = KernelModel {
        classes,
        weights: vec![("c1".into(), options.c1), ("c2".into(), c2)],
        balance: Some(in_words(options.balance)),
        tol: rules.tol,
        ..fitted(KernelName::S3vm, kernel, data, (support_rows, machines), &report)
    };
    Ok((model, report, delta))
}

/// Trains a latent machine: the larger label is positive.
pub fn train_latent(
    data: &Dataset<'_>,
    options: &LatentOptions,
    cancel: &Cancel,
    observer: &mut dyn Observer,
    checkpoints: &mut dyn Checkpoints,
) -> Result<(KernelModel, TrainReport), TrainError> {
    let labels = two_classes(data, KernelName::LatentSvm)?;
    let kernel = options.kernel.unwrap_or_else(|| usual_kernel(&data.features));
    let points = Points::new(&data.features);
    let gram = Gram::new(kernel, &points, options.max_bytes).map_err(setting)?;
    let positive = labels.iter().map(|z| *z == 1).collect();
    let problem =
        latent::Problem::new(&gram, positive, options.components, options.c_pos, options.c_neg);
    let fit = latent::fit(&problem, &options.method, cancel, observer, checkpoints);
    let fit = fit.map_err(setting)?;
    let solution = &fit.solution;
    let objective = solution.objective();
    let lower_bound = fit.lower_bound.map(|bound| bound.min(objective));
    let report = TrainReport {
        solver: options.method.solver.name(),
        examples: labels.len(),
        features: data.features.cols(),
        dim: options.components * (labels.len() + 1),
        lambda: f64::NAN,
        regularizer: solution.regularizer,
        risk: solution.risk,
        certificate: Certificate { objective, lower_bound },
        local_gap: Some(solution.local_gap).filter(|gap| gap.is_finite()),
        status: fit.status,
        evaluations: fit.evaluations,
        iterations: fit.iterations,
        direction_steps: 0,
        seconds: fit.seconds,
        master_seconds: 0.0,
    };
    let used = |i: &usize| solution.components.iter().any(|part| part.beta[*i] != 0.0);
    let support_rows: Vec<usize> = (0..labels.len()).filter(used).collect();
    let machine = |part: &latent::Component| Machine {
        beta: support_rows.iter().map(|&i| part.beta[i]).collect(),
        bias: part.bias,
        objective,
    };
    let machines = solution.components.iter().map(machine).collect();
    let model = KernelModel {
        weights: vec![("c_pos".into(), options.c_pos), ("c_neg".into(), options.c_neg)],
        tol: options.method.rules.tol,
        ..fitted(KernelName::LatentSvm, kernel, data, (support_rows, machines), &report)
    };
    Ok((model, report))
}

/// Trains a machine with the ramp loss: the larger label is positive.
pub fn train_robust(
    data: &Dataset<'_>,
    options: &RobustOptions,
    cancel: &Cancel,
    observer: &mut dyn Observer,
    checkpoints: &mut dyn Checkpoints,
) -> Result<(KernelModel, TrainReport), TrainError> {
    let labels = two_classes(data, KernelName::RobustSvm)?;
    let kernel = options.kernel.unwrap_or_else(|| usual_kernel(&data.features));
    let points = Points::new(&data.features);
    let gram = Gram::new(kernel, &points, options.max_bytes).map_err(setting)?;
    let signs = labels.iter().map(|z| if *z == 1 { 1 } else { -1 }).collect();
    let problem = RampProblem { gram: &gram, signs, c: options.c, ramp: options.ramp };
    let fit = s3vm::fit_ramp(&problem, &options.method, cancel, observer, checkpoints);
    let fit = fit.map_err(setting)?;
    let support_rows: Vec<usize> =
        (0..labels.len()).filter(|&i| fit.solution.beta[i] != 0.0).collect();
    let machine = Machine {
        beta: support_rows.iter().map(|&i| fit.solution.beta[i]).collect(),
        bias: fit.solution.bias,
        objective: fit.solution.objective(),
    };
    let report = summarise(&[fit], data, options.method.solver.name());
    let model = KernelModel {
        weights: vec![("c".into(), options.c), ("ramp".into(), options.ramp)],
        tol: options.method.rules.tol,
        ..fitted(KernelName::RobustSvm, kernel, data, (support_rows, vec![machine]), &report)
    };
    Ok((model, report))
}

/// What all kernel models have in common; what losses count, the balance and the tolerance are the
/// caller's to tell.
fn fitted(
    name: KernelName,
    kernel: Kernel,
    data: &Dataset<'_>,
    (support_rows, machines): (Vec<usize>, Vec<Machine>),
    report: &TrainReport,
) -> KernelModel {
    KernelModel {
        model: name,
        kernel,
        classes: data.labels.classes.clone(),
        features: data.features.cols(),
        support: support_matrix(kernel, &data.features, &support_rows),
        machines,
        support_rows,
        weights: Vec::new(),
        balance: None,
        solver: report.solver.into(),
        status: report.status.as_str().into(),
        tol: 0.0,
        certificate: report.certificate,
        local_gap: report.local_gap,
        examples: data.features.rows(),
        data_sha256: data.sha256(),
    }
}

/// Which of two classes each row has.
fn two_classes<'a>(data: &'a Dataset<'_>, model: KernelName) -> Result<&'a [u32], TrainError> {
    let (classes, model) = (data.labels.classes.len(), model.as_str());
    match &data.labels.rows {
        LabelRows::Single(rows) if classes == 2 => Ok(rows),
        LabelRows::Single(_) => refuse(format!(
            "{model} takes two classes, of which the larger is positive; found {classes}"
        )),
        LabelRows::None => refuse("the data has no labels to train on"),
        LabelRows::Sets { .. } => refuse(format!("{model} takes one label a row")),
    }
}

fn in_words(balance: Balance) -> String {
    match balance {
        Balance::None => "none".into(),
        Balance::Count(count) => format!("count={count}"),
        Balance::Between(low, high) => format!("{low}:{high}"),
        Balance::Auto => "auto".into(),
    }
}

/// The classes without 0, and which of them each row has.
fn classes_of(data: &Dataset<'_>) -> Result<(Vec<Label>, Vec<Option<u32>>), TrainError> {
    let rows = match &data.labels.rows {
        LabelRows::Single(rows) => rows,
        LabelRows::None => {
            return refuse("the data has no labels; s3vm needs some, and 0 for rows without one");
        }
        LabelRows::Sets { .. } => {
            return refuse("s3vm takes one label a row, and 0 for rows without one");
        }
    };
    let is_class = |label: &Label| *label != Label::Number(0.0);
    let mut numbers = Vec::new();
    let mut classes = Vec::new();
    for label in &data.labels.classes {
        numbers.push(is_class(label).then_some(classes.len() as u32));
        if is_class(label) {
            classes.push(label.clone());
        }
    }
    let labels: Vec<Option<u32>> = rows.iter().map(|&z| numbers[z as usize]).collect();
    match &classes[..] {
        [] => refuse("expected some rows with a label other than 0, found none"),
        [only] => refuse(format!(
            "expected labelled rows of two or more classes, found {only} only: 0 means unlabelled, so a file with the classes 0 and {only} needs other labels, such as -1 and {only}"
        )),
        _ => Ok((classes, labels)),
    }
}

/// A Gaussian whose width is about a third of the data's spread.
fn usual_kernel(matrix: &Matrix<'_>) -> Kernel {
    let n = matrix.rows().max(1) as f64;
    let (mut sums, mut square) = (vec![0.0; matrix.cols()], 0.0);
    for i in 0..matrix.rows() {
        for (j, x) in matrix.row(i) {
            sums[j] += x;
            square += x * x;
        }
    }
    let mean: f64 = sums.iter().map(|s| (s / n) * (s / n)).sum();
    let spread = (square / n - mean).max(0.0).sqrt();
    Kernel::Rbf { sigma: if spread > 0.0 { 0.35 * spread } else { 1.0 } }
}

/// The support rows as the model keeps them.
fn support_matrix(kernel: Kernel, matrix: &Matrix<'_>, rows: &[usize]) -> Matrix<'static> {
    let kept = || matrix.select_rows(rows);
    match kernel {
        Kernel::Precomputed => empty_rows(rows.len()).unwrap_or_else(kept),
        _ => kept(),
    }
}

/// Sums over the machines.
fn summarise(fits: &[Fit], data: &Dataset<'_>, solver: &'static str) -> TrainReport {
    let sum = |of: &dyn Fn(&Fit) -> f64| fits.iter().map(of).sum::<f64>();
    let count = |of: &dyn Fn(&Fit) -> u64| fits.iter().map(of).sum::<u64>();
    let status = fits.iter().map(|fit| fit.status).find(|status| *status != Status::Converged);
    let objective = sum(&|fit| fit.solution.objective());
    let lower_bound = fits.iter().map(|fit| fit.lower_bound).sum::<Option<f64>>();
    let lower_bound = lower_bound.map(|bound| bound.min(objective));
    TrainReport {
        solver,
        examples: data.features.rows(),
        features: data.features.cols(),
        dim: fits.iter().map(|fit| fit.solution.beta.len() + 1).sum(),
        // There is no λ: what losses count is told by C1 and C2.
        lambda: f64::NAN,
        regularizer: sum(&|fit| fit.solution.regularizer),
        risk: sum(&|fit| fit.solution.risk),
        certificate: Certificate { objective, lower_bound },
        local_gap: Some(sum(&|fit| fit.solution.local_gap)).filter(|gap| gap.is_finite()),
        status: status.unwrap_or(Status::Converged),
        evaluations: count(&|fit| fit.evaluations),
        iterations: count(&|fit| fit.iterations),
        direction_steps: 0,
        seconds: sum(&|fit| fit.seconds),
        master_seconds: 0.0,
    }
}
