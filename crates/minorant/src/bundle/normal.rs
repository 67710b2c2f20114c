//! The normal of a plane, stored dense or by its non-zeros, whichever is smaller.

use minorant_linalg::dense;

/// A plane's normal.
#[derive(Debug, Clone)]
pub(super) enum Normal {
    /// All coordinates.
    Dense(Vec<f64>),
    /// The coordinates that are not zero.
    Sparse {
        /// Their positions, ascending.
        indices: Vec<u32>,
        /// Their values.
        values: Vec<f64>,
    },
}

impl Normal {
    /// Stores a dense vector in the smaller form.
    pub(super) fn store(vector: Vec<f64>) -> Self {
        let filled = vector.iter().filter(|x| **x != 0.0).count();
        // A gather costs several times a streamed load: sparse pays only when it is much smaller.
        if filled * 4 > vector.len() || vector.len() > u32::MAX as usize {
            return Normal::Dense(vector);
        }
        let entries = vector.iter().enumerate().filter(|(_, x)| **x != 0.0);
        let (indices, values) = entries.map(|(i, x)| (i as u32, *x)).unzip();
        Normal::Sparse { indices, values }
    }

    /// The inner product with a dense vector.
    pub(super) fn dot(&self, other: &[f64]) -> f64 {
        match self {
            Normal::Dense(vector) => dense::dot(vector, other),
            Normal::Sparse { indices, values } => {
                indices.iter().zip(values).map(|(&i, x)| x * other[i as usize]).sum()
            }
        }
    }

    /// The inner products with several dense vectors; the normal is read from memory once.
    pub(super) fn dots(&self, others: &[&[f64]]) -> Vec<f64> {
        const BLOCK: usize = 4096;
        let Normal::Dense(vector) = self else {
            return others.iter().map(|other| self.dot(other)).collect();
        };
        let mut sums = vec![0.0; others.len()];
        for (at, block) in vector.chunks(BLOCK).enumerate() {
            for (sum, other) in sums.iter_mut().zip(others) {
                *sum += dense::dot(block, &other[at * BLOCK..][..block.len()]);
            }
        }
        sums
    }

    /// `to += factor * self`.
    pub(super) fn add_to(&self, factor: f64, to: &mut [f64]) {
        match self {
            Normal::Dense(vector) => dense::axpy(factor, vector, to),
            Normal::Sparse { indices, values } => {
                for (&i, x) in indices.iter().zip(values) {
                    to[i as usize] += factor * x;
                }
            }
        }
    }

    /// The vector, written out.
    pub(super) fn expand(&self, dim: usize) -> Vec<f64> {
        let mut out = vec![0.0; dim];
        self.add_to(1.0, &mut out);
        out
    }
}
