//! `dual-cd`: dual coordinate ascent for hinges. The dual variables are the slopes of one minorant
//! for each example (with Hsieh et al. 2008, α_i = weight · |slope|; with Keerthi et al. 2008, all
//! classes of an example at once). A sweep visits examples in random order and moves the slopes of
//! each to the best place, the others' staying where they are; the weights follow every move.
//!
//! What is ours: the certificate, for which a check evaluates the objective at the current weights
//! while the bound follows from the slopes without a look at the data; an exact line search from the
//! best weights when the gap is nearly closed; and shrinking that goes much further than usual,
//! because every check looks at all examples anyway and opens again what was closed too early. When
//! to check is foreseen from the rate at which the dual rises.
//!
//! Where the regularizer has absolute weights or bounds besides its quadratic, the steps are proximal: the
//! weights that follow the slopes are shrunk and held on their way into the outputs (Shalev-Shwartz and Zhang
//! 2014).
//!
//! A sweep and a check are iterations of their own, so that none costs more than one evaluation and
//! a run can stop and resume between them.

use super::sgd_pass::shuffle;
use super::{Halt, Problem, Run, Solver, Status, Step, bound_of_plane, load_point, save_point};
use crate::archive::{Archive, ArchiveError};
use crate::proof::Proof;
use crate::risk::{DualCoordinates, DualState, Plane, Point, Rests, RowMetric};

/// Examples that a bound holds by more than this fraction of the steepest slope met in the last sweep
/// are left out until the next check.
const HELD: f64 = 0.005;
/// Work between checks where the gap is not foreseen to close, in visits of all examples: so much
/// at least, and such a fraction of all work so far.
const LEAST_WORK: f64 = 4.0;
const PART_OF_WORK: f64 = 0.5;
/// Work before a check that is foreseen to close the gap.
const WORK_BEFORE_CLOSING: f64 = 0.3;
/// When the dual rises this much slower than just after a check, or by less than this fraction of the
/// gap asked for, the open examples have done what they can.
const DONE: f64 = 1e-3;
const NOTHING: f64 = 1e-6;
/// How much larger the gap is than the rise that the dual has before it, until a check has told.
const FIRST_RATIO: f64 = 2.0;
/// A check that just misses the gap asked for costs more than a few sweeps: the fraction of it that
/// the gap must be foreseen to have closed to.
const MARGIN: f64 = 0.8;
/// A line search is made when the gap exceeds the one asked for by at most this fraction of it, divided
/// by the outputs of an example, as a search costs the more of them there are.
const NEAR: f64 = 1.0;
/// The fraction of the objective that a bound may lose to rounding before the plane is summed up afresh:
/// well below what tells a claim from its proof.
const LOST: f64 = 1e-10;
/// Slopes that a plane is made of while nobody notices.
const QUICK: usize = 1 << 24;
/// See `ls_bmrm.rs`: longer steps would magnify rounding errors.
const LONGEST_STEP: f64 = 1e3;

/// What steps along examples cost, and where weights come to rest.
pub(super) fn metric_of(problem: Problem<'_>) -> Option<RowMetric> {
    let (regularizer, dual) = (problem.regularizer, problem.risk.dual_coordinates()?);
    let metric = dual.metric(regularizer.lambda(), regularizer.weights())?;
    if regularizer.is_quadratic() {
        return Some(metric);
    }
    let ranges = regularizer.ranges();
    let ranges = ranges.map(|ranges| (ranges.least().to_vec(), ranges.greatest().to_vec()));
    let threshold = regularizer.l1() / regularizer.lambda();
    Some(metric.with_rests(Rests { threshold, ranges, weights: problem.risk.dim() }))
}

/// Dual coordinate ascent.
#[derive(Debug)]
pub struct DualCd {
    /// Weights; those of the state may have intercepts behind them.
    dim: usize,
    seed: u64,
    metric: RowMetric,
    state: DualState,
    /// The examples that sweeps visit.
    open: Vec<u32>,
    sweeps: u64,
    /// Visits of examples so far, those before the last check, and evaluations counted for them.
    visits: u64,
    visits_at_check: u64,
    counted: u64,
    /// The steepest slope that the last sweep met.
    pull: f64,
    /// The dual value, its last rise, the first one after the last check, and by which factor
    /// rises shrink.
    dual: f64,
    rise: f64,
    first_rise: f64,
    rate: f64,
    /// Gap at the last check over the rise that was still expected then.
    ratio: f64,
    check_is_due: bool,
    best: Option<Point>,
    /// Whether the best point was evaluated by a check, and whether it was combined since.
    checked: bool,
    combined: bool,
}

