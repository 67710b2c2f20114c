//! A design matrix feature by feature: a copy in compressed columns for methods that work on one
//! weight at a time, sets of columns that such a method works on for a while, and their weighted
//! inner products. The copy takes about as much memory as the rows.

use crate::dense::{Stored, dispatch};
use crate::design::{Design, sparse_dot};
use crate::matrix::{Body, Matrix, Values};
use crate::parallel::{for_each_stretch, split_evenly};
use crate::tree::sum_of_chunks;
use std::ops::Range;

/// The columns of a design, the constant one included; zeros are left out.
#[derive(Debug, Clone)]
pub struct Columns {
    rows: usize,
    starts: Vec<usize>,
    indices: Vec<u32>,
    values: Values<'static>,
}

impl Columns {
    /// A copy of the columns of a design with fewer than 2³² rows.
    pub fn new(design: &Design<'_>) -> Columns {
        assert!(design.rows() <= u32::MAX as usize);
        let rows = design.rows() as u32;
        let matrix = design.matrix();
        let (mut starts, mut indices, mut values) = match matrix.values() {
            Values::F32(values) => {
                let (starts, indices, values) = transpose(matrix, values);
                (starts, indices, Values::from(values))
            }
            Values::F64(values) => {
                let (starts, indices, values) = transpose(matrix, values);
                (starts, indices, Values::from(values))
            }
        };
        if let Some(bias) = design.bias() {
            if bias != 0.0 {
                indices.extend(0..rows);
                values = extended(values, indices.len(), bias);
            }
            starts.push(indices.len());
        }
        Columns { rows: rows as usize, starts, indices, values }
    }

    /// Number of stored entries.
    pub fn entries(&self) -> usize {
        self.indices.len()
    }

    /// A copy of some columns to work on.
    pub fn select(&self, features: impl Iterator<Item = usize> + Clone) -> ColumnSet {
        let mut starts = vec![0];
        let mut length = 0;
        for j in features.clone() {
            length += self.starts[j + 1] - self.starts[j];
            starts.push(length);
        }
        let mut indices = Vec::with_capacity(length);
        let mut values = Vec::with_capacity(length);
        for j in features {
            let span = self.starts[j]..self.starts[j + 1];
            indices.extend_from_slice(&self.indices[span.clone()]);
            match &self.values {
                Values::F32(v) => values.extend(v[span].iter().map(|x| x.wide())),
                Values::F64(v) => values.extend_from_slice(&v[span]),
            }
        }
        ColumnSet { rows: self.rows, starts, indices, values }
    }
}

/// What looks at the columns and values of a row.
type Visit<'v, T> = dyn FnMut(usize, &[u32], &[T]) + 'v;

/// Starts, row indices and values of the columns of a matrix, rows in ascending order.
fn transpose<T: Stored>(matrix: &Matrix<'_>, values: &[T]) -> (Vec<usize>, Vec<u32>, Vec<T>) {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    let spans = |visit: &mut Visit<'_, T>| match matrix.body() {
        Body::Csr { row_starts, columns, .. } => {
            for i in 0..rows {
                let span = row_starts[i] as usize..row_starts[i + 1] as usize;
                visit(i, &columns[span.clone()], &values[span]);
            }
        }
        Body::Dense { .. } => {
            let columns: Vec<u32> = (0..cols as u32).collect();
            (0..rows).for_each(|i| visit(i, &columns, &values[i * cols..(i + 1) * cols]));
        }
    };
    let mut starts = vec![0; cols + 1];
    spans(&mut |_, columns, values| {
        for (&j, x) in columns.iter().zip(values) {
            starts[j as usize + 1] += usize::from(x.wide() != 0.0);
        }
    });
    for j in 0..cols {
        starts[j + 1] += starts[j];
    }
    let mut next = starts.clone();
    let mut indices = vec![0; starts[cols]];
    let Some(&filler) = values.first() else { return (starts, indices, Vec::new()) };
    let mut sorted = vec![filler; starts[cols]];
    spans(&mut |i, columns, values| {
        for (&j, &x) in columns.iter().zip(values) {
            if x.wide() != 0.0 {
                let at = &mut next[j as usize];
                indices[*at] = i as u32;
                sorted[*at] = x;
                *at += 1;
            }
        }
    });
    (starts, indices, sorted)
}

