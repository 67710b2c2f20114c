//! Many rows, from coarse to fine: the search runs on a few subsamples, whose decision functions
//! are measured on all rows; from the best one, alternation goes on over all rows with Nyström
//! features. Every function on the way is an exact element of the kernel's space, so its objective
//! is that of the whole problem.

use super::candidates::generator;
use super::work::{S3vmProblem, Solution, Worker, loss};
use super::{Account, Options, S3vmError, S3vmFit, Stop, check};
use super::{ao, pdm};
use crate::archive::{Archive, ArchiveError};
use crate::kernel::nystrom::Nystrom;
use crate::kernel::{Gram, Kernel, Points};
use crate::regularizer::L2;
use crate::risk::hinge::Hinge;
use crate::risk::{Cancel, ExampleWeights, LinearRisk};
use crate::solver::{self, Checkpoints, Method, MethodOptions, Status, StopRules};
use crate::trace::Observer;
use minorant_linalg::dense::norm2;
use minorant_linalg::parallel::{map_chunks_mut, split_evenly};
use minorant_linalg::{Design, Matrix};
use rand::RngExt;

/// Rows beyond which the search runs on subsamples.
pub const LARGE: usize = 5000;
/// Subsamples.
const SAMPLES: u64 = 4;
/// Rows of a subsample.
const SAMPLE: usize = 800;
/// Inner problems of the search on one.
const EFFORT: u64 = 1200;
/// Landmarks of the Nyström features.
const LANDMARKS: usize = 300;
/// Rounds of alternation on them.
const ROUNDS: usize = 10;
/// The relative gap to which each is solved.
const TOL: f64 = 1e-4;
/// The offset is a feature this little regularised: next to nothing, but bundles want something.
const BIAS_WEIGHT: f64 = 1e-2;

/// All rows of a problem, without a kernel matrix.
#[derive(Debug, Clone, Copy)]
pub struct LargeProblem<'a> {
    /// The kernel.
    pub kernel: Kernel,
    /// The rows.
    pub points: &'a Points<'a>,
    /// +1, −1, or 0 where the label is not known.
    pub signs: &'a [i8],
    /// What a labelled row's loss counts.
    pub c1: f64,
    /// What an unlabelled row's loss counts.
    pub c2: f64,
    /// The least and the greatest number of positive labels among the unlabelled rows.
    pub balance: (usize, usize),
}

/// Minimises the objective of a problem with many rows. The coefficients are those of all rows,
/// most of them 0.
pub fn fit_large(
    problem: LargeProblem<'_>,
    options: &Options,
    cancel: &Cancel,
    observer: &mut dyn Observer,
    checkpoints: &mut dyn Checkpoints,
) -> Result<S3vmFit, S3vmError> {
    options.check()?;
    check(problem.c1, problem.c2, problem.signs)?;
    let most = options.rules.max_evaluations.unwrap_or(u64::MAX);
    let mut account = Account::new(observer, checkpoints, most);
    let measure = Measure::new(problem);
    let (rows, unknown) = (problem.signs.len(), measure.unlabelled.len());
    let saved = account.resume(most, |archive| Solution::load(archive, rows, unknown))?;
    let state = State::resume(saved)?;
    let clock = account.clock;
    let stop = Stop::new(cancel, clock, options.rules.max_seconds);
    let ended = run(&measure, options, &stop, &mut account, state)?;
    let ended = ended.and(stop.was_heeded());
    account.close(ended);
    Ok(S3vmFit {
        solution: account.best.take().ok_or(S3vmError::NoAnswer)?,
        lower_bound: None,
        delta: None,
        status: ended.err().unwrap_or(Status::Converged),
        evaluations: account.evaluations,
        regions_reused: None,
        iterations: account.iterations,
        seconds: clock.seconds(),
    })
}

/// Where it stands.
#[derive(Debug, Default)]
struct State {
    /// Subsamples that have been searched.
    sample: u64,
    /// The one that led to the best function.
    best_sample: u64,
    /// What the search on the next one has kept.
    search: Option<Archive>,
}

impl State {
    /// The state that was saved, or the one to begin with.
    fn resume(saved: Option<Archive>) -> Result<Self, ArchiveError> {
        let Some(mut archive) = saved else { return Ok(State::default()) };
        let samples = archive.take_up_to("samples", 2, SAMPLES)?;
        let search = Some(archive.take_all("search")).filter(|search| !search.is_empty());
        Ok(State { sample: samples[0], best_sample: samples[1], search })
    }

    fn save(&self, archive: &mut Archive) {
        archive.put_integers("samples", [self.sample, self.best_sample]);
        if let Some(search) = &self.search {
            archive.put_all("search", |own| *own = search.clone());
        }
    }
}

