//! `s3vm`: a support vector machine of rows with and without labels. More than two classes are
//! trained one against the rest.

use super::choice::{Rows, choose};
use super::found::Found;
use super::{BY_PDM, KernelForm, Member, TOL, method};
use crate::archive::Archive;
use crate::family::builder::{models, taken};
use crate::family::classes::{UNLABELLED, labelled_classes};
use crate::family::{Answer, Context, FittedModel, Settings, TrainError, Walk, refuse, train};
use crate::kernel::Kernel;
use crate::options::Kind::{Choice, Flag, Number, NumbersOfFile, Text};
use crate::options::Need::{Given, Is};
use crate::options::Range::{Finite, Positive};
use crate::options::common::{self, SOLVER};
use crate::options::reading;
use crate::options::{Effect, Key, Named, named, options, spelled};
use crate::s3vm::large::{LARGE, LargeProblem, fit_large};
use crate::s3vm::{self, Balance, Mode, Options, S3vmFit, S3vmProblem, Solver};
use crate::solver::{Carrying, RunError, StopRules, finished};
use minorant_data::{Dataset, Label, LabelRows};
use std::path::PathBuf;

named!(Mode {
    Search = "search" "every candidate is polished",
    Strict = "strict" "Algorithm 1 as printed",
});

models! {
    unregularized;
    /// rows of which most have no label, with kernels
    /// Rows without one are labelled 0.
    S3vm { name: "s3vm", is_convex: false, example: "moons.svm --sigma 0.35 --balance auto" }
}

spelled!(Balance);

/// Rows without labels: a kernel that is given holds all rows already.
static UNLABELED: Key<Option<PathBuf>> =
    reading::UNLABELED.spec.needs(&[Is("kernel", &["linear", "rbf", "poly"])]).key();

options! {
    /// What the loss of a labelled row counts
    pub C1: f64 = ("c1", "C1", Number(Positive)).default("100").probe("0.3");
    /// What the loss of an unlabelled row counts
    pub C2: Option<f64> = ("c2", "C2", Number(Positive))
        .otherwise("1; of more than 1000 such rows, 1000 by their number").probe("0.3");
    /// Positive labels among the unlabelled rows: none (any number), count=N, LO:HI, or auto
    /// (the labelled share, give or take 5 % of them)
    pub BALANCE: Balance = ("balance", "B", Text(|text| text.parse::<Balance>().map(|_| ())))
        .default("auto").probe("count=2");
    /// pdm: polish every candidate, or Algorithm 1 as printed
    pub MODE: Mode = ("mode", "MODE", Choice(Mode::CHOICES))
        .default("search").of_method().needs(BY_PDM).probe("strict");
    /// cccp: decisions nearer to 0 than |S| leave a row without label
    pub RAMP_OF_CCCP: f64 = ("ramp", "S", Number(Finite))
        .default("-0.2").of_method().needs(&[Is("solver", &["cccp"])])
        .probe_with("-0.9", &["--solver", "cccp"]);
}

options! {
    /// Labels of all rows as numbers, one a line: the trace tells the share of the rows without label
    /// that are labelled right
    pub TRUTH: Option<Vec<f64>> = ("truth", "FILE", NumbersOfFile)
        .otherwise("none").of_output().needs(&[Given("trace")]).probe("{FILE}");
    /// Write the labels p of the rows without label into the trace, as numbers from 0 to 1
    pub TRACE_LABELS: bool = ("trace-labels", "", Flag)
        .default("false").of_output().needs(&[Given("trace")]);
}

/// The absolute gap at which `bb` stops, by which it leaves branches out.
pub static ABS_TOL: Key<f64> = common::ABS_TOL
    .spec
    .help("bb: stop at this absolute gap")
    .needs(&[Is("solver", &["bb"])])
    .effect(Effect::Iterates)
    .probe_with("1e9", &["--solver", "bb"])
    .key();

