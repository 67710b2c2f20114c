//! `gd`: descent along an arbitrary subgradient with an exact line search, the baseline of §2.2 of
//! Yu et al. At a kink it may find no way down although there is one; only from the start point it
//! then takes a unit step all the same, as they do.

use super::quasi_newton::{Companion, Direction, SearchRules, Turn, Walk};
use super::{Halt, Run, Solver, Step};
use crate::archive::{Archive, ArchiveError};
use crate::risk::Point;
use minorant_linalg::dense::norm2;

/// Gradient descent.
#[derive(Debug)]
pub struct Gd {
    walk: Walk,
    at_start: bool,
}

impl Gd {
    /// A run.
    pub(super) fn new(dim: usize, companion: Companion, rules: SearchRules) -> Self {
        Gd { walk: Walk::new(dim, companion, false, rules), at_start: true }
    }
}

impl Solver for Gd {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        self.walk.start(run)
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let Turn::Walk = self.walk.turn(run)? else {
            return Err(Halt::Stop(super::Status::Stalled));
        };
        let gradient = &self.walk.site()?.gradient;
        let size = norm2(gradient);
        let direction = Direction { p: gradient.iter().map(|g| -g).collect(), slope: -size };
        let reached = self.walk.search(run, &direction, true)?;
        let first = std::mem::take(&mut self.at_start);
        match reached {
            Some(reached) => Ok(self.walk.arrive(run, reached)?.1),
            None if first && size > 0.0 => self.walk.leap(run, &direction.p),
            None => self.walk.stuck(run, size),
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
        archive.put_integers("at_start", [u64::from(self.at_start)]);
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        self.walk.load(archive)?;
        self.at_start = archive.take_integer("at_start")? != 0;
        Ok(())
    }
}
