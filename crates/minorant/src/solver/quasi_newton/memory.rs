//! The limited-memory estimate of the inverse Hessian: the last few steps with the changes of the
//! gradient along them, multiplied by the two-loop recursion.

use crate::archive::{Archive, ArchiveError};
use minorant_linalg::dense::{axpy, dot, norm2};
use std::collections::VecDeque;

#[derive(Debug)]
struct Pair {
    s: Vec<f64>,
    y: Vec<f64>,
    /// 1 / sᵀy.
    rho: f64,
}

/// The last few pairs of a step and the change of the gradient along it.
#[derive(Debug)]
pub(in crate::solver) struct LimitedMemory {
    most: usize,
    pairs: VecDeque<Pair>,
}

impl LimitedMemory {
    /// Keeps `most` pairs.
    pub(in crate::solver) fn new(most: usize) -> Self {
        LimitedMemory { most: most.max(1), pairs: VecDeque::new() }
    }

    /// B v.
    pub(in crate::solver) fn times(&self, v: &[f64]) -> Vec<f64> {
        let mut q = v.to_vec();
        let mut alphas = Vec::with_capacity(self.pairs.len());
        for pair in self.pairs.iter().rev() {
            let alpha = pair.rho * dot(&pair.s, &q);
            axpy(-alpha, &pair.y, &mut q);
            alphas.push(alpha);
        }
        if let Some(last) = self.pairs.back() {
            let scale = 1.0 / (last.rho * norm2(&last.y));
            q.iter_mut().for_each(|q| *q *= scale);
        }
        for (pair, alpha) in self.pairs.iter().zip(alphas.iter().rev()) {
            let beta = pair.rho * dot(&pair.y, &q);
            axpy(alpha - beta, &pair.s, &mut q);
        }
        q
    }

    /// Takes in a step and the change of the gradient along it; sᵀy must be positive.
    pub(in crate::solver) fn update(&mut self, s: &[f64], y: &[f64]) {
        if self.pairs.len() == self.most {
            self.pairs.pop_front();
        }
        self.push(s.to_vec(), y.to_vec());
    }

    fn push(&mut self, s: Vec<f64>, y: Vec<f64>) {
        self.pairs.push_back(Pair { rho: 1.0 / dot(&s, &y), s, y });
    }

    /// Whether B is still the identity.
    pub(in crate::solver) fn is_fresh(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Forgets everything.
    pub(in crate::solver) fn reset(&mut self) {
        self.pairs.clear();
    }

    /// Writes the pairs.
    pub(in crate::solver) fn save(&self, archive: &mut Archive) {
        archive.put_integers("pairs", [self.pairs.len() as u64]);
        let all = |of: fn(&Pair) -> &Vec<f64>| self.pairs.iter().flat_map(of).copied().collect();
        archive.put_reals("pairs.s", all(|pair| &pair.s));
        archive.put_reals("pairs.y", all(|pair| &pair.y));
    }

    /// Goes back to saved pairs of vectors with `dim` entries.
    pub(in crate::solver) fn load(
        &mut self,
        dim: usize,
        archive: &mut Archive,
    ) -> Result<(), ArchiveError> {
        let count = archive.take_integer("pairs")? as usize;
        let (s, y) = (archive.take_reals("pairs.s")?, archive.take_reals("pairs.y")?);
        let fits = |v: &[f64]| count <= self.most && Some(v.len()) == count.checked_mul(dim);
        if !fits(&s) || !fits(&y) {
            return Err(ArchiveError("pairs".into()));
        }
        self.pairs.clear();
        for (s, y) in s.chunks(dim.max(1)).zip(y.chunks(dim.max(1))) {
            self.push(s.to_vec(), y.to_vec());
        }
        Ok(())
    }
}
