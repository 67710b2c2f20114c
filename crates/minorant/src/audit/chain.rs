//! The losses of chains in their plainest form: scores, Viterbi and forward–backward once more.
//! Scores are added up attribute by attribute and paths compared first to last, as the model's
//! definition says: where outputs tie, that order decides which of them a plane is made of.

use super::{Minorant, PlainLoss, Touch, Value};
use crate::structured::chain::{ChainShape, Pairs};
use minorant_data::Sequences;
use minorant_linalg::sum::Sum;
use std::ops::Range;

/// The losses of labelled sequences, whose labels and columns are those of the shape.
#[derive(Debug, Clone, Copy)]
pub struct PlainChain<'a> {
    /// How weights are laid out.
    pub shape: &'a ChainShape,
    /// The sequences.
    pub data: &'a Sequences,
    /// What label z costs where y is true, at y · K + z; 1 for every wrong one if not given.
    pub label_loss: Option<&'a [f64]>,
    /// −log p of the true labels instead of margin rescaling.
    pub is_likelihood: bool,
}

/// Scores of one sequence.
struct Table {
    nodes: Vec<Vec<f64>>,
    transitions: Vec<f64>,
    begin: Vec<f64>,
    end: Vec<f64>,
}

/// The loss of one sequence, and the offset of its tangent with the size of what that is made of.
#[derive(Default)]
struct Tangent {
    value: Value,
    offset: f64,
    size: f64,
}

/// Slopes in the scores of a sequence, less those of the truth.
struct Slopes {
    nodes: Vec<f64>,
    transitions: Vec<f64>,
    begin: Vec<f64>,
    end: Vec<f64>,
}

/// Where weights lie: behind those of the attributes the constant attribute's, then the
/// transitions', then those of the ends.
struct Sections {
    bias: usize,
    transitions: usize,
    ends: usize,
}

impl PlainLoss for PlainChain<'_> {
    fn examples(&self) -> usize {
        self.data.len()
    }

    fn dim(&self) -> usize {
        self.sections().ends + if self.shape.boundary { 2 * self.k() } else { 0 }
    }

    fn value(&self, example: usize, w: &[f64]) -> Value {
        self.tangent(example, w, 0.0, &mut self.no_slopes(example)).value
    }

    fn add_tangents(
        &self,
        example: usize,
        tangents: &[Touch<'_>],
        minorant: &mut Minorant,
    ) -> Result<(), String> {
        let mut slopes = self.no_slopes(example);
        for touch in tangents {
            let tangent = self.tangent(example, touch.w, touch.share, &mut slopes);
            minorant.add_offset(touch.share, tangent.offset, tangent.size);
        }
        self.add_slopes_of_scores(example, &slopes, minorant);
        Ok(())
    }

    fn add_outputs(
        &self,
        example: usize,
        outputs: &[(&[u32], f64)],
        minorant: &mut Minorant,
    ) -> Result<(), String> {
        if self.is_likelihood {
            return Err("a conditional random field has no proof by outputs".into());
        }
        let truth = self.truth(example);
        let mut slopes = self.no_slopes(example);
        for (code, share) in outputs {
            let label = |&z: &u32| u16::try_from(z).ok().filter(|&z| (z as usize) < self.k());
            let labels: Option<Vec<u16>> = code.iter().map(label).collect();
            let labels = labels.filter(|labels| labels.len() == truth.len());
            let labels =
                labels.ok_or("the proof names an output that is no labelling of its sequence")?;
            self.add_labels(&labels, *share, &mut slopes);
            self.add_labels(truth, -share, &mut slopes);
            minorant.add_offset(*share, self.cost_of(&labels, truth), 0.0);
        }
        self.add_slopes_of_scores(example, &slopes, minorant);
        Ok(())
    }
}

