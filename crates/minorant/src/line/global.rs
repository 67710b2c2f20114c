//! The exact line search for risks that are not convex: the lowest point of a piecewise line plus
//! the regularizer's quadratic on an interval. Breakpoints are sorted and swept once, O(r log r);
//! between two of them the slope is affine. Deterministic: equal heights go to the shorter step.

use super::{Line, Quadratic};
use rayon::prelude::*;

/// From this many breakpoints on threads sort them (to the same order).
const PARALLEL: usize = 1 << 14;

/// The least global minimiser over 0 ≤ η ≤ `to` of `line(η) + quadratic(η)`; nothing where the line
/// does not tell its breakpoints.
pub fn minimise_globally(line: &mut Line<'_>, quadratic: Quadratic, to: f64) -> Option<f64> {
    let ([mut constant, mut linear], mut breakpoints) = line.breakpoints(0.0, to)?;
    constant += quadratic.slope;
    linear += quadratic.curvature;
    if breakpoints.len() < PARALLEL {
        breakpoints.sort_by(|a, b| a.at.total_cmp(&b.at));
    } else {
        breakpoints.par_sort_by(|a, b| a.at.total_cmp(&b.at));
    }
    // Step and height of the lowest point so far, and of the sweep; heights are relative to η = 0.
    let (mut lowest, mut least) = (0.0, 0.0);
    let (mut from, mut height) = (0.0, 0.0);
    let ends = breakpoints.iter().map(|b| (b.at, b.constant, b.linear)).chain([(to, 0.0, 0.0)]);
    for (end, more_constant, more_linear) in ends {
        let rise = |eta: f64| (eta - from) * (constant + 0.5 * linear * (eta + from));
        let bottom = -constant / linear;
        if linear > 0.0 && from < bottom && bottom < end && height + rise(bottom) < least {
            (lowest, least) = (bottom, height + rise(bottom));
        }
        height += rise(end);
        from = end;
        if height < least {
            (lowest, least) = (end, height);
        }
        constant += more_constant;
        linear += more_linear;
    }
    Some(lowest)
}
