//! `pdm`, mode `strict`: Algorithm 1 of Zhou, Kang and Spanos (equations and theorems below are theirs) as
//! printed, down to its soft labels. F(p), the least
//! J with soft labels p, is convex; a point r is its global maximiser iff no point q of its level set
//! has Δ = max over p of (p − q)ᵀg > 0 with g ∈ ∂F(q) (Theorem 3), and m points of the level set stand
//! for all of it: q = p* + γh on rays from the minimiser p* of F along orthogonal directions (9), with
//! γ the root of (10). Solutions are read off critical regions that were explored before (Theorem 1).
//!
//! The paper takes q from all of ℝⁿ (Definition 4), while F is finite on the box of soft labels only,
//! and most rays leave the box below the level. Here F goes on outside the box as steeply as its
//! slopes are inside, F(clip q) + L‖q − clip q‖₁, so that Lemma 2 holds and every line of Algorithm 1
//! means something. What is polished without asking for Δ > 0 is the mode `search` (`pdm.rs`).

use super::balance::best_labels;
use super::candidates::generator;
use super::region::Explored;
use super::soft::{Soft, ascend, minimiser, project};
use super::work::{S3vmProblem, Solution, Worker};
use super::{Account, Options, Stop};
use crate::archive::{Archive, ArchiveError};
use crate::solver::Status;
use minorant_linalg::dense::{axpy, dot, norm2};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

/// Rounds, at most: the paper's iter_max.
const ROUNDS: u64 = 1000;
/// Steps of the search for a point of the level set.
const ROOT_STEPS: usize = 30;
/// How far above the level it may be, relative to it.
const LEVEL: f64 = 1e-4;
/// Critical regions that are kept.
const REGIONS: usize = 8;
/// Δ at most this, relative to the objective, counts as 0.
const ZERO: f64 = 1e-9;

/// Where the algorithm stands between two rounds.
#[derive(Debug)]
pub(super) struct State {
    round: u64,
    /// p⁽ᵏ⁾.
    p: Vec<f64>,
    /// p*, once it is known.
    minimiser: Option<Vec<f64>>,
}

impl State {
    /// The state that was saved, or the one to begin with: p⁽⁰⁾ at random.
    pub(super) fn resume(
        saved: Option<Archive>,
        problem: &S3vmProblem<'_>,
        options: &Options,
    ) -> Result<Self, ArchiveError> {
        let Some(mut archive) = saved else {
            let mut rng = generator(options.seed, 0);
            let drawn: Vec<f64> = problem.unlabelled.iter().map(|_| rng.random()).collect();
            let p = project(&drawn, problem.balance);
            return Ok(State { round: 0, p, minimiser: None });
        };
        let unknown = problem.unlabelled.len();
        let rounds = archive.take_up_to("round", 1, ROUNDS)?;
        let mut labels = |name: &str| {
            let labels = archive.take_finite(name, unknown)?;
            let is_soft = labels.iter().all(|p| (0.0..=1.0).contains(p));
            if is_soft { Ok(labels) } else { Err(ArchiveError(name.into())) }
        };
        let (p, minimiser) = (labels("p")?, Some(labels("minimiser")?));
        Ok(State { round: rounds[0], p, minimiser })
    }

    fn save(&self, archive: &mut Archive) {
        if let Some(minimiser) = &self.minimiser {
            archive.put_integers("round", [self.round]);
            archive.put_reals("p", self.p.clone());
            archive.put_reals("minimiser", minimiser.clone());
        }
    }
}

pub(super) fn run(
    problem: &S3vmProblem<'_>,
    options: &Options,
    stop: &Stop,
    account: &mut Account<'_, Solution>,
    mut state: State,
) -> Result<(), Status> {
    let u = problem.unlabelled.len();
    let m = ((options.degree * u as f64).round() as usize).clamp(1, u);
    while state.round < ROUNDS {
        account.keep(|archive| state.save(archive));
        let mut worker = Worker::new(problem, stop, account.left(), options.search_tol());
        worker.explored = Explored::keeping(REGIONS);
        let known = match &state.minimiser {
            Some(minimiser) => Ok(minimiser.clone()),
            None => minimiser(&mut worker),
        };
        let ended = known.and_then(|minimiser| {
            let minimiser = &*state.minimiser.insert(minimiser);
            round(&mut worker, minimiser, &mut state.p, m, options.seed ^ (state.round + 1))
        });
        account.soft = Some(state.p.clone());
        account.absorb(&mut worker);
        let (delta, next) = ended?;
        account.delta = Some(delta);
        match next {
            Some(next) => state.p = next,
            None => return Ok(()),
        }
        state.round += 1;
    }
    Err(Status::Stalled)
}

