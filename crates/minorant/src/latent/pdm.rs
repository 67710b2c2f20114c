//! `pdm` for latent machines: the paper's outer loop as in [`crate::s3vm`]. F(p) = Σ_k F_k(p_·k) is
//! convex in soft choices p, and its minimiser p = 1/K is a stationary trap by symmetry, so the search
//! starts elsewhere: from the local methods, from rows gathered around random seeds, from random
//! choices, and from the incumbent with a neighbourhood or a whole component moved to another. Each
//! candidate is polished by alternation.

use super::work::{LatentProblem, Solution, Worker};
use super::{cccp, run_local};
use crate::s3vm::{Account, BETTER, Options, Rounds, Solver, Stop, generator, nearest};
use crate::solver::Status;
use minorant_linalg::elementary;
use minorant_linalg::parallel::{map_chunks, split_evenly};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// Candidates of a round, at least and at most.
const ROUND: (u64, u64) = (24, 60);
/// Rounds without improvement that end the search.
const PATIENCE: u64 = 2;
/// The local methods that it starts from.
const STARTS: [Solver; 4] = [Solver::Cccp, Solver::Ao, Solver::Lcs, Solver::Gd];

pub(super) fn run(
    problem: &LatentProblem<'_>,
    options: &Options,
    stop: &Stop,
    account: &mut Account<'_, Solution>,
    mut rounds: Rounds,
) -> Result<(), Status> {
    for &solver in STARTS.iter().skip(rounds.starts) {
        account.keep(|archive| rounds.save(archive));
        let mut worker = Worker::new(problem, stop, account.left(), options.search_tol());
        let ended = run_local(solver, &mut worker, options);
        account.count(worker.spent, worker.best.take(), 0.0);
        ended?;
        rounds.starts += 1;
    }
    let round = (options.degree * problem.rows.len() as f64).round() as u64;
    let round = round.clamp(ROUND.0, ROUND.1);
    while rounds.idle < PATIENCE {
        rounds.begin(round, account.best_objective());
        while let Some(batch) = rounds.batch() {
            account.keep(|archive| rounds.save(archive));
            let share = account.left() / batch;
            if share < problem.components as u64 {
                return Err(Status::MaxEvals);
            }
            let Some(incumbent) = account.best.clone() else { return Err(Status::Stalled) };
            let number = rounds.number;
            let polished = map_chunks(&split_evenly(batch as usize, batch as usize), |k, _| {
                let mut rng = generator(options.seed, 1 + number + k as u64);
                let chosen = candidate(problem, &incumbent, number + k as u64, &mut rng);
                let mut worker = Worker::new(problem, stop, share, options.search_tol());
                let ended = cccp::alternate(&mut worker, chosen).map(|_| ());
                (worker.spent, worker.best, ended)
            });
            rounds.number += batch;
            account.count_batch(polished, BETTER)?;
        }
        rounds.finish(account.best_objective());
    }
    Ok(())
}

fn candidate(
    problem: &LatentProblem<'_>,
    incumbent: &Solution,
    number: u64,
    rng: &mut Pcg64Mcg,
) -> Vec<u32> {
    let any = |rng: &mut Pcg64Mcg| rng.random_range(0..problem.components as u32);
    match number % 5 {
        0 => gathered(problem, rng),
        1 => problem.rows.iter().map(|_| any(rng)).collect(),
        2 => {
            let (from, to) = (any(rng), any(rng));
            incumbent.chosen.iter().map(|&k| if k == from { to } else { k }).collect()
        }
        _ => moved(problem, &incumbent.chosen, rng),
    }
}

/// Positive rows gathered around random ones, in the kernel's metric.
pub(super) fn gathered(problem: &LatentProblem<'_>, rng: &mut Pcg64Mcg) -> Vec<u32> {
    if problem.rows.is_empty() {
        return Vec::new();
    }
    let pick = |rng: &mut Pcg64Mcg| problem.rows[rng.random_range(0..problem.rows.len())];
    let seeds: Vec<usize> = (0..problem.components).map(|_| pick(rng)).collect();
    let rows: Vec<_> = seeds.iter().map(|&seed| problem.gram.row(seed)).collect();
    let diagonal = problem.gram.diagonal();
    let nearest = |&i: &usize| {
        let distance = |k: usize| diagonal[seeds[k]] - 2.0 * rows[k][i];
        let closer = |best, k| if distance(k) < distance(best) { k } else { best };
        (1..seeds.len()).fold(0, closer) as u32
    };
    problem.rows.iter().map(nearest).collect()
}

/// The incumbent's choice with a neighbourhood moved to another component.
fn moved(problem: &LatentProblem<'_>, chosen: &[u32], rng: &mut Pcg64Mcg) -> Vec<u32> {
    let mut position = vec![usize::MAX; problem.positive.len()];
    problem.rows.iter().enumerate().for_each(|(j, &i)| position[i] = j);
    let most = (chosen.len() as f64 / 3.0).max(1.0);
    let size = elementary::power(most, rng.random::<f64>()).round() as usize;
    let centre = problem.rows[rng.random_range(0..problem.rows.len())];
    let to = rng.random_range(0..problem.components as u32);
    let mut chosen = chosen.to_vec();
    chosen[position[centre]] = to;
    let near = nearest(problem.gram, centre, problem.positive.len());
    let near = near.into_iter().map(|i| position[i as usize]).filter(|&j| j != usize::MAX);
    near.take(size.saturating_sub(1)).for_each(|j| chosen[j] = to);
    chosen
}
