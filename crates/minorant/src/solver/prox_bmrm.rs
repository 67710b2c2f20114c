//! `prox-bmrm` and `prox-p-bmrm`: the bundle method with a prox term whose strength α is adapted so
//! that an iterate either improves the objective enough or stays near (Algorithm 2 of Uříčář and
//! Franc, with the tricks of their §3.1), with one plane model or with P of them (§3.3). It starts
//! from the weights given, or from the best of ten passes of stochastic descent (§3.2); on structures from
//! one pass of plain steps.
//!
//! Departures from Algorithm 2:
//! - Every point that is evaluated gives planes, rejected ones too, and every iteration is one
//!   evaluation: where the last step did not improve the objective enough, α is tuned *before* the
//!   next point is evaluated, and a point within the distance K is taken without a second trial.
//! - α is 0 or λ/2 times a power of two: a grid in units of the risk would depend on its scale.
//! - K is the least radius, not the only one: it doubles while near points bring what the model said
//!   they would, and is halved when one goes uphill. A start point near the origin would otherwise
//!   condemn the method to small steps for good.
//! - The threshold γ (Eq. 11) aims at the run's target, so that absolute tolerances count too.
//! - The centre may move uphill, so the best point is kept apart from it. That can go round in
//!   circles: once it has not made the gap smaller for a while, the centre returns to the best point
//!   and from then on moves only downhill, by a share of what the model promises (the null and
//!   serious steps of classical bundle methods).

use super::sgd_pass::{self, Passes};
use super::{Halt, MethodOptions, Run, Solver, Status, Step, Tuning, load_point, save_point};
use crate::archive::{Archive, ArchiveError};
use crate::bundle::{Bundle, Limits, NearMinimum};
use crate::risk::{Plane, Point, RiskError};
use minorant_linalg::dense::{axpy, norm2};

/// K: how far an iterate that does not improve the objective enough may lie from the last one, as
/// a share of the length of the start point.
const RADIUS: f64 = 0.01;
/// The same of several models after a pass over structures: with many planes a point far away is worth its
/// evaluation.
const RADIUS_OF_PARTS: f64 = 0.1;
/// T: after so many sufficient improvements the target is reached.
const STEPS_TO_TARGET: f64 = 100.0;
/// α beyond this many λ keeps any iterate where it is.
const STRONGEST: f64 = 1e15;
/// The least α where there is no λ, in what takes its place.
const WEAKEST: f64 = 1.0 / (1u64 << 30) as f64;
/// Nor is it less than what leaves this share of the radius to rounding: the minimiser is a difference of
/// slopes over 2α.
const BLURRED: f64 = 1e-8;
/// How exactly the master is solved: to this share of the descent that its minimiser promises, or
/// to this share of the objective, which is rounding.
const ACCURACY: f64 = 0.1;
const ROUNDING: f64 = 1e-14;
/// Passes of stochastic descent before the first iteration.
const PASSES: u64 = 10;
/// The radius grows where this share of the descent that the model promises is real.
const TRUSTED: f64 = 0.9;
/// Descent, or a plane's height above the model, that is worth an iteration, relative to the
/// objective; and how many such iterations may go by without a smaller gap.
const NEWS: f64 = 1e-10;
const PATIENCE: u64 = 300;
/// Iterations without a smaller gap after which the centre no longer moves uphill, and the share of
/// the promised descent that it then asks for.
const EXCURSION: u64 = 15;
const SERIOUS: f64 = 0.05;
/// The share of the radius that is left where a soft model brings nothing new.
const CLOSER: f64 = 0.1;
/// So many of these iterations without progress make the prox term stronger where it alone is what bends the
/// model.
const NULLS: u64 = 5;

/// The bundle method with a prox term.
#[derive(Debug)]
pub struct ProxBmrm {
    dim: usize,
    parts: usize,
    limits: Limits,
    seed: u64,
    /// K as a share of the length of the start point where it is given, the share that counts, and T.
    given_distance: Option<f64>,
    distance: f64,
    iterations: f64,
    bundle: Bundle,
    best: Option<Point>,
    /// The stochastic descent, while it goes on.
    descent: Option<Start>,
    state: State,
}

