//! Dynamic programming over chains, on scores alone: Viterbi, the best labelling with another label at each
//! token (rivals), and the likelihood with its derivatives from the sums of `sums.rs`. A sequence of L tokens has L · K node scores; transitions,
//! beginnings and ends are shared by all sequences.
//!
//! Viterbi adds up in one fixed order, candidates first to last: whoever repeats the recursion in
//! that order, as the audit does, finds the same labels, ties included.

use super::sums::{padded, sums};
use crate::structured::LogLoss;
use minorant_linalg::dense::{LANES, dispatch};
use minorant_linalg::elementary;

/// Shared scores as the recursions want them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shared<'s> {
    pub(super) k: usize,
    pub(super) transitions: &'s [f64],
    pub(super) begin: &'s [f64],
    pub(super) end: &'s [f64],
    /// exp(transition − largest) in padded rows, and transposed.
    pub(super) factors: &'s [f64],
    pub(super) transposed: &'s [f64],
    pub(super) largest: f64,
    pub(super) range: f64,
}

/// Transitions, beginnings, ends, exponentials twice, largest transition, range of transitions.
pub(super) fn prepare(k: usize, boundary: bool, shared: &[f64]) -> Vec<f64> {
    let (transitions, ends) = shared.split_at(k * k);
    let largest = transitions.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = transitions.iter().copied().fold(f64::INFINITY, f64::min);
    let width = padded(k);
    let mut prepared = Vec::with_capacity(k * k + 2 * k + 2 * k * width + 2);
    prepared.extend_from_slice(transitions);
    if boundary {
        prepared.extend_from_slice(ends);
    } else {
        prepared.resize(k * k + 2 * k, 0.0);
    }
    let mut factors: Vec<f64> = transitions.iter().map(|t| t - largest).collect();
    elementary::exp_all(&mut factors);
    for from in 0..k {
        prepared.extend_from_slice(&factors[from * k..(from + 1) * k]);
        prepared.resize(prepared.len() + width - k, 0.0);
    }
    for to in 0..k {
        prepared.extend((0..k).map(|from| factors[from * k + to]));
        prepared.resize(prepared.len() + width - k, 0.0);
    }
    prepared.extend([largest, largest - least]);
    prepared
}

impl<'s> Shared<'s> {
    pub(super) fn new(k: usize, prepared: &'s [f64]) -> Self {
        let (transitions, rest) = prepared.split_at(k * k);
        let (begin, rest) = rest.split_at(k);
        let (end, rest) = rest.split_at(k);
        let (factors, rest) = rest.split_at(k * padded(k));
        let (transposed, rest) = rest.split_at(k * padded(k));
        Shared { k, transitions, begin, end, factors, transposed, largest: rest[0], range: rest[1] }
    }

    /// The score of some labels.
    pub(super) fn score(&self, nodes: &[f64], labels: &[u16]) -> f64 {
        let mut sum = 0.0;
        for (token, &label) in labels.iter().enumerate() {
            sum += nodes[token * self.k + label as usize];
        }
        for pair in labels.windows(2) {
            sum += self.transitions[pair[0] as usize * self.k + pair[1] as usize];
        }
        if let (Some(&first), Some(&last)) = (labels.first(), labels.last()) {
            sum += self.begin[first as usize] + self.end[last as usize];
        }
        sum
    }
}

