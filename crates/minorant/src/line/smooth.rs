//! Lines of smooth risks: no breakpoints, slopes by one sweep over the examples' outputs.

use super::piecewise::LineData;
use super::{Line, Pivot, Slopes};
use crate::risk::Loss;
use minorant_linalg::parallel::map;
use std::ops::Range;

/// The line of a smooth risk.
#[derive(Debug)]
pub(crate) struct SmoothLine<'r, L> {
    data: LineData<'r, L>,
    rows: &'r [Range<usize>],
}

impl<'r, L: Loss> SmoothLine<'r, L> {
    pub(crate) fn new(data: LineData<'r, L>, rows: &'r [Range<usize>]) -> Self {
        SmoothLine { data, rows }
    }
}

impl<L: Loss> Line for SmoothLine<'_, L> {
    fn value(&self, eta: f64) -> f64 {
        self.data.value(self.rows, eta)
    }

    fn slopes(&mut self, eta: f64) -> Slopes {
        let loss = self.data.loss;
        let sums = map(self.rows.len(), |shard| {
            let (mut at, mut c) = (vec![0.0; loss.outputs()], vec![0.0; loss.outputs()]);
            let mut sum = 0.0;
            self.data.for_each(self.rows[shard].clone(), |i, weight, f, d| {
                for ((a, f), d) in at.iter_mut().zip(f).zip(d) {
                    *a = f + eta * d;
                }
                loss.tangent(i, &at, &mut c);
                sum += weight * c.iter().zip(d).map(|(c, d)| c * d).sum::<f64>();
            });
            sum
        });
        let slope = sums.iter().sum();
        Slopes { left: slope, right: slope }
    }

    fn ends(&self) -> Option<(f64, f64)> {
        None
    }

    fn pivot(&mut self, _lo: f64, _hi: f64) -> Option<Pivot> {
        None
    }
}
