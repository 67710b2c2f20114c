//! The one walk from data to a fitted model: settings are checked, the family makes its problem, a
//! method solves it while somebody watches and checkpoints are kept, and the answer becomes a model
//! with its facts and proof. No mathematics is done here.

use super::hold_out::{Choice, Chosen, Judge, Validation};
use super::memory::{check_size, left_for_planes};
use super::streaming::keep_for_training;
use super::{Data, Facts, FittedModel, Form, PROOF_BYTES, Settings, TrainReport};
use crate::fingerprint::Fingerprint;
use crate::options::common as of;
use crate::options::{Asked as Asks, Key, OptionError, Setting};
use crate::proof::Proof;
use crate::regularizer::RegularizerError;
use crate::risk::{Cancel, RiskError};
use crate::solver::{
    self, Carrying, Checkpoints, Method, MethodError, MethodOptions, Outcome, Problem, RunError,
    Status, StopRules, Track, Tuning,
};
use crate::trace::Observer;
use minorant_linalg::Traffic;
use std::cell::RefCell;

/// Why nothing was trained.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// An option is out of range or does not go with the others.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// The data and the settings do not go together.
    #[error("{0}")]
    Setting(String),
    /// The regularizer cannot be made.
    #[error(transparent)]
    Regularizer(#[from] RegularizerError),
    /// The method cannot be used on this problem.
    #[error(transparent)]
    Method(#[from] MethodError),
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl From<String> for TrainError {
    fn from(sentence: String) -> Self {
        TrainError::Setting(sentence)
    }
}

/// Refuses data that does not go with the settings, in a sentence.
pub(crate) fn refuse<T>(sentence: impl std::fmt::Display) -> Result<T, TrainError> {
    Err(TrainError::Setting(sentence.to_string()))
}

/// What a run has besides data and settings: who may cancel it, who watches, where its state is
/// kept, where it starts.
pub struct Context<'c> {
    /// Cancels the run.
    pub cancel: Cancel,
    /// Watches the run.
    pub observer: Option<&'c mut dyn Observer>,
    /// Keeps states of the run, and gives one to go on from.
    pub checkpoints: Option<&'c mut dyn Checkpoints>,
    /// Weights to start from, those of one problem after the other.
    pub start: Option<Vec<f64>>,
    /// Whether to go on past the tolerances, to rounding, for at most 1000 evaluations. With a
    /// tolerance of 0 nothing but the settings limits them.
    pub to_rounding: bool,
    /// Bytes that a proof may take.
    pub proof_bytes: u64,
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").finish_non_exhaustive()
    }
}

impl Default for Context<'_> {
    fn default() -> Self {
        Context {
            cancel: Cancel::new(),
            observer: None,
            checkpoints: None,
            start: None,
            to_rounding: false,
            proof_bytes: PROOF_BYTES,
        }
    }
}

impl<'c> Context<'c> {
    /// The same context with a token that cancels the run.
    pub fn cancelled_by(self, cancel: &Cancel) -> Self {
        Context { cancel: cancel.clone(), ..self }
    }

    /// The same context with somebody who watches the run.
    pub fn observed_by(self, observer: &'c mut dyn Observer) -> Self {
        Context { observer: Some(observer), ..self }
    }

    /// The same context with a place where states of the run are kept.
    pub fn kept_by(self, checkpoints: &'c mut dyn Checkpoints) -> Self {
        Context { checkpoints: Some(checkpoints), ..self }
    }
}

/// What a family's training gives.
#[derive(Debug)]
pub struct Answer {
    /// The fitted form.
    pub(crate) form: Box<dyn Form>,
    /// The proof of each problem's bound.
    pub(crate) proofs: Vec<Option<Proof>>,
    /// Counts, seconds and how the run ended.
    pub(crate) report: TrainReport,
}

impl Answer {
    /// The answer that one run found: `form` makes the fitted form of its weights.
    pub(crate) fn of_run<F: Form>(
        outcome: Outcome,
        method: Method,
        sizes: (usize, usize),
        lambda: f64,
        form: impl FnOnce(Vec<f64>) -> F,
    ) -> Self {
        let runs = std::slice::from_ref(&outcome);
        let report = TrainReport::of_runs(method.name(), sizes, lambda, runs);
        let form = Box::new(form(outcome.point.w));
        Answer { form, proofs: vec![outcome.proof], report }
    }
}

