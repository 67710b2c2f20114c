//! `lbfgs`: limited-memory BFGS with a Wolfe line search (Nocedal and Wright, Algorithms 9.1 and
//! 9.2; the method that Yu et al. start from), for smooth risks. Its bound comes from the planes at
//! its iterates. On a risk with kinks it searches exactly where it can and stops wherever its
//! direction leads nowhere down, which is what §2.1 of Yu et al. shows.

use super::quasi_newton::{
    Companion, Direction, InverseHessian, LimitedMemory, SearchRules, Site, Turn, Walk, bends,
    difference,
};
use super::{Halt, Run, Solver, Step};
use crate::archive::{Archive, ArchiveError};
use crate::risk::Point;
use minorant_linalg::dense::{dot, norm2};

/// The limited-memory BFGS method.
#[derive(Debug)]
pub struct Lbfgs {
    walk: Walk,
    memory: LimitedMemory,
    /// ‖g‖/‖w‖ that ends the run.
    stop_gradient: Option<f64>,
}

impl Lbfgs {
    /// A run that remembers `pairs` steps; `assisted` lets the planes' model help.
    pub(super) fn new(
        dim: usize,
        pairs: usize,
        companion: Companion,
        assisted: bool,
        (stop_gradient, rules): (Option<f64>, SearchRules),
    ) -> Self {
        let walk = Walk::new(dim, companion, assisted, rules);
        Lbfgs { walk, memory: LimitedMemory::new(pairs), stop_gradient }
    }

    /// s, y and the update of B.
    fn learn(&mut self, left: &Site) -> Result<(), Halt> {
        let site = self.walk.site()?;
        let s = difference(&site.point.w, &left.point.w);
        let y = difference(&site.gradient, &left.gradient);
        if bends(&s, &y) {
            self.memory.update(&s, &y);
        }
        Ok(())
    }
}

impl Solver for Lbfgs {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        self.walk.start(run)
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        if let Turn::Model(w) = self.walk.turn(run)? {
            let (left, step) = self.walk.model_step(run, w)?;
            if let Some(left) = left {
                self.learn(&left)?;
            }
            return Ok(step);
        }
        let site = self.walk.site()?;
        let ratio = || (norm2(&site.gradient) / norm2(&site.point.w)).sqrt();
        if self.stop_gradient.is_some_and(|most| ratio() <= most) {
            return Err(run.own_rule_holds());
        }
        // Without convexity there is no bound, but the plane at the best point makes a local model:
        // its minimum lies ‖g ⊘ θ‖² / 2λ below.
        let lambda = run.problem.regularizer.lambda();
        if !run.problem.risk.is_convex() && lambda > 0.0 {
            let gradient = &self.walk.site()?.gradient;
            let square = run.problem.regularizer.square_in_metric(gradient);
            run.check_local_gap(square / (2.0 * lambda))?;
        }
        // p = −B g.
        let gradient = &self.walk.site()?.gradient;
        let p: Vec<f64> = self.memory.times(gradient).iter().map(|v| -v).collect();
        let direction = Direction { slope: dot(gradient, &p), p };
        let size = -direction.slope;
        let Some(reached) = self.walk.search(run, &direction, self.memory.is_fresh())? else {
            return self.walk.stuck(run, size);
        };
        let (left, step) = self.walk.arrive(run, reached)?;
        self.learn(&left)?;
        Ok(step)
    }

    fn best(&self) -> Option<&Point> {
        self.walk.best()
    }

    fn best_is_combined(&self) -> bool {
        self.walk.best_is_combined()
    }

    fn planes(&self) -> usize {
        self.walk.planes()
    }

    fn save(&self, archive: &mut Archive) {
        self.walk.save(archive);
        self.memory.save(archive);
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        self.walk.load(archive)?;
        self.memory.load(archive)
    }
}
