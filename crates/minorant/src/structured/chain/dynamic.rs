//! Dynamic programming over chains, on scores alone: Viterbi and forward–backward. A sequence of L
//! tokens has L · K node scores; transitions, beginnings and ends are shared by all sequences.
//!
//! Viterbi adds up in one fixed order, candidates first to last: whoever repeats the recursion in
//! that order finds the same labels, ties included.

use crate::structured::LogLoss;
use minorant_linalg::dense::dispatch;
use minorant_linalg::sum::Sum;

/// From this range of transition scores on, sums are kept as logarithms: below it, a path through
/// a label whose share underflows weighs less than e^(2·150 − 708) of the others.
const WIDE: f64 = 150.0;

/// Below this logarithm a share is nothing beside 1, and below that one it is nothing at all.
const NEGLIGIBLE: f64 = -50.0;
const VANISHING: f64 = -745.0;

/// Shared scores as the recursions want them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shared<'s> {
    k: usize,
    transitions: &'s [f64],
    begin: &'s [f64],
    end: &'s [f64],
    /// exp(transition − largest), row by row, and transposed.
    factors: &'s [f64],
    transposed: &'s [f64],
    largest: f64,
    range: f64,
}

/// Transitions, beginnings, ends, exponentials twice, largest transition, range of transitions.
pub(super) fn prepare(k: usize, boundary: bool, shared: &[f64]) -> Vec<f64> {
    let (transitions, ends) = shared.split_at(k * k);
    let largest = transitions.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = transitions.iter().copied().fold(f64::INFINITY, f64::min);
    let mut prepared = Vec::with_capacity(3 * k * k + 2 * k + 2);
    prepared.extend_from_slice(transitions);
    if boundary {
        prepared.extend_from_slice(ends);
    } else {
        prepared.resize(k * k + 2 * k, 0.0);
    }
    prepared.extend(transitions.iter().map(|t| (t - largest).exp()));
    let at = prepared.len() - k * k;
    for to in 0..k {
        for from in 0..k {
            prepared.push(prepared[at + from * k + to]);
        }
    }
    prepared.extend([largest, largest - least]);
    prepared
}

