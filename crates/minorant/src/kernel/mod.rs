//! Kernels: products of rows in a feature space that is never written down. What is trained with
//! them lives in [`crate::s3vm`].

mod gram;
pub mod nystrom;

pub use gram::{Gram, GramRow};

use minorant_linalg::Matrix;
use minorant_linalg::dense::dot;
use minorant_linalg::elementary::{exp_all, repeated};

/// A kernel k(x, y).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kernel {
    /// x · y.
    Linear,
    /// exp(−‖x − y‖² / (2σ²)).
    Rbf {
        /// The width σ > 0.
        sigma: f64,
    },
    /// (x · y + offset)^power.
    Poly {
        /// The power, at least 1.
        power: u32,
        /// The offset, 0 or more: with a negative one it is no kernel.
        offset: f64,
    },
    /// The rows are rows of the kernel matrix itself.
    Precomputed,
}

/// What is wrong with a kernel or with what it was applied to.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum KernelError {
    /// The width is no positive number.
    #[error("sigma must be a positive number, not {0}")]
    Sigma(f64),
    /// The power of a polynomial is out of range.
    #[error("the power of the polynomial kernel must be from 1 to 30, not {0}")]
    Power(u32),
    /// The offset of a polynomial is out of range.
    #[error("the offset of the polynomial kernel must be a number of 0 or more, not {0}")]
    Offset(f64),
    /// A kernel matrix has as many columns as rows.
    #[error("expected a kernel matrix with as many columns as rows, found {rows} x {cols}")]
    NotSquare {
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
    },
    /// k(x, y) = k(y, x).
    #[error(
        "the kernel matrix is not symmetric: row {row}, column {column} holds {one}, and row {column}, column {row} holds {other}"
    )]
    NotSymmetric {
        /// Row, from 1.
        row: usize,
        /// Column, from 1.
        column: usize,
        /// The entry.
        one: f64,
        /// Its mirror image.
        other: f64,
    },
    /// Squared lengths in the feature space are not negative.
    #[error("the kernel matrix is not positive semidefinite; row {row} breaks it")]
    NotPositive {
        /// The first row at which it shows, from 1.
        row: usize,
    },
    /// A product is NaN or infinite.
    #[error("the kernel of rows {row} and {column} is not finite; scale the features down")]
    NotFinite {
        /// Row, from 1.
        row: usize,
        /// The other row, from 1.
        column: usize,
    },
    /// The run was stopped too early for an answer.
    #[error("the run was stopped before the kernel matrix was known to be one")]
    Stopped,
}

impl Kernel {
    /// Refuses settings with which this is no kernel.
    pub fn check(self) -> Result<(), KernelError> {
        match self {
            Kernel::Rbf { sigma } if !(sigma > 0.0 && sigma.is_finite()) => {
                Err(KernelError::Sigma(sigma))
            }
            Kernel::Poly { power, .. } if !(1..=30).contains(&power) => {
                Err(KernelError::Power(power))
            }
            Kernel::Poly { offset, .. } if !(offset >= 0.0 && offset.is_finite()) => {
                Err(KernelError::Offset(offset))
            }
            _ => Ok(()),
        }
    }

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Kernel::Linear => "linear",
            Kernel::Rbf { .. } => "rbf",
            Kernel::Poly { .. } => "poly",
            Kernel::Precomputed => "precomputed",
        }
    }

    /// The kernel of this name with the settings that it asks for.
    pub(crate) fn named(
        name: &str,
        sigma: Option<f64>,
        power: Option<u32>,
        offset: Option<f64>,
    ) -> Option<Self> {
        match name {
            "linear" => Some(Kernel::Linear),
            "rbf" => sigma.map(|sigma| Kernel::Rbf { sigma }),
            "poly" => Some(Kernel::Poly { power: power?, offset: offset? }),
            "precomputed" => Some(Kernel::Precomputed),
            _ => None,
        }
    }

    /// A width for a Gaussian: about a third of the data's spread.
    pub(crate) fn usual_width(matrix: &Matrix<'_>) -> f64 {
        let n = matrix.rows().max(1) as f64;
        let (mut sums, mut square) = (vec![0.0; matrix.cols()], 0.0);
        for i in 0..matrix.rows() {
            for (j, x) in matrix.row(i) {
                sums[j] += x;
                square += x * x;
            }
        }
        let mean: f64 = sums.iter().map(|s| (s / n) * (s / n)).sum();
        let spread = (square / n - mean).max(0.0).sqrt();
        if spread > 0.0 { 0.35 * spread } else { 1.0 }
    }

    /// The kernel from what the products of two rows with each other and with themselves are; of the
    /// Gaussian kernel the squared distance, which whole rows are made kernels of.
    fn of_products(self, xy: f64, xx: f64, yy: f64) -> f64 {
        match self {
            Kernel::Linear | Kernel::Precomputed => xy,
            // The squared distance, of which rounding may leave less than nothing.
            Kernel::Rbf { .. } => (xx + yy - 2.0 * xy).max(0.0),
            Kernel::Poly { power, offset } => repeated(xy + offset, power),
        }
    }
}

