//! The binary hinge loss max(0, 1 − z f) (Eq. 31 of Yu et al.), z = ±1.

use super::Piece;
use super::loss::{
    Ascent, Climb, Conjugate, DualSweep, Foothold, KINK, Kinks, Loss, Piecewise, TIE, Tangent,
    allowed_size,
};
use crate::line::Pieces;

/// The hinge loss of a binary label.
#[derive(Debug, Clone)]
pub struct Hinge {
    signs: Vec<f64>,
}

impl Hinge {
    /// `signs[i]` is +1 or −1.
    pub fn new(signs: Vec<f64>) -> Self {
        Hinge { signs }
    }
}

impl Loss for Hinge {
    fn outputs(&self) -> usize {
        1
    }

    #[inline]
    fn value(&self, example: usize, f: &[f64]) -> f64 {
        (1.0 - self.signs[example] * f[0]).max(0.0)
    }

    #[inline]
    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        let loss = 1.0 - self.signs[example] * f[0];
        // Without a branch: which rows are active, no processor can foresee.
        let active = f64::from(u8::from(loss > 0.0));
        c[0] = -self.signs[example] * active;
        Tangent { value: loss.max(0.0), offset: active }
    }

    fn pieces(&self) -> Option<&dyn Piecewise> {
        Some(self)
    }

    fn kinks(&self) -> Option<&dyn Kinks> {
        Some(self)
    }

    fn conjugate(&self) -> Option<&dyn Conjugate> {
        Some(self)
    }

    fn ascent(&self) -> Option<&dyn Ascent> {
        Some(self)
    }
}

impl Piecewise for Hinge {
    /// Eq. 38: the slope −z d holds while 1 − z f − η z d > 0.
    #[inline]
    fn add_pieces(&self, example: usize, f: &[f64], d: &[f64], pieces: &mut Pieces<'_>) {
        let (loss, rise) = (1.0 - self.signs[example] * f[0], -self.signs[example] * d[0]);
        let at = -loss / rise;
        if rise == 0.0 {
            return;
        }
        if rise < 0.0 {
            if at > pieces.from() {
                pieces.start(rise, 0.0);
                pieces.change(at, -rise, 0.0);
            }
        } else if at <= pieces.from() {
            pieces.start(rise, 0.0);
        } else {
            pieces.change(at, rise, 0.0);
        }
    }
}

impl Kinks for Hinge {
    fn at_kink(&self, example: usize, f: &[f64]) -> bool {
        (1.0 - self.signs[example] * f[0]).abs() <= KINK
    }

    fn steepest_tangent(&self, example: usize, _f: &[f64], d: &[f64], c: &mut [f64]) -> Tangent {
        let active = self.signs[example] * d[0] < 0.0;
        c[0] = if active { -self.signs[example] } else { 0.0 };
        Tangent { value: 0.0, offset: f64::from(u8::from(active)) }
    }

    fn near_tie(&self, example: usize, f: &[f64]) -> Option<Piece> {
        let loss = 1.0 - self.signs[example] * f[0];
        if loss.abs() > TIE * (1.0 + f[0].abs()) {
            return None;
        }
        Some(if loss > 0.0 { Piece::Slope { up: 0, down: 0 } } else { Piece::Flat })
    }
}

impl Conjugate for Hinge {
    fn highest_offset(&self, example: usize, c: &mut [f64]) -> Option<f64> {
        highest_offset(self.signs[example], &mut c[0])
    }
}

impl Ascent for Hinge {
    #[inline(always)]
    fn climb(&self, example: usize, from: Foothold<'_>) -> Climb {
        climb(self.signs[example], from)
    }

    fn pull(&self, example: usize, f: &[f64], c: &[f64]) -> f64 {
        pull(self.signs[example], f[0], c[0])
    }

    fn sweep(&self, sweep: DualSweep<'_, '_>) {
        sweep.run_compiled(self);
    }
}

/// [`Conjugate::highest_offset`] of the hinge of a sign.
pub(super) fn highest_offset(sign: f64, c: &mut f64) -> Option<f64> {
    let size = allowed_size(-sign * *c, 1.0)?;
    *c = -sign * size;
    Some(size)
}

/// [`Ascent::climb`] of the hinge of a sign.
#[inline(always)]
pub(super) fn climb(sign: f64, from: Foothold<'_>) -> Climb {
    let Foothold { f, curvature, c, change, .. } = from;
    let (f, c) = (f[0], &mut c[0]);
    let (size, slope) = (-sign * *c, 1.0 - sign * f);
    let next = (size + slope * reach(curvature)).clamp(0.0, 1.0);
    let step = next - size;
    let pull = pull(sign, f, *c);
    (*c, change[0]) = (-sign * next, -sign * step);
    Climb { rise: step * (slope - 0.5 * curvature * step), pull, way: step.abs() }
}

/// How far a step goes for each unit of slope. Where the way costs nothing, the largest number
/// stands for its end.
#[inline(always)]
pub(super) fn reach(curvature: f64) -> f64 {
    (1.0 / curvature).min(f64::MAX)
}

/// How steep the dual is along a slope's size between 0 and 1.
#[inline(always)]
pub(super) fn pull(sign: f64, f: f64, c: f64) -> f64 {
    let (size, slope) = (-sign * c, 1.0 - sign * f);
    if size <= 0.0 {
        slope
    } else if size >= 1.0 {
        -slope
    } else {
        slope.abs()
    }
}