/// The labels with the highest score, `cost` added to the nodes'. Among equals the first wins, at
/// the end and at every step back.
pub(super) fn viterbi(
    shared: &Shared<'_>,
    nodes: &[f64],
    cost: Option<&dyn Fn(usize, usize) -> f64>,
) -> Vec<u16> {
    let k = shared.k;
    let length = nodes.len() / k;
    if length == 0 {
        return Vec::new();
    }
    let mut back = vec![0u16; nodes.len()];
    let (mut best, mut next) = (vec![0.0; k], vec![0.0; k]);
    let mut arg = vec![0u64; k];
    let mut gain: Vec<f64> = vec![0.0; k];
    for token in 0..length {
        let node = &nodes[token * k..(token + 1) * k];
        for (z, gain) in gain.iter_mut().enumerate() {
            *gain = node[z] + cost.map_or(0.0, |cost| cost(token, z));
        }
        if token == 0 {
            for z in 0..k {
                best[z] = shared.begin[z] + gain[z];
            }
        } else {
            longest_steps(shared.transitions, &best, &mut next, &mut arg);
            for z in 0..k {
                best[z] = next[z] + gain[z];
                back[token * k + z] = arg[z] as u16;
            }
        }
    }
    let last = |z: usize| best[z] + shared.end[z];
    let mut label = (1..k).fold(0, |top, z| if last(z) > last(top) { z } else { top });
    let mut labels = vec![0; length];
    for token in (0..length).rev() {
        labels[token] = label as u16;
        label = back[token * k + label] as usize;
    }
    labels
}

/// The labels with the highest score, and for each token the best labels with another label there:
/// the longest paths through each node, from the left and from the right.
pub(super) fn rivals(shared: &Shared<'_>, nodes: &[f64]) -> (Vec<u16>, Vec<Vec<u16>>) {
    let k = shared.k;
    let best = viterbi(shared, nodes, None);
    if k < 2 {
        return (best, Vec::new());
    }
    let length = best.len();
    // The best score up to a node, that behind it, and the labels next to it on these ways.
    let (mut before, mut behind) = (nodes.to_vec(), vec![0.0; nodes.len()]);
    let (mut from, mut to) = (vec![0u16; nodes.len()], vec![0u16; nodes.len()]);
    let first = |scores: &mut dyn Iterator<Item = f64>| {
        let better =
            |best: (usize, f64), next: (usize, f64)| if next.1 > best.1 { next } else { best };
        scores.enumerate().fold((0, f64::NEG_INFINITY), better)
    };
    for token in 0..length {
        for z in 0..k {
            let step = |y: usize| before[(token - 1) * k + y] + shared.transitions[y * k + z];
            let (label, score) = match token {
                0 => (0, shared.begin[z]),
                _ => first(&mut (0..k).map(step)),
            };
            before[token * k + z] += score;
            from[token * k + z] = label as u16;
        }
    }
    for token in (0..length).rev() {
        for z in 0..k {
            let step = |y: usize| {
                let next = (token + 1) * k + y;
                shared.transitions[z * k + y] + (nodes[next] + behind[next])
            };
            let (label, score) = match token + 1 == length {
                true => (0, shared.end[z]),
                false => first(&mut (0..k).map(step)),
            };
            behind[token * k + z] = score;
            to[token * k + z] = label as u16;
        }
    }
    let rival = |token: usize| {
        let others = (0..k).filter(|z| *z != best[token] as usize);
        let through = |z: usize| before[token * k + z] + behind[token * k + z];
        let label = others.reduce(|top, z| if through(z) > through(top) { z } else { top });
        let mut labels = vec![label.unwrap_or(0) as u16; length];
        for at in (0..token).rev() {
            labels[at] = from[(at + 1) * k + labels[at + 1] as usize];
        }
        for at in token + 1..length {
            labels[at] = to[(at - 1) * k + labels[at - 1] as usize];
        }
        labels
    };
    let all = (0..length).map(rival).collect();
    (best, all)
}

/// For each label the best one to come from, and the score with the transition.
fn longest_steps(transitions: &[f64], best: &[f64], next: &mut [f64], arg: &mut [u64]) {
    let k = best.len();
    dispatch(
        #[inline(always)]
        || {
            for z in 0..k {
                next[z] = best[0] + transitions[z];
                arg[z] = 0;
            }
            for from in 1..k {
                let row = &transitions[from * k..(from + 1) * k];
                let at = best[from];
                for ((next, arg), t) in next.iter_mut().zip(arg.iter_mut()).zip(row) {
                    let candidate = at + t;
                    let better = candidate > *next;
                    *next = if better { candidate } else { *next };
                    *arg = if better { from as u64 } else { *arg };
                }
            }
        },
    );
}

