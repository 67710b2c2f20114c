//! A stand-in for the inner problem that costs next to nothing. With squared losses C (y − h)² in
//! place of hinges the least objective of labels y is ½ yᵀMy, with one matrix M for all of them, so
//! labelings can be compared, and improved by switching pairs, without solving anything. What is
//! best here need not be best there: it only says which labelings are worth an inner problem.

use super::work::S3vmProblem;
use minorant_linalg::cholesky::GrowingCholesky;
use minorant_linalg::dense::{axpy, dot};
use minorant_linalg::parallel::{map_chunks, split_evenly};

/// Rows beyond which the matrix would cost more than it saves.
const MOST: usize = 1500;
/// Less than this is no progress.
const PROGRESS: f64 = 1e-9;

/// The quadratic of the unlabelled rows' labels.
#[derive(Debug, Clone)]
pub(super) struct Proxy {
    /// M between unlabelled rows, row by row.
    matrix: Vec<f64>,
    /// What M makes of the known labels, on the unlabelled rows.
    linear: Vec<f64>,
}

impl Proxy {
    /// The quadratic of a problem, unless it has too many rows, or work is to end before it is known.
    pub(super) fn new(
        problem: &S3vmProblem<'_>,
        is_over: &(dyn Fn() -> bool + Sync),
    ) -> Option<Self> {
        let n = problem.signs.len();
        if n > MOST || problem.unlabelled.is_empty() {
            return None;
        }
        // min ½‖w‖² + Σ C (y − h)² = ½ (y − b)ᵀA(y − b) with A = (K + D)⁻¹ and D = 1/(2C).
        let mut factor = GrowingCholesky::new(0);
        for (i, sign) in problem.signs.iter().enumerate() {
            if is_over() {
                return None;
            }
            let c = if *sign == 0 { problem.c2 } else { problem.c1 };
            let mut cross = problem.gram.row(i)[..i].to_vec();
            let diagonal = problem.gram.diagonal()[i] + 0.5 / c;
            factor.append(&mut cross, diagonal, 0.0, &[]).ok()?;
        }
        let solve = |mut x: Vec<f64>| {
            factor.forward(&mut x);
            factor.backward(&mut x);
            x
        };
        // The best offset b takes the mean out: M = A − A11ᵀA / 1ᵀA1.
        let ones = solve(vec![1.0; n]);
        let total: f64 = ones.iter().sum();
        let u = problem.unlabelled.len();
        let rows = map_chunks(&split_evenly(u, u.min(32)), |_, rows| {
            let row = |j: usize| {
                let i = problem.unlabelled[j];
                let mut unit = vec![0.0; n];
                unit[i] = 1.0;
                let mut row = solve(unit);
                axpy(-ones[i] / total, &ones, &mut row);
                let known: f64 =
                    problem.signs.iter().zip(&row).map(|(s, m)| f64::from(*s) * m).sum();
                let among = problem.unlabelled.iter().map(|&i| row[i]).collect::<Vec<f64>>();
                (among, known)
            };
            rows.map(|j| (!is_over()).then(|| row(j))).collect::<Option<Vec<_>>>()
        });
        let rows = rows.into_iter().collect::<Option<Vec<_>>>()?;
        let mut proxy = Proxy { matrix: Vec::with_capacity(u * u), linear: Vec::with_capacity(u) };
        for (among, known) in rows.into_iter().flatten() {
            proxy.matrix.extend(among);
            proxy.linear.push(known);
        }
        Some(proxy)
    }

    fn row(&self, j: usize) -> &[f64] {
        let u = self.linear.len();
        &self.matrix[j * u..(j + 1) * u]
    }

