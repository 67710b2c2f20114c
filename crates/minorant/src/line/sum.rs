//! A line as the sum of its chunks, whoever holds them: numbers of chunks are added up in the order of
//! the chunks, with compensation. Each question to the holders is one exchange with all of them.

use super::{Breakpoint, LineShare, PiecewiseShare, Samples, Side, SlopeRow};
use minorant_linalg::sum::Sum;
use std::fmt;

/// The one-sided derivatives of a convex function of η.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slopes {
    /// The derivative from the left.
    pub left: f64,
    /// The derivative from the right.
    pub right: f64,
}

/// A risk restricted to a line, as a function of the step η ≥ 0.
pub struct Line<'r> {
    shares: Vec<Box<dyn LineShare + 'r>>,
}

impl<'r> Line<'r> {
    /// The sum of all shares, which are given in the order of their chunks.
    pub fn new(shares: Vec<Box<dyn LineShare + 'r>>) -> Self {
        Line { shares }
    }

    /// Adds a share, behind all others.
    pub fn add(&mut self, share: impl LineShare + 'r) {
        self.shares.push(Box::new(share));
    }

    /// A line of which one holder has everything.
    pub fn whole(share: impl LineShare + 'r) -> Self {
        Line::new(vec![Box::new(share)])
    }

    /// The risk at η.
    pub fn value(&self, eta: f64) -> f64 {
        fold(1, self.shares.iter().map(|share| share.value(eta)))[0]
    }

    /// The slope on one side of η.
    pub fn slope(&self, eta: f64, side: Side) -> f64 {
        fold(1, self.shares.iter().map(|share| share.slope(eta, side)))[0]
    }

    /// The one-sided slopes at η.
    pub fn slopes(&self, eta: f64) -> Slopes {
        Slopes { left: self.slope(eta, Side::Before), right: self.slope(eta, Side::After) }
    }

    /// The slope just after `from`, as constant and linear term, and all breakpoints strictly
    /// between `from` and `to`, in the order of the chunks; nothing where the slope is not affine
    /// between breakpoints.
    pub fn breakpoints(&mut self, from: f64, to: f64) -> Option<([f64; 2], Vec<Breakpoint>)> {
        let Gathered { start, open } = self.pieces()?.gather((from, to));
        Some((start.map(Sum::value), open))
    }

    /// The slopes at some steps and how fast they change there (NaN where nobody knows).
    pub(super) fn curve(&self, steps: &[f64]) -> Vec<(f64, f64)> {
        let folded = fold(2 * steps.len(), self.shares.iter().map(|share| share.curve(steps)));
        folded.chunks_exact(2).map(|both| (both[0], both[1])).collect()
    }

    /// Kinks that are known of a line that is not told by pieces.
    pub(super) fn kinks(&self) -> Vec<f64> {
        self.shares.iter().filter_map(|share| share.kink()).collect()
    }

    /// The line by its pieces, where its slope is affine between breakpoints.
    pub(super) fn pieces(&mut self) -> Option<PiecewiseSum<'_>> {
        let shares: Option<Vec<_>> = self.shares.iter_mut().map(|share| share.pieces()).collect();
        Some(PiecewiseSum { shares: shares? })
    }
}

impl fmt::Debug for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("shares", &self.shares.len()).finish_non_exhaustive()
    }
}

/// The sum of a line's pieces.
pub(super) struct PiecewiseSum<'l> {
    shares: Vec<&'l mut dyn PiecewiseShare>,
}

/// All open breakpoints of a line in one place.
#[derive(Debug)]
pub(super) struct Gathered {
    /// The slope just after the interval's start: constant and linear term.
    pub(super) start: [Sum; 2],
    /// The breakpoints, in the order of the chunks.
    pub(super) open: Vec<Breakpoint>,
}

impl PiecewiseSum<'_> {
    pub(super) fn chunks(&self) -> usize {
        self.shares.iter().map(|share| share.chunks()).sum()
    }

    /// What [`SlopeRow`] holds of an interval and of ascending steps inside of it.
    pub(super) fn slopes(&mut self, interval: (f64, f64), steps: &[f64]) -> Vec<f64> {
        let answers = self.shares.iter_mut().map(|share| share.slopes(interval, steps));
        fold(SlopeRow::width(steps.len()), answers)
    }

    /// Some breakpoints of each chunk.
    pub(super) fn samples(&mut self, interval: (f64, f64), most: usize) -> Vec<Samples> {
        self.shares.iter_mut().flat_map(|share| share.samples(interval, most)).collect()
    }

    /// All open breakpoints.
    pub(super) fn gather(&mut self, interval: (f64, f64)) -> Gathered {
        let mut chunks = self.shares.iter_mut().flat_map(|share| share.gather(interval));
        let mut all = Gathered { start: [Sum::new(); 2], open: Vec::new() };
        if let Some(first) = chunks.next() {
            first.start.iter().zip(&mut all.start).for_each(|(number, sum)| sum.add(*number));
            all.open = first.open;
        }
        for chunk in chunks {
            chunk.start.iter().zip(&mut all.start).for_each(|(number, sum)| sum.add(*number));
            all.open.extend(chunk.open);
        }
        all
    }
}

/// Adds up rows of `width` numbers, column by column in their order.
fn fold(width: usize, answers: impl Iterator<Item = Vec<f64>>) -> Vec<f64> {
    let mut sums = vec![Sum::new(); width];
    for rows in answers {
        for row in rows.chunks_exact(width) {
            sums.iter_mut().zip(row).for_each(|(sum, number)| sum.add(*number));
        }
    }
    sums.into_iter().map(Sum::value).collect()
}
