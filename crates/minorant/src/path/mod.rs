//! Paths: the same problem for a whole range of λ, each solved from where the last one ended and
//! with its planes, which hold for every λ; with a proof-carrying model for every λ of the path and
//! a certified gap for every λ in between. Cross-validation over λ walks such paths. No method and
//! no bound is made here; `family` turns data into problems, `solver` solves them. Rows are made into
//! problems once for the whole path; other data is, by its family, once for each λ (`fits.rs`).

mod between;
mod fits;
mod tune;

use minorant_linalg::elementary;
pub use tune::{FoldError, Tuned, TunedPoint, tune, validate};

use crate::family::linear::{LinearForm, Rows, Solved, check_evaluations};
use crate::family::{
    self, Data, Entry, Facts, FittedModel, Numbers, PROOF_BYTES, Settings, TrainError, TrainReport,
    check_size, keep_for_training, left_for_planes, method_options, refuse,
};
use crate::fingerprint::Fingerprint;
use crate::options::common::LAMBDA;
use crate::regularizer::L2;
use crate::risk::{Cancel, Risk};
use crate::solver::{Method, Outcome, Problem, StopRules, Track};
use between::{Pair, largest_gap};
use fits::Fits;
use minorant_data::Dataset;

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
    pub validation: Option<Data<'a>>,
    /// Weights to start from, those of one problem after the other.
    pub start: Option<&'a [f64]>,
    /// Whether points are put in between until the gap there is at most three times the tolerance.
    pub fill: bool,
}

/// The models that have a path: those whose problem is convex, with one λ.
pub fn models() -> impl Iterator<Item = Entry> {
    let has_path =
        |entry: &Entry| entry.model.is_convex && entry.option(LAMBDA.spec.name).is_some();
    family::models().iter().copied().filter(has_path)
}

/// Problems on their way along the path.
trait Way {
    /// Whether nothing is left to spend on a further λ.
    fn is_spent(&self) -> bool;

    /// Solves all problems at one λ.
    fn solve(
        &mut self,
        lambda: f64,
        tell: &mut dyn FnMut(&PathPoint),
    ) -> Result<(PathPoint, Stop), TrainError>;
}

/// Points of a path, at most.
const MOST_POINTS: usize = 100_000;

/// A number to twelve digits.
fn rounded(x: f64) -> f64 {
    format!("{x:.11e}").parse().unwrap_or(x)
}

/// `count` numbers from the larger to the smaller of two, each the same share of the one before.
pub fn geometric(from: f64, to: f64, count: usize) -> Result<Vec<f64>, TrainError> {
    let (high, low) = (from.max(to), from.min(to));
    if ![from, to].iter().all(|end| *end > 0.0 && end.is_finite()) {
        return refuse(format!("the ends of a path must be positive numbers, not {from} and {to}"));
    }
    if count == 0 || (count == 1 && high > low) {
        return refuse(format!("a path from {from} to {to} needs at least 2 points, not {count}"));
    }
    if count > MOST_POINTS {
        return refuse(format!(
            "a path has at most {MOST_POINTS} points, not {count}: each is a model of its own"
        ));
    }
    let share = |i: usize| i as f64 / (count.max(2) - 1) as f64;
    // Twelve digits, so that a path from 1 to 0.01 meets 0.1 and not a neighbour of it.
    let between = |i: usize| rounded(high * elementary::power(low / high, share(i)));
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
pub fn path<'d>(
    data: impl Into<Data<'d>>,
    settings: &Settings,
    path: PathOptions<'_>,
    cancel: &Cancel,
    tell: &mut dyn FnMut(&PathPoint),
) -> Result<Path, TrainError> {
    let data = data.into();
    settings.check()?;
    check_size(data, settings)?;
    if !settings.entry().model.is_convex {
        return refuse(format!(
            "a path needs a convex model, which {} is not: train it for each lambda",
            settings.model()
        ));
    }
    if models().all(|entry| entry.model.name != settings.model()) {
        return refuse(format!("{} has no path over lambda", settings.model()));
    }
    keep_for_training(data, settings)?;
    let found = match data {
        Data::Rows(data) => {
            let rows = Rows::new(data, settings)?;
            follow(&mut Tracks::new(&rows, path, cancel)?, path, settings.tol(), tell)
        }
        _ => follow(&mut Fits::new(data, settings, path, cancel), path, settings.tol(), tell),
    }?;
    data.failure().map_or(Ok(found), refuse)
}

