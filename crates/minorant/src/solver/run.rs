//! What a method may use while it runs: it evaluates through [`Run`], which counts, and tells it
//! objectives and bounds, of which the best are kept. When to stop is decided here, too.

use super::{Halt, Outcome, Problem, Status, Step, StopRules};
use crate::archive::{Archive, ArchiveError};
use crate::certificate::{BoundOverLambda, DualBound};
use crate::proof::Proof;
use crate::risk::{Cancel, Plane, Point, RiskError};
use minorant_linalg::dense::{axpy, norm2};
use minorant_linalg::elementary;
use std::time::{Duration, Instant};

/// What a method may use while it runs.
#[derive(Debug)]
pub struct Run<'a> {
    /// The problem to solve.
    pub problem: Problem<'a>,
    rules: StopRules,
    asked: Cancel,
    /// The same token, which the end of the time cancels as well; but for the first evaluation.
    cancel: Cancel,
    clock: Instant,
    /// Seconds that a resumed run had spent before.
    earlier: f64,
    pub(super) evaluations: u64,
    /// Evaluations kept back for the final pass.
    reserve: u64,
    /// The seconds that the slowest evaluation took: those of a final pass are kept back, too.
    slowest: f64,
    pub(super) best_objective: f64,
    /// The objective at the start, and after the last step; the best one before that, and the steps since it
    /// last became lower.
    first_objective: f64,
    last_objective: f64,
    lowest_before: f64,
    without_gain: u64,
    /// The largest squared length of a plane, and the gap of the first one's model.
    steepest: f64,
    first_gap: Option<f64>,
    bound: f64,
    local_gap: f64,
    pub(super) proof: Option<Proof>,
    /// The best bound for every λ, where the method tells it.
    pub(super) bounds: Option<BoundOverLambda>,
    pub(super) master_time: Duration,
    pub(super) idle_iterations: u32,
    pub(super) direction_steps: u64,
    /// What was wrong at the first of the last evaluations that were not finite, and their number.
    pub(super) trouble: Option<(RiskError, u32)>,
    /// Whether shorter steps have led back to where the risk is finite.
    pub(super) has_come_back: bool,
    pace: Pace,
}

/// Where the run stood when its pace was last looked at, and the evaluations at which that is done
/// again.
#[derive(Debug, Clone, Copy)]
struct Pace {
    look_at: u64,
    gap: f64,
    local_gap: f64,
    objective: f64,
}

/// The evaluations at which the pace of a run is looked at first; from then on whenever they have
/// doubled.
const FIRST_LOOK: u64 = 5_000;
/// The share of the gap that twice as many evaluations may leave: a run that is slower than this
/// gets nowhere in any number of evaluations that somebody could wait for.
const LEFT: f64 = 0.5;
/// The decrease of the objective that is enough where there is no gap, relative to it.
const LOWER: f64 = 1e-6;
/// A local model whose minimum exceeds the best objective by more than this share of it is refuted.
const REFUTED: f64 = 1e-9;
/// Evaluations one after the other that may be not finite: ever shorter steps must have led to
/// somewhere by then.
const NOT_FINITE: u32 = 60;
/// An objective that has fallen below so many times its size at the start has no minimum.
const BOTTOMLESS: f64 = 1e12;
/// The gap must fall below the tolerance by this much, so that recomputing the objective at the
/// weights saved cannot carry it back above.
const SLACK: f64 = 1.0 - 1e-9;

impl<'a> Run<'a> {
    pub(super) fn new(problem: Problem<'a>, rules: StopRules, cancel: Cancel) -> Self {
        Run {
            problem,
            rules,
            cancel: cancel.clone(),
            asked: cancel,
            clock: Instant::now(),
            earlier: 0.0,
            evaluations: 0,
            reserve: 0,
            slowest: 0.0,
            best_objective: f64::INFINITY,
            first_objective: f64::INFINITY,
            last_objective: f64::INFINITY,
            lowest_before: f64::INFINITY,
            without_gain: 0,
            steepest: 0.0,
            first_gap: None,
            bound: f64::NEG_INFINITY,
            local_gap: f64::INFINITY,
            proof: None,
            bounds: None,
            master_time: Duration::ZERO,
            idle_iterations: 0,
            direction_steps: 0,
            trouble: None,
            has_come_back: false,
            pace: Pace {
                look_at: FIRST_LOOK,
                gap: f64::INFINITY,
                local_gap: f64::INFINITY,
                objective: f64::INFINITY,
            },
        }
    }

    /// Seconds of optimisation so far.
    pub fn seconds(&self) -> f64 {
        self.earlier + self.clock.elapsed().as_secs_f64()
    }

