//! The binary logistic loss log(1 + exp(−z f)), z = ±1. Rows are computed many at a time, with the same
//! bits as one by one.

use super::loss::{
    Ascent, Climb, Conjugate, DualSweep, Foothold, Loss, SecondDerivative, Tangent, allowed_size,
    entropy, entropy_of_rest,
};
use minorant_linalg::dense::dispatch;
use minorant_linalg::elementary::{inlined, ln, softplus};
use std::ops::Range;

/// The logistic loss of a binary label.
#[derive(Debug, Clone)]
pub struct Logistic {
    signs: Vec<f64>,
}

impl Logistic {
    /// `signs[i]` is +1 or −1.
    pub fn new(signs: Vec<f64>) -> Self {
        Logistic { signs }
    }
}

/// The slope at an output.
#[inline(always)]
fn slope(sign: f64, f: f64) -> f64 {
    -sign * inlined::sigmoid(-(sign * f))
}

/// The tangent at an output, and its slope.
#[inline(always)]
fn tangent(sign: f64, f: f64) -> (Tangent, f64) {
    let margin = sign * f;
    // The value and σ(−margin) are made of one exponential.
    let share = inlined::exp(-margin.abs());
    let value = inlined::softplus_of_share(-margin, share);
    let miss = inlined::sigmoid_of_share(-margin, share);
    (Tangent { value, offset: value + miss * margin }, -sign * miss)
}

impl Loss for Logistic {
    fn is_smooth(&self) -> bool {
        true
    }

    fn outputs(&self) -> usize {
        1
    }

    fn value(&self, example: usize, f: &[f64]) -> f64 {
        softplus(-(self.signs[example] * f[0]))
    }

    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        let (sign, f) = (self.signs[example], f[0]);
        let (tangent, slope) = dispatch(
            #[inline(always)]
            || tangent(sign, f),
        );
        c[0] = slope;
        tangent
    }

    fn conjugate(&self) -> Option<&dyn Conjugate> {
        Some(self)
    }

    fn ascent(&self) -> Option<&dyn Ascent> {
        Some(self)
    }

    fn curvature(&self) -> Option<&dyn SecondDerivative> {
        Some(self)
    }

    fn values(&self, rows: Range<usize>, f: &[f64], values: &mut [f64]) {
        let signs = &self.signs[rows];
        dispatch(
            #[inline(always)]
            || {
                for ((value, f), sign) in values.iter_mut().zip(f).zip(signs) {
                    *value = inlined::softplus(-(sign * f));
                }
            },
        );
    }

    fn tangents(&self, rows: Range<usize>, f: &[f64], c: &mut [f64], tangents: &mut [Tangent]) {
        let signs = &self.signs[rows];
        dispatch(
            #[inline(always)]
            || {
                for (((to, c), f), sign) in tangents.iter_mut().zip(c).zip(f).zip(signs) {
                    (*to, *c) = tangent(*sign, *f);
                }
            },
        );
    }

    fn slopes(&self, rows: Range<usize>, f: &[f64], c: &mut [f64]) {
        let signs = &self.signs[rows];
        dispatch(
            #[inline(always)]
            || {
                for ((c, f), sign) in c.iter_mut().zip(f).zip(signs) {
                    *c = slope(*sign, *f);
                }
            },
        );
    }
}

impl Conjugate for Logistic {
    fn highest_offset(&self, example: usize, c: &mut [f64]) -> Option<f64> {
        let size = allowed_size(-self.signs[example] * c[0], 1.0)?;
        c[0] = -self.signs[example] * size;
        Some(entropy(size) + entropy_of_rest(size))
    }
}

/// Newton steps of a climb at most.
const STEPS: usize = 30;
/// A climb has arrived where what is left of its slope is this share of what there was, or this small.
const ARRIVED: f64 = 1e-3;
const ROUNDING: f64 = 1e-14;
/// The logits of 0 and 1 stand for what lies beyond any size of a slope that is not one of these.
const FARTHEST: f64 = 800.0;