/// Goes from λ to λ, the largest first.
fn follow(
    tracks: &mut dyn Way,
    path: PathOptions<'_>,
    tol: f64,
    tell: &mut dyn FnMut(&PathPoint),
) -> Result<Path, TrainError> {
    let mut lambdas = path.lambdas.to_vec();
    lambdas.sort_by(|a, b| b.total_cmp(a));
    lambdas.dedup();
    let mut found = Path { points: Vec::new(), between: Vec::new(), is_whole: true };
    let mut last: Option<Stop> = None;
    for lambda in lambdas {
        if last.is_some() && tracks.is_spent() {
            found.is_whole = false;
            break;
        }
        let mut ahead = vec![tracks.solve(lambda, tell)?];
        // Points are put in between the last one and the nearest ahead until that is near enough.
        while let Some((_, next)) = ahead.last() {
            let gap = last.as_ref().and_then(|last| last.gap_to(next));
            let middle = last.as_ref().map(|last| (last.lambda * next.lambda).sqrt());
            let wanted = path.fill
                && tol > 0.0
                && gap.is_some_and(|gap| gap > BETWEEN * tol)
                && last.as_ref().is_some_and(|last| last.is_worth_filling(next))
                && !tracks.is_spent();
            if let Some(middle) = middle.filter(|_| wanted) {
                ahead.push(tracks.solve(middle, tell)?);
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

/// The problems of rows, of which there is one for each class in one-vs-rest: they share their data.
struct Tracks<'a> {
    rows: &'a Rows<'a>,
    validation: Option<&'a Dataset<'a>>,
    cancel: &'a Cancel,
    rules: StopRules,
    data_sha256: String,
    tracks: Vec<(Box<dyn Risk + 'a>, Track)>,
    start: Option<&'a [f64]>,
    evaluations: u64,
    seconds: f64,
}

impl<'a> Tracks<'a> {
    fn new(
        rows: &'a Rows<'a>,
        path: PathOptions<'a>,
        cancel: &'a Cancel,
    ) -> Result<Self, TrainError> {
        if rows.regularizer(1.0)?.lambda() == 0.0 {
            let why = "a path needs a quadratic penalty, not l1 alone: planes and bounds serve every lambda there";
            return refuse(why);
        }
        let count = rows.targets.problems();
        rows.check_start(path.start)?;
        check_evaluations(rows.settings.rules().max_evaluations, count)?;
        let tracks: Vec<_> = (0..count).map(|k| (rows.risk(k), Track::new())).collect();
        let rules = rows.rules(&*tracks[0].0)?;
        let weights = rows.settings.example_weights();
        Ok(Tracks {
            rows,
            validation: path.validation.map(Data::rows).transpose()?,
            cancel,
            rules,
            data_sha256: rows.data.sha256_with(weights.as_deref()),
            tracks,
            start: path.start,
            evaluations: 0,
            seconds: 0.0,
        })
    }

    /// Solves one problem, from where it stood at the last λ.
    fn solve_one(
        &mut self,
        k: usize,
        regularizer: &L2,
        waiting: u64,
    ) -> Result<Outcome, TrainError> {
        let (used, spent) = (self.evaluations, self.seconds);
        let problems = self.tracks.len() as u64;
        let (risk, track) = &mut self.tracks[k];
        let rules = StopRules {
            max_evaluations: self
                .rules
                .max_evaluations
                .map(|most| most.saturating_sub(used + waiting).max(1)),
            max_seconds: self.rules.max_seconds.map(|most| most - spent),
            ..self.rules
        };
        let dim = risk.dim();
        let given = self.start.map(|w| &w[k * dim..][..dim]);
        let problem = Problem::new(&**risk, regularizer).starting_at(given);
        // The problems of all classes keep their planes from one λ to the next.
        let left = left_for_planes(Data::Rows(self.rows.data), self.rows.settings);
        let each = left.map(|bytes| bytes / problems);
        let options = method_options(self.rows.settings, PROOF_BYTES, each);
        let asked = Method::from_name(&self.rows.settings.solver())?;
        track.solve(problem, asked, &options, rules, self.cancel)
    }
}

impl Way for Tracks<'_> {
    fn is_spent(&self) -> bool {
        let rules = self.rules;
        let needed = self.evaluations + self.tracks.len() as u64;
        self.cancel.is_cancelled()
            || rules.max_evaluations.is_some_and(|most| needed > most)
            || rules.max_seconds.is_some_and(|most| self.seconds >= most)
    }

    fn solve(
        &mut self,
        lambda: f64,
        tell: &mut dyn FnMut(&PathPoint),
    ) -> Result<(PathPoint, Stop), TrainError> {
        let regularizer = self.rows.regularizer(lambda)?;
        let mut outcomes = Vec::new();
        for k in 0..self.tracks.len() {
            let waiting = (self.tracks.len() - k - 1) as u64;
            let outcome = self.solve_one(k, &regularizer, waiting)?;
            self.evaluations += outcome.evaluations;
            self.seconds += outcome.seconds;
            outcomes.push(outcome);
        }
        let pair = pair(lambda, self.tracks.iter().map(|(_, track)| track));
        let scores = scores(&outcomes, self.rows.targets.outputs);
        let data = self.rows.data;
        let solved = Solved { outcomes, method: self.tracks[0].1.method, abs_tol: None };
        let answer = self.rows.answer(lambda, solved);
        let report = answer.report;
        let sha256 = self.data_sha256.clone();
        let facts = Facts::new(self.rows.settings, &report, Data::Rows(data), sha256);
        let model = FittedModel::new(facts, answer.form, answer.proofs);
        let is_certified = model.facts.is_certified();
        let form = model.form_as::<LinearForm>();
        let error = |data: &Dataset<'_>, scores: Option<&Numbers>| {
            let compare = |form: &LinearForm| match scores {
                Some(scores) => form.compare(&data.labels, scores),
                None => form.compare(&data.labels, &form.scores(&data.features).0),
            };
            form.map_or(f64::INFINITY, |form| compare(form).error())
        };
        let train_error = error(data, Some(&scores));
        let validation_error = self.validation.map(|data| error(data, None));
        let point = PathPoint { model, report, train_error, validation_error };
        tell(&point);
        Ok((point, Stop { lambda, is_certified, pair }))
    }
}

/// The last outcomes as functions of λ, where all problems have a bound over λ.
fn pair<'t>(lambda: f64, tracks: impl Iterator<Item = &'t Track> + Clone) -> Option<Pair> {
    let penalty: f64 = tracks.clone().map(|track| track.penalty).sum();
    Some(Pair {
        lambda,
        share: tracks.clone().next()?.quadratic / lambda,
        square: 2.0 * penalty / lambda,
        risk: tracks.clone().map(|track| track.risk).sum(),
        bounds: tracks.map(|track| track.bounds.clone()).collect::<Option<_>>()?,
    })
}

/// The decision values of the training rows, which the runs have computed already.
fn scores(outcomes: &[Outcome], outputs: usize) -> Numbers {
    let width = outputs * outcomes.len();
    let mut values = Vec::new();
    for (k, outcome) in outcomes.iter().enumerate() {
        let found = outcome.point.outputs.gather();
        values.resize(found.len() / outputs * width, 0.0);
        let each = values.chunks_exact_mut(width).zip(found.chunks_exact(outputs));
        each.for_each(|(row, f)| row[k * outputs..(k + 1) * outputs].copy_from_slice(f));
    }
    Numbers { width, values }
}
