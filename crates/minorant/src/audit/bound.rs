//! The bound that a proof gives: one accumulator for the minorants of all examples, one check of
//! the simplexes, one closed form of the minimum.

use super::{Below, Plain, SIMPLEX};
use crate::proof::{Proof, ProofPoint, WeightedOutput};
use minorant_linalg::parallel::{self, split_evenly};
use minorant_linalg::sum::Sum;
use std::ops::Range;

/// Blocks that examples are added up in, where parts do not say otherwise.
const BLOCKS: usize = 16;

/// The minorant of the risk over a block of examples, with the sizes of what was added up.
#[derive(Debug, Clone)]
pub struct Minorant {
    /// Its normal.
    pub normal: Vec<f64>,
    offset: Sum,
    offset_size: f64,
    /// The lengths of all that was added to the normal.
    pub normal_size: f64,
    /// Terms that were added to one coordinate of the normal, at most.
    pub terms: usize,
}

impl Minorant {
    fn new(dim: usize) -> Self {
        let normal = vec![0.0; dim];
        Minorant { normal, offset: Sum::new(), offset_size: 0.0, normal_size: 0.0, terms: 0 }
    }

    /// Adds `share` times an offset that was computed from numbers of this size.
    pub fn add_offset(&mut self, share: f64, offset: f64, size: f64) {
        self.offset.add(share * offset);
        self.offset_size += share * (offset.abs() + size);
    }
}

/// The bound that a proof gives for a problem, and how far rounding may have moved it.
pub(super) fn of_proof(problem: &Plain<'_>, proof: &Proof) -> Result<(f64, f64), String> {
    let examples = problem.shares.len();
    let even_blocks = || split_evenly(examples, BLOCKS.min(examples).max(1));
    let blocks = match proof {
        Proof::Points(points) => {
            let borders = check_points(problem, points)?;
            let blocks = if borders.len() >= BLOCKS { borders.clone() } else { even_blocks() };
            of_blocks(problem, &blocks, |example| {
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
            of_blocks(problem, &even_blocks(), |example| {
                Ok(vec![(Below::Slopes(&slopes[example * width..][..width]), 1.0)])
            })?
        }
        Proof::Outputs(proof) => {
            if proof.examples.len() != examples {
                let found = proof.examples.len();
                return Err(format!(
                    "the proof has outputs of {found} examples, not of {examples}"
                ));
            }
            let of = |example: usize| outputs(&proof.examples[example], example + 1);
            of_blocks(problem, &even_blocks(), of)?
        }
    };
    Ok(least(problem, &blocks))
}

/// The minimum of the blocks' minorants together with the regularizer, in closed form.
fn least(problem: &Plain<'_>, blocks: &[Minorant]) -> (f64, f64) {
    let mut offset = Sum::new();
    let mut normal = vec![Sum::new(); problem.w.len()];
    let (mut offset_size, mut normal_size, mut terms) = (0.0, 0.0, 0);
    for block in blocks {
        offset.add(block.offset.value());
        normal.iter_mut().zip(&block.normal).for_each(|(sum, x)| sum.add(*x));
        offset_size += block.offset_size;
        normal_size += block.normal_size;
        terms = terms.max(block.terms);
    }
    let (offset, penalty) = (offset.value(), &problem.penalty);
    let lambda = penalty.lambda;
    let roundings = f64::EPSILON * (terms as f64 + 8.0);
    if penalty.is_l1 {
        // λ‖w‖₁ + a·w ≥ 0 where no |a_j| exceeds λ. The risk is nowhere negative, so its minorant
        // may be scaled down until that holds.
        let steepest = normal.iter().map(|sum| sum.value().abs()).fold(0.0, f64::max);
        let scale = if steepest > lambda { lambda / steepest } else { 1.0 };
        let of_scale = roundings * normal_size / lambda * offset.abs();
        return (scale * offset, f64::EPSILON * 8.0 * offset_size + of_scale);
    }
    let squares = normal.iter().enumerate().map(|(at, sum)| (sum.value(), penalty.theta2(at)));
    let square: Sum = squares.map(|(a, theta2)| a * a / theta2).collect();
    let square = square.value();
    let thetas = penalty.theta.iter().flatten();
    let theta = thetas.fold(1.0, |least: f64, theta| least.min(*theta));
    let normal_error = roundings * normal_size / theta;
    let rounding = f64::EPSILON * (8.0 * offset_size + 4.0 * square / lambda)
        + normal_error * (square.sqrt() + normal_error) / lambda;
    (offset - square / (2.0 * lambda), rounding)
}

/// Adds up what lies below the losses of blocks of examples, each block by itself.
fn of_blocks<'p>(
    problem: &Plain<'_>,
    blocks: &[Range<usize>],
    below: impl Fn(usize) -> Result<Vec<(Below<'p>, f64)>, String> + Sync,
) -> Result<Vec<Minorant>, String> {
    let of_block = |at: usize| {
        let mut minorant = Minorant::new(problem.w.len());
        for example in blocks[at].clone() {
            let mut below = below(example)?;
            below.iter_mut().for_each(|(_, weight)| *weight *= problem.shares[example]);
            problem.losses.add(example, &below, &mut minorant)?;
        }
        Ok(minorant)
    };
    parallel::map(blocks.len(), of_block).into_iter().collect()
}

/// The parts of a proof by points, each of which has weights on a simplex.
fn check_points(problem: &Plain<'_>, points: &[ProofPoint]) -> Result<Vec<Range<usize>>, String> {
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
