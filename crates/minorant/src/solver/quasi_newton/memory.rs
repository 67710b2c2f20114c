//! The limited-memory estimate of the inverse Hessian: the last few steps with the changes of the
//! gradient along them, and the two loops that multiply with it (Nocedal and Wright, Algorithm 9.1;
//! §3.5 of Yu et al.).

use super::InverseHessian;
use crate::archive::{Archive, ArchiveError};
use minorant_linalg::dense::{axpy, dot, norm2};
use std::collections::VecDeque;

/// Pairs of vectors as long as the weights, 16 bytes a weight, that fit 128 MiB, but at least `fewest`.
pub(in crate::solver) fn pairs_that_fit(dim: usize, fewest: usize) -> usize {
    ((128 << 20) / (16 * dim.max(1))).max(fewest)
}

#[derive(Debug)]
struct Pair {
    s: Vec<f64>,
    y: Vec<f64>,
    /// 1 / sᵀy.
    rho: f64,
}

impl Pair {
    fn new(s: Vec<f64>, y: Vec<f64>) -> Self {
        Pair { rho: 1.0 / dot(&s, &y), s, y }
    }
}

/// The last `most` pairs of step and change of the gradient.
#[derive(Debug)]
pub(in crate::solver) struct LimitedMemory {
    most: usize,
    pairs: VecDeque<Pair>,
}

impl LimitedMemory {
    /// Keeps `most` pairs, at least one.
    pub(in crate::solver) fn new(most: usize) -> Self {
        LimitedMemory { most: most.max(1), pairs: VecDeque::new() }
    }

    /// The scale γ = sᵀy / yᵀy of the matrix γ I that the pairs correct.
    fn scale(&self) -> f64 {
        self.pairs.back().map_or(1.0, |last| 1.0 / (last.rho * norm2(&last.y)))
    }
}

impl InverseHessian for LimitedMemory {
    fn times(&self, v: &[f64]) -> Vec<f64> {
        let mut q = v.to_vec();
        let mut alphas = Vec::with_capacity(self.pairs.len());
        for pair in self.pairs.iter().rev() {
            let alpha = pair.rho * dot(&pair.s, &q);
            axpy(-alpha, &pair.y, &mut q);
            alphas.push(alpha);
        }
        let scale = self.scale();
        q.iter_mut().for_each(|q| *q *= scale);
        for (pair, alpha) in self.pairs.iter().zip(alphas.iter().rev()) {
            let beta = pair.rho * dot(&pair.y, &q);
            axpy(alpha - beta, &pair.s, &mut q);
        }
        q
    }

    fn update(&mut self, s: &[f64], y: &[f64]) {
        if self.pairs.len() == self.most {
            self.pairs.pop_front();
        }
        self.pairs.push_back(Pair::new(s.to_vec(), y.to_vec()));
    }

    fn is_fresh(&self) -> bool {
        self.pairs.is_empty()
    }

    fn reset(&mut self) {
        self.pairs.clear();
    }

    fn save(&self, archive: &mut Archive) {
        archive.put_integers("pairs", [self.pairs.len() as u64]);
        let all = |of: &dyn Fn(&Pair) -> Vec<f64>| self.pairs.iter().flat_map(of).collect();
        archive.put_reals("pairs.s", all(&|pair| pair.s.clone()));
        archive.put_reals("pairs.y", all(&|pair| pair.y.clone()));
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        let count = archive.take_integer("pairs")? as usize;
        let (s, y) = (archive.take_reals("pairs.s")?, archive.take_reals("pairs.y")?);
        let fits = s.len() == y.len() && (count == 0) == s.is_empty();
        if !fits || count > self.most || !s.len().is_multiple_of(count.max(1)) {
            return Err(ArchiveError("pairs".into()));
        }
        let dim = (s.len() / count.max(1)).max(1);
        let pairs = s.chunks(dim).zip(y.chunks(dim));
        self.pairs = pairs.map(|(s, y)| Pair::new(s.to_vec(), y.to_vec())).collect();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::DenseInverse;
    use super::*;

    /// With room for all pairs the two loops multiply with the matrix that BFGS would store.
    #[test]
    fn two_loops_equal_the_dense_update() {
        let dim = 7;
        let number = |at: usize| ((at * 2_654_435_761) % 1_000_003) as f64 / 500_001.5 - 1.0;
        for most in [1, 3, 20] {
            let mut memory = LimitedMemory::new(most);
            let mut pairs: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
            for t in 0..10 {
                let s: Vec<f64> = (0..dim).map(|i| number(100 * t + i)).collect();
                // A diagonal Hessian and some noise, so that sᵀy > 0.
                let y = |i: usize| (1.0 + i as f64) * s[i] + 0.1 * number(100 * t + 50 + i);
                let y: Vec<f64> = (0..dim).map(y).collect();
                memory.update(&s, &y);
                pairs.push((s, y));
                let (s, y) = &pairs[t];
                // The dense matrix starts from the scale of its first pair, the loops from that of
                // their last: a step that tells nothing but that scale comes first.
                let mut dense = DenseInverse::new(dim);
                let scale = dot(s, y) / norm2(y);
                let unit: Vec<f64> = (0..dim).map(|i| f64::from(u8::from(i == 0))).collect();
                dense.update(&unit.iter().map(|u| scale * u).collect::<Vec<_>>(), &unit);
                let kept = pairs.len().saturating_sub(most);
                pairs[kept..].iter().for_each(|(s, y)| dense.update(s, y));
                let v: Vec<f64> = (0..dim).map(|i| number(7000 + 10 * t + i)).collect();
                let (loops, matrix) = (memory.times(&v), dense.times(&v));
                for (a, b) in loops.iter().zip(&matrix) {
                    assert!((a - b).abs() <= 1e-11 * (1.0 + b.abs()), "{most} {t}: {a} {b}");
                }
                // The secant condition B y = s.
                let back = memory.times(y);
                assert!(back.iter().zip(s).all(|(a, b)| (a - b).abs() <= 1e-11), "{most} {t}");
            }
        }
    }
}
