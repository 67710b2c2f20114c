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
/// Rounds without improvement after which the search ends.
const PATIENCE: u32 = 1;
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
    for leak in LEAKS {
        let mut worker = Worker::new(problem, stop, account.left(), options.search_tol());
        let ended = ao::alternate(&mut worker, spread(problem, &graph, leak));
        account.absorb(&mut worker);
        ended?;
    }
    let round = FEWEST.max((options.degree * problem.unlabelled.len() as f64).round() as u64);
    let (mut number, mut idle) = (0, 0);
    while idle < PATIENCE {
        let before = account.best_objective();
        let end = number + round;
        while number < end {
            let batch = BATCH.min(end - number);
            // No more is promised than there is: the shares of a batch add up to what is left.
            let share = account.left() / batch;
            if share == 0 {
                return Err(Status::MaxEvals);
            }
            let Some(incumbent) = account.best.clone() else { return Err(Status::Stalled) };
            let polished = map_chunks(&split_evenly(batch as usize, batch as usize), |k, _| {
                let number = number + k as u64;
                polish(problem, &graph, &incumbent, options, stop, number, share)
            });
            number += batch;
            let mut ended = Ok(());
            for (mut worker, result) in polished {
                account.absorb_if_better(&mut worker, BETTER);
                // One that used up its share is no reason to end before all is used up.
                if let Err(status) = result
                    && status != Status::MaxEvals
                {
                    ended = Err(status);
                }
            }
            ended?;
        }
        let improved = account.best_objective() < before - BETTER * before.abs();
        idle = if improved { 0 } else { idle + 1 };
    }
    Ok(())
}

/// Makes a candidate and polishes it, by alternation or by annealing around it.
fn polish<'p>(
    problem: &'p Problem<'p>,
    graph: &Graph,
    incumbent: &Solution,
    options: &Options,
    stop: &'p Stop,
    number: u64,
    share: u64,
) -> (Worker<'p>, Result<(), Status>) {
    let mut rng = generator(options.seed, number);
    let labels = candidate(problem, graph, &incumbent.labels, number, &mut rng);
    let mut worker = Worker::new(problem, stop, share, options.search_tol());
    let result = if rng.random::<f64>() < 0.5 {
        ao::alternate(&mut worker, labels)
    } else {
        let from = [4.0, 1.0, 0.3][rng.random_range(0..3)];
        let cooling = Cooling { from, to: 0.02, divisor: 2.0, steps: 3 };
        let p = labels.iter().map(|y| if *y { 1.0 } else { 0.0 }).collect();
        da::anneal(&mut worker, p, cooling)
    };
    (worker, result.map(|_| ()))
}
