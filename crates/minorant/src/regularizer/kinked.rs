//! What a regularizer has besides its quadratic: λ₁‖w‖₁ and bounds on single weights. Both are sums
//! over the coordinates of the metric, so that minimisers and conjugates are found one coordinate at a
//! time. What planes make of them is the business of the bundle.

use super::{L2, RegularizerError};
use crate::line::{AbsoluteWeights, LineShare};

/// The least and the greatest value of each weight; infinite where there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranges {
    pub(super) least: Vec<f64>,
    pub(super) greatest: Vec<f64>,
}

impl Ranges {
    /// Ranges from their ends, one of each for every weight.
    pub fn new(least: Vec<f64>, greatest: Vec<f64>) -> Result<Self, RegularizerError> {
        if least.len() != greatest.len() {
            return Err(RegularizerError::Length("bounds", least.len()));
        }
        let is_empty =
            |(lo, hi): (&f64, &f64)| !(lo <= hi && *lo < f64::INFINITY && *hi > f64::NEG_INFINITY);
        match least.iter().zip(&greatest).position(is_empty) {
            Some(at) => Err(RegularizerError::Range(at, least[at], greatest[at])),
            None => Ok(Ranges { least, greatest }),
        }
    }

    /// The least values.
    pub fn least(&self) -> &[f64] {
        &self.least
    }

    /// The greatest values.
    pub fn greatest(&self) -> &[f64] {
        &self.greatest
    }
}

/// Where one coordinate comes to rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rest {
    /// Its value.
    pub(crate) at: f64,
    /// Whether it follows the pull, rather than being held at 0 or at a bound.
    pub(crate) is_free: bool,
}

impl L2 {
    /// The minimiser over coordinate `i` of the metric of `stiffness/2 u² − pull u` plus what the
    /// regularizer has there besides its quadratic. Without stiffness it may be infinite.
    #[inline]
    pub(crate) fn rest(&self, i: usize, stiffness: f64, pull: f64) -> Rest {
        let theta = self.theta(i);
        let l1 = self.l1 / theta;
        let over = pull.abs() - l1;
        // A pull that is no stronger than λ₁ moves nothing, even where there is no stiffness.
        let free = if over > 0.0 { (over / stiffness).copysign(pull) } else { 0.0 };
        let is_free = over > 0.0 || l1 == 0.0;
        let Some(ranges) = &self.ranges else { return Rest { at: free, is_free } };
        let (least, greatest) = (theta * ranges.least[i], theta * ranges.greatest[i]);
        if free < least || free > greatest {
            return Rest { at: free.clamp(least, greatest), is_free: false };
        }
        Rest { at: free, is_free }
    }

    /// The largest `pull u − stiffness/2 u²` less what the regularizer has besides its quadratic: the
    /// conjugate of one coordinate, with the place where it is reached.
    #[inline]
    pub(crate) fn conjugate_at(&self, i: usize, stiffness: f64, pull: f64) -> (f64, f64) {
        let u = self.rest(i, stiffness, pull).at;
        if u == 0.0 {
            return (0.0, 0.0);
        }
        let quadratic = if stiffness > 0.0 { 0.5 * stiffness * u } else { 0.0 };
        (u * (pull - quadratic) - self.l1 / self.theta(i) * u.abs(), u)
    }

    /// By how much a normal has to be scaled down, so that the conjugate is finite there without a
    /// quadratic, wherever an error of this length may have moved it.
    pub(crate) fn finite_scale(&self, normal: &[f64], error: f64) -> f64 {
        let mut scale: f64 = 1.0;
        for (i, &a) in normal.iter().enumerate() {
            let end = self.ranges.as_ref().map_or(f64::INFINITY, |ranges| {
                // A negative slope pulls the weight up.
                if a < 0.0 { ranges.greatest[i] } else { ranges.least[i].abs() }
            });
            let (most, size) = (self.l1 / self.theta(i), a.abs() + error);
            if end == f64::INFINITY && size > most {
                scale = scale.min(most / size * (1.0 - 4.0 * f64::EPSILON));
            }
        }
        scale
    }

    /// How fast the conjugate can change without a quadratic, where it is finite: the length of the
    /// farthest corner of the bounds.
    pub(crate) fn farthest(&self) -> f64 {
        let Some(ranges) = &self.ranges else { return 0.0 };
        let finite = |x: &f64| if x.is_finite() { x.abs() } else { 0.0 };
        let each = ranges.least.iter().zip(&ranges.greatest).enumerate();
        let each = each.map(|(i, (lo, hi))| self.theta(i) * finite(lo).max(finite(hi)));
        each.map(|x| x * x).sum::<f64>().sqrt()
    }

