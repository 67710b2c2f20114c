//! Lines of smooth risks: no breakpoints, slopes by one sweep over the examples' outputs.

use super::line_rows::LineData;
use super::{Line, Pivot, Slopes};
use std::ops::Range;

/// The line of a smooth risk.
pub(crate) struct SmoothLine<'r> {
    data: LineData<'r>,
    rows: &'r [Range<usize>],
}

impl<'r> SmoothLine<'r> {
    pub(crate) fn new(data: LineData<'r>, rows: &'r [Range<usize>]) -> Self {
        SmoothLine { data, rows }
    }
}

impl Line for SmoothLine<'_> {
    fn value(&self, eta: f64) -> f64 {
        self.data.value(self.rows, eta)
    }

    fn slopes(&mut self, eta: f64) -> Slopes {
        let slope = self.data.slope(self.rows, eta);
        Slopes { left: slope, right: slope }
    }

    fn ends(&self) -> Option<(f64, f64)> {
        None
    }

    fn pivot(&mut self, _lo: f64, _hi: f64) -> Option<Pivot> {
        None
    }
}
