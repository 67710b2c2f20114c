//! The binary logistic loss log(1 + exp(−z f)), z = ±1. Rows are computed many at a time, with the same
//! bits as one by one.

use super::loss::{Conjugate, Loss, SecondDerivative, Tangent, allowed_size, entropy};
use minorant_linalg::dense::dispatch;
use minorant_linalg::elementary::{inlined, softplus};
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
        Some(entropy(size) + entropy(1.0 - size))
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
