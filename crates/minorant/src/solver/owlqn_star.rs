//! `owlqn-star`: OWL-QN with the direction-finding routine of Yu et al. (OWL-QN*, §8.4): the
//! direction comes from Algorithm 2 over the subdifferential of λ‖w‖₁, whatever subgradient it
//! starts from; the line search is OWL-QN's.
//!
//! Departures: the tolerance of Algorithm 2 shrinks with what a step can gain, for an absolute one
//! ends the progress where steps gain less. Zero weights that the direction would move uphill stay
//! where they are, which makes it the steeper: convex combinations of subgradients come near to
//! zero entries, but never reach them. Where Algorithm 2 fails, the subgradient of least length
//! takes its place.

use super::orthant::{Orthant, Subgradients};
use super::quasi_newton::{Effort, InverseHessian, descent_direction};
use super::{Halt, Run, Solver, Step, l1};
use crate::archive::{Archive, ArchiveError};
use crate::risk::Point;
use minorant_linalg::dense::dot;

/// ε (§8.1), at most ...
const TOLERANCE: f64 = 1e-5;
/// ... and this share of the decrease that the quasi-Newton step for the subgradient of least
/// length promises.
const SHARE: f64 = 0.05;
/// k_max.
const MOST: u64 = 100;

/// The orthant-wise method with directions by Algorithm 2.
#[derive(Debug)]
pub struct OwlqnStar {
    orthant: Orthant,
}

impl OwlqnStar {
    /// A run on a problem with `dim` weights that remembers `memory` steps; which subgradients directions
    /// are sought from, with the seed of those drawn at random.
    pub fn new(dim: usize, memory: usize, subgradients: (Subgradients, u64)) -> Self {
        OwlqnStar { orthant: Orthant::new(dim, memory, subgradients) }
    }
}

impl Solver for OwlqnStar {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        self.orthant.start(run)
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        run.check_gap()?;
        let lambda = run.problem.regularizer.l1();
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
        let least = l1::pseudo_gradient(&point.w, gradient, lambda);
        let promise = 0.5 * dot(&least, &memory.times(&least));
        let effort = Effort { tolerance: TOLERANCE.min(SHARE * promise), most: MOST };
        let steepest = |p: &[f64]| Ok::<_, Halt>(steepest(p));
        let found = descent_direction(&first, effort, |v| memory.times(v), steepest)?;
        run.count_direction_steps(found.steps);
        let p = found.direction.map(|direction| direction.p);
        let p = p.unwrap_or_else(|| least.iter().map(|g| -g).collect());
        // At a zero weight the slope is (g + λ sign p) p, below 0 only on the side of −`least`.
        self.orthant.search(run, &p, |at| -least[at])
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