    /// Why no further evaluation may be made, if none may.
    pub(super) fn spent(&self) -> Option<Status> {
        let most = self.rules.max_evaluations.unwrap_or(u64::MAX);
        // The start point is evaluated whatever the clock says: there must be an answer.
        let late = |most| self.evaluations > 0 && self.left_of(most) <= 0.0;
        if self.evaluations + 1 + self.reserve > most {
            Some(Status::MaxEvals)
        } else if self.rules.max_seconds.is_some_and(late) {
            Some(Status::MaxSeconds)
        } else {
            self.asked.is_cancelled().then_some(Status::Interrupted)
        }
    }

    /// The seconds that are left of these for anything but the final pass.
    fn left_of(&self, most: f64) -> f64 {
        most - self.seconds() - self.reserve as f64 * self.slowest
    }

    /// Evaluations so far.
    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// The lowest objective so far.
    pub fn best_objective(&self) -> f64 {
        self.best_objective
    }

    /// Stops the run where no further evaluation may be made: long work without any asks now and
    /// then.
    pub fn check_limits(&self) -> Result<(), Halt> {
        self.spent().map_or(Ok(()), |status| Err(Halt::Stop(status)))
    }

    /// Counts one evaluation, or stops the run where none is left.
    pub fn charge(&mut self) -> Result<(), Halt> {
        self.check_limits()?;
        self.evaluations += 1;
        if self.evaluations > 1 {
            self.mind_the_clock();
        }
        Ok(())
    }

    /// From here on work ends by itself where the time is over. The first point is waited for.
    pub(super) fn mind_the_clock(&mut self) {
        if let Some(most) = self.rules.max_seconds {
            self.cancel = self.asked.within(self.left_of(most));
        }
    }

    /// Keeps one evaluation back for a final pass.
    pub fn reserve_final_pass(&mut self) {
        self.reserve = 1;
    }

    /// Whether an evaluation is left for a final pass, kept back already or not.
    pub fn has_final_pass(&self) -> bool {
        self.reserve > 0 || self.rules.max_evaluations.is_none_or(|most| self.evaluations < most)
    }

    /// The point at `w`: one evaluation.
    pub fn evaluate(&mut self, w: Vec<f64>) -> Result<Point, Halt> {
        self.charge()?;
        let start = Instant::now();
        let found = self.problem.risk.at(w, &self.cancel);
        self.slowest = self.slowest.max(start.elapsed().as_secs_f64());
        self.watch_finiteness(found)
    }

    /// The point at `w` with its planes: one evaluation.
    pub fn evaluate_with_planes(
        &mut self,
        w: Vec<f64>,
        parts: usize,
    ) -> Result<(Point, Vec<Plane>), Halt> {
        self.charge()?;
        let start = Instant::now();
        let found = self.problem.risk.at_with_planes(w, parts, &self.cancel);
        self.slowest = self.slowest.max(start.elapsed().as_secs_f64());
        let checked = found.and_then(|(point, planes)| {
            self.check_planes(&planes)?;
            self.note_first(&point, &planes);
            Ok((point, planes))
        });
        self.watch_finiteness(checked)
    }

    /// Notes the gap of the model that has the first plane only.
    fn note_first(&mut self, point: &Point, planes: &[Plane]) {
        let regularizer = self.problem.regularizer;
        if self.first_gap.is_some() || regularizer.lambda() == 0.0 {
            return;
        }
        let mut gradient = vec![0.0; point.w.len()];
        planes.iter().for_each(|plane| axpy(1.0, &plane.normal, &mut gradient));
        regularizer.add_gradient(&point.w, &mut gradient);
        self.first_gap = Some(norm2(&gradient) / (2.0 * regularizer.lambda()));
    }

    /// Where the risk is not finite a method may try a shorter step, but not for ever.
    fn watch_finiteness<T>(&mut self, found: Result<T, RiskError>) -> Result<T, Halt> {
        match found {
            Err(error @ RiskError::NotFinite(_)) => {
                let (first, count) = self.trouble.take().unwrap_or((error.clone(), 0));
                self.trouble = Some((first, count + 1));
                let stop = count + 1 >= NOT_FINITE;
                Err(if stop { Halt::Stop(Status::Stalled) } else { Halt::Failed(error) })
            }
            Err(error) => Err(error.into()),
            Ok(found) => {
                self.has_come_back |= self.trouble.take().is_some();
                Ok(found)
            }
        }
    }

    /// Tells that the method's own step was too long where the last evaluation was not finite: the
    /// risk is in order, and the best point is the answer.
    pub fn overshot(&mut self) {
        self.has_come_back = true;
    }

