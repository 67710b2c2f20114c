//! The shape of the rows of a linear model: what decides how they are cut, whoever holds them.

use super::cut::Cut;
use minorant_linalg::Design;
use std::ops::Range;

/// The shape of the rows of a linear model, of all of them whoever holds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Number of rows.
    pub rows: usize,
    /// Number of features, the constant one included.
    pub features: usize,
    /// Numbers that are stored.
    pub entries: usize,
    /// Bytes that these take, their places included.
    pub bytes: usize,
}

impl Shape {
    /// The shape of rows that are all here.
    pub fn of(design: &Design<'_>) -> Self {
        let matrix = design.matrix();
        Shape {
            rows: matrix.rows(),
            features: design.features(),
            entries: matrix.entries(),
            bytes: matrix.bytes(),
        }
    }
}

impl Shape {
    /// The rows that each of several holders is dealt: runs of chunks, as even as chunks allow. Where
    /// there are more holders than chunks, some have nothing.
    pub fn deal(&self, holders: usize) -> Vec<Range<usize>> {
        let cut = Cut::of_rows(*self);
        cut.hands(holders).map(|held| cut.first_row(held.start)..cut.first_row(held.end)).collect()
    }
}
