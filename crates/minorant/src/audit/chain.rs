//! The losses of chains in their plainest form: scores, Viterbi and forward–backward once more.
//! Scores are added up attribute by attribute and paths compared first to last, as the model's
//! definition says: where outputs tie, that order decides which of them a plane is made of.

use super::{Below, EXACT, Minorant, PlainLoss, entropy_of_rest};
use crate::structured::chain::{ChainShape, Pairs};
use minorant_data::Sequences;
use minorant_linalg::elementary;
use minorant_linalg::sum::Sum;
use std::ops::Range;

/// The losses of labelled sequences, whose labels and columns are those of the shape.
#[derive(Debug, Clone)]
pub struct PlainChain<'a> {
    /// How weights are laid out.
    pub shape: &'a ChainShape,
    /// The sequences.
    pub data: &'a Sequences,
    /// What label z costs where y is true, at y · K + z; 1 for every wrong one if not given.
    pub label_loss: Option<Vec<f64>>,
    /// −log p of the true labels instead of margin rescaling.
    pub is_likelihood: bool,
}

/// Where exponentials are nothing: what they are taken of is rounded, relative to their size, by up to this
/// many times ε.
const SMALLEST_EXPONENT: f64 = 745.0;

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

    fn count(self) -> usize {
        self.end(self.k)
    }
}