impl DualCd {
    /// A run on a problem; nothing if the risk's dual cannot be climbed by examples, or θ differs
    /// between the outputs of a feature.
    pub fn new(problem: Problem<'_>, seed: u64) -> Option<Self> {
        let coordinates = problem.risk.dual_coordinates()?;
        let dim = problem.risk.dim();
        let state = DualState {
            slopes: vec![0.0; problem.risk.duals()?.slopes()],
            w: [problem.regularizer.center(dim), vec![0.0; coordinates.intercepts()]].concat(),
            drift: 0.0,
        };
        Some(DualCd {
            dim,
            seed,
            metric: metric_of(problem)?,
            state,
            open: coordinates.examples(),
            sweeps: 0,
            visits: 0,
            visits_at_check: 0,
            counted: 0,
            pull: f64::INFINITY,
            dual: 0.0,
            rise: 0.0,
            first_rise: 0.0,
            rate: 0.0,
            ratio: FIRST_RATIO,
            check_is_due: false,
            best: None,
            checked: false,
            combined: false,
        })
    }

    fn examples(&self) -> u64 {
        self.metric.curvatures().len() as u64
    }

    /// Visits the open examples once.
    fn sweep(&mut self, run: &mut Run<'_>, dual: &dyn DualCoordinates) -> Result<Step, Halt> {
        run.cancel().check()?;
        // As many visits as there are examples are one evaluation, begun ones count as whole.
        let visits = self.visits + self.open.len() as u64;
        while self.counted * self.examples() < visits {
            run.charge()?;
            self.counted += 1;
        }
        self.visits = visits;
        shuffle(&mut self.open, self.seed, self.sweeps);
        let held = HELD * self.pull;
        let cancel = run.cancel();
        let sweep = dual.sweep(&self.metric, &mut self.state, &mut self.open, held, cancel);
        run.cancel().check()?;
        self.sweeps += 1;
        self.pull = sweep.pull;
        self.dual += sweep.rise;
        // Near the optimum the objective follows the root of what the dual value lacks.
        run.offer_progress((sweep.rise * self.dual.abs()).sqrt());
        self.foresee(run, sweep.rise);
        Ok(Step { kind: "sweep", objective: run.best_objective(), length: None })
    }

    /// Decides whether a check comes next: when the gap should have closed, when the open examples
    /// have little left to give, or when there was enough work without a look at the others.
    fn foresee(&mut self, run: &Run<'_>, rise: f64) {
        if self.rise > 0.0 {
            let rate = (rise / self.rise).min(0.999);
            self.rate = if self.rate > 0.0 { 0.6 * self.rate + 0.4 * rate } else { rate };
        }
        self.rise = rise;
        self.first_rise = self.first_rise.max(rise);
        let everything = self.examples() as f64;
        let work = (self.visits - self.visits_at_check) as f64 / everything;
        let enough = LEAST_WORK.max(PART_OF_WORK * self.visits as f64 / everything);
        // The objective before the first check is far off; it will be near the dual value.
        let shrinks = (self.dual / run.best_objective()).clamp(0.01, 1.0);
        let closes = self.rate > 0.0 && self.ratio * self.rest() <= MARGIN * run.target() * shrinks;
        let exhausted = rise <= (DONE * self.first_rise).max(NOTHING * run.target());
        self.check_is_due = closes && work >= WORK_BEFORE_CLOSING || exhausted || work >= enough;
    }

    /// What the dual value will still rise by, if it goes on as it does.
    fn rest(&self) -> f64 {
        self.rise * self.rate / (1.0 - self.rate)
    }

    /// The plane that the slopes prove. Where it `may_look` at the data, and rounding may have
    /// carried the weights so far that the plane which follows from them is worth less than its
    /// proof, or none follows from them, it is summed up afresh. Where the time is over there is none for very
    /// many slopes.
    fn plane(
        &self,
        run: &Run<'_>,
        dual: &dyn DualCoordinates,
        may_look: bool,
    ) -> Result<Option<(Plane, Vec<f64>)>, Halt> {
        if !may_look && self.state.slopes.len() > QUICK {
            return Ok(None);
        }
        let center = run.problem.regularizer.center(self.dim);
        let mut slopes = self.state.slopes.clone();
        let bound = |plane: &Plane| bound_of_plane(plane.clone(), run.problem.regularizer, false);
        if let Some(plane) = dual.plane(&self.metric, &self.state, &center) {
            let lost = bound(&Plane { normal_error: 0.0, ..plane.clone() }) - bound(&plane);
            if lost <= LOST * run.best_objective().abs() {
                return Ok(Some((plane, slopes)));
            }
        }
        let Some(duals) = run.problem.risk.duals().filter(|_| may_look) else { return Ok(None) };
        let plane = duals.plane_with_slopes(&mut slopes, run.cancel())?;
        Ok(plane.map(|plane| (plane, slopes)))
    }

    /// Tells the bound that the slopes prove.
    fn offer_bound(
        &self,
        run: &mut Run<'_>,
        dual: &dyn DualCoordinates,
        may_look: bool,
    ) -> Result<(), Halt> {
        if let Some((plane, slopes)) = self.plane(run, dual, may_look)? {
            let bound = bound_of_plane(plane, run.problem.regularizer, false);
            run.offer_bound(bound, || Some(Proof::Slopes(slopes)));
        }
        Ok(())
    }

