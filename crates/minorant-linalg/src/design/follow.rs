//! Relaxation where rows are told their outputs at other weights than those that they are added to: each
//! of the others follows from its own, shrunk towards zero and held in a range. What that is for is the
//! caller's business. It is compiled once, with steps called through a pointer.

use super::Design;
use super::kernels::prefetch;
use super::relax::{AHEAD, DenseRows, Factors, Row, RowStep, Rows, SparseRows};
use crate::dense::dispatch;
use crate::matrix::{Body, Values};

/// What follows from a weight.
#[derive(Debug, Clone, Copy)]
pub struct Follow<'f> {
    /// By how much it is moved towards zero, at most as far as that.
    pub threshold: f64,
    /// The least and the greatest values, one for each weight, where there are such.
    pub ranges: Option<(&'f [f64], &'f [f64])>,
    /// How many weights all this is about: those behind them stay where they are.
    pub weights: usize,
}

impl Follow<'_> {
    /// What follows from weight number `at`.
    #[inline(always)]
    pub fn of(&self, at: usize, weight: f64) -> f64 {
        if at >= self.weights {
            return weight;
        }
        let shrunk = (weight.abs() - self.threshold).max(0.0).copysign(weight);
        match self.ranges {
            None => shrunk,
            Some((least, greatest)) => shrunk.max(least[at]).min(greatest[at]),
        }
    }
}

impl Design<'_> {
    /// Visits the rows in `order` as [`Design::relax_many`] does; outputs are those at `seen`, which
    /// follows from `weights`, and goes on to.
    pub fn relax_following(
        &self,
        order: &[u32],
        factors: Factors<'_>,
        weights: &mut [f64],
        (follow, seen): (Follow<'_>, &mut [f64]),
        step: &mut dyn RowStep,
    ) {
        let outputs = weights.len() / self.features().max(1);
        self.check_relaxation(order, factors, outputs, weights);
        assert_eq!(seen.len(), weights.len());
        let all = Following { design: self, order, factors, outputs, follow };
        let cols = self.matrix.cols();
        match self.matrix.body() {
            Body::Dense { values: Values::F32(v) } => {
                all.visit(DenseRows { values: &v[..], cols }, weights, seen, step);
            }
            Body::Dense { values: Values::F64(v) } => {
                all.visit(DenseRows { values: &v[..], cols }, weights, seen, step);
            }
            Body::Csr { row_starts, columns, values: Values::F32(v) } => {
                all.visit(SparseRows { row_starts, columns, values: &v[..] }, weights, seen, step);
            }
            Body::Csr { row_starts, columns, values: Values::F64(v) } => {
                all.visit(SparseRows { row_starts, columns, values: &v[..] }, weights, seen, step);
            }
        }
    }
}

struct Following<'f> {
    design: &'f Design<'f>,
    order: &'f [u32],
    factors: Factors<'f>,
    outputs: usize,
    follow: Follow<'f>,
}

