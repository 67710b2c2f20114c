//! What is asked of whoever holds some of a line's chunks: rows of a risk, or a whole function. Every
//! answer tells one chunk after the other, so that who adds them up ([`Line`](super::Line)) gets the
//! same bits whoever holds which chunks, and on however many threads.

use super::LinePieces;

/// From which side a slope is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// From the left.
    Before,
    /// From the right.
    After,
}

/// Some chunks of a line, as a function of the step η ≥ 0. Answers are rows of numbers, one row for
/// each chunk.
pub trait LineShare {
    /// The value at a step: one number a chunk.
    fn value(&self, eta: f64) -> Vec<f64>;

    /// The slope at a step, wherever it lies: one number a chunk.
    fn slope(&self, eta: f64, side: Side) -> Vec<f64>;

    /// The slopes at some steps and how fast they change there, for lines that are not told by
    /// pieces: two numbers for each step. Rates that nobody knows are NaN.
    fn curve(&self, steps: &[f64]) -> Vec<f64> {
        let columns: Vec<Vec<f64>> = steps.iter().map(|at| self.slope(*at, Side::After)).collect();
        let chunks = columns.first().map_or(0, Vec::len);
        (0..chunks)
            .flat_map(|chunk| columns.iter().flat_map(move |c| [c[chunk], f64::NAN]))
            .collect()
    }

    /// A kink of a line that is not told by pieces, where one is known.
    fn kink(&self) -> Option<f64> {
        None
    }

    /// The pieces of the line, where the slope is affine between breakpoints.
    fn pieces(&mut self) -> Option<&mut dyn PiecewiseShare> {
        None
    }
}

/// Some chunks of a line whose slope is affine between breakpoints. The breakpoints strictly inside of
/// an interval are open, all others are folded into one slope. An interval that lies within the last one
/// leaves only its own breakpoints open; any other is begun afresh.
pub trait PiecewiseShare {
    /// Number of chunks.
    fn chunks(&self) -> usize;

    /// What [`SlopeRow`] holds of an interval and of ascending steps inside of it.
    fn slopes(&mut self, interval: (f64, f64), steps: &[f64]) -> Vec<f64>;

    /// For each chunk how many breakpoints are open, and at most `most` of them.
    fn samples(&mut self, interval: (f64, f64), most: usize) -> Vec<Samples>;

    /// The open breakpoints themselves, and what the others were folded into.
    fn gather(&mut self, interval: (f64, f64)) -> Vec<LinePieces>;
}

/// Some of the breakpoints of a chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    /// How many are open.
    pub count: usize,
    /// Where some of them are.
    pub at: Vec<f64>,
}

/// The most steps whose slopes are asked for at once.
pub(super) const MOST_STEPS: usize = 63;

/// Slopes on an interval as a row of numbers, of a chunk or (they add up) of all of them: the slope just
/// after the interval's start, those just before and just after each step, that just before the
/// interval's end; and the numbers of breakpoints before, between and after the steps.
#[derive(Debug)]
pub struct SlopeRow<'n>(pub &'n [f64]);

impl SlopeRow<'_> {
    /// How many numbers it has for so many steps.
    pub fn width(steps: usize) -> usize {
        3 * steps + 3
    }

    fn steps(&self) -> usize {
        self.0.len() / 3 - 1
    }

    /// The slope just after the interval's start.
    pub fn first(&self) -> f64 {
        self.0[0]
    }

    /// The slopes just before and just after a step.
    pub fn at(&self, step: usize) -> (f64, f64) {
        (self.0[2 * step + 1], self.0[2 * step + 2])
    }

    /// The slope just before the interval's end.
    pub fn last(&self) -> f64 {
        self.0[2 * self.steps() + 1]
    }

    /// How many breakpoints lie strictly between a step and the one before it, or the interval's ends.
    pub fn count_before(&self, step: usize) -> usize {
        self.0[2 * self.steps() + 2 + step] as usize
    }
}
