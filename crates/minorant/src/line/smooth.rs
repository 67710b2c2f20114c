//! Chunks of a line of a smooth risk: no breakpoints; slopes at several steps by one sweep over the
//! examples' outputs.

use super::line_rows::LineData;
use super::{LineShare, Side};
use minorant_linalg::parallel::map;
use std::ops::Range;

/// The chunks of a smooth risk as a share of a line.
pub(crate) struct SmoothLine<'r> {
    data: LineData<'r>,
    chunks: &'r [Range<usize>],
}

impl<'r> SmoothLine<'r> {
    pub(crate) fn new(data: LineData<'r>, chunks: &'r [Range<usize>]) -> Self {
        SmoothLine { data, chunks }
    }
}

impl LineShare for SmoothLine<'_> {
    fn value(&self, eta: f64) -> Vec<f64> {
        self.data.values(self.chunks, eta)
    }

    fn slope(&self, eta: f64, _side: Side) -> Vec<f64> {
        self.curve(&[eta]).chunks_exact(2).map(|both| both[0]).collect()
    }

    fn curve(&self, steps: &[f64]) -> Vec<f64> {
        let chunks = &self.chunks;
        map(chunks.len(), |chunk| self.data.curve(chunks[chunk].clone(), steps)).concat()
    }
}
