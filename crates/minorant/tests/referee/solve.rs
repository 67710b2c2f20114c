//! Linear systems of symmetric positive matrices in many bits, by L D Lᵀ.

use super::number::Number;

/// Bits that elimination keeps.
pub(crate) const BITS: u64 = 512;

/// Pivots this far below their diagonals are nothing but rounding.
const VANISHES: i64 = -260;

/// A factor L D Lᵀ.
pub(crate) struct Factor {
    rows: Vec<Vec<Number>>,
    pivots: Vec<Number>,
}

impl Factor {
    /// The factor of a matrix given by its lower triangle, or the first row that depends on the
    /// rows above it.
    pub(crate) fn new(lower: &[Vec<Number>]) -> Result<Factor, usize> {
        let mut factor = Factor { rows: Vec::new(), pivots: Vec::new() };
        for (at, row) in lower.iter().enumerate() {
            let mut own: Vec<Number> = Vec::with_capacity(at);
            let mut pivot = row[at].clone();
            // First row · L⁻ᵀ, then divided by the pivots.
            for j in 0..at {
                let mut entry = row[j].clone();
                for k in 0..j {
                    entry = (&entry - &(&own[k] * &factor.rows[j][k])).rounded(BITS);
                }
                own.push(entry);
            }
            for j in 0..at {
                let quotient = own[j].over(&factor.pivots[j], BITS);
                pivot = (&pivot - &(&quotient * &own[j])).rounded(BITS);
                own[j] = quotient;
            }
            if !pivot.is_positive() || pivot.magnitude() < row[at].magnitude() + VANISHES {
                return Err(at);
            }
            factor.rows.push(own);
            factor.pivots.push(pivot);
        }
        Ok(factor)
    }

    /// Solves for a right-hand side.
    pub(crate) fn solve(&self, right: &[Number]) -> Vec<Number> {
        let n = right.len();
        let mut x = right.to_vec();
        for i in 0..n {
            for j in 0..i {
                x[i] = (&x[i] - &(&self.rows[i][j] * &x[j])).rounded(BITS);
            }
        }
        for i in 0..n {
            x[i] = x[i].over(&self.pivots[i], BITS);
        }
        for i in (0..n).rev() {
            for j in i + 1..n {
                x[i] = (&x[i] - &(&self.rows[j][i] * &x[j])).rounded(BITS);
            }
        }
        x
    }
}

/// Σ x_j y_j, rounded term by term.
pub(crate) fn dot(x: &[Number], y: &[Number]) -> Number {
    let nonzero = x.iter().zip(y).filter(|(x, y)| !x.is_zero() && !y.is_zero());
    nonzero.fold(Number::zero(), |sum, (x, y)| (&sum + &(x * y)).rounded(BITS))
}