/// The stochastic descent that comes first.
#[derive(Debug, Clone)]
enum Start {
    /// Passes over rows, and whether the last one awaits evaluation.
    Rows(Passes, bool),
    /// One pass over examples of any kind, with this first step.
    Plain(f64),
}

/// What Algorithm 2 carries from one iteration to the next.
#[derive(Debug, Clone, Copy)]
struct State {
    /// F(w_t).
    center_objective: f64,
    /// K, and how far iterates may go now.
    least_radius: f64,
    radius: f64,
    /// λ, or the strength that takes its place where there is none.
    unit: f64,
    /// α_t.
    alpha: f64,
    /// γ_t.
    threshold: f64,
    /// Whether α is to be tuned before the next point is evaluated.
    tune: bool,
    /// The gap, and for how many iterations it has not become smaller.
    gap: f64,
    waited: u64,
    /// Whether the centre may no longer move uphill.
    downhill: bool,
}

impl ProxBmrm {
    /// A run on a problem with `dim` weights, with `parts` plane models.
    pub fn new(dim: usize, parts: usize, limits: Limits, options: &MethodOptions) -> Self {
        let state = State {
            center_objective: f64::INFINITY,
            least_radius: 0.0,
            radius: 0.0,
            unit: 1.0,
            alpha: 0.0,
            threshold: f64::INFINITY,
            tune: true,
            gap: f64::INFINITY,
            waited: 0,
            downhill: false,
        };
        let bundle = Bundle::new(dim, parts, limits);
        let Tuning { prox_distance, prox_iterations, .. } = options.tuning;
        ProxBmrm {
            dim,
            parts,
            limits,
            seed: options.seed,
            given_distance: prox_distance,
            distance: prox_distance.unwrap_or(RADIUS),
            iterations: prox_iterations.unwrap_or(STEPS_TO_TARGET),
            bundle,
            best: None,
            descent: None,
            state,
        }
    }

    /// Goes on from a bundle and a best point that another method has found.
    pub(super) fn take_over(&mut self, bundle: Bundle, best: Point) {
        (self.bundle, self.best) = (bundle, Some(best));
    }

    /// The weakest prox term whose minimiser is more than rounding within the radius.
    fn blur(&self) -> f64 {
        f64::EPSILON * self.bundle.longest() / (BLURRED * self.state.radius)
    }

    /// Whether it is the prox term alone that makes minimisers of the model weights: without it there are none,
    /// or they are rounding over λ.
    fn is_soft(&self, run: &Run<'_>) -> bool {
        let regularizer = run.problem.regularizer;
        !regularizer.is_quadratic() && regularizer.lambda() <= self.blur()
    }

    /// Keeps the planes of an evaluated point, and the point itself if it is the best one.
    fn take(&mut self, run: &mut Run<'_>, point: Point, planes: Vec<Plane>) -> Result<f64, Halt> {
        let objective = run.objective(&point)?;
        let regularizer = run.problem.regularizer;
        run.master(|| self.bundle.add(&point.w, planes, regularizer));
        if objective < self.best_objective(run) {
            self.best = Some(point);
            run.offer_objective(objective);
        }
        Ok(objective)
    }

    /// One step of the descent that comes first.
    fn descend(&mut self, run: &mut Run<'_>, start: Start) -> Result<Step, Halt> {
        let mut step = Step { kind: "sgd", objective: self.best_objective(run), length: None };
        let (problem, lambda) = (run.problem, run.problem.regularizer.lambda());
        let examples = problem.risk.examples();
        let (w, next) = match start {
            Start::Plain(first_step) => {
                run.charge()?;
                if self.given_distance.is_none() && self.parts > 1 {
                    self.distance = RADIUS_OF_PARTS;
                }
                let pass =
                    |examples| sgd_pass::mean_of_pass(problem, examples, self.seed, first_step);
                (examples.map_or_else(|| problem.start_point(), pass), None)
            }
            Start::Rows(mut sgd, false) => {
                run.charge()?;
                if let (Some(examples), Some(metric)) = (examples, sgd_pass::metric(problem)) {
                    sgd.pass(examples, &metric, self.seed);
                }
                self.descent = Some(Start::Rows(sgd, true));
                run.keep_going();
                return Ok(step);
            }
            Start::Rows(sgd, true) => {
                let is_last = sgd.made >= PASSES;
                (sgd.w(lambda), (!is_last).then_some(Start::Rows(sgd, false)))
            }
        };
        match run.evaluate_with_planes(w, self.parts) {
            Ok((point, planes)) if problem.objective(&point).is_finite() => {
                step.objective = self.take(run, point, planes)?;
                self.descent = next;
            }
            // The descent has left the range of numbers; what it found before stands.
            Ok(_) | Err(Halt::Failed(_)) => self.descent = None,
            Err(stop) => return Err(stop),
        }
        if self.descent.is_none() {
            self.center_at_best(run);
        }
        run.keep_going();
        Ok(step)
    }