/// One round: p becomes the local maximiser r, points of its level set are made, and the best vertex of
/// them is taken. Returns Δ, and the vertex where Δ > 0.
fn round(
    worker: &mut Worker<'_>,
    minimiser: &[f64],
    p: &mut Vec<f64>,
    m: usize,
    seed: u64,
) -> Result<(f64, Option<Vec<f64>>), Status> {
    let level = ascend(worker, p)?;
    let lowest = Soft::at(worker, minimiser)?.value;
    let mut best = (f64::NEG_INFINITY, Vec::new());
    for direction in orthogonal(minimiser.len(), m, seed) {
        let (point, q) = level_point(worker, minimiser, &direction, lowest, level)?;
        // The vertices of the subdifferential: one, unless the offset of the function is an interval.
        for slopes in point.vertices() {
            let labels = best_labels(slopes, worker.problem.balance);
            let vertex: Vec<f64> = labels.iter().map(|y| f64::from(u8::from(*y))).collect();
            let delta: f64 = vertex.iter().zip(&q).zip(slopes).map(|((u, q), g)| (u - q) * g).sum();
            // What rounding leaves below the level promises nothing above it.
            let delta = delta + (point.value - level).min(0.0);
            if delta > best.0 {
                best = (delta, vertex);
            }
        }
    }
    let improves = best.0 > ZERO * level.abs();
    Ok((best.0, improves.then_some(best.1)))
}

/// m orthogonal directions, from random ones by Gram and Schmidt.
fn orthogonal(dimension: usize, m: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut rng = generator(seed, 1);
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(m);
    for _ in 0..m {
        let mut h: Vec<f64> = (0..dimension).map(|_| StandardNormal.sample(&mut rng)).collect();
        // Twice is enough for what rounding leaves.
        for _ in 0..2 {
            for known in &basis {
                let along = dot(known, &h);
                axpy(-along, known, &mut h);
            }
        }
        let length = norm2(&h).sqrt();
        h.iter_mut().for_each(|h| *h /= length);
        basis.push(h);
    }
    basis
}

/// The point q = p* + γh at the level, by Newton's steps from above: along a ray F is convex, so that
/// they stay on the far side, where F is at the level or a little above it.
fn level_point(
    worker: &mut Worker<'_>,
    minimiser: &[f64],
    direction: &[f64],
    lowest: f64,
    level: f64,
) -> Result<(Soft, Vec<f64>), Status> {
    let steepness = Soft::steepness(worker.problem);
    let length: f64 = direction.iter().map(|h| h.abs()).sum();
    // So far out F is above the level wherever it was inside the box.
    let mut gamma = ((level - lowest) / steepness + minimiser.len() as f64) / length;
    let mut steps = 0;
    loop {
        let q: Vec<f64> = minimiser.iter().zip(direction).map(|(p, h)| p + gamma * h).collect();
        let point = Soft::at(worker, &q)?;
        let above = point.value - level;
        let slope = dot(&point.slopes, direction);
        steps += 1;
        let is_there = above <= LEVEL * level.abs() || steps == ROOT_STEPS;
        if is_there || slope.is_nan() || slope <= 0.0 {
            return Ok((point, q));
        }
        gamma -= above / slope;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_orthogonal() {
        let basis = orthogonal(9, 9, 3);
        for (i, a) in basis.iter().enumerate() {
            for (j, b) in basis.iter().enumerate() {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((dot(a, b) - expected).abs() < 1e-12, "{i} {j}");
            }
        }
        assert!(orthogonal(9, 2, 4)[0] != basis[0]);
    }
}
