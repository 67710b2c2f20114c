//! The losses of chains in their plainest form: scores, Viterbi and forward–backward once more.
//! Scores are added up attribute by attribute and paths compared first to last, as the model's
//! definition says: where outputs tie, that order decides which of them a plane is made of.

use super::{Below, Minorant, PlainLoss, Value};
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

/// Places of the scores of a sequence, one behind the other: those of labels of each token, then those
/// of label pairs, of the first label and of the last. Slopes in the scores have the same places.
#[derive(Clone, Copy)]
struct Places {
    tokens: usize,
    k: usize,
}

impl Places {
    fn node(self, token: usize, z: usize) -> usize {
        token * self.k + z
    }

    fn pair(self, y: usize, z: usize) -> usize {
        (self.tokens + y) * self.k + z
    }

    fn begin(self, z: usize) -> usize {
        (self.tokens + self.k) * self.k + z
    }

    fn end(self, z: usize) -> usize {
        self.begin(self.k + z)
    }

    /// The places whose scores some labels add up: of tokens, of pairs, of the ends.
    fn of(self, labels: &[u16]) -> [Vec<usize>; 3] {
        let node = |(token, &z): (usize, &u16)| self.node(token, z as usize);
        let pair = |pair: &[u16]| self.pair(pair[0] as usize, pair[1] as usize);
        let ends = labels.first().zip(labels.last());
        [
            labels.iter().enumerate().map(node).collect(),
            labels.windows(2).map(pair).collect(),
            ends.map_or(vec![], |(&a, &z)| vec![self.begin(a as usize), self.end(z as usize)]),
        ]
    }

    fn zeros(self) -> Vec<f64> {
        vec![0.0; self.end(self.k)]
    }
}

