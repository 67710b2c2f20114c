//! `subgradient`: steps of length 1/(λt) along a subgradient, without line search; the simplest of
//! the baselines. The best point seen is the answer, and the planes at all points give its bound.

use super::quasi_newton::Companion;
use super::{Halt, Run, Solver, Status, Step, load_point, save_point};
use crate::archive::{Archive, ArchiveError};
use crate::risk::Point;
use minorant_linalg::dense::axpy;

/// The subgradient method.
#[derive(Debug)]
pub struct Subgradient {
    dim: usize,
    companion: Companion,
    best: Option<Point>,
    /// The next point, and the number of steps that led there.
    next: Vec<f64>,
    steps: u64,
}

impl Subgradient {
    /// A run.
    pub(super) fn new(dim: usize, companion: Companion) -> Self {
        Subgradient { dim, companion, best: None, next: Vec::new(), steps: 0 }
    }

    fn visit(&mut self, run: &mut Run<'_>, w: Vec<f64>, kind: &'static str) -> Result<Step, Halt> {
        let (point, planes) = run.evaluate_with_planes(w, 1)?;
        let objective = run.objective(&point)?;
        // w := w − g / (λ t).
        let mut gradient = vec![0.0; self.dim];
        planes.iter().for_each(|plane| axpy(1.0, &plane.normal, &mut gradient));
        run.problem.regularizer.add_gradient(&point.w, &mut gradient);
        self.steps += 1;
        let step = 1.0 / (run.problem.regularizer.lambda() * self.steps as f64);
        self.next = point.w.clone();
        axpy(-step, &gradient, &mut self.next);
        self.companion.add(run, &point.w, planes);
        let best = self.best.as_ref().map_or(f64::INFINITY, |best| run.problem.objective(best));
        let kind = if objective < best { kind } else { "null" };
        if objective < best {
            self.best = Some(point);
            run.offer_objective(objective);
        }
        Ok(Step { kind, objective, length: Some(step) })
    }
}

impl Solver for Subgradient {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        self.visit(run, run.problem.start_point(), "start")
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        if self.companion.is_due(run) {
            self.companion.solve(run)?;
        }
        let next = std::mem::take(&mut self.next);
        if next.iter().any(|w| !w.is_finite()) {
            return Err(Halt::Stop(Status::Stalled));
        }
        self.visit(run, next, "descent")
    }

    fn best(&self) -> Option<&Point> {
        self.best.as_ref()
    }

    fn planes(&self) -> usize {
        self.companion.len()
    }

    fn save(&self, archive: &mut Archive) {
        self.companion.save(archive);
        if let Some(best) = &self.best {
            save_point("best", best, archive);
        }
        archive.put_reals("next", self.next.clone());
        archive.put_integers("steps", [self.steps]);
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        self.companion.load(archive)?;
        self.best = Some(load_point("best", self.dim, archive)?);
        self.next = archive.take_reals("next")?;
        self.steps = archive.take_integer("steps")?;
        if self.next.len() != self.dim {
            return Err(ArchiveError("next".into()));
        }
        Ok(())
    }
}
