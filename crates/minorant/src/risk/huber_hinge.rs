//! The huberised hinge loss of a binary label z = ±1, with the margin m = z f and a width h > 0: 0
//! where m ≥ 1 + h, (1 + h − m)²/(4h) where |1 − m| ≤ h, and 1 − m below. It is the hinge with its kink
//! rounded off, as BMRM offers it (Teo et al.): smooth, and never steeper than the hinge.

use super::loss::{Conjugate, Loss, Piecewise, SecondDerivative, Tangent, allowed_size};
use crate::line::Pieces;

/// The huberised hinge loss of a binary label.
#[derive(Debug, Clone)]
pub struct HuberHinge {
    signs: Vec<f64>,
    /// h.
    width: f64,
}

impl HuberHinge {
    /// `signs[i]` is +1 or −1; the loss is quadratic where the margin lies within `width` of 1.
    pub fn new(signs: Vec<f64>, width: f64) -> Self {
        HuberHinge { signs, width }
    }

    /// The size q of the slope −q z, between 0 and 1: (1 + h − m)/(2h), cut off at both ends.
    #[inline]
    fn size(&self, margin: f64) -> f64 {
        ((1.0 + self.width - margin) / (2.0 * self.width)).clamp(0.0, 1.0)
    }

    /// The loss at a margin where the slope has size q: h q² on the curve, 1 − m below it.
    #[inline]
    fn height(&self, margin: f64, q: f64) -> f64 {
        if q < 1.0 { self.width * q * q } else { 1.0 - margin }
    }

    /// The height at m = 0 of the highest minorant whose slope in m is −q. It touches where the
    /// loss has that slope, at m = 1 + h − 2 h q, and so lies at h q² + q m = q (1 + h) − h q².
    #[inline]
    fn offset(&self, q: f64) -> f64 {
        q * (1.0 + self.width * (1.0 - q))
    }
}

impl Loss for HuberHinge {
    fn outputs(&self) -> usize {
        1
    }

    #[inline]
    fn value(&self, example: usize, f: &[f64]) -> f64 {
        let margin = self.signs[example] * f[0];
        self.height(margin, self.size(margin))
    }

    #[inline]
    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        let margin = self.signs[example] * f[0];
        let q = self.size(margin);
        c[0] = -self.signs[example] * q;
        Tangent { value: self.height(margin, q), offset: self.offset(q) }
    }

    fn is_smooth(&self) -> bool {
        true
    }

    fn pieces(&self) -> Option<&dyn Piecewise> {
        Some(self)
    }

    fn conjugate(&self) -> Option<&dyn Conjugate> {
        Some(self)
    }

    fn curvature(&self) -> Option<&dyn SecondDerivative> {
        Some(self)
    }
}

impl Piecewise for HuberHinge {
    /// The margin along the line is m + η r with r = z d. Its slope in η is 0 where the loss is flat,
    /// −r where it is straight, and −r (1 + h − m − η r)/(2h) on the curve between.
    #[inline]
    fn add_pieces(&self, example: usize, f: &[f64], d: &[f64], pieces: &mut Pieces<'_>) {
        let (margin, rise) = (self.signs[example] * f[0], self.signs[example] * d[0]);
        if rise == 0.0 {
            return;
        }
        let scale = rise / (2.0 * self.width);
        let straight = (-rise, 0.0);
        let curve = (-scale * (1.0 + self.width - margin), scale * rise);
        let flat = (0.0, 0.0);
        let reaches = |of: f64| (of - margin) / rise;
        let (low, high) = (reaches(1.0 - self.width), reaches(1.0 + self.width));
        let (first, last) = if rise > 0.0 { (straight, flat) } else { (flat, straight) };
        // The three pieces in the order in which the line meets them, and where each of them ends.
        let ends = [(low.min(high), first, curve), (low.max(high), curve, last)];
        let mut now = last;
        for &(end, before, _) in ends.iter().rev() {
            if end > pieces.from() {
                now = before;
            }
        }
        pieces.start(now.0, now.1);
        for (end, before, after) in ends {
            if end > pieces.from() {
                pieces.change(end, after.0 - before.0, after.1 - before.1);
            }
        }
    }
}

impl Conjugate for HuberHinge {
    fn highest_offset(&self, example: usize, c: &mut [f64]) -> Option<f64> {
        let q = allowed_size(-self.signs[example] * c[0], 1.0)?;
        c[0] = -self.signs[example] * q;
        Some(self.offset(q))
    }
}

impl SecondDerivative for HuberHinge {
    fn second_derivative(&self, example: usize, f: &[f64], a: &mut [f64], _b: &mut [f64]) {
        let is_curved = (1.0 - self.signs[example] * f[0]).abs() <= self.width;
        a[0] = if is_curved { 0.5 / self.width } else { 0.0 };
    }

