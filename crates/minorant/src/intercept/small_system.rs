//! Symmetric systems of a few unknowns that may be singular: unknowns whose pivot is rounding stay 0.

use minorant_linalg::cholesky::GrowingCholesky;

/// A squared pivot below this share of its diagonal is rounding.
const DEPENDENT: f64 = 1e-11;

/// The factor of a positive semidefinite matrix.
#[derive(Debug)]
pub(super) struct SmallSystem {
    factor: GrowingCholesky,
    /// The unknowns that the factor has, in its order.
    kept: Vec<usize>,
    unknowns: usize,
}

impl SmallSystem {
    /// The factor of a matrix, given row by row.
    pub(super) fn new(matrix: &[f64], unknowns: usize) -> Self {
        let (mut factor, mut kept) = (GrowingCholesky::new(0), Vec::with_capacity(unknowns));
        for at in 0..unknowns {
            let mut cross: Vec<f64> =
                kept.iter().map(|&k: &usize| matrix[at * unknowns + k]).collect();
            let diagonal = matrix[at * unknowns + at];
            if factor.append(&mut cross, diagonal, DEPENDENT * diagonal, &[]).is_ok() {
                kept.push(at);
            }
        }
        SmallSystem { factor, kept, unknowns }
    }

    /// Vectors whose squares r rᵀ add up to Σ over pairs of c_p (A⁺)_pq c_qᵀ, with A the matrix and c a
    /// vector for each unknown.
    pub(super) fn whiten(&self, vectors: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
        let mut kept: Vec<Vec<f64>> = self.kept.iter().map(|&at| vectors[at].clone()).collect();
        let mut x = vec![0.0; kept.len()];
        for at in 0..kept.first().map_or(0, Vec::len) {
            x.iter_mut().zip(&kept).for_each(|(x, vector)| *x = vector[at]);
            self.factor.forward(&mut x);
            kept.iter_mut().zip(&x).for_each(|(vector, x)| vector[at] = *x);
        }
        kept
    }

    /// The solution for a right-hand side.
    pub(super) fn solve(&self, right: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = self.kept.iter().map(|&at| right[at]).collect();
        self.factor.forward(&mut x);
        self.factor.backward(&mut x);
        let mut solution = vec![0.0; self.unknowns];
        for (&at, x) in self.kept.iter().zip(x) {
            solution[at] = x;
        }
        solution
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dependent_stays_zero() {
        // The third row is the sum of the others.
        let matrix = [4.0, 1.0, 5.0, 1.0, 3.0, 4.0, 5.0, 4.0, 9.0];
        let solution = SmallSystem::new(&matrix, 3).solve(&[1.0, -2.0, -1.0]);
        assert_eq!(solution[2], 0.0);
        for (row, right) in matrix.chunks(3).zip([1.0, -2.0, -1.0]) {
            let product: f64 = row.iter().zip(&solution).map(|(a, x)| a * x).sum();
            assert!((product - right).abs() < 1e-14);
        }
        assert_eq!(SmallSystem::new(&[0.0], 1).solve(&[0.0]), [0.0]);
    }

    #[test]
    fn whitened_vectors_add_up_to_the_inverse_between_them() {
        let system = SmallSystem::new(&[4.0, 1.0, 1.0, 3.0], 2);
        let white = system.whiten(vec![vec![1.0, 0.5], vec![-2.0, 0.25]]);
        for (p, q) in [(0, 0), (0, 1), (1, 1)] {
            let sum: f64 = white.iter().map(|r| r[p] * r[q]).sum();
            let c = |at: usize| [[1.0, -2.0], [0.5, 0.25]][at];
            let solved = system.solve(&c(q));
            let product: f64 = c(p).iter().zip(&solved).map(|(c, x)| c * x).sum();
            assert!((sum - product).abs() < 1e-14);
        }
    }
}
