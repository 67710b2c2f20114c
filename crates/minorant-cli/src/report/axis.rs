//! Scales of charts: which values an axis covers, and where its ticks stand. Positions are
//! fractions of the axis' length; pixels are `chart`'s business.

use crate::number::without_zeros;

/// A scale, linear or logarithmic.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    pub(super) is_log: bool,
    low: f64,
    high: f64,
    /// Where ticks stand, from 0 to 1, and what is written there: nothing at ticks in between.
    pub(super) ticks: Vec<(f64, String)>,
}

/// Values beyond this are not drawn: sums and differences of drawn values stay finite.
pub(super) const LARGEST: f64 = 1e300;
/// A gap of 0 has no place on a log scale; it is drawn here, at the rounding of doubles.
pub(super) const LEAST_GAP: f64 = 1e-16;
/// Ticks stand this close to the ends and still count as inside.
const EDGE: f64 = 1e-9;

/// Whether a value can be drawn.
pub(super) fn drawable(value: &f64) -> bool {
    value.abs() <= LARGEST
}

/// A gap to draw a line at, where it has a place among gaps.
pub(super) fn rule(gap: f64) -> Option<f64> {
    Some(gap).filter(|gap| (LEAST_GAP..=10.0).contains(gap))
}

/// The least and the largest of some values.
pub(super) fn extremes(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.map(|x| (x, x)).reduce(|(low, high), (x, _)| (low.min(x), high.max(x)))
}

impl Axis {
    /// A linear axis from `low` to `high` with about `count` ticks at round numbers.
    pub(super) fn linear(low: f64, high: f64, count: usize) -> Axis {
        let magnitude = low.abs().max(high.abs());
        // Equal values still need an interval, and one that doubles can divide.
        let (low, high) = if high - low > 1e-12 * magnitude {
            (low, high)
        } else if magnitude > 0.0 {
            (low - 0.05 * magnitude, high + 0.05 * magnitude)
        } else {
            (0.0, 1.0)
        };
        let step = round_step((high - low) / count as f64);
        let axis = Axis { is_log: false, low, high, ticks: Vec::new() };
        let first = (low / step - EDGE).ceil();
        let values = (0..=4 * count).map(|k| (first + k as f64) * step);
        let ticks = values.map(|value| (axis.place(value), linear_label(value, step, magnitude)));
        Axis { ticks: ticks.take_while(|(at, _)| *at <= 1.0 + EDGE).collect(), ..axis }
    }

    /// A linear axis with a share of its length left free at both ends.
    pub(super) fn linear_with_room(low: f64, high: f64, room: f64) -> Axis {
        let margin = room * (high - low);
        Axis::linear(low - margin, high + margin, 5)
    }

    /// A logarithmic axis; 0 and below have no place on it.
    pub(super) fn log(low: f64, high: f64) -> Axis {
        let (low, high) = (low.max(1.0 / LARGEST), high.min(LARGEST));
        let (low, high) = if high > low * 1.0001 { (low, high) } else { (low / 2.0, low * 2.0) };
        let mut axis = Axis { is_log: true, low, high, ticks: Vec::new() };
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let decades = high.log10() - low.log10();
        let every = (decades / 7.0).ceil().max(1.0) as i32;
        for exponent in first..=last {
            for multiple in if decades > 4.0 { 1..=1 } else { 1..=9 } {
                let value = f64::from(multiple) * 10f64.powi(exponent);
                let labelled = match multiple {
                    1 => exponent % every == 0,
                    2 | 5 => decades < 1.7,
                    3 | 7 => decades < 0.7,
                    _ => false,
                };
                if axis.shows(value) {
                    let shown =
                        if labelled { log_label(multiple, exponent) } else { String::new() };
                    axis.ticks.push((axis.place(value), shown));
                }
            }
        }
        axis
    }

