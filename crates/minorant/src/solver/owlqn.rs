//! `owlqn`: the orthant-wise limited-memory quasi-Newton method of Andrew and Gao, as Yu et al.
//! describe it (§7.1.1), for λ‖w‖₁ + R(w) with a smooth risk (Eq. 58).
//!
//! Ours are the lower bound that every evaluation gives, and that a search which fails forgets the
//! memory before the run ends.

use super::orthant::{Orthant, Subgradients};
use super::quasi_newton::InverseHessian;
use super::{Halt, Run, Solver, Step};
use crate::archive::{Archive, ArchiveError};
use crate::risk::Point;

/// The orthant-wise quasi-Newton method.
#[derive(Debug)]
pub struct Owlqn {
    orthant: Orthant,
}

impl Owlqn {
    /// A run on a problem with `dim` weights that remembers `memory` steps; which subgradients directions
    /// are sought from, with the seed of those drawn at random.
    pub fn new(dim: usize, memory: usize, subgradients: (Subgradients, u64)) -> Self {
        Owlqn { orthant: Orthant::new(dim, memory, subgradients) }
    }
}

impl Solver for Owlqn {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        self.orthant.start(run)
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        run.check_gap()?;
        // p := −B g^ow, and p^ow := π(p, g^ow): entries that do not descend are set to zero.
        let g = self.orthant.subgradient(run.problem.regularizer.l1())?;
        let p: Vec<f64> = self.orthant.memory.times(&g).into_iter().map(|v| -v).collect();
        let descending = |(&p, &g): (&f64, &f64)| if p * g < 0.0 { p } else { 0.0 };
        let p: Vec<f64> = p.iter().zip(&g).map(descending).collect();
        // The orthant: where a weight is zero, the side to which −g^ow points.
        self.orthant.search(run, &p, |at| -g[at])
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
