//! Paths: the same problem for a whole range of λ, each solved from where the last one ended and
//! with its planes, which hold for every λ; with a proof-carrying model for every λ of the path and
//! a certified gap for every λ in between. Cross-validation over λ walks such paths. No method and
//! no bound is made here; `train` turns data into problems, `solver` solves them.

mod between;
mod tune;

pub use tune::{FoldError, Tuned, TunedPoint, tune};

use crate::fingerprint::Fingerprint;
use crate::model::{FittedModel, Scores};
use crate::regularizer::L2;
use crate::risk::{Cancel, ExampleWeights, Point, Risk};
use crate::solver::{self, Method, Outcome, Problem, Solver, Status, StopRules};
use crate::train::{self, ModelName, Penalty, Task, TrainError, TrainOptions, TrainReport};
use between::{Pair, largest_gap};
use minorant_data::Dataset;
use minorant_linalg::Design;

/// The relative gap in between may be this many times the tolerance.
const BETWEEN: f64 = 3.0;
/// Neighbours nearer than this need no point in between, whatever their gap.
const NEAREST: f64 = 1e-6;

/// One λ of a path.
#[derive(Debug, Clone)]
pub struct PathPoint {
    /// The model, with its certificate and proof.
    pub model: FittedModel,
    /// How it was found; the first λ pays for the start, later ones only for what is new.
    pub report: TrainReport,
    /// The error on the training data.
    pub train_error: f64,
    /// The error on the validation data, where there is any.
    pub validation_error: Option<f64>,
}

/// What is proven for every λ between two neighbours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Between {
    /// The smaller λ.
    pub lo: f64,
    /// The larger λ.
    pub hi: f64,
    /// At every λ from `lo` to `hi` the better of the two models has at most this relative gap;
    /// nothing where the method gives no bound over λ.
    pub relative_gap: Option<f64>,
}

/// A path.
#[derive(Debug, Clone)]
pub struct Path {
    /// The points, λ descending: those asked for and those that were put in between.
    pub points: Vec<PathPoint>,
    /// What is proven in between, one entry for each two neighbours.
    pub between: Vec<Between>,
    /// Whether all λ asked for were reached before the evaluations, the time or the user's
    /// patience ended.
    pub is_whole: bool,
}

/// What of a path is wanted.
#[derive(Debug, Clone, Copy)]
pub struct PathOptions<'a> {
    /// The λ, in any order.
    pub lambdas: &'a [f64],
    /// Data to measure the models' errors on.
    pub validation: Option<&'a Dataset<'a>>,
    /// Whether points are put in between until the gap there is at most three times the tolerance.
    pub fill: bool,
}

/// `count` numbers from the larger to the smaller of two, each the same share of the one before.
pub fn geometric(from: f64, to: f64, count: usize) -> Result<Vec<f64>, TrainError> {
    let (high, low) = (from.max(to), from.min(to));
    if ![from, to].iter().all(|end| *end > 0.0 && end.is_finite()) {
        return Err(TrainError::Setting(format!(
            "the ends of a path must be positive numbers, not {from} and {to}"
        )));
    }
    if count == 0 || (count == 1 && high > low) {
        return Err(TrainError::Setting(format!(
            "a path from {from} to {to} needs at least 2 points, not {count}"
        )));
    }
    let share = |i: usize| i as f64 / (count.max(2) - 1) as f64;
    let between = |i: usize| high * (low / high).powf(share(i));
    // The ends are those asked for, to the last bit.
    let number = |i: usize| match i {
        0 => high,
        i if i + 1 == count => low,
        i => between(i),
    };
    Ok((0..count).map(number).collect())
}