    /// Evaluates the current weights, and opens the examples that are not held there.
    fn check(&mut self, run: &mut Run<'_>, dual: &dyn DualCoordinates) -> Result<Step, Halt> {
        let mut w = self.metric.at_rest(self.state.w.clone());
        w.truncate(self.dim);
        let point = run.evaluate(w)?;
        let objective = run.objective(&point)?;
        // What it may look at belongs to this evaluation.
        self.offer_bound(run, dual, true)?;
        self.open = dual.still_open(&self.state, point.outputs.here(), HELD * self.pull);
        let length = self.improve(run, point, objective)?;
        if self.rest() > 0.0 {
            self.ratio = run.gap() / self.rest();
        }
        self.visits_at_check = self.visits;
        self.first_rise = 0.0;
        self.check_is_due = false;
        Ok(Step { kind: "check", objective, length })
    }

    /// Takes a point in: as the best one, or for a line search from the best one.
    fn improve(
        &mut self,
        run: &mut Run<'_>,
        point: Point,
        objective: f64,
    ) -> Result<Option<f64>, Halt> {
        let above_bound = run.gap() + objective - run.best_objective();
        let outputs = (self.state.slopes.len() / self.metric.curvatures().len().max(1)) as f64;
        let reach = run.target() * (1.0 + NEAR / outputs);
        let near = above_bound > run.target() && above_bound <= reach;
        // A combined point is evaluated once more at the end.
        let may_combine = near && self.checked && run.has_final_pass();
        if let (Some(best), Some(lines), true) = (&self.best, run.problem.risk.lines(), may_combine)
        {
            let (next, step) = run.problem.least_between(lines, best, &point, LONGEST_STEP);
            let reached = run.objective(&next)?;
            if reached < objective.min(run.best_objective()) {
                run.offer_objective(reached);
                run.reserve_final_pass();
                (self.best, self.combined) = (Some(next), true);
                return Ok(Some(step));
            }
        }
        if objective < run.best_objective() {
            run.offer_objective(objective);
            (self.best, self.combined, self.checked) = (Some(point), false, true);
        }
        Ok(None)
    }
}

impl Solver for DualCd {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let point = run.evaluate(run.problem.start_point())?;
        let objective = run.objective(&point)?;
        run.offer_objective(objective);
        // Intercepts may lie far away: they begin where they are best.
        if self.state.w.len() == self.dim + point.intercept.len() {
            self.state.w[self.dim..].copy_from_slice(&point.intercept);
        }
        self.best = Some(point);
        Ok(Step { kind: "start", objective, length: None })
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let Some(dual) = run.problem.risk.dual_coordinates() else {
            return Err(Halt::Stop(Status::Stalled));
        };
        run.check_gap()?;
        let step = if self.check_is_due { self.check(run, dual) } else { self.sweep(run, dual) };
        if let Err(Halt::Stop(status)) = step {
            // The last slopes prove more than those of the last check, and need no evaluation.
            self.offer_bound(run, dual, false)?;
            run.check_gap()?;
            return Err(Halt::Stop(status));
        }
        step
    }

    fn best(&self) -> Option<&Point> {
        self.best.as_ref()
    }

    fn best_is_combined(&self) -> bool {
        self.combined
    }

    fn planes(&self) -> usize {
        1
    }

    fn save(&self, archive: &mut Archive) {
        archive.put_reals("dual.slopes", self.state.slopes.clone());
        archive.put_reals("dual.w", self.state.w.clone());
        let numbers = [self.state.drift, self.pull, self.dual, self.rise, self.first_rise];
        archive.put_reals("dual.numbers", [&numbers[..], &[self.rate, self.ratio]].concat());
        archive.put_integers("dual.open", self.open.iter().map(|&i| u64::from(i)));
        let flags = [self.check_is_due, self.checked, self.combined].map(u64::from);
        let counts = [self.sweeps, self.visits, self.visits_at_check, self.counted];
        archive.put_integers("dual.counts", counts.into_iter().chain(flags));
        if let Some(best) = &self.best {
            save_point("best", best, archive);
        }
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        let slopes = archive.take_reals("dual.slopes")?;
        let w = archive.take_reals("dual.w")?;
        let numbers = archive.take_reals("dual.numbers")?;
        let counts = archive.take_integers("dual.counts")?;
        let open = archive.take_integers("dual.open")?;
        let fits = slopes.len() == self.state.slopes.len()
            && w.len() == self.state.w.len()
            && open.iter().all(|&i| i < self.examples());
        let (
            &[drift, pull, dual, rise, first_rise, rate, ratio],
            &[sweeps, visits, visits_at_check, counted, check_is_due, checked, combined],
            true,
        ) = (&numbers[..], &counts[..], fits)
        else {
            return Err(ArchiveError("dual.numbers".into()));
        };
        self.state = DualState { slopes, w, drift };
        self.open = open.into_iter().map(|i| i as u32).collect();
        (self.pull, self.dual, self.rise, self.first_rise) = (pull, dual, rise, first_rise);
        (self.rate, self.ratio) = (rate, ratio);
        (self.sweeps, self.visits) = (sweeps, visits);
        (self.visits_at_check, self.counted) = (visits_at_check, counted);
        self.check_is_due = check_is_due != 0;
        (self.checked, self.combined) = (checked != 0, combined != 0);
        self.best = Some(load_point("best", self.dim, archive)?);
        Ok(())
    }
}
