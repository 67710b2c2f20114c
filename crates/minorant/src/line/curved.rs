//! The exact line search where the slope is not affine between breakpoints: its root by inverse
//! interpolation. What is known of the slope (and where the loss tells it, how fast the slope changes)
//! at the nearest steps gives the step as a function of the slope, whose value at 0 is the next guess.
//! Where guesses do not close in, the bracket is cut into four. Each sweep asks for a few steps at
//! once, in one exchange.

use super::search::LONGEST;
use super::{Line, Quadratic, Side};

/// What is known of the slope at a step.
#[derive(Debug, Clone, Copy)]
struct Known {
    at: f64,
    slope: f64,
    /// How fast the slope changes, NaN where nobody knows.
    rate: f64,
    /// The slopes that this one is the sum of, all taken to be positive.
    size: f64,
}

/// Sweeps after which the best step is taken.
const SWEEPS: usize = 60;
/// A slope this small against that at the line's start is as good as none.
const FLAT: f64 = 1e-13;
/// A slope this small against the risk's and the regularizer's, which it is the sum of, is nothing but
/// rounding.
const ROUNDING: f64 = 4.0 * f64::EPSILON;
/// The same for a slope that the last sweep did not make smaller: sums over many rows round more.
const STUCK: f64 = 1e-12;
/// How narrow a bracket can become.
const NARROW: f64 = 1e-14;
/// Steps whose slopes go into a guess.
const NEAREST: usize = 3;
/// How far ahead the next step lies at least and at most while the slope is negative everywhere.
const AHEAD: (f64, f64) = (1.5, 1e6);
/// A sweep that leaves more than this of the bracket and of the slope has not closed in.
const CLOSER: f64 = 0.25;
/// A rate at which the slope would not reach 0 within so many brackets tells nothing of the slope there.
const TRUSTED: f64 = 2.0;
/// A bracket whose ends are further apart than this is cut at even ratios.
const WIDE: f64 = 16.0;

/// The minimiser over η ≥ 0 of `line(η) + quadratic(η)`; infinite if it falls for ever.
pub(super) fn minimise(line: &Line<'_>, quadratic: Quadratic) -> f64 {
    let (lo, hi) = (0.0, f64::INFINITY);
    let mut root = Root { line, quadratic, known: Vec::new(), lo, hi, first: 0.0 };
    root.sweep(&[0.0, 1.0]);
    while root.hi == f64::INFINITY {
        if root.lo > LONGEST {
            return f64::INFINITY;
        }
        // Where the slope does not change there is no guess, and the shortest step is taken.
        let next = root.guess().0.max(AHEAD.0 * root.lo).min(AHEAD.1 * root.lo);
        root.sweep(&[next, 2.0 * next]);
    }
    if root.hi == 0.0 {
        return 0.0;
    }
    root.first = root.known.iter().find(|known| known.at == 0.0).map_or(0.0, |k| k.slope.abs());
    root.stop_at_kink().unwrap_or_else(|| root.close_in())
}

struct Root<'l, 'r> {
    line: &'l Line<'r>,
    quadratic: Quadratic,
    /// From the smallest slope to the largest, whatever their signs.
    known: Vec<Known>,
    /// The slope is negative at `lo` and not at `hi`.
    lo: f64,
    hi: f64,
    /// The size of the slope at 0.
    first: f64,
}

impl Root<'_, '_> {
    /// Asks for the slopes at ascending steps within the bracket.
    fn sweep(&mut self, steps: &[f64]) {
        for (at, (slope, rate)) in steps.iter().zip(self.line.curve(steps)) {
            let Quadratic { slope: fall, curvature } = self.quadratic;
            let size = slope.abs() + fall.abs() + curvature * at;
            let slope = slope + self.quadratic.at(*at);
            self.learn(Known { at: *at, slope, rate: rate + curvature, size });
        }
    }

    fn learn(&mut self, known: Known) {
        if known.at < self.hi {
            *if known.slope < 0.0 { &mut self.lo } else { &mut self.hi } = known.at;
        }
        let place = self.known.partition_point(|other| other.slope.abs() < known.slope.abs());
        self.known.insert(place, known);
    }

