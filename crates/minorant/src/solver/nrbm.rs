//! `nrbm`, `nrbm-ls` and `nrbm-ls-full`: the regularized bundle method for risks that need not be
//! convex (Algorithms 4 to 6 of Do and Artières; what happens to the planes is in
//! `bundle/local.rs`), and its fast variants with line search (§3.3.2).
//!
//! Departures from the paper: every point of the line search gives a plane, and where the search
//! finds no decrease the model's minimiser does too (as printed, the greedy variant can loop for
//! ever); planes are made up (NullStep2) at the minimiser only; convergence is judged without them.
//! Where the risk offers lines, the search is exact and costs no evaluation of its own. On a convex
//! risk there are no localities, and the model's minimum is a lower bound.

use super::ray_search::{Ray, RayPoint, gradient, search};
use super::{Halt, Problem, Run, Solver, Status, Step, load_point, save_point};
use crate::archive::{Archive, ArchiveError};
use crate::bundle::{Bundle, Limits, LocalBundle, Locality, Trial, Update};
use crate::line;
use crate::risk::{Plane, Point, RiskError};

/// Which points become planes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// The model's minimiser (Algorithm 4).
    Minimiser,
    /// The points of a line search towards it.
    Greedy,
    /// Both.
    Full,
}

/// The bundle method for risks that need not be convex.
#[derive(Debug)]
pub struct Nrbm {
    dim: usize,
    lambda: f64,
    is_convex: bool,
    strategy: Strategy,
    locality: Locality,
    limits: Limits,
    model: Option<Model>,
    best: Option<Point>,
    /// A subgradient of the objective at the best point.
    gradient: Vec<f64>,
    /// The length of the last step.
    length: Option<f64>,
    /// How many searches in a row found no decrease.
    failures: u64,
    /// Whether the best point's outputs were combined along a line.
    combined: bool,
}

#[derive(Debug)]
enum Model {
    Global(Bundle),
    Local(LocalBundle),
}

/// The model's minimiser.
struct Minimum {
    w: Vec<f64>,
    distance: f64,
}

/// After this many searches without decrease only the minimiser is visited: that always improves
/// the model, for one evaluation.
const FAILURES: u64 = 2;
/// After a failed search the next one begins with a step longer by this factor.
const LONGER: f64 = 10.0;
/// No step is shorter than this, where 1 leads to the minimiser.
const SHORTEST: f64 = 1e-6;
/// How far an exact search looks, where 1 leads to the minimiser.
const HORIZON: f64 = 2.0;
/// How exactly the master is solved, as a share of the gap.
const MASTER_ACCURACY: f64 = 1e-3;

impl Nrbm {
    /// A run on a problem.
    pub fn new(
        problem: Problem<'_>,
        strategy: Strategy,
        locality: Locality,
        limits: Limits,
    ) -> Self {
        Nrbm {
            dim: problem.risk.dim(),
            lambda: problem.regularizer.lambda(),
            is_convex: problem.risk.is_convex(),
            strategy,
            locality,
            limits,
            model: None,
            best: None,
            gradient: Vec::new(),
            length: None,
            failures: 0,
            combined: false,
        }
    }

    /// Points that an exact search finds are combined: the answer may need a last pass.
    fn reserve_final_pass(&self, run: &mut Run<'_>) {
        if self.strategy == Strategy::Greedy && run.problem.risk.lines().is_some() {
            run.reserve_final_pass();
        }
    }

    /// Minimises the model (Eq. 13) and tells the run the gap.
    fn minimise(&mut self, run: &mut Run<'_>) -> Result<Minimum, Halt> {
        let regularizer = run.problem.regularizer;
        match &mut self.model {
            Some(Model::Global(bundle)) => {
                let accuracy = run.master_gap();
                let minimum = run.master(|| bundle.minimise(regularizer, accuracy));
                run.offer_bound(minimum.bound, || bundle.proof());
                run.check_gap()?;
                let best = self.best.as_ref().map_or(&[][..], |best| &best.w);
                let (from, to) = (regularizer.to_metric(best), regularizer.to_metric(&minimum.w));
                let distance = from.iter().zip(&to).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
                Ok(Minimum { w: minimum.w, distance: distance.sqrt() })
            }
            Some(Model::Local(bundle)) => {
                let accuracy = MASTER_ACCURACY * run.target();
                let mut minimum = run.master(|| bundle.minimise(0.0, accuracy));
                let mut gap = minimum.gap;
                if bundle.leans_on_made_up_planes() {
                    gap = run.master(|| bundle.honest_gap(accuracy));
                    if minimum.gap <= run.target() {
                        // Only what was made up says that this is the end: go on without it.
                        run.master(|| bundle.forget_made_up_planes());
                        minimum = run.master(|| bundle.minimise(0.0, accuracy));
                    }
                }
                run.check_local_gap(gap)?;
                let w = regularizer.from_metric(minimum.u);
                Ok(Minimum { w, distance: minimum.distance })
            }
            None => Err(Halt::Stop(Status::Stalled)),
        }
    }

