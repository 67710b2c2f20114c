//! `subbfgs`, `sublbfgs` and `subgd`: the subgradient BFGS method (Algorithm 1 of Yu et al.) with
//! a dense estimate of the inverse Hessian, with the limited-memory one of §3.5, and with B = I.
//!
//! Departures: the tolerance of the direction search is relative to the objective (the printed one
//! depends on the objective's scale); where Line 6 would end the run, or the bound lags far behind,
//! the minimiser of the planes seen so far is tried (`quasi_newton/walk.rs`); `subgd`, a baseline,
//! gets no such help.

use super::quasi_newton::{
    Companion, Effort, InverseHessian, SearchRules, Site, Turn, Walk, bends, difference,
};
use super::{Halt, MethodOptions, Run, Solver, Step};
use crate::archive::{Archive, ArchiveError};
use crate::risk::Point;
use minorant_linalg::dense::{axpy, dot, norm2};

/// ε of Algorithm 2, relative to the objective.
const TOLERANCE: f64 = 1e-5;
/// ε at the start, where kinks may be everywhere and a direction costs much.
const TOLERANCE_AT_START: f64 = 1.0;
/// k_max of Algorithm 2.
const ROUNDS: u64 = 1000;
/// h of Line 14: the least sᵀy / yᵀy.
const LEAST_CURVATURE: f64 = 1e-8;

/// The subgradient BFGS method.
#[derive(Debug)]
pub struct SubBfgs {
    walk: Walk,
    inverse: Box<dyn InverseHessian + Send>,
    tolerance: f64,
    most_rounds: u64,
    least_curvature: f64,
    at_start: bool,
    /// The subgradient that Line 12 chose, where it is not the one at hand.
    chosen: Option<Vec<f64>>,
}

impl SubBfgs {
    /// A run with an estimate of the inverse Hessian; `assisted` lets the model help.
    pub(super) fn new(
        dim: usize,
        inverse: Box<dyn InverseHessian + Send>,
        companion: Companion,
        assisted: bool,
        (options, rules): (&MethodOptions, SearchRules),
    ) -> Self {
        SubBfgs {
            walk: Walk::new(dim, companion, assisted, rules),
            inverse,
            tolerance: options.direction_tolerance.unwrap_or(TOLERANCE),
            most_rounds: options.tuning.direction_limit.unwrap_or(ROUNDS),
            least_curvature: options.tuning.curvature_floor.unwrap_or(LEAST_CURVATURE),
            at_start: true,
            chosen: None,
        }
    }

    /// The walk, for a method that goes on from it.
    pub(super) fn walk(&mut self) -> &mut Walk {
        &mut self.walk
    }

    /// Lines 5 to 15: one step of the walk itself.
    pub(super) fn walk_on(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let site = self.walk.site()?;
        let relaxed = if self.at_start { TOLERANCE_AT_START } else { 0.0 };
        let tolerance = self.tolerance.max(relaxed) * site.objective.abs();
        let effort = Effort { tolerance, most: self.most_rounds };
        // Line 5.
        let found = site.descent_direction(run, effort, |v| self.inverse.times(v))?;
        run.count_direction_steps(found.steps);
        self.at_start = false;
        // Line 9.
        let reached = match found.direction {
            Some(direction) => self.walk.search(run, &direction, self.inverse.is_fresh())?,
            None => None,
        };
        // Lines 6 to 8.
        let Some(reached) = reached else {
            if self.inverse.is_fresh() {
                return self.walk.stuck(run, found.size);
            }
            // An estimate from far away may be at fault: once more without it.
            self.inverse.reset();
            return self.walk.pause(run);
        };
        // Lines 10 and 11.
        let (left, step) = self.walk.arrive(run, reached)?;
        self.learn(run, left)?;
        Ok(step)
    }

    /// A step to or towards the minimiser of the model.
    pub(super) fn model_step(&mut self, run: &mut Run<'_>, w: Vec<f64>) -> Result<Step, Halt> {
        let (left, step) = self.walk.model_step(run, w)?;
        if let Some(left) = left {
            self.learn(run, left)?;
        }
        Ok(step)
    }

    /// Lines 12 to 15: what the step from `left` to here tells of the curvature.
    fn learn(&mut self, run: &Run<'_>, left: Site) -> Result<(), Halt> {
        let site = self.walk.site()?;
        let mut s = difference(&site.point.w, &left.point.w);
        // Line 12.
        let before = self.chosen.take().unwrap_or(left.gradient);
        let mut y = difference(&site.gradient, &before);
        if !bends(&s, &y) {
            let steepest = site.steepest(run, &s)?;
            // Line 13.
            y = difference(&steepest, &before);
            self.chosen = Some(steepest);
            if !bends(&s, &y) {
                return Ok(());
            }
        }
        // Line 14.
        let lack = self.least_curvature - dot(&s, &y) / norm2(&y);
        if lack > 0.0 {
            axpy(lack, &y, &mut s);
        }
        // Line 15.
        self.inverse.update(&s, &y);
        Ok(())
    }
}

impl Solver for SubBfgs {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        self.walk.start(run)
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        match self.walk.turn(run)? {
            Turn::Walk => self.walk_on(run),
            Turn::Model(w) => self.model_step(run, w),
        }
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
        self.inverse.save(archive);
        archive.put_integers("at_start", [u64::from(self.at_start)]);
        if let Some(chosen) = &self.chosen {
            archive.put_reals("chosen", chosen.clone());
        }
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        self.walk.load(archive)?;
        self.inverse.load(archive)?;
        self.at_start = archive.take_integer("at_start")? != 0;
        self.chosen = archive.take_reals("chosen").ok();
        Ok(())
    }
}
