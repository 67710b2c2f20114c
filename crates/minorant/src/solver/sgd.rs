//! `sgd`: stochastic subgradient descent with steps of 1/(λ t) over the examples in random order, as
//! Pegasos takes them (without its projection), and an average of the weights at the ends of the
//! passes, later ones counting more. The certificate is ours, from the planes at the start and one
//! evaluation after every pass: forward at the average, backward for a bound. Each example was met
//! with one tangent a pass; the averages of their slopes are a dual point. Where the risk does not
//! know how high minorants with given slopes may lie, the plane at the average joins a small bundle,
//! whose minimum is a bound.
//!
//! A pass and an evaluation are iterations of their own, so that none costs more than one evaluation
//! and a run can stop and resume between them.

use super::sgd_pass::{self, sgd_pass};
use super::{Halt, Problem, Run, Solver, Status, Step, bound_of_plane, load_point, save_point};
use crate::archive::{Archive, ArchiveError};
use crate::bundle::{Bundle, Limits};
use crate::proof::Proof;
use crate::risk::{Descent, Point, RowMetric};
use minorant_linalg::dense::between;

/// Stochastic subgradient descent.
#[derive(Debug)]
pub struct Sgd {
    seed: u64,
    limits: Limits,
    metric: RowMetric,
    descent: Descent,
    passes: u64,
    /// Weights of the ends of passes, averaged, and the slopes that the examples were met with.
    average: Vec<f64>,
    slopes: Vec<f64>,
    /// Whether the last pass has been followed by an evaluation.
    evaluated: bool,
    bundle: Bundle,
    best: Option<Point>,
}

impl Sgd {
    /// A run on a problem; nothing if the risk has no examples, or θ differs between the outputs
    /// of a feature.
    pub fn new(problem: Problem<'_>, limits: Limits, seed: u64) -> Option<Self> {
        let (dim, lambda) = (problem.risk.dim(), problem.regularizer.lambda());
        let examples = problem.risk.examples()?.len() as f64;
        let metric = sgd_pass::metric(problem)?;
        // The first steps of 1/(λ t) are too long for slopes that grow with the outputs: as many
        // are left out as keep every step from overshooting.
        let steepest = metric.curvatures().iter().copied().fold(0.0, f64::max);
        let left_out = if problem.risk.is_smooth() { 2.0 * examples * steepest } else { 0.0 };
        let left_out = left_out.min(sgd_pass::MOST_STEPS);
        // Weights to start from stand for a pass that ended there.
        let (sum, steps) = match problem.start {
            Some(w) => {
                let steps = examples.max(left_out).ceil();
                (w.iter().map(|w| -lambda * steps * w).collect(), steps as u64)
            }
            None => (vec![0.0; dim], left_out.ceil() as u64),
        };
        Some(Sgd {
            seed,
            limits,
            metric,
            descent: Descent { sum, steps, slopes: Vec::new() },
            passes: 0,
            average: vec![0.0; dim],
            slopes: Vec::new(),
            evaluated: true,
            bundle: Bundle::new(dim, 1, limits),
            best: None,
        })
    }

    fn pass(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let Some(examples) = run.problem.risk.examples() else {
            return Err(Halt::Stop(Status::Stalled));
        };
        run.charge()?;
        sgd_pass(examples, &self.metric, self.seed, self.passes, &mut self.descent);
        self.passes += 1;
        self.evaluated = false;
        let scale = -1.0 / (run.problem.regularizer.lambda() * self.descent.steps as f64);
        let w: Vec<f64> = self.descent.sum.iter().map(|sum| scale * sum).collect();
        // The pass number counts as the weight of a pass.
        let share = 2.0 / (self.passes as f64 + 1.0);
        let average = between(&self.average, &w, share);
        self.slopes.resize(self.descent.slopes.len(), 0.0);
        self.slopes = between(&self.slopes, &self.descent.slopes, share);
        if !average.iter().all(|w| w.is_finite()) {
            return Err(Halt::Stop(Status::Stalled));
        }
        let moves: f64 = average.iter().zip(&self.average).map(|(a, b)| (a - b) * (a - b)).sum();
        run.offer_progress(run.problem.regularizer.lambda() * moves);
        self.average = average;
        let best = self.best.as_ref().map_or(f64::INFINITY, |best| run.problem.objective(best));
        Ok(Step { kind: "pass", objective: best, length: None })
    }