fn run(
    measure: &Measure<'_>,
    options: &Options,
    stop: &Stop,
    account: &mut Account<'_, Solution>,
    mut state: State,
) -> Result<Result<(), Status>, S3vmError> {
    while state.sample < SAMPLES {
        if account.best.is_some() && (stop.check().is_err() || account.left() == 0) {
            return Ok(stop.check().and(Err(Status::MaxEvals)));
        }
        let rows = measure.sample(options.seed, state.sample);
        let before = account.best_objective();
        search(measure, &rows, options, stop, account, &mut state)?;
        if account.best_objective() < before {
            state.best_sample = state.sample;
        }
        state.sample += 1;
    }
    if let Err(status) = stop.check() {
        return Ok(Err(status));
    }
    account.keep(|archive| state.save(archive));
    let rows = measure.sample(options.seed, state.best_sample);
    Ok(alternate(measure, &rows, stop, account))
}

/// What all rows say about decision functions.
struct Measure<'a> {
    problem: LargeProblem<'a>,
    labelled: Vec<usize>,
    unlabelled: Vec<usize>,
}

impl<'a> Measure<'a> {
    fn new(problem: LargeProblem<'a>) -> Self {
        let of = |known: bool| {
            (0..problem.signs.len()).filter(|&i| (problem.signs[i] != 0) == known).collect()
        };
        Measure { problem, labelled: of(true), unlabelled: of(false) }
    }

    /// The loss of decisions on all rows, and the labels that suit them best.
    fn loss(&self, decisions: &[f64]) -> (f64, Vec<bool>) {
        let LargeProblem { signs, c1, c2, balance, .. } = self.problem;
        loss(signs, &self.unlabelled, (c1, c2), balance, |i| decisions[i])
    }

    /// Labelled rows, at most half of the sample, and random unlabelled ones.
    fn sample(&self, seed: u64, number: u64) -> Vec<usize> {
        let mut rng = generator(seed, 1_000_000 + number);
        let mut draw = |from: &[usize], count: usize| {
            let mut rows = from.to_vec();
            let count = count.min(rows.len());
            for at in 0..count {
                let other = rng.random_range(at..rows.len());
                rows.swap(at, other);
            }
            rows.truncate(count);
            rows
        };
        let (mut positive, mut negative) = (Vec::new(), Vec::new());
        for &i in &self.labelled {
            if self.problem.signs[i] > 0 { positive.push(i) } else { negative.push(i) }
        }
        let mut rows = draw(&positive, SAMPLE / 4);
        rows.extend(draw(&negative, SAMPLE / 4));
        let left = SAMPLE - rows.len();
        rows.extend(draw(&self.unlabelled, left));
        rows
    }

    /// Decisions on all rows of an expansion over some of them.
    fn decisions(&self, rows: &[usize], beta: &[f64], bias: f64) -> Vec<f64> {
        let points = self.problem.points;
        let used: Vec<(usize, f64)> =
            rows.iter().copied().zip(beta.iter().copied()).filter(|(_, b)| *b != 0.0).collect();
        let mut decisions = vec![bias; points.len()];
        let chunks = split_evenly(points.len(), (points.len() / 256).clamp(1, 256));
        map_chunks_mut(&chunks, &mut decisions, 1, |_, range, out| {
            let mut buffer = points.buffer();
            let mut products = vec![0.0; range.len()];
            for &(row, b) in &used {
                let range = range.clone();
                let kernel = self.problem.kernel;
                points.kernel_row(kernel, points, row, range, &mut buffer, &mut products);
                out.iter_mut().zip(&products).for_each(|(o, k)| *o += b * k);
            }
        });
        decisions
    }

    /// A solution of the whole problem from an expansion of known length.
    fn solution(&self, rows: &[usize], beta: &[f64], bias: f64, square: f64) -> Solution {
        let decisions = self.decisions(rows, beta, bias);
        let (risk, labels) = self.loss(&decisions);
        let mut all = vec![0.0; self.problem.signs.len()];
        rows.iter().zip(beta).for_each(|(&i, b)| all[i] += b);
        Solution {
            beta: all,
            bias,
            regularizer: 0.5 * square,
            risk,
            labels,
            local_gap: f64::INFINITY,
        }
    }
}

