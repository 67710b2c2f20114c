//! The end of the exact line search, where all open breakpoints are in one place: pivots halve the
//! interval until no breakpoint is left in it, and there the slope is affine. This is selection, not
//! sorting: the work is proportional to the number of breakpoints.

use super::sum::Gathered;
use super::{Breakpoint, Quadratic};

/// Breakpoints of which the middle one is a pivot.
const SAMPLE: usize = 9;

/// The least step at which the slope of the pieces plus the quadratic, negative just after `lo` and not
/// just after `hi`, is no longer negative.
pub(super) fn least_root(
    pieces: Gathered,
    quadratic: Quadratic,
    (mut lo, mut hi): (f64, f64),
) -> f64 {
    let Gathered { mut start, mut open } = pieces;
    start[0].add(quadratic.slope);
    start[1].add(quadratic.curvature);
    let slope = |start: [f64; 2], at: f64| start[0] + start[1] * at;
    while let Some(pivot) = pivot(&open) {
        let (mut before, mut at) = ([0.0; 2], [0.0; 2]);
        for point in &open {
            // Without a branch: on which side a breakpoint lies, no processor can foresee.
            let is_before = f64::from(u8::from(point.at < pivot));
            let is_there = f64::from(u8::from(point.at == pivot));
            before[0] += is_before * point.constant;
            before[1] += is_before * point.linear;
            at[0] += is_there * point.constant;
            at[1] += is_there * point.linear;
        }
        let left = [start[0].value() + before[0], start[1].value() + before[1]];
        let right = [left[0] + at[0], left[1] + at[1]];
        if slope(right, pivot) < 0.0 {
            lo = pivot;
            for term in 0..2 {
                start[term].add(before[term]);
                start[term].add(at[term]);
            }
            open.retain(|point| point.at > pivot);
        } else if slope(left, pivot) >= 0.0 {
            hi = pivot;
            open.retain(|point| point.at < pivot);
        } else {
            return pivot;
        }
    }
    // The ends may lie on kinks, and on which side of them rounding decides: what counts is what
    // the breakpoints between them say.
    let start = start.map(|sum| sum.value());
    let (after_lo, before_hi) = (slope(start, lo), slope(start, hi));
    if after_lo >= 0.0 {
        lo
    } else if before_hi <= 0.0 {
        hi
    } else {
        (lo + (hi - lo) * (after_lo / (after_lo - before_hi))).clamp(lo, hi)
    }
}

/// The median of breakpoints spread evenly over the list.
fn pivot(open: &[Breakpoint]) -> Option<f64> {
    let many = open.len().min(SAMPLE);
    let mut sample = [0.0; SAMPLE];
    for (i, place) in sample[..many].iter_mut().enumerate() {
        *place = open[i * open.len() / many].at;
    }
    sample[..many].sort_unstable_by(f64::total_cmp);
    sample[..many].get(many / 2).copied()
}