impl PlainLoss for PlainChain<'_> {
    fn value(&self, example: usize, w: &[f64]) -> Value {
        let (places, truth) = (self.places(example), self.truth(example));
        if truth.is_empty() {
            return Value::default();
        }
        let scores = self.scores(example, w);
        let right = score(places, &scores, truth);
        let (top, cost) = if self.is_likelihood {
            (expectations(places, &scores).0, 0.0)
        } else {
            let worst = self.worst(truth, places, &scores);
            (score(places, &scores, &worst), self.cost_of(&worst, truth))
        };
        Value { loss: cost + (top - right), size: top.abs() + right.abs() }
    }

    fn add(
        &self,
        example: usize,
        below: &[(Below<'_>, f64)],
        minorant: &mut Minorant,
    ) -> Result<(), String> {
        let (places, truth) = (self.places(example), self.truth(example));
        let mut slopes = places.zeros();
        for &(below, share) in below.iter().filter(|_| !truth.is_empty()) {
            add_labels(places, truth, -share, &mut slopes);
            let labels = match below {
                Below::Tangent(w) if self.is_likelihood => {
                    let scores = self.scores(example, w);
                    let (total, probabilities) = expectations(places, &scores);
                    let (mut expected, mut size) = (Sum::new(), total.abs());
                    for (place, p) in probabilities {
                        slopes[place] += share * p;
                        expected.add(p * scores[place]);
                        size += (p * scores[place]).abs();
                    }
                    // Sums of logarithms lose a few roundings a token.
                    let size = size * (truth.len() * (2 * self.k() + 8)) as f64;
                    minorant.add_offset(share, total - expected.value(), size);
                    continue;
                }
                Below::Tangent(w) => self.worst(truth, places, &self.scores(example, w)),
                Below::Output(_) if self.is_likelihood => {
                    return Err("a conditional random field has no proof by outputs".into());
                }
                Below::Output(code) => {
                    let known = code.len() == truth.len()
                        && code.iter().all(|&z| (z as usize) < self.k().min(1 << 16));
                    if !known {
                        let what = "the proof names an output that is no labelling of its sequence";
                        return Err(what.into());
                    }
                    code.iter().map(|&z| z as u16).collect()
                }
                Below::Piece(_) | Below::Slopes(_) => return Err(below.refusal()),
            };
            add_labels(places, &labels, share, &mut slopes);
            minorant.add_offset(share, self.cost_of(&labels, truth), 0.0);
        }
        // Slopes in the scores become slopes in the weights.
        self.for_each_entry(example, |place, weight, x| {
            minorant.normal[weight] += x * slopes[place];
            minorant.normal_size += (x * slopes[place]).abs();
        });
        let moves = |slopes: &&[f64]| slopes.iter().any(|slope| *slope != 0.0);
        minorant.terms += slopes.chunks(self.k()).take(truth.len()).filter(moves).count() + 1;
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

    fn places(&self, example: usize) -> Places {
        Places { tokens: self.rows(example).len(), k: self.k() }
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

    /// Where weights lie: behind those of the attributes the constant attribute's, then the
    /// transitions', then those of the ends.
    fn sections(&self) -> [usize; 3] {
        let (k, shape) = (self.k(), self.shape);
        let (bias, count) = match &shape.pairs {
            Pairs::All => (shape.attributes * k, k * k),
            Pairs::Observed { labels, transitions, .. } => (labels.len(), transitions.len()),
        };
        let transitions = bias + if shape.bias.is_some() { k } else { 0 };
        [bias, transitions, transitions + count]
    }

    /// Calls `each` with the place of a score, a weight, and what the weight counts in the score.
    fn for_each_entry(&self, example: usize, mut each: impl FnMut(usize, usize, f64)) {
        let (k, places) = (self.k(), self.places(example));
        let [bias, transitions, ends] = self.sections();
        for (token, row) in self.rows(example).enumerate() {
            for (attribute, x) in self.data.tokens.row(row).filter(|(_, x)| *x != 0.0) {
                match &self.shape.pairs {
                    Pairs::All => {
                        (0..k).for_each(|z| each(places.node(token, z), attribute * k + z, x));
                    }
                    Pairs::Observed { starts, labels, .. } => {
                        for at in starts[attribute]..starts[attribute + 1] {
                            each(places.node(token, labels[at] as usize), at, x);
                        }
                    }
                }
            }
            if let Some(x) = self.shape.bias {
                (0..k).for_each(|z| each(places.node(token, z), bias + z, x));
            }
        }
        for at in transitions..ends {
            let pair = match &self.shape.pairs {
                Pairs::All => at - transitions,
                Pairs::Observed { transitions: pairs, .. } => pairs[at - transitions] as usize,
            };
            each(places.pair(0, pair), at, 1.0);
        }
        for z in 0..if self.shape.boundary { 2 * k } else { 0 } {
            each(places.begin(z), ends + z, 1.0);
        }
    }

    fn scores(&self, example: usize, w: &[f64]) -> Vec<f64> {
        let mut scores = self.places(example).zeros();
        self.for_each_entry(example, |place, weight, x| scores[place] += x * w[weight]);
        scores
    }

    /// Margin rescaling: the labels that maximise cost + score.
    fn worst(&self, truth: &[u16], places: Places, scores: &[f64]) -> Vec<u16> {
        let k = self.k();
        let gain = |t: usize, z: usize| scores[places.node(t, z)] + self.cost(truth[t], z);
        let mut best: Vec<f64> = (0..k).map(|z| scores[places.begin(z)] + gain(0, z)).collect();
        let mut from = vec![vec![0; k]];
        for t in 1..truth.len() {
            let path = |y: usize, z: usize| best[y] + scores[places.pair(y, z)];
            let origins: Vec<usize> = (0..k).map(|z| first_best(k, |y| path(y, z))).collect();
            best = (0..k).map(|z| path(origins[z], z) + gain(t, z)).collect();
            from.push(origins);
        }
        let mut label = first_best(k, |z| best[z] + scores[places.end(z)]);
        let mut labels = vec![0; truth.len()];
        for t in (0..truth.len()).rev() {
            labels[t] = label as u16;
            label = from[t][label];
        }
        labels
    }
}

/// Adds `share` times the slopes of the score of some labels.
fn add_labels(places: Places, labels: &[u16], share: f64, slopes: &mut [f64]) {
    places.of(labels).iter().flatten().for_each(|&place| slopes[place] += share);
}

fn score(places: Places, scores: &[f64], labels: &[u16]) -> f64 {
    let sum = |of: Vec<usize>| of.into_iter().map(|place| scores[place]).sum::<f64>();
    places.of(labels).map(sum).iter().sum()
}

/// The first of `count` numbers that no other one exceeds.
fn first_best(count: usize, of: impl Fn(usize) -> f64) -> usize {
    (1..count).fold(0, |top, at| if of(at) > of(top) { at } else { top })
}

/// Likelihood: log Σ exp score, in logarithms throughout, and how probable the score of each place is
/// among those that labels add up; places come several times.
fn expectations(places: Places, scores: &[f64]) -> (f64, Vec<(usize, f64)>) {
    let Places { k, tokens } = places;
    let node = |t: usize, z: usize| scores[places.node(t, z)];
    let pair = |y: usize, z: usize| scores[places.pair(y, z)];
    let end = |z: usize| scores[places.end(z)];
    let mut forward: Vec<Vec<f64>> =
        vec![(0..k).map(|z| scores[places.begin(z)] + node(0, z)).collect()];
    for t in 1..tokens {
        let path = |z: usize| log_sum((0..k).map(|y| forward[t - 1][y] + pair(y, z)));
        forward.push((0..k).map(|z| path(z) + node(t, z)).collect());
    }
    let mut backward = vec![(0..k).map(end).collect::<Vec<f64>>(); tokens];
    for t in (0..tokens - 1).rev() {
        let next = |y: usize, z: usize| pair(y, z) + node(t + 1, z) + backward[t + 1][z];
        backward[t] = (0..k).map(|y| log_sum((0..k).map(|z| next(y, z)))).collect();
    }
    let total = log_sum((0..k).map(|z| forward[tokens - 1][z] + end(z)));
    let mut found = Vec::new();
    for (t, z) in (0..tokens).flat_map(|t| (0..k).map(move |z| (t, z))) {
        let p = (forward[t][z] + backward[t][z] - total).exp();
        found.push((places.node(t, z), p));
        found.extend((t == 0).then(|| (places.begin(z), p)));
        found.extend((t == tokens - 1).then(|| (places.end(z), p)));
        for y in (0..k).filter(|_| t > 0) {
            let path = forward[t - 1][y] + pair(y, z) + node(t, z) + backward[t][z];
            found.push((places.pair(y, z), (path - total).exp()));
        }
    }
    (total, found)
}

fn log_sum(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    top + terms.map(|term| (term - top).exp()).sum::<f64>().ln()
}
