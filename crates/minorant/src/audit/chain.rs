//! The audit of chains: scores, Viterbi and forward–backward once more, in their plainest form.
//! Scores are added up attribute by attribute and paths compared first to last, as the model's
//! definition says: where outputs tie, that order decides which of them a plane is made of.

use super::{Audit, SIMPLEX, agrees, judge, mean_shares, proof_of};
use crate::fingerprint::Fingerprint;
use crate::model::{ChainModel, Penalty};
use crate::proof::{OutputProof, Proof, ProofPoint};
use crate::structured::chain::Pairs;
use crate::train::{ChainName, Per};
use minorant_data::Sequences;
use minorant_linalg::parallel::split_evenly;
use minorant_linalg::sum::Sum;
use rayon::prelude::*;
use std::ops::Range;

/// Blocks that sequences are added up in.
const BLOCKS: usize = 16;

/// Audits a chain on the sequences, with their weights, that it claims to be trained on.
pub fn audit_chain(model: &ChainModel, data: &Sequences, example_weights: Option<&[f64]>) -> Audit {
    let mut audit = Audit { holds: false, objective: None, lower_bound: None, why: String::new() };
    match check(model, data, example_weights, &mut audit) {
        Ok(bound) => {
            audit.holds = true;
            audit.why = format!(
                "the proof was recomputed from the data: no weights reach an objective below {bound}"
            );
        }
        Err(why) => audit.why = why,
    }
    audit
}

fn check(
    model: &ChainModel,
    data: &Sequences,
    example_weights: Option<&[f64]>,
    audit: &mut Audit,
) -> Result<f64, String> {
    let same = data.len() == model.examples
        && data.classes == model.classes
        && data.labels.len() == model.tokens
        && data.tokens.cols() == model.shape.attributes
        && data.sha256_with(example_weights) == model.data_sha256;
    if !same {
        return Err("this is not the data that the model was trained on (files, labels, example \
                    weights and the options for reading them must be the same)"
            .into());
    }
    let lengths = data.starts.windows(2).map(|span| span[1] - span[0]);
    let units: Vec<usize> = match model.per {
        Per::Sequence => vec![1; data.len()],
        Per::Token => lengths.collect(),
    };
    let weights = mean_shares(example_weights, &units)?;
    let sequences = Examples { model, data, weights: &weights };
    let found = sequences.objective();
    audit.objective = Some(found);
    agrees(model.certificate.objective, found, 1.0)?;
    let (bound, rounding) = sequences.bound(proof_of(model.proof.as_ref())?)?;
    audit.lower_bound = Some(bound);
    judge(model.certificate.lower_bound, found, bound, rounding)?;
    Ok(bound)
}

/// The model's sequences.
struct Examples<'a> {
    model: &'a ChainModel,
    data: &'a Sequences,
    /// What the loss of each sequence counts.
    weights: &'a [f64],
}

/// Scores of one sequence.
struct Table {
    nodes: Vec<Vec<f64>>,
    transitions: Vec<f64>,
    begin: Vec<f64>,
    end: Vec<f64>,
}

/// A minorant of the loss of one sequence: slopes in its scores, less those of the truth, and an
/// offset.
#[derive(Default)]
struct Tangent {
    value: f64,
    offset: f64,
    size: f64,
}

/// Slopes in the scores of a sequence.
struct Slopes {
    nodes: Vec<f64>,
    transitions: Vec<f64>,
    begin: Vec<f64>,
    end: Vec<f64>,
}

/// What a block of sequences adds up to.
struct Block {
    normal: Vec<f64>,
    offset: Sum,
    offset_size: f64,
    normal_size: f64,
    terms: usize,
}