    /// Switches pairs of labels, so that their number stays, while the quadratic falls. Returns its
    /// value, up to what the known labels add.
    pub(super) fn descend(&self, labels: &mut [bool]) -> f64 {
        let u = labels.len();
        let mut y: Vec<f64> = labels.iter().map(|y| if *y { 1.0 } else { -1.0 }).collect();
        let mut slope: Vec<f64> = (0..u).map(|j| self.linear[j] + dot(self.row(j), &y)).collect();
        for _ in 0..2 * u {
            let alone = |j: usize| 2.0 * (self.matrix[j * u + j] - y[j] * slope[j]);
            let least = |side: bool, change: &dyn Fn(usize) -> f64| {
                (0..u)
                    .filter(|&j| labels[j] == side)
                    .map(|j| (change(j), j))
                    .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
            };
            // The best of one side, and what goes best with it.
            let mut best: Option<(f64, usize, usize)> = None;
            for side in [true, false] {
                let Some((first, i)) = least(side, &alone) else { continue };
                let row = self.row(i);
                let Some((second, j)) = least(!side, &|j| alone(j) - 4.0 * row[j]) else {
                    continue;
                };
                if best.is_none_or(|best| first + second < best.0) {
                    best = Some((first + second, i, j));
                }
            }
            let Some((_, i, j)) = best.filter(|best| best.0 < -PROGRESS) else { break };
            for k in [i, j] {
                axpy(-2.0 * y[k], self.row(k), &mut slope);
                (y[k], labels[k]) = (-y[k], !labels[k]);
            }
        }
        let products = y.iter().zip(&slope).zip(&self.linear);
        0.5 * products.map(|((y, slope), linear)| y * (slope + linear)).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Lcg;
    use crate::kernel::{Gram, Kernel, Points};
    use minorant_linalg::Matrix;

    /// min over w and b of ½‖w‖² + Σ C (y − h)², from its equations (K + 1/(2C)) a + b = y, Σa = 0.
    fn brute(problem: &S3vmProblem<'_>, y: &[f64]) -> f64 {
        let n = y.len();
        let mut rows: Vec<Vec<f64>> = (0..n)
            .map(|i| {
                let c = if problem.signs[i] == 0 { problem.c2 } else { problem.c1 };
                let mut row = problem.gram.row(i).to_vec();
                row[i] += 0.5 / c;
                row.extend([1.0, y[i]]);
                row
            })
            .collect();
        rows.push([vec![1.0; n], vec![0.0, 0.0]].concat());
        for at in 0..=n {
            let pivot = (at..=n).max_by(|a, b| rows[*a][at].abs().total_cmp(&rows[*b][at].abs()));
            rows.swap(at, pivot.unwrap());
            let line: Vec<f64> = rows[at].iter().map(|x| x / rows[at][at]).collect();
            for (k, row) in rows.iter_mut().enumerate() {
                if k != at {
                    axpy(-row[at], &line, row);
                }
            }
            rows[at] = line;
        }
        0.5 * (0..n).map(|i| y[i] * rows[i][n + 1]).sum::<f64>()
    }

    #[test]
    fn the_quadratic_is_the_least_objective_with_squared_losses() {
        let mut rng = Lcg::new(5);
        let n = 14;
        let values: Vec<f64> = (0..2 * n).map(|_| 2.0 * rng.signed()).collect();
        let matrix = Matrix::dense(n, 2, values.into()).unwrap();
        let points = Points::new(&matrix);
        let gram = Gram::new(Kernel::Rbf { sigma: 0.7 }, &points, 1 << 20).unwrap();
        let signs: Vec<i8> = (0..n).map(|i| [1, -1, 0][i.min(2)]).collect();
        let problem = S3vmProblem::new(&gram, signs, 10.0, 1.0, (6, 6));
        let proxy = Proxy::new(&problem, &|| false).unwrap();
        let of = |labels: &[bool]| {
            let unknown = labels.iter().map(|y| if *y { 1.0 } else { -1.0 });
            brute(&problem, &[1.0, -1.0].into_iter().chain(unknown).collect::<Vec<f64>>())
        };
        let mut lower = 0;
        let mut constant = None;
        for _ in 0..20 {
            let mut labels: Vec<bool> = (0..n - 2).map(|_| rng.signed() > 0.0).collect();
            let (before, count) = (of(&labels), labels.iter().filter(|y| **y).count());
            let value = proxy.descend(&mut labels);
            let after = of(&labels);
            // The same up to what the known labels add, for all labels.
            let known = *constant.get_or_insert(after - value);
            assert!((after - value - known).abs() <= 1e-9 * after, "{after} {value} {known}");
            assert_eq!(labels.iter().filter(|y| **y).count(), count);
            assert!(after <= before + 1e-9);
            lower += usize::from(after < 0.9 * before);
            // No pair that one of its two choices would find is left.
            let again = labels.clone();
            proxy.descend(&mut labels);
            assert_eq!(labels, again);
        }
        assert!(lower >= 10, "{lower}");
    }
}