    /// Takes a point in.
    fn offer(&mut self, run: &mut Run<'_>, point: Point) -> Result<f64, Halt> {
        let objective = run.objective(&point)?;
        let best = self.best.as_ref().map_or(f64::INFINITY, |best| run.problem.objective(best));
        if objective < best {
            self.best = Some(point);
            run.offer_objective(objective);
        }
        Ok(objective)
    }

    /// Evaluates the average, with a bound from the slopes that the examples were met with, or
    /// from the planes at all averages.
    fn check(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let (problem, w) = (run.problem, self.average.clone());
        let objective = if let Some(duals) = problem.risk.duals() {
            let point = run.evaluate(w)?;
            let plane = duals.plane_with_slopes(&mut self.slopes, run.cancel())?;
            if let Some(plane) = plane {
                let bound = bound_of_plane(plane, problem.regularizer, false);
                run.offer_bound(bound, || Some(Proof::Slopes(self.slopes.clone())));
            }
            self.offer(run, point)?
        } else {
            self.check_by_planes(run, w)?
        };
        self.evaluated = true;
        Ok(Step { kind: "check", objective, length: None })
    }

    /// Evaluates a point whose planes join the bundle, which tells its bound.
    fn check_by_planes(&mut self, run: &mut Run<'_>, w: Vec<f64>) -> Result<f64, Halt> {
        let problem = run.problem;
        let (point, planes) = run.evaluate_with_planes(w, 1)?;
        run.master(|| self.bundle.add(&point.w, planes, problem));
        let objective = self.offer(run, point)?;
        let accuracy = run.master_gap();
        let minimum = run.master(|| self.bundle.minimise(problem, accuracy));
        run.offer_bound(minimum.bound, || self.bundle.proof());
        Ok(objective)
    }
}

impl Solver for Sgd {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let objective = self.check_by_planes(run, run.problem.start_point())?;
        Ok(Step { kind: "start", objective, length: None })
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        run.check_gap()?;
        if self.evaluated {
            return self.pass(run);
        }
        self.check(run).inspect_err(|_| run.overshot())
    }

    fn best(&self) -> Option<&Point> {
        self.best.as_ref()
    }

    fn planes(&self) -> usize {
        self.bundle.len()
    }

    fn save(&self, archive: &mut Archive) {
        self.bundle.save(archive);
        archive.put_reals("sgd.sum", self.descent.sum.clone());
        archive.put_reals("sgd.average", self.average.clone());
        archive.put_reals("sgd.slopes", self.slopes.clone());
        let counts = [self.descent.steps, self.passes, u64::from(self.evaluated)];
        archive.put_integers("sgd.counts", counts);
        if let Some(best) = &self.best {
            save_point("best", best, archive);
        }
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        let dim = self.average.len();
        self.bundle = Bundle::load(dim, 1, self.limits, archive)?;
        let sum = archive.take_reals("sgd.sum")?;
        self.average = archive.take_reals("sgd.average")?;
        self.slopes = archive.take_reals("sgd.slopes")?;
        let counts = archive.take_integers("sgd.counts")?;
        let (&[steps, passes, evaluated], true) =
            (&counts[..], sum.len() == dim && self.average.len() == dim)
        else {
            return Err(ArchiveError("sgd.counts".into()));
        };
        self.descent = Descent { sum, steps, slopes: vec![0.0; self.slopes.len()] };
        (self.passes, self.evaluated) = (passes, evaluated != 0);
        self.best = Some(load_point("best", dim, archive)?);
        Ok(())
    }
}
