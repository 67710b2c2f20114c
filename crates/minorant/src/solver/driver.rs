//! The one loop that runs every method: it counts evaluations, keeps the best bound and its proof,
//! decides when to stop, tells observers, and hands out checkpoints. What a step does is the
//! method's business.

use super::{Halt, Problem, Solver, Status, Step, StopRules};
use crate::archive::{Archive, ArchiveError};
use crate::certificate::{BoundOverLambda, Certificate};
use crate::proof::Proof;
use crate::risk::{Cancel, Plane, Point, RiskError};
use crate::trace::{Observer, TraceRecord};
use minorant_linalg::dense::norm2;
use std::time::{Duration, Instant};

/// What a method may use while it runs.
#[derive(Debug)]
pub struct Run<'a> {
    /// The problem to solve.
    pub problem: Problem<'a>,
    rules: StopRules,
    cancel: Cancel,
    clock: Instant,
    /// Seconds that a resumed run had spent before.
    earlier: f64,
    evaluations: u64,
    /// Evaluations kept back for the final pass.
    reserve: u64,
    best_objective: f64,
    bound: f64,
    local_gap: f64,
    proof: Option<Proof>,
    /// The best bound for every λ, where the method tells it.
    bounds: Option<BoundOverLambda>,
    master_time: Duration,
    idle_iterations: u32,
    direction_steps: u64,
    /// What was wrong at the first of the last evaluations that were not finite, and their number.
    trouble: Option<(RiskError, u32)>,
    /// Whether shorter steps have led back to where the risk is finite.
    has_come_back: bool,
}

/// Iterations without any progress after which a run counts as stalled.
const STALL: u32 = 20;
/// Evaluations one after the other that may be not finite: ever shorter steps must have led to
/// somewhere by then.
const NOT_FINITE: u32 = 60;
/// The gap must fall below the tolerance by this much, so that recomputing the objective at the
/// weights saved cannot carry it back above.
const SLACK: f64 = 1.0 - 1e-9;

impl<'a> Run<'a> {
    fn new(problem: Problem<'a>, rules: StopRules, cancel: Cancel) -> Self {
        Run {
            problem,
            rules,
            cancel,
            clock: Instant::now(),
            earlier: 0.0,
            evaluations: 0,
            reserve: 0,
            best_objective: f64::INFINITY,
            bound: f64::NEG_INFINITY,
            local_gap: f64::INFINITY,
            proof: None,
            bounds: None,
            master_time: Duration::ZERO,
            idle_iterations: 0,
            direction_steps: 0,
            trouble: None,
            has_come_back: false,
        }
    }

    /// Seconds of optimisation so far.
    pub fn seconds(&self) -> f64 {
        self.earlier + self.clock.elapsed().as_secs_f64()
    }

    /// Why no further evaluation may be made, if none may.
    fn spent(&self) -> Option<Status> {
        let most = self.rules.max_evaluations.unwrap_or(u64::MAX);
        // The start point is evaluated whatever the clock says: there must be an answer.
        let late = |most| self.evaluations > 0 && self.seconds() >= most;
        if self.evaluations + 1 + self.reserve > most {
            Some(Status::MaxEvals)
        } else if self.rules.max_seconds.is_some_and(late) {
            Some(Status::MaxSeconds)
        } else {
            self.cancel.is_cancelled().then_some(Status::Interrupted)
        }
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
        Ok(())
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
        let found = self.problem.risk.at(w, &self.cancel);
        self.watch_finiteness(found)
    }

