//! Feature matrices as they are stored: dense rows or compressed sparse rows (CSR), values in f32
//! or f64, owned or borrowed. Everything is checked once, here; the kernels that read a `Matrix`
//! rely on it. Products with weights live in [`crate::design`].

use crate::pages::prefer_large;
use std::borrow::Cow;

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

    /// Bytes of one value.
    pub fn width(&self) -> usize {
        match self {
            Values::F32(_) => 4,
            Values::F64(_) => 8,
        }
    }

    fn lent(&self) -> Values<'_> {
        match self {
            Values::F32(v) => Values::F32(Cow::Borrowed(v)),
            Values::F64(v) => Values::F64(Cow::Borrowed(v)),
        }
    }

    fn all_finite(&self) -> bool {
        match self {
            Values::F32(v) => v.iter().all(|x| x.is_finite()),
            Values::F64(v) => v.iter().all(|x| x.is_finite()),
        }
    }
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
    body: Body<'a>,
}

#[derive(Debug, Clone)]
pub(crate) enum Body<'a> {
    Dense { values: Values<'a> },
    Csr { row_starts: Cow<'a, [u64]>, columns: Cow<'a, [u32]>, values: Values<'a> },
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
        Ok(Matrix { rows, cols, body: Body::Dense { values } })
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
        if let Some(at) = columns.iter().position(|&c| c as usize >= cols) {
            let row = row_starts.partition_point(|&s| s <= at as u64) - 1;
            return Err(MatrixError::Column { row, column: columns[at], columns: cols });
        }
        if !values.all_finite() {
            return Err(MatrixError::NotFinite);
        }
        Ok(Matrix { rows, cols, body: Body::Csr { row_starts, columns, values } })
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
        matches!(self.body, Body::Csr { .. })
    }

    /// Number of stored entries.
    pub fn entries(&self) -> usize {
        match &self.body {
            Body::Dense { values } | Body::Csr { values, .. } => values.len(),
        }
    }

    /// The stored values.
    pub fn values(&self) -> &Values<'a> {
        match &self.body {
            Body::Dense { values } | Body::Csr { values, .. } => values,
        }
    }

    /// Bytes that one pass over the rows reads.
    pub fn bytes(&self) -> usize {
        match &self.body {
            Body::Dense { values } => values.len() * values.width(),
            Body::Csr { row_starts, columns, values } => {
                row_starts.len() * 8 + columns.len() * (4 + values.width())
            }
        }
    }

    /// Prepares for many passes over the rows: asks for large pages.
    pub fn prepare_for_passes(&self) {
        match self.values() {
            Values::F32(values) => prefer_large(values),
            Values::F64(values) => prefer_large(values),
        }
        if let Body::Csr { columns, .. } = &self.body {
            prefer_large(columns);
        }
    }

    /// The entries of one row as (column, value), in storage order.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let (range, columns): (_, Option<&[u32]>) = match &self.body {
            Body::Dense { .. } => (row * self.cols..(row + 1) * self.cols, None),
            Body::Csr { row_starts, columns, .. } => {
                (row_starts[row] as usize..row_starts[row + 1] as usize, Some(columns))
            }
        };
        let start = range.start;
        let values = self.values();
        range.map(move |at| {
            (columns.map_or(at - start, |columns| columns[at] as usize), values.get(at))
        })
    }

    /// Calls `each` with the entries of one row, in storage order: [`Matrix::row`] without its
    /// choices at every entry.
    #[inline(always)]
    pub fn for_each_in_row(&self, row: usize, mut each: impl FnMut(usize, f64)) {
        // Loops, not iterators' methods: those would leave a dispatched kernel's vector unit.
        match &self.body {
            Body::Dense { values } => {
                let span = row * self.cols..(row + 1) * self.cols;
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

    /// The rows with these numbers, in this order, as a matrix of its own.
    pub fn select_rows(&self, rows: &[usize]) -> Matrix<'static> {
        let body = match &self.body {
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
        Matrix { rows: rows.len(), cols: self.cols, body }
    }

    /// The same rows with exactly `cols` columns: missing ones are zero, entries beyond are left
    /// out. Also returns how many non-zero entries were left out.
    pub fn with_cols(&self, cols: usize) -> (Matrix<'static>, usize) {
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
        (Matrix { rows: self.rows, cols, body: Body::Csr { row_starts, columns, values } }, dropped)
    }

    /// The columns in which some row has an entry, in their order.
    pub fn filled_columns(&self) -> Vec<u32> {
        let Body::Csr { columns, .. } = &self.body else { return (0..self.cols as u32).collect() };
        let mut is_filled = vec![false; self.cols];
        columns.iter().for_each(|&column| is_filled[column as usize] = true);
        let filled = is_filled.iter().enumerate().filter(|(_, is_filled)| **is_filled);
        filled.map(|(column, _)| column as u32).collect()
    }

    /// The same rows with these columns alone, which are in order and have all entries. Nothing of a
    /// sparse matrix is copied but the numbers of its entries' columns.
    pub fn narrowed(&self, to: &[u32]) -> Matrix<'_> {
        let Body::Csr { row_starts, columns, values } = &self.body else { return self.lent() };
        let mut places = vec![0u32; self.cols];
        to.iter().zip(0..).for_each(|(&column, place)| places[column as usize] = place);
        let columns: Vec<u32> = columns.iter().map(|&column| places[column as usize]).collect();
        let (row_starts, values) = (Cow::Borrowed(&**row_starts), values.lent());
        let body = Body::Csr { row_starts, columns: columns.into(), values };
        Matrix { rows: self.rows, cols: to.len(), body }
    }

    fn lent(&self) -> Matrix<'_> {
        let body = match &self.body {
            Body::Dense { values } => Body::Dense { values: values.lent() },
            Body::Csr { row_starts, columns, values } => Body::Csr {
                row_starts: Cow::Borrowed(row_starts),
                columns: Cow::Borrowed(columns),
                values: values.lent(),
            },
        };
        Matrix { rows: self.rows, cols: self.cols, body }
    }

    /// These rows with the rows of `below` under them, as wide as the wider of the two; in single
    /// precision where both are.
    pub fn stack(&self, below: &Matrix<'_>) -> Result<Matrix<'static>, MatrixError> {
        let single = self.values().width() == 4 && below.values().width() == 4;
        let storage = if single { Storage::F32 } else { Storage::F64 };
        let all = (0..self.rows).map(|i| (self, i));
        let cols = self.cols.max(below.cols);
        if !self.is_sparse() && !below.is_sparse() && self.cols == below.cols {
            let values =
                |m: &Matrix<'_>| (0..m.values().len()).map(|i| m.values().get(i)).collect();
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

    pub(crate) fn body(&self) -> &Body<'a> {
        &self.body
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