impl PlainChain<'_> {
    fn k(&self) -> usize {
        self.shape.labels
    }

    fn rows(&self, example: usize) -> Range<usize> {
        self.data.starts[example]..self.data.starts[example + 1]
    }

    fn truth(&self, example: usize) -> &[u16] {
        &self.data.labels[self.rows(example)]
    }

    fn cost(&self, truth: u16, label: usize) -> f64 {
        match self.label_loss {
            Some(costs) => costs[truth as usize * self.k() + label],
            None => f64::from(u8::from(truth as usize != label)),
        }
    }

    fn cost_of(&self, labels: &[u16], truth: &[u16]) -> f64 {
        labels.iter().zip(truth).map(|(&z, &y)| self.cost(y, z as usize)).sum()
    }

    /// Calls `each` with the labels that an attribute has weights for, and their places.
    fn for_each_place(&self, attribute: usize, mut each: impl FnMut(usize, usize)) {
        let k = self.k();
        match &self.shape.pairs {
            Pairs::All => (0..k).for_each(|z| each(z, attribute * k + z)),
            Pairs::Observed { starts, labels, .. } => (starts[attribute]..starts[attribute + 1])
                .for_each(|at| each(labels[at] as usize, at)),
        }
    }

    fn sections(&self) -> Sections {
        let (k, shape) = (self.k(), self.shape);
        let (bias, count) = match &shape.pairs {
            Pairs::All => (shape.attributes * k, k * k),
            Pairs::Observed { labels, transitions, .. } => (labels.len(), transitions.len()),
        };
        let transitions = bias + if shape.bias.is_some() { k } else { 0 };
        Sections { bias, transitions, ends: transitions + count }
    }

    /// The label pair, as from · K + to, of a transition's weight.
    fn transition(&self, at: usize) -> usize {
        match &self.shape.pairs {
            Pairs::All => at,
            Pairs::Observed { transitions, .. } => transitions[at] as usize,
        }
    }

    fn table(&self, example: usize, w: &[f64]) -> Table {
        let (k, at) = (self.k(), self.sections());
        let mut nodes = Vec::new();
        for row in self.rows(example) {
            let mut scores = vec![0.0; k];
            for (attribute, x) in self.data.tokens.row(row).filter(|(_, x)| *x != 0.0) {
                self.for_each_place(attribute, |z, at| scores[z] += x * w[at]);
            }
            if let Some(bias) = self.shape.bias {
                let weights = &w[at.bias..];
                scores.iter_mut().zip(weights).for_each(|(score, w)| *score += bias * w);
            }
            nodes.push(scores);
        }
        let mut transitions = vec![0.0; k * k];
        for (pair, w) in w[at.transitions..at.ends].iter().enumerate() {
            transitions[self.transition(pair)] = *w;
        }
        let ends = |from: usize| match self.shape.boundary {
            true => w[from..from + k].to_vec(),
            false => vec![0.0; k],
        };
        Table { nodes, transitions, begin: ends(at.ends), end: ends(at.ends + k) }
    }

    fn no_slopes(&self, example: usize) -> Slopes {
        let (k, tokens) = (self.k(), self.rows(example).len());
        let of = |count: usize| vec![0.0; count];
        Slopes { nodes: of(tokens * k), transitions: of(k * k), begin: of(k), end: of(k) }
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
        let truth = self.truth(example);
        if truth.is_empty() {
            return Tangent::default();
        }
        let table = self.table(example, w);
        self.add_labels(truth, -share, slopes);
        match self.is_likelihood {
            true => self.sum(truth, &table, share, slopes),
            false => self.worst(truth, &table, share, slopes),
        }
    }

    /// Margin rescaling: the labels that maximise cost + score.
    fn worst(&self, truth: &[u16], table: &Table, share: f64, slopes: &mut Slopes) -> Tangent {
        let k = self.k();
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
        let cost = self.cost_of(&labels, truth);
        self.add_labels(&labels, share, slopes);
        let (worst, right) = (self.score(table, &labels), self.score(table, truth));
        let value = Value { loss: cost + (worst - right), size: worst.abs() + right.abs() };
        Tangent { value, offset: cost, size: cost }
    }

    /// Likelihood: log Σ exp score, in logarithms throughout.
    fn sum(&self, truth: &[u16], table: &Table, share: f64, slopes: &mut Slopes) -> Tangent {
        let (k, length) = (self.k(), truth.len());
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
        let right = self.score(table, truth);
        let value = Value { loss: total - right, size: total.abs() + right.abs() };
        // Sums of logarithms lose a few roundings a token.
        let size = size * (length * (2 * k + 8)) as f64;
        Tangent { value, offset: total - expected.value(), size }
    }

    /// Slopes in the scores become slopes in the weights.
    fn add_slopes_of_scores(&self, example: usize, slopes: &Slopes, minorant: &mut Minorant) {
        let (k, at) = (self.k(), self.sections());
        let Minorant { normal, normal_size, terms, .. } = minorant;
        for (row, slopes) in self.rows(example).zip(slopes.nodes.chunks_exact(k)) {
            let size: f64 = slopes.iter().map(|s| s.abs()).sum();
            if size == 0.0 {
                continue;
            }
            for (attribute, x) in self.data.tokens.row(row).filter(|(_, x)| *x != 0.0) {
                self.for_each_place(attribute, |z, at| normal[at] += x * slopes[z]);
                *normal_size += size * x.abs();
            }
            if let Some(bias) = self.shape.bias {
                let normal = &mut normal[at.bias..];
                normal.iter_mut().zip(slopes).for_each(|(a, slope)| *a += bias * slope);
                *normal_size += size * bias.abs();
            }
            *terms += 1;
        }
        let mut add = |at: usize, slope: f64| {
            normal[at] += slope;
            *normal_size += slope.abs();
        };
        for pair in 0..at.ends - at.transitions {
            add(at.transitions + pair, slopes.transitions[self.transition(pair)]);
        }
        if self.shape.boundary {
            let ends = slopes.begin.iter().chain(&slopes.end).enumerate();
            ends.for_each(|(z, slope)| add(at.ends + z, *slope));
        }
        *terms += 1;
    }
}

fn log_sum(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    top + terms.map(|term| (term - top).exp()).sum::<f64>().ln()
}
