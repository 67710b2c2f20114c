//! `gd`: descent along an arbitrary subgradient with an exact line search, the baseline of §2.2 of
//! Yu et al. At a kink, where exact searches end, its subgradient may show no way down although there is
//! one; then others are drawn at random, as theirs is, and if none of them does it stops. Only from the
//! start point it takes a unit step all the same, as they do.

use super::quasi_newton::{Companion, Direction, Reached, SearchRules, Turn, Walk};
use super::{Halt, Run, Solver, Step};
use crate::archive::{Archive, ArchiveError};
use crate::risk::Point;
use minorant_linalg::dense::{dot, norm2};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;

/// Subgradients that are drawn at a kink before it gives up.
const DRAWS: usize = 32;

/// Gradient descent.
#[derive(Debug)]
pub struct Gd {
    walk: Walk,
    at_start: bool,
    /// Places at which subgradients were drawn.
    draws: u64,
}

impl Gd {
    /// A run.
    pub(super) fn new(dim: usize, companion: Companion, rules: SearchRules) -> Self {
        Gd { walk: Walk::new(dim, companion, false, rules), at_start: true, draws: 0 }
    }

    /// A search along another subgradient, drawn at random among the vertices of the subdifferential,
    /// where one of them shows a way down. Drawing them reads the rows at kinks only.
    fn search_elsewhere(&mut self, run: &mut Run<'_>) -> Result<Option<Reached>, Halt> {
        if run.problem.risk.subdifferential().is_none() {
            return Ok(None);
        }
        self.draws += 1;
        let mut rng = Pcg64Mcg::seed_from_u64(self.draws);
        for _ in 0..DRAWS {
            run.check_limits()?;
            let site = self.walk.site()?;
            let draw = site.gradient.iter().map(|_| StandardNormal.sample(&mut rng));
            let towards: Vec<f64> = draw.collect();
            let mut p = site.steepest(run, &towards)?;
            p.iter_mut().for_each(|g| *g = -*g);
            let slope = dot(&site.steepest(run, &p)?, &p);
            if slope < 0.0 {
                let reached = self.walk.search(run, &Direction { p, slope }, true)?;
                if reached.is_some() {
                    return Ok(reached);
                }
            }
        }
        Ok(None)
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
            None => match self.search_elsewhere(run)? {
                Some(reached) => Ok(self.walk.arrive(run, reached)?.1),
                None => self.walk.stuck(run, size),
            },
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
        archive.put_integers("draws", [self.draws]);
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        self.walk.load(archive)?;
        self.at_start = archive.take_integer("at_start")? != 0;
        self.draws = archive.take_integer("draws")?;
        Ok(())
    }
}