/// Trains a model.
pub fn train<'d>(
    data: impl Into<Data<'d>>,
    settings: &Settings,
    context: Context<'_>,
) -> Result<(FittedModel, TrainReport), TrainError> {
    settings.check()?;
    let data = data.into();
    check_size(data, settings)?;
    keep_for_training(data, settings)?;
    let (mut nobody, mut nowhere) = ((), ());
    let asked = Asked {
        settings,
        cancel: &context.cancel,
        start: context.start.as_deref(),
        to_rounding: context.to_rounding,
        proof_bytes: context.proof_bytes,
        plane_bytes: left_for_planes(data, settings),
        track: None,
    };
    let observer = context.observer.unwrap_or(&mut nobody);
    let checkpoints = context.checkpoints.unwrap_or(&mut nowhere);
    let mut walk = Walk { asked, observer, checkpoints };
    let answer = (settings.entry().family.fit)(data, &mut walk)?;
    // The fingerprint reads the data once more, for which somebody in a hurry does not wait.
    let weights = settings.example_weights();
    let sha256 = if context.cancel.is_hurried() {
        String::new()
    } else {
        data.sha256_with(weights.as_deref())
    };
    let mut report = answer.report;
    let facts = Facts::new(settings, &report, data, sha256);
    let mut model = FittedModel::new(facts, answer.form, answer.proofs);
    let is_rough = report.rounding > ROUGH * report.certificate.objective.abs();
    let planes: usize = model.proofs.iter().flatten().map(Proof::planes).sum();
    let is_cheap = data.products().saturating_mul(planes) < CHEAP;
    if (is_rough || is_cheap) && !context.cancel.is_hurried() && model.without_a_bound().is_none() {
        if let Some(found) = model.claim_what_is_found(data, weights.as_deref()) {
            report.risk += found.objective - report.certificate.objective;
            report.certificate = found;
            report.rounding = model.facts.rounding;
        }
        let rules = settings.rules();
        let gap = report.certificate.gap().unwrap_or(f64::INFINITY);
        let is_good_enough = report.certificate.certifies(rules.tol)
            || gap <= report.abs_tol.unwrap_or(rules.abs_tol);
        report.status = match (report.status, is_good_enough) {
            (Status::Converged, false) => Status::Stalled,
            (Status::Stalled, true) => Status::Converged,
            (status, _) => status,
        };
        model.facts.status = report.status.as_str().into();
    }
    if let Some(why) = data.failure() {
        return Err(TrainError::Run(RunError::Risk(RiskError::Failed(why))));
    }
    if let Some(Traffic { bytes_read, resident_bytes }) = data.traffic() {
        report.further.push(("bytes_read", bytes_read.into()));
        report.further.push(("resident_bytes", resident_bytes.into()));
    }
    Ok((model, report))
}

/// From this share of the objective on, its rounding shows in what an audit finds: the bound is then
/// claimed as the audit will find it. So it is where the audit makes no more products than this, which
/// take a few milliseconds.
const ROUGH: f64 = 1e-10;
const CHEAP: usize = 1 << 18;

/// The settings of methods. What the model does not take has its default.
pub fn method_options(
    settings: &impl Asks,
    proof_bytes: u64,
    plane_bytes: Option<u64>,
) -> MethodOptions {
    MethodOptions {
        memory: settings.value_of(&of::MEMORY),
        parts: settings.value_of(&of::PARTS),
        seed: settings.value_of(&of::SEED),
        locality: settings.value_of(&of::LOCALITY),
        convex_problems: settings.value_of(&of::CONVEX_PROBLEMS),
        max_bytes: plane_bytes,
        proof_bytes,
        direction_tolerance: settings.value_of(&of::DIRECTION_TOL),
        despite_kinks: settings.value_of(&of::DESPITE_KINKS),
        tuning: Tuning {
            direction_limit: settings.value_of(&of::DIRECTION_LIMIT),
            curvature_floor: settings.value_of(&of::CURVATURE_FLOOR),
            search: settings.value_of(&of::SEARCH),
            wolfe_decrease: settings.value_of(&of::WOLFE_DECREASE),
            wolfe_curvature: settings.value_of(&of::WOLFE_CURVATURE),
            subgradients: settings.value_of(&of::SUBGRADIENTS),
            prox_distance: settings.value_of(&of::PROX_DISTANCE),
            prox_iterations: settings.value_of(&of::PROX_ITERATIONS),
            stop_gradient: settings.value_of(&of::STOP_GRADIENT),
        },
        hands_over: false,
    }
}

/// When a run stops.
pub fn stop_rules(settings: &impl Asks) -> StopRules {
    StopRules {
        tol: settings.value_of(&of::TOL),
        abs_tol: settings.value_of(&of::ABS_TOL),
        max_evaluations: settings.value_of(&of::MAX_EVALS),
        max_seconds: settings.value_of(&of::MAX_SECONDS),
        least_change: settings.value_of(&of::STOP_CHANGE),
        most_idle: settings.value_of(&of::STOP_IDLE),
    }
}

/// What is asked of a run on its way.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'w> {
    /// The settings.
    pub(crate) settings: &'w Settings,
    /// Cancels the run.
    pub(crate) cancel: &'w Cancel,
    /// Weights to start from.
    pub(crate) start: Option<&'w [f64]>,
    /// Whether to go on past the tolerances.
    pub(crate) to_rounding: bool,
    /// Bytes that a proof may take.
    pub(crate) proof_bytes: u64,
    /// Bytes that planes may take before aggregation sets in.
    pub(crate) plane_bytes: Option<u64>,
    /// What goes along from one λ of a path to the next.
    pub(crate) track: Option<&'w RefCell<Track>>,
}