impl Examples<'_> {
    fn k(&self) -> usize {
        self.model.classes.len()
    }

    fn rows(&self, example: usize) -> Range<usize> {
        self.data.starts[example]..self.data.starts[example + 1]
    }

    fn truth(&self, example: usize) -> &[u16] {
        &self.data.labels[self.rows(example)]
    }

    fn cost(&self, truth: u16, label: usize) -> f64 {
        match &self.model.label_loss {
            Some(costs) => costs[truth as usize * self.k() + label],
            None => f64::from(u8::from(truth as usize != label)),
        }
    }

    /// The weights of an attribute as (label, place).
    fn places(&self, attribute: usize) -> Vec<(usize, usize)> {
        let k = self.k();
        match &self.model.shape.pairs {
            Pairs::All => (0..k).map(|z| (z, attribute * k + z)).collect(),
            Pairs::Observed { starts, labels, .. } => (starts[attribute]..starts[attribute + 1])
                .map(|at| (labels[at] as usize, at))
                .collect(),
        }
    }

    /// Where the constant attribute's weights, the transitions' and the ends' begin, and the
    /// number of transitions.
    fn sections(&self) -> (usize, usize, usize, usize) {
        let (k, shape) = (self.k(), &self.model.shape);
        let (nodes, transitions) = match &shape.pairs {
            Pairs::All => (shape.attributes * k, k * k),
            Pairs::Observed { labels, transitions, .. } => (labels.len(), transitions.len()),
        };
        let at = nodes + if shape.bias.is_some() { k } else { 0 };
        (nodes, at, at + transitions, transitions)
    }

    fn table(&self, example: usize, w: &[f64]) -> Table {
        let k = self.k();
        let (bias_at, transitions_at, ends_at, count) = self.sections();
        let mut nodes = Vec::new();
        for row in self.rows(example) {
            let mut scores = vec![0.0; k];
            for (attribute, x) in self.data.tokens.row(row).filter(|(_, x)| *x != 0.0) {
                for (z, at) in self.places(attribute) {
                    scores[z] += x * w[at];
                }
            }
            if let Some(bias) = self.model.shape.bias {
                for (z, score) in scores.iter_mut().enumerate() {
                    *score += bias * w[bias_at + z];
                }
            }
            nodes.push(scores);
        }
        let mut transitions = vec![0.0; k * k];
        for at in 0..count {
            transitions[self.transition(at)] = w[transitions_at + at];
        }
        let ends = |from: usize| match self.model.shape.boundary {
            true => w[from..from + k].to_vec(),
            false => vec![0.0; k],
        };
        Table { nodes, transitions, begin: ends(ends_at), end: ends(ends_at + k) }
    }

    /// The label pair, as from · K + to, of a transition's weight.
    fn transition(&self, at: usize) -> usize {
        match &self.model.shape.pairs {
            Pairs::All => at,
            Pairs::Observed { transitions, .. } => transitions[at] as usize,
        }
    }

    fn no_slopes(&self, example: usize) -> Slopes {
        let k = self.k();
        Slopes {
            nodes: vec![0.0; self.rows(example).len() * k],
            transitions: vec![0.0; k * k],
            begin: vec![0.0; k],
            end: vec![0.0; k],
        }
    }

    /// Adds `share` times the slopes of the score of some labels.
    fn add_labels(&self, labels: &[u16], share: f64, slopes: &mut Slopes) {
        let k = self.k();
        for (token, &z) in labels.iter().enumerate() {
            slopes.nodes[token * k + z as usize] += share;
        }
        for pair in labels.windows(2) {
            slopes.transitions[pair[0] as usize * k + pair[1] as usize] += share;
        }
        if let (Some(&first), Some(&last)) = (labels.first(), labels.last()) {
            slopes.begin[first as usize] += share;
            slopes.end[last as usize] += share;
        }
    }

    fn score(&self, table: &Table, labels: &[u16]) -> f64 {
        let k = self.k();
        let nodes = labels.iter().enumerate().map(|(t, &z)| table.nodes[t][z as usize]);
        let pairs = labels.windows(2);
        let pairs = pairs.map(|p| table.transitions[p[0] as usize * k + p[1] as usize]);
        let ends = labels.first().zip(labels.last());
        let ends = ends.map_or(0.0, |(&a, &z)| table.begin[a as usize] + table.end[z as usize]);
        nodes.sum::<f64>() + pairs.sum::<f64>() + ends
    }

    /// The loss of a sequence at weights `w`; adds `share` times the slopes of its tangent.
    fn tangent(&self, example: usize, w: &[f64], share: f64, slopes: &mut Slopes) -> Tangent {
        if self.rows(example).is_empty() {
            return Tangent::default();
        }
        let table = self.table(example, w);
        self.add_labels(self.truth(example), -share, slopes);
        match self.model.model {
            ChainName::ChainSvm => self.worst(example, &table, share, slopes),
            ChainName::ChainCrf => self.sum(example, &table, share, slopes),
        }
    }

    /// Margin rescaling: the labels that maximise cost + score.
    fn worst(&self, example: usize, table: &Table, share: f64, slopes: &mut Slopes) -> Tangent {
        let (k, truth) = (self.k(), self.truth(example));
        let gain = |t: usize, z: usize| table.nodes[t][z] + self.cost(truth[t], z);
        let mut best: Vec<f64> = (0..k).map(|z| table.begin[z] + gain(0, z)).collect();
        let mut from = vec![vec![0; k]];
        for t in 1..truth.len() {
            let (mut next, mut origins) = (vec![0.0; k], vec![0; k]);
            for z in 0..k {
                let path = |y: usize| best[y] + table.transitions[y * k + z];
                let origin = (1..k).fold(0, |top, y| if path(y) > path(top) { y } else { top });
                (next[z], origins[z]) = (path(origin) + gain(t, z), origin);
            }
            best = next;
            from.push(origins);
        }
        let last = |z: usize| best[z] + table.end[z];
        let mut label = (1..k).fold(0, |top, z| if last(z) > last(top) { z } else { top });
        let mut labels = vec![0u16; truth.len()];
        for t in (0..truth.len()).rev() {
            labels[t] = label as u16;
            label = from[t][label];
        }
        let loss: f64 = labels.iter().zip(truth).map(|(&z, &y)| self.cost(y, z as usize)).sum();
        self.add_labels(&labels, share, slopes);
        let rise = self.score(table, &labels) - self.score(table, truth);
        Tangent { value: loss + rise, offset: loss, size: loss }
    }

    /// Likelihood: log Σ exp score, in logarithms throughout.
    fn sum(&self, example: usize, table: &Table, share: f64, slopes: &mut Slopes) -> Tangent {
        let (k, truth) = (self.k(), self.truth(example));
        let length = truth.len();
        let mut forward = vec![vec![0.0; k]; length];
        for z in 0..k {
            forward[0][z] = table.begin[z] + table.nodes[0][z];
        }
        for t in 1..length {
            for z in 0..k {
                let paths = (0..k).map(|y| forward[t - 1][y] + table.transitions[y * k + z]);
                forward[t][z] = log_sum(paths) + table.nodes[t][z];
            }
        }
        let mut backward = vec![table.end.clone(); length];
        for t in (0..length - 1).rev() {
            for y in 0..k {
                let paths = (0..k).map(|z| {
                    table.transitions[y * k + z] + table.nodes[t + 1][z] + backward[t + 1][z]
                });
                backward[t][y] = log_sum(paths);
            }
        }
        let total = log_sum((0..k).map(|z| forward[length - 1][z] + table.end[z]));
        let (mut expected, mut size) = (Sum::new(), total.abs());
        let mut note = |p: f64, score: f64| {
            expected.add(p * score);
            size += (p * score).abs();
        };
        for t in 0..length {
            for z in 0..k {
                let p = (forward[t][z] + backward[t][z] - total).exp();
                slopes.nodes[t * k + z] += share * p;
                note(p, table.nodes[t][z]);
                if t == 0 {
                    slopes.begin[z] += share * p;
                    note(p, table.begin[z]);
                }
                if t == length - 1 {
                    slopes.end[z] += share * p;
                    note(p, table.end[z]);
                }
                for y in (0..k).filter(|_| t > 0) {
                    let step = table.transitions[y * k + z];
                    let path = forward[t - 1][y] + step + table.nodes[t][z] + backward[t][z];
                    let p = (path - total).exp();
                    slopes.transitions[y * k + z] += share * p;
                    note(p, step);
                }
            }
        }
        let value = total - self.score(table, truth);
        // Sums of logarithms lose a few roundings a token.
        let size = size * (length * (2 * k + 8)) as f64;
        Tangent { value, offset: total - expected.value(), size }
    }

    fn penalty(&self, w: &[f64]) -> f64 {
        match self.model.penalty {
            Penalty::L2 => {
                0.5 * self.model.lambda * w.iter().map(|w| w * w).collect::<Sum>().value()
            }
            Penalty::L1 => self.model.lambda * w.iter().map(|w| w.abs()).collect::<Sum>().value(),
        }
    }

    fn objective(&self) -> f64 {
        let w = &self.model.weights;
        let value = |example: usize| {
            let mut slopes = self.no_slopes(example);
            self.weights[example] * self.tangent(example, w, 0.0, &mut slopes).value
        };
        let values: Vec<f64> = (0..self.data.len()).into_par_iter().map(value).collect();
        let mut sum: Sum = values.into_iter().collect();
        sum.add(self.penalty(w));
        sum.value()
    }

    /// The bound that a proof gives, and how far rounding may have moved it.
    fn bound(&self, proof: &Proof) -> Result<(f64, f64), String> {
        let blocks = match proof {
            Proof::Outputs(proof) => self.blocks_of_outputs(proof)?,
            Proof::Points(points) => self.blocks_of_points(points)?,
            Proof::Slopes(_) => return Err("a chain has no proof by slopes".into()),
        };
        let mut normal = vec![Sum::new(); self.model.weights.len()];
        let (mut offset, mut terms) = (Sum::new(), 0);
        let (mut offset_size, mut normal_size) = (0.0, 0.0);
        for block in &blocks {
            normal.iter_mut().zip(&block.normal).for_each(|(sum, x)| sum.add(*x));
            offset.add(block.offset.value());
            offset_size += block.offset_size;
            normal_size += block.normal_size;
            terms = terms.max(block.terms);
        }
        let (offset, lambda) = (offset.value(), self.model.lambda);
        let normal_error = f64::EPSILON * (terms as f64 + 8.0) * normal_size;
        if self.model.penalty == Penalty::L1 {
            // λ‖w‖₁ + a·w ≥ 0 where no |a_j| exceeds λ; the risk is nowhere negative, so its
            // minorant may be scaled down until that holds.
            let steepest = normal.iter().map(|sum| sum.value().abs()).fold(0.0, f64::max);
            let scale = if steepest > lambda { lambda / steepest } else { 1.0 };
            let rounding = f64::EPSILON * 8.0 * offset_size + normal_error / lambda * offset.abs();
            return Ok((scale * offset, rounding));
        }
        let square = normal.iter().map(|sum| sum.value() * sum.value()).collect::<Sum>().value();
        let rounding = f64::EPSILON * (8.0 * offset_size + 4.0 * square / lambda)
            + normal_error * (square.sqrt() + normal_error) / lambda;
        Ok((offset - square / (2.0 * lambda), rounding))
    }

    fn blocks_of_outputs(&self, proof: &OutputProof) -> Result<Vec<Block>, String> {
        if proof.examples.len() != self.data.len() || self.model.model != ChainName::ChainSvm {
            return Err("the proof's outputs are not those of these sequences".into());
        }
        let of_example = |example: usize, block: &mut Block| {
            let truth = self.truth(example);
            let mut slopes = self.no_slopes(example);
            let mut total = Sum::new();
            for output in &proof.examples[example] {
                let labels: Option<Vec<u16>> = output
                    .code
                    .iter()
                    .map(|&z| u16::try_from(z).ok().filter(|&z| (z as usize) < self.k()))
                    .collect();
                let labels = labels.filter(|labels| labels.len() == truth.len());
                let labels = labels.ok_or("an output of the proof is no labelling")?;
                if !(0.0..=1.0).contains(&output.weight) {
                    return Err(format!("a weight of the proof is {}", output.weight));
                }
                total.add(output.weight);
                self.add_labels(&labels, output.weight, &mut slopes);
                self.add_labels(truth, -output.weight, &mut slopes);
                let costs = labels.iter().zip(truth).map(|(&z, &y)| self.cost(y, z as usize));
                block.add_offset(self.weights[example] * output.weight, costs.sum(), 0.0);
            }
            if total.value() > 1.0 + SIMPLEX {
                return Err(format!("weights of the proof add up to {}", total.value()));
            }
            self.add_slopes(example, &slopes, block);
            Ok(())
        };
        self.blocks(of_example, split_evenly(self.data.len(), BLOCKS.min(self.data.len()).max(1)))
    }

    fn blocks_of_points(&self, points: &[ProofPoint]) -> Result<Vec<Block>, String> {
        let parts = points.first().map_or(0, |point| point.part_weights.len());
        let examples = self.data.len();
        if parts == 0 || parts > examples {
            return Err(format!("the proof has {parts} parts for {examples} sequences"));
        }
        for part in 0..parts {
            let weights = points.iter().map(|point| point.part_weights[part]);
            if weights.clone().any(|alpha| !(0.0..=1.0).contains(&alpha)) {
                return Err(format!("a weight of part {part} is outside 0 to 1"));
            }
            let sum = weights.collect::<Sum>().value();
            if (sum - 1.0).abs() > SIMPLEX {
                return Err(format!("the weights of part {part} add up to {sum}, not to 1"));
            }
        }
        let borders = split_evenly(examples, parts);
        let part_of = |example: usize| borders.partition_point(|block| block.end <= example);
        let of_example = |example: usize, block: &mut Block| {
            let part = part_of(example);
            let mut slopes = self.no_slopes(example);
            for point in points {
                let alpha = point.part_weights[part];
                if alpha > 0.0 {
                    let tangent = self.tangent(example, &point.w, alpha, &mut slopes);
                    block.add_offset(self.weights[example] * alpha, tangent.offset, tangent.size);
                }
            }
            self.add_slopes(example, &slopes, block);
            Ok(())
        };
        self.blocks(of_example, split_evenly(examples, BLOCKS.min(examples)))
    }

    fn blocks(
        &self,
        of_example: impl Fn(usize, &mut Block) -> Result<(), String> + Sync,
        borders: Vec<Range<usize>>,
    ) -> Result<Vec<Block>, String> {
        let of_block = |examples: Range<usize>| {
            let mut block = Block {
                normal: vec![0.0; self.model.weights.len()],
                offset: Sum::new(),
                offset_size: 0.0,
                normal_size: 0.0,
                terms: 0,
            };
            for example in examples {
                of_example(example, &mut block)?;
            }
            Ok(block)
        };
        borders.into_par_iter().map(of_block).collect()
    }

    /// Slopes in the scores become slopes in the weights.
    fn add_slopes(&self, example: usize, slopes: &Slopes, block: &mut Block) {
        let (k, weight) = (self.k(), self.weights[example]);
        let (bias_at, transitions_at, ends_at, count) = self.sections();
        for (row, slopes) in self.rows(example).zip(slopes.nodes.chunks_exact(k)) {
            let size: f64 = slopes.iter().map(|s| s.abs()).sum();
            if size == 0.0 {
                continue;
            }
            for (attribute, x) in self.data.tokens.row(row).filter(|(_, x)| *x != 0.0) {
                for (z, at) in self.places(attribute) {
                    block.normal[at] += weight * x * slopes[z];
                }
                block.normal_size += weight * size * x.abs();
            }
            if let Some(bias) = self.model.shape.bias {
                for (z, slope) in slopes.iter().enumerate() {
                    block.normal[bias_at + z] += weight * bias * slope;
                }
                block.normal_size += weight * size * bias.abs();
            }
            block.terms += 1;
        }
        for at in 0..count {
            let slope = slopes.transitions[self.transition(at)];
            block.normal[transitions_at + at] += weight * slope;
            block.normal_size += weight * slope.abs();
        }
        if self.model.shape.boundary {
            for (z, slope) in slopes.begin.iter().chain(&slopes.end).enumerate() {
                block.normal[ends_at + z] += weight * slope;
                block.normal_size += weight * slope.abs();
            }
        }
        block.terms += 1;
    }
}

impl Block {
    fn add_offset(&mut self, share: f64, offset: f64, size: f64) {
        self.offset.add(share * offset);
        self.offset_size += share * (offset.abs() + size);
    }
}

fn log_sum(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    top + terms.map(|term| (term - top).exp()).sum::<f64>().ln()
}
