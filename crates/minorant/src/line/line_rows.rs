//! The rows of a linear risk along a line: the outputs at the line's start, their direction and
//! the weight of each row; and the pieces that the losses of a shard of rows have along the line. A loss
//! is asked for many rows at a time, so that a call through a pointer is paid once for many rows.

use super::{Breakpoint, Envelope, Pieces};
use crate::risk::{ExampleWeights, Loss};
use minorant_linalg::parallel::map;
use std::ops::Range;

/// Rows whose outputs are written down together.
const BLOCK: usize = 64;

/// Outputs of all examples at the line's start and its direction, with the loss over them.
pub(crate) struct LineData<'r> {
    pub(crate) loss: &'r dyn Loss,
    pub(crate) weights: &'r ExampleWeights,
    pub(crate) start: &'r [f64],
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

/// What the rows of a shard tell of their pieces on an interval of the line.
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
        let mut along = vec![0.0; outputs];
        let rows = self.rows.clone().zip(self.start.chunks_exact(outputs));
        for ((i, f), d) in rows.zip(self.direction.chunks_exact(outputs)) {
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

    /// Calls `work` with blocks of rows and their outputs at η.
    pub(super) fn for_each_block(
        &self,
        rows: Range<usize>,
        eta: f64,
        mut work: impl FnMut(Range<usize>, &[f64]),
    ) {
        let k = self.loss.outputs();
        let mut at = vec![0.0; BLOCK.min(rows.len()) * k];
        for first in rows.clone().step_by(BLOCK) {
            let block = first..(first + BLOCK).min(rows.end);
            let span = block.start * k..block.end * k;
            let at = &mut at[..span.len()];
            let ends = self.start[span.clone()].iter().zip(&self.direction[span]);
            for (at, (f, d)) in at.iter_mut().zip(ends) {
                *at = f + eta * d;
            }
            work(block, at);
        }
    }

    /// The risk at η: the sum over shards in order.
    pub(super) fn value(&self, shards: &[Range<usize>], eta: f64) -> f64 {
        let sums = map(shards.len(), |shard| {
            let mut values = [0.0; BLOCK];
            let mut sum = 0.0;
            self.for_each_block(shards[shard].clone(), eta, |rows, at| {
                self.loss.values(rows.clone(), at, &mut values[..rows.len()]);
                for (i, value) in rows.zip(values) {
                    sum += self.weights.of(i) * value;
                }
            });
            sum
        });
        sums.iter().sum()
    }

    /// The slope at η of a loss that is smooth: the sum over shards in order.
    pub(super) fn slope(&self, shards: &[Range<usize>], eta: f64) -> f64 {
        let k = self.loss.outputs();
        let sums = map(shards.len(), |shard| {
            let mut c = vec![0.0; BLOCK.min(shards[shard].len()) * k];
            let mut sum = 0.0;
            self.for_each_block(shards[shard].clone(), eta, |rows, at| {
                let c = &mut c[..at.len()];
                self.loss.slopes(rows.clone(), at, c);
                let directions = &self.direction[rows.start * k..rows.end * k];
                for (i, (c, d)) in rows.zip(c.chunks_exact(k).zip(directions.chunks_exact(k))) {
                    let rise: f64 = c.iter().zip(d).map(|(c, d)| c * d).sum();
                    sum += self.weights.of(i) * rise;
                }
            });
            sum
        });
        sums.iter().sum()
    }
}