    /// Line 1: the centre w_1 is the best point, α and γ are yet to be found.
    fn center_at_best(&mut self, run: &Run<'_>) {
        let Some(best) = &self.best else { return };
        let objective = run.problem.objective(best);
        self.bundle.set_center(&best.w, run.problem.regularizer);
        let length = self.bundle.center_length();
        // Without a length to take a share of: no minimiser is longer than this.
        let regularizer = run.problem.regularizer;
        let (most, lambda) = (objective.max(f64::MIN_POSITIVE), regularizer.lambda());
        let longest =
            if lambda > 0.0 { (2.0 * most / lambda).sqrt() } else { most / regularizer.l1() };
        let radius = self.distance * if length > 0.0 { length } else { longest };
        // What λ is where there is one: with it the longest minimiser would cost what there is.
        let unit = if lambda > 0.0 { lambda } else { 2.0 * most / (longest * longest) };
        self.state = State {
            center_objective: objective,
            least_radius: radius,
            radius,
            unit,
            alpha: 0.0,
            threshold: f64::INFINITY,
            tune: true,
            gap: f64::INFINITY,
            waited: 0,
            downhill: false,
        };
    }

    /// Solves the master with prox term and returns how far its minimiser is from the centre. A
    /// minimiser is worth no more than the descent that it promises: the master is solved to a
    /// share of that, which may be far below the gap.
    fn distance(&mut self, run: &mut Run<'_>, alpha: f64) -> f64 {
        let regularizer = run.problem.regularizer;
        let center = self.state.center_objective;
        let mut accuracy = run.master_gap();
        loop {
            let near = run.master(|| self.bundle.solve_near(regularizer, alpha, accuracy));
            let promised = center - near.objective;
            if promised.is_nan() {
                // So weak a prox term that minimisers leave the range of numbers.
                return f64::INFINITY;
            }
            if accuracy <= ACCURACY * promised || accuracy <= ROUNDING * center.abs() {
                return near.distance;
            }
            accuracy = (0.5 * ACCURACY * promised).clamp(0.01 * accuracy, 0.5 * accuracy);
        }
    }

    /// Line 7: the least α of the grid with ‖w^α − w_t‖ ≤ K, from the last one on; the distance
    /// falls as α grows. The master without prox term, which comes first, gives the bound.
    fn tune(&mut self, run: &mut Run<'_>) -> Result<(NearMinimum, f64), Halt> {
        let (accuracy, regularizer) = (run.master_gap(), run.problem.regularizer);
        let is_nonnegative = run.problem.risk.is_nonnegative();
        let (unit, radius) = (self.state.unit, self.state.radius);
        // Without a quadratic the model without prox term may have no minimiser.
        let has_minimum = regularizer.lambda() > 0.0;
        if has_minimum {
            let plain = run.master(|| self.bundle.solve_near(regularizer, 0.0, accuracy));
            let minimum = run.master(|| self.bundle.near_minimum(regularizer, 0.0, is_nonnegative));
            run.offer_bounds(&minimum.bounds, || self.bundle.proof());
            run.check_gap()?;
            if plain.distance <= radius && !self.is_soft(run) {
                self.state.alpha = 0.0;
                return Ok((minimum, plain.distance));
            }
        }
        let weakest = if has_minimum { 0.5 * unit } else { WEAKEST * unit };
        let least = if self.is_soft(run) { weakest.max(self.blur()) } else { weakest };
        let mut alpha = self.state.alpha.max(least);
        let mut distance = self.distance(run, alpha);
        if distance > radius {
            while distance > radius && alpha < STRONGEST * unit {
                alpha *= 2.0;
                distance = self.distance(run, alpha);
            }
        } else {
            while alpha > least {
                let further = self.distance(run, 0.5 * alpha);
                if further > radius {
                    distance = self.distance(run, alpha);
                    break;
                }
                (alpha, distance) = (0.5 * alpha, further);
            }
        }
        self.state.alpha = alpha;
        let minimum = run.master(|| self.bundle.near_minimum(regularizer, alpha, is_nonnegative));
        Ok((minimum, distance))
    }

