//! The variable metric of the limited memory bundle method: BFGS corrections by the last few pairs
//! after a serious step, and SR1 corrections of the matrix as it stands after each null step. An SR1
//! correction takes something away from the matrix and leaves it positive definite, or is left out: so
//! between two serious steps the matrix never grows.

use super::{InverseHessian, LimitedMemory, bends};
use crate::archive::{Archive, ArchiveError};
use minorant_linalg::dense::{axpy, dot, norm2};

/// SR1 corrections between two serious steps, at most; further null steps leave the matrix as it is.
const CORRECTIONS: usize = 20;
/// Below this cosine between u and D u − s a correction is rounding.
const LEAST_COSINE: f64 = 1e-12;
/// Without any pair yet the matrix is a multiple of I, which grows by this factor where a serious step
/// has met no curvature.
const LONGER: f64 = 4.0;

/// The matrix D.
#[derive(Debug)]
pub(in crate::solver) struct VariableMetric {
    dim: usize,
    bfgs: LimitedMemory,
    /// D is this times I as long as there are no pairs.
    scale: f64,
    /// The SR1 corrections −v vᵀ/(uᵀv), as v/√(uᵀv).
    corrections: Vec<Vec<f64>>,
    /// Pairs of the null steps since the last serious one, which BFGS takes in at the next.
    waiting: Vec<[Vec<f64>; 2]>,
    most: usize,
}

impl VariableMetric {
    /// `scale` · I, with room for `most` pairs.
    pub(in crate::solver) fn new(dim: usize, scale: f64, most: usize) -> Self {
        VariableMetric {
            dim,
            bfgs: LimitedMemory::new(most),
            scale,
            corrections: Vec::new(),
            waiting: Vec::new(),
            most,
        }
    }

    /// Whether D is a multiple of I whose size means nothing.
    pub(in crate::solver) fn is_fresh(&self) -> bool {
        self.bfgs.is_fresh()
    }

    /// D v.
    pub(in crate::solver) fn times(&self, v: &[f64]) -> Vec<f64> {
        let mut product = self.bfgs.times(v);
        if self.is_fresh() {
            product.iter_mut().for_each(|p| *p *= self.scale);
        }
        for correction in &self.corrections {
            axpy(-dot(correction, v), correction, &mut product);
        }
        product
    }

    /// A serious step `s` with the change `u` of the subgradient along it. The null steps before it
    /// tell what lies on the other side of the kinks, and go in first.
    pub(in crate::solver) fn serious(&mut self, s: Vec<f64>, u: Vec<f64>) {
        self.corrections.clear();
        let mut pairs = std::mem::take(&mut self.waiting);
        pairs.push([s, u]);
        for [s, u] in &pairs {
            if bends(s, u) {
                self.bfgs.update(s, u);
            }
        }
        if self.is_fresh() {
            self.scale *= LONGER;
        }
    }

    /// A null step `s` along `d` = −D ξ̃ for the aggregate `aggregate` ξ̃.
    pub(in crate::solver) fn null(
        &mut self,
        s: Vec<f64>,
        u: Vec<f64>,
        d: &[f64],
        aggregate: &[f64],
    ) {
        // The matrix stays positive definite where −dᵀu − ξ̃ᵀs < 0.
        let keeps = -dot(d, &u) - dot(aggregate, &s) < 0.0;
        if keeps && self.corrections.len() < CORRECTIONS {
            let mut v = self.times(&u);
            axpy(-1.0, &s, &mut v);
            let product = dot(&u, &v);
            if product > LEAST_COSINE * (norm2(&u) * norm2(&v)).sqrt() {
                let factor = product.sqrt().recip();
                v.iter_mut().for_each(|v| *v *= factor);
                self.corrections.push(v);
            }
        }
        if self.waiting.len() == self.most {
            self.waiting.remove(0);
        }
        self.waiting.push([s, u]);
    }

