//! The exact line search: the minimiser over η ≥ 0 of a convex line plus the regularizer's
//! quadratic. It does what Algorithms 3 and 5 of Yu et al. do, by selection instead of sorting: in
//! every round up to 63 breakpoints are candidates, which lie at even shares of all that are open, and
//! the slopes at them leave one stretch between neighbours. A round asks all holders of the line twice,
//! whoever they are, so that a search takes few exchanges even where they are far away. What is left at
//! the end fits into one place. Along lines that are not told by pieces `curved.rs` goes on.

use super::share::{MOST_STEPS, SlopeRow};
use super::sum::PiecewiseSum;
use super::{Line, Samples, curved, select};

/// The regularizer along the line, up to a constant: slope · η + curvature · η² / 2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quadratic {
    /// Slope at η = 0.
    pub slope: f64,
    /// Second derivative.
    pub curvature: f64,
}

impl Quadratic {
    /// The slope at η.
    pub(super) fn at(&self, eta: f64) -> f64 {
        self.slope + self.curvature * eta
    }
}

/// Beyond this step a line is taken to fall for ever.
pub(super) const LONGEST: f64 = 1e30;
/// Where the minimiser is looked for first; later these steps times 16, and so on.
const LADDER: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
/// Breakpoints that are brought to one place.
const FEW: usize = 1 << 14;
/// Breakpoints that candidates are chosen from, and the fewest of one chunk.
const SAMPLES: usize = 512;
const SAMPLES_OF_CHUNK: usize = 4;

/// The least minimiser over η ≥ 0 of `line(η) + quadratic(η)`; infinite if it falls for ever.
pub fn minimise(line: &mut Line<'_>, quadratic: Quadratic) -> f64 {
    if let Some(pieces) = line.pieces() {
        return minimise_pieces(pieces, quadratic);
    }
    curved::minimise(line, quadratic)
}

fn minimise_pieces(mut line: PiecewiseSum<'_>, quadratic: Quadratic) -> f64 {
    let mut place = match bracket(&mut line, quadratic) {
        Place::Between(stretch) => stretch,
        Place::At(step) => return step,
    };
    while place.count > FEW {
        let interval = (place.lo, place.hi);
        let most = (SAMPLES / line.chunks()).max(SAMPLES_OF_CHUNK);
        let steps = candidates(&line.samples(interval, most));
        let slopes = line.slopes(interval, &steps);
        place = match locate(&SlopeRow(&slopes), interval, &steps, quadratic) {
            Place::Between(stretch) => stretch,
            Place::At(step) => return step,
        };
    }
    let interval = (place.lo, place.hi);
    select::least_root(line.gather(interval), quadratic, interval)
}

/// A stretch of the line in which the slope becomes positive, and how many breakpoints it has.
struct Stretch {
    lo: f64,
    hi: f64,
    count: usize,
}

/// Where the minimiser is.
enum Place {
    At(f64),
    Between(Stretch),
}

/// A stretch between neighbouring powers of 2, by as many exchanges as there are sixteenfold steps.
fn bracket(line: &mut PiecewiseSum<'_>, quadratic: Quadratic) -> Place {
    let (mut from, mut scale) = (0.0, 1.0);
    while scale <= LONGEST {
        let [steps @ .., to] = LADDER.map(|step| scale * step);
        let numbers = line.slopes((from, to), &steps);
        let slopes = SlopeRow(&numbers);
        let place = locate(&slopes, (from, to), &steps, quadratic);
        let ends_here = match &place {
            Place::At(_) => true,
            Place::Between(stretch) => stretch.hi < to || slopes.last() + quadratic.at(to) >= 0.0,
        };
        if ends_here {
            return place;
        }
        (from, scale) = (to, 2.0 * to);
    }
    Place::At(f64::INFINITY)
}

/// The stretch between neighbouring steps in which the slope becomes positive; the one after the last
/// step where it is negative up to there.
fn locate(
    slopes: &SlopeRow<'_>,
    (mut lo, hi): (f64, f64),
    steps: &[f64],
    quadratic: Quadratic,
) -> Place {
    if slopes.first() + quadratic.at(lo) >= 0.0 {
        return Place::At(lo);
    }
    for (i, &step) in steps.iter().enumerate() {
        let (left, right) = slopes.at(i);
        if right + quadratic.at(step) < 0.0 {
            lo = step;
        } else if left + quadratic.at(step) >= 0.0 {
            return Place::Between(Stretch { lo, hi: step, count: slopes.count_before(i) });
        } else {
            return Place::At(step);
        }
    }
    Place::Between(Stretch { lo, hi, count: slopes.count_before(steps.len()) })
}

/// Samples at even shares of all open breakpoints, in ascending order.
fn candidates(chunks: &[Samples]) -> Vec<f64> {
    let mut samples: Vec<(f64, f64)> = Vec::new();
    for Samples { count, at } in chunks {
        let share = *count as f64 / at.len() as f64;
        samples.extend(at.iter().map(|at| (*at, share)));
    }
    samples.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = samples.iter().map(|sample| sample.1).sum();
    let mut steps: Vec<f64> = Vec::with_capacity(MOST_STEPS);
    let mut below = 0.0;
    let mut due = 1.0;
    for (at, share) in samples {
        below += share;
        if below * (MOST_STEPS + 1) as f64 >= due * total && steps.len() < MOST_STEPS {
            due = 1.0 + (below * (MOST_STEPS + 1) as f64 / total).floor();
            if steps.last() != Some(&at) {
                steps.push(at);
            }
        }
    }
    steps
}
