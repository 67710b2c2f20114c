//! `ls-bmrm` and `ls-p-bmrm`: the bundle method with an exact line search between the best point
//! and the model's minimiser (OCAS; ls-BMRM of Yu et al., §8.5), with one plane model or with P of
//! them, one for each block of rows (the P models are Uříčář and Franc's, §3.2; the combination is
//! ours and needs the fewest passes of all).

use super::{Halt, Run, Solver, Step, load_point, save_point};
use crate::archive::{Archive, ArchiveError};
use crate::bundle::{Bundle, Limits};
use crate::risk::Point;

/// How far from the best point towards the model's minimiser planes are taken.
const MU: f64 = 0.1;

/// Points on a line are combined, not computed: a step of t multiplies the rounding errors of the
/// point it starts from by |t − 1|, so that longer steps would let them grow from line to line.
const LONGEST_STEP: f64 = 2.0;

/// Where the line lies above the risk, the least point on it need not be the least point of the risk. A
/// plane at a worse point beyond cuts the model's minimiser off; a better one is searched from, so often.
const SEARCHES: usize = 20;

/// The bundle method with line search.
#[derive(Debug)]
pub struct LsBmrm {
    dim: usize,
    parts: usize,
    limits: Limits,
    bundle: Bundle,
    best: Option<Point>,
    combined: bool,
}

impl LsBmrm {
    /// A run on a problem with `dim` weights, with `parts` plane models. The risk must offer lines.
    pub fn new(dim: usize, parts: usize, limits: Limits) -> Self {
        let bundle = Bundle::new(dim, parts, limits);
        LsBmrm { dim, parts, limits, bundle, best: None, combined: false }
    }

    /// Goes on from a bundle and a best point that another method has found.
    pub(super) fn take_over(&mut self, bundle: Bundle, best: Point, combined: bool) {
        (self.bundle, self.best, self.combined) = (bundle, Some(best), combined);
    }
}

impl Solver for LsBmrm {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        if let Some(best) = &self.best {
            let objective = run.objective(best)?;
            run.offer_objective(objective);
            return Ok(Step { kind: "start", objective, length: None });
        }
        let center = run.problem.start_point();
        let (point, planes) = run.evaluate_with_planes(center, self.parts)?;
        run.reserve_final_pass();
        let objective = run.objective(&point)?;
        run.offer_objective(objective);
        let problem = run.problem;
        run.master(|| self.bundle.add(&point.w, planes, problem));
        self.best = Some(point);
        Ok(Step { kind: "start", objective, length: None })
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let (Some(best), Some(lines)) = (&self.best, run.problem.risk.lines()) else {
            return Err(Halt::Stop(super::Status::Stalled));
        };
        run.reserve_final_pass();
        let (accuracy, problem) = (run.master_gap(), run.problem);
        let minimum = run.master(|| self.bundle.minimise(problem, accuracy));
        run.offer_bounds(&minimum.bounds, || self.bundle.proof());
        run.check_gap()?;
        // One evaluation: forward at the model's minimiser, backward at a point of the line.
        let trial = run.evaluate(minimum.w)?;
        // The exact minimiser of J on the ray from the best point through the trial.
        let (mut next, length) = run.problem.least_between(lines, best, &trial, LONGEST_STEP);
        let mut cut = lines.between(&next, &trial, MU);
        if lines.lie_above() {
            for _ in 0..SEARCHES {
                let objective = run.objective(&cut)?;
                if objective >= run.objective(&next)? {
                    break;
                }
                let further = run.problem.least_between(lines, &cut, &trial, LONGEST_STEP).0;
                next = if run.objective(&further)? < objective { further } else { cut };
                cut = lines.between(&next, &trial, MU);
            }
        }
        let objective = run.objective(&next)?;
        run.offer_objective(objective);
        // Points that are no longer needed make room for the next ones.
        self.best = Some(next);
        self.combined = true;
        drop(trial);
        let planes = run.planes(&cut, self.parts)?;
        run.master(|| self.bundle.add(&cut.w, planes, problem));
        let kind = if length > 0.0 { "descent" } else { "null" };
        Ok(Step { kind, objective, length: Some(length) })
    }

    fn restart_at(&mut self, point: Point) -> bool {
        self.best = Some(point);
        self.combined = false;
        true
    }

    fn best(&self) -> Option<&Point> {
        self.best.as_ref()
    }

    fn best_is_combined(&self) -> bool {
        self.combined
    }

    fn planes(&self) -> usize {
        self.bundle.len()
    }

    fn save(&self, archive: &mut Archive) {
        self.bundle.save(archive);
        if let Some(best) = &self.best {
            save_point("best", best, archive);
        }
        archive.put_integers("combined", [u64::from(self.combined)]);
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        self.bundle = Bundle::load(self.dim, self.parts, self.limits, archive)?;
        self.best = Some(load_point("best", self.dim, archive)?);
        self.combined = archive.take_integer("combined")? != 0;
        Ok(())
    }
}