    /// The lowest point of the ray through the minimiser, where the risk tells that without a pass
    /// over the data: one evaluation, forward at the minimiser and backward at that point (or at
    /// the minimiser, where there is no decrease). Nothing where it does not.
    fn search_exactly(&self, run: &mut Run<'_>, ray: &Ray<'_>) -> Result<Option<RayPoint>, Halt> {
        let Some(lines) = run.problem.risk.lines().filter(|_| self.strategy == Strategy::Greedy)
        else {
            return Ok(None);
        };
        let trial = match run.evaluate(ray.to.to_vec()) {
            Err(Halt::Failed(RiskError::NotFinite(_))) => return Ok(None),
            trial => trial?,
        };
        let quadratic = run.problem.regularizer.along(&ray.from.w, &trial.w);
        let mut line = lines.line(ray.from, &trial);
        let lowest = line::minimise_globally(&mut line, quadratic, HORIZON);
        let step = match lowest {
            Some(step) => step,
            None if self.is_convex => line::minimise(&mut line, quadratic).min(HORIZON),
            None => 0.0,
        };
        let fallback = if lowest == Some(0.0) { usable_step(&line, quadratic) } else { 1.0 };
        drop(line);
        let mut found = (1.0, trial);
        if step > 0.0 && step != 1.0 {
            let point = lines.between(ray.from, &found.1, step);
            if run.problem.objective(&point) < ray.objective {
                found = (step, point);
            }
        }
        if found.0 == 1.0 && fallback != 1.0 && run.problem.objective(&found.1) >= ray.objective {
            found = (fallback, lines.between(ray.from, &found.1, fallback));
        }
        let (step, point) = found;
        let Some(plane) = run.planes(&point, 1)?.pop() else { return Ok(None) };
        let objective = run.objective(&point)?;
        let gradient = gradient(run, &point, &plane);
        let is_combined = step != 1.0;
        Ok(Some(RayPoint { step, point, plane, objective, gradient, is_combined }))
    }

    /// Takes the planes of the points that were evaluated on the ray to the minimiser.
    fn update(&mut self, run: &mut Run<'_>, points: Vec<RayPoint>, distance: f64) -> Update {
        let regularizer = run.problem.regularizer;
        let lowest = points.iter().min_by(|a, b| a.objective.total_cmp(&b.objective));
        let best = self.best.as_ref().map_or(f64::INFINITY, |best| run.problem.objective(best));
        let moves = lowest.filter(|point| point.objective < best);
        let moves = moves.map(|p| (p.point.clone(), p.gradient.clone(), p.step, p.is_combined));
        let update = match &mut self.model {
            Some(Model::Global(bundle)) => {
                for RayPoint { point, plane, .. } in points {
                    run.master(|| bundle.add(&point.w, vec![plane], regularizer));
                }
                if moves.is_some() { Update::Descent } else { Update::Null }
            }
            Some(Model::Local(bundle)) => {
                let trial = |p: RayPoint| Trial {
                    step: p.step,
                    u: regularizer.to_metric(&p.point.w),
                    risk: p.point.value,
                    normal: regularizer.plane_in_metric(p.plane).normal,
                };
                let trials = points.into_iter().map(trial).collect();
                run.master(|| bundle.update(trials, distance))
            }
            None => Update::Null,
        };
        if let Some((point, gradient, step, is_combined)) = moves {
            run.offer_objective(run.problem.objective(&point));
            (self.length, self.failures) = (Some(step * distance), 0);
            (self.best, self.gradient) = (Some(point), gradient);
            self.combined = is_combined;
        } else {
            self.length = self.length.map(|length| (LONGER * length).min(distance));
            self.failures += 1;
        }
        update
    }
}

/// Where on a ray without decrease a plane is taken: at the minimiser, unless the tangent there
/// falls along the ray. No lowering could mend that one (Eq. 17 has no solution), but one from
/// further back, before the top of the hill, cuts the minimiser off as well.
fn usable_step(line: &line::Line<'_>, quadratic: line::Quadratic) -> f64 {
    const HALVINGS: usize = 30;
    let mut step = 1.0;
    for _ in 0..HALVINGS {
        if line.slope(step, line::Side::Before) + quadratic.slope >= 0.0 {
            return step;
        }
        step *= 0.5;
    }
    1.0
}

/// A point and its plane, or nothing where the risk is not finite there.
pub(super) fn evaluate_if_finite(
    run: &mut Run<'_>,
    w: Vec<f64>,
) -> Result<Option<(Point, Plane)>, Halt> {
    match run.evaluate_with_planes(w, 1) {
        Ok((point, mut planes)) => Ok(planes.pop().map(|plane| (point, plane))),
        Err(Halt::Failed(RiskError::NotFinite(_))) => Ok(None),
        Err(halt) => Err(halt),
    }
}

