//! Lines of piecewise linear and quadratic risks, shard by shard. Each shard keeps the breakpoints
//! that are still undecided and folds the others into one affine slope, so that a search that
//! halves its interval does work proportional to the number of breakpoints in all (selection, not
//! sorting). Pivots are deterministic.

use super::line_rows::{LineData, LinePieces};
use super::{Breakpoint, Line, Pivot, Slopes};
use crate::risk::loss::Piecewise;
use minorant_linalg::parallel::{for_each_stretch, map};
use std::ops::Range;

/// The line of a piecewise risk.
pub(crate) struct PiecewiseLine<'r> {
    data: LineData<'r>,
    loss: &'r dyn Piecewise,
    rows: &'r [Range<usize>],
    shards: Vec<LinePieces>,
    /// The interval that the shards' breakpoints cover, once it is known.
    window: Option<(f64, f64)>,
}

/// Below this many open breakpoints threads cost more than they give.
const PARALLEL: usize = 1 << 14;

impl<'r> PiecewiseLine<'r> {
    pub(crate) fn new(
        data: LineData<'r>,
        loss: &'r dyn Piecewise,
        rows: &'r [Range<usize>],
    ) -> Self {
        PiecewiseLine { data, loss, rows, shards: Vec::new(), window: None }
    }

    /// The pieces between `from` and `to` of the line along `sense` times the direction.
    fn build(&self, from: f64, to: f64, sense: f64) -> Vec<LinePieces> {
        map(self.rows.len(), |shard| {
            let mut pieces = LinePieces::default();
            let rows = self.data.rows(self.rows[shard].clone(), sense);
            self.loss.add_pieces_of_rows(&rows, (from, to), &mut pieces);
            pieces
        })
    }

    fn open(&self) -> usize {
        self.shards.iter().map(|s| s.open.len()).sum()
    }

    /// The slope just after η along the direction, or (sense −1) along its reverse.
    fn one_sided_slope(&self, eta: f64, sense: f64) -> f64 {
        let at = sense * eta;
        let shards = self.build(at, at, sense);
        shards.iter().map(|s| s.start[0] + s.start[1] * at).sum()
    }

    fn for_each_shard(&mut self, work: impl Fn(&mut LinePieces) + Sync + Send) {
        if self.open() >= PARALLEL {
            for_each_stretch(&mut self.shards, 1, |_, shards| shards.iter_mut().for_each(&work));
        } else {
            self.shards.iter_mut().for_each(work);
        }
    }
}

impl LinePieces {
    fn slopes(&self, eta: f64) -> Slopes {
        let slope = self.start[0] + self.start[1] * eta;
        let (mut left, mut right) = (slope, slope);
        for point in &self.open {
            if point.at <= eta {
                let change = point.constant + point.linear * eta;
                right += change;
                if point.at < eta {
                    left += change;
                }
            }
        }
        Slopes { left, right }
    }

    fn narrow(&mut self, lo: f64, hi: f64) {
        let start = &mut self.start;
        self.open.retain(|point| {
            if point.at <= lo {
                start[0] += point.constant;
                start[1] += point.linear;
            }
            lo < point.at && point.at < hi
        });
    }

    /// The median of nine breakpoints spread evenly over the list.
    fn pivot(&self) -> Option<Pivot> {
        let count = self.open.len();
        let mut sample: Vec<f64> =
            (0..count.min(9)).map(|i| self.open[i * count / count.min(9)].at).collect();
        sample.sort_unstable_by(f64::total_cmp);
        Some(Pivot { at: *sample.get(sample.len() / 2)?, count })
    }
}

impl Line for PiecewiseLine<'_> {
    fn value(&self, eta: f64) -> f64 {
        self.data.value(self.rows, eta)
    }

    fn slopes(&mut self, eta: f64) -> Slopes {
        match self.window {
            Some((lo, hi)) if lo < eta && eta < hi => {
                let each: Vec<Slopes> = if self.open() >= PARALLEL {
                    map(self.shards.len(), |shard| self.shards[shard].slopes(eta))
                } else {
                    self.shards.iter().map(|s| s.slopes(eta)).collect()
                };
                each.iter().fold(Slopes { left: 0.0, right: 0.0 }, |sum, s| Slopes {
                    left: sum.left + s.left,
                    right: sum.right + s.right,
                })
            }
            _ => Slopes {
                left: -self.one_sided_slope(eta, -1.0),
                right: self.one_sided_slope(eta, 1.0),
            },
        }
    }

    fn slope_after(&mut self, eta: f64) -> f64 {
        self.one_sided_slope(eta, 1.0)
    }

    fn ends(&self) -> Option<(f64, f64)> {
        let (lo, hi) = self.window?;
        let after = |s: &LinePieces| s.start[0] + s.start[1] * lo;
        // Open breakpoints are all before the end.
        let before = |s: &LinePieces| s.slopes(hi).left;
        Some((self.shards.iter().map(after).sum(), self.shards.iter().map(before).sum()))
    }

    fn pivot(&mut self, lo: f64, hi: f64) -> Option<Pivot> {
        if self.window.is_none() {
            self.shards = self.build(lo, hi, 1.0);
        } else {
            self.for_each_shard(|shard| shard.narrow(lo, hi));
        }
        self.window = Some((lo, hi));
        let mut pivots: Vec<Pivot> = self.shards.iter().filter_map(LinePieces::pivot).collect();
        pivots.sort_unstable_by(|a, b| a.at.total_cmp(&b.at));
        let count: usize = pivots.iter().map(|p| p.count).sum();
        let mut below = 0;
        let middle = pivots.iter().find(|p| {
            below += p.count;
            2 * below >= count
        })?;
        Some(Pivot { at: middle.at, count })
    }

    fn breakpoints(&self, from: f64, to: f64) -> Option<([f64; 2], Vec<Breakpoint>)> {
        let mut start = [0.0; 2];
        let mut all = Vec::new();
        for shard in self.build(from, to, 1.0) {
            start[0] += shard.start[0];
            start[1] += shard.start[1];
            all.extend(shard.open);
        }
        Some((start, all))
    }
}