    fn parabola(&self, example: usize, f: f64) -> Option<f64> {
        // Its bottom is where the loss becomes 0.
        let from_bottom = 1.0 + self.width - self.signs[example] * f;
        (from_bottom > 2.0 * self.width).then(|| 1.0 / from_bottom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Envelope;

    /// The loss by its definition.
    fn plain(margin: f64, h: f64) -> f64 {
        match margin {
            m if m >= 1.0 + h => 0.0,
            m if (1.0 - m).abs() <= h => (1.0 + h - m) * (1.0 + h - m) / (4.0 * h),
            m => 1.0 - m,
        }
    }

    /// Outputs on a grid that meets the ends of the curve, and far from it.
    fn outputs() -> impl Iterator<Item = f64> {
        (-64..=64).map(|i| f64::from(i) / 16.0).chain([-50.0, 50.0])
    }

    fn cases() -> impl Iterator<Item = (f64, f64, HuberHinge)> {
        [0.25, 0.5, 1.0, 3.0].into_iter().flat_map(|h| {
            [1.0, -1.0].into_iter().map(move |sign| (h, sign, HuberHinge::new(vec![sign], h)))
        })
    }

    #[test]
    fn values_tangents_and_second_derivatives() {
        for (h, sign, loss) in cases() {
            for f in outputs() {
                let value = loss.value(0, &[f]);
                assert!((value - plain(sign * f, h)).abs() <= 1e-14 * (1.0 + f.abs()));
                let (mut c, mut again) = ([0.0], [0.0]);
                let tangent = loss.tangent(0, &[f], &mut c);
                assert_eq!(tangent.value, value);
                let touches = tangent.offset + c[0] * f;
                assert!((touches - value).abs() <= 1e-14 * (1.0 + f.abs()), "{h} {f}");
                for g in outputs() {
                    let below = tangent.offset + c[0] * g;
                    assert!(below <= loss.value(0, &[g]) + 1e-13 * (1.0 + g.abs()), "{h} {f} {g}");
                }
                // Off the ends of the curve the second derivative is that of the slopes.
                let mut a = [0.0];
                loss.second_derivative(0, &[f], &mut a, &mut []);
                if ((1.0 - sign * f).abs() - h).abs() > 1e-6 {
                    loss.tangent(0, &[f + 1e-7], &mut again);
                    assert!(((again[0] - c[0]) / 1e-7 - a[0]).abs() < 1e-6, "{h} {f}");
                }
            }
        }
    }

    #[test]
    fn pieces_add_up_to_values() {
        for (h, _, loss) in cases() {
            for (f, d) in outputs().zip([0.7, -1.3, 2.0, -0.25, 0.0].into_iter().cycle()) {
                let (mut start, mut breaks, mut envelope) = ([0.0; 2], vec![], Envelope::default());
                let to = 6.0;
                let mut pieces =
                    Pieces::new((0.0, to), 1.0, &mut start, &mut breaks, &mut envelope);
                loss.add_pieces(0, &[f], &[d], &mut pieces);
                breaks.sort_by(|a, b| a.at.total_cmp(&b.at));
                let (mut height, mut from, mut slope) = (loss.value(0, &[f]), 0.0, start);
                let size = 1.0 + height + (d / h).powi(2);
                for end in breaks.iter().map(|b| Some(*b)).chain([None]) {
                    let at = end.map_or(to, |b| b.at);
                    assert!(from <= at && at <= to);
                    height += (at - from) * (slope[0] + 0.5 * slope[1] * (at + from));
                    let expected = loss.value(0, &[f + at * d]);
                    assert!((height - expected).abs() <= 1e-12 * size * to, "{h} {f} {d} {at}");
                    from = at;
                    if let Some(b) = end {
                        slope = [slope[0] + b.constant, slope[1] + b.linear];
                    }
                }
            }
        }
    }

    #[test]
    fn the_conjugate_is_the_least_distance_on_a_grid() {
        for (h, sign, loss) in cases() {
            for q in (0..=40).map(|i| f64::from(i) / 40.0) {
                let mut c = [-sign * q];
                let told = loss.highest_offset(0, &mut c).unwrap();
                let grid = (-80_000..=80_000).map(|i| f64::from(i) * 1e-4);
                let least = grid.map(|f| loss.value(0, &[f]) - c[0] * f).fold(f64::MAX, f64::min);
                assert!(
                    told <= least + 1e-12 && least - told < 1e-7 / h,
                    "{h} {q}: {told} {least}"
                );
            }
            assert_eq!(loss.highest_offset(0, &mut [-1.01 * sign]), None);
            assert_eq!(loss.highest_offset(0, &mut [0.01 * sign]), None);
        }
    }
}
