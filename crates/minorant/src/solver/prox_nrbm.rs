//! `prox-nrbm`: the non-convex bundle method with a proximal term μ/2 ‖u − u*‖² around the best
//! point instead of a line search (ours). Steps that the model foresees badly raise μ, steps that
//! it foresees well lower it; the run stops by the gap of the model without the term. On a convex
//! risk there are no localities, and the same planes give a lower bound.

use super::nrbm::evaluate_if_finite;
use super::quasi_newton::Companion;
use super::ray_search::gradient;
use super::{Halt, Problem, Run, Solver, Status, Step, load_point, save_point};
use crate::archive::{Archive, ArchiveError};
use crate::bundle::{Limits, LocalBundle, LocalMinimum, Locality, Trial, Update};
use crate::risk::Point;

/// A step that brings more than this share of what the model promised lowers μ.
const GOOD: f64 = 0.7;
/// By how much.
const LOWER: f64 = 0.7;
/// A step that loses more than the model promised to win raises μ, at most by this factor.
const RAISE: f64 = 4.0;
/// Where the model with the term is exhausted and the one without is not, μ falls by this factor.
const RELEASE: f64 = 0.5;
/// Below this share of λ the term goes altogether.
const NEGLIGIBLE: f64 = 1e-3;
/// How exactly the master is solved, as a share of the gap.
const MASTER_ACCURACY: f64 = 1e-3;

/// The non-convex bundle method with a proximal term.
#[derive(Debug)]
pub struct ProxNrbm {
    dim: usize,
    lambda: f64,
    limits: Limits,
    locality: Locality,
    bundle: Option<LocalBundle>,
    /// The planes of a convex risk, for the bound.
    global: Companion,
    best: Option<Point>,
    /// A subgradient of the objective at the best point.
    gradient: Vec<f64>,
    mu: f64,
    /// The last gap of the model with the proximal term.
    gap: f64,
    /// The largest μ: the curvature that the first bad step met. Kinks would ask for more and
    /// more.
    cap: Option<f64>,
}

impl ProxNrbm {
    /// A run on a problem.
    pub(super) fn new(
        problem: Problem<'_>,
        locality: Locality,
        limits: Limits,
        global: Companion,
    ) -> Self {
        let is_convex = problem.risk.is_convex();
        let dim = problem.risk.dim();
        ProxNrbm {
            dim,
            lambda: problem.regularizer.lambda(),
            limits,
            locality: if is_convex { Locality::Off } else { locality },
            bundle: None,
            global,
            best: None,
            gradient: Vec::new(),
            mu: 0.0,
            gap: f64::INFINITY,
            cap: None,
        }
    }

    /// Minimises the model with the proximal term, and lowers the term where it alone holds the
    /// minimiser back.
    fn minimise(&mut self, run: &mut Run<'_>) -> Result<LocalMinimum, Halt> {
        let Some(bundle) = &mut self.bundle else { return Err(Halt::Stop(Status::Stalled)) };
        let accuracy = MASTER_ACCURACY * run.target();
        loop {
            let minimum = run.master(|| bundle.minimise(self.mu, accuracy));
            if minimum.gap > run.target() {
                if minimum.gap < self.gap {
                    run.note_better_model();
                }
                self.gap = minimum.gap;
                return Ok(minimum);
            }
            if self.global.is_bounding() {
                self.global.solve(run)?;
            } else {
                let gap = run.master(|| bundle.honest_gap(accuracy));
                run.check_local_gap(gap)?;
            }
            if self.mu == 0.0 {
                // Only planes that were made up say that this is the end.
                run.master(|| bundle.forget_made_up_planes());
                return Ok(run.master(|| bundle.minimise(0.0, accuracy)));
            }
            self.mu *= RELEASE;
            if self.mu < NEGLIGIBLE * self.lambda {
                self.mu = 0.0;
            }
        }
    }

    /// μ after a step from `best` to `objective` where the model promised `promised`.
    fn adapt(&mut self, best: f64, objective: f64, promised: f64, curvature: f64) {
        let ratio = (best - objective) / promised;
        if ratio > GOOD {
            self.mu *= LOWER;
        } else if ratio < -1.0 {
            let asked = if curvature.is_finite() { curvature - self.lambda } else { self.lambda };
            let cap = *self.cap.get_or_insert(asked.max(self.lambda));
            let raised = if self.mu > 0.0 { asked.min(RAISE * self.mu) } else { asked };
            self.mu = raised.max(self.mu).min(cap);
        }
    }
}

