//! The bound that a proof gives: one accumulator for the minorants of all examples, one check of
//! the simplexes, one closed form of the minimum.

use super::{Plain, SIMPLEX, Touch};
use crate::proof::{OutputProof, Proof, ProofPoint, Tie};
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
    let blocks = match proof {
        Proof::Points(points) => of_points(problem, points)?,
        Proof::Slopes(slopes) => of_slopes(problem, slopes)?,
        Proof::Outputs(outputs) => of_outputs(problem, outputs)?,
    };
    Ok(least(problem, &blocks))
}

/// The minimum of the blocks' minorants together with the regularizer, in closed form.
fn least(problem: &Plain<'_>, blocks: &[Minorant]) -> (f64, f64) {
    let mut offset = Sum::new();
    let mut normal = vec![Sum::new(); problem.losses.dim()];
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

/// Adds up blocks of examples, each by itself.
fn of_blocks(
    problem: &Plain<'_>,
    blocks: &[Range<usize>],
    add: impl Fn(Range<usize>, &mut Minorant) -> Result<(), String> + Sync,
) -> Result<Vec<Minorant>, String> {
    let of_block = |at: usize| {
        let mut minorant = Minorant::new(problem.losses.dim());
        add(blocks[at].clone(), &mut minorant)?;
        Ok(minorant)
    };
    parallel::map(blocks.len(), of_block).into_iter().collect()
}

fn even_blocks(examples: usize) -> Vec<Range<usize>> {
    split_evenly(examples, BLOCKS.min(examples).max(1))
}

fn check_simplex(weights: impl Iterator<Item = f64>, part: usize) -> Result<(), String> {
    let mut sum = Sum::new();
    for alpha in weights {
        if !(0.0..=1.0).contains(&alpha) {
            return Err(format!(
                "the proof gives a plane of part {part} the weight {alpha}, which is not from 0 to 1"
            ));
        }
        sum.add(alpha);
    }
    if (sum.value() - 1.0).abs() > SIMPLEX {
        return Err(format!("the weights of part {part} add up to {}, not to 1", sum.value()));
    }
    Ok(())
}

/// Every example's minorant is the α-combination of its tangents at the points.
fn of_points(problem: &Plain<'_>, points: &[ProofPoint]) -> Result<Vec<Minorant>, String> {
    let parts = points.first().map_or(0, |point| point.part_weights.len());
    let examples = problem.losses.examples();
    if parts == 0 || parts > examples {
        return Err(format!("the proof has {parts} parts for {examples} examples"));
    }
    if points.iter().any(|point| point.w.len() != problem.losses.dim()) {
        return Err("the points of the proof do not have as many weights as the model".into());
    }
    for part in 0..parts {
        check_simplex(points.iter().map(|point| point.part_weights[part]), part)?;
    }
    let borders = split_evenly(examples, parts);
    let part_of = |example: usize| borders.partition_point(|block| block.end <= example);
    let blocks = if parts >= BLOCKS { borders.clone() } else { even_blocks(examples) };
    of_blocks(problem, &blocks, |block, minorant| {
        // Ties come in the order of the examples; each point has its own place in its list.
        let first = |ties: &[Tie]| ties.partition_point(|tie| (tie.example as usize) < block.start);
        let mut next: Vec<usize> = points.iter().map(|point| first(&point.ties)).collect();
        for example in block {
            let part = part_of(example);
            let mut tangents = Vec::with_capacity(points.len());
            for (point, next) in points.iter().zip(&mut next) {
                let tie = point.ties.get(*next).filter(|tie| tie.example as usize == example);
                *next += usize::from(tie.is_some());
                let share = point.part_weights[part] * problem.shares[example];
                if point.part_weights[part] > 0.0 {
                    tangents.push(Touch { w: &point.w, tie: tie.map(|tie| tie.piece), share });
                }
            }
            problem.losses.add_tangents(example, &tangents, minorant)?;
        }
        Ok(())
    })
}

fn of_slopes(problem: &Plain<'_>, slopes: &[f64]) -> Result<Vec<Minorant>, String> {
    let examples = problem.losses.examples();
    if examples == 0 || !slopes.len().is_multiple_of(examples) {
        return Err(format!("the proof has {} slopes for {examples} examples", slopes.len()));
    }
    let width = slopes.len() / examples;
    of_blocks(problem, &even_blocks(examples), |block, minorant| {
        for example in block {
            let own = &slopes[example * width..(example + 1) * width];
            problem.losses.add_slopes(example, own, problem.shares[example], minorant)?;
        }
        Ok(())
    })
}

fn of_outputs(problem: &Plain<'_>, proof: &OutputProof) -> Result<Vec<Minorant>, String> {
    let examples = problem.losses.examples();
    if proof.examples.len() != examples {
        let found = proof.examples.len();
        return Err(format!("the proof has outputs of {found} examples, not of {examples}"));
    }
    of_blocks(problem, &even_blocks(examples), |block, minorant| {
        for example in block {
            let (mut total, mut outputs) = (Sum::new(), Vec::new());
            for output in &proof.examples[example] {
                if !(0.0..=1.0).contains(&output.weight) {
                    return Err(format!(
                        "the proof gives an output of example {} the weight {}, which is not from 0 to 1",
                        example + 1,
                        output.weight
                    ));
                }
                total.add(output.weight);
                outputs.push((&output.code[..], output.weight * problem.shares[example]));
            }
            problem.losses.add_outputs(example, &outputs, minorant)?;
            if total.value() > 1.0 + SIMPLEX {
                return Err(format!(
                    "the proof's weights of example {} add up to {}, which is more than 1",
                    example + 1,
                    total.value()
                ));
            }
        }
        Ok(())
    })
}
