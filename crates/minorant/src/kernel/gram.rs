//! The kernel matrix of the training rows: whole where it fits into the memory allowed, else row
//! by row, with the rows used last kept.

use super::{Kernel, KernelError, Points};
use minorant_linalg::cholesky::GrowingCholesky;
use minorant_linalg::parallel::{map_chunks_mut, split_evenly};
use std::ops::Deref;
use std::sync::{Arc, Mutex};

/// The kernel matrix of some rows.
#[derive(Debug)]
pub struct Gram<'a> {
    order: usize,
    diagonal: Vec<f64>,
    entries: Entries<'a>,
}

#[derive(Debug)]
enum Entries<'a> {
    Whole(Vec<f64>),
    Rows { kernel: Kernel, points: &'a Points<'a>, cache: Mutex<Cache> },
}

/// The rows of the matrix that were used last.
#[derive(Debug)]
struct Cache {
    rows: Vec<Option<Arc<[f64]>>>,
    /// When each row was used last, by the count of uses.
    used: Vec<u64>,
    uses: u64,
    held: usize,
    most: usize,
}

/// A row of the kernel matrix.
#[derive(Debug)]
pub enum GramRow<'g> {
    /// A stretch of the whole matrix.
    Borrowed(&'g [f64]),
    /// A row of its own.
    Shared(Arc<[f64]>),
}

impl Deref for GramRow<'_> {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        match self {
            GramRow::Borrowed(row) => row,
            GramRow::Shared(row) => row,
        }
    }
}

/// How far entries of a kernel matrix may differ from their mirror images, relative to the largest.
const ASYMMETRY: f64 = 1e-8;
/// How far below zero rounding may have taken an eigenvalue, relative to the largest entry and the
/// order.
const NEGATIVE: f64 = 1e-9;
/// The number of rows that are always kept: a step of the inner solver reads two rows.
const FEWEST_ROWS: usize = 4;

impl<'a> Gram<'a> {
    /// The kernel matrix of these rows, in at most `max_bytes` bytes (but for a few rows).
    pub fn new(
        kernel: Kernel,
        points: &'a Points<'a>,
        max_bytes: u64,
    ) -> Result<Self, KernelError> {
        Gram::new_until(kernel, points, max_bytes, &|| false)
    }