    /// Planes at a point that was combined from points of the running evaluation, which they
    /// belong to.
    pub fn planes(&mut self, point: &Point, parts: usize) -> Result<Vec<Plane>, Halt> {
        let planes = self.problem.risk.planes(point, parts, &self.cancel)?;
        self.check_planes(&planes)?;
        Ok(planes)
    }

    /// Refuses planes that the master could not compute with.
    fn check_planes(&mut self, planes: &[Plane]) -> Result<(), RiskError> {
        // No plane of the whole risk is steeper than its parts' lengths together.
        let length = planes.iter().map(|plane| norm2(&plane.normal).sqrt()).sum::<f64>();
        self.steepest = self.steepest.max(length * length);
        for plane in planes {
            let lambda = self.problem.regularizer.lambda();
            let square = norm2(&plane.normal) / if lambda > 0.0 { lambda } else { 1.0 };
            if !square.is_finite() || !plane.offset.is_finite() {
                let why = "a plane's squared length over lambda overflows; scale the features down";
                return Err(RiskError::NotFinite(why.into()));
            }
        }
        Ok(())
    }

    /// J at an evaluated point; a run cannot go on where it overflows.
    pub fn objective(&self, point: &Point) -> Result<f64, RiskError> {
        let objective = self.problem.objective(point);
        if objective.is_finite() {
            return Ok(objective);
        }
        let why = "the objective overflows; lambda is too small for features of this size";
        Err(RiskError::NotFinite(why.into()))
    }

    /// Tells the objective of the method's best point.
    pub fn offer_objective(&mut self, objective: f64) {
        if self.first_objective.is_infinite() {
            self.first_objective = objective;
        }
        if objective < self.best_objective {
            self.note_progress(self.best_objective, objective);
            self.best_objective = objective;
        }
    }

    /// Tells a lower bound and the proof of it; the best is kept.
    pub fn offer_bound(&mut self, bound: f64, proof: impl FnOnce() -> Option<Proof>) {
        if bound > self.bound {
            self.note_progress(self.bound, bound);
            self.bound = bound;
            self.proof = proof();
            self.bounds = None;
        }
    }

    /// Tells the bound that a dual point gives, for every λ where that is known, and the proof of it;
    /// the best at the problem's λ is kept.
    pub fn offer_bounds(&mut self, found: &DualBound, proof: impl FnOnce() -> Option<Proof>) {
        let is_best = found.value > self.bound;
        self.offer_bound(found.value, proof);
        if is_best {
            self.bounds.clone_from(&found.over_lambda);
        }
    }

    /// Tells the gap of a local model of a risk that is not convex, and stops the run if it is
    /// good enough. It proves nothing about other points.
    pub fn check_local_gap(&mut self, gap: f64) -> Result<(), Halt> {
        // A model that lies above the best point by more than rounding tells nothing of it.
        if gap < -REFUTED * self.best_objective.abs() {
            self.local_gap = f64::INFINITY;
            return Ok(());
        }
        let gap = gap.max(0.0);
        self.note_progress(self.local_gap, gap);
        self.local_gap = gap;
        if gap <= self.target() { Err(Halt::Stop(Status::Converged)) } else { Ok(()) }
    }

    /// Tells that the run's model got better although neither objective nor gap shows it.
    pub fn note_better_model(&mut self) {
        self.idle_iterations = 0;
    }

    /// The gap that the last local model had, where there is one.
    pub(super) fn known_local_gap(&self) -> Option<f64> {
        Some(self.local_gap).filter(|gap| gap.is_finite() && !self.problem.risk.is_convex())
    }

    /// Tells of progress that shows neither in the objective nor in a bound yet: the gain in
    /// whatever the method climbs or descends meanwhile.
    pub fn offer_progress(&mut self, gain: f64) {
        self.note_progress(0.0, gain);
    }

    fn note_progress(&mut self, from: f64, to: f64) {
        if !from.is_finite() || (to - from).abs() > 1e-15 * self.best_objective.abs() {
            self.idle_iterations = 0;
        }
    }

    /// Iterations since the last progress.
    pub(super) fn idle_iterations(&self) -> u32 {
        self.idle_iterations
    }

    /// Tells that the iteration was worth making although neither objective nor bound got better:
    /// it does not count towards a stall.
    pub fn keep_going(&mut self) {
        self.idle_iterations = 0;
    }

