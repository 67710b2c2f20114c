//! `pdm`, mode `search`: the outer loop of Algorithm 1 of the paper (a local solution, points around
//! it, the best of them, and on from there), with two changes that make it find anything. Every
//! candidate is polished by a local method instead of being dropped unless it beats the incumbent
//! before that (the paper's test Δ > 0, mode `strict`), and candidates have structure instead of
//! random directions. It starts from the best of the local methods and of the known labels diffused
//! over a graph of neighbours. What it returns is the best of
//! many local optima; it proves nothing about others.

use super::ao;
use super::candidates::{LEAKS, candidate, generator, spread};
use super::da::{self, Cooling};
use super::graph::Graph;
use super::work::{Problem, Solution, Stop, Worker};
use super::{Account, Options, Solver, run_local};
use crate::solver::Status;
use minorant_linalg::parallel::{map_chunks, split_evenly};
use rand::RngExt;

/// Candidates that are polished side by side, whatever the number of threads.
const BATCH: u64 = 4;
/// Candidates of a round, at least.
const FEWEST: u64 = 6;
/// Inner problems of the search at the usual degree: so many, and so many more for each unlabelled
/// row, but no fewer than the last number.
const EFFORT: (f64, f64, f64) = (160.0, 1.9, 394.0);
/// Inner problems of rounds after which one without improvement ends the search, at the usual
/// degree.
const ENOUGH: f64 = 600.0;
/// The usual degree; more candidates mean as much more effort.
const USUAL_DEGREE: f64 = 0.1;
/// Numbers of positive labels that starts are tried with, where the balance leaves a choice.
const COUNTS: usize = 5;
/// The share of candidates that are polished by alternation; the others are annealed, which costs
/// more and finds what alternation misses.
const BY_ALTERNATION: f64 = 0.9;
/// A candidate must be better by this, relative to the objective.
const BETTER: f64 = 1e-7;
/// The local methods that it starts from.
const STARTS: [Solver; 6] =
    [Solver::Da, Solver::Ao, Solver::Cccp, Solver::Lcs, Solver::Ia, Solver::Gd];

pub(super) fn run(
    problem: &Problem<'_>,
    options: &Options,
    stop: &Stop,
    account: &mut Account<'_>,
) -> Result<(), Status> {
    for solver in STARTS {
        let mut worker = Worker::new(problem, stop, account.left(), options.search_tol());
        let ended = run_local(solver, &mut worker, options);
        account.absorb(&mut worker);
        ended?;
    }
    let graph = Graph::new(problem.gram);
    let before = account.evaluations;
    let counts = counts(problem.balance);
    for (at, &count) in counts.iter().enumerate() {
        let counted = Problem { balance: (count, count), ..problem.clone() };
        // Where there is but one count the local methods have annealed already.
        if counts.len() > 1 && at % 2 == 0 {
            let found = settle(problem, &counted, options, stop, account.left(), |worker| {
                da::anneal(worker, da::centre(worker), da::SLOW)
            });
            account.count(found.spent, found.best, 0.0);
            found.ended?;
        }
        for leak in LEAKS {
            let found = settle(problem, &counted, options, stop, account.left(), |worker| {
                ao::alternate(worker, spread(&counted, &graph, leak))
            });
            account.count(found.spent, found.best, 0.0);
            found.ended?;
        }
    }
    // Where the balance leaves a choice, the starts with other counts come on top of the effort, and
    // as many candidates again: there is more to search.
    let free = counts.len() > 1;
    let on_counts = if free { account.evaluations - before } else { 0 };
    let round = FEWEST.max((options.degree * problem.unlabelled.len() as f64).round() as u64);
    let rows = problem.unlabelled.len() as f64;
    let scale = (options.degree / USUAL_DEGREE).max(1.0) * if free { 2.0 } else { 1.0 };
    let effort = (EFFORT.0 + EFFORT.1 * rows).max(EFFORT.2);
    let most = (scale * effort) as u64 + on_counts;
    let enough = account.evaluations + (scale * ENOUGH) as u64;
    let mut number = 0;
    loop {
        let before = account.best_objective();
        let end = number + round;
        while number < end {
            let batch = BATCH.min(end - number);
            // No more is promised than there is: the shares of a batch add up to what is left.
            let left = most.saturating_sub(account.evaluations);
            let share = left.min(account.left()) / batch;
            if share == 0 {
                return if left < batch { Ok(()) } else { Err(Status::MaxEvals) };
            }
            let Some(incumbent) = account.best.clone() else { return Err(Status::Stalled) };
            let polished = map_chunks(&split_evenly(batch as usize, batch as usize), |k, _| {
                let number = number + k as u64;
                polish(problem, &graph, &incumbent, options, stop, number, share)
            });
            number += batch;
            let mut ended = Ok(());
            for found in polished {
                account.count(found.spent, found.best, BETTER);
                // One that used up its share is no reason to end before all is used up.
                if let Err(status) = found.ended
                    && status != Status::MaxEvals
                {
                    ended = Err(status);
                }
            }
            ended?;
        }
        let improved = account.best_objective() < before - BETTER * before.abs();
        if !improved && account.evaluations >= enough.min(most) {
            return Ok(());
        }
    }
}

