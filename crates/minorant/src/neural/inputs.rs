//! The attributes of tokens as the first layer wants them: dense rows in the precision of the
//! products, or sparse rows where most entries are zero.

use minorant_linalg::Matrix;
use minorant_linalg::product::{Operand, Real, multiply};
use std::ops::Range;

/// From this share of non-zero entries on, a dense product is faster than one entry by entry.
const DENSE: f64 = 1.0 / 12.0;

/// The rows of tokens.
#[derive(Debug)]
pub enum Inputs<'a, T> {
    /// Dense rows, one after the other.
    Dense {
        /// The entries.
        values: Vec<T>,
        /// Number of columns.
        cols: usize,
    },
    /// Sparse rows.
    Sparse(&'a Matrix<'a>),
}

impl<'a, T: Real> Inputs<'a, T> {
    /// The rows of a matrix.
    pub fn new(tokens: &'a Matrix<'a>) -> Self {
        let (rows, cols) = (tokens.rows(), tokens.cols());
        if (tokens.entries() as f64) < DENSE * rows as f64 * cols as f64 {
            return Inputs::Sparse(tokens);
        }
        let mut values = vec![T::default(); rows * cols];
        for row in 0..rows {
            let to = &mut values[row * cols..(row + 1) * cols];
            tokens.for_each_in_row(row, |j, x| to[j] += T::round(x));
        }
        Inputs::Dense { values, cols }
    }

    /// Whether the rows are kept dense.
    pub fn is_dense(&self) -> bool {
        matches!(self, Inputs::Dense { .. })
    }

    /// out = rows · weights + keep · out.
    pub(super) fn times(&self, rows: Range<usize>, weights: &[T], keep: T, out: &mut [T]) {
        let count = rows.len();
        match self {
            Inputs::Dense { values, cols } => {
                let rows = &values[rows.start * cols..rows.end * cols];
                let width = out.len() / count.max(1);
                let weights = Operand::new(weights, *cols, width);
                multiply(Operand::new(rows, count, *cols), weights, keep, out);
            }
            Inputs::Sparse(tokens) => {
                let width = out.len() / count.max(1);
                for (row, out) in rows.zip(out.chunks_exact_mut(width)) {
                    out.iter_mut().for_each(|o| *o = keep * *o);
                    tokens.for_each_in_row(row, |j, x| {
                        let x = T::round(x);
                        let of = &weights[j * width..(j + 1) * width];
                        out.iter_mut().zip(of).for_each(|(o, w)| *o += x * *w);
                    });
                }
            }
        }
    }

    /// to += rowsᵀ · errors.
    pub(super) fn add_transposed_times(&self, rows: Range<usize>, errors: &[T], to: &mut [T]) {
        let count = rows.len();
        let width = errors.len() / count.max(1);
        match self {
            Inputs::Dense { values, cols } => {
                let rows = Operand::new(&values[rows.start * cols..rows.end * cols], count, *cols);
                multiply(rows.transposed(), Operand::new(errors, count, width), T::ONE, to);
            }
            Inputs::Sparse(tokens) => {
                for (row, errors) in rows.zip(errors.chunks_exact(width)) {
                    tokens.for_each_in_row(row, |j, x| {
                        let x = T::round(x);
                        let to = &mut to[j * width..(j + 1) * width];
                        to.iter_mut().zip(errors).for_each(|(t, e)| *t += x * *e);
                    });
                }
            }
        }
    }
}

impl Inputs<'_, f32> {
    /// Some rows, dense.
    pub(super) fn gather(&self, rows: &[usize], cols: usize, to: &mut Vec<f32>) {
        to.clear();
        match self {
            Inputs::Dense { values, .. } => {
                rows.iter().for_each(|row| to.extend_from_slice(&values[row * cols..][..cols]));
            }
            Inputs::Sparse(tokens) => {
                to.resize(rows.len() * cols, 0.0);
                for (row, to) in rows.iter().zip(to.chunks_exact_mut(cols)) {
                    tokens.for_each_in_row(*row, |j, x| to[j] += x as f32);
                }
            }
        }
    }
}