/// Searches on a subsample and measures what it found on all rows.
fn search(
    measure: &Measure<'_>,
    rows: &[usize],
    options: &Options,
    stop: &Stop,
    account: &mut Account<'_, Solution>,
    state: &mut State,
) -> Result<(), S3vmError> {
    let LargeProblem { kernel, points, signs, c1, c2, balance } = measure.problem;
    let bytes = 16 * (SAMPLE as u64) * (SAMPLE as u64);
    let chosen = points.select(rows);
    let few = Points::new(&chosen);
    let gram =
        Gram::new(kernel, &few, bytes).map_err(|error| S3vmError::Kernel(error.to_string()))?;
    let signs: Vec<i8> = rows.iter().map(|&i| signs[i]).collect();
    let u = signs.iter().filter(|s| **s == 0).count();
    // The sample stands for all rows: its unlabelled rows weigh as much together, and are as
    // balanced as all, give or take what chance does.
    let share = u as f64 / measure.unlabelled.len().max(1) as f64;
    let chance = (0.25 * u as f64).sqrt() * 0.5;
    let low = (balance.0 as f64 * share - chance).floor().max(0.0) as usize;
    let high = ((balance.1 as f64 * share + chance).ceil() as usize).min(u);
    let problem = S3vmProblem::new(&gram, signs, c1, c2 / share.max(1e-300), (low.min(high), high));
    let limit = account.left().min(EFFORT);
    let clock = account.clock;
    let (mut nobody, mut within) = ((), Within { account, state });
    let mut inside = Account::new(&mut nobody, &mut within, limit);
    inside.limit_is_own = limit == EFFORT;
    let saved = inside.resume(limit, |archive| Solution::load(archive, rows.len(), u))?;
    inside.clock = clock;
    if inside.best.is_none() {
        // Something to answer with, however few inner problems may be solved.
        let mut worker = Worker::new(&problem, stop, inside.left(), options.search_tol());
        let _ = ao::supervised(&mut worker);
        inside.absorb(&mut worker);
    }
    let ended = pdm::run(&problem, options, stop, &mut inside, pdm::State::resume(saved)?);
    let found = inside
        .best
        .take()
        .map(|best| measure.solution(rows, &best.beta, best.bias, 2.0 * best.regularizer));
    // Whatever else ends the search early is noticed outside.
    if ended == Err(Status::MaxEvals) {
        inside.cut_short();
    }
    let (spent, is_cut_short) = (inside.evaluations, inside.is_cut_short);
    if is_cut_short {
        account.cut_short();
    }
    account.count(spent, found, 0.0);
    state.search = None;
    Ok(())
}

/// Checkpoints of the search on a subsample: they belong to the whole run's.
struct Within<'a, 'o> {
    account: &'a mut Account<'o, Solution>,
    state: &'a mut State,
}

impl Checkpoints for Within<'_, '_> {
    fn resume(&mut self) -> Option<Archive> {
        self.state.search.take()
    }

    fn are_wanted(&self) -> bool {
        self.account.keeps_states()
    }

    fn is_due(&mut self) -> bool {
        // Whether to store it or to let it wait is decided outside.
        true
    }

    fn store(&mut self, archive: Archive) {
        self.state.search = Some(archive);
        self.account.keep(|archive| self.state.save(archive));
    }
}

/// Alternates over all rows with Nyström features, from the best function.
fn alternate(
    measure: &Measure<'_>,
    rows: &[usize],
    stop: &Stop,
    account: &mut Account<'_, Solution>,
) -> Result<(), Status> {
    let LargeProblem { kernel, points, signs, c1, c2, .. } = measure.problem;
    let Some(best) = account.best.clone() else { return Err(Status::Stalled) };
    let nystrom = Nystrom::new(kernel, points, &rows[..rows.len().min(LANDMARKS)]);
    let width = nystrom.landmarks.len();
    let features = nystrom.features(&|| stop.is_over()).ok_or(Status::Stalled);
    stop.check()?;
    let features = features?;
    let matrix = Matrix::dense(signs.len(), width, features.into()).map_err(|_| Status::Stalled)?;
    let mut theta = vec![1.0; width + 1];
    theta[width] = BIAS_WEIGHT;
    let regularizer = L2::new(1.0).and_then(|plain| plain.with_weights(theta));
    let regularizer = regularizer.map_err(|_| Status::Stalled)?;
    let weights: Vec<f64> = signs.iter().map(|s| if *s == 0 { c2 } else { c1 }).collect();
    let mut labels = best.labels;
    let mut start: Option<Vec<f64>> = None;
    for _ in 0..ROUNDS {
        stop.check()?;
        if account.left() == 0 {
            return Err(Status::MaxEvals);
        }
        let mut targets: Vec<f64> = signs.iter().map(|s| f64::from(*s)).collect();
        for (&i, &label) in measure.unlabelled.iter().zip(&labels) {
            targets[i] = if label { 1.0 } else { -1.0 };
        }
        let design = Design::new(&matrix, Some(1.0));
        let weights = ExampleWeights::Each(weights.clone());
        let risk = LinearRisk::new(design, Hinge::new(targets), weights);
        let from = start.take();
        let problem = solver::Problem::new(&risk, &regularizer).starting_at(from.as_deref());
        let max_seconds = stop.max_seconds.map(|most| (most - stop.clock.seconds()).max(0.0));
        let rules = StopRules { tol: TOL, max_seconds, ..StopRules::default() };
        let method = Method::pick_bundle(problem);
        let mut solver =
            method.build(problem, &MethodOptions::default()).map_err(|_| Status::Stalled)?;
        let outcome = solver::run(&mut *solver, problem, rules, &stop.cancel, &mut (), &mut ());
        let w = outcome.map_err(|_| Status::Stalled)?.point.w;
        let (slopes, bias) = (&w[..width], w[width]);
        let beta = nystrom.coefficients(slopes);
        let solution = measure.solution(&nystrom.landmarks, &beta, bias, norm2(slopes));
        let next = solution.labels.clone();
        let before = account.best_objective();
        account.count(1, Some(solution), 0.0);
        stop.check()?;
        if next == labels || account.best_objective() >= before * (1.0 - TOL) {
            break;
        }
        labels = next;
        start = Some(w);
    }
    Ok(())
}
