//! The squared hinge loss max(0, 1 − z f)², z = ±1: smooth, with a jump in its curvature.

use super::loss::{
    Ascent, Climb, Conjugate, DualSweep, Foothold, Growth, Loss, Piecewise, SecondDerivative,
    Tangent, allowed_size,
};
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
    fn growth(&self) -> Growth {
        Growth::Square
    }

    fn is_smooth(&self) -> bool {
        true
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

    fn pieces(&self) -> Option<&dyn Piecewise> {
        Some(self)
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
}

impl SecondDerivative for SquaredHinge {
    fn second_derivative(&self, example: usize, f: &[f64], a: &mut [f64], _b: &mut [f64]) {
        a[0] = if self.signs[example] * f[0] < 1.0 { 2.0 } else { 0.0 };
    }
}

impl Piecewise for SquaredHinge {
    /// The slope is 2 r (s + r η) with s = 1 − z f and r = −z d while s + r η > 0.
    #[inline]
    fn add_pieces(&self, example: usize, f: &[f64], d: &[f64], pieces: &mut Pieces<'_>) {
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

impl Conjugate for SquaredHinge {
    fn highest_offset(&self, example: usize, c: &mut [f64]) -> Option<f64> {
        let size = allowed_size(-self.signs[example] * c[0], f64::MAX)?;
        c[0] = -self.signs[example] * size;
        Some(size - 0.25 * size * size)
    }
}

impl Ascent for SquaredHinge {
    #[inline(always)]
    fn climb(&self, example: usize, from: Foothold<'_>) -> Climb {
        let Foothold { f, curvature, c, change, .. } = from;
        let (sign, pull) = (self.signs[example], self.pull(example, f, c));
        let size = -sign * c[0];
        // The height is size − size²/4 + c · f, so that the way is curved by itself.
        let (slope, curvature) = (1.0 - sign * f[0] - 0.5 * size, curvature + 0.5);
        let next = (size + slope / curvature).max(0.0);
        let step = next - size;
        c[0] = -sign * next;
        change[0] = -sign * step;
        Climb { rise: step * (slope - 0.5 * curvature * step), pull, way: step.abs() }
    }

    #[inline(always)]
    fn pull(&self, example: usize, f: &[f64], c: &[f64]) -> f64 {
        let size = -self.signs[example] * c[0];
        let slope = 1.0 - self.signs[example] * f[0] - 0.5 * size;
        if size <= 0.0 { slope } else { slope.abs() }
    }

    fn sweep(&self, sweep: DualSweep<'_, '_>) {
        sweep.run_compiled(self);
    }
}
