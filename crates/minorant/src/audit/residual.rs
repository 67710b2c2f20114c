//! Losses of targets in their plainest form, for the audit: what an output costs that lies above or below
//! a number that was to be met, and the highest minorants of given slopes. Outputs are sums in twice the
//! working precision. How rows add up to bounds stands in `linear.rs`.

use super::linear::Tangent;
use crate::proof::Piece;
use minorant_linalg::sum::Sum;

/// A loss by what it is: r is the target less the output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PlainResidual<'a> {
    /// ½ r².
    Squares,
    /// |r|.
    Absolute,
    /// max(0, |r| − ε).
    EpsilonInsensitive(f64),
    /// max(0, |r| − ε)².
    SquaredEpsilonInsensitive(f64),
    /// ½ r² where |r| ≤ δ, and δ|r| − ½ δ² beyond.
    Huber(f64),
    /// σ/2 and σ times that of r/σ: δ, and the σ that was fitted along. It is a loss of σ too, which
    /// minorants must not make endless.
    HuberScale(f64, f64),
    /// The sum over levels τ of max(τ r, (τ − 1) r), and of what outputs in the wrong order lie apart.
    Quantiles(&'a [f64]),
}

use PlainResidual::{
    Absolute, EpsilonInsensitive, Huber, HuberScale, Quantiles, SquaredEpsilonInsensitive, Squares,
};

/// How far slopes may lie outside of what the loss allows, by rounding, as a share of that; they are moved
/// back.
const OUTSIDE: f64 = 1e-12;

