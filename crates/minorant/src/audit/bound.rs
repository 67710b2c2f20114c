//! The bound that a proof gives: one accumulator for the minorants of all examples, one check of
//! the simplexes, one closed form of the minimum.

use super::{Below, Plain, SIMPLEX};
use crate::proof::{Proof, ProofPoint, WeightedOutput};
use minorant_linalg::parallel::split_evenly;
use minorant_linalg::sum::Sum;
use minorant_linalg::tree::{Summand, level_of_parts, sum_chunks};
use std::ops::Range;

/// Most blocks that examples are added up in, a power of two.
const BLOCKS: usize = 16;
/// Weights that an example is worth: where there are many weights and few examples, minorants of blocks
/// would be longer than the data.
const WORTH: usize = 64;

/// The minorant of the risk over a block of examples. Products and sums are carried along in twice the
/// working precision: what is left of rounding are errors of the summands themselves, which whoever
/// adds them tells.
#[derive(Debug, Clone)]
pub struct Minorant {
    normal: Vec<Sum>,
    offset: Sum,
    /// The slope in a number that is free to be anything above 0 and is not penalised, such as a scale.
    free: Sum,
    /// The size of all that was added to the normal and to the offset, and in how many terms.
    sizes: [f64; 2],
    terms: f64,
    /// How far off the summands may be, those of the normal in length and those of the offset.
    errors: [f64; 2],
}

impl Summand for Minorant {
    fn add(&mut self, right: Self) {
        self.offset.add_scaled(1.0, right.offset);
        self.free.add_scaled(1.0, right.free);
        self.normal.iter_mut().zip(&right.normal).for_each(|(sum, x)| sum.add_scaled(1.0, *x));
        for (to, from) in self.sizes.iter_mut().zip(right.sizes) {
            *to += from;
        }
        for (to, from) in self.errors.iter_mut().zip(right.errors) {
            *to += from;
        }
        self.terms += right.terms;
    }
}

impl Minorant {
    fn new(dim: usize) -> Self {
        let (normal, offset, free) = (vec![Sum::new(); dim], Sum::new(), Sum::new());
        Minorant { normal, offset, free, sizes: [0.0; 2], terms: 0.0, errors: [0.0; 2] }
    }

    /// Adds `share` times an offset that may be off by `error`.
    pub fn add_offset(&mut self, share: f64, offset: f64, error: f64) {
        self.offset.add_product(share, offset);
        self.sizes[1] += (share * offset).abs();
        self.errors[1] += share * error;
        self.terms += 1.0;
    }

    /// Adds `share` times a slope in the number that is free.
    pub fn add_free(&mut self, share: f64, slope: Sum) {
        self.free.add_scaled(share, slope);
    }

    /// Adds `x` times a slope, which may be off by `error`, to a coordinate of the normal.
    #[inline(always)]
    pub fn add_slope(&mut self, at: usize, x: f64, slope: Sum, error: f64) {
        self.normal[at].add_scaled(x, slope);
        self.sizes[0] += (x * slope.value()).abs();
        self.errors[0] += x.abs() * error;
        self.terms += 2.0;
    }
}

/// What a proof gives for a problem.
pub(super) struct Found {
    /// The bound.
    pub(super) bound: f64,
    /// How far rounding may have moved it.
    pub(super) rounding: f64,
    /// Why that is more than rounding alone would be.
    pub(super) doubt: Option<&'static str>,
}

