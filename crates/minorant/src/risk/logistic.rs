//! The binary logistic loss log(1 + exp(−z f)), z = ±1.

use super::loss::{Conjugate, Loss, SecondDerivative, Tangent, allowed_size, entropy};
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

impl Loss for Logistic {
    fn is_smooth(&self) -> bool {
        true
    }

    fn outputs(&self) -> usize {
        1
    }

    #[inline]
    fn value(&self, example: usize, f: &[f64]) -> f64 {
        let margin = self.signs[example] * f[0];
        (-margin.abs()).exp().ln_1p() + (-margin).max(0.0)
    }

    #[inline]
    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        let margin = self.signs[example] * f[0];
        let small = (-margin.abs()).exp();
        let value = small.ln_1p() + (-margin).max(0.0);
        // σ(−margin), without overflow on either side.
        let miss = if margin >= 0.0 { small } else { 1.0 } / (1.0 + small);
        c[0] = -self.signs[example] * miss;
        Tangent { value, offset: value + miss * margin }
    }

    fn conjugate(&self) -> Option<&dyn Conjugate> {
        Some(self)
    }

    fn curvature(&self) -> Option<&dyn SecondDerivative> {
        Some(self)
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
    fn second_derivative(&self, _example: usize, f: &[f64], a: &mut [f64], _b: &mut [f64]) {
        let small = (-f[0].abs()).exp();
        a[0] = small / ((1.0 + small) * (1.0 + small));
    }

    /// σ (1 − σ) d², where σ is the size of the slope.
    fn rates(&self, _rows: Range<usize>, (_f, c): (&[f64], &[f64]), d: &[f64], rates: &mut [f64]) {
        for ((rate, c), d) in rates.iter_mut().zip(c).zip(d) {
            let size = c.abs();
            *rate = size * (1.0 - size) * d * d;
        }
    }
}
