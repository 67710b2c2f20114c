//! The dense estimate of the inverse Hessian, as BFGS updates it (Eq. 6 of Yu et al.). It takes
//! dim² numbers. Before the first update the identity is scaled by sᵀy / yᵀy (Nocedal and Wright,
//! Eq. 8.20), so that the scale of the objective does not matter.

use super::InverseHessian;
use crate::archive::{Archive, ArchiveError};
use minorant_linalg::dense::{axpy, dot, norm2};
use minorant_linalg::parallel::{for_each_stretch, map};

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
        let mut inverse = DenseInverse { dim, matrix: vec![0.0; dim * dim], fresh: true };
        inverse.scale(1.0);
        inverse
    }

    /// Makes the diagonal `scale`.
    pub(super) fn scale(&mut self, scale: f64) {
        self.matrix.iter_mut().step_by(self.dim + 1).for_each(|entry| *entry = scale);
    }
}

impl InverseHessian for DenseInverse {
    fn times(&self, v: &[f64]) -> Vec<f64> {
        map(self.dim, |i| dot(&self.matrix[i * self.dim..(i + 1) * self.dim], v))
    }

    /// B := (I − ρ s yᵀ) B (I − ρ y sᵀ) + ρ s sᵀ, ρ = 1 / sᵀy.
    fn update(&mut self, s: &[f64], y: &[f64]) {
        let rho = 1.0 / dot(s, y);
        if self.fresh {
            self.scale(1.0 / (rho * norm2(y)));
        }
        let by = self.times(y);
        let of_s = rho * (1.0 + rho * dot(y, &by));
        for_each_stretch(&mut self.matrix, self.dim, |i, row| {
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