/// The bound that a proof gives for a problem.
pub(super) fn of_proof(problem: &Plain<'_>, proof: &Proof) -> Result<Found, String> {
    let examples = problem.shares.len();
    let (mut excess, mut doubt) = (0.0, None);
    if problem.free > 0 && !matches!(proof, Proof::Slopes(_)) {
        return Err("the bound of a model with a free intercept is proven by slopes".into());
    }
    let minorant = match proof {
        Proof::Points(points) => {
            let borders = check_points(problem, points, &mut excess)?;
            add_up(problem, |example| {
                let part = borders.partition_point(|block| block.end <= example);
                Ok(tangents(points, part, example).collect())
            })?
        }
        Proof::Slopes(slopes) => {
            if examples == 0 || !slopes.len().is_multiple_of(examples) {
                let found = slopes.len();
                return Err(format!("the proof has {found} slopes for {examples} examples"));
            }
            let width = slopes.len() / examples;
            let all = add_up(problem, |example| {
                Ok(vec![(Below::Slopes(&slopes[example * width..][..width]), 1.0)])
            })?;
            if problem.free > 0 { balanced(problem, slopes, all, &mut doubt) } else { all }
        }
        Proof::Outputs(proof) => {
            if proof.examples.len() != examples {
                let found = proof.examples.len();
                return Err(format!(
                    "the proof has outputs of {found} examples, not of {examples}"
                ));
            }
            excess = SIMPLEX;
            let of = |example: usize| outputs(&proof.examples[example], example + 1);
            add_up(problem, of)?
        }
    };
    if minorant.free.value() < 0.0 {
        return Err("the minorants of the proof fall without end as the scale grows".into());
    }
    let (bound, rounding) = least(problem, minorant, excess);
    Ok(Found { bound, rounding, doubt })
}

/// A sum of slopes that is this share of their sizes is rounding.
const UNSOLVED: f64 = 1e-14;

/// Slopes that lose more than this share of themselves when they are made to add up to 0 are told of.
const UNBALANCED: f64 = 1e-7;

/// The minorant of slopes that add up to 0 where nothing is penalised. What rounding leaves of their sum
/// Δ would go if each example's slopes c were scaled down to a share of them, which is a minorant of a
/// convex loss that is nowhere negative as well: 1 − c·μ with Σ s c cᵀ μ = Δ, and all by so much that none
/// of these exceeds 1. What that costs at most becomes part of the errors; at the worst nothing is left of
/// the slopes, and they all do.
fn balanced(
    problem: &Plain<'_>,
    slopes: &[f64],
    mut all: Minorant,
    doubt: &mut Option<&'static str>,
) -> Minorant {
    let k = problem.free;
    let sums: Vec<f64> = all.normal.drain(problem.w.len()..).map(|sum| sum.value()).collect();
    let mut matrix = vec![0.0; k * k];
    let (mut longest, mut sizes): (f64, Vec<f64>) = (0.0, vec![0.0; k]);
    for (share, c) in problem.shares.iter().zip(slopes.chunks_exact(k)) {
        for (p, row) in matrix.chunks_exact_mut(k).enumerate() {
            row.iter_mut().zip(c).for_each(|(sum, x)| *sum += share * c[p] * x);
        }
        sizes.iter_mut().zip(c).for_each(|(size, c)| *size += share * c.abs());
        longest = longest.max(c.iter().map(|c| c.abs()).sum());
    }
    let mu = eliminate(matrix.clone(), sums.clone());
    let is_solved =
        sums.iter().zip(matrix.chunks_exact(k)).zip(&sizes).all(|((sum, row), size)| {
            let left = sum - row.iter().zip(&mu).map(|(a, mu)| a * mu).sum::<f64>();
            left.abs() <= UNSOLVED * size
        });
    let share = 4.0 * longest * mu.iter().fold(0.0, |top: f64, mu| top.max(mu.abs()));
    let share = if is_solved && share <= 1.0 { share } else { 1.0 };
    all.errors[0] += share * all.sizes[0];
    all.errors[1] += share * all.sizes[1];
    if share > UNBALANCED {
        let why = "the slopes of the proof do not add up to 0, as a free intercept needs";
        *doubt = Some(why);
    }
    all
}

