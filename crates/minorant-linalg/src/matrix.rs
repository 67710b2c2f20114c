//! Feature matrices as they are stored: dense rows or compressed sparse rows (CSR), values in f32
//! or f64, owned or borrowed; or rows that are fetched block by block ([`crate::blocks`]). Everything is
//! checked once, here; the kernels that read a `Matrix` rely on it. Products with weights live in
//! [`crate::design`].

mod narrow;

use crate::blocks::{Derived, Elsewhere, RowBlocks};
use crate::pages::prefer_large;
use std::borrow::Cow;
use std::sync::Arc;

/// The values of a matrix in the precision in which they are stored; sums are always f64.
#[derive(Debug, Clone)]
pub enum Values<'a> {
    /// Single precision.
    F32(Cow<'a, [f32]>),
    /// Double precision.
    F64(Cow<'a, [f64]>),
}

impl Values<'_> {
    /// Number of stored values.
    pub fn len(&self) -> usize {
        match self {
            Values::F32(v) => v.len(),
            Values::F64(v) => v.len(),
        }
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value at `index`, widened.
    pub fn get(&self, index: usize) -> f64 {
        match self {
            Values::F32(v) => f64::from(v[index]),
            Values::F64(v) => v[index],
        }
    }

    fn view(&self) -> Values<'_> {
        match self {
            Values::F32(v) => Values::F32(Cow::Borrowed(v)),
            Values::F64(v) => Values::F64(Cow::Borrowed(v)),
        }
    }

    /// Bytes of one value.
    pub fn width(&self) -> usize {
        match self {
            Values::F32(_) => 4,
            Values::F64(_) => 8,
        }
    }

    /// How many of the values are not 0.
    pub fn nonzeros(&self) -> usize {
        match self {
            Values::F32(v) => v.iter().filter(|x| **x != 0.0).count(),
            Values::F64(v) => v.iter().filter(|x| **x != 0.0).count(),
        }
    }

    fn all_finite(&self) -> bool {
        match self {
            Values::F32(v) => all_hold(v, |x| x.is_finite()),
            Values::F64(v) => all_hold(v, |x| x.is_finite()),
        }
    }
}

/// Whether something holds for all numbers; asked of many at a time, as vector units do.
pub fn all_hold<T: Copy>(numbers: &[T], holds: impl Fn(T) -> bool) -> bool {
    numbers.chunks(1024).all(|some| some.iter().fold(true, |all, &x| all & holds(x)))
}

impl From<Vec<f64>> for Values<'static> {
    fn from(v: Vec<f64>) -> Self {
        Values::F64(Cow::Owned(v))
    }
}

impl From<Vec<f32>> for Values<'static> {
    fn from(v: Vec<f32>) -> Self {
        Values::F32(Cow::Owned(v))
    }
}

/// Which precision to store values in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Storage {
    /// f32 where every value is exactly an f32, else f64.
    #[default]
    Exact,
    /// f32, rounding the values.
    F32,
    /// f64 always.
    F64,
}

impl Storage {
    /// Stores `values` in the precision that this choice asks for.
    pub fn store(self, values: Vec<f64>) -> Values<'static> {
        let narrow = match self {
            Storage::Exact => values.iter().all(|&v| f64::from(v as f32) == v),
            Storage::F32 => true,
            Storage::F64 => false,
        };
        if narrow {
            values.iter().map(|&v| v as f32).collect::<Vec<f32>>().into()
        } else {
            values.into()
        }
    }
}

/// What is wrong with the arrays that a matrix was to be made of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MatrixError {
    /// The arrays' lengths do not fit together.
    #[error("expected {expected} {what}, found {found}")]
    Length {
        /// What is counted.
        what: &'static str,
        /// How many were expected.
        expected: usize,
        /// How many were found.
        found: usize,
    },
    /// Row starts must begin at 0 and never descend.
    #[error("row starts must begin at 0 and never descend; row {row} breaks this")]
    RowStarts {
        /// The first offending row.
        row: usize,
    },
    /// A column index is outside the matrix.
    #[error("row {row} has column {column}, but the matrix has {columns} columns")]
    Column {
        /// The offending row.
        row: usize,
        /// Its column index.
        column: u32,
        /// The number of columns.
        columns: usize,
    },
    /// A value is NaN or infinite.
    #[error("the values must be finite; the matrix holds NaN or an infinity")]
    NotFinite,
    /// More columns than a 32-bit index can name.
    #[error("a matrix has at most 2^31 - 1 columns, not {0}")]
    TooManyColumns(usize),
}