    /// One iteration of Algorithm 2.
    fn iterate(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        self.bundle.age();
        let (minimum, distance) = if self.state.tune {
            self.tune(run)?
        } else {
            // Line 3.
            let (alpha, regularizer) = (self.state.alpha, run.problem.regularizer);
            let distance = self.distance(run, alpha);
            let is_nonnegative = run.problem.risk.is_nonnegative();
            let minimum =
                run.master(|| self.bundle.near_minimum(regularizer, alpha, is_nonnegative));
            (minimum, distance)
        };
        // A dual point of the model with prox term is one without it, too.
        run.offer_bounds(&minimum.bounds, || self.bundle.proof());
        run.check_gap()?;
        let NearMinimum { w, risk, center, .. } = minimum;
        if !w.iter().all(|w| w.is_finite()) {
            return Err(Halt::Stop(Status::Stalled));
        }
        // Without a quadratic minimisers may lie so far away that nothing can be computed there.
        let is_soft = self.is_soft(run);
        let (point, planes) = match run.evaluate_with_planes(w, self.parts) {
            Err(Halt::Failed(RiskError::NotFinite(_))) if is_soft => {
                run.overshot();
                return Err(Halt::Stop(Status::Stalled));
            }
            found => found?,
        };
        let objective = run.objective(&point)?;
        let state = &mut self.state;
        let (descent, surprise) = (state.center_objective - objective, point.value - risk);
        let gap = run.gap();
        (state.waited, state.gap) =
            if gap < state.gap { (0, gap) } else { (state.waited + 1, state.gap) };
        if descent.max(surprise) > NEWS * objective.abs() && state.waited < PATIENCE {
            run.keep_going();
        }
        let enough = descent >= state.threshold;
        let serious = !state.downhill || descent >= SERIOUS * (descent + surprise);
        let near = distance <= state.radius && serious;
        // The model is soft where the prox term is weak then, and its master is solved the worse.
        if is_soft && descent.max(surprise) <= NEWS * objective.abs() {
            // The master has not found what the planes prove: a stronger prox term makes it easier.
            state.radius *= CLOSER;
        } else if is_soft && !serious && state.waited % NULLS == NULLS - 1 {
            state.radius = 0.5 * distance;
        } else if descent <= 0.0 {
            state.radius = (0.5 * state.radius).max(state.least_radius.min(state.radius));
        } else if near && state.alpha > 0.0 && descent >= TRUSTED * (descent + surprise) {
            state.radius *= 2.0;
        }
        if enough || near {
            state.center_objective = objective;
            run.master(|| self.bundle.move_center(center));
        }
        state.tune = !enough;
        self.take(run, point, planes)?;
        if !enough && near {
            // Line 8, Eq. 11: F(w_{t+1}) less what it has to come down to.
            let above_best = objective - self.best_objective(run);
            self.state.threshold = (run.gap() + above_best - run.target()) / self.iterations;
        }
        if self.state.waited > EXCURSION && !self.state.downhill {
            self.center_at_best(run);
            self.state.downhill = true;
        }
        let kind = if enough {
            "descent"
        } else if near {
            "near"
        } else {
            "null"
        };
        Ok(Step { kind, objective, length: Some(distance) })
    }

    fn best_objective(&self, run: &Run<'_>) -> f64 {
        self.best.as_ref().map_or(f64::INFINITY, |best| run.problem.objective(best))
    }
}

