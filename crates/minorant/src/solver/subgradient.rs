//! `subgradient`: steps of length 1/(λt) along a subgradient in the regularizer's metric, without
//! line search; the simplest of the baselines. The best point seen is the answer, and the planes at
//! all points give its bound.
//!
//! Three things the formula leaves open. On a smooth risk, whose slopes may grow without limit, steps
//! that are too long never come back: as many are left out as the first one needs to go downhill.
//! It may go uphill for long; it is given up when no step has helped for as many as had been made
//! until then, but not soon. And a step may lead to where numbers overflow: it goes on from the best
//! point, with shorter ones.

use super::quasi_newton::Companion;
use super::{Halt, Run, Solver, Status, Step, load_point, save_point};
use crate::archive::{Archive, ArchiveError};
use crate::risk::{Point, RiskError};
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
    /// The steps that had been made when the best point was found.
    steps_at_best: u64,
    /// Start point and subgradient there, while the length of the first step is searched for.
    first: Option<[Vec<f64>; 2]>,
}

/// By how much more steps are left out where the first one goes uphill.
const LEFT_OUT: u64 = 4;
/// Steps without a better point that are nothing unusual.
const PATIENCE: u64 = 1000;

impl Subgradient {
    /// A run.
    pub(super) fn new(dim: usize, companion: Companion) -> Self {
        let (best, next, first) = (None, Vec::new(), None);
        Subgradient { dim, companion, best, next, steps: 0, steps_at_best: 0, first }
    }

    /// Goes back to the start for a shorter first step, if the first one is still searched for.
    fn shorten(&mut self, run: &mut Run<'_>) -> Option<Step> {
        let [start, gradient] = self.first.take()?;
        self.steps = self.steps.checked_mul(LEFT_OUT)?;
        let step = self.descend(run, &start, &gradient);
        // Where no step is short enough, the start is as low as it gets.
        if self.next == start {
            return None;
        }
        self.first = Some([start, gradient]);
        run.keep_going();
        Some(Step { kind: "null", objective: f64::INFINITY, length: Some(step) })
    }

    /// Makes w − g / (λ θ² t) the next point.
    fn descend(&mut self, run: &Run<'_>, w: &[f64], gradient: &[f64]) -> f64 {
        let regularizer = run.problem.regularizer;
        let step = 1.0 / (regularizer.lambda() * self.steps as f64);
        self.next = w.to_vec();
        match regularizer.weights() {
            None => axpy(-step, gradient, &mut self.next),
            Some(weights) => {
                for ((w, g), theta) in self.next.iter_mut().zip(gradient).zip(weights) {
                    *w -= step * (g / theta / theta);
                }
            }
        }
        step
    }

    /// Goes on from the best point, if there is one, with shorter steps.
    fn go_back(&mut self) -> Option<Step> {
        let best = self.best.as_ref()?;
        self.next = best.w.clone();
        self.steps = self.steps.checked_mul(LEFT_OUT)?;
        Some(Step { kind: "null", objective: f64::INFINITY, length: None })
    }

    fn visit(&mut self, run: &mut Run<'_>, w: Vec<f64>, kind: &'static str) -> Result<Step, Halt> {
        let (point, planes) = run.evaluate_with_planes(w, 1)?;
        let objective = run.objective(&point)?;
        let best = self.best.as_ref().map_or(f64::INFINITY, |best| run.problem.objective(best));
        if objective >= best
            && let Some(step) = self.shorten(run)
        {
            self.companion.add(run, &point.w, planes);
            return Ok(Step { objective, ..step });
        }
        let mut gradient = vec![0.0; self.dim];
        planes.iter().for_each(|plane| axpy(1.0, &plane.normal, &mut gradient));
        run.problem.regularizer.add_gradient(&point.w, &mut gradient);
        self.first = None;
        if self.best.is_none() && run.problem.risk.is_smooth() {
            self.first = Some([point.w.clone(), gradient.clone()]);
        }
        self.steps += 1;
        let step = self.descend(run, &point.w, &gradient);
        self.companion.add(run, &point.w, planes);
        let kind = if objective < best { kind } else { "null" };
        if objective < best {
            self.best = Some(point);
            self.steps_at_best = self.steps;
            run.offer_objective(objective);
        }
        if self.steps < 2 * self.steps_at_best + PATIENCE {
            run.keep_going();
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
        let visited = if next.iter().all(|w| w.is_finite()) {
            self.visit(run, next, "descent")
        } else {
            Err(Halt::Failed(RiskError::NotFinite("the weights overflow".into())))
        };
        match visited {
            Err(Halt::Failed(RiskError::NotFinite(_))) => {
                run.overshot();
                let is_first = self.first.is_some();
                let shorter = self.shorten(run).or_else(|| self.go_back().filter(|_| !is_first));
                shorter.ok_or(Halt::Stop(Status::Stalled))
            }
            visited => visited,
        }
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
        archive.put_integers("steps", [self.steps, self.steps_at_best]);
        archive.put_reals("first", self.first.iter().flatten().flatten().copied().collect());
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        self.companion.load(archive)?;
        self.best = Some(load_point("best", self.dim, archive)?);
        self.next = archive.take_reals("next")?;
        let [steps, steps_at_best] = archive.take_integers("steps")?[..] else {
            return Err(ArchiveError("steps".into()));
        };
        (self.steps, self.steps_at_best) = (steps, steps_at_best);
        let first = archive.take_reals("first")?;
        if self.next.len() != self.dim || ![0, 2 * self.dim].contains(&first.len()) {
            return Err(ArchiveError("next".into()));
        }
        let (start, gradient) = first.split_at(first.len() / 2);
        self.first = (!first.is_empty()).then(|| [start.to_vec(), gradient.to_vec()]);
        Ok(())
    }
}