/// Solves the problem for every λ, the largest first, and tells each point as it is found. The
/// limits on evaluations and time hold for the whole path.
pub fn path(
    data: &Dataset,
    options: &TrainOptions,
    path: PathOptions<'_>,
    cancel: &Cancel,
    tell: &mut dyn FnMut(&PathPoint),
) -> Result<Path, TrainError> {
    let mut lambdas = path.lambdas.to_vec();
    lambdas.sort_by(|a, b| b.total_cmp(a));
    lambdas.dedup();
    let task = Task::new(&data.labels, options)?;
    if !matches!(options.model, ModelName::Svm | ModelName::Logistic) {
        return Err(TrainError::Setting(format!(
            "a path needs a convex model, which {} is not: train it for each lambda",
            options.model.as_str()
        )));
    }
    let weights = train::weights_of(&data.labels, &task, options)?;
    let mut walk = Walk::new(data, options, &task, &weights, path.validation, cancel)?;
    let mut found = Path { points: Vec::new(), between: Vec::new(), is_whole: true };
    let mut last: Option<Stop> = None;
    for lambda in lambdas {
        if last.is_some() && walk.is_spent() {
            found.is_whole = false;
            break;
        }
        let mut ahead = vec![walk.solve(lambda, tell)?];
        // Points are put in between the last one and the nearest ahead until that is near enough.
        while let Some((_, next)) = ahead.last() {
            let gap = last.as_ref().and_then(|last| last.gap_to(next));
            let middle = last.as_ref().map(|last| (last.lambda * next.lambda).sqrt());
            let wanted = path.fill
                && options.rules.tol > 0.0
                && gap.is_some_and(|gap| gap > BETWEEN * options.rules.tol)
                && last.as_ref().is_some_and(|last| last.is_worth_filling(next))
                && !walk.is_spent();
            if let Some(middle) = middle.filter(|_| wanted) {
                ahead.push(walk.solve(middle, tell)?);
                continue;
            }
            let Some((point, next)) = ahead.pop() else { break };
            if let Some(last) = &last {
                let (lo, hi) = (next.lambda, last.lambda);
                found.between.push(Between { lo, hi, relative_gap: gap });
            }
            found.points.push(point);
            last = Some(next);
        }
    }
    Ok(found)
}

/// What a solved λ proves for others.
struct Stop {
    lambda: f64,
    is_certified: bool,
    pair: Option<Pair>,
}

impl Stop {
    fn gap_to(&self, other: &Stop) -> Option<f64> {
        Some(largest_gap(self.pair.as_ref()?, other.pair.as_ref()?))
    }

    /// A point in between helps where both ends are as good as asked for and not yet the same.
    fn is_worth_filling(&self, next: &Stop) -> bool {
        let apart = self.lambda > next.lambda * (1.0 + NEAREST);
        self.is_certified && next.is_certified && apart
    }
}

/// One of the problems (there is one for each class in one-vs-rest) on its way along the path.
struct Track<'a> {
    risk: Box<dyn Risk + 'a>,
    method: Method,
    solver: Option<Box<dyn Solver>>,
    last: Option<Point>,
}

/// The walk along a path.
struct Walk<'a> {
    data: &'a Dataset<'a>,
    options: &'a TrainOptions,
    task: &'a Task,
    validation: Option<&'a Dataset<'a>>,
    cancel: &'a Cancel,
    data_sha256: String,
    features: usize,
    tracks: Vec<Track<'a>>,
    evaluations: u64,
    seconds: f64,
}

impl<'a> Walk<'a> {
    fn new(
        data: &'a Dataset<'a>,
        options: &'a TrainOptions,
        task: &'a Task,
        weights: &ExampleWeights,
        validation: Option<&'a Dataset<'a>>,
        cancel: &'a Cancel,
    ) -> Result<Self, TrainError> {
        if options.penalty == Penalty::L1 {
            let why = "a path goes with the penalty l2: planes and bounds serve every lambda there";
            return Err(TrainError::Setting(why.into()));
        }
        let design = Design::new(&data.features, options.bias);
        let count = task.problems();
        let dim = design.features() * task.outputs_per_problem();
        options.check_start(dim * count)?;
        if options.rules.max_evaluations.is_some_and(|most| most < count as u64) {
            return Err(TrainError::Setting(format!(
                "one-vs-rest over {count} classes needs at least {count} evaluations"
            )));
        }
        let tracks = (0..count).map(|k| Track {
            risk: task.risk(k, design, weights.clone(), options),
            method: options.method,
            solver: None,
            last: None,
        });
        Ok(Walk {
            data,
            options,
            task,
            validation,
            cancel,
            data_sha256: data.sha256_with(options.example_weights.as_deref()),
            features: design.features(),
            tracks: tracks.collect(),
            evaluations: 0,
            seconds: 0.0,
        })
    }

    /// Whether nothing is left to spend on a further λ.
    fn is_spent(&self) -> bool {
        let rules = self.options.rules;
        let needed = self.evaluations + self.tracks.len() as u64;
        self.cancel.is_cancelled()
            || rules.max_evaluations.is_some_and(|most| needed > most)
            || rules.max_seconds.is_some_and(|most| self.seconds >= most)
    }