/// The values with copies of `last` behind them, in the precision that holds them all.
fn extended(values: Values<'static>, length: usize, last: f64) -> Values<'static> {
    match values {
        Values::F32(values) if f64::from(last as f32) == last => {
            let mut values = values.into_owned();
            values.resize(length, last as f32);
            values.into()
        }
        values => {
            let mut wide: Vec<f64> = (0..values.len()).map(|at| values.get(at)).collect();
            wide.resize(length, last);
            wide.into()
        }
    }
}

/// Some columns side by side.
#[derive(Debug, Clone)]
pub struct ColumnSet {
    rows: usize,
    starts: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
}

impl ColumnSet {
    /// Number of columns.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of entries.
    pub fn entries(&self) -> usize {
        self.indices.len()
    }

    /// The rows and values of a column.
    #[inline]
    pub fn column(&self, at: usize) -> (&[u32], &[f64]) {
        let span = self.starts[at]..self.starts[at + 1];
        (&self.indices[span.clone()], &self.values[span])
    }

    /// The inner product of a column with a vector over the rows.
    pub fn dot(&self, at: usize, v: &[f64]) -> f64 {
        assert_eq!(v.len(), self.rows);
        let (rows, values) = self.column(at);
        dispatch(
            #[inline(always)]
            // SAFETY: all row indices are below the number of rows, which `v` has the length of.
            || unsafe { sparse_dot(rows, values, v) },
        )
    }

    /// Σ_i a_i x_i² over a column.
    pub fn square(&self, at: usize, a: &[f64]) -> f64 {
        let (rows, values) = self.column(at);
        rows.iter().zip(values).map(|(&i, x)| a[i as usize] * x * x).sum()
    }

    /// `v_i += step a_i x_i` over a column.
    pub fn add(&self, at: usize, step: f64, a: &[f64], v: &mut [f64]) {
        let (rows, values) = self.column(at);
        for (&i, x) in rows.iter().zip(values) {
            v[i as usize] += step * a[i as usize] * x;
        }
    }

    /// Some of the columns, in any order and as often as wanted.
    pub fn select(&self, columns: impl Iterator<Item = usize>) -> ColumnSet {
        let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for at in columns {
            let (rows, xs) = self.column(at);
            indices.extend_from_slice(rows);
            values.extend_from_slice(xs);
            starts.push(indices.len());
        }
        ColumnSet { rows: self.rows, starts, indices, values }
    }

    /// The columns with values `change(column, row, value)`.
    pub fn map(mut self, change: impl Fn(usize, usize, f64) -> f64) -> ColumnSet {
        for at in 0..self.len() {
            let span = self.starts[at]..self.starts[at + 1];
            for (&i, x) in self.indices[span.clone()].iter().zip(&mut self.values[span]) {
                *x = change(at, i as usize, *x);
            }
        }
        self
    }

    /// Multiplications that [`ColumnSet::gram`] takes; where rows are full, as many as a vector
    /// holds count once.
    pub fn gram_cost(&self) -> u64 {
        let mut counts = vec![0u32; self.rows];
        self.indices.iter().for_each(|&i| counts[i as usize] += 1);
        let cost = |count: u32| {
            let pairs = u64::from(count) * u64::from(count) / 2;
            if count as usize == self.len() { pairs / GROUP as u64 } else { pairs }
        };
        counts.into_iter().map(cost).sum()
    }

    /// Whether most rows are full.
    fn is_full(&self) -> bool {
        2 * self.entries() >= self.rows * self.len()
    }

    /// The symmetric matrix of Σ_i a_i x_i y_i over all pairs of columns, row by row; nothing where
    /// `goes_on`, which is asked now and then, says no.
    pub fn gram(&self, a: &[f64], goes_on: &(dyn Fn() -> bool + Sync)) -> Option<Vec<f64>> {
        assert_eq!(a.len(), self.rows);
        let size = self.len();
        if size == 0 {
            return Some(Vec::new());
        }
        let rows = self.by_rows();
        // Only the lower half is summed up; the other one mirrors it.
        let mut gram = if size <= CACHED || self.is_full() {
            let chunks = split_evenly(self.rows, CHUNKS);
            let products =
                |chunk: usize| rows.outer_products(chunks[chunk].clone(), size, a, goes_on);
            sum_of_chunks(CHUNKS, products)
        } else {
            self.gram_by_columns(&rows, a, goes_on)
        };
        if !goes_on() {
            return None;
        }
        for at in 0..size {
            for other in 0..at {
                gram[other * size + at] = gram[at * size + other];
            }
        }
        Some(gram)
    }

    /// Each row of the result has one thread and one order of additions.
    fn gram_by_columns(
        &self,
        by_rows: &ByRows,
        a: &[f64],
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Vec<f64> {
        let size = self.len();
        let mut gram = vec![0.0; size * size];
        for_each_stretch(&mut gram, size, |at, row| {
            if !goes_on() {
                return;
            }
            let (rows, xs) = self.column(at);
            for (&i, x) in rows.iter().zip(xs) {
                let factor = a[i as usize] * x;
                let (places, values) = by_rows.row(i as usize);
                for (&place, y) in places.iter().zip(values) {
                    // Places ascend.
                    if place as usize > at {
                        break;
                    }
                    row[place as usize] += factor * y;
                }
            }
        });
        gram
    }

    fn by_rows(&self) -> ByRows {
        let mut starts = vec![0; self.rows + 1];
        self.indices.iter().for_each(|&i| starts[i as usize + 1] += 1);
        for i in 0..self.rows {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let (mut places, mut values) = (vec![0; self.entries()], vec![0.0; self.entries()]);
        for at in 0..self.len() {
            let (rows, xs) = self.column(at);
            for (&i, &x) in rows.iter().zip(xs) {
                let to = &mut next[i as usize];
                places[*to] = at as u32;
                values[*to] = x;
                *to += 1;
            }
        }
        ByRows { starts, places, values }
    }
}

/// Gram matrices up to this size fit the second-level cache, and sums over rows may jump in them.
const CACHED: usize = 256;
/// Chunks of rows that such a matrix is summed up from.
const CHUNKS: usize = 4;

/// The entries of a set of columns row by row, their places in the set ascending.
struct ByRows {
    starts: Vec<usize>,
    places: Vec<u32>,
    values: Vec<f64>,
}

impl ByRows {
    #[inline]
    fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let span = self.starts[i]..self.starts[i + 1];
        (&self.places[span.clone()], &self.values[span])
    }

    /// Whether a row has every column of the set once.
    fn is_full(&self, i: usize, size: usize) -> bool {
        let places = self.row(i).0;
        places.len() == size && places.iter().enumerate().all(|(at, &p)| p as usize == at)
    }

    /// The lower half of Σ_i a_i x_i x_iᵀ over a chunk of rows.
    fn outer_products(
        &self,
        rows: Range<usize>,
        size: usize,
        a: &[f64],
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Vec<f64> {
        let mut sums = vec![0.0; size * size];
        let (mut i, mut ask_at) = (rows.start, rows.start);
        while i < rows.end {
            if i >= ask_at {
                if !goes_on() {
                    break;
                }
                ask_at = i + BETWEEN_QUESTIONS;
            }
            let group = i..i + GROUP;
            // Full rows are added a few at a time: each sum is then read once for all of them.
            if group.end <= rows.end && group.clone().all(|i| self.is_full(i, size)) {
                let values = &self.values[self.starts[i]..self.starts[group.end]];
                add_full_rows(values, size, &a[group], &mut sums);
                i += GROUP;
                continue;
            }
            let (places, values) = self.row(i);
            for (at, (&place, x)) in places.iter().zip(values).enumerate() {
                let factor = a[i] * x;
                let sums = &mut sums[place as usize * size..][..size];
                for (&place, y) in places[..=at].iter().zip(values) {
                    sums[place as usize] += factor * y;
                }
            }
            i += 1;
        }
        sums
    }
}

/// Rows that are added between two questions whether to go on.
const BETWEEN_QUESTIONS: usize = 64;
/// Full rows that are added together.
const GROUP: usize = 4;

fn add_full_rows(values: &[f64], size: usize, a: &[f64], sums: &mut [f64]) {
    let rows: [&[f64]; GROUP] = std::array::from_fn(|r| &values[r * size..(r + 1) * size]);
    dispatch(
        #[inline(always)]
        || {
            for at in 0..size {
                let [f0, f1, f2, f3]: [f64; GROUP] = [
                    a[0] * rows[0][at],
                    a[1] * rows[1][at],
                    a[2] * rows[2][at],
                    a[3] * rows[3][at],
                ];
                let sums = &mut sums[at * size..at * size + at + 1];
                let (x0, x1, x2, x3) = (
                    &rows[0][..sums.len()],
                    &rows[1][..sums.len()],
                    &rows[2][..sums.len()],
                    &rows[3][..sums.len()],
                );
                for b in 0..sums.len() {
                    sums[b] = f3.mul_add(
                        x3[b],
                        f2.mul_add(x2[b], f1.mul_add(x1[b], f0.mul_add(x0[b], sums[b]))),
                    );
                }
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_the_rows_and_gram_matrices_follow_their_definition() {
        let (rows, cols) = (13, 7);
        let number = |at: usize| ((at * 7919 + 13) % 31) as f64 / 8.0 - 2.0;
        let entry = |at: usize| if at.is_multiple_of(3) { 0.0 } else { number(at) };
        let values: Vec<f64> = (0..rows * cols).map(entry).collect();
        let narrow: Vec<f32> = values.iter().map(|&x| x as f32).collect();
        let wide = Matrix::dense(rows, cols, values.clone().into()).unwrap();
        let narrow = Matrix::dense(rows, cols, narrow.into()).unwrap();
        let a: Vec<f64> = (0..rows).map(|i| 0.5 + i as f64).collect();
        for matrix in [&wide, &narrow, &wide.with_cols(cols).0, &narrow.with_cols(cols).0] {
            for bias in [None, Some(0.5), Some(0.1), Some(0.0)] {
                let columns = Columns::new(&Design::new(matrix, bias));
                let features = [6, 0, 3].into_iter().chain(bias.map(|_| cols));
                let set = columns.select(features.clone());
                let x = |i: usize, j: usize| {
                    if j == cols { bias.unwrap_or(0.0) } else { values[i * cols + j] }
                };
                let gram = set.gram(&a, &|| true).expect("a gram matrix");
                let by_columns = set.gram_by_columns(&set.by_rows(), &a, &|| true);
                for (at, j) in features.clone().enumerate() {
                    let (found, xs) = set.column(at);
                    let expected: Vec<u32> =
                        (0..rows as u32).filter(|&i| x(i as usize, j) != 0.0).collect();
                    assert_eq!(found, expected);
                    assert!(found.iter().zip(xs).all(|(&i, y)| *y == x(i as usize, j)));
                    let plain: f64 = (0..rows).map(|i| a[i] * x(i, j)).sum();
                    assert!((set.dot(at, &a) - plain).abs() < 1e-12);
                    for (other, k) in features.clone().enumerate() {
                        let plain: f64 = (0..rows).map(|i| a[i] * x(i, j) * x(i, k)).sum();
                        assert!((gram[at * set.len() + other] - plain).abs() < 1e-12);
                        let lower = by_columns[at.max(other) * set.len() + at.min(other)];
                        assert!((lower - plain).abs() < 1e-12);
                    }
                    assert!((set.square(at, &a) - gram[at * set.len() + at]).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn full_rows_are_added_in_groups() {
        let (rows, cols) = (41, 9);
        let values: Vec<f64> = (0..rows * cols).map(|at| (at as f64 * 0.37).sin()).collect();
        let matrix = Matrix::dense(rows, cols, values.clone().into()).unwrap();
        let a: Vec<f64> = (0..rows).map(|i| 0.5 + i as f64).collect();
        let set = Columns::new(&Design::new(&matrix, None)).select(0..cols);
        let double = set.clone().select([3, 3].into_iter()).map(|at, _, x| (at + 1) as f64 * x);
        let gram = set.gram(&a, &|| true).expect("a gram matrix");
        for (j, k) in (0..cols).flat_map(|j| (0..cols).map(move |k| (j, k))) {
            let plain: f64 =
                (0..rows).map(|i| a[i] * values[i * cols + j] * values[i * cols + k]).sum();
            assert!((gram[j * cols + k] - plain).abs() < 1e-10);
            let twice = double.gram(&a, &|| true).expect("a gram matrix");
            assert!(twice[1] - 2.0 * gram[3 * cols + 3] < 1e-10);
        }
    }
}