    /// Whether the evaluations have doubled and brought next to nothing. The rule never looks at a
    /// clock.
    pub(super) fn crawls(&mut self) -> bool {
        if self.evaluations < self.pace.look_at {
            return false;
        }
        let before = self.pace;
        self.pace = Pace {
            look_at: 2 * self.evaluations,
            gap: self.proven_bound().map_or(f64::INFINITY, |_| self.gap()),
            local_gap: self.local_gap,
            objective: self.best_objective,
        };
        if before.objective.is_infinite() {
            return false;
        }
        let falls = before.objective - self.best_objective > LOWER * self.best_objective.abs();
        let closes = |from: f64, to: f64| to.is_finite() && to <= LEFT * from;
        if self.pace.gap.is_finite() {
            !closes(before.gap, self.pace.gap)
        } else {
            !falls && !closes(before.local_gap, self.local_gap)
        }
    }

    /// The best bound, if there is one and it holds for all weights.
    pub(super) fn proven_bound(&self) -> Option<f64> {
        Some(self.bound).filter(|bound| bound.is_finite() && self.problem.risk.is_convex())
    }

    /// Ends the run by a rule of the method's own: it has converged unless a bound could be had and is
    /// not near enough.
    pub(super) fn own_rule_holds(&self) -> Halt {
        let is_open = self.proven_bound().is_some() && self.gap() > self.target();
        Halt::Stop(if is_open { Status::Stalled } else { Status::Converged })
    }

    /// Looks at the rules that users ask for besides gaps and limits: the objective has changed by next to
    /// nothing in an iteration, or has not become lower in so many.
    pub(super) fn own_rules(&mut self, step: &Step) -> Result<(), Halt> {
        let before = std::mem::replace(&mut self.last_objective, step.objective);
        let change = (step.objective - before).abs();
        let is_lower = self.best_objective < self.lowest_before;
        self.without_gain = if is_lower { 0 } else { self.without_gain + 1 };
        self.lowest_before = self.best_objective;
        let changes_little = |share: f64| {
            before.is_finite() && change <= share * step.objective.abs().max(before.abs())
        };
        let is_null = step.kind == "null" || step.kind == "model-null";
        if self.rules.least_change.is_some_and(changes_little) && !is_null {
            return Err(self.own_rule_holds());
        }
        if self.rules.most_idle.is_some_and(|most| self.without_gain >= most) {
            return Err(self.own_rule_holds());
        }
        Ok(())
    }

    /// Theorem 1 of Do and Artières: T₀ + 8G²/(λε) − 2 iterations lead to the gap ε that is asked for,
    /// where no plane is steeper than G; here the steepest one seen. Nothing without λ, with weights
    /// that are penalised unevenly, or where the risk is not convex.
    pub(super) fn iteration_bound(&self) -> Option<f64> {
        let regularizer = self.problem.regularizer;
        let (lambda, steepest) = (regularizer.lambda(), self.steepest.sqrt());
        let first = self.first_gap?;
        let is_even = regularizer.weights().is_none() && self.problem.risk.is_convex();
        if !is_even || lambda == 0.0 || steepest == 0.0 {
            return None;
        }
        // gap₁ = λ/2 ‖w₁ + a₁/λ‖².
        let share = lambda * first / (4.0 * steepest * steepest);
        let doublings = elementary::ln(share) / std::f64::consts::LN_2 + 1.0;
        let rest = 8.0 * steepest * steepest / (lambda * self.target()) - 2.0;
        Some((doublings.max(0.0) + rest).max(1.0).ceil()).filter(|bound| bound.is_finite())
    }

    /// Whether the objective has fallen so far that it will fall for ever: nothing holds it.
    pub(super) fn falls_for_ever(&self) -> bool {
        self.best_objective < -BOTTOMLESS * (1.0 + self.first_objective.abs())
    }

    /// Best objective less best bound, infinite while there is none.
    pub fn gap(&self) -> f64 {
        if self.best_objective <= self.bound { 0.0 } else { self.best_objective - self.bound }
    }

    /// The gap that the run is asked to reach.
    pub fn target(&self) -> f64 {
        (SLACK * self.rules.tol * self.best_objective.abs()).max(self.rules.abs_tol)
    }

    /// Stops the run if the gap is good enough.
    pub fn check_gap(&self) -> Result<(), Halt> {
        if self.gap() <= self.target() { Err(Halt::Stop(Status::Converged)) } else { Ok(()) }
    }

    /// How exactly the master should be solved now: a fraction of the gap that is left, or of the
    /// one that is asked for, whichever is larger; a looser master would stall the certificate.
    pub fn master_gap(&self) -> f64 {
        let gap = if self.bound.is_finite() { self.gap() } else { self.best_objective.abs() };
        0.02 * gap.max(self.target())
    }

