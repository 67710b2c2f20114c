//! The sizes of the features of rows, from which follows how far rounding may have moved a mean of
//! losses: an output is a sum of products, and each addition rounds by a share of what was added so
//! far. Means over the rows are taken once for each column; whatever the weights are, the error then
//! costs one product with them.

use super::ExampleWeights;
use super::loss::{Growth, Loss};
use minorant_linalg::Design;
use minorant_linalg::tree::Summand;
use std::ops::Range;

/// Sizes of the features, column by column.
#[derive(Debug)]
pub(super) struct Sizes {
    growth: Growth,
    outputs: usize,
    /// What losses take off outputs.
    shift: f64,
    /// The most entries of a row.
    longest: usize,
    /// Σᵢ sᵢ.
    total: f64,
    /// Σᵢ sᵢ |xᵢⱼ| for each column, or Σᵢ sᵢ xᵢⱼ² where losses are squares.
    columns: Vec<f64>,
}

impl Summand for Sizes {
    fn add(&mut self, right: Self) {
        self.longest = self.longest.max(right.longest);
        self.total += right.total;
        self.columns.add(right.columns);
    }
}

/// Accumulators that a kernel adds the products of a row up in, where there is one output.
const LANES: usize = 8;
/// Roundings of an output besides those of the sum: its lanes are added up, margins are taken.
const FURTHER: f64 = 12.0;

impl Sizes {
    /// The sizes of some of the rows.
    pub(super) fn of_rows(
        design: &Design<'_>,
        rows: Range<usize>,
        weights: &ExampleWeights,
        loss: &dyn Loss,
    ) -> Self {
        let (growth, outputs, matrix) = (loss.growth(), loss.outputs(), design.matrix());
        let size = |share: f64, x: f64| match growth {
            Growth::Linear(_) => share * x.abs(),
            Growth::Square => share * x * x,
        };
        let mut columns = vec![0.0; design.features()];
        let (mut longest, mut total) = (0usize, 0.0);
        for i in rows {
            let (share, mut entries) = (weights.of(i), 0);
            matrix.for_each_in_row(i, |j, x| {
                columns[j] += size(share, x);
                entries += 1;
            });
            longest = longest.max(entries);
            total += share;
        }
        if let (Some(bias), Some(last)) = (design.bias(), columns.last_mut()) {
            *last = size(total, bias);
        }
        Sizes { growth, outputs, shift: loss.shift(), longest, total, columns }
    }

    /// How far the mean of the losses may have moved where a number of this size was added to outputs.
    pub(super) fn error_of_shift(&self, size: f64, value: f64) -> f64 {
        self.error_of_outputs(f64::EPSILON * self.of_all(size), value)
    }

    /// The size of outputs that are all this large, summed up as those of rows are.
    fn of_all(&self, size: f64) -> f64 {
        match self.growth {
            Growth::Linear(_) => size * self.total,
            Growth::Square => size * self.total.sqrt(),
        }
    }

    /// How far the mean of the losses may have moved where the sizes of the outputs' errors add up to this.
    fn error_of_outputs(&self, error: f64, value: f64) -> f64 {
        match self.growth {
            Growth::Linear(growth) => growth * error,
            Growth::Square => error * (2.0 * value.max(0.0).sqrt() + error),
        }
    }

    /// How far the mean of the losses at weights `w` may have moved; `value` is what was computed.
    pub(super) fn error(&self, w: &[f64], value: f64) -> f64 {
        let largest = |w: &[f64]| w.iter().fold(0.0, |most: f64, w| most.max(w.abs()));
        let each = self.columns.iter().zip(w.chunks_exact(self.outputs));
        let size: f64 = match self.growth {
            Growth::Linear(_) => each.map(|(size, w)| size * largest(w)).sum(),
            Growth::Square => each.map(|(size, w)| size.sqrt() * largest(w)).sum(),
        };
        let size = size + self.of_all(self.shift);
        let lanes = if self.outputs == 1 { LANES } else { 1 };
        let roundings = self.longest.div_ceil(lanes) as f64 + FURTHER;
        // One rounding is half of ε.
        self.error_of_outputs(0.5 * f64::EPSILON * roundings * size, value)
    }
}
