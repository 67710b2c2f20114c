//! The objective along a line: what a risk tells of its restriction to w + η p ([`Line`]), and the
//! one exact search that serves every convex risk ([`search`]); beside it stands one for risks that
//! are not convex ([`global`]). Slopes and pivots add up over shards and terms, so a sum of lines is
//! a line.

mod envelope;
pub mod global;
mod line_rows;
mod pieces;
mod piecewise;
pub mod search;
mod smooth;

pub use envelope::{Envelope, Segment};
pub use global::minimise_globally;
pub(crate) use line_rows::LineData;
pub use line_rows::{LinePieces, LineRows};
pub use pieces::{Breakpoint, Pieces};
pub(crate) use piecewise::PiecewiseLine;
pub use search::{Quadratic, minimise};
pub(crate) use smooth::SmoothLine;

/// The one-sided derivatives of a convex function of η.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slopes {
    /// The derivative from the left.
    pub left: f64,
    /// The derivative from the right.
    pub right: f64,
}

/// A breakpoint near the middle of those in an interval, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pivot {
    /// A breakpoint strictly inside the interval.
    pub at: f64,
    /// The number of breakpoints strictly inside the interval.
    pub count: usize,
}

/// A risk restricted to a line, as a function of the step η ≥ 0. Pivots halve intervals only where
/// it is convex.
pub trait Line {
    /// The risk at η.
    fn value(&self, eta: f64) -> f64;

    /// The one-sided slopes at η.
    fn slopes(&mut self, eta: f64) -> Slopes;

    /// The slope just after η.
    fn slope_after(&mut self, eta: f64) -> f64 {
        self.slopes(eta).right
    }

    /// The slopes just after the start and just before the end of the interval of the last
    /// [`Line::pivot`], as its breakpoints tell them; nothing where the slope is not affine between
    /// breakpoints.
    fn ends(&self) -> Option<(f64, f64)>;

    /// A pivot among the breakpoints strictly between `lo` and `hi`, or nothing if there are none.
    /// Intervals of successive calls are nested.
    fn pivot(&mut self, lo: f64, hi: f64) -> Option<Pivot>;

    /// The slope just after `from`, as constant and linear term, and all breakpoints strictly
    /// between `from` and `to`, in no particular order; nothing where the slope is not affine
    /// between breakpoints.
    fn breakpoints(&self, _from: f64, _to: f64) -> Option<([f64; 2], Vec<Breakpoint>)> {
        None
    }
}