/// A matrix of examples (rows) by features (columns).
#[derive(Debug, Clone)]
pub struct Matrix<'a> {
    rows: usize,
    cols: usize,
    place: Place<'a>,
}

/// Where the rows are.
#[derive(Debug, Clone)]
enum Place<'a> {
    Here(Body<'a>),
    Elsewhere(Elsewhere),
}

#[derive(Debug, Clone)]
pub(crate) enum Body<'a> {
    Dense { values: Values<'a> },
    Csr { row_starts: Cow<'a, [u64]>, columns: Cow<'a, [u32]>, values: Values<'a> },
}

impl Body<'_> {
    #[inline(always)]
    fn for_each_in_row(&self, cols: usize, row: usize, mut each: impl FnMut(usize, f64)) {
        // Loops, not iterators' methods: those would leave a dispatched kernel's vector unit.
        match self {
            Body::Dense { values } => {
                let span = row * cols..(row + 1) * cols;
                match values {
                    Values::F32(v) => {
                        for (j, &x) in v[span].iter().enumerate() {
                            each(j, f64::from(x));
                        }
                    }
                    Values::F64(v) => {
                        for (j, &x) in v[span].iter().enumerate() {
                            each(j, x);
                        }
                    }
                }
            }
            Body::Csr { row_starts, columns, values } => {
                let span = row_starts[row] as usize..row_starts[row + 1] as usize;
                let columns = columns[span.clone()].iter();
                match values {
                    Values::F32(v) => {
                        for (&j, &x) in columns.zip(&v[span]) {
                            each(j as usize, f64::from(x));
                        }
                    }
                    Values::F64(v) => {
                        for (&j, &x) in columns.zip(&v[span]) {
                            each(j as usize, x);
                        }
                    }
                }
            }
        }
    }
}

impl<'a> Matrix<'a> {
    /// A dense matrix from its values row by row.
    pub fn dense(rows: usize, cols: usize, values: Values<'a>) -> Result<Self, MatrixError> {
        check_columns(cols)?;
        let expected = rows.saturating_mul(cols);
        check_length("values", expected, values.len())?;
        if !values.all_finite() {
            return Err(MatrixError::NotFinite);
        }
        Ok(Matrix::here(rows, cols, Body::Dense { values }))
    }

    /// A sparse matrix: row `i` has the columns and values at `row_starts[i]..row_starts[i + 1]`.
    pub fn csr(
        cols: usize,
        row_starts: impl Into<Cow<'a, [u64]>>,
        columns: impl Into<Cow<'a, [u32]>>,
        values: Values<'a>,
    ) -> Result<Self, MatrixError> {
        let (row_starts, columns) = (row_starts.into(), columns.into());
        check_columns(cols)?;
        if row_starts.first() != Some(&0) {
            return Err(MatrixError::RowStarts { row: 0 });
        }
        let rows = row_starts.len() - 1;
        if let Some(row) = (0..rows).find(|&i| row_starts[i] > row_starts[i + 1]) {
            return Err(MatrixError::RowStarts { row });
        }
        let expected = usize::try_from(row_starts[rows]).unwrap_or(usize::MAX);
        check_length("column indices", expected, columns.len())?;
        check_length("values", expected, values.len())?;
        let wrong = |columns: &[u32]| columns.iter().position(|&c| c as usize >= cols);
        let all_fit = all_hold(&columns, |c| (c as usize) < cols);
        if let Some(at) = if all_fit { None } else { wrong(&columns) } {
            let row = row_starts.partition_point(|&s| s <= at as u64) - 1;
            return Err(MatrixError::Column { row, column: columns[at], columns: cols });
        }
        if !values.all_finite() {
            return Err(MatrixError::NotFinite);
        }
        Ok(Matrix::here(rows, cols, Body::Csr { row_starts, columns, values }))
    }

