//! `sgd`: stochastic subgradient descent with steps of 1/(λ t) over the examples in random order, as
//! Pegasos takes them (without its projection), and an average of the weights at the ends of the
//! passes, later ones counting more. The certificate is ours: after every pass one evaluation at the
//! average adds its plane to a bundle, whose minimum is a bound.
//!
//! A pass and an evaluation are iterations of their own, so that none costs more than one evaluation
//! and a run can stop and resume between them.

use super::sgd_pass::{self, sgd_pass};
use super::{Halt, Problem, Run, Solver, Status, Step, load_point, save_point};
use crate::archive::{Archive, ArchiveError};
use crate::bundle::{Bundle, Limits};
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
    /// Weights of the ends of passes, averaged.
    average: Vec<f64>,
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
        // Weights to start from stand for a pass that ended there.
        let (sum, steps) = match problem.start {
            Some(w) => (w.iter().map(|w| -lambda * examples * w).collect(), examples as u64),
            None => (vec![0.0; dim], 0),
        };
        Some(Sgd {
            seed,
            limits,
            metric: sgd_pass::metric(problem)?,
            descent: Descent { sum, steps },
            passes: 0,
            average: vec![0.0; dim],
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
        self.average = between(&self.average, &w, 2.0 / (self.passes as f64 + 1.0));
        let best = self.best.as_ref().map_or(f64::INFINITY, |best| run.problem.objective(best));
        Ok(Step { kind: "pass", objective: best, length: None })
    }

    fn visit(&mut self, run: &mut Run<'_>, w: Vec<f64>, kind: &'static str) -> Result<Step, Halt> {
        let (point, planes) = run.evaluate_with_planes(w, 1)?;
        self.evaluated = true;
        let objective = run.objective(&point)?;
        let regularizer = run.problem.regularizer;
        run.master(|| self.bundle.add(&point.w, planes, regularizer));
        let best = self.best.as_ref().map_or(f64::INFINITY, |best| run.problem.objective(best));
        if objective < best {
            self.best = Some(point);
            run.offer_objective(objective);
        }
        let accuracy = run.master_gap();
        let minimum = run.master(|| self.bundle.minimise(regularizer, accuracy));
        run.offer_bound(minimum.bound, || self.bundle.proof());
        Ok(Step { kind, objective, length: None })
    }
}

impl Solver for Sgd {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        self.visit(run, run.problem.start_point(), "start")
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        run.check_gap()?;
        if self.evaluated { self.pass(run) } else { self.visit(run, self.average.clone(), "check") }
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
        let counts = archive.take_integers("sgd.counts")?;
        let (&[steps, passes, evaluated], true) =
            (&counts[..], sum.len() == dim && self.average.len() == dim)
        else {
            return Err(ArchiveError("sgd.counts".into()));
        };
        self.descent = Descent { sum, steps };
        (self.passes, self.evaluated) = (passes, evaluated != 0);
        self.best = Some(load_point("best", dim, archive)?);
        Ok(())
    }
}
