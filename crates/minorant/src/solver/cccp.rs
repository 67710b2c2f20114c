//! `cccp`: the concave-convex procedure (Yuille and Rangarajan). Each iteration replaces the concave
//! term of the risk by its linearisation at the best point and minimises the convex risk that this
//! leaves, which lies above the true one: by the convex bundle method, started at the best point, or
//! in the dual, where the linearisation shifts the slopes that each example may have.
//!
//! Its gap is the objective less the convex problem's lower bound: what one more iteration could
//! still win at most. Like all gaps of risks that are not convex it is a local one.

use super::driver;
use super::{
    ConvexProblems, Halt, Method, MethodOptions, Problem, Run, RunError, Solver, Status, Step,
    load_point, save_point,
};
use crate::archive::{Archive, ArchiveError};
use crate::risk::{Point, RiskError};

/// The inner problems are solved to this share of the tolerance, so that the rest of the gap is
/// what the linearisation leaves to win.
const INNER: f64 = 0.5;
/// Evaluations that an inner run takes at least: its start, and the last pass over its answer.
const LEAST: u64 = 2;

/// The concave-convex procedure.
#[derive(Debug)]
pub struct Cccp {
    dim: usize,
    inner: MethodOptions,
    best: Option<Point>,
    /// Planes of the last inner problem.
    planes: usize,
}

impl Cccp {
    /// A run on a problem with `dim` weights; inner planes may take as many bytes as `options` say.
    pub fn new(dim: usize, options: &MethodOptions) -> Self {
        let MethodOptions { max_bytes, convex_problems, seed, .. } = *options;
        let inner = MethodOptions { max_bytes, convex_problems, seed, ..MethodOptions::default() };
        Cccp { dim, inner, best: None, planes: 0 }
    }
}

impl Solver for Cccp {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let point = run.evaluate(run.problem.start_point())?;
        let objective = run.objective(&point)?;
        run.offer_objective(objective);
        self.best = Some(point);
        Ok(Step { kind: "start", objective, length: None })
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let (Some(best), Some(difference)) = (&self.best, run.problem.risk.difference()) else {
            return Err(Halt::Stop(Status::Stalled));
        };
        let before = run.problem.objective(best);
        let convex = difference.convexified(best);
        let problem = Problem::new(&*convex, run.problem.regularizer).starting_at(Some(&best.w));
        let method = match self.inner.convex_problems {
            ConvexProblems::Primal => Method::pick_bundle(problem),
            ConvexProblems::Dual => Method::DualCd,
        };
        let Ok(mut solver) = method.build_owned(problem, &self.inner) else {
            return Err(Halt::Stop(Status::Stalled));
        };
        let rules = run.rules_for_inner_run(INNER, LEAST)?;
        let cancel = run.cancel().clone();
        let inner = driver::run(&mut *solver, problem, rules, &cancel, &mut (), &mut ());
        let inner = match inner {
            Ok(inner) => inner,
            Err(RunError::Risk(error)) => return Err(error.into()),
            Err(_) => return Err(RiskError::Cancelled.into()),
        };
        self.planes = solver.planes();
        run.charge_inner_run(&inner);
        let point = difference.restored(inner.point);
        let objective = run.objective(&point)?;
        let length = point.w.iter().zip(&best.w).map(|(to, from)| (to - from) * (to - from));
        let length = length.sum::<f64>().sqrt();
        let kind = if objective < before { "descent" } else { "null" };
        if objective < before {
            run.offer_objective(objective);
            self.best = Some(point);
        }
        if let Some(bound) = inner.ending.certificate.lower_bound {
            run.check_local_gap((before - bound).max(0.0))?;
        }
        if kind == "null" {
            return Err(Halt::Stop(Status::Stalled));
        }
        match inner.ending.status {
            Status::Converged | Status::Stalled => {
                Ok(Step { kind, objective, length: Some(length) })
            }
            cut => Err(Halt::Stop(cut)),
        }
    }

    fn best(&self) -> Option<&Point> {
        self.best.as_ref()
    }

    fn planes(&self) -> usize {
        self.planes
    }

    fn save(&self, archive: &mut Archive) {
        if let Some(best) = &self.best {
            save_point("best", best, archive);
        }
        archive.put_integers("planes", [self.planes as u64]);
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        self.best = Some(load_point("best", self.dim, archive)?);
        self.planes = archive.take_integer("planes")? as usize;
        Ok(())
    }
}