    /// Rows that are fetched block by block.
    pub fn of_blocks(source: Arc<dyn RowBlocks>) -> Self {
        let elsewhere = Elsewhere::new(source);
        let (rows, cols) = (elsewhere.rows(), elsewhere.shape().cols);
        Matrix { rows, cols, place: Place::Elsewhere(elsewhere) }
    }

    fn here(rows: usize, cols: usize, body: Body<'a>) -> Self {
        Matrix { rows, cols, place: Place::Here(body) }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Whether rows are stored sparse.
    pub fn is_sparse(&self) -> bool {
        match &self.place {
            Place::Here(body) => matches!(body, Body::Csr { .. }),
            Place::Elsewhere(rows) => rows.shape().is_sparse,
        }
    }

    /// Number of stored entries.
    pub fn entries(&self) -> usize {
        match &self.place {
            Place::Here(_) => self.values().len(),
            Place::Elsewhere(rows) => rows.shape().entries,
        }
    }

    /// Bytes of a stored value.
    pub fn width(&self) -> usize {
        match &self.place {
            Place::Here(_) => self.values().width(),
            Place::Elsewhere(rows) => rows.shape().width,
        }
    }

    /// The stored values. Rows that are fetched have none here: ask [`Matrix::blocks`] first.
    pub fn values(&self) -> &Values<'a> {
        match self.body() {
            Body::Dense { values } | Body::Csr { values, .. } => values,
        }
    }

    /// Bytes that one pass over the rows reads.
    pub fn bytes(&self) -> usize {
        let each = self.width() + if self.is_sparse() { 4 } else { 0 };
        let starts = if self.is_sparse() { 8 * (self.rows + 1) } else { 0 };
        self.entries() * each + starts
    }

    /// Who fetches the rows, where they are not in memory.
    pub fn blocks(&self) -> Option<&Arc<dyn RowBlocks>> {
        self.elsewhere().map(|rows| &rows.source)
    }

    pub(crate) fn elsewhere(&self) -> Option<&Elsewhere> {
        match &self.place {
            Place::Here(_) => None,
            Place::Elsewhere(rows) => Some(rows),
        }
    }

    /// Why some of the rows could not be fetched: whatever was computed with them is worth nothing.
    pub fn failure(&self) -> Option<String> {
        self.blocks().and_then(|source| source.failure())
    }

    /// Prepares for many passes over the rows: asks for large pages.
    pub fn prepare_for_passes(&self) {
        let Place::Here(body) = &self.place else { return };
        match self.values() {
            Values::F32(values) => prefer_large(values),
            Values::F64(values) => prefer_large(values),
        }
        if let Body::Csr { columns, .. } = body {
            prefer_large(columns);
        }
    }

