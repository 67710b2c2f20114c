//! Labelings to polish: where `pdm` looks for better ones. Three kinds take turns, each of which
//! finds what the others miss: labels that diffuse over the graph of neighbours from the labelled
//! rows, with noise; the incumbent with a neighbourhood relabelled; and a few labels of the
//! incumbent that diffuse again, some of them flipped.

use super::balance::best_labels;
use super::graph::{Graph, nearest};
use super::work::S3vmProblem;
use minorant_linalg::elementary;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;

/// A generator of its own for each numbered candidate, so that any thread may make it.
pub(crate) fn generator(seed: u64, number: u64) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(seed ^ (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn pick<T: Copy>(rng: &mut Pcg64Mcg, of: &[T]) -> T {
    of[rng.random_range(0..of.len())]
}

/// The kinds in their turns: labels from the labelled rows find most.
const KINDS: [u8; 6] = [0, 1, 0, 2, 0, 1];

/// Candidate `number`, from the incumbent's labels.
pub(super) fn candidate(
    problem: &S3vmProblem<'_>,
    graph: &Graph,
    incumbent: &[bool],
    number: u64,
    rng: &mut Pcg64Mcg,
) -> Vec<bool> {
    match KINDS[(number % KINDS.len() as u64) as usize] {
        0 => from_labelled(problem, graph, rng),
        1 => relabelled(problem, incumbent, rng),
        _ => from_some(problem, graph, incumbent, rng),
    }
}

/// How much of a label is lost at each step of diffusion.
pub(super) const LEAKS: [f64; 4] = [1e-1, 1e-2, 1e-3, 1e-4];

/// The known labels, diffused.
pub(super) fn spread(problem: &S3vmProblem<'_>, graph: &Graph, leak: f64) -> Vec<bool> {
    let z: Vec<f64> = problem.signs.iter().map(|s| f64::from(*s)).collect();
    rounded(problem, &graph.diffuse(&z, leak))
}

/// The known labels with noise on all rows, diffused.
fn from_labelled(problem: &S3vmProblem<'_>, graph: &Graph, rng: &mut Pcg64Mcg) -> Vec<bool> {
    let strength = pick(rng, &[0.3, 1.0, 3.0]);
    let noise = pick(rng, &[0.03, 0.1, 0.3, 1.0]);
    let leak = pick(rng, &LEAKS);
    let noisy = |sign: &i8| {
        let draw: f64 = StandardNormal.sample(rng);
        strength * f64::from(*sign) + noise * draw
    };
    let z: Vec<f64> = problem.signs.iter().map(noisy).collect();
    rounded(problem, &graph.diffuse(&z, leak))
}

fn rounded(problem: &S3vmProblem<'_>, spread: &[f64]) -> Vec<bool> {
    let scores: Vec<f64> = problem.unlabelled.iter().map(|&i| spread[i]).collect();
    best_labels(&scores, problem.balance)
}

/// Gives a kernel neighbourhood the other label, and meets the balance around a second point.
fn relabelled(problem: &S3vmProblem<'_>, incumbent: &[bool], rng: &mut Pcg64Mcg) -> Vec<bool> {
    let u = problem.unlabelled.len();
    let mut position = vec![usize::MAX; problem.signs.len()];
    problem.unlabelled.iter().enumerate().for_each(|(j, &i)| position[i] = j);
    let around = |j: usize, count: usize| -> Vec<usize> {
        let near = nearest(problem.gram, problem.unlabelled[j], count);
        let found = near.into_iter().map(|i| position[i as usize]).filter(|&j| j != usize::MAX);
        std::iter::once(j).chain(found).collect()
    };
    let most = (u as f64 / 3.0).max(1.0);
    let size = elementary::power(most, rng.random::<f64>()).round() as usize;
    let centre = rng.random_range(0..u);
    let mut labels = incumbent.to_vec();
    for j in around(centre, size.saturating_sub(1)) {
        labels[j] = !incumbent[centre];
    }
    let (low, high) = problem.balance;
    let count = labels.iter().filter(|y| **y).count();
    let mut excess = count as i64 - count.clamp(low, high) as i64;
    if excess != 0 {
        let from = excess > 0;
        let second = rng.random_range(0..u);
        for j in around(second, problem.signs.len()) {
            if excess != 0 && labels[j] == from && incumbent[j] == from {
                labels[j] = !from;
                excess -= if from { 1 } else { -1 };
            }
        }
        // Where all others are flipped back already, the neighbourhood gives way.
        for label in labels.iter_mut() {
            if excess != 0 && *label == from {
                *label = !from;
                excess -= if from { 1 } else { -1 };
            }
        }
    }
    labels
}

/// Diffuses 2 to 30 % of the incumbent's labels, 15 % of them flipped, with the known ones.
fn from_some(
    problem: &S3vmProblem<'_>,
    graph: &Graph,
    incumbent: &[bool],
    rng: &mut Pcg64Mcg,
) -> Vec<bool> {
    let share = 0.02 * elementary::power(15.0, rng.random::<f64>());
    let leak = pick(rng, &LEAKS);
    let mut z: Vec<f64> = problem.signs.iter().map(|s| f64::from(*s)).collect();
    for (&i, &label) in problem.unlabelled.iter().zip(incumbent) {
        if rng.random::<f64>() < share {
            let flip = rng.random::<f64>() < 0.15;
            z[i] = if label != flip { 1.0 } else { -1.0 };
        }
    }
    rounded(problem, &graph.diffuse(&z, leak))
}
