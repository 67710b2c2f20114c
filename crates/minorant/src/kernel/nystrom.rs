//! Nyström features: rows as products with a few landmark rows, turned so that the plain product of
//! the features of two rows is their kernel, wherever the rows lie in the span of the landmarks. A linear function of the features is an
//! exact element of the kernel's space, an expansion over the landmarks, with the same length.

use super::{Kernel, Points};
use minorant_linalg::cholesky::GrowingCholesky;
use minorant_linalg::parallel::{map_chunks_mut, split_evenly};

/// Landmarks whose products with those before are within this of their own square add nothing.
const DEPENDENT: f64 = 1e-7;

/// Landmarks, and the factor UᵀU of their kernel matrix.
#[derive(Debug)]
pub struct Nystrom<'a> {
    kernel: Kernel,
    points: &'a Points<'a>,
    /// The landmarks' rows.
    pub landmarks: Vec<usize>,
    factor: GrowingCholesky,
}

impl<'a> Nystrom<'a> {
    /// Takes those of the rows as landmarks that do not depend on the ones before.
    pub fn new(kernel: Kernel, points: &'a Points<'a>, rows: &[usize]) -> Self {
        let mut factor = GrowingCholesky::new(0);
        let mut landmarks: Vec<usize> = Vec::new();
        let mut buffer = points.buffer();
        for &row in rows {
            let mut products = |other: usize| {
                let mut out = [0.0];
                points.kernel_row(kernel, points, row, other..other + 1, &mut buffer, &mut out);
                out[0]
            };
            let own = products(row);
            let mut cross: Vec<f64> = landmarks.iter().map(|&other| products(other)).collect();
            if factor.append(&mut cross, own, DEPENDENT * own, &[]).is_ok() {
                landmarks.push(row);
            }
        }
        Nystrom { kernel, points, landmarks, factor }
    }

    /// The features U⁻ᵀ k of all rows, row by row; nothing where work is over before they are known.
    pub fn features(&self, is_over: &(dyn Fn() -> bool + Sync)) -> Option<Vec<f64>> {
        let (n, width) = (self.points.len(), self.landmarks.len());
        let mut values = vec![0.0; n * width];
        let chunks = split_evenly(n, (n / 256).clamp(1, 256));
        map_chunks_mut(&chunks, &mut values, width, |_, rows, out| {
            let mut buffer = self.points.buffer();
            for (row, out) in rows.zip(out.chunks_exact_mut(width.max(1))) {
                if is_over() {
                    return;
                }
                for (out, &landmark) in out.iter_mut().zip(&self.landmarks) {
                    let one = std::slice::from_mut(out);
                    let range = landmark..landmark + 1;
                    self.points.kernel_row(self.kernel, self.points, row, range, &mut buffer, one);
                }
                self.factor.forward(out);
            }
        });
        (!is_over()).then_some(values)
    }

    /// The coefficients of the landmarks for weights of the features: U⁻¹ w.
    pub fn coefficients(&self, weights: &[f64]) -> Vec<f64> {
        let mut beta = weights.to_vec();
        self.factor.backward(&mut beta);
        beta
    }
}
