//! The rows of a linear risk along a line: the outputs at the line's start, their direction and
//! the weight of each row; and the pieces that the losses of a chunk of rows have along the line. A loss
//! is asked for many rows at a time, so that a call through a pointer is paid once for many rows.

use super::piecewise::PieceSource;
use super::{Breakpoint, Envelope, Pieces};
use crate::risk::loss::Piecewise;
use crate::risk::{ExampleWeights, Loss};
use minorant_linalg::parallel::map;
use std::borrow::Cow;
use std::ops::Range;

/// Rows whose outputs are written down together.
const BLOCK: usize = 64;

/// The chunks of a linear risk whose loss tells its pieces.
pub(crate) struct PiecewiseRows<'r> {
    pub(crate) data: LineData<'r>,
    pub(crate) loss: &'r dyn Piecewise,
    pub(crate) chunks: &'r [Range<usize>],
}

impl PieceSource for PiecewiseRows<'_> {
    fn chunks(&self) -> usize {
        self.chunks.len()
    }

    fn pieces(&self, chunk: usize, interval: (f64, f64), sense: f64) -> LinePieces {
        let mut pieces = LinePieces::default();
        let rows = self.data.rows(self.chunks[chunk].clone(), sense);
        self.loss.add_pieces_of_rows(&rows, interval, &mut pieces);
        pieces
    }

    fn values(&self, eta: f64) -> Vec<f64> {
        self.data.values(self.chunks, eta)
    }
}

/// Outputs of all examples at the line's start and its direction, with the loss over them.
pub(crate) struct LineData<'r> {
    pub(crate) loss: &'r dyn Loss,
    pub(crate) weights: &'r ExampleWeights,
    pub(crate) start: Cow<'r, [f64]>,
    pub(crate) direction: Vec<f64>,
}

/// Consecutive rows along a line.
#[derive(Debug)]
pub struct LineRows<'r> {
    rows: Range<usize>,
    weights: &'r ExampleWeights,
    start: &'r [f64],
    direction: &'r [f64],
    /// 1, or −1 where the line is walked backwards.
    sense: f64,
}

/// What the rows of a chunk tell of their pieces on an interval of the line.
#[derive(Debug, Default)]
pub struct LinePieces {
    /// Slope just after the interval's start: constant and linear term.
    pub(super) start: [f64; 2],
    /// Breakpoints strictly inside the interval.
    pub(super) open: Vec<Breakpoint>,
}

impl LinePieces {
    /// What an example of this weight writes its pieces into.
    #[inline]
    pub fn of_example<'s>(
        &'s mut self,
        interval: (f64, f64),
        weight: f64,
        envelope: &'s mut Envelope,
    ) -> Pieces<'s> {
        Pieces::new(interval, weight, &mut self.start, &mut self.open, envelope)
    }
}

impl LineRows<'_> {
    /// Calls `work` with the number, the weight, the start and the direction of each row, which has
    /// `outputs` of them.
    #[inline]
    pub fn for_each(&self, outputs: usize, mut work: impl FnMut(usize, f64, &[f64], &[f64])) {
        let rows = self.rows.clone().zip(self.start.chunks_exact(outputs));
        let rows = rows.zip(self.direction.chunks_exact(outputs));
        if self.sense == 1.0 {
            rows.for_each(|((i, f), d)| work(i, self.weights.of(i), f, d));
            return;
        }
        let mut along = vec![0.0; outputs];
        for ((i, f), d) in rows {
            for (a, d) in along.iter_mut().zip(d) {
                *a = self.sense * d;
            }
            work(i, self.weights.of(i), f, &along);
        }
    }
}

impl LineData<'_> {
    /// Some rows, the direction times `sense`.
    pub(super) fn rows(&self, rows: Range<usize>, sense: f64) -> LineRows<'_> {
        let k = self.loss.outputs();
        let span = rows.start * k..rows.end * k;
        let (start, direction) = (&self.start[span.clone()], &self.direction[span]);
        LineRows { rows, weights: self.weights, start, direction, sense }
    }

    /// The risk of each chunk at η.
    pub(super) fn values(&self, chunks: &[Range<usize>], eta: f64) -> Vec<f64> {
        map(chunks.len(), |chunk| {
            let (k, end) = (self.loss.outputs(), chunks[chunk].end);
            let mut at = vec![0.0; BLOCK.min(chunks[chunk].len()) * k];
            let mut values = [0.0; BLOCK];
            let mut sum = 0.0;
            for first in chunks[chunk].clone().step_by(BLOCK) {
                let rows = first..(first + BLOCK).min(end);
                let span = rows.start * k..rows.end * k;
                let at = &mut at[..span.len()];
                advance(&self.start[span.clone()], &self.direction[span], eta, at);
                self.loss.values(rows.clone(), at, &mut values[..rows.len()]);
                for (i, value) in rows.zip(values) {
                    sum += self.weights.of(i) * value;
                }
            }
            sum
        })
    }

    /// The slope of a chunk of a smooth loss at η, and how fast it changes there: NaN where the loss
    /// does not tell it.
    pub(super) fn curve(&self, chunk: Range<usize>, steps: &[f64]) -> Vec<f64> {
        let k = self.loss.outputs();
        let curvature = self.loss.curvature();
        let many = BLOCK.min(chunk.len());
        let (mut at, mut c) = (vec![0.0; many * k], vec![0.0; many * k]);
        let (mut weights, mut rises, mut rates) = ([0.0; BLOCK], [0.0; BLOCK], [f64::NAN; BLOCK]);
        let mut sums = vec![0.0; 2 * steps.len()];
        for first in chunk.clone().step_by(BLOCK) {
            let rows = first..(first + BLOCK).min(chunk.end);
            let span = rows.start * k..rows.end * k;
            let (start, d) = (&self.start[span.clone()], &self.direction[span.clone()]);
            let (at, c) = (&mut at[..span.len()], &mut c[..span.len()]);
            for (weight, i) in weights.iter_mut().zip(rows.clone()) {
                *weight = self.weights.of(i);
            }
            for (eta, sums) in steps.iter().zip(sums.chunks_exact_mut(2)) {
                advance(start, d, *eta, at);
                self.loss.slopes(rows.clone(), at, c);
                if let Some(curvature) = curvature {
                    curvature.rates(rows.clone(), (at, c), d, &mut rates[..rows.len()]);
                }
                row_products(c, d, k, &mut rises);
                for (weight, (rise, rate)) in
                    weights[..rows.len()].iter().zip(rises.iter().zip(&rates))
                {
                    sums[0] += weight * rise;
                    sums[1] += weight * rate;
                }
            }
        }
        sums
    }
}

/// The inner products of the rows of two matrices with `k` columns.
fn row_products(x: &[f64], y: &[f64], k: usize, products: &mut [f64]) {
    if k == 1 {
        // The compiler takes several at a time where it knows that rows are numbers.
        products.iter_mut().zip(x.iter().zip(y)).for_each(|(product, (x, y))| *product = x * y);
        return;
    }
    for (product, (x, y)) in products.iter_mut().zip(x.chunks_exact(k).zip(y.chunks_exact(k))) {
        *product = x.iter().zip(y).map(|(x, y)| x * y).sum();
    }
}

/// The outputs at η.
fn advance(start: &[f64], direction: &[f64], eta: f64, at: &mut [f64]) {
    for (at, (f, d)) in at.iter_mut().zip(start.iter().zip(direction)) {
        *at = f + eta * d;
    }
}