impl PlainLoss for PlainChain<'_> {
    fn value(&self, example: usize, w: &[f64]) -> f64 {
        let (places, truth) = (self.places(example), self.truth(example));
        if truth.is_empty() {
            return 0.0;
        }
        let scores = self.scores(example, w);
        if self.is_likelihood {
            Beliefs::new(places, &scores, truth).surprise
        } else {
            let mut own = Sum::new();
            places.of(truth).iter().flatten().for_each(|&place| own.join(scores[place]));
            self.highest(truth, places, &scores).above(own)
        }
    }

    fn rounding(&self) -> Option<f64> {
        // Maxima and differences of sums in twice the working precision; besides, what logarithms of
        // sums and small exponentials lose.
        let lengths = self.data.starts.windows(2).map(|span| span[1] - span[0]);
        let longest = lengths.max().unwrap_or(0);
        let of_beliefs = rounding_of_beliefs(longest, self.k()) + f64::EPSILON * SMALLEST_EXPONENT;
        Some(EXACT + if self.is_likelihood { of_beliefs } else { 0.0 })
    }

    fn add(
        &self,
        example: usize,
        below: &[(Below<'_>, f64)],
        minorant: &mut Minorant,
    ) -> Result<(), String> {
        let (places, truth) = (self.places(example), self.truth(example));
        let mut slopes = vec![Sum::new(); places.count()];
        let mut errors = vec![0.0; places.count()];
        for &(below, share) in below.iter().filter(|_| !truth.is_empty()) {
            add_labels(places, truth, -share, &mut slopes);
            let labels = match below {
                Below::Tangent(w) if self.is_likelihood => {
                    let beliefs = Beliefs::new(places, &self.scores(example, w), truth);
                    for (place, p) in beliefs.probabilities {
                        slopes[place].add_product(share, p);
                        errors[place] += share * p * beliefs.rounding;
                    }
                    let entropy = beliefs.entropy;
                    minorant.add_offset(share, entropy, entropy * beliefs.rounding);
                    continue;
                }
                Below::Tangent(w) => self.worst(truth, places, &self.plain_scores(example, w)),
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
            let cost = self.cost_of(&labels, truth);
            minorant.add_offset(share, cost, f64::EPSILON * truth.len() as f64 * cost);
        }
        // Slopes in the scores become slopes in the weights.
        self.for_each_entry(example, |place, weight, x| {
            minorant.add_slope(weight, x, slopes[place], errors[place]);
        });
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
        match &self.label_loss {
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

    fn scores(&self, example: usize, w: &[f64]) -> Vec<Sum> {
        let mut scores = vec![Sum::new(); self.places(example).count()];
        self.for_each_entry(example, |place, weight, x| scores[place].add_product(x, w[weight]));
        scores
    }

    /// Scores as the model's definition says, attribute by attribute: labels are compared by them.
    fn plain_scores(&self, example: usize, w: &[f64]) -> Vec<f64> {
        let mut scores = vec![0.0; self.places(example).count()];
        self.for_each_entry(example, |place, weight, x| scores[place] += x * w[weight]);
        scores
    }

    /// The highest cost + score of any labels, in twice the working precision.
    fn highest(&self, truth: &[u16], places: Places, scores: &[Sum]) -> Sum {
        let k = self.k();
        let gain = |t: usize, z: usize| {
            let mut gain = scores[places.node(t, z)];
            gain.add(self.cost(truth[t], z));
            gain
        };
        let joined = |mut sum: Sum, more: Sum| {
            sum.join(more);
            sum
        };
        let highest = |sums: &mut dyn Iterator<Item = Sum>| {
            sums.reduce(|top, sum| if sum.above(top) > 0.0 { sum } else { top }).unwrap_or_default()
        };
        let mut best: Vec<Sum> =
            (0..k).map(|z| joined(scores[places.begin(z)], gain(0, z))).collect();
        for t in 1..truth.len() {
            let to = |z: usize| {
                let path = |y: usize| joined(best[y], scores[places.pair(y, z)]);
                joined(highest(&mut (0..k).map(path)), gain(t, z))
            };
            best = (0..k).map(to).collect();
        }
        highest(&mut (0..k).map(|z| joined(best[z], scores[places.end(z)])))
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
fn add_labels(places: Places, labels: &[u16], share: f64, slopes: &mut [Sum]) {
    places.of(labels).iter().flatten().for_each(|&place| slopes[place].add(share));
}

/// The first of `count` numbers that no other one exceeds.
fn first_best(count: usize, of: impl Fn(usize) -> f64) -> usize {
    (1..count).fold(0, |top, at| if of(at) > of(top) { at } else { top })
}

/// What scores say of a sequence: how surprising the truth is, and a distribution of labellings in
/// which each label depends on the one before. Whatever that distribution is, the expected score less
/// the truth's plus the entropy lies below −log p of the truth, for all weights: the minorant rests
/// on its probabilities alone, which are products and sums of numbers that are not negative and lose
/// only relative digits, however large the scores are.
struct Beliefs {
    /// −log p of the truth.
    surprise: f64,
    /// How probable the score of each place is among those that labels add up; places come several
    /// times.
    probabilities: Vec<(usize, f64)>,
    /// The entropy of the distribution.
    entropy: f64,
    /// How far probabilities and entropy are rounded, relative to their size.
    rounding: f64,
}

impl Beliefs {
    fn new(places: Places, scores: &[Sum], truth: &[u16]) -> Self {
        let Places { k, tokens } = places;
        // Scores of steps less those of the truth's step: only differences count, and the truth's
        // own labelling adds up to 0.
        let own = |t: usize, before: usize, z: usize| {
            let mut sum = scores[places.node(t, z)];
            sum.join(scores[if t == 0 { places.begin(z) } else { places.pair(before, z) }]);
            if t == tokens - 1 {
                sum.join(scores[places.end(z)]);
            }
            sum
        };
        let true_step = |t: usize| {
            let step = own(t, truth[t.saturating_sub(1)] as usize, truth[t] as usize);
            let mut negative = Sum::new();
            negative.add_scaled(-1.0, step);
            negative
        };
        let of_truth: Vec<Sum> = (0..tokens).map(true_step).collect();
        // A step and what follows it, `later`.
        let on = |t: usize, before: usize, z: usize, later: &[Vec<Sum>]| {
            let mut sum = own(t, before, z);
            sum.join(of_truth[t]);
            sum.join(later[t + 1][z]);
            sum
        };
        // From the last token back: log Σ exp over what follows a label.
        let mut later = vec![vec![Sum::new(); k]; tokens + 1];
        for t in (1..tokens).rev() {
            let of = |before: usize| {
                let terms: Vec<Sum> = (0..k).map(|z| on(t, before, z, &later)).collect();
                log_sum(&terms)
            };
            let now: Vec<Sum> = (0..k).map(of).collect();
            later[t] = now;
        }
        let first: Vec<Sum> = (0..k).map(|z| on(0, 0, z, &later)).collect();
        let mut found = Beliefs {
            surprise: log_sum(&first).value(),
            probabilities: Vec::new(),
            entropy: 0.0,
            rounding: rounding_of_beliefs(tokens, k),
        };
        let (mut now, entropy) = shares(&first);
        found.entropy = entropy;
        for t in 0..tokens {
            for (z, &p) in now.iter().enumerate() {
                found.probabilities.push((places.node(t, z), p));
                found.probabilities.extend((t == 0).then(|| (places.begin(z), p)));
                found.probabilities.extend((t == tokens - 1).then(|| (places.end(z), p)));
            }
            if t + 1 == tokens {
                break;
            }
            let mut next = vec![0.0; k];
            for (y, &p) in now.iter().enumerate() {
                let logs: Vec<Sum> = (0..k).map(|z| on(t + 1, y, z, &later)).collect();
                let (given, entropy) = shares(&logs);
                found.entropy += p * entropy;
                for (z, q) in given.into_iter().enumerate() {
                    found.probabilities.push((places.pair(y, z), p * q));
                    next[z] += p * q;
                }
            }
            now = next;
        }
        found
    }
}

/// Shares in proportion to the exponentials of some numbers, and their entropy.
fn shares(logs: &[Sum]) -> (Vec<f64>, f64) {
    let top = logs[highest(logs)];
    let mut exponentials: Vec<f64> = logs.iter().map(|log| log.above(top)).collect();
    elementary::exp_all(&mut exponentials);
    let total: f64 = exponentials.iter().sum();
    let shares: Vec<f64> = exponentials.into_iter().map(|e| e / total).collect();
    // The largest share by what the others leave of 1, so that next to nothing stays that.
    let largest = first_best(shares.len(), |at| shares[at]);
    let others = shares.iter().enumerate().filter(|(at, _)| *at != largest).map(|(_, q)| *q);
    let rest: f64 = others.sum();
    let mut logarithms = shares.clone();
    elementary::ln_all(&mut logarithms);
    let terms = shares.iter().zip(logarithms).map(|(q, ln)| if *q > 0.0 { -q * ln } else { 0.0 });
    let terms = terms.enumerate().filter(|(at, _)| *at != largest);
    let entropy: f64 = terms.map(|(_, term)| term).sum();
    (shares, entropy + entropy_of_rest(rest))
}

/// The first of some sums that no other one exceeds.
fn highest(sums: &[Sum]) -> usize {
    (1..sums.len()).fold(0, |top, at| if sums[at].above(sums[top]) > 0.0 { at } else { top })
}

fn log_sum(terms: &[Sum]) -> Sum {
    let at = highest(terms);
    let others = terms.iter().enumerate().filter(|(other, _)| *other != at);
    let mut behind: Vec<f64> = others.map(|(_, term)| term.above(terms[at])).collect();
    elementary::exp_all(&mut behind);
    let mut sum = terms[at];
    sum.add(elementary::ln_1p(behind.iter().sum()));
    sum
}

/// How far probabilities, entropy and surprise are rounded, relative to their size: of each token a sum
/// over the labels, and besides an exponential, a logarithm (off by ε each), a quotient and products.
fn rounding_of_beliefs(tokens: usize, k: usize) -> f64 {
    (tokens * (k + 8) + 8) as f64 * f64::EPSILON
}
