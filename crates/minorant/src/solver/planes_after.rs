//! What becomes of methods where they are slow or come to a halt: another bundle method goes on from their best
//! weights. After `dual-cd` or `bcfw`, soon where `auto` has chosen them, late where a user has: ascent by
//! examples creeps where a few of them can move the weights far (features that are not scaled, a large C);
//! sizes alone do not tell when. After a bundle method beside absolute weights or bounds with next to no quadratic,
//! which knows the bound but whose minimisers are rounding over λ: a prox term makes them weights again. The rule
//! counts evaluations and never looks at a clock. Not a method that users name.

use super::{Bmrm, Halt, LsBmrm, ProxBmrm, Run, Solver, Status, Step};
use crate::archive::{Archive, ArchiveError};
use crate::bundle::{Bundle, Limits};
use crate::risk::Point;

/// So many evaluations must bring one more digit of the gap, where `auto` has chosen the method and
/// where a user has.
pub(super) const SOON: u64 = 1000;
pub(super) const LATE: u64 = 4000;
const DIGIT: f64 = 0.1;
/// So many iterations without any progress are a halt.
const HALT: u32 = 10;
/// Iterations of a bundle method that may pass before its bound has caught up with that of a dual method.
const WAIT: u64 = 1000;

/// A bundle method that can go on from what another method has found.
pub(super) trait TakesOver: Solver {
    /// Goes on from a bundle and a best point.
    fn take_over(&mut self, bundle: Bundle, best: Point);
}

impl TakesOver for LsBmrm {
    fn take_over(&mut self, bundle: Bundle, best: Point) {
        LsBmrm::take_over(self, bundle, best, false);
    }
}

impl TakesOver for Bmrm {
    fn take_over(&mut self, bundle: Bundle, best: Point) {
        Bmrm::take_over(self, bundle, best);
    }
}

impl TakesOver for ProxBmrm {
    fn take_over(&mut self, bundle: Bundle, best: Point) {
        ProxBmrm::take_over(self, bundle, best);
    }
}

/// A method, then planes.
pub struct PlanesAfter<'p> {
    first: Box<dyn Solver + 'p>,
    planes: Box<dyn TakesOver>,
    taken_over: bool,
    dim: usize,
    parts: usize,
    limits: Limits,
    /// Evaluations that must bring one more digit of the gap.
    patience: u64,
    /// Iterations of the bundle method that may pass before its bound has caught up.
    wait: u64,
    /// Evaluations at which the gap is looked at next, and what it must not exceed then.
    look_at: u64,
    gap_wanted: f64,
    /// The least gap since the hand-over, and iterations since it was reached.
    gap_reached: f64,
    waited: u64,
}

impl std::fmt::Debug for PlanesAfter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlanesAfter").field("taken_over", &self.taken_over).finish_non_exhaustive()
    }
}

impl<'p> PlanesAfter<'p> {
    /// Begins with a dual method; the bundle method has `parts` plane models, and takes over where
    /// `patience` evaluations do not bring one more digit of the gap.
    pub(super) fn new(
        first: Box<dyn Solver + 'p>,
        planes: Box<dyn TakesOver>,
        dim: usize,
        parts: usize,
        limits: Limits,
        patience: u64,
    ) -> Self {
        PlanesAfter {
            first,
            planes,
            taken_over: false,
            dim,
            parts,
            limits,
            patience,
            wait: WAIT,
            look_at: patience,
            gap_wanted: f64::INFINITY,
            gap_reached: f64::INFINITY,
            waited: 0,
        }
    }

    /// Begins with a bundle method, from whose best weights another goes on where it comes to a halt: the bound
    /// is known by then.
    pub(super) fn after_a_halt(
        first: Box<dyn Solver + 'p>,
        planes: Box<dyn TakesOver>,
        (dim, parts): (usize, usize),
        limits: Limits,
    ) -> Self {
        PlanesAfter { wait: 0, ..PlanesAfter::new(first, planes, dim, parts, limits, u64::MAX) }
    }

    /// Whether the ascent has taken too long.
    fn is_too_slow(&mut self, run: &Run<'_>) -> bool {
        if run.idle_iterations() >= HALT {
            return true;
        }
        if run.evaluations() < self.look_at {
            return false;
        }
        let gap = run.gap();
        if gap > self.gap_wanted.min(DIGIT * run.best_objective().abs()) {
            return true;
        }
        self.look_at += self.patience;
        self.gap_wanted = DIGIT * gap;
        false
    }

    /// The bundle method goes on from the best weights, with the planes there.
    fn hand_over(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let best = self.first.best().ok_or(Halt::Stop(Status::Stalled))?;
        let (point, planes) = run.evaluate_with_planes(best.w.clone(), self.parts)?;
        let objective = run.objective(&point)?;
        let mut bundle = Bundle::new(self.dim, self.parts, self.limits);
        let problem = run.problem;
        run.master(|| bundle.add(&point.w, planes, problem));
        self.planes.take_over(bundle, point);
        self.planes.start(run)?;
        self.taken_over = true;
        run.keep_going();
        Ok(Step { kind: "hand-over", objective, length: None })
    }
}

impl Solver for PlanesAfter<'_> {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        self.first.start(run)
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        if self.taken_over {
            let step = self.planes.step(run)?;
            // What the planes prove at first is less than what the dual method has proven.
            let gap = run.gap();
            let is_closer = gap < self.gap_reached;
            self.waited = if is_closer { 0 } else { self.waited + 1 };
            self.gap_reached = if is_closer { gap } else { self.gap_reached };
            if self.waited < self.wait {
                run.keep_going();
            }
            Ok(step)
        } else if self.is_too_slow(run) {
            run.check_gap()?;
            self.hand_over(run)
        } else {
            self.first.step(run)
        }
    }

    fn restart_at(&mut self, point: Point) -> bool {
        if self.taken_over { self.planes.restart_at(point) } else { self.first.restart_at(point) }
    }

    fn best(&self) -> Option<&Point> {
        if self.taken_over { self.planes.best() } else { self.first.best() }
    }

    fn best_is_combined(&self) -> bool {
        if self.taken_over { self.planes.best_is_combined() } else { self.first.best_is_combined() }
    }

    fn planes(&self) -> usize {
        if self.taken_over { self.planes.planes() } else { self.first.planes() }
    }

    fn save(&self, archive: &mut Archive) {
        let counts = [u64::from(self.taken_over), self.look_at, self.waited];
        archive.put_integers("planes-after", counts);
        archive.put_reals("planes-after.gaps", vec![self.gap_wanted, self.gap_reached]);
        if self.taken_over {
            self.planes.save(archive);
        } else {
            self.first.save(archive);
        }
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        let [taken_over, look_at, waited] = archive.take_integers("planes-after")?[..] else {
            return Err(ArchiveError("planes-after".into()));
        };
        let [gap_wanted, gap_reached] = archive.take_reals("planes-after.gaps")?[..] else {
            return Err(ArchiveError("planes-after.gaps".into()));
        };
        (self.taken_over, self.look_at, self.waited) = (taken_over != 0, look_at, waited);
        (self.gap_wanted, self.gap_reached) = (gap_wanted, gap_reached);
        if self.taken_over { self.planes.load(archive) } else { self.first.load(archive) }
    }
}
