//! Chunks of a line whose pieces are known. Each chunk keeps the breakpoints that are still open and
//! folds the others into one affine slope, so that a search which narrows its interval does work
//! proportional to the number of breakpoints in all. Slopes at many steps cost one look at each open
//! breakpoint, which puts it into its bin.

use super::share::MOST_STEPS;
use super::{LinePieces, LineShare, PiecewiseShare, Samples, Side, SlopeRow};
use minorant_linalg::parallel::{for_each_stretch, map};

/// Chunks that tell their pieces.
pub(crate) trait PieceSource: Sync {
    /// Number of chunks.
    fn chunks(&self) -> usize;

    /// The pieces of a chunk on an interval of the line along `sense` times its direction.
    fn pieces(&self, chunk: usize, interval: (f64, f64), sense: f64) -> LinePieces;

    /// The values of all chunks at a step.
    fn values(&self, eta: f64) -> Vec<f64>;
}

/// The chunks of a source as a share of a line.
pub(crate) struct PiecewiseLine<S> {
    source: S,
    chunks: Vec<LinePieces>,
    /// The interval that the chunks' breakpoints cover, once it is known.
    window: Option<(f64, f64)>,
}

/// Below this many open breakpoints threads cost more than they give.
const PARALLEL: usize = 1 << 14;

impl<S: PieceSource> PiecewiseLine<S> {
    pub(crate) fn new(source: S) -> Self {
        PiecewiseLine { source, chunks: Vec::new(), window: None }
    }

    fn open(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.open.len()).sum()
    }

    /// Leaves the breakpoints strictly inside of the interval open.
    fn narrow(&mut self, interval: (f64, f64)) {
        let (lo, hi) = interval;
        match self.window {
            Some(window) if window == interval => return,
            Some((from, to)) if from <= lo && hi <= to => {
                let is_large = self.open() >= PARALLEL;
                let work = |chunks: &mut [LinePieces]| {
                    chunks.iter_mut().for_each(|chunk| chunk.narrow(lo, hi));
                };
                if is_large {
                    for_each_stretch(&mut self.chunks, 1, |_, chunks| work(chunks));
                } else {
                    work(&mut self.chunks);
                }
            }
            _ => {
                let source = &self.source;
                self.chunks = map(source.chunks(), |chunk| source.pieces(chunk, interval, 1.0));
            }
        }
        self.window = Some(interval);
    }
}

impl LinePieces {
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

    /// Fills a [`SlopeRow`] of the interval whose breakpoints are open.
    fn tell_slopes(&self, (lo, hi): (f64, f64), steps: &Steps<'_>, row: &mut [f64]) {
        // Two bins for each step: breakpoints before it, and at it.
        let many = steps.ascending.len();
        let mut bins = vec![([0.0; 2], 0u64); 2 * (many + 1)];
        for point in &self.open {
            let (change, count) = &mut bins[steps.bin(point.at)];
            change[0] += point.constant;
            change[1] += point.linear;
            *count += 1;
        }
        let [mut constant, mut linear] = self.start;
        row[0] = constant + linear * lo;
        for (place, (change, count)) in bins[..=2 * many].iter().enumerate() {
            constant += change[0];
            linear += change[1];
            let at = steps.ascending.get(place / 2).unwrap_or(&hi);
            row[place + 1] = constant + linear * at;
            if place % 2 == 0 {
                row[2 * many + 2 + place / 2] = *count as f64;
            }
        }
    }

    /// At most so many of the open breakpoints, one of each stretch of the list. Where in its stretch a
    /// sample lies follows no order that the list could have as well.
    fn samples(&self, most: usize) -> Samples {
        let count = self.open.len();
        let stretches = count.min(most);
        let sample = |i: usize| {
            let (first, end) = (i * count / stretches, (i + 1) * count / stretches);
            let scattered = ((count + i) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            self.open[first + scattered as usize % (end - first)].at
        };
        Samples { count, at: (0..stretches).map(sample).collect() }
    }
}

/// Ascending steps, and behind them as many infinite ones as a search by halves needs.
struct Steps<'s> {
    ascending: &'s [f64],
    padded: [f64; MOST_STEPS + 1],
    half: usize,
}

impl<'s> Steps<'s> {
    fn new(ascending: &'s [f64]) -> Self {
        let mut padded = [f64::INFINITY; MOST_STEPS + 1];
        padded[..ascending.len()].copy_from_slice(ascending);
        Steps { ascending, padded, half: (ascending.len() + 1).next_power_of_two() / 2 }
    }

    /// Twice the number of steps before a place, and 1 more at a step.
    #[inline]
    fn bin(&self, at: f64) -> usize {
        let (mut below, mut half) = (0, self.half);
        while half > 0 {
            // Without a branch: on which side a breakpoint lies, no processor can foresee.
            below += half * usize::from(self.padded[(below + half - 1) & MOST_STEPS] < at);
            half /= 2;
        }
        2 * below + usize::from(self.padded[below & MOST_STEPS] == at)
    }
}

impl<S: PieceSource> LineShare for PiecewiseLine<S> {
    fn value(&self, eta: f64) -> Vec<f64> {
        self.source.values(eta)
    }

    fn slope(&self, eta: f64, side: Side) -> Vec<f64> {
        let sense = if side == Side::After { 1.0 } else { -1.0 };
        let at = sense * eta;
        map(self.source.chunks(), |chunk| {
            let [constant, linear] = self.source.pieces(chunk, (at, at), sense).start;
            sense * (constant + linear * at)
        })
    }

    fn curve(&self, steps: &[f64]) -> Vec<f64> {
        let of_chunk = |chunk: usize| -> Vec<f64> {
            let at = |step: &f64| {
                let [constant, linear] = self.source.pieces(chunk, (*step, *step), 1.0).start;
                [constant + linear * step, linear]
            };
            steps.iter().flat_map(at).collect()
        };
        map(self.source.chunks(), of_chunk).concat()
    }

    fn pieces(&mut self) -> Option<&mut dyn PiecewiseShare> {
        Some(self)
    }
}

impl<S: PieceSource> PiecewiseShare for PiecewiseLine<S> {
    fn chunks(&self) -> usize {
        self.source.chunks()
    }

    fn slopes(&mut self, interval: (f64, f64), steps: &[f64]) -> Vec<f64> {
        self.narrow(interval);
        let (width, steps) = (SlopeRow::width(steps.len()), Steps::new(steps));
        let mut rows = vec![0.0; width * self.chunks.len()];
        if self.open() >= PARALLEL {
            for_each_stretch(&mut rows, width, |chunk, row| {
                self.chunks[chunk].tell_slopes(interval, &steps, row);
            });
        } else {
            for (chunk, row) in self.chunks.iter().zip(rows.chunks_exact_mut(width)) {
                chunk.tell_slopes(interval, &steps, row);
            }
        }
        rows
    }

    fn samples(&mut self, interval: (f64, f64), most: usize) -> Vec<Samples> {
        self.narrow(interval);
        self.chunks.iter().map(|chunk| chunk.samples(most)).collect()
    }

    fn gather(&mut self, interval: (f64, f64)) -> Vec<LinePieces> {
        self.narrow(interval);
        self.window = None;
        std::mem::take(&mut self.chunks)
    }
}