    /// Where the slope jumps over 0, if that is at a kink that is known.
    fn stop_at_kink(&mut self) -> Option<f64> {
        for at in self.line.kinks() {
            if self.lo < at && at < self.hi {
                let slope = self.quadratic.at(at);
                let [left, right] =
                    [Side::Before, Side::After].map(|side| slope + self.line.slope(at, side));
                if left < 0.0 && right >= 0.0 {
                    return Some(at);
                }
                // What lies beyond the kink tells nothing of this side.
                let slope = if right < 0.0 { right } else { left };
                self.learn(Known { at, slope, rate: f64::NAN, size: slope.abs() });
                let (lo, hi) = (self.lo, self.hi);
                self.known.retain(|known| lo <= known.at && known.at <= hi);
            }
        }
        None
    }

    /// Sweeps until only rounding is left of the slope.
    fn close_in(&mut self) -> f64 {
        let flat = FLAT * self.first;
        let mut is_closing_in = true;
        for _ in 0..SWEEPS {
            let (nearest, width) = (self.known[0], self.hi - self.lo);
            let share = if is_closing_in { ROUNDING } else { STUCK };
            let rounding = flat.max(share * nearest.size);
            if nearest.slope.abs() <= rounding || width <= NARROW * self.hi {
                break;
            }
            let (guess, doubt) = self.guess();
            let mut steps = vec![guess];
            if !is_closing_in {
                steps.extend(self.cuts());
            } else if nearest.rate.is_nan() {
                steps.extend([guess - doubt, guess + doubt]);
            } else if nearest.slope.abs() <= TRUSTED * nearest.rate * width
                && doubt <= (rounding / nearest.rate).max(NARROW * guess)
                && self.lo < guess
                && guess < self.hi
            {
                return guess;
            }
            steps.retain(|step| self.lo < *step && *step < self.hi);
            if steps.is_empty() {
                steps.extend(self.cuts());
            }
            steps.sort_by(f64::total_cmp);
            self.sweep(&steps);
            let is_narrower = self.hi - self.lo <= CLOSER * width;
            is_closing_in =
                is_narrower || self.known[0].slope.abs() <= CLOSER * nearest.slope.abs();
        }
        self.known[0].at
    }

    /// The step at which the slope is 0 by what the nearest steps tell, and how far it may be off:
    /// Newton's form of the polynomial through them, in which a step whose rate is known counts twice.
    fn guess(&self) -> (f64, f64) {
        let mut slopes: Vec<f64> = Vec::with_capacity(2 * NEAREST);
        let mut differences: Vec<f64> = Vec::with_capacity(2 * NEAREST);
        let mut terms: Vec<f64> = Vec::with_capacity(2 * NEAREST);
        let mut product = 1.0;
        for known in self.known.iter().take(NEAREST) {
            if slopes.contains(&known.slope) {
                continue;
            }
            let times = if known.rate > 0.0 && known.rate < f64::INFINITY { 2 } else { 1 };
            for time in 0..times {
                // The divided differences that end with this step, by those that ended before it.
                let mut difference = known.at;
                for (order, before) in differences.iter_mut().rev().enumerate() {
                    let from = slopes[slopes.len() - 1 - order];
                    let next = if time == 1 && order == 0 {
                        known.rate.recip()
                    } else {
                        (difference - *before) / (known.slope - from)
                    };
                    *before = std::mem::replace(&mut difference, next);
                }
                differences.insert(0, difference);
                terms.push(difference * product);
                product *= -known.slope;
                slopes.push(known.slope);
            }
        }
        // A step that is far away moves the guess little, however wrong that is: what the last term of
        // the two nearest steps has moved counts as well.
        let open = terms.len().saturating_sub(1).min(3);
        (terms.iter().sum(), terms[open..].iter().map(|term| term.abs()).sum())
    }

    /// Steps that cut the bracket into four.
    fn cuts(&self) -> [f64; 3] {
        let lo = self.lo.max(f64::EPSILON * self.hi);
        if self.hi > WIDE * lo {
            let ratio = (self.hi / lo).sqrt().sqrt();
            [lo * ratio, lo * ratio * ratio, lo * ratio * ratio * ratio]
        } else {
            [0.25, 0.5, 0.75].map(|share| self.lo + share * (self.hi - self.lo))
        }
    }
}
