//! `bmrm`, `lm-bmrm` and `p-bmrm`: the convex regularized bundle method (Algorithm 2 of Do and
//! Artières; Algorithm 1 of Uříčář and Franc), with a limit on the planes its limited-memory form
//! (Algorithm 3 of Do and Artières, where the bundle keeps the aggregate plane), and with a plane
//! model for each of P blocks of rows the P-BMRM of Uříčář and Franc (§3.3, Eq. 14).
//!
//! Departure from Algorithm 3: weight is folded into the aggregate only when a plane that carries
//! weight has to go; until then the model is that of Algorithm 2.

use super::{Halt, Run, Solver, Step, load_point, save_point};
use crate::archive::{Archive, ArchiveError};
use crate::bundle::{Bundle, Limits};
use crate::risk::Point;

/// The bundle method without line search.
#[derive(Debug)]
pub struct Bmrm {
    dim: usize,
    parts: usize,
    limits: Limits,
    bundle: Bundle,
    best: Option<Point>,
}

impl Bmrm {
    /// A run on a problem with `dim` weights, with `parts` plane models.
    pub fn new(dim: usize, parts: usize, limits: Limits) -> Self {
        Bmrm { dim, parts, limits, bundle: Bundle::new(dim, parts, limits), best: None }
    }

    /// Goes on from a bundle and a best point that another method has found.
    pub(super) fn take_over(&mut self, bundle: Bundle, best: Point) {
        (self.bundle, self.best) = (bundle, Some(best));
    }

    /// Evaluates the objective and adds the planes at `w`.
    fn visit(&mut self, run: &mut Run<'_>, w: Vec<f64>, kind: &'static str) -> Result<Step, Halt> {
        let (point, planes) = run.evaluate_with_planes(w, self.parts)?;
        let objective = run.objective(&point)?;
        let problem = run.problem;
        run.master(|| self.bundle.add(&point.w, planes, problem));
        let best = self.best.as_ref().map_or(f64::INFINITY, |best| run.problem.objective(best));
        let kind = if objective < best { kind } else { "null" };
        if objective < best {
            self.best = Some(point);
            run.offer_objective(objective);
        }
        Ok(Step { kind, objective, length: None })
    }
}

impl Solver for Bmrm {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        if let Some(best) = &self.best {
            let objective = run.objective(best)?;
            run.offer_objective(objective);
            return Ok(Step { kind: "start", objective, length: None });
        }
        self.visit(run, run.problem.start_point(), "start")
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        // w_t := argmin of λ/2‖w‖² + max_j plane_j(w), by its dual (Eq. 8 of Do and Artières).
        let (accuracy, problem) = (run.master_gap(), run.problem);
        let minimum = run.master(|| self.bundle.minimise(problem, accuracy));
        run.offer_bounds(&minimum.bounds, || self.bundle.proof());
        run.check_gap()?;
        self.visit(run, minimum.w, "descent")
    }

    fn restart_at(&mut self, point: Point) -> bool {
        self.best = Some(point);
        true
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
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        self.bundle = Bundle::load(self.dim, self.parts, self.limits, archive)?;
        self.best = Some(load_point("best", self.dim, archive)?);
        Ok(())
    }
}
