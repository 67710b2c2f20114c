//! Sums over all labellings of a sequence: forward–backward, as products of exponentials where
//! scores allow it, in logarithms where they do not. Viterbi and what is made of the sums stand in
//! `dynamic.rs`.

use super::dynamic::Shared;
use minorant_linalg::dense::{LANES, dispatch};
use minorant_linalg::elementary::{exp, inlined};
use minorant_linalg::sum::Sum;

/// From this range of transition scores on, sums are kept as logarithms: below it, a path through
/// a label whose share underflows weighs less than e^(2·150 − 708) of the others.
const WIDE: f64 = 150.0;

/// Below this logarithm a share is nothing beside 1, and below that one it is nothing at all.
const NEGLIGIBLE: f64 = -50.0;
const VANISHING: f64 = -745.0;

/// The length of a row with a number for each of `k` labels: whole vectors, and nothing left over.
/// What is behind the labels is 0.
pub(super) fn padded(k: usize) -> usize {
    k.next_multiple_of(LANES)
}

/// The log-partition of a sequence that is not empty; node marginals go to `own`, the sums of the
/// edges' to `edges`.
pub(super) fn sums(scores: &Shared<'_>, nodes: &[f64], own: &mut [f64], edges: &mut [f64]) -> f64 {
    if scores.range <= WIDE {
        sums_of_products(scores, nodes, own, edges)
    } else {
        sums_of_logarithms(scores, nodes, own, edges)
    }
}

/// The log-partition, with node and edge marginals: products of exponentials, scaled at every
/// token.
fn sums_of_products(scores: &Shared<'_>, nodes: &[f64], own: &mut [f64], edges: &mut [f64]) -> f64 {
    let (k, width) = (scores.k, padded(scores.k));
    let length = nodes.len() / k;
    let mut exps = vec![0.0; length * width];
    // The shares of the paths up to each token.
    let mut shares = vec![0.0; length * width];
    let mut scales = vec![0.0; length];
    let mut of_edges = vec![0.0; k * width];
    let mut log_partition = scores.largest * (length - 1) as f64;
    dispatch(
        #[inline(always)]
        || {
            for (token, node) in nodes.chunks_exact(k).enumerate() {
                let exps = &mut exps[token * width..(token + 1) * width];
                exps[..k].copy_from_slice(node);
                if token == 0 {
                    exps.iter_mut().zip(scores.begin).for_each(|(e, b)| *e += b);
                }
                if token == length - 1 {
                    exps.iter_mut().zip(scores.end).for_each(|(e, b)| *e += b);
                }
                exps[k..].fill(f64::NEG_INFINITY);
                let top = largest(exps);
                exps.iter_mut().for_each(|e| *e = inlined::exp(*e - top));
                exps[k..].fill(0.0);
                let (before, now) = shares.split_at_mut(token * width);
                let now = &mut now[..width];
                if token == 0 {
                    now.copy_from_slice(exps);
                } else {
                    combine(&before[(token - 1) * width..][..k], scores.factors, now);
                    now.iter_mut().zip(exps.iter()).for_each(|(n, e)| *n *= e);
                }
                let scale = total(now);
                let inverse = 1.0 / scale;
                now.iter_mut().for_each(|n| *n *= inverse);
                scales[token] = inverse;
                log_partition += top + inlined::ln(scale);
            }
            let (mut later, mut through) = (vec![0.0; width], vec![0.0; width]);
            later[..k].fill(1.0);
            for token in (0..length).rev() {
                let here = token * width..(token + 1) * width;
                let marginals = &mut own[token * k..(token + 1) * k];
                for ((m, s), l) in marginals.iter_mut().zip(&shares[here.clone()]).zip(&later) {
                    *m = s * l;
                }
                if token == 0 {
                    break;
                }
                let scale = scales[token];
                for ((t, e), l) in through.iter_mut().zip(&exps[here.clone()]).zip(&later) {
                    *t = e * l * scale;
                }
                let before = &shares[here.start - width..][..k];
                for (share, row) in before.iter().zip(of_edges.chunks_exact_mut(width)) {
                    row.iter_mut().zip(&through).for_each(|(e, t)| *e = share.mul_add(*t, *e));
                }
                combine(&through[..k], scores.transposed, &mut later);
            }
            let rows = of_edges.chunks_exact(width).zip(scores.factors.chunks_exact(width));
            for (edges, (sums, factors)) in edges.chunks_exact_mut(k).zip(rows) {
                for ((e, sum), factor) in edges.iter_mut().zip(sums).zip(factors) {
                    *e += sum * factor;
                }
            }
        },
    );
    log_partition
}

/// The sum of padded rows, each times its share.
#[inline(always)]
fn combine(shares: &[f64], rows: &[f64], to: &mut [f64]) {
    let width = to.len();
    let mut at = 0;
    // As many labels at once as there are registers to add them up in.
    while at < width {
        match width - at {
            8 => at += combine_lanes::<8>(shares, rows, width, at, to),
            16 => at += combine_lanes::<16>(shares, rows, width, at, to),
            24 => at += combine_lanes::<24>(shares, rows, width, at, to),
            _ => at += combine_lanes::<32>(shares, rows, width, at, to),
        }
    }
}

#[inline(always)]
fn combine_lanes<const N: usize>(
    shares: &[f64],
    rows: &[f64],
    width: usize,
    at: usize,
    to: &mut [f64],
) -> usize {
    let mut sums = [0.0; N];
    for (share, row) in shares.iter().zip(rows.chunks_exact(width)) {
        let row = &row[at..at + N];
        for lane in 0..N {
            sums[lane] = share.mul_add(row[lane], sums[lane]);
        }
    }
    to[at..at + N].copy_from_slice(&sums);
    N
}

/// The largest of a padded row.
#[inline(always)]
fn largest(row: &[f64]) -> f64 {
    let mut tops = [f64::NEG_INFINITY; LANES];
    for lanes in row.as_chunks::<LANES>().0 {
        for (top, x) in tops.iter_mut().zip(lanes) {
            *top = if *x > *top { *x } else { *top };
        }
    }
    tops.into_iter().fold(f64::NEG_INFINITY, f64::max)
}

/// The sum of a padded row.
#[inline(always)]
fn total(row: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    for lanes in row.as_chunks::<LANES>().0 {
        for (sum, x) in sums.iter_mut().zip(lanes) {
            *sum += x;
        }
    }
    sums.into_iter().sum()
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
            *p = exp(term - total);
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
                    edges[from * k + z] += exp(share);
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
    dispatch(
        #[inline(always)]
        || {
            let mut sum = 0.0;
            for share in terms.iter().map(|t| t - top).filter(|share| *share > NEGLIGIBLE) {
                sum += inlined::exp(share);
            }
            top + inlined::ln(sum)
        },
    )
}
