//! The dense estimate of the inverse Hessian, as BFGS updates it (Eq. 6 of Yu et al.). It takes
//! dim² numbers.

use super::InverseHessian;
use crate::archive::{Archive, ArchiveError};
use minorant_linalg::dense::{axpy, dot};
use rayon::prelude::*;

/// A symmetric matrix, row by row.
#[derive(Debug)]
pub(in crate::solver) struct DenseInverse {
    dim: usize,
    matrix: Vec<f64>,
    fresh: bool,
}

impl DenseInverse {
    /// The identity.
    pub(in crate::solver) fn new(dim: usize) -> Self {
        DenseInverse::scaled(dim, 1.0)
    }

    /// A multiple of the identity.
    pub(super) fn scaled(dim: usize, scale: f64) -> Self {
        let mut matrix = vec![0.0; dim * dim];
        matrix.iter_mut().step_by(dim + 1).for_each(|entry| *entry = scale);
        DenseInverse { dim, matrix, fresh: true }
    }
}

impl InverseHessian for DenseInverse {
    fn times(&self, v: &[f64]) -> Vec<f64> {
        self.matrix.par_chunks(self.dim).map(|row| dot(row, v)).collect()
    }

    /// B := (I − ρ s yᵀ) B (I − ρ y sᵀ) + ρ s sᵀ, ρ = 1 / sᵀy.
    fn update(&mut self, s: &[f64], y: &[f64]) {
        let rho = 1.0 / dot(s, y);
        let by = self.times(y);
        let of_s = rho * (1.0 + rho * dot(y, &by));
        self.matrix.par_chunks_mut(self.dim).enumerate().for_each(|(i, row)| {
            axpy(of_s * s[i] - rho * by[i], s, row);
            axpy(-rho * s[i], &by, row);
        });
        self.fresh = false;
    }

    fn is_fresh(&self) -> bool {
        self.fresh
    }

    fn reset(&mut self) {
        *self = DenseInverse::new(self.dim);
    }

    fn save(&self, archive: &mut Archive) {
        archive.put_reals("inverse", self.matrix.clone());
        archive.put_integers("inverse.fresh", [u64::from(self.fresh)]);
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        let matrix = archive.take_reals("inverse")?;
        if matrix.len() != self.matrix.len() {
            return Err(ArchiveError("inverse".into()));
        }
        self.matrix = matrix;
        self.fresh = archive.take_integer("inverse.fresh")? != 0;
        Ok(())
    }
}
