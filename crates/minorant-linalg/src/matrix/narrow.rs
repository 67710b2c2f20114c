//! Sparse rows without the columns in which none of them has an entry: what occurs is found out, and the
//! columns get other numbers. What is done with such rows is others' business.

use super::{Body, Matrix, Place, Values};
use crate::blocks::Derived;
use std::borrow::Cow;
use std::sync::Arc;

impl Values<'_> {
    fn lent(&self) -> Values<'_> {
        match self {
            Values::F32(v) => Values::F32(Cow::Borrowed(v)),
            Values::F64(v) => Values::F64(Cow::Borrowed(v)),
        }
    }
}

impl<'a> Matrix<'a> {
    /// The columns of sparse rows in which one has an entry, in their order: one pass over the rows.
    pub fn filled_columns(&self) -> Vec<u32> {
        let mut is_filled = vec![!self.is_sparse(); self.cols];
        let mut note = |matrix: &Matrix<'_>| {
            if let Body::Csr { columns, .. } = matrix.body() {
                columns.iter().for_each(|&column| is_filled[column as usize] = true);
            }
        };
        match self.elsewhere() {
            Some(rows) => rows.for_each_run(0..self.rows, |_| true, |matrix, _, _| note(matrix)),
            None => note(self),
        }
        let filled = is_filled.iter().enumerate().filter(|(_, is_filled)| **is_filled);
        filled.map(|(column, _)| column as u32).collect()
    }

    /// The same sparse rows with these columns alone, which are in order and have all entries. Nothing of
    /// rows in memory is copied but the numbers of their entries' columns.
    pub fn narrowed(&self, to: &[u32]) -> Matrix<'_> {
        let mut places = vec![0u32; self.cols];
        to.iter().zip(0..).for_each(|(&column, place)| places[column as usize] = place);
        if let Some(rows) = self.elsewhere() {
            return Matrix::of_blocks(Arc::new(Derived::renumbered(rows, places, to.len())));
        }
        let body = match self.body() {
            Body::Dense { .. } => unreachable!("only sparse rows have columns without entries"),
            Body::Csr { row_starts, columns, values } => Body::Csr {
                row_starts: Cow::Borrowed(row_starts),
                columns: renumbered(columns, &places),
                values: values.lent(),
            },
        };
        Matrix { rows: self.rows, cols: to.len(), place: Place::Here(body) }
    }

    /// The same rows, with columns that have numbers of these.
    pub(crate) fn with_numbers(&self, places: &[u32], cols: usize) -> Matrix<'a> {
        let body = match self.body().clone() {
            Body::Csr { row_starts, columns, values } => {
                Body::Csr { row_starts, columns: renumbered(&columns, places), values }
            }
            dense => dense,
        };
        Matrix { rows: self.rows, cols, place: Place::Here(body) }
    }
}

fn renumbered<'a>(columns: &[u32], places: &[u32]) -> Cow<'a, [u32]> {
    columns.iter().map(|&column| places[column as usize]).collect()
}
