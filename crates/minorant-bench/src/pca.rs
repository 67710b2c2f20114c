//! Principal components of images, for Table 6: the mean and the leading directions of some rows,
//! by orthogonal iteration on their covariance. Nothing here is tuned for speed beyond skipping
//! zeros.

use minorant_linalg::Matrix;

/// A projection on principal components.
#[derive(Debug, Clone)]
pub(crate) struct Components {
    mean: Vec<f64>,
    /// One direction after the other.
    directions: Vec<Vec<f64>>,
}

/// Extra directions make the iteration converge fast.
const EXTRA: usize = 30;
const ROUNDS: usize = 60;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Components {
    /// The `count` leading components of the rows.
    pub(crate) fn fit(rows: &Matrix<'_>, count: usize) -> Self {
        let (n, d) = (rows.rows() as f64, rows.cols());
        let mut mean = vec![0.0; d];
        let mut covariance = vec![0.0; d * d];
        for i in 0..rows.rows() {
            let entries: Vec<(usize, f64)> = rows.row(i).filter(|(_, x)| *x != 0.0).collect();
            for &(j, x) in &entries {
                mean[j] += x / n;
                entries.iter().for_each(|&(k, y)| covariance[j * d + k] += x * y / n);
            }
        }
        for j in 0..d {
            (0..d).for_each(|k| covariance[j * d + k] -= mean[j] * mean[k]);
        }
        let apply =
            |v: &[f64]| -> Vec<f64> { covariance.chunks(d).map(|row| dot(row, v)).collect() };
        let wave = |k: usize| (0..d).map(move |j| ((j * (k + 1)) as f64 + 0.5).cos()).collect();
        let mut basis: Vec<Vec<f64>> = (0..(count + EXTRA).min(d)).map(wave).collect();
        for _ in 0..ROUNDS {
            basis = basis.iter().map(|v| apply(v)).collect();
            orthonormalise(&mut basis);
        }
        let images: Vec<Vec<f64>> = basis.iter().map(|v| apply(v)).collect();
        let small = basis.iter().map(|v| images.iter().map(|w| dot(v, w)).collect()).collect();
        let mut pairs = eigenvectors(small);
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
        let combine = |(_, weights): &(f64, Vec<f64>)| {
            let mut sum = vec![0.0; d];
            for (weight, v) in weights.iter().zip(&basis) {
                sum.iter_mut().zip(v).for_each(|(s, v)| *s += weight * v);
            }
            sum
        };
        Components { mean, directions: pairs.iter().take(count).map(combine).collect() }
    }

    /// The rows' components, times `scale`, row by row.
    pub(crate) fn project(&self, rows: &Matrix<'_>, scale: f64) -> Vec<f64> {
        let shifts: Vec<f64> = self.directions.iter().map(|v| dot(v, &self.mean)).collect();
        let mut out = Vec::with_capacity(rows.rows() * self.directions.len());
        for i in 0..rows.rows() {
            let entries: Vec<(usize, f64)> = rows.row(i).filter(|(_, x)| *x != 0.0).collect();
            for (v, shift) in self.directions.iter().zip(&shifts) {
                let inner: f64 = entries.iter().map(|&(j, x)| x * v[j]).sum();
                out.push(scale * (inner - shift));
            }
        }
        out
    }
}

/// Gram–Schmidt, twice for good measure.
fn orthonormalise(basis: &mut [Vec<f64>]) {
    for k in 0..basis.len() {
        let (before, rest) = basis.split_at_mut(k);
        let v = &mut rest[0];
        for _ in 0..2 {
            for other in before.iter() {
                let inner = dot(other, v);
                v.iter_mut().zip(other).for_each(|(v, o)| *v -= inner * o);
            }
            let length = dot(v, v).sqrt().max(f64::MIN_POSITIVE);
            v.iter_mut().for_each(|v| *v /= length);
        }
    }
}

/// Eigenvalues and eigenvectors of a small symmetric matrix, by Jacobi's rotations.
fn eigenvectors(mut a: Vec<Vec<f64>>) -> Vec<(f64, Vec<f64>)> {
    let n = a.len();
    let mut vectors: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for _ in 0..30 {
        for p in 0..n {
            for q in p + 1..n {
                if a[p][q] == 0.0 {
                    continue;
                }
                let theta = 0.5 * (2.0 * a[p][q]).atan2(a[q][q] - a[p][p]);
                let (sin, cos) = theta.sin_cos();
                for row in a.iter_mut() {
                    let (x, y) = (row[p], row[q]);
                    (row[p], row[q]) = (cos * x - sin * y, sin * x + cos * y);
                }
                for j in 0..n {
                    let (x, y) = (a[p][j], a[q][j]);
                    (a[p][j], a[q][j]) = (cos * x - sin * y, sin * x + cos * y);
                }
                for row in vectors.iter_mut() {
                    let (x, y) = (row[p], row[q]);
                    (row[p], row[q]) = (cos * x - sin * y, sin * x + cos * y);
                }
            }
        }
    }
    (0..n).map(|k| (a[k][k], vectors.iter().map(|row| row[k]).collect())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_of_a_stretched_cloud() {
        // Points on a cross whose arms have lengths 3 and 1, around (5, −2).
        let rows = [8.0, -2.0, 2.0, -2.0, 5.0, -1.0, 5.0, -3.0];
        let matrix = Matrix::dense(4, 2, rows.to_vec().into()).unwrap();
        let components = Components::fit(&matrix, 2);
        let projected = components.project(&matrix, 1.0);
        assert!((projected[0].abs() - 3.0).abs() < 1e-12 && projected[1].abs() < 1e-12);
        assert!((projected[5].abs() - 1.0).abs() < 1e-12 && projected[4].abs() < 1e-12);
    }
}
