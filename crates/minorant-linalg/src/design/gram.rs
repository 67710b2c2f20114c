//! Sums a_i x_i x_iᵀ over rows with weights that are not negative. The rows of a block are scaled by √a_i
//! and multiplied as panels of columns where they are dense, and entry by entry where they are sparse; in
//! both cases only one half of the symmetric matrix is summed up.

use super::Design;
use crate::dense::Stored;
use crate::matrix::{Body, Values};
use crate::product::{Operand, multiply};
use std::ops::Range;

/// Columns of a panel: a tile of panel × panel sums stays in the first-level cache.
const PANEL: usize = 64;
/// Rows that are scaled at a time.
const ROWS: usize = 128;
/// Multiplications that the vector unit does at once.
const AT_ONCE: u64 = 8;

/// The panels of columns that a dense matrix is cut into.
fn panels(features: usize) -> impl Iterator<Item = Range<usize>> + Clone {
    (0..features).step_by(PANEL).map(move |at| at..(at + PANEL).min(features))
}

/// The pairs of panels whose tiles are summed up, those of the lower half.
fn tiles(features: usize) -> impl Iterator<Item = (usize, Range<usize>, usize, Range<usize>)> {
    let each = panels(features).enumerate();
    each.flat_map(move |(p, down)| {
        let left = panels(features).enumerate().take(p + 1);
        left.map(move |(q, across)| (p, down.clone(), q, across))
    })
}