impl PlainResidual<'_> {
    /// The loss at outputs `f`, and a tangent there.
    pub(super) fn tangent(self, target: f64, f: &[Sum]) -> Tangent {
        let excess = |f: Sum| {
            let mut excess = f;
            excess.add(-target);
            excess
        };
        if let Quantiles(levels) = self {
            let above = |k: usize| excess(f[k]).value();
            let crossing = |k: usize| super::linear::less(f[k], f[k + 1]);
            let (mut slope, mut value) = (vec![0.0; f.len()], Sum::new());
            for (k, level) in levels.iter().enumerate() {
                // A target that is met to the last bit has the slope 0 where the quantile is alone.
                let own = match above(k) {
                    0.0 if levels.len() == 1 => 0.0,
                    above if above > 0.0 => 1.0 - level,
                    _ => -level,
                };
                slope[k] += own;
                value.add_product(own, above(k));
            }
            for k in (0..f.len() - 1).filter(|&k| crossing(k) > 0.0) {
                slope[k] += 1.0;
                slope[k + 1] -= 1.0;
                value.add(crossing(k));
            }
            return self.touching(target, value.value(), slope);
        }
        let e = excess(f[0]).value();
        // How far the excess lies beside the flat bottom, and on which side; the excess alone, rounded,
        // would not tell of what lies beside it by less than that.
        let beside = |epsilon: f64| {
            let mut beside = excess(f[0]);
            let side = if e > 0.0 { 1.0 } else { -1.0 };
            beside.add(-side * epsilon);
            side * (side * beside.value()).max(0.0)
        };
        let sign = |x: f64| if x == 0.0 { 0.0 } else { x.signum() };
        let (value, slope) = match self {
            Squares => (0.5 * e * e, e),
            Absolute => (e.abs(), sign(e)),
            EpsilonInsensitive(epsilon) => (beside(epsilon).abs(), sign(beside(epsilon))),
            SquaredEpsilonInsensitive(epsilon) => {
                (beside(epsilon) * beside(epsilon), 2.0 * beside(epsilon))
            }
            Huber(delta) if e.abs() <= delta => (0.5 * e * e, e),
            Huber(delta) => {
                let mut straight = Sum::new();
                straight.add_product(delta, e.abs());
                straight.add_product(-0.5 * delta, delta);
                (straight.value(), delta * sign(e))
            }
            // With no scale at all, the straight piece is the whole loss.
            HuberScale(delta, 0.0) => (delta * e.abs(), delta * sign(e)),
            HuberScale(delta, scale) if e.abs() <= delta * scale => {
                (0.5 * (scale + e / scale * e), e / scale)
            }
            HuberScale(delta, scale) => {
                (0.5 * scale * (1.0 - delta * delta) + delta * e.abs(), delta * sign(e))
            }
            Quantiles(_) => unreachable!("quantiles have returned"),
        };
        self.touching(target, value, vec![slope])
    }

    /// The highest minorant with slopes that the loss has somewhere: a tangent up to the rounding of the
    /// slopes, and below the loss whatever they are.
    fn touching(self, target: f64, value: f64, mut slope: Vec<f64>) -> Tangent {
        let offset = self.highest_offset(target, &mut slope);
        Tangent { value, offset: offset.unwrap_or((f64::NAN, 0.0)), slope }
    }

    /// The slopes of a piece of a loss with kinks, whatever the outputs are.
    pub(super) fn slopes_of(self, piece: Piece, outputs: usize) -> Option<Vec<f64>> {
        let (rises, falls) = match piece {
            Piece::Slope { up, down } => (up, down),
            Piece::Flat => (0, 0),
        };
        Some(match self {
            Absolute | EpsilonInsensitive(_) => match (rises, falls) {
                (0, 0) => vec![0.0],
                (1, 0) => vec![1.0],
                (0, 1) => vec![-1.0],
                _ => return None,
            },
            Quantiles(&[level]) => match (rises, falls) {
                // Where the target is met to the last bit the slope is 0, which both sides enclose.
                (0, 0) => vec![0.0],
                (1, 0) => vec![1.0 - level],
                (0, 1) => vec![-level],
                _ => return None,
            },
            // Bits say which outputs lie above the target, and which in the wrong order.
            Quantiles(levels) if levels.len() == outputs && outputs < 32 => {
                if rises >> outputs != 0 || falls >> (outputs - 1) != 0 {
                    return None;
                }
                let own = |k: usize| if rises >> k & 1 == 1 { 1.0 - levels[k] } else { -levels[k] };
                let mut slope: Vec<f64> = (0..outputs).map(own).collect();
                for k in (0..outputs - 1).filter(|k| falls >> k & 1 == 1) {
                    slope[k] += 1.0;
                    slope[k + 1] -= 1.0;
                }
                slope
            }
            _ => return None,
        })
    }

    /// How fast the minorant with a slope rises with σ, where the loss has one: ½ − ½ c².
    pub(super) fn rise_with_scale(self, slope: &[f64]) -> Option<Sum> {
        let HuberScale(..) = self else { return None };
        let mut rise = Sum::new();
        rise.add(0.5);
        rise.add_product(-0.5 * slope[0], slope[0]);
        Some(rise)
    }

    /// The largest offset with which `offset + slope · f` lies below the loss everywhere, and how far
    /// rounding may have moved it; slopes just outside of what the loss allows are moved back.
    pub(super) fn highest_offset(self, target: f64, slope: &mut [f64]) -> Option<(f64, f64)> {
        let mut offset = Sum::new();
        let mut size = 0.0;
        let mut add = |x: f64, y: f64| {
            offset.add_product(x, y);
            size += (x * y).abs();
        };
        if let Quantiles(levels) = self {
            if !is_of_quantiles(levels, slope) {
                let least = levels.iter().fold(0.5, |least: f64, t| least.min(*t).min(1.0 - t));
                slope.iter_mut().for_each(|c| *c *= 1.0 - OUTSIDE / least);
                if !is_of_quantiles(levels, slope) {
                    return None;
                }
            }
            // What a crossing adds to one output's slope it takes from the next, and it has no height.
            slope.iter().for_each(|c| add(-c, target));
            return Some((offset.value(), 2.0 * f64::EPSILON * size));
        }
        let most = match self {
            Absolute | EpsilonInsensitive(_) => 1.0,
            Huber(delta) | HuberScale(delta, _) => delta,
            _ => f64::INFINITY,
        };
        let c = slope[0];
        if !c.is_finite() || c.abs() > most * (1.0 + OUTSIDE) {
            return None;
        }
        let c = c.clamp(-most, most);
        slope[0] = c;
        add(-c, target);
        match self {
            Squares | Huber(_) => add(-0.5 * c, c),
            EpsilonInsensitive(epsilon) => add(-epsilon, c.abs()),
            SquaredEpsilonInsensitive(epsilon) => {
                add(-epsilon, c.abs());
                add(-0.25 * c, c);
            }
            Absolute | HuberScale(..) | Quantiles(_) => {}
        }
        Some((offset.value(), 2.0 * f64::EPSILON * size))
    }
}

/// Whether slopes are sums of what each quantile allows, from −τ to 1 − τ, and of what crossings hand from
/// one output to the next, from 0 to 1: the share handed on is followed from the first to the last.
fn is_of_quantiles(levels: &[f64], slopes: &[f64]) -> bool {
    let mut handed = (0.0, 0.0);
    for (k, (slope, level)) in slopes.iter().zip(levels).enumerate() {
        let most = if k + 1 == levels.len() { 0.0 } else { 1.0 };
        let least = handed.0 + slope - (1.0 - level);
        let largest = handed.1 + slope + level;
        // Nothing is between two numbers that are none.
        if !(least <= most && largest >= 0.0) {
            return false;
        }
        handed = (f64::max(least, 0.0), f64::min(largest, most));
    }
    slopes.len() == levels.len()
}