    /// The least and the greatest value of a weight.
    pub(crate) fn range(&self, i: usize) -> (f64, f64) {
        let all = (f64::NEG_INFINITY, f64::INFINITY);
        self.ranges.as_ref().map_or(all, |ranges| (ranges.least[i], ranges.greatest[i]))
    }

    /// λ₁‖w‖₁ on the line from `w` to `to`.
    pub(crate) fn kinks_along<'w>(&self, w: &'w [f64], to: &[f64]) -> impl LineShare + use<'w> {
        AbsoluteWeights::line(self.l1, w, to)
    }

    /// Moves weights that lie outside of their bounds, by rounding or as a start, to the nearest end.
    pub fn snap(&self, w: &mut [f64]) {
        let Some(ranges) = &self.ranges else { return };
        for (w, (least, greatest)) in w.iter_mut().zip(ranges.least.iter().zip(&ranges.greatest)) {
            *w = w.clamp(*least, *greatest);
        }
    }

    /// How far one may go from `w` towards `to`, in lengths of the way between, before a bound is met.
    pub(crate) fn longest_step(&self, w: &[f64], to: &[f64]) -> f64 {
        let Some(ranges) = &self.ranges else { return f64::INFINITY };
        let mut longest = f64::INFINITY;
        for (i, (w, to)) in w.iter().zip(to).enumerate() {
            let way = to - w;
            if way != 0.0 {
                let end = if way > 0.0 { ranges.greatest[i] } else { ranges.least[i] };
                longest = longest.min((end - w) / way);
            }
        }
        // `w` and `to` keep within the bounds, so that the whole way is allowed whatever rounding says.
        longest.max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coordinate_rests_where_its_objective_is_least() {
        let ranges = Ranges::new(vec![-1.0, 0.5, 0.0], vec![2.0, 0.75, f64::INFINITY]);
        let regularizer = L2::new(1.0).and_then(|l2| l2.with_weights(vec![1.0, 2.0, 0.5]));
        let regularizer = regularizer.and_then(|l2| l2.with_l1(0.3)?.with_ranges(ranges?));
        let regularizer = regularizer.expect("a regularizer");
        for i in 0..3 {
            for pull in (-40..=40).map(|k| 0.17 * f64::from(k)) {
                let stiffness = 1.5;
                let theta = regularizer.theta(i);
                let value = |u: f64| 0.5 * stiffness * u * u - pull * u + 0.3 * (u / theta).abs();
                let rest = regularizer.rest(i, stiffness, pull);
                let (conjugate, at) = regularizer.conjugate_at(i, stiffness, pull);
                assert_eq!(at, rest.at);
                assert!((conjugate + value(at)).abs() < 1e-12);
                let ranges = regularizer.ranges.as_ref().expect("ranges");
                for by in [-1.0, -1e-3, 1e-3, 1.0] {
                    let u = (at + by).clamp(theta * ranges.least[i], theta * ranges.greatest[i]);
                    assert!(value(u) >= value(at) - 1e-12, "{i} {pull}");
                }
                // The second derivative of the conjugate is that of a free coordinate.
                let near = regularizer.rest(i, stiffness, pull + 1e-9).at - at;
                let rate = if rest.is_free { 1e-9 / stiffness } else { 0.0 };
                assert!((near - rate).abs() < 1e-12, "{i} {pull}");
            }
        }
    }

    #[test]
    fn normals_are_scaled_to_where_the_conjugate_is_finite() {
        let regularizer = L2::none().with_l1(0.5).expect("a regularizer");
        assert_eq!(regularizer.finite_scale(&[0.4, -0.5], 0.0), 1.0);
        let scale = regularizer.finite_scale(&[0.4, -2.0], 0.0);
        assert!(scale <= 0.25 && scale > 0.249);
        let ranges = Ranges::new(vec![0.0; 2], vec![f64::INFINITY; 2]).expect("ranges");
        let regularizer = regularizer.with_ranges(ranges).expect("a regularizer");
        // A slope upwards holds the weight at its least value.
        assert_eq!(regularizer.finite_scale(&[7.0, -0.5], 0.0), 1.0);
        assert!(regularizer.finite_scale(&[0.0, -1.0], 0.0) <= 0.5);
    }
}