impl Design<'_> {
    /// Sums of no rows, to be added to by [`Design::add_gram`].
    pub fn gram(&self) -> Vec<f64> {
        let features = self.features();
        let entries = if self.matrix.is_sparse() {
            features * features
        } else {
            tiles(features).map(|(_, down, _, across)| down.len() * across.len()).sum()
        };
        vec![0.0; entries]
    }

    /// Adds a_i x_i x_iᵀ of the rows of a block to `sums`; rows whose weight is 0 are not read.
    pub fn add_gram(&self, rows: Range<usize>, a: &[f64], sums: &mut [f64]) {
        assert_eq!(a.len(), rows.len());
        assert!(rows.end <= self.rows());
        if self.matrix.elsewhere().is_some() {
            // Rows are multiplied by the group, so that a group must not end where a block does.
            let numbers: Vec<usize> = rows.collect();
            let together = self.matrix.gathered(&numbers);
            return self.over(&together).add_gram(0..numbers.len(), a, sums);
        }
        match self.matrix.body() {
            Body::Dense { values: Values::F32(v) } => self.add_dense(v, rows, a, sums),
            Body::Dense { values: Values::F64(v) } => self.add_dense(v, rows, a, sums),
            Body::Csr { .. } => self.add_sparse(rows, a, sums),
        }
    }

    /// The symmetric matrix that the sums stand for, row by row.
    pub fn full_gram(&self, sums: Vec<f64>) -> Vec<f64> {
        let features = self.features();
        let mut full = if self.matrix.is_sparse() {
            sums
        } else {
            let mut full = vec![0.0; features * features];
            let mut rest = &sums[..];
            for (_, down, _, across) in tiles(features) {
                let (tile, others) = rest.split_at(down.len() * across.len());
                rest = others;
                for (row, tile) in down.zip(tile.chunks_exact(across.len())) {
                    full[row * features..][across.clone()].copy_from_slice(tile);
                }
            }
            full
        };
        for at in 0..features {
            for other in 0..at {
                full[other * features + at] = full[at * features + other];
            }
        }
        full
    }

    /// Multiplications that the sums over all rows take; those that the vector unit does at once count
    /// once.
    pub fn gram_cost(&self) -> u64 {
        let features = self.features() as u64;
        if !self.matrix.is_sparse() {
            return self.rows() as u64 * features * features / 2 / AT_ONCE;
        }
        let bias = u64::from(self.bias.is_some());
        self.matrix.row_lengths().map(|length| (length + bias).pow(2) / 2).sum()
    }

    /// The same for a forward and a backward product.
    pub fn product_cost(&self, outputs: usize) -> u64 {
        let entries = 2 * self.matrix.entries() as u64 * outputs as u64;
        if self.matrix.is_sparse() { entries } else { entries / AT_ONCE }
    }

    fn add_dense<T: Stored>(&self, values: &[T], rows: Range<usize>, a: &[f64], sums: &mut [f64]) {
        let (cols, features) = (self.matrix.cols(), self.features());
        let mut active = rows.zip(a).filter(|(_, a)| **a != 0.0);
        let mut scaled: Vec<Vec<f64>> = panels(features).map(|_| Vec::new()).collect();
        loop {
            let group: Vec<(usize, f64)> =
                active.by_ref().take(ROWS).map(|(i, a)| (i, a.sqrt())).collect();
            if group.is_empty() {
                return;
            }
            for (panel, columns) in scaled.iter_mut().zip(panels(features)) {
                panel.clear();
                for &(i, root) in &group {
                    let row = &values[i * cols..(i + 1) * cols];
                    let stored = columns.start.min(cols)..columns.end.min(cols);
                    panel.extend(row[stored].iter().map(|x| root * x.wide()));
                    // The constant feature is the last one.
                    if columns.end > cols {
                        panel.push(root * self.bias.unwrap_or(0.0));
                    }
                }
            }
            let mut rest = &mut *sums;
            for (p, down, q, across) in tiles(features) {
                let (tile, others) = rest.split_at_mut(down.len() * across.len());
                rest = others;
                let left = Operand::new(&scaled[p], group.len(), down.len()).transposed();
                multiply(left, Operand::new(&scaled[q], group.len(), across.len()), 1.0, tile);
            }
        }
    }

    fn add_sparse(&self, rows: Range<usize>, a: &[f64], sums: &mut [f64]) {
        let features = self.features();
        let mut entries: Vec<(usize, f64)> = Vec::new();
        for (i, &a) in rows.zip(a).filter(|(_, a)| **a != 0.0) {
            entries.clear();
            self.matrix.for_each_in_row(i, |j, x| entries.push((j, x)));
            entries.extend(self.bias.map(|bias| (self.matrix.cols(), bias)));
            for (at, &(j, x)) in entries.iter().enumerate() {
                sums[j * features + j] += a * x * x;
                for &(k, y) in &entries[..at] {
                    // A column may come twice: then both orders of the pair belong to its square.
                    let twice = if j == k { 2.0 } else { 1.0 };
                    sums[j.max(k) * features + j.min(k)] += twice * (a * x * y);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Design, Matrix};

    #[test]
    fn sums_agree_with_their_definition() {
        let number = |at: usize| ((at * 7919 + 13) % 31) as f64 / 8.0 - 2.0;
        for (rows, cols, bias) in
            [(1, 1, None), (7, 5, Some(0.5)), (300, 63, Some(2.0)), (90, 130, None)]
        {
            let sparse = |at: usize| if at.is_multiple_of(3) { 0.0 } else { number(at) };
            let values: Vec<f64> = (0..rows * cols).map(sparse).collect();
            let a: Vec<f64> = (0..rows).map(|i| (i % 4) as f64 / 3.0).collect();
            let row = |i: usize| -> Vec<f64> {
                values[i * cols..(i + 1) * cols].iter().copied().chain(bias).collect()
            };
            let d = cols + usize::from(bias.is_some());
            let mut expected = vec![0.0; d * d];
            for i in 0..rows {
                let x = row(i);
                for j in 0..d {
                    for k in 0..d {
                        expected[j * d + k] += a[i] * x[j] * x[k];
                    }
                }
            }
            let entries: Vec<(u32, f64)> = (0..rows * cols)
                .filter(|at| values[*at] != 0.0)
                .map(|at| ((at % cols) as u32, values[at]))
                .collect();
            let mut starts = vec![0u64];
            for i in 0..rows {
                let count = values[i * cols..(i + 1) * cols].iter().filter(|x| **x != 0.0).count();
                starts.push(starts[i] + count as u64);
            }
            let (columns, stored): (Vec<u32>, Vec<f64>) = entries.into_iter().unzip();
            let dense = Matrix::dense(rows, cols, values.clone().into()).unwrap();
            let csr = Matrix::csr(cols, starts, columns, stored.into()).unwrap();
            for matrix in [&dense, &csr] {
                let design = Design::new(matrix, bias);
                let mut sums = design.gram();
                let half = rows / 2;
                design.add_gram(0..half, &a[..half], &mut sums);
                design.add_gram(half..rows, &a[half..], &mut sums);
                let found = design.full_gram(sums);
                for (found, expected) in found.iter().zip(&expected) {
                    assert!((found - expected).abs() <= 1e-12 * (1.0 + expected.abs()));
                }
            }
        }
    }
}