/// The logit ln(q/(1 − q)) of a slope's size.
#[inline(always)]
fn logit(size: f64) -> f64 {
    (inlined::ln(size) - inlined::ln(1.0 - size)).clamp(-FARTHEST, FARTHEST)
}

/// The size q = σ(t) with t + κ (q − q₀) + m = 0, and the logit t: where the entropy of a slope of that
/// size, less q m and κ (q − q₀)²/2, is largest. The left side rises with t, at a rate between 1 and
/// 1 + κ/4, and the root lies between the logit of q₀ and −m. Newton steps that leave what is known of
/// it go to the inflection at 0, from where they cannot, or to the middle.
#[inline(always)]
fn best_size(size: f64, from: f64, margin: f64, curvature: f64) -> (f64, f64) {
    let (mut lo, mut hi) = if from < -margin { (from, -margin) } else { (-margin, from) };
    let slope = from + margin;
    let enough = (ARRIVED * slope.abs()).max(ROUNDING * (1.0 + margin.abs()));
    // The first step begins where the size is known.
    let mut t = (from - slope / (1.0 + curvature * size * (1.0 - size))).clamp(lo, hi);
    let mut at = inlined::sigmoid(t);
    for _ in 0..STEPS {
        let left = t + margin + curvature * (at - size);
        if left.abs() <= enough {
            break;
        }
        *if left < 0.0 { &mut lo } else { &mut hi } = t;
        let next = t - left / (1.0 + curvature * at * (1.0 - at));
        t = if lo < next && next < hi {
            next
        } else if lo < 0.0 && 0.0 < hi {
            0.0
        } else {
            0.5 * (lo + hi)
        };
        at = inlined::sigmoid(t);
    }
    (at, t)
}

impl Ascent for Logistic {
    #[inline(always)]
    fn climb(&self, example: usize, from: Foothold<'_>) -> Climb {
        let Foothold { f, curvature, c, change, .. } = from;
        let sign = self.signs[example];
        let (size, margin) = (-sign * c[0], sign * f[0]);
        let start = logit(size);
        let (next, end) = best_size(size, start, margin, curvature);
        let step = next - size;
        c[0] = -sign * next;
        change[0] = -sign * step;
        let rise = if size > 0.0 && size < 1.0 {
            // The slope of the height goes from one number to the other on the way.
            -0.5 * step * ((start + margin) + (end + margin + curvature * step))
        } else {
            inlined::softplus(end) - next * end - step * (margin + 0.5 * curvature * step)
        };
        Climb { rise, pull: (start + margin).abs(), way: step.abs() }
    }

    #[inline(always)]
    fn pull(&self, example: usize, f: &[f64], c: &[f64]) -> f64 {
        let (size, margin) = (-self.signs[example] * c[0], self.signs[example] * f[0]);
        let logit = (ln(size) - ln(1.0 - size)).clamp(-FARTHEST, FARTHEST);
        (logit + margin).abs()
    }

    fn sweep(&self, sweep: DualSweep<'_, '_>) {
        sweep.run_compiled(self);
    }
}

impl SecondDerivative for Logistic {
    fn second_derivative(&self, example: usize, f: &[f64], a: &mut [f64], _b: &mut [f64]) {
        self.second_derivatives(example..example + 1, f, a);
    }

    fn second_derivatives(&self, _rows: Range<usize>, f: &[f64], both: &mut [f64]) {
        dispatch(
            #[inline(always)]
            || {
                for (a, f) in both.iter_mut().zip(f) {
                    let share = inlined::exp(-f.abs());
                    *a = share / ((1.0 + share) * (1.0 + share));
                }
            },
        );
    }

    /// σ (1 − σ) d², where σ is the size of the slope.
    fn rates(&self, _rows: Range<usize>, (_f, c): (&[f64], &[f64]), d: &[f64], rates: &mut [f64]) {
        for ((rate, c), d) in rates.iter_mut().zip(c).zip(d) {
            let size = c.abs();
            *rate = size * (1.0 - size) * d * d;
        }
    }
}