taken! {
    pub(super) OPTIONS;
    (S3vm) f64 c1: C1;
    (S3vm) f64 c2: C2;
    (S3vm) word balance: BALANCE;
    (S3vm) file unlabeled: UNLABELED;
    (S3vm) word mode: MODE;
    (S3vm) f64 ramp: RAMP_OF_CCCP;
    (S3vm) f64 abs_tol: ABS_TOL;
    (S3vm) numbers truth: TRUTH;
    (S3vm) file trace_labels: TRACE_LABELS;
}

pub(super) static MEMBER: Member = Member {
    name: S3vm::MODEL.name,
    solvers: &Solver::ALL,
    fit,
    fits: |classes, machines| classes >= 2 && machines == functions(classes),
    has_components: false,
    knows_unlabelled: true,
    unproven: "the best of many local optima: nothing is proven about other labelings (solver bb \
               proves it for small data)",
};

/// Up to this many unlabelled rows count 1 each where `c2` is not given; more rows count together as
/// much as this many.
const FULL_WEIGHT: usize = 1000;

/// Decision functions for so many classes.
fn functions(classes: usize) -> usize {
    if classes == 2 { 1 } else { classes }
}

/// Rows labelled 0 have no label.
fn fit(data: &Dataset<'_>, walk: &mut Walk<'_>) -> Result<Answer, TrainError> {
    let (classes, labels) = labelled_classes(&data.labels, MEMBER.name)?;
    let unlabelled = labels.iter().filter(|label| label.is_none()).count();
    let count = |class: u32| labels.iter().filter(|label| **label == Some(class)).count();
    let (functions, balance) = (functions(classes.len()), walk.get(&BALANCE));
    if matches!(balance, Balance::Count(_) | Balance::Between(..)) && functions > 1 {
        return refuse(format!(
            "the balance is a number of positive labels, which goes with two classes, not with {}; for more take auto or none",
            classes.len()
        ));
    }
    let settings = walk.settings;
    let (mode, ramp) = (walk.get(&MODE), walk.get(&RAMP_OF_CCCP));
    let method = Options { mode, ramp, ..method(settings) };
    let mut rules = method.rules;
    if rules.max_evaluations.is_some_and(|most| most < functions as u64) {
        return refuse(format!(
            "at least one inner optimisation for each of {functions} classes is needed for an answer"
        ));
    }
    let rows = Rows::new(data, settings);
    // By search, many rows are dealt with from coarse to fine, without a kernel matrix.
    let is_large = labels.len() > LARGE
        && unlabelled > 0
        && rows.kernel != Kernel::Precomputed
        && (method.solver, mode) == (Solver::Pdm, Mode::Search);
    let gram = match is_large {
        true => None,
        false => Some(rows.gram(&mut rules, walk.cancel)?),
    };
    let usual = FULL_WEIGHT as f64 / unlabelled.max(FULL_WEIGHT) as f64;
    let (c1, c2) = (walk.get(&C1), walk.get(&C2).unwrap_or(usual));
    let of = |archive: &mut Archive| {
        let load = |own: &mut Archive| S3vmFit::load(own, labels.len(), unlabelled);
        finished(archive, functions as u64 - 1, load)
    };
    let truth = walk.get(&TRUTH).map(|truth| truths(&truth, &labels, &classes)).transpose()?;
    let mut state = Carrying::resume(walk.checkpoints, of).map_err(RunError::from)?;
    while state.carried.len() < functions {
        let machine = state.carried.len();
        let positive = if functions == 1 { 1 } else { machine as u32 };
        let sign = |label: &Option<u32>| match label {
            None => 0,
            Some(class) if *class == positive => 1,
            Some(_) => -1,
        };
        let signs: Vec<i8> = labels.iter().map(sign).collect();
        let balance = balance
            .interval(count(positive), labels.len() - unlabelled, unlabelled)
            .or_else(refuse)?;
        // What earlier classes left over, shared by those to come.
        let spent = spent(&state.carried, rules.max_evaluations, functions)?;
        let seconds: f64 = state.carried.iter().map(|fit| fit.seconds).sum();
        let most = rules.max_evaluations.map(|most| (most - spent) / (functions - machine) as u64);
        let rules = StopRules {
            max_evaluations: most,
            max_seconds: rules.max_seconds.map(|most| (most - seconds).max(0.0)),
            ..rules
        };
        let method = Options { rules, ..method };
        let fit = match &gram {
            Some(gram) => {
                let truth = truth.as_ref().map(|all| all.iter().map(|z| *z == positive).collect());
                let problem = S3vmProblem::new(gram, signs, c1, c2, balance);
                let problem = S3vmProblem { truth, ..problem };
                s3vm::fit(&problem, &method, walk.asked.cancel, walk.observer, &mut state)
            }
            None => {
                let (kernel, points, signs) = (rows.kernel, &rows.points, &signs[..]);
                let problem = LargeProblem { kernel, points, signs, c1, c2, balance };
                fit_large(problem, &method, walk.asked.cancel, walk.observer, &mut state)
            }
        };
        state.carried.push(fit.or_else(refuse)?);
    }
    let form = KernelForm::new(&MEMBER, &rows, &classes, [("c1", c1), ("c2", c2)]);
    let form = KernelForm { balance: Some(balance), ..form };
    Ok(Found::of_functions(&state.carried).answer(form, method.solver.name(), data))
}