    /// Solves all problems at one λ.
    fn solve(
        &mut self,
        lambda: f64,
        tell: &mut dyn FnMut(&PathPoint),
    ) -> Result<(PathPoint, Stop), TrainError> {
        let outputs = self.task.outputs_per_problem();
        let regularizer = self.options.regularizer(lambda, self.features, outputs)?;
        let mut outcomes = Vec::new();
        for k in 0..self.tracks.len() {
            let waiting = (self.tracks.len() - k - 1) as u64;
            let outcome = self.solve_one(k, &regularizer, waiting)?;
            self.evaluations += outcome.evaluations;
            self.seconds += outcome.seconds;
            self.tracks[k].last = Some(outcome.point.clone());
            outcomes.push(outcome);
        }
        let name = self.tracks[0].method.name();
        let report = train::summarise(&outcomes, lambda, self.data, name);
        let stop = Stop {
            lambda,
            is_certified: report.certificate.certifies(self.options.rules.tol),
            pair: pair(&outcomes, &regularizer),
        };
        let scores = scores(&outcomes, outputs);
        let problems = train::problems(outcomes);
        let (sha256, options) = (self.data_sha256.clone(), self.options);
        let model = FittedModel::new(self.data, sha256, options, self.task, &report, problems);
        let error = |data: &Dataset, scores: &Scores| model.evaluate(&data.labels, scores).error;
        let train_error = error(self.data, &scores);
        let validation_error =
            self.validation.map(|data| error(data, &model.scores(&data.features)));
        let point = PathPoint { model, report, train_error, validation_error };
        tell(&point);
        Ok((point, stop))
    }

    /// Solves one problem, from where it stood at the last λ.
    fn solve_one(
        &mut self,
        k: usize,
        regularizer: &L2,
        waiting: u64,
    ) -> Result<Outcome, TrainError> {
        let (used, spent) = (self.evaluations, self.seconds);
        let track = &mut self.tracks[k];
        let rules = StopRules {
            max_evaluations: self
                .options
                .rules
                .max_evaluations
                .map(|most| most.saturating_sub(used + waiting).max(1)),
            max_seconds: self.options.rules.max_seconds.map(|most| most - spent),
            ..self.options.rules
        };
        let dim = track.risk.dim();
        let given = self.options.start.as_ref().map(|w| &w[k * dim..][..dim]);
        let last = track.last.take();
        let start = last.as_ref().map(|point| point.w.clone());
        let problem =
            Problem::new(&*track.risk, regularizer).starting_at(start.as_deref().or(given));
        let carried = match (&mut track.solver, last) {
            (Some(solver), Some(point)) => solver.restart_at(point),
            _ => false,
        };
        if !carried {
            track.method = match self.options.method {
                Method::Auto => Method::pick_bundle(problem),
                method => method,
            };
            track.solver = Some(track.method.build_owned(problem, &self.options.method_options)?);
        }
        let Some(solver) = &mut track.solver else { unreachable!("a solver was just built") };
        // A first answer is owed even to those who have already asked to stop.
        let token = if start.is_none() { Cancel::new() } else { self.cancel.clone() };
        let mut outcome = solver::run(&mut **solver, problem, rules, &token, &mut (), &mut ())?;
        if outcome.status == Status::MaxEvals && self.cancel.is_cancelled() {
            outcome.status = Status::Interrupted;
        }
        Ok(outcome)
    }
}

/// The outcomes as functions of λ, where all problems have a bound over λ.
fn pair(outcomes: &[Outcome], regularizer: &L2) -> Option<Pair> {
    let lambda = regularizer.lambda();
    let square = |outcome: &Outcome| 2.0 * regularizer.value(&outcome.point.w) / lambda;
    Some(Pair {
        lambda,
        square: outcomes.iter().map(square).sum(),
        risk: outcomes.iter().map(|outcome| outcome.point.value).sum(),
        bounds: outcomes.iter().map(|outcome| outcome.bounds).collect::<Option<_>>()?,
    })
}

/// The decision values of the training rows, which the runs have computed already.
fn scores(outcomes: &[Outcome], outputs: usize) -> Scores {
    let width = outputs * outcomes.len();
    let rows = outcomes[0].point.outputs.len() / outputs;
    let mut values = vec![0.0; rows * width];
    for (k, outcome) in outcomes.iter().enumerate() {
        let each = values.chunks_exact_mut(width).zip(outcome.point.outputs.chunks_exact(outputs));
        each.for_each(|(row, f)| row[k * outputs..(k + 1) * outputs].copy_from_slice(f));
    }
    Scores { width, values, ignored: 0 }
}