    /// The entries of one row as (column, value), in storage order.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let (range, columns): (_, Option<&[u32]>) = match &self.place {
            Place::Here(Body::Dense { .. }) => (row * self.cols..(row + 1) * self.cols, None),
            Place::Here(Body::Csr { row_starts, columns, .. }) => {
                (row_starts[row] as usize..row_starts[row + 1] as usize, Some(columns))
            }
            Place::Elsewhere(rows) => {
                let (block, row) = rows.row(row);
                return Entries::Fetched(block.row(row).collect::<Vec<_>>().into_iter());
            }
        };
        let start = range.start;
        let values = self.values();
        Entries::Here(range.map(move |at| {
            (columns.map_or(at - start, |columns| columns[at] as usize), values.get(at))
        }))
    }

    /// The number of entries of each row.
    pub fn row_lengths(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.rows).map(|row| self.row_entries(row))
    }

    fn row_entries(&self, row: usize) -> u64 {
        match &self.place {
            Place::Here(Body::Dense { .. }) => self.cols as u64,
            Place::Here(Body::Csr { row_starts, .. }) => row_starts[row + 1] - row_starts[row],
            Place::Elsewhere(rows) => {
                let (block, row) = rows.row(row);
                block.row_entries(row)
            }
        }
    }

    /// The squares of the entries of one row, summed in storage order.
    pub fn row_square(&self, row: usize) -> f64 {
        match &self.place {
            Place::Here(_) => self.row(row).map(|(_, x)| x * x).sum(),
            Place::Elsewhere(rows) => rows.shape().squares[row],
        }
    }

    /// Calls `each` with the entries of one row, in storage order: [`Matrix::row`] without its
    /// choices at every entry.
    #[inline(always)]
    pub fn for_each_in_row(&self, row: usize, each: impl FnMut(usize, f64)) {
        match &self.place {
            Place::Here(body) => body.for_each_in_row(self.cols, row, each),
            Place::Elsewhere(rows) => {
                let (block, row) = rows.row(row);
                block.body().for_each_in_row(self.cols, row, each);
            }
        }
    }

    /// The rows with these numbers, in this order, as a matrix of its own.
    pub fn select_rows(&self, rows: &[usize]) -> Matrix<'static> {
        if let Some(all) = self.elsewhere() {
            if rows.windows(2).all(|pair| pair[0] < pair[1]) && !rows.is_empty() {
                return Matrix::of_blocks(Arc::new(Derived::select(all, rows)));
            }
            return self.gathered(rows);
        }
        let body = match self.body() {
            Body::Dense { values } => {
                let spans = rows.iter().map(|&r| r * self.cols..(r + 1) * self.cols);
                Body::Dense { values: gather(values, spans) }
            }
            Body::Csr { row_starts, columns, values } => {
                let spans: Vec<_> = rows
                    .iter()
                    .map(|&r| row_starts[r] as usize..row_starts[r + 1] as usize)
                    .collect();
                let mut starts = vec![0u64];
                let mut kept = Vec::new();
                for span in &spans {
                    kept.extend_from_slice(&columns[span.clone()]);
                    starts.push(kept.len() as u64);
                }
                Body::Csr {
                    row_starts: starts.into(),
                    columns: kept.into(),
                    values: gather(values, spans.into_iter()),
                }
            }
        };
        Matrix::here(rows.len(), self.cols, body)
    }

    /// The rows with these numbers, wherever they are, in memory.
    pub(crate) fn gathered(&self, rows: &[usize]) -> Matrix<'static> {
        let (mut starts, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
        for &row in rows {
            self.for_each_in_row(row, |j, x| {
                columns.push(j as u32);
                values.push(x);
            });
            starts.push(columns.len() as u64);
        }
        let storage = if self.width() == 4 { Storage::F32 } else { Storage::F64 };
        let values = storage.store(values);
        let body = match self.is_sparse() {
            true => Body::Csr { row_starts: starts.into(), columns: columns.into(), values },
            false => Body::Dense { values },
        };
        Matrix::here(rows.len(), self.cols, body)
    }

    /// The same rows with exactly `cols` columns: missing ones are zero, entries beyond are left
    /// out. Also returns how many non-zero entries were left out.
    pub fn with_cols(&self, cols: usize) -> (Matrix<'static>, usize) {
        if let Some(rows) = self.elsewhere() {
            let (rows, dropped) = Derived::with_cols(rows, cols);
            return (Matrix::of_blocks(Arc::new(rows)), dropped);
        }
        let mut row_starts = vec![0u64];
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        let mut dropped = 0;
        for i in 0..self.rows {
            for (j, x) in self.row(i).filter(|(_, x)| *x != 0.0) {
                if j < cols {
                    columns.push(j as u32);
                    values.push(x);
                } else {
                    dropped += 1;
                }
            }
            row_starts.push(columns.len() as u64);
        }
        let (row_starts, columns) = (row_starts.into(), columns.into());
        // The values were exact in the matrix's own precision; they stay so.
        let values = match self.values() {
            Values::F32(_) => Storage::F32.store(values),
            Values::F64(_) => Storage::F64.store(values),
        };
        (Matrix::here(self.rows, cols, Body::Csr { row_starts, columns, values }), dropped)
    }

    /// These rows with the rows of `below` under them, as wide as the wider of the two; in single
    /// precision where both are.
    pub fn stack(&self, below: &Matrix<'_>) -> Result<Matrix<'static>, MatrixError> {
        let single = self.width() == 4 && below.width() == 4;
        let storage = if single { Storage::F32 } else { Storage::F64 };
        let all = (0..self.rows).map(|i| (self, i));
        let cols = self.cols.max(below.cols);
        if !self.is_sparse() && !below.is_sparse() && self.cols == below.cols {
            let values = |m: &Matrix<'_>| {
                let rows = 0..m.rows;
                rows.flat_map(|i| m.row(i).map(|(_, x)| x)).collect()
            };
            let both: [Vec<f64>; 2] = [values(self), values(below)];
            return Matrix::dense(self.rows + below.rows, cols, storage.store(both.concat()));
        }
        let (mut starts, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
        for (matrix, i) in all.chain((0..below.rows).map(|i| (below, i))) {
            for (j, x) in matrix.row(i).filter(|(_, x)| *x != 0.0) {
                columns.push(j as u32);
                values.push(x);
            }
            starts.push(columns.len() as u64);
        }
        Matrix::csr(cols, starts, columns, storage.store(values))
    }

    /// The same matrix, borrowed.
    pub fn view(&self) -> Matrix<'_> {
        let place = match &self.place {
            Place::Here(Body::Dense { values }) => {
                Place::Here(Body::Dense { values: values.view() })
            }
            Place::Here(Body::Csr { row_starts, columns, values }) => Place::Here(Body::Csr {
                row_starts: Cow::Borrowed(row_starts),
                columns: Cow::Borrowed(columns),
                values: values.view(),
            }),
            Place::Elsewhere(rows) => Place::Elsewhere(rows.clone()),
        };
        Matrix { rows: self.rows, cols: self.cols, place }
    }

    /// What is stored here. Whoever needs all rows in memory at once is not given a matrix whose rows are
    /// elsewhere.
    pub(crate) fn body(&self) -> &Body<'a> {
        match &self.place {
            Place::Here(body) => body,
            Place::Elsewhere(_) => unreachable!("rows that are fetched are not all here"),
        }
    }
}