/// The solution of a symmetric system by elimination; unknowns whose pivot is rounding are 0.
fn eliminate(mut matrix: Vec<f64>, mut right: Vec<f64>) -> Vec<f64> {
    let k = right.len();
    let diagonal: Vec<f64> = (0..k).map(|p| matrix[p * k + p]).collect();
    let is_kept = |matrix: &[f64], p: usize| matrix[p * k + p] > 1e-11 * diagonal[p];
    for p in 0..k {
        if !is_kept(&matrix, p) {
            continue;
        }
        for q in p + 1..k {
            let factor = matrix[q * k + p] / matrix[p * k + p];
            for at in p..k {
                matrix[q * k + at] -= factor * matrix[p * k + at];
            }
            right[q] -= factor * right[p];
        }
    }
    let mut solution = vec![0.0; k];
    for p in (0..k).rev().filter(|&p| is_kept(&matrix, p)) {
        let known: f64 = (p + 1..k).map(|q| matrix[p * k + q] * solution[q]).sum();
        solution[p] = (right[p] - known) / matrix[p * k + p];
    }
    solution
}

/// The minimum of the minorant together with the regularizer, in closed form.
fn least(problem: &Plain<'_>, all: Minorant, excess: f64) -> (f64, f64) {
    let (offset, penalty) = (all.offset.value(), &problem.penalty);
    // Twice the working precision, and the last rounding to the working one.
    let carried = f64::EPSILON * f64::EPSILON * (all.terms + 8.0);
    let normal_error = all.errors[0] + carried * all.sizes[0];
    // Shares are rounded a few times each, and weights may exceed their simplex: with a minorant of a
    // risk that is nowhere negative, so much of the offset is not proven.
    let offset_error = all.errors[1]
        + carried * all.sizes[1]
        + (excess + 16.0 * f64::EPSILON) * (offset.abs() + all.errors[1]);
    let normal: Vec<f64> = all.normal.iter().map(|sum| sum.value()).collect();
    // Without a quadratic the minimum is finite only where no slope exceeds λ₁ that no bound stops. The
    // risk is nowhere negative, so its minorant may be scaled down until that holds.
    let error = normal_error + 1e-15 * normal.iter().fold(0.0, |top: f64, a| top.max(a.abs()));
    let scale = |error: f64| {
        let scale = |(at, a): (usize, &f64)| {
            let (lowest, highest) = penalty.range(at);
            let is_stopped = if *a > 0.0 { lowest.is_finite() } else { highest.is_finite() };
            let size = a.abs() + error;
            if is_stopped || size <= penalty.absolute { 1.0 } else { penalty.absolute / size }
        };
        normal.iter().enumerate().map(scale).fold(1.0, f64::min)
    };
    let (high, low) = if penalty.quadratic > 0.0 { (1.0, 1.0) } else { (scale(0.0), scale(error)) };
    let (mut least, mut size, mut square, mut reach) = (Sum::new(), 0.0, 0.0, 0.0);
    for (at, a) in normal.iter().enumerate() {
        let (term, w) = penalty.least(at, low * a);
        least.add(term);
        size += (w * a).abs() + term.abs();
        let theta = penalty.theta2(at).sqrt();
        square += (theta * w) * (theta * w);
        let (lowest, highest) = penalty.range(at);
        let ends = [lowest, highest].into_iter().filter(|end| end.is_finite());
        let farthest = ends.fold(0.0, |most: f64, end| most.max(end.abs()));
        reach += farthest * farthest;
    }
    let thetas = penalty.theta.iter().flatten();
    let theta = thetas.fold(1.0, |least: f64, theta| least.min(*theta));
    let of_normal = if penalty.quadratic > 0.0 {
        let error = normal_error / theta;
        error * (square.sqrt() + error / penalty.quadratic)
    } else {
        normal_error * reach.sqrt() + (high - low) * offset.abs()
    };
    let rounding = offset_error + of_normal + 8.0 * f64::EPSILON * size;
    (high * offset + least.value(), rounding)
}