/// A run on its way: what families ask while they train.
pub struct Walk<'w> {
    /// What is asked of the run.
    pub(crate) asked: Asked<'w>,
    /// Watches the run.
    pub(crate) observer: &'w mut dyn Observer,
    /// Keeps states of the run.
    pub(crate) checkpoints: &'w mut dyn Checkpoints,
}

impl<'w> std::ops::Deref for Walk<'w> {
    type Target = Asked<'w>;

    fn deref(&self) -> &Asked<'w> {
        &self.asked
    }
}

impl std::fmt::Debug for Walk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk").field("model", &self.settings.model()).finish_non_exhaustive()
    }
}

impl Walk<'_> {
    /// The value of an option.
    pub(crate) fn get<T: Setting>(&self, key: &Key<T>) -> T {
        self.settings.get(key)
    }

    /// The method that was asked for.
    pub(crate) fn asked_method(&self) -> Result<Method, TrainError> {
        Ok(Method::from_name(&self.get(&of::SOLVER))?)
    }

    /// The settings of the method.
    pub(crate) fn method_options(&self) -> MethodOptions {
        method_options(self.settings, self.proof_bytes, self.plane_bytes)
    }

    /// Minimises, to the rules or to rounding. Where a run is to go on to rounding, `auto` picks a bundle
    /// method: coordinate steps creep there.
    pub(crate) fn minimise(
        &mut self,
        problem: Problem<'_>,
        rules: StopRules,
    ) -> Result<(Outcome, Method), TrainError> {
        let (asked, given) = (self.asked_method()?, self.method_options());
        // Where the seed is also that of the start, a solver that has no use for it does not refuse it.
        let own = self.settings.entry().option(of::SEED.spec.name);
        let of_solver = own.is_some_and(|spec| std::ptr::eq(spec, &of::SEED.spec));
        let seed = if of_solver { given.seed } else { 0 };
        MethodOptions { seed, ..given }.refuse_unused(asked)?;
        if let Some(track) = self.asked.track {
            let mut track = track.borrow_mut();
            let cancel = self.asked.cancel;
            let outcome = track.solve::<TrainError>(problem, asked, &given, rules, cancel)?;
            return Ok((outcome, track.method));
        }
        let is_auto = asked == Method::Auto;
        let method = match is_auto && self.to_rounding {
            true => Method::pick_bundle(problem),
            false => asked.resolve(problem),
        };
        let options = MethodOptions { hands_over: is_auto, ..given };
        // `auto` itself is built where it may hand over from one method to another.
        let built = if is_auto && !self.to_rounding { asked } else { method };
        let mut solver = built.build(problem, &options)?;
        let Asked { cancel, to_rounding, proof_bytes, .. } = self.asked;
        let (observer, checkpoints) = (&mut *self.observer, &mut *self.checkpoints);
        let outcome = if to_rounding {
            let solver = &mut *solver;
            solver::run_to_rounding(
                solver,
                problem,
                rules,
                proof_bytes,
                cancel,
                observer,
                checkpoints,
            )?
        } else {
            solver::run(&mut *solver, problem, rules, cancel, observer, checkpoints)?
        };
        Ok((outcome, method))
    }

    /// Minimises; where a judge knows held-out examples, the answer is the one of the run's best
    /// points that did best on them.
    pub(crate) fn minimise_judged(
        &mut self,
        problem: Problem<'_>,
        rules: StopRules,
        judge: Option<&Judge<'_>>,
    ) -> Result<(Outcome, Method, Option<Chosen>), TrainError> {
        let Some(judge) = judge else {
            let (outcome, method) = self.minimise(problem, rules)?;
            return Ok((outcome, method, None));
        };
        let mut store =
            Carrying::resume(&mut *self.checkpoints, Choice::load).map_err(RunError::from)?;
        let choice = store.carried.clone();
        let (own, last) = (choice.clone(), (Vec::new(), false));
        let mut observer = Validation { judge, observer: &mut *self.observer, choice: own, last };
        let mut walk = Walk { asked: self.asked, observer: &mut observer, checkpoints: &mut store };
        let (mut outcome, method) = walk.minimise(problem, rules)?;
        let chosen = choice.0.take();
        if let Some(chosen) = chosen.as_ref().filter(|chosen| chosen.w != outcome.point.w) {
            outcome.point.w = chosen.w.clone();
            outcome.point.value = chosen.objective - problem.penalty(&chosen.w);
            outcome.certificate.objective = chosen.objective;
            // The local gap was that of a model around other weights.
            outcome.local_gap = None;
        }
        Ok((outcome, method, chosen))
    }
}
