//! The binary ramp loss min(1 − S, max(0, 1 − z f)), z = ±1, S < 1: a hinge that stops growing, so
//! that outliers cost no more than 1 − S. The loss is not convex: it is the hinge
//! less max(0, S − z f).

use super::hinge::Hinge;
use super::loss::{Difference, Loss, Piecewise, Tangent};
use crate::line::Pieces;

/// The ramp loss of a binary label.
#[derive(Debug, Clone)]
pub struct Ramp {
    signs: Vec<f64>,
    hinge: Hinge,
    /// S.
    bend: f64,
}

impl Ramp {
    /// `signs[i]` is +1 or −1; the loss is constant where z f is below `bend` (S).
    pub fn new(signs: Vec<f64>, bend: f64) -> Self {
        Ramp { hinge: Hinge::new(signs.clone()), signs, bend }
    }

    fn top(&self) -> f64 {
        1.0 - self.bend
    }
}

impl Loss for Ramp {
    fn outputs(&self) -> usize {
        1
    }

    #[inline]
    fn value(&self, example: usize, f: &[f64]) -> f64 {
        (1.0 - self.signs[example] * f[0]).clamp(0.0, self.top())
    }

    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        let loss = 1.0 - self.signs[example] * f[0];
        c[0] = 0.0;
        if loss <= 0.0 {
            Tangent { value: 0.0, offset: 0.0 }
        } else if loss >= self.top() {
            Tangent { value: self.top(), offset: self.top() }
        } else {
            c[0] = -self.signs[example];
            Tangent { value: loss, offset: 1.0 }
        }
    }

    fn is_convex(&self) -> bool {
        false
    }

    fn pieces(&self) -> Option<&dyn Piecewise> {
        Some(self)
    }

    fn difference(&self) -> Option<&dyn Difference> {
        Some(self)
    }
}

impl Piecewise for Ramp {
    #[inline]
    fn add_pieces(&self, example: usize, f: &[f64], d: &[f64], pieces: &mut Pieces<'_>) {
        let sign = self.signs[example];
        pieces.kinks(f[0], d[0], 0.0, &[(sign * self.bend, -1.0), (sign, 1.0)]);
    }
}

impl Difference for Ramp {
    fn convex_term(&self) -> Box<dyn Loss + '_> {
        Box::new(self.hinge.clone())
    }

    /// −max(0, S − z f).
    fn concave_tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> f64 {
        let sign = self.signs[example];
        let is_active = self.bend - sign * f[0] > 0.0;
        c[0] = if is_active { sign } else { 0.0 };
        if is_active { -self.bend } else { 0.0 }
    }
}