/// The true classes of the rows without label, of the labels of all rows.
fn truths(
    truth: &[f64],
    labels: &[Option<u32>],
    classes: &[Label],
) -> Result<Vec<u32>, TrainError> {
    if truth.len() != labels.len() {
        let (found, rows) = (truth.len(), labels.len());
        return refuse(format!("--truth: expected a label for each of {rows} rows, found {found}"));
    }
    let class = |label: &f64| {
        let found = classes.iter().position(|class| *class == Label::Number(*label));
        let none = || format!("--truth: {label} is no label of the labelled rows");
        found.map(|at| at as u32).ok_or_else(none).or_else(refuse)
    };
    let unlabelled = truth.iter().zip(labels).filter(|(_, label)| label.is_none());
    unlabelled.map(|(truth, _)| class(truth)).collect()
}

/// Inner problems of the finished machines, which must leave one for each of those that wait.
fn spent(finished: &[S3vmFit], most: Option<u64>, machines: usize) -> Result<u64, RunError> {
    let spent: u64 = finished.iter().map(|fit| fit.evaluations).sum();
    let needed = spent + (machines - finished.len()) as u64;
    match most.filter(|most| *most < needed) {
        Some(most) => Err(RunError::Spent { needed, most }),
        None => Ok(spent),
    }
}

/// Trains on the labelled rows of the data that an `s3vm` of two classes was trained on, with the
/// same kernel; nothing for other models, and none where the kernel is that of all rows.
pub(super) fn by_labelled_rows(
    model: &FittedModel,
    data: &Dataset<'_>,
) -> Result<Option<FittedModel>, TrainError> {
    let form = model.form_as::<KernelForm>();
    let is_fit = |form: &&KernelForm| {
        form.member.knows_unlabelled
            && form.classes.len() == 2
            && form.kernel != Kernel::Precomputed
            && form.features == 2
    };
    let (Some(form), LabelRows::Single(rows)) = (form.filter(is_fit), &data.labels.rows) else {
        return Ok(None);
    };
    let is_labelled = |i: &usize| data.labels.classes[rows[*i] as usize] != UNLABELLED;
    let known: Vec<usize> = (0..rows.len()).filter(is_labelled).collect();
    let mut settings = Settings::of(model.facts.settings.entry())
        .with(&SOLVER, Solver::Ao.name().into())
        .with(&C1, model.facts.settings.get(&C1))
        .with(&TOL, model.facts.tol);
    choose(form.kernel, &mut settings);
    let (model, _) = train(&data.select_rows(&known), &settings, Context::default())?;
    Ok(Some(model))
}