impl<'s> Shared<'s> {
    pub(super) fn new(k: usize, prepared: &'s [f64]) -> Self {
        let (transitions, rest) = prepared.split_at(k * k);
        let (begin, rest) = rest.split_at(k);
        let (end, rest) = rest.split_at(k);
        let (factors, rest) = rest.split_at(k * k);
        let (transposed, rest) = rest.split_at(k * k);
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

/// log Σ exp score − score(truth), with derivatives: in the nodes to `own`, in the shared scores,
/// times `weight`, added to `shared` (which may be empty). Without a truth: the log-partition
/// itself, and marginals.
pub(super) fn log_likelihood(
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
    let log_partition = if scores.range <= WIDE {
        sums_of_products(scores, nodes, own, &mut edges)
    } else {
        sums_of_logarithms(scores, nodes, own, &mut edges)
    };
    // The entropy: what is left of the log-partition without the expected score.
    let (mut expected, mut size) = (0.0, log_partition.abs());
    let mut note = |p: f64, s: f64| {
        expected += p * s;
        size += (p * s).abs();
    };
    own.iter().zip(nodes).for_each(|(p, s)| note(*p, *s));
    edges.iter().zip(scores.transitions).for_each(|(p, t)| note(*p, *t));
    let (first, last) = (&own[..k], &own[(length - 1) * k..]);
    first.iter().zip(scores.begin).for_each(|(p, t)| note(*p, *t));
    last.iter().zip(scores.end).for_each(|(p, t)| note(*p, *t));
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
    let roundings = (length * (2 * k + 8)) as f64;
    let value = log_partition - of_truth;
    let shared_size = 2.0 * (length + 1) as f64;
    LogLoss { value, offset: log_partition - expected, size, roundings, shared_size }
}

/// The log-partition, with node and edge marginals: products of exponentials, scaled at every
/// token.
fn sums_of_products(scores: &Shared<'_>, nodes: &[f64], own: &mut [f64], edges: &mut [f64]) -> f64 {
    let k = scores.k;
    let length = nodes.len() / k;
    let mut exps = vec![0.0; nodes.len()];
    let mut scales = vec![0.0; length];
    let mut log_partition = scores.largest * (length - 1) as f64;
    dispatch(
        #[inline(always)]
        || {
            // Forward: own holds the shares of the paths up to each token.
            for token in 0..length {
                let here = token * k..(token + 1) * k;
                let exps = &mut exps[here.clone()];
                exps.copy_from_slice(&nodes[here.clone()]);
                if token == 0 {
                    exps.iter_mut().zip(scores.begin).for_each(|(e, b)| *e += b);
                }
                if token == length - 1 {
                    exps.iter_mut().zip(scores.end).for_each(|(e, b)| *e += b);
                }
                let top = exps.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                exps.iter_mut().for_each(|e| *e = (*e - top).exp());
                let (before, now) = own.split_at_mut(here.start);
                let now = &mut now[..k];
                if token == 0 {
                    now.copy_from_slice(exps);
                } else {
                    now.fill(0.0);
                    let before = &before[here.start - k..];
                    for (share, row) in before.iter().zip(scores.factors.chunks_exact(k)) {
                        now.iter_mut().zip(row).for_each(|(n, f)| *n += share * f);
                    }
                    now.iter_mut().zip(exps.iter()).for_each(|(n, e)| *n *= e);
                }
                let scale: f64 = now.iter().sum();
                let inverse = 1.0 / scale;
                now.iter_mut().for_each(|n| *n *= inverse);
                scales[token] = inverse;
                log_partition += top + scale.ln();
            }
            // Backward: own becomes the marginals.
            let (mut later, mut through) = (vec![1.0; k], vec![0.0; k]);
            for token in (1..length).rev() {
                let exps = &exps[token * k..(token + 1) * k];
                let scale = scales[token];
                for ((t, e), l) in through.iter_mut().zip(exps).zip(&later) {
                    *t = e * l * scale;
                }
                let (before, now) = own.split_at_mut(token * k);
                now[..k].iter_mut().zip(&later).for_each(|(n, l)| *n *= l);
                let before = &before[(token - 1) * k..];
                for (share, row) in before.iter().zip(edges.chunks_exact_mut(k)) {
                    row.iter_mut().zip(&through).for_each(|(e, t)| *e += share * t);
                }
                later.fill(0.0);
                for (t, row) in through.iter().zip(scores.transposed.chunks_exact(k)) {
                    later.iter_mut().zip(row).for_each(|(l, f)| *l += t * f);
                }
            }
            own[..k].iter_mut().zip(&later).for_each(|(n, l)| *n *= l);
            edges.iter_mut().zip(scores.factors).for_each(|(e, f)| *e *= f);
        },
    );
    log_partition
}

/// The same in logarithms throughout: for scores of any size. Logarithms are shifted at every
/// token, so that long sequences lose no more digits than short ones.
fn sums_of_logarithms(
    scores: &Shared<'_>,
    nodes: &[f64],
    own: &mut [f64],
    edges: &mut [f64],
) -> f64 {
    let k = scores.k;
    let length = nodes.len() / k;
    let mut nodes = nodes.to_vec();
    nodes[..k].iter_mut().zip(scores.begin).for_each(|(n, b)| *n += b);
    nodes[(length - 1) * k..].iter_mut().zip(scores.end).for_each(|(n, b)| *n += b);
    let mut forward = nodes.clone();
    let mut terms = vec![0.0; k];
    let mut log_partition = Sum::new();
    for token in 0..length {
        let (before, now) = forward.split_at_mut(token * k);
        for z in (0..k).filter(|_| token > 0) {
            for (from, term) in terms.iter_mut().enumerate() {
                *term = before[(token - 1) * k + from] + scores.transitions[from * k + z];
            }
            now[z] += log_sum(&terms);
        }
        log_partition.add(shift(&mut now[..k]));
    }
    let mut later = vec![0.0; k];
    for token in (0..length).rev() {
        let here = token * k..(token + 1) * k;
        for ((term, f), l) in terms.iter_mut().zip(&forward[here.clone()]).zip(&later) {
            *term = f + l;
        }
        let total = log_sum(&terms);
        if token == length - 1 {
            log_partition.add(total);
        }
        for (p, term) in own[here.clone()].iter_mut().zip(&terms) {
            *p = (term - total).exp();
        }
        if token == 0 {
            break;
        }
        let step = |from: usize, z: usize| {
            scores.transitions[from * k + z] + nodes[token * k + z] + later[z]
        };
        let before = &forward[(token - 1) * k..token * k];
        let mut earlier = vec![0.0; k];
        for (from, earlier) in earlier.iter_mut().enumerate() {
            terms.iter_mut().enumerate().for_each(|(z, term)| *term = step(from, z));
            *earlier = log_sum(&terms);
        }
        terms.iter_mut().enumerate().for_each(|(y, term)| *term = before[y] + earlier[y]);
        let total = log_sum(&terms);
        for from in (0..k).filter(|&from| terms[from] - total > VANISHING) {
            for z in 0..k {
                let share = before[from] + step(from, z) - total;
                if share > VANISHING {
                    edges[from * k + z] += share.exp();
                }
            }
        }
        shift(&mut earlier);
        later = earlier;
    }
    log_partition.value()
}

/// Takes the largest off all of them, and returns it.
fn shift(logarithms: &mut [f64]) -> f64 {
    let top = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logarithms.iter_mut().for_each(|l| *l -= top);
    top
}

fn log_sum(terms: &[f64]) -> f64 {
    let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    let shares = terms.iter().map(|t| t - top).filter(|share| *share > NEGLIGIBLE);
    top + shares.map(f64::exp).sum::<f64>().ln()
}
