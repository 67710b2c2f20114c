//! `sgd` on risks that need not be convex, nor linear functions of rows: stochastic gradient descent
//! with steps η₀ / (1 + λ η₀ t), over the examples in random order, from wherever the problem
//! starts and regularised to wherever it is. η₀ is the power of two that does best on one pass over
//! a small sample, as Bottou's program for conditional random fields chooses it.
//!
//! A pass and the evaluation after it are iterations of their own. On a convex risk the planes at
//! the points evaluated give a bound; elsewhere there is no gap to stop by.

use super::quasi_newton::Companion;
use super::sgd_pass::{descend, shuffle};
use super::{Halt, Problem, Run, Solver, Status, Step, load_point, save_point};
use crate::archive::{Archive, ArchiveError};
use crate::risk::{Examples, Point};

/// Stochastic gradient descent by plain steps.
#[derive(Debug)]
pub struct SgdAnywhere {
    seed: u64,
    companion: Companion,
    w: Vec<f64>,
    best: Option<Point>,
    /// η₀, once it is chosen.
    first_step: Option<f64>,
    steps: u64,
    passes: u64,
    /// Whether the last pass has been followed by an evaluation.
    evaluated: bool,
}

/// Examples that η₀ is chosen on, and how many values are tried at most.
const SAMPLE: usize = 250;
const TRIALS: usize = 12;
/// The first value tried.
const GUESS: f64 = 0.125;

impl SgdAnywhere {
    /// A run on a problem, with a bundle for the bound.
    pub(super) fn new(problem: Problem<'_>, companion: Companion, seed: u64) -> Self {
        SgdAnywhere {
            seed,
            companion,
            w: problem.start_point(),
            best: None,
            first_step: None,
            steps: 0,
            passes: 0,
            evaluated: true,
        }
    }

    /// Tries powers of two on a sample, as long as they get better. Every example visited counts.
    fn choose_first_step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let examples = examples(run)?;
        let n = examples.len();
        let mut order: Vec<u32> = (0..n as u32).collect();
        shuffle(&mut order, self.seed, u64::MAX - 1);
        order.truncate(SAMPLE);
        let mut visited = 0;
        let mut try_step = |first_step: f64| {
            let mut w = self.w.clone();
            descend(run.problem, examples, &order, (first_step, 0), &mut w, |_| ());
            let mut unused = vec![0.0; w.len()];
            let value = |&i: &u32| examples.add_subgradient(i as usize, &w, 0.0, &mut unused);
            let risk: f64 = order.iter().map(value).sum();
            visited += 2 * order.len();
            let objective =
                risk * n as f64 / order.len() as f64 + run.problem.regularizer.value(&w);
            if objective.is_finite() { objective } else { f64::INFINITY }
        };
        let mut best = (GUESS, try_step(GUESS));
        let mut factor = 2.0;
        for trial in 1..TRIALS {
            let first_step = factor * best.0;
            let value = try_step(first_step);
            if value < best.1 {
                best = (first_step, value);
            } else if trial == 1 {
                factor = 0.5;
            } else {
                break;
            }
        }
        self.first_step = Some(best.0);
        (0..visited.div_ceil(n.max(1))).try_for_each(|_| run.charge())?;
        run.keep_going();
        Ok(Step { kind: "choose", objective: run.best_objective(), length: Some(best.0) })
    }

    fn pass(&mut self, run: &mut Run<'_>, first_step: f64) -> Result<Step, Halt> {
        let examples = examples(run)?;
        run.charge()?;
        let mut order: Vec<u32> = (0..examples.len() as u32).collect();
        shuffle(&mut order, self.seed, self.passes);
        let steps = (first_step, self.steps);
        descend(run.problem, examples, &order, steps, &mut self.w, |_| ());
        self.steps += order.len() as u64;
        self.passes += 1;
        self.evaluated = false;
        if !self.w.iter().all(|w| w.is_finite()) {
            return Err(Halt::Stop(Status::Stalled));
        }
        run.keep_going();
        Ok(Step { kind: "pass", objective: run.best_objective(), length: None })
    }

    fn check(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let point = if self.companion.is_bounding() {
            let parts = self.companion.parts();
            let (point, planes) = run.evaluate_with_planes(self.w.clone(), parts)?;
            self.companion.add(run, &point.w, planes);
            point
        } else {
            run.evaluate(self.w.clone())?
        };
        self.evaluated = true;
        let objective = run.objective(&point)?;
        if objective < run.best_objective() {
            self.best = Some(point);
            run.offer_objective(objective);
        }
        self.companion.solve(run)?;
        Ok(Step { kind: "check", objective, length: None })
    }
}

fn examples<'r>(run: &Run<'r>) -> Result<&'r dyn Examples, Halt> {
    run.problem.risk.examples().ok_or(Halt::Stop(Status::Stalled))
}

impl Solver for SgdAnywhere {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        self.check(run)
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        match self.first_step {
            None => self.choose_first_step(run),
            Some(first_step) if self.evaluated => self.pass(run, first_step),
            Some(_) => self.check(run).inspect_err(|_| run.overshot()),
        }
    }

    fn best(&self) -> Option<&Point> {
        self.best.as_ref()
    }

    fn planes(&self) -> usize {
        self.companion.len()
    }

    fn save(&self, archive: &mut Archive) {
        self.companion.save(archive);
        archive.put_reals("sgd.w", self.w.clone());
        archive.put_reals("sgd.first_step", self.first_step.into_iter().collect());
        archive.put_integers("sgd.counts", [self.steps, self.passes, u64::from(self.evaluated)]);
        if let Some(best) = &self.best {
            save_point("best", best, archive);
        }
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        self.companion.load(archive)?;
        let w = archive.take_reals("sgd.w")?;
        self.first_step = archive.take_reals("sgd.first_step")?.first().copied();
        let counts = archive.take_integers("sgd.counts")?;
        let (&[steps, passes, evaluated], true) = (&counts[..], w.len() == self.w.len()) else {
            return Err(ArchiveError("sgd.counts".into()));
        };
        (self.steps, self.passes, self.evaluated) = (steps, passes, evaluated != 0);
        self.best = Some(load_point("best", w.len(), archive)?);
        self.w = w;
        Ok(())
    }
}