    /// Where a value stands: 0 at the lower end, 1 at the upper one, and not far beyond either.
    pub(super) fn place(&self, value: f64) -> f64 {
        let at = if !self.is_log {
            (value - self.low) / (self.high - self.low)
        } else if value > 0.0 {
            (value.log10() - self.low.log10()) / (self.high.log10() - self.low.log10())
        } else {
            -1.0
        };
        if at.is_nan() { -1.0 } else { at.clamp(-1.0, 2.0) }
    }

    /// Whether a value lies on the axis.
    pub(super) fn shows(&self, value: f64) -> bool {
        (-EDGE..=1.0 + EDGE).contains(&self.place(value))
    }
}

/// The one of 1, 2, 2.5 and 5 times a power of ten that is nearest to `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let distance = |multiple: f64| (step / (multiple * power)).ln().abs();
    let multiples = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter();
    multiples.min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap_or(1.0) * power
}

fn linear_label(value: f64, step: f64, magnitude: f64) -> String {
    // Where the step does not divide the value's digits, −0 and 1e-17 stand for 0.
    let value = if value.abs() < 0.5 * step { 0.0 } else { value };
    if !(1e-4..1e6).contains(&magnitude) {
        if value == 0.0 {
            return "0".into();
        }
        // As many digits as the step needs, and one more than that for steps of 2.5.
        let digits = ((value.abs() / step).log10() + 1.0).floor().clamp(0.0, 12.0);
        without_zeros(&format!("{value:.*e}", digits as usize))
    } else {
        let decimals = (-step.log10()).ceil().clamp(0.0, 15.0) as usize;
        // 2.5 times a power of ten has one decimal more.
        let leading = step * 10f64.powi(decimals as i32);
        let more = usize::from((leading - leading.round()).abs() > 1e-6);
        format!("{value:.*}", decimals + more)
    }
}

fn log_label(multiple: i32, exponent: i32) -> String {
    match exponent {
        0..=3 => (multiple * 10i32.pow(exponent as u32)).to_string(),
        _ => format!("{multiple}e{exponent}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        let all = axis.ticks.iter().map(|(_, label)| label.as_str());
        all.filter(|label| !label.is_empty()).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        assert_eq!(labels(&Axis::linear(0.0, 23.0, 5)), ["0", "5", "10", "15", "20"]);
        assert_eq!(labels(&Axis::linear(0.31, 1.0, 4)), ["0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&Axis::linear(-1.0, 9.0, 4)), ["0.0", "2.5", "5.0", "7.5"]);
        assert_eq!(labels(&Axis::linear(0.0, 3e7, 3)), ["0", "1e7", "2e7", "3e7"]);
    }

    #[test]
    fn log_ticks_are_powers_of_ten() {
        assert_eq!(labels(&Axis::log(1e-4, 1.0)), ["1e-4", "1e-3", "1e-2", "1e-1", "1"]);
        assert_eq!(labels(&Axis::log(1.0, 12.0)), ["1", "2", "5", "10"]);
        assert!(labels(&Axis::log(1e-16, 10.0)).len() <= 8);
        assert!(labels(&Axis::log(1e-300, 1e300)).len() <= 10);
    }

    #[test]
    fn odd_ranges_have_ticks_too() {
        let near = (1.0, 1.0 + 1e-15);
        for (low, high) in
            [(0.0, 0.0), (1.0, 1.0), (-3.0, -3.0), near, (-1e300, 1e300), (0.0, 1e-300)]
        {
            let axis = Axis::linear(low, high, 5);
            assert!((2..20).contains(&axis.ticks.len()), "{low} {high} {axis:?}");
            assert!(axis.ticks.iter().all(|(at, label)| at.is_finite() && label.len() < 20));
        }
        for (low, high) in [(0.0, 1.0), (0.0, 0.0), (5e-324, f64::MAX), (1e300, f64::INFINITY)] {
            let axis = Axis::log(low, high);
            assert!(axis.ticks.len() < 1000 && axis.ticks.iter().all(|(at, _)| at.is_finite()));
        }
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0] {
            assert!(Axis::log(0.1, 0.1).place(value).is_finite());
        }
    }
}
