//! Lines of piecewise linear and quadratic risks, shard by shard. Each shard keeps the breakpoints
//! that are still undecided and folds the others into one affine slope, so that a search that
//! halves its interval does work proportional to the number of breakpoints in all (selection, not
//! sorting). Pivots are deterministic.

use super::{Breakpoint, Envelope, Line, Pieces, Pivot, Slopes};
use crate::risk::{ExampleWeights, Loss};
use minorant_linalg::parallel::{for_each_stretch, map};
use std::ops::Range;

/// Outputs of all examples at the line's start and its direction, with the loss over them.
#[derive(Debug)]
pub(crate) struct LineData<'r, L> {
    pub(crate) loss: &'r L,
    pub(crate) weights: &'r ExampleWeights,
    pub(crate) start: &'r [f64],
    pub(crate) direction: Vec<f64>,
}

impl<L: Loss> LineData<'_, L> {
    /// Calls `work` with each example's number, weight, start and direction.
    pub(crate) fn for_each(
        &self,
        rows: Range<usize>,
        mut work: impl FnMut(usize, f64, &[f64], &[f64]),
    ) {
        let k = self.loss.outputs();
        let span = rows.start * k..rows.end * k;
        let (starts, directions) = (&self.start[span.clone()], &self.direction[span]);
        for ((i, f), d) in rows.zip(starts.chunks_exact(k)).zip(directions.chunks_exact(k)) {
            work(i, self.weights.of(i), f, d);
        }
    }

    /// The risk at η: the sum over shards in order.
    pub(crate) fn value(&self, shards: &[Range<usize>], eta: f64) -> f64 {
        let sums = map(shards.len(), |shard| {
            let mut at = vec![0.0; self.loss.outputs()];
            let mut sum = 0.0;
            self.for_each(shards[shard].clone(), |i, weight, f, d| {
                for ((a, f), d) in at.iter_mut().zip(f).zip(d) {
                    *a = f + eta * d;
                }
                sum += weight * self.loss.value(i, &at);
            });
            sum
        });
        sums.iter().sum()
    }
}

/// The line of a piecewise risk.
#[derive(Debug)]
pub(crate) struct PiecewiseLine<'r, L> {
    data: LineData<'r, L>,
    rows: &'r [Range<usize>],
    shards: Vec<Shard>,
    /// The interval that the shards' breakpoints cover, once it is known.
    window: Option<(f64, f64)>,
}

#[derive(Debug, Default)]
struct Shard {
    /// Slope just after the window's start: constant and linear term.
    start: [f64; 2],
    /// Breakpoints strictly inside the window.
    open: Vec<Breakpoint>,
}

/// Below this many open breakpoints threads cost more than they give.
const PARALLEL: usize = 1 << 14;

impl<'r, L: Loss> PiecewiseLine<'r, L> {
    pub(crate) fn new(data: LineData<'r, L>, rows: &'r [Range<usize>]) -> Self {
        PiecewiseLine { data, rows, shards: Vec::new(), window: None }
    }

    /// The pieces between `from` and `to` of the line along `sense` times the direction.
    fn build(&self, from: f64, to: f64, sense: f64) -> Vec<Shard> {
        let build = |rows: &Range<usize>| {
            let mut shard = Shard::default();
            let mut envelope = Envelope::default();
            let mut along = vec![0.0; self.data.loss.outputs()];
            self.data.for_each(rows.clone(), |i, weight, f, d| {
                for (a, d) in along.iter_mut().zip(d) {
                    *a = sense * d;
                }
                let mut pieces = Pieces::new(
                    (from, to),
                    weight,
                    &mut shard.start,
                    &mut shard.open,
                    &mut envelope,
                );
                self.data.loss.pieces(i, f, &along, &mut pieces);
            });
            shard
        };
        map(self.rows.len(), |shard| build(&self.rows[shard]))
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

    fn for_each_shard(&mut self, work: impl Fn(&mut Shard) + Sync + Send) {
        if self.open() >= PARALLEL {
            for_each_stretch(&mut self.shards, 1, |_, shards| shards.iter_mut().for_each(&work));
        } else {
            self.shards.iter_mut().for_each(work);
        }
    }
}

impl Shard {
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

impl<L: Loss> Line for PiecewiseLine<'_, L> {
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
        let after = |s: &Shard| s.start[0] + s.start[1] * lo;
        // Open breakpoints are all before the end.
        let before = |s: &Shard| s.slopes(hi).left;
        Some((self.shards.iter().map(after).sum(), self.shards.iter().map(before).sum()))
    }

    fn pivot(&mut self, lo: f64, hi: f64) -> Option<Pivot> {
        if self.window.is_none() {
            self.shards = self.build(lo, hi, 1.0);
        } else {
            self.for_each_shard(|shard| shard.narrow(lo, hi));
        }
        self.window = Some((lo, hi));
        let mut pivots: Vec<Pivot> = self.shards.iter().filter_map(Shard::pivot).collect();
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
