//! The squared hinge loss max(0, 1 − z f)², z = ±1: smooth, with a jump in its curvature.

use super::loss::{Loss, Tangent, allowed_size};
use crate::line::Pieces;

/// The squared hinge loss of a binary label.
#[derive(Debug, Clone)]
pub struct SquaredHinge {
    signs: Vec<f64>,
}

impl SquaredHinge {
    /// `signs[i]` is +1 or −1.
    pub fn new(signs: Vec<f64>) -> Self {
        SquaredHinge { signs }
    }
}

impl Loss for SquaredHinge {
    fn is_smooth(&self) -> bool {
        true
    }

    fn knows_offsets(&self) -> bool {
        true
    }

    fn highest_offset(&self, example: usize, c: &mut [f64]) -> Option<f64> {
        let size = allowed_size(-self.signs[example] * c[0], f64::MAX)?;
        c[0] = -self.signs[example] * size;
        Some(size - 0.25 * size * size)
    }

    fn outputs(&self) -> usize {
        1
    }

    #[inline]
    fn value(&self, example: usize, f: &[f64]) -> f64 {
        let slack = (1.0 - self.signs[example] * f[0]).max(0.0);
        slack * slack
    }

    #[inline]
    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        let slack = (1.0 - self.signs[example] * f[0]).max(0.0);
        c[0] = -2.0 * self.signs[example] * slack;
        // slack² − c f with z f = 1 − slack: slack² + 2 slack (1 − slack) = slack (2 − slack).
        Tangent { value: slack * slack, offset: slack * (2.0 - slack) }
    }

    fn is_piecewise(&self) -> bool {
        true
    }

    /// The slope is 2 r (s + r η) with s = 1 − z f and r = −z d while s + r η > 0.
    #[inline]
    fn pieces(&self, example: usize, f: &[f64], d: &[f64], pieces: &mut Pieces<'_>) {
        let (slack, rise) = (1.0 - self.signs[example] * f[0], -self.signs[example] * d[0]);
        if rise == 0.0 {
            return;
        }
        let (at, constant, linear) = (-slack / rise, 2.0 * rise * slack, 2.0 * rise * rise);
        if rise < 0.0 {
            if at > pieces.from() {
                pieces.start(constant, linear);
                pieces.change(at, -constant, -linear);
            }
        } else if at <= pieces.from() {
            pieces.start(constant, linear);
        } else {
            pieces.change(at, constant, linear);
        }
    }
}