/// The negative log-likelihood of `truth`, log Σ exp score − score(truth); without a truth the
/// log-partition. `own` is overwritten with its derivatives in the node scores (without a truth, marginals);
/// those in the shared scores, times `weight`, are added to `shared`, which may be empty.
pub(super) fn negative_log_likelihood(
    scores: &Shared<'_>,
    nodes: &[f64],
    truth: Option<&[u16]>,
    weight: f64,
    own: &mut [f64],
    shared: &mut [f64],
) -> LogLoss {
    let k = scores.k;
    let length = nodes.len() / k;
    if length == 0 {
        return LogLoss::default();
    }
    let mut edges = vec![0.0; k * k];
    let log_partition = sums(scores, nodes, own, &mut edges);
    // The entropy: what is left of the log-partition without the expected score.
    let (mut expected, mut size) = (0.0, log_partition.abs());
    let (first, last) = (&own[..k], &own[(length - 1) * k..]);
    for (shares, scores) in
        [(&*own, nodes), (&edges, scores.transitions), (first, scores.begin), (last, scores.end)]
    {
        let (sum, sizes) = expectation(shares, scores);
        expected += sum;
        size += sizes;
    }
    if !shared.is_empty() {
        let (of_pairs, of_ends) = shared.split_at_mut(k * k);
        of_pairs.iter_mut().zip(&edges).for_each(|(to, p)| *to += weight * p);
        if let (Some(truth), false) = (truth, length < 2) {
            for pair in truth.windows(2) {
                of_pairs[pair[0] as usize * k + pair[1] as usize] -= weight;
            }
        }
        if !of_ends.is_empty() {
            let (begin, end) = of_ends.split_at_mut(k);
            begin.iter_mut().zip(first).for_each(|(to, p)| *to += weight * p);
            end.iter_mut().zip(last).for_each(|(to, p)| *to += weight * p);
            if let Some(truth) = truth {
                begin[truth[0] as usize] -= weight;
                end[truth[length - 1] as usize] -= weight;
            }
        }
    }
    let of_truth = truth.map_or(0.0, |truth| scores.score(nodes, truth));
    for (token, &label) in truth.unwrap_or_default().iter().enumerate() {
        own[token * k + label as usize] -= 1.0;
    }
    // A token takes 2k additions and products, and fewer than 8 roundings besides: its exponentials
    // and logarithms are off by `elementary::ERROR`, which is ε, each.
    let roundings = (length * (2 * k + 8)) as f64;
    let value = log_partition - of_truth;
    let shared_size = 2.0 * (length + 1) as f64;
    LogLoss { value, offset: log_partition - expected, size, roundings, shared_size }
}

/// Σ share · score, and the sum of the sizes of its terms.
fn expectation(shares: &[f64], scores: &[f64]) -> (f64, f64) {
    dispatch(
        #[inline(always)]
        || {
            let (mut sums, mut sizes) = ([0.0; LANES], [0.0; LANES]);
            let (shares, shares_left) = shares.as_chunks::<LANES>();
            let (scores, scores_left) = scores.as_chunks::<LANES>();
            for (shares, scores) in shares.iter().zip(scores) {
                for lane in 0..LANES {
                    let term = shares[lane] * scores[lane];
                    sums[lane] += term;
                    sizes[lane] += term.abs();
                }
            }
            for (lane, (share, score)) in shares_left.iter().zip(scores_left).enumerate() {
                sums[lane] += share * score;
                sizes[lane] += (share * score).abs();
            }
            (sums.iter().sum(), sizes.iter().sum())
        },
    )
}
