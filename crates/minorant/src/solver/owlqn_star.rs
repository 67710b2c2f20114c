//! `owlqn-star`: OWL-QN with the direction-finding routine of Yu et al. (OWL-QN*, §8.4): the
//! direction comes from Algorithm 2 over the subdifferential of λ‖w‖₁, whatever subgradient it
//! starts from; the line search is OWL-QN's, in the orthant that the direction points into.
//!
//! Where Algorithm 2 fails, or its iterations run out before it has a descent direction, the
//! subgradient of least length takes its place.

use super::orthant::{Orthant, Subgradients};
use super::quasi_newton::{Effort, descent_direction};
use super::{Halt, Run, Solver, Step, l1};
use crate::archive::{Archive, ArchiveError};
use crate::risk::Point;

/// ε = 10⁻⁵ (§8.1), and k_max.
const EFFORT: Effort = Effort { tolerance: 1e-5, most: 100 };

/// The orthant-wise method with directions by Algorithm 2.
#[derive(Debug)]
pub struct OwlqnStar {
    orthant: Orthant,
}

impl OwlqnStar {
    /// A run on a problem with `dim` weights that remembers `memory` steps.
    pub fn new(dim: usize, memory: usize, subgradients: Subgradients) -> Self {
        OwlqnStar { orthant: Orthant::new(dim, memory, subgradients) }
    }
}

impl Solver for OwlqnStar {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        self.orthant.start(run)
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        run.check_gap()?;
        let lambda = run.problem.l1;
        let first = self.orthant.subgradient(lambda)?;
        let (point, gradient) = self.orthant.place()?;
        // arg sup gᵀp: at a zero weight the end of [−λ, λ] with the sign of p.
        let steepest = |p: &[f64]| -> Vec<f64> {
            let entry = |at: usize| {
                let side = if point.w[at] == 0.0 { p[at] } else { point.w[at] };
                gradient[at] + if side == 0.0 { 0.0 } else { lambda.copysign(side) }
            };
            (0..p.len()).map(entry).collect()
        };
        let memory = &self.orthant.memory;
        let found = descent_direction(first, EFFORT, |v| memory.times(v), steepest);
        run.count_direction_steps(found.steps);
        let p = match found.direction {
            Some(direction) => direction.p,
            None => {
                let least = l1::pseudo_gradient(&point.w, gradient, lambda);
                least.into_iter().map(|g| -g).collect()
            }
        };
        self.orthant.search(run, &p, |at| p[at])
    }

    fn best(&self) -> Option<&Point> {
        self.orthant.best()
    }

    fn planes(&self) -> usize {
        0
    }

    fn save(&self, archive: &mut Archive) {
        self.orthant.save(archive);
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        self.orthant.load(archive)
    }
}