/// Rows that kernels are taken of, laid out for it: dense rows as they are, sparse ones with the
/// products with themselves.
#[derive(Debug)]
pub struct Points<'a> {
    matrix: &'a Matrix<'a>,
    /// The rows side by side, where they are dense.
    dense: Option<Vec<f64>>,
    /// x · x.
    squares: Vec<f64>,
}

impl<'a> Points<'a> {
    /// The rows of a matrix.
    pub fn new(matrix: &'a Matrix<'a>) -> Self {
        let rows = 0..matrix.rows();
        let dense = (!matrix.is_sparse())
            .then(|| rows.clone().flat_map(|i| matrix.row(i).map(|(_, x)| x)).collect());
        let mut points = Points { matrix, dense, squares: Vec::new() };
        let mut buffer = points.buffer();
        points.squares = rows
            .map(|i| {
                points.spread(i, &mut buffer);
                points.product(i, &buffer)
            })
            .collect();
        points
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.matrix.rows()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows with these numbers, in this order.
    pub fn select(&self, rows: &[usize]) -> Matrix<'static> {
        self.matrix.select_rows(rows)
    }

    /// Room for one row.
    pub fn buffer(&self) -> Vec<f64> {
        vec![0.0; self.matrix.cols()]
    }

    fn dense_row(&self, row: usize) -> Option<&[f64]> {
        let cols = self.matrix.cols();
        self.dense.as_ref().map(|values| &values[row * cols..(row + 1) * cols])
    }

    /// Writes a row into a buffer.
    pub(crate) fn spread(&self, row: usize, buffer: &mut [f64]) {
        match self.dense_row(row) {
            Some(values) => buffer.copy_from_slice(values),
            None => {
                buffer.fill(0.0);
                self.matrix.for_each_in_row(row, |j, x| buffer[j] = x);
            }
        }
    }

    fn product(&self, row: usize, other: &[f64]) -> f64 {
        match self.dense_row(row) {
            Some(values) => dot(values, other),
            None => {
                let mut sum = 0.0;
                self.matrix.for_each_in_row(row, |j, x| sum += x * other[j]);
                sum
            }
        }
    }

    /// The kernel of row `row` of `of` with the rows `range` of these points, into `out`. `buffer`
    /// is room for one row.
    pub fn kernel_row(
        &self,
        kernel: Kernel,
        of: &Points<'_>,
        row: usize,
        range: std::ops::Range<usize>,
        buffer: &mut [f64],
        out: &mut [f64],
    ) {
        of.spread(row, buffer);
        for (out, i) in out.iter_mut().zip(range) {
            *out = match (kernel, self.dense_row(i)) {
                // Differences lose nothing where rows are far from the origin.
                (Kernel::Rbf { .. }, Some(values)) => {
                    values.iter().zip(&*buffer).map(|(x, y)| (x - y) * (x - y)).sum()
                }
                _ => {
                    let product = self.product(i, buffer);
                    kernel.of_products(product, self.squares[i], of.squares[row])
                }
            };
        }
        if let Kernel::Rbf { sigma } = kernel {
            out.iter_mut().for_each(|square| *square = -*square / (2.0 * sigma * sigma));
            exp_all(out);
        }
    }
}