impl Solver for Nrbm {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let (point, mut planes) = run.evaluate_with_planes(run.problem.start_point(), 1)?;
        self.reserve_final_pass(run);
        let objective = run.objective(&point)?;
        run.offer_objective(objective);
        self.gradient = gradient(run, &point, &planes[0]);
        let regularizer = run.problem.regularizer;
        self.model = Some(if self.is_convex {
            let mut bundle = Bundle::new(self.dim, 1, self.limits);
            bundle.add(&point.w, planes, regularizer);
            Model::Global(bundle)
        } else {
            let plane = regularizer.plane_in_metric(planes.remove(0));
            let u = regularizer.to_metric(&point.w);
            let start = Trial { step: 0.0, u, risk: point.value, normal: plane.normal };
            Model::Local(LocalBundle::new(self.lambda, self.limits.planes, self.locality, start))
        });
        self.best = Some(point);
        Ok(Step { kind: "start", objective, length: None })
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        self.reserve_final_pass(run);
        let minimum = self.minimise(run)?;
        let Some(best) = &self.best else { return Err(Halt::Stop(Status::Stalled)) };
        let objective = run.problem.objective(best);
        let ray = Ray::new(best, objective, &self.gradient, &minimum.w);
        // Where nothing is negative, a model that still promises less than 0 after searches that
        // failed is no guide to its minimiser, which lies too far away: searches go on near by.
        let risk = run.problem.risk;
        let is_lost =
            self.failures >= FAILURES && risk.is_nonnegative() && -0.5 * ray.slope > objective;
        let mut points = Vec::new();
        if let Some(point) = self.search_exactly(run, &ray)? {
            points.push(point);
        } else if self.strategy != Strategy::Minimiser && (self.failures < FAILURES || is_lost) {
            let first = match self.length {
                Some(length) => (length / minimum.distance).min(1.0),
                // Where a small λ puts the minimiser far away, a search from there would never come
                // back: as long a step as would bring the objective to 0 if it stayed a plane.
                None if is_lost || risk.is_smooth() => {
                    (objective / -ray.slope).clamp(SHORTEST, 1.0)
                }
                None => 1.0,
            };
            search(run, &ray, first, &mut points)?;
        }
        // Without a plane at the minimiser the model would not change where the search failed.
        let failed = points.iter().all(|point: &RayPoint| point.objective >= objective);
        let is_enough = is_lost && !points.is_empty();
        if (failed && !is_enough) || self.strategy == Strategy::Full {
            ray.visit(run, 1.0, &mut points)?;
        }
        // Where the risk is not finite the step was too long.
        let mut step = 0.5;
        while points.is_empty() && step > SHORTEST {
            ray.visit(run, step, &mut points)?;
            step *= 0.5;
        }
        let lowest = points.iter().min_by(|a, b| a.objective.total_cmp(&b.objective));
        let (objective, length) = lowest.map_or((f64::INFINITY, 0.0), |p| (p.objective, p.step));
        let before = self.length;
        let kind = match self.update(run, points, minimum.distance) {
            Update::Descent => "descent",
            Update::Null => "null",
            Update::Null2 => "null2",
        };
        if failed && is_enough {
            self.length = before;
        }
        Ok(Step { kind, objective, length: Some(length * minimum.distance) })
    }

    fn best(&self) -> Option<&Point> {
        self.best.as_ref()
    }

    fn best_is_combined(&self) -> bool {
        self.combined
    }

    fn planes(&self) -> usize {
        match &self.model {
            Some(Model::Global(bundle)) => bundle.len(),
            Some(Model::Local(bundle)) => bundle.len(),
            None => 0,
        }
    }

    fn locality(&self) -> Option<f64> {
        match &self.model {
            Some(Model::Local(bundle)) => Some(bundle.aggregate_locality()),
            _ => None,
        }
    }

    fn save(&self, archive: &mut Archive) {
        match &self.model {
            Some(Model::Global(bundle)) => bundle.save(archive),
            Some(Model::Local(bundle)) => bundle.save(archive),
            None => {}
        }
        if let Some(best) = &self.best {
            save_point("best", best, archive);
        }
        archive.put_reals("gradient", self.gradient.clone());
        archive.put_reals("length", self.length.into_iter().collect());
        archive.put_integers("failures", [self.failures, u64::from(self.combined)]);
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        self.model = Some(if self.is_convex {
            Model::Global(Bundle::load(self.dim, 1, self.limits, archive)?)
        } else {
            let most = self.limits.planes;
            Model::Local(LocalBundle::load(self.lambda, most, self.locality, archive)?)
        });
        self.best = Some(load_point("best", self.dim, archive)?);
        self.gradient = archive.take_reals("gradient")?;
        self.length = archive.take_reals("length")?.first().copied();
        let [failures, combined] = archive.take_integers("failures")?[..] else {
            return Err(ArchiveError("failures".into()));
        };
        (self.failures, self.combined) = (failures, combined != 0);
        Ok(())
    }
}
