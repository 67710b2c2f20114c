//! The exact line search: the minimiser over η ≥ 0 of a convex line plus the regularizer's
//! quadratic. It does what Algorithms 3 and 5 of Yu et al. do, by selection instead of sorting:
//! pivots halve the interval until no breakpoint is left in it, and there the slope is affine.
//! Along smooth risks, where nothing is affine, a guarded secant method ends the search.

use super::{Line, Slopes};

/// The regularizer along the line, up to a constant: slope · η + curvature · η² / 2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quadratic {
    /// Slope at η = 0.
    pub slope: f64,
    /// Second derivative.
    pub curvature: f64,
}

/// Beyond this step a line is taken to fall for ever.
const LONGEST: f64 = 1e30;

/// The least minimiser over η ≥ 0 of `line(η) + quadratic(η)`; infinite if it falls for ever.
pub fn minimise(line: &mut dyn Line, quadratic: Quadratic) -> f64 {
    let smooth = |eta: f64| quadratic.slope + quadratic.curvature * eta;
    let at_zero = line.slope_after(0.0) + smooth(0.0);
    if at_zero >= 0.0 {
        return 0.0;
    }
    // The interval (lo, hi) with the slope after lo negative and the slope after hi not.
    let (mut lo, mut after_lo) = (0.0, at_zero);
    let mut hi = 1.0;
    let mut after_hi = line.slope_after(hi) + smooth(hi);
    while after_hi < 0.0 {
        (lo, after_lo) = (hi, after_hi);
        hi *= 2.0;
        if hi > LONGEST {
            return f64::INFINITY;
        }
        after_hi = line.slope_after(hi) + smooth(hi);
    }
    while let Some(pivot) = line.pivot(lo, hi) {
        let Slopes { left, right } = line.slopes(pivot.at);
        if right + smooth(pivot.at) < 0.0 {
            lo = pivot.at;
        } else if left + smooth(pivot.at) > 0.0 {
            hi = pivot.at;
        } else {
            return pivot.at;
        }
    }
    // The ends may lie on kinks, and on which side of them rounding decides: what counts is what
    // the breakpoints between them say.
    let Some((first, last)) = line.ends() else {
        let slope = |eta| line.slope_after(eta) + smooth(eta);
        return smooth_root((lo, after_lo), (hi, after_hi), slope);
    };
    let (after_lo, before_hi) = (first + smooth(lo), last + smooth(hi));
    if after_lo >= 0.0 {
        lo
    } else if before_hi <= 0.0 {
        hi
    } else {
        affine_root((lo, after_lo), (hi, before_hi))
    }
}

/// Where the straight line through two points, one below and one above zero, is zero.
fn affine_root((lo, below): (f64, f64), (hi, above): (f64, f64)) -> f64 {
    (lo + (hi - lo) * (below / (below - above))).clamp(lo, hi)
}

/// The root of an increasing function between `lo` and `hi`: the Illinois variant of regula falsi,
/// to the last few bits.
fn smooth_root(
    (mut lo, mut below): (f64, f64),
    (mut hi, mut above): (f64, f64),
    mut slope: impl FnMut(f64) -> f64,
) -> f64 {
    const ROUNDS: usize = 60;
    let flat = 1e-13 * (below.abs() + above);
    let mut last_side = 0;
    for _ in 0..ROUNDS {
        let middle = affine_root((lo, below), (hi, above));
        if !(lo < middle && middle < hi) || hi - lo <= 1e-14 * hi {
            return middle;
        }
        let value = slope(middle);
        if value.abs() <= flat {
            return middle;
        }
        if value < 0.0 {
            (lo, below) = (middle, value);
            if last_side == -1 {
                above *= 0.5;
            }
            last_side = -1;
        } else {
            (hi, above) = (middle, value);
            if last_side == 1 {
                below *= 0.5;
            }
            last_side = 1;
        }
    }
    lo
}