/// The step along the planes at the start that would take the risk to zero, if there were no others. Steps
/// of that length are right for single examples too, on all structures that were tried, at any λ.
fn first_step(risk: f64, planes: &[Plane]) -> Option<f64> {
    let mut slope = planes.first()?.normal.clone();
    planes[1..].iter().for_each(|plane| axpy(1.0, &plane.normal, &mut slope));
    Some(risk / norm2(&slope)).filter(|step| step.is_finite() && *step > 0.0)
}

impl Solver for ProxBmrm {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        if let Some(best) = &self.best {
            let objective = run.objective(best)?;
            run.offer_objective(objective);
            self.center_at_best(run);
            return Ok(Step { kind: "start", objective, length: None });
        }
        let start = run.problem.start_point();
        let (point, planes) = run.evaluate_with_planes(start, self.parts)?;
        let first_step = first_step(point.value, &planes);
        let objective = self.take(run, point, planes)?;
        let problem = run.problem;
        let regularizer = problem.regularizer;
        let descends =
            problem.start.is_none() && regularizer.is_centered() && regularizer.is_quadratic();
        self.descent = match (problem.risk.examples(), sgd_pass::metric(problem)) {
            (Some(examples), Some(metric)) if descends => {
                Some(Start::Rows(Passes::new(problem, examples, &metric), false))
            }
            (Some(_), None) if descends && sgd_pass::goes_without_metric(problem) => {
                first_step.map(Start::Plain)
            }
            _ => None,
        };
        if self.descent.is_none() {
            self.center_at_best(run);
        }
        Ok(Step { kind: "start", objective, length: None })
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        match self.descent.clone() {
            Some(start) => self.descend(run, start),
            None => self.iterate(run),
        }
    }

    fn restart_at(&mut self, point: Point) -> bool {
        self.best = Some(point);
        true
    }

    fn conclude(&mut self, run: &mut Run<'_>) -> Result<(), Halt> {
        let (accuracy, regularizer) = (run.master_gap(), run.problem.regularizer);
        if regularizer.lambda() > 0.0 {
            let minimum = run.master(|| self.bundle.minimise(regularizer, accuracy));
            run.offer_bounds(&minimum.bounds, || self.bundle.proof());
        }
        run.check_gap()
    }

    fn best(&self) -> Option<&Point> {
        self.best.as_ref()
    }

    fn planes(&self) -> usize {
        self.bundle.len()
    }

    fn save(&self, archive: &mut Archive) {
        self.bundle.save(archive);
        if let Some(best) = &self.best {
            save_point("best", best, archive);
        }
        match &self.descent {
            Some(Start::Rows(sgd, awaits)) => {
                sgd.save(archive);
                archive.put_integers("sgd.awaits", [u64::from(*awaits)]);
            }
            Some(Start::Plain(step)) => archive.put_reals("sgd.first_step", vec![*step]),
            None => {}
        }
        let state = self.state;
        let radii = [state.least_radius, state.radius, state.unit, self.distance];
        let numbers = [state.center_objective, state.alpha, state.threshold, state.gap];
        archive.put_reals("prox.numbers", [&radii[..], &numbers].concat());
        let flags = [state.tune, state.downhill].map(u64::from);
        archive.put_integers("prox.counts", [flags[0], flags[1], state.waited]);
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        self.bundle = Bundle::load(self.dim, self.parts, self.limits, archive)?;
        self.best = Some(load_point("best", self.dim, archive)?);
        self.descent = match Passes::load(self.dim, archive)? {
            Some(sgd) => Some(Start::Rows(sgd, archive.take_integer("sgd.awaits")? != 0)),
            None => archive.take_real("sgd.first_step").ok().map(Start::Plain),
        };
        let [least_radius, radius, unit, distance, center_objective, alpha, threshold, gap] =
            archive.take_reals("prox.numbers")?[..]
        else {
            return Err(ArchiveError("prox.numbers".into()));
        };
        let [tune, downhill, waited] = archive.take_integers("prox.counts")?[..] else {
            return Err(ArchiveError("prox.counts".into()));
        };
        let (tune, downhill) = (tune != 0, downhill != 0);
        self.distance = distance;
        self.state = State {
            center_objective,
            least_radius,
            radius,
            unit,
            alpha,
            threshold,
            tune,
            gap,
            waited,
            downhill,
        };
        Ok(())
    }
}