    /// The point at `w` with its planes: one evaluation.
    pub fn evaluate_with_planes(
        &mut self,
        w: Vec<f64>,
        parts: usize,
    ) -> Result<(Point, Vec<Plane>), Halt> {
        self.charge()?;
        let found = self.problem.risk.at_with_planes(w, parts, &self.cancel);
        let checked = found.and_then(|(point, planes)| {
            self.check_planes(&planes)?;
            Ok((point, planes))
        });
        self.watch_finiteness(checked)
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

    /// Planes at a point that was combined from points of the running evaluation, which they
    /// belong to.
    pub fn planes(&mut self, point: &Point, parts: usize) -> Result<Vec<Plane>, Halt> {
        let planes = self.problem.risk.planes(point, parts, &self.cancel)?;
        self.check_planes(&planes)?;
        Ok(planes)
    }

    /// Refuses planes that the master could not compute with.
    fn check_planes(&self, planes: &[Plane]) -> Result<(), RiskError> {
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

    /// Tells the bound that a dual point gives for every λ, and the proof of it; the best at the
    /// problem's λ is kept.
    pub fn offer_bounds(&mut self, bounds: BoundOverLambda, proof: impl FnOnce() -> Option<Proof>) {
        let bound = bounds.at(self.problem.regularizer.lambda());
        let is_best = bound > self.bound;
        self.offer_bound(bound, proof);
        if is_best {
            self.bounds = Some(bounds);
        }
    }

    /// Tells the gap of a local model of a risk that is not convex, and stops the run if it is
    /// good enough. It proves nothing about other points.
    pub fn check_local_gap(&mut self, gap: f64) -> Result<(), Halt> {
        self.note_progress(self.local_gap, gap);
        self.local_gap = gap;
        if gap <= self.target() { Err(Halt::Stop(Status::Converged)) } else { Ok(()) }
    }

    /// Tells that the run's model got better although neither objective nor gap shows it.
    pub fn note_better_model(&mut self) {
        self.idle_iterations = 0;
    }

    /// The gap that the last local model had, where there is one.
    fn known_local_gap(&self) -> Option<f64> {
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

    /// The best bound, if there is one and it holds for all weights.
    fn proven_bound(&self) -> Option<f64> {
        Some(self.bound).filter(|bound| bound.is_finite() && self.problem.risk.is_convex())
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

    /// The token that asks running work to stop.
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

    fn save(&self, iteration: u64, archive: &mut Archive) {
        archive.put_integers(
            "run.counts",
            [iteration, self.evaluations, u64::from(self.idle_iterations), self.direction_steps],
        );
        let seconds = [self.seconds(), self.master_time.as_secs_f64()];
        archive.put_reals(
            "run.numbers",
            [&seconds[..], &[self.best_objective, self.bound, self.local_gap]].concat(),
        );
        if let Some(proof) = &self.proof {
            proof.save("run", archive);
        }
        if let Some(bounds) = &self.bounds {
            archive.put_reals("run.bounds", bounds.numbers().to_vec());
        }
    }

    fn load(&mut self, archive: &mut Archive) -> Result<u64, ArchiveError> {
        let counts = archive.take_integers("run.counts")?;
        let numbers = archive.take_reals("run.numbers")?;
        let (
            [iteration, evaluations, idle, direction_steps],
            [seconds, master, best, bound, local_gap],
        ) = (&counts[..], &numbers[..])
        else {
            return Err(ArchiveError("run.numbers".into()));
        };
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

/// How a run's state gets saved, and where it starts from.
pub trait Checkpoints {
    /// The state to resume from, if any.
    fn resume(&mut self) -> Option<Archive> {
        None
    }

    /// Whether checkpoints are wanted at all.
    fn are_wanted(&self) -> bool {
        true
    }

    /// Whether a checkpoint is wanted now.
    fn is_due(&mut self) -> bool {
        false
    }

    /// Takes a checkpoint.
    fn store(&mut self, _archive: Archive) {}
}

/// No checkpoints.
impl Checkpoints for () {
    fn are_wanted(&self) -> bool {
        false
    }
}

/// What a run found.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The best point, with its risk computed at exactly these weights.
    pub point: Point,
    /// Objective and bound.
    pub certificate: Certificate,
    /// The dual point behind the bound, where it could be kept.
    pub proof: Option<Proof>,
    /// The gap of the local model, where the risk is not convex.
    pub local_gap: Option<f64>,
    /// The bound of the same dual point for every λ, where the method tells it.
    pub bounds: Option<BoundOverLambda>,
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

/// Why there is no outcome.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RunError {
    /// The risk could not be evaluated.
    #[error(transparent)]
    Risk(#[from] RiskError),
    /// The checkpoint does not fit the problem.
    #[error(transparent)]
    Resume(#[from] ArchiveError),
    /// The checkpoint has used more evaluations than are allowed.
    #[error(
        "the checkpoint needs {needed} evaluations for an answer, but at most {most} are allowed"
    )]
    Spent {
        /// Evaluations that its answer takes.
        needed: u64,
        /// Evaluations that are allowed.
        most: u64,
    },
    /// The run was stopped before it had a first point.
    #[error("the run was stopped before its first evaluation ended")]
    NoPoint,
}

/// Runs a method until a rule stops it.
pub fn run(
    solver: &mut dyn Solver,
    problem: Problem<'_>,
    rules: StopRules,
    cancel: &Cancel,
    observer: &mut dyn Observer,
    checkpoints: &mut dyn Checkpoints,
) -> Result<Outcome, RunError> {
    let mut run = Run::new(problem, rules, cancel.clone());
    let mut iteration = 0;
    let mut started = false;
    if let Some(mut archive) = checkpoints.resume() {
        iteration = run.load(&mut archive)? + 1;
        solver.load(&mut archive)?;
        started = true;
        let needed = run.evaluations + u64::from(solver.best_is_combined());
        if let Some(most) = rules.max_evaluations.filter(|most| *most < needed) {
            return Err(RunError::Spent { needed, most });
        }
    }
    let mut stored = None;
    let mut status = loop {
        // Where a limit or the user ends the run, a later one goes on from here: the step below
        // may still prove convergence, but it must not be half done in the checkpoint.
        let last = iteration.checked_sub(1);
        if let Some(last) =
            last.filter(|_| run.spent().is_some() && checkpoints.are_wanted() && stored != last)
        {
            checkpoints.store(archive_of(&run, last, solver));
        }
        let result = if started { solver.step(&mut run) } else { solver.start(&mut run) };
        started = true;
        match result {
            Ok(step) => {
                if let Some(best) = solver.best() {
                    observer.best(&best.w);
                }
                observer.iteration(&record(&run, iteration, step, solver));
                run.idle_iterations += 1;
                if checkpoints.is_due() {
                    checkpoints.store(archive_of(&run, iteration, solver));
                    stored = Some(iteration);
                }
                iteration += 1;
                if run.idle_iterations > STALL {
                    break Status::Stalled;
                }
            }
            Err(Halt::Stop(status)) => break status,
            Err(Halt::Failed(error)) => return Err(error.into()),
        }
    };
    if let Err(Halt::Stop(Status::Converged)) = solver.conclude(&mut run) {
        status = Status::Converged;
    }
    // Where the risk ends at a wall, the best point lies before it; a risk that has never come back
    // is out of order.
    if let (Status::Stalled, Some((error, _)), false) =
        (status, run.trouble.take(), run.has_come_back)
    {
        return Err(error.into());
    }
    let mut point = solver.best().cloned().ok_or(RunError::NoPoint)?;
    if solver.best_is_combined() && !cancel.is_hurried() {
        // The answer's objective is that of the weights saved, to the last bit; an interrupted
        // run does this last pass too.
        run.evaluations += 1;
        point = problem.risk.at(point.w, &Cancel::new())?;
    }
    let objective = run.objective(&point)?;
    // A bound may pass the objective by what the objective lost to rounding.
    let lower_bound = run.proven_bound().map(|bound| bound.min(objective));
    Ok(Outcome {
        certificate: Certificate { objective, lower_bound },
        point,
        local_gap: run.known_local_gap(),
        proof: run.proof.take(),
        bounds: run.bounds,
        status,
        evaluations: run.evaluations,
        iterations: iteration,
        direction_steps: run.direction_steps,
        seconds: run.seconds(),
        master_seconds: run.master_time.as_secs_f64(),
    })
}

fn archive_of(run: &Run<'_>, iteration: u64, solver: &dyn Solver) -> Archive {
    let mut archive = Archive::default();
    run.save(iteration, &mut archive);
    solver.save(&mut archive);
    archive
}

fn record(run: &Run<'_>, iteration: u64, step: Step, solver: &dyn Solver) -> TraceRecord {
    TraceRecord {
        iteration,
        evaluations: run.evaluations,
        seconds: run.seconds(),
        objective: step.objective,
        best_objective: run.best_objective,
        lower_bound: run.proven_bound(),
        local_gap: run.known_local_gap(),
        step: step.kind,
        step_length: step.length,
        locality: solver.locality(),
        planes: solver.planes(),
        master_seconds: run.master_time.as_secs_f64(),
    }
}
