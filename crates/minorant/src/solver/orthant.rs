//! What `owlqn` and `owlqn-star` share: where they stand, which subgradients they are given, and
//! Andrew and Gao's line search, which backtracks along the direction projected onto one orthant,
//! where λ‖w‖₁ is linear.

use super::quasi_newton::{InverseHessian, LimitedMemory};
use super::{Halt, Run, Status, Step, l1, load_point, save_point};
use crate::archive::{Archive, ArchiveError};
use crate::risk::Point;
use minorant_linalg::dense::{dot, norm2};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The share γ of the slope that a step's decrease must reach.
const SUFFICIENT: f64 = 1e-4;
/// Halvings of a step before the search fails.
const HALVINGS: u32 = 50;
/// sᵀy below this share of yᵀy would spoil the memory.
const CURVED: f64 = 1e-14;

/// Which subgradients are given to the search for a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Subgradients {
    /// Those of least length, as Andrew and Gao choose them.
    #[default]
    Least,
    /// Random ones: at zero weights the penalty's slope is drawn between −λ and λ (the experiment
    /// of Yu et al., §8.4).
    Random,
}

/// A point with its gradients, and the memory of the steps that led there.
#[derive(Debug)]
pub(super) struct Orthant {
    dim: usize,
    subgradients: Subgradients,
    seed: u64,
    pub(super) memory: LimitedMemory,
    current: Option<(Point, Vec<f64>)>,
    steps: u64,
}

impl Orthant {
    /// Nowhere yet; `memory` pairs will be remembered.
    pub(super) fn new(
        dim: usize,
        memory: usize,
        (subgradients, seed): (Subgradients, u64),
    ) -> Self {
        let memory = LimitedMemory::new(memory);
        Orthant { dim, subgradients, seed, memory, current: None, steps: 0 }
    }

    /// Evaluates the start point.
    pub(super) fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let (point, gradient) = l1::visit(run, run.problem.start_point())?;
        let objective = run.objective(&point)?;
        run.offer_objective(objective);
        self.current = Some((point, gradient));
        Ok(Step { kind: "start", objective, length: None })
    }

    /// The point and the gradient of risk and quadratic there.
    pub(super) fn place(&self) -> Result<(&Point, &[f64]), Halt> {
        let place = self.current.as_ref().map(|(point, gradient)| (point, &gradient[..]));
        place.ok_or(Halt::Stop(Status::Stalled))
    }

    /// The subgradient of the objective that a direction is sought from.
    pub(super) fn subgradient(&self, lambda: f64) -> Result<Vec<f64>, Halt> {
        let (point, gradient) = self.place()?;
        if self.subgradients == Subgradients::Least {
            return Ok(l1::pseudo_gradient(&point.w, gradient, lambda));
        }
        let mut random = Pcg64Mcg::seed_from_u64(self.seed ^ self.steps.wrapping_mul(0x9e37_79b9));
        let mut entry = |(&w, &g): (&f64, &f64)| {
            let share = 2.0 * random.random::<f64>() - 1.0;
            g + if w == 0.0 { lambda * share } else { lambda.copysign(w) }
        };
        Ok(point.w.iter().zip(gradient).map(&mut entry).collect())
    }

    /// Searches along `p` in the orthant of the weights, at zero weights in that of `signs`: the
    /// first of the steps 1, ½, … that decreases the objective enough. Where none does, the memory
    /// is forgotten; where there was none, the run ends.
    pub(super) fn search(
        &mut self,
        run: &mut Run<'_>,
        p: &[f64],
        signs: impl Fn(usize) -> f64,
    ) -> Result<Step, Halt> {
        let (lambda, fresh) = (run.problem.regularizer.l1(), self.memory.is_fresh());
        let Some((point, gradient)) = &self.current else {
            return Err(Halt::Stop(Status::Stalled));
        };
        let before = run.problem.objective(point);
        let mut length = if fresh { 1.0 / norm2(p).sqrt().max(f64::MIN_POSITIVE) } else { 1.0 };
        for _ in 0..HALVINGS {
            // π(w + η p; ξ): a weight that would leave the orthant stops at zero.
            let project = |at: usize| {
                let (w, to) = (point.w[at], point.w[at] + length * p[at]);
                let sign = if w == 0.0 { signs(at) } else { w };
                if to * sign > 0.0 { to } else { 0.0 }
            };
            let to: Vec<f64> = (0..p.len()).map(project).collect();
            let slope = l1::slope_towards(&point.w, &to, gradient, lambda);
            if to == point.w {
                break;
            }
            let (trial, there) = l1::visit(run, to)?;
            let objective = run.problem.objective(&trial);
            if objective <= before + SUFFICIENT * slope.min(0.0) && objective.is_finite() {
                let s: Vec<f64> =
                    trial.w.iter().zip(&point.w).map(|(to, from)| to - from).collect();
                let y: Vec<f64> = there.iter().zip(gradient).map(|(to, from)| to - from).collect();
                if dot(&s, &y) > CURVED * norm2(&y) {
                    self.memory.update(&s, &y);
                }
                run.offer_objective(objective);
                self.current = Some((trial, there));
                self.steps += 1;
                return Ok(Step { kind: "descent", objective, length: Some(length) });
            }
            length *= 0.5;
        }
        self.steps += 1;
        if fresh {
            return Err(Halt::Stop(Status::Stalled));
        }
        self.memory.reset();
        Ok(Step { kind: "null", objective: before, length: Some(0.0) })
    }

    /// The point, once there is one.
    pub(super) fn best(&self) -> Option<&Point> {
        self.current.as_ref().map(|(point, _)| point)
    }

    /// Writes everything.
    pub(super) fn save(&self, archive: &mut Archive) {
        if let Some((point, gradient)) = &self.current {
            save_point("current", point, archive);
            archive.put_reals("current.gradient", gradient.clone());
        }
        self.memory.save(archive);
        archive.put_integers("steps", [self.steps]);
    }

    /// Goes back to a saved state.
    pub(super) fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        let point = load_point("current", self.dim, archive)?;
        let gradient = archive.take_reals("current.gradient")?;
        if gradient.len() != self.dim {
            return Err(ArchiveError("current.gradient".into()));
        }
        self.current = Some((point, gradient));
        self.memory.load(archive)?;
        self.steps = archive.take_integer("steps")?;
        Ok(())
    }
}