/// The entries of a row: where they are stored, or as they were fetched.
enum Entries<H> {
    Here(H),
    Fetched(std::vec::IntoIter<(usize, f64)>),
}

impl<H: Iterator<Item = (usize, f64)>> Iterator for Entries<H> {
    type Item = (usize, f64);

    #[inline(always)]
    fn next(&mut self) -> Option<(usize, f64)> {
        match self {
            Entries::Here(entries) => entries.next(),
            Entries::Fetched(entries) => entries.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Entries::Here(entries) => entries.size_hint(),
            Entries::Fetched(entries) => entries.size_hint(),
        }
    }

    #[inline(always)]
    fn fold<B, F: FnMut(B, (usize, f64)) -> B>(self, init: B, f: F) -> B {
        match self {
            Entries::Here(entries) => entries.fold(init, f),
            Entries::Fetched(entries) => entries.fold(init, f),
        }
    }
}

fn gather(
    values: &Values<'_>,
    spans: impl Iterator<Item = std::ops::Range<usize>>,
) -> Values<'static> {
    match values {
        Values::F32(v) => spans.flat_map(|s| v[s].iter().copied()).collect::<Vec<f32>>().into(),
        Values::F64(v) => spans.flat_map(|s| v[s].iter().copied()).collect::<Vec<f64>>().into(),
    }
}

fn check_columns(cols: usize) -> Result<(), MatrixError> {
    if cols > i32::MAX as usize { Err(MatrixError::TooManyColumns(cols)) } else { Ok(()) }
}

fn check_length(what: &'static str, expected: usize, found: usize) -> Result<(), MatrixError> {
    if expected == found { Ok(()) } else { Err(MatrixError::Length { what, expected, found }) }
}