/// Adds up what lies below the losses of all examples, in the order of a tree over blocks of them.
fn add_up<'p>(
    problem: &Plain<'_>,
    below: impl Fn(usize) -> Result<Vec<(Below<'p>, f64)>, String> + Sync,
) -> Result<Minorant, String> {
    let examples = problem.shares.len();
    let worth = (examples * WORTH / problem.w.len().max(1)).clamp(1, BLOCKS);
    let count = 1 << worth.ilog2();
    let blocks = split_evenly(examples, count);
    let of_block = |at: usize| {
        let mut minorant = Minorant::new(problem.w.len() + problem.free);
        for example in blocks[at].clone() {
            let mut below = below(example)?;
            below.iter_mut().for_each(|(_, weight)| *weight *= problem.shares[example]);
            problem.losses.add(example, &below, &mut minorant)?;
        }
        Ok::<Minorant, String>(minorant)
    };
    let tree = sum_chunks(0..count, level_of_parts(count, 1), of_block)?;
    let mut sums = tree.whole(count).map_err(|error| error.to_string())?;
    Ok(sums.swap_remove(0))
}

/// The parts of a proof by points, each of which has weights on a simplex, up to an excess.
fn check_points(
    problem: &Plain<'_>,
    points: &[ProofPoint],
    excess: &mut f64,
) -> Result<Vec<Range<usize>>, String> {
    let parts = points.first().map_or(0, |point| point.part_weights.len());
    let examples = problem.shares.len();
    if parts == 0 || parts > examples {
        return Err(format!("the proof has {parts} parts for {examples} examples"));
    }
    if points.iter().any(|point| point.w.len() != problem.w.len()) {
        return Err("the points of the proof do not have as many weights as the model".into());
    }
    for part in 0..parts {
        let weights = points.iter().map(|point| point.part_weights[part]);
        let sum = sum_of(weights, || format!("a plane of part {part}"))?;
        if (sum - 1.0).abs() > SIMPLEX {
            return Err(format!("the weights of part {part} add up to {sum}, not to 1"));
        }
        *excess = excess.max(sum - 1.0);
    }
    Ok(split_evenly(examples, parts))
}

/// The sum of weights, each of which must lie between 0 and 1.
fn sum_of(weights: impl Iterator<Item = f64>, what: impl Fn() -> String) -> Result<f64, String> {
    let mut sum = Sum::new();
    for weight in weights {
        if !(0.0..=1.0).contains(&weight) {
            let what = what();
            return Err(format!(
                "the proof gives {what} the weight {weight}, which is not from 0 to 1"
            ));
        }
        sum.add(weight);
    }
    Ok(sum.value())
}

/// The tangents of an example at the points whose planes of its part count.
fn tangents(
    points: &[ProofPoint],
    part: usize,
    example: usize,
) -> impl Iterator<Item = (Below<'_>, f64)> {
    points.iter().filter(move |point| point.part_weights[part] > 0.0).map(move |point| {
        // Ties come in the order of the examples.
        let tie = point.ties.binary_search_by_key(&example, |tie| tie.example as usize);
        let piece = tie.map(|at| Below::Piece(point.ties[at].piece));
        (piece.unwrap_or(Below::Tangent(&point.w)), point.part_weights[part])
    })
}

/// The outputs of an example that have weight; what is left to 1 is the truth's, which says 0.
fn outputs(given: &[WeightedOutput], number: usize) -> Result<Vec<(Below<'_>, f64)>, String> {
    let weights = given.iter().map(|output| output.weight);
    let total = sum_of(weights, || format!("an output of example {number}"))?;
    if total > 1.0 + SIMPLEX {
        return Err(format!(
            "the proof's weights of example {number} add up to {total}, which is more than 1"
        ));
    }
    Ok(given.iter().map(|output| (Below::Output(&output.code), output.weight)).collect())
}