    /// The kernel matrix of these rows. Where work is over before the whole matrix is known, its rows
    /// are computed when somebody asks for them.
    pub fn new_until(
        kernel: Kernel,
        points: &'a Points<'a>,
        max_bytes: u64,
        is_over: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self, KernelError> {
        kernel.check()?;
        let n = points.len();
        if kernel == Kernel::Precomputed {
            let cols = points.matrix.cols();
            if cols != n {
                return Err(KernelError::NotSquare { rows: n, cols });
            }
            let mut values = vec![0.0; n * n];
            for (i, row) in values.chunks_exact_mut(n.max(1)).enumerate() {
                points.matrix.for_each_in_row(i, |j, x| row[j] = x);
            }
            return Gram::from_values_until(n, values, is_over);
        }
        let mut buffer = points.buffer();
        let mut diagonal = vec![0.0; n];
        for (i, out) in diagonal.iter_mut().enumerate() {
            points.kernel_row(kernel, points, i, i..i + 1, &mut buffer, std::slice::from_mut(out));
        }
        let not_finite =
            |row: usize, column: usize| KernelError::NotFinite { row: row + 1, column: column + 1 };
        if let Some(i) = diagonal.iter().position(|x| !x.is_finite()) {
            return Err(not_finite(i, i));
        }
        let by_rows = |diagonal: Vec<f64>| {
            let most = usize::try_from(max_bytes / (8 * n.max(1) as u64)).unwrap_or(usize::MAX);
            let cache = Cache {
                rows: vec![None; n],
                used: vec![0; n],
                uses: 0,
                held: 0,
                most: most.max(FEWEST_ROWS),
            };
            let entries = Entries::Rows { kernel, points, cache: Mutex::new(cache) };
            Ok(Gram { order: n, diagonal, entries })
        };
        if 8 * (n as u128) * (n as u128) > u128::from(max_bytes) {
            return by_rows(diagonal);
        }
        let mut values = vec![0.0; n * n];
        let chunks = split_evenly(n, n.clamp(1, 64));
        map_chunks_mut(&chunks, &mut values, n, |_, rows, out| {
            let mut buffer = points.buffer();
            for (row, out) in rows.zip(out.chunks_exact_mut(n)) {
                if is_over() {
                    return;
                }
                points.kernel_row(kernel, points, row, 0..n, &mut buffer, out);
            }
        });
        if is_over() {
            return by_rows(diagonal);
        }
        if let Some(at) = values.iter().position(|x| !x.is_finite()) {
            return Err(not_finite(at / n, at % n));
        }
        // A product may round differently from its mirror image; the solvers count on symmetry.
        for i in 0..n {
            if is_over() {
                return by_rows(diagonal);
            }
            for j in 0..i {
                values[i * n + j] = values[j * n + i];
            }
        }
        Ok(Gram { order: n, diagonal, entries: Entries::Whole(values) })
    }

    /// A kernel matrix that the user computed, row by row; refused where it cannot be one.
    pub fn from_values(order: usize, values: Vec<f64>) -> Result<Self, KernelError> {
        Gram::from_values_until(order, values, &|| false)
    }

    fn from_values_until(
        order: usize,
        mut values: Vec<f64>,
        is_over: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self, KernelError> {
        let n = order;
        if values.len() != n * n {
            return Err(KernelError::NotSquare { rows: n, cols: values.len() / n.max(1) });
        }
        if let Some(at) = values.iter().position(|x| !x.is_finite()) {
            return Err(KernelError::NotFinite { row: at / n + 1, column: at % n + 1 });
        }
        let largest = values.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        for i in 0..n {
            for j in 0..i {
                let (one, other) = (values[i * n + j], values[j * n + i]);
                if (one - other).abs() > ASYMMETRY * largest {
                    let (row, column) = (i + 1, j + 1);
                    return Err(KernelError::NotSymmetric { row, column, one, other });
                }
                values[i * n + j] = 0.5 * (one + other);
                values[j * n + i] = values[i * n + j];
            }
        }
        let slack = (NEGATIVE * largest * n as f64).max(f64::MIN_POSITIVE);
        check_positive(n, &values, slack, is_over)?;
        let diagonal = (0..n).map(|i| values[i * n + i]).collect();
        Ok(Gram { order: n, diagonal, entries: Entries::Whole(values) })
    }

    /// Number of rows.
    pub fn order(&self) -> usize {
        self.order
    }

    /// k(x, x) of each row.
    pub fn diagonal(&self) -> &[f64] {
        &self.diagonal
    }

    /// A row.
    pub fn row(&self, i: usize) -> GramRow<'_> {
        match &self.entries {
            Entries::Whole(values) => {
                GramRow::Borrowed(&values[i * self.order..(i + 1) * self.order])
            }
            Entries::Rows { kernel, points, cache } => {
                // A poisoned cache holds whole rows all the same.
                let mut cache = cache.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                GramRow::Shared(cache.row(*kernel, points, i))
            }
        }
    }
}

impl Cache {
    fn row(&mut self, kernel: Kernel, points: &Points<'_>, i: usize) -> Arc<[f64]> {
        self.uses += 1;
        self.used[i] = self.uses;
        if let Some(row) = &self.rows[i] {
            return row.clone();
        }
        if self.held >= self.most {
            let held = (0..self.rows.len()).filter(|&j| self.rows[j].is_some());
            if let Some(oldest) = held.min_by_key(|&j| self.used[j]) {
                self.rows[oldest] = None;
                self.held -= 1;
            }
        }
        let n = points.len();
        let mut row = vec![0.0; n];
        map_chunks_mut(&split_evenly(n, (n / 512).clamp(1, 64)), &mut row, 1, |_, range, out| {
            points.kernel_row(kernel, points, i, range, &mut points.buffer(), out);
        });
        let row: Arc<[f64]> = row.into();
        self.rows[i] = Some(row.clone());
        self.held += 1;
        row
    }
}

/// Refuses a symmetric matrix that has an eigenvalue below −`slack`.
fn check_positive(
    n: usize,
    values: &[f64],
    slack: f64,
    is_over: &(dyn Fn() -> bool + Sync),
) -> Result<(), KernelError> {
    let mut factor = GrowingCholesky::new(0);
    for i in 0..n {
        if is_over() {
            return Err(KernelError::Stopped);
        }
        let row = &values[i * n..(i + 1) * n];
        let mut cross = row[..i].to_vec();
        if factor.append(&mut cross, row[i] + slack, 0.0, &[]).is_err() {
            return Err(KernelError::NotPositive { row: i + 1 });
        }
    }
    Ok(())
}