/// The numbers of positive labels that starts are tried with: evenly over the balance.
fn counts((low, high): (usize, usize)) -> Vec<usize> {
    let steps = COUNTS.min(high - low + 1).max(2) - 1;
    let mut counts: Vec<usize> = (0..=steps).map(|k| low + (high - low) * k / steps).collect();
    counts.dedup();
    counts
}

/// What came of a candidate.
struct Polished {
    best: Option<Solution>,
    spent: u64,
    ended: Result<(), Status>,
}

/// Makes a candidate and polishes it, by alternation or by annealing around it. Where the balance
/// leaves a choice the number of positive labels is drawn first and given free at the end: left
/// free all the time it drifts to an end, past labelings that are better.
fn polish(
    problem: &Problem<'_>,
    graph: &Graph,
    incumbent: &Solution,
    options: &Options,
    stop: &Stop,
    number: u64,
    share: u64,
) -> Polished {
    let mut rng = generator(options.seed, number);
    let (low, high) = problem.balance;
    let count = rng.random_range(low..=high);
    let counted = Problem { balance: (count, count), ..problem.clone() };
    let labels = candidate(&counted, graph, &incumbent.labels, number, &mut rng);
    let by_alternation = rng.random::<f64>() < BY_ALTERNATION;
    let from = [4.0, 1.0, 0.3][rng.random_range(0..3)];
    settle(problem, &counted, options, stop, share, |worker| {
        if by_alternation {
            return ao::alternate(worker, labels);
        }
        let cooling = Cooling { from, to: 0.02, divisor: 2.0, steps: 2 };
        let p = labels.iter().map(|y| if *y { 1.0 } else { 0.0 }).collect();
        da::anneal(worker, p, cooling)
    })
}

/// Runs a local method with a fixed number of positive labels, then alternates without it.
fn settle(
    problem: &Problem<'_>,
    counted: &Problem<'_>,
    options: &Options,
    stop: &Stop,
    share: u64,
    method: impl FnOnce(&mut Worker<'_>) -> Result<f64, Status>,
) -> Polished {
    let mut worker = Worker::new(counted, stop, share, options.search_tol());
    let ended = method(&mut worker).map(|_| ());
    let (mut best, mut spent) = (worker.best.take(), worker.spent);
    if counted.balance == problem.balance || ended.is_err() {
        return Polished { best, spent, ended };
    }
    let mut released = Worker::new(problem, stop, share - spent, options.search_tol());
    let labels = best.as_ref().map(|best| best.labels.clone()).unwrap_or_default();
    let ended = ao::alternate(&mut released, labels).map(|_| ());
    spent += released.spent;
    let objective =
        |solution: &Option<Solution>| solution.as_ref().map_or(f64::INFINITY, Solution::objective);
    if objective(&released.best) < objective(&best) {
        best = released.best.take();
    }
    Polished { best, spent, ended }
}