    /// Writes the matrix.
    pub(in crate::solver) fn save(&self, archive: &mut Archive) {
        self.bfgs.save(archive);
        archive.put_reals("metric.scale", vec![self.scale]);
        archive.put_reals("metric.corrections", self.corrections.concat());
        let waiting = self.waiting.iter().flat_map(|pair| pair.concat());
        archive.put_reals("metric.waiting", waiting.collect());
    }

    /// Goes back to a saved matrix.
    pub(in crate::solver) fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        self.bfgs.load(archive)?;
        self.scale = archive.take_real("metric.scale")?;
        let corrections = archive.take_reals("metric.corrections")?;
        let waiting = archive.take_reals("metric.waiting")?;
        let dim = self.dim.max(1);
        if !corrections.len().is_multiple_of(dim) || !waiting.len().is_multiple_of(2 * dim) {
            return Err(ArchiveError("metric".into()));
        }
        self.corrections = corrections.chunks(dim).map(<[f64]>::to_vec).collect();
        let pair = |pair: &[f64]| [pair[..dim].to_vec(), pair[dim..].to_vec()];
        self.waiting = waiting.chunks(2 * dim).map(pair).collect();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After null steps the matrix meets the secant equation D u = s of the last correction, is
    /// positive definite, and has not grown.
    #[test]
    fn null_steps_shrink_the_matrix() {
        let dim = 6;
        let number = |at: usize| ((at * 2_654_435_761) % 1_000_003) as f64 / 500_001.5 - 1.0;
        let vector = |at: usize| (0..dim).map(|i| number(31 * at + i)).collect::<Vec<f64>>();
        let mut metric = VariableMetric::new(dim, 0.5, 4);
        let s = vector(1);
        metric.serious(s.clone(), s.iter().map(|s| 2.0 * s).collect());
        let mut corrected = 0;
        for at in 2..30 {
            let aggregate = vector(at);
            let d: Vec<f64> = metric.times(&aggregate).iter().map(|d| -d).collect();
            // A step along d with a change of the subgradient that has more curvature than D knows.
            let s: Vec<f64> = d.iter().map(|d| 0.5 * d).collect();
            let bent = metric_solve(&metric, &s, dim);
            let u: Vec<f64> =
                bent.iter().zip(vector(at + 50)).map(|(b, v)| 3.0 * b + 0.01 * v).collect();
            let before: Vec<f64> = (0..4).map(|k| quadratic(&metric, &vector(100 + k))).collect();
            let had = metric.corrections.len();
            metric.null(s.clone(), u.clone(), &d, &aggregate);
            if metric.corrections.len() > had {
                corrected += 1;
                let back = metric.times(&u);
                assert!(back.iter().zip(&s).all(|(a, b)| (a - b).abs() < 1e-9), "{at}");
            }
            for (k, before) in before.into_iter().enumerate() {
                let after = quadratic(&metric, &vector(100 + k));
                assert!(after > 0.0 && after <= before * (1.0 + 1e-12), "{at} {k}");
            }
        }
        assert!(corrected > 3);
    }

    fn quadratic(metric: &VariableMetric, v: &[f64]) -> f64 {
        dot(v, &metric.times(v))
    }

    /// D⁻¹ s by conjugate gradients.
    fn metric_solve(metric: &VariableMetric, s: &[f64], dim: usize) -> Vec<f64> {
        let (mut x, mut r) = (vec![0.0; dim], s.to_vec());
        let mut p = r.clone();
        for _ in 0..50 {
            let (dp, rr) = (metric.times(&p), norm2(&r));
            if rr < 1e-28 {
                break;
            }
            let step = rr / dot(&p, &dp);
            axpy(step, &p, &mut x);
            axpy(-step, &dp, &mut r);
            let ratio = norm2(&r) / rr;
            p = r.iter().zip(&p).map(|(r, p)| r + ratio * p).collect();
        }
        x
    }
}