impl Solver for ProxNrbm {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let (point, mut planes) = run.evaluate_with_planes(run.problem.start_point(), 1)?;
        let objective = run.objective(&point)?;
        run.offer_objective(objective);
        self.gradient = gradient(run, &point, &planes[0]);
        let regularizer = run.problem.regularizer;
        self.global.add(run, &point.w, planes.clone());
        let start = Trial {
            step: 0.0,
            u: regularizer.to_metric(&point.w),
            risk: point.value,
            normal: regularizer.plane_in_metric(planes.remove(0)).normal,
        };
        self.bundle = Some(LocalBundle::new(self.lambda, self.limits.planes, self.locality, start));
        self.best = Some(point);
        Ok(Step { kind: "start", objective, length: None })
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let minimum = self.minimise(run)?;
        let regularizer = run.problem.regularizer;
        let w = regularizer.from_metric(minimum.u.clone());
        let (Some(bundle), Some(best)) = (&mut self.bundle, &self.best) else {
            return Err(Halt::Stop(Status::Stalled));
        };
        let before = bundle.objective();
        let Some((point, plane)) = evaluate_if_finite(run, w)? else {
            // The step was too long; what curvature there is, nobody knows.
            self.mu = self.mu.max(self.lambda) * RAISE;
            return Ok(Step { kind: "null", objective: f64::INFINITY, length: None });
        };
        let objective = run.problem.objective(&point);
        // The curvature of the parabola that leaves the best point with its slope and meets the
        // objective at the new one.
        let slope: f64 = self
            .gradient
            .iter()
            .zip(&point.w)
            .zip(&best.w)
            .map(|((g, to), from)| g * (to - from))
            .sum();
        let curvature = 2.0 * (objective - before - slope) / (minimum.distance * minimum.distance);
        let new_gradient = gradient(run, &point, &plane);
        self.global.add(run, &point.w, vec![plane.clone()]);
        let trial = Trial {
            step: 1.0,
            u: minimum.u,
            risk: point.value,
            normal: regularizer.plane_in_metric(plane).normal,
        };
        let kind = match run.master(|| bundle.update(vec![trial], minimum.distance)) {
            Update::Descent => "descent",
            Update::Null => "null",
            Update::Null2 => "null2",
        };
        if kind == "descent" {
            run.offer_objective(objective);
            (self.best, self.gradient) = (Some(point), new_gradient);
        }
        self.adapt(before, objective, minimum.gap, curvature);
        Ok(Step { kind, objective, length: Some(minimum.distance) })
    }

    fn conclude(&mut self, run: &mut Run<'_>) -> Result<(), Halt> {
        self.global.solve(run).map(|_| ())
    }

    fn best(&self) -> Option<&Point> {
        self.best.as_ref()
    }

    fn planes(&self) -> usize {
        self.bundle.as_ref().map_or(0, LocalBundle::len)
    }

    fn locality(&self) -> Option<f64> {
        self.bundle.as_ref().map(LocalBundle::aggregate_locality)
    }

    fn save(&self, archive: &mut Archive) {
        if let Some(bundle) = &self.bundle {
            bundle.save(archive);
        }
        archive.put_all("global", |archive| self.global.save(archive));
        if let Some(best) = &self.best {
            save_point("best", best, archive);
        }
        archive.put_reals("gradient", self.gradient.clone());
        archive.put_reals("mu", vec![self.mu, self.gap]);
        archive.put_reals("cap", self.cap.into_iter().collect());
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        let most = self.limits.planes;
        self.global.load(&mut archive.take_all("global"))?;
        self.bundle = Some(LocalBundle::load(self.lambda, most, self.locality, archive)?);
        self.best = Some(load_point("best", self.dim, archive)?);
        self.gradient = archive.take_reals("gradient")?;
        let [mu, gap] = archive.take_reals("mu")?[..] else {
            return Err(ArchiveError("mu".into()));
        };
        (self.mu, self.gap) = (mu, gap);
        self.cap = archive.take_reals("cap")?.first().copied();
        Ok(())
    }
}
