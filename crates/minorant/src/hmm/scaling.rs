//! Features at mean 0 and variance 1 over the training frames: variances have bounds, and a
//! regularizer weighs all features alike.

use minorant_linalg::Matrix;

/// How features are standardised.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// The mean of each feature.
    pub means: Vec<f64>,
    /// What its distance from the mean is divided by; 1 for a constant feature.
    pub scales: Vec<f64>,
}

/// A feature whose deviation is below this share of its size is constant but for rounding.
const CONSTANT: f64 = 1e-12;

impl Scaling {
    /// The means and deviations of these frames; the number of a feature whose values are too
    /// large to be added up where there is one.
    pub fn of(frames: &Matrix<'_>) -> Result<Scaling, usize> {
        Scaling::of_weighted(frames, |_| 1.0)
    }

    /// The same where frames have weights.
    pub fn of_weighted(
        frames: &Matrix<'_>,
        weight: impl Fn(usize) -> f64,
    ) -> Result<Scaling, usize> {
        let total = (0..frames.rows()).map(&weight).sum::<f64>();
        let cols = frames.cols();
        let mut means = vec![0.0; cols];
        for i in 0..frames.rows() {
            frames.for_each_in_row(i, |j, x| means[j] += weight(i) * x / total);
        }
        let mut squares = vec![0.0; cols];
        for i in 0..frames.rows() {
            let mut row = means.iter().map(|mean| -mean).collect::<Vec<f64>>();
            frames.for_each_in_row(i, |j, x| row[j] += x);
            let add = |(away, sum): (&f64, &mut f64)| *sum += weight(i) * away * away / total;
            row.iter().zip(&mut squares).for_each(add);
        }
        if let Some(at) = squares.iter().position(|square| !square.is_finite()) {
            return Err(at);
        }
        let scale = |(mean, square): (&f64, &f64)| {
            let deviation = square.sqrt();
            if deviation > CONSTANT * mean.abs() { deviation } else { 1.0 }
        };
        let scales = means.iter().zip(&squares).map(scale).collect();
        Ok(Scaling { means, scales })
    }

    /// Frames, standardised.
    pub fn apply(&self, frames: &Matrix<'_>) -> Vec<f64> {
        let cols = self.means.len();
        let mut values = Vec::with_capacity(frames.rows() * cols);
        for i in 0..frames.rows() {
            let at = values.len();
            values.resize(at + cols, 0.0);
            frames.for_each_in_row(i, |j, x| values[at + j] = x);
            for ((x, mean), scale) in values[at..].iter_mut().zip(&self.means).zip(&self.scales) {
                *x = (*x - mean) / scale;
            }
        }
        values
    }
}