    /// The rules for a run inside this one, to a share of the tolerance: what is left of the
    /// evaluations and of the time. Stops this run where fewer than `least` evaluations are left.
    pub fn rules_for_inner_run(&self, share: f64, least: u64) -> Result<StopRules, Halt> {
        let left = self.rules.max_evaluations.map(|most| most.saturating_sub(self.evaluations));
        if left.is_some_and(|left| left < least) {
            return Err(Halt::Stop(Status::MaxEvals));
        }
        if let Some(status) = self.spent() {
            return Err(Halt::Stop(status));
        }
        Ok(StopRules {
            tol: share * self.rules.tol,
            abs_tol: share * self.rules.abs_tol,
            max_evaluations: left,
            max_seconds: self.rules.max_seconds.map(|most| most - self.seconds()),
            ..StopRules::default()
        })
    }

    /// Counts what a run inside this one took.
    pub fn charge_inner_run(&mut self, inner: &Outcome) {
        self.evaluations += inner.evaluations;
        self.master_time += Duration::try_from_secs_f64(inner.master_seconds).unwrap_or_default();
    }

    /// Counts steps of direction finding, which read no more than the rows at kinks and are no
    /// evaluations.
    pub fn count_direction_steps(&mut self, steps: u64) {
        self.direction_steps += steps;
    }

    /// The token that asks running work to stop, for the user or because the time is over.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Counts the time that `work` takes as the master's.
    pub fn master<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.master_time += start.elapsed();
        result
    }

    pub(super) fn save(&self, iteration: u64, archive: &mut Archive) {
        archive.put_integers(
            "run.counts",
            [iteration, self.evaluations, u64::from(self.idle_iterations), self.direction_steps],
        );
        let seconds = [self.seconds(), self.master_time.as_secs_f64()];
        archive.put_reals(
            "run.numbers",
            [&seconds[..], &[self.best_objective, self.bound, self.local_gap]].concat(),
        );
        archive.put_integers("run.reserve", [self.reserve]);
        let Pace { look_at, gap, local_gap, objective } = self.pace;
        archive.put_reals("run.pace", vec![look_at as f64, gap, local_gap, objective]);
        let last = [self.last_objective, self.lowest_before, self.without_gain as f64];
        let first = [self.first_objective, self.steepest, self.first_gap.unwrap_or(f64::NAN)];
        archive.put_reals("run.first", [first, last].concat());
        if let Some(proof) = &self.proof {
            proof.save("run", archive);
        }
        if let Some(numbers) = self.bounds.as_ref().and_then(BoundOverLambda::numbers) {
            archive.put_reals("run.bounds", numbers.to_vec());
        }
    }

    pub(super) fn load(&mut self, archive: &mut Archive) -> Result<u64, ArchiveError> {
        let counts = archive.take_integers("run.counts")?;
        let numbers = archive.take_reals("run.numbers")?;
        let (
            [iteration, evaluations, idle, direction_steps],
            [seconds, master, best, bound, local_gap],
        ) = (&counts[..], &numbers[..])
        else {
            return Err(ArchiveError("run.numbers".into()));
        };
        // Checkpoints of 0.1 do not tell.
        if let Ok([reserve]) = archive.take_integers("run.reserve").as_deref() {
            self.reserve = *reserve;
        }
        if let Ok([look_at, gap, local_gap, objective]) = archive.take_reals("run.pace").as_deref()
        {
            let (gap, local_gap, objective) = (*gap, *local_gap, *objective);
            self.pace = Pace { look_at: *look_at as u64, gap, local_gap, objective };
        }
        if let Ok([first, steepest, gap, last, lowest, idle]) =
            archive.take_reals("run.first").as_deref()
        {
            (self.first_objective, self.steepest) = (*first, *steepest);
            self.first_gap = Some(*gap).filter(|gap| gap.is_finite());
            (self.last_objective, self.lowest_before) = (*last, *lowest);
            self.without_gain = *idle as u64;
        }
        self.proof = Proof::load("run", archive)?;
        let bounds = archive.take_reals("run.bounds").ok();
        self.bounds = bounds.and_then(|numbers| BoundOverLambda::from_numbers(&numbers));
        self.evaluations = *evaluations;
        self.idle_iterations = *idle as u32;
        self.direction_steps = *direction_steps;
        self.earlier = *seconds;
        self.master_time = Duration::try_from_secs_f64(*master).unwrap_or_default();
        self.best_objective = *best;
        self.bound = *bound;
        self.local_gap = *local_gap;
        Ok(*iteration)
    }
}