impl Following<'_> {
    fn visit<R: Rows>(
        &self,
        rows: R,
        weights: &mut [f64],
        seen: &mut [f64],
        step: &mut dyn RowStep,
    ) {
        let (k, cols) = (self.outputs, self.design.matrix.cols());
        let (mut f, mut c) = (vec![0.0; k], vec![0.0; k]);
        dispatch(
            #[inline(always)]
            || {
                for (at, &i) in self.order.iter().enumerate() {
                    if let Some(&soon) = self.order.get(at + AHEAD) {
                        rows.row(soon as usize).prefetch();
                        prefetch(step.needs(soon as usize));
                    }
                    let row = rows.row(i as usize);
                    if k == 1 {
                        // SAFETY: `Matrix` checked every column against the number of columns, and
                        // `check_relaxation` that there is a weight for each.
                        f[0] = unsafe { row.dot(&seen[..cols]) };
                    } else {
                        f.fill(0.0);
                        for e in 0..row.len() {
                            let (j, x) = row.entry(e);
                            let of_feature = &seen[j * k..(j + 1) * k];
                            f.iter_mut().zip(of_feature).for_each(|(f, w)| *f += x * w);
                        }
                    }
                    if let Some(value) = self.design.bias {
                        f.iter_mut().zip(&seen[cols * k..]).for_each(|(f, w)| *f += value * w);
                    }
                    if !step.step(i as usize, &f, &mut c) {
                        continue;
                    }
                    for e in 0..row.len() {
                        let (j, mut x) = row.entry(e);
                        if let Some(factors) = self.factors.columns {
                            x *= factors[j];
                        }
                        self.add(j, x, &c, weights, seen);
                    }
                    if let Some(value) = self.design.bias {
                        self.add(cols, value * self.factors.bias, &c, weights, seen);
                    }
                }
            },
        );
    }

    #[inline(always)]
    fn add(&self, feature: usize, x: f64, c: &[f64], weights: &mut [f64], seen: &mut [f64]) {
        for (z, c) in c.iter().enumerate() {
            let at = feature * self.outputs + z;
            weights[at] += c * x;
            seen[at] = self.follow.of(at, weights[at]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;

    /// Adds every row with its outputs, halved and shifted by its number.
    struct Halves(Vec<Vec<f64>>);

    impl RowStep for Halves {
        fn step(&mut self, row: usize, outputs: &[f64], coefficients: &mut [f64]) -> bool {
            self.0.push(outputs.to_vec());
            for (c, f) in coefficients.iter_mut().zip(outputs) {
                *c = 0.5 * f - row as f64;
            }
            row != 1
        }
    }

    #[test]
    fn rows_see_what_follows_from_the_weights() {
        let values = vec![1.0, 0.0, -2.0, 0.5, 1.5, 0.0, 0.0, -1.0, 1.0];
        let order = [2u32, 0, 1, 0, 2];
        for k in [1, 2] {
            let number = |i: usize| ((i * 37 + 11) % 16) as f64 / 8.0 - 1.0;
            let start: Vec<f64> = (0..4 * k).map(number).collect();
            let (least, greatest) = (vec![-0.25; 4 * k], vec![f64::INFINITY; 4 * k]);
            let follow = Follow {
                threshold: 0.125,
                ranges: Some((&least, &greatest)),
                weights: least.len(),
            };
            let seen_of = |w: &[f64]| -> Vec<f64> {
                w.iter().enumerate().map(|(at, w)| follow.of(at, *w)).collect()
            };
            let (mut w, mut expected) = (start.clone(), Halves(Vec::new()));
            for &i in &order {
                let row: Vec<f64> =
                    values[i as usize * 3..][..3].iter().copied().chain([2.0]).collect();
                let mut f = vec![0.0; k];
                seen_of(&w).iter().enumerate().for_each(|(at, w)| f[at % k] += row[at / k] * w);
                let mut c = vec![0.0; k];
                if expected.step(i as usize, &f, &mut c) {
                    w.iter_mut().enumerate().for_each(|(at, w)| *w += c[at % k] * row[at / k]);
                }
            }
            let dense = Matrix::dense(3, 3, values.clone().into()).unwrap();
            for matrix in [&dense, &dense.with_cols(3).0] {
                let design = Design::new(matrix, Some(2.0));
                let (mut reached, mut told) = (start.clone(), Halves(Vec::new()));
                let mut seen = seen_of(&start);
                let factors = Factors { columns: None, bias: 1.0 };
                design.relax_following(
                    &order,
                    factors,
                    &mut reached,
                    (follow, &mut seen),
                    &mut told,
                );
                let near = |a: &[f64], b: &[f64]| {
                    a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12 * (1.0 + b.abs()))
                };
                assert!(near(&reached, &w) && near(&seen, &seen_of(&w)), "{k}");
                assert!(near(&told.0.concat(), &expected.0.concat()), "{k}");
            }
        }
    }
}
