//! Relaxation: rows are visited one after the other in a given order; each is told its outputs at
//! the weights as they are now, and is added to them with the coefficients that the caller answers.
//! What the answer means is the caller's business. One call visits many rows, so that the choice of
//! storage, precision and vector unit is made once; the step of a row with one output, which is a few
//! instructions, is compiled into the loop.

use super::Design;
use super::kernels::{prefetch, sparse_axpy, sparse_dot};
use crate::dense::{Stored, axpy_kernel, dispatch, dot_kernel};
use crate::matrix::{Body, Values};
use pulp::{Arch, Simd, WithSimd};

/// What happens at a row.
pub trait RowStep {
    /// From the row's outputs to the coefficients with which it is added to the weights of each
    /// output; `false` if it is not to be added.
    fn step(&mut self, row: usize, outputs: &[f64], coefficients: &mut [f64]) -> bool;

    /// The numbers that [`RowStep::step`] will read at a row that comes soon.
    fn needs(&self, _row: usize) -> &[f64] {
        &[]
    }
}

/// Factors of the entries of a row when it is added to the weights.
#[derive(Debug, Clone, Copy)]
pub struct Factors<'f> {
    /// One for each column of the matrix; 1 if not given.
    pub columns: Option<&'f [f64]>,
    /// That of the constant feature.
    pub bias: f64,
}

/// Rows between the one at work and the one that is asked for from memory.
pub(super) const AHEAD: usize = 4;

impl Design<'_> {
    /// Visits the rows in `order`, where a row may come several times; `weights` are those of each
    /// feature, for one output. Compiled for every kind of step: hand in a `&mut dyn RowStep` where
    /// that is not worth it.
    pub fn relax<A: RowStep + ?Sized>(
        &self,
        order: &[u32],
        factors: Factors<'_>,
        weights: &mut [f64],
        step: &mut A,
    ) {
        self.check_relaxation(order, factors, 1, weights);
        match self.matrix.body() {
            Body::Dense { values: Values::F32(v) } => {
                let rows = DenseRows { values: &v[..], cols: self.matrix.cols() };
                self.relax_rows(rows, order, factors, weights, step);
            }
            Body::Dense { values: Values::F64(v) } => {
                let rows = DenseRows { values: &v[..], cols: self.matrix.cols() };
                self.relax_rows(rows, order, factors, weights, step);
            }
            Body::Csr { row_starts, columns, values: Values::F32(v) } => {
                let rows = SparseRows { row_starts, columns, values: &v[..] };
                self.relax_rows(rows, order, factors, weights, step);
            }
            Body::Csr { row_starts, columns, values: Values::F64(v) } => {
                let rows = SparseRows { row_starts, columns, values: &v[..] };
                self.relax_rows(rows, order, factors, weights, step);
            }
        }
    }

    /// The same for several outputs, whose weights lie side by side. A row with several outputs is
    /// work enough to call its step through a pointer, so this is compiled once.
    pub fn relax_many(
        &self,
        order: &[u32],
        factors: Factors<'_>,
        outputs: usize,
        weights: &mut [f64],
        step: &mut dyn RowStep,
    ) {
        self.check_relaxation(order, factors, outputs, weights);
        let bias = self.bias.map(|value| (value, value * factors.bias));
        match self.matrix.body() {
            Body::Dense { values: Values::F32(v) } => {
                let rows = DenseRows { values: &v[..], cols: self.matrix.cols() };
                Arch::new().dispatch(Many {
                    rows,
                    order,
                    columns: factors.columns,
                    bias,
                    outputs,
                    weights,
                    step,
                });
            }
            Body::Dense { values: Values::F64(v) } => {
                let rows = DenseRows { values: &v[..], cols: self.matrix.cols() };
                Arch::new().dispatch(Many {
                    rows,
                    order,
                    columns: factors.columns,
                    bias,
                    outputs,
                    weights,
                    step,
                });
            }
            Body::Csr { row_starts, columns, values: Values::F32(v) } => {
                let rows = SparseRows { row_starts, columns, values: &v[..] };
                Arch::new().dispatch(Many {
                    rows,
                    order,
                    columns: factors.columns,
                    bias,
                    outputs,
                    weights,
                    step,
                });
            }
            Body::Csr { row_starts, columns, values: Values::F64(v) } => {
                let rows = SparseRows { row_starts, columns, values: &v[..] };
                Arch::new().dispatch(Many {
                    rows,
                    order,
                    columns: factors.columns,
                    bias,
                    outputs,
                    weights,
                    step,
                });
            }
        }
    }

    pub(super) fn check_relaxation(
        &self,
        order: &[u32],
        factors: Factors<'_>,
        outputs: usize,
        weights: &[f64],
    ) {
        assert_eq!(weights.len(), self.features() * outputs);
        assert!(order.iter().all(|&i| (i as usize) < self.rows()));
        assert!(factors.columns.is_none_or(|columns| columns.len() == self.matrix.cols()));
    }

    fn relax_rows<R: Rows, A: RowStep + ?Sized>(
        &self,
        rows: R,
        order: &[u32],
        factors: Factors<'_>,
        weights: &mut [f64],
        step: &mut A,
    ) {
        let bias = self.bias.map(|value| (value, value * factors.bias));
        let (data, of_bias) = weights.split_at_mut(self.matrix.cols());
        dispatch(
            #[inline(always)]
            || {
                let mut c = [0.0];
                for (at, &i) in order.iter().enumerate() {
                    if let Some(&soon) = order.get(at + AHEAD) {
                        rows.row(soon as usize).prefetch();
                        prefetch(step.needs(soon as usize));
                    }
                    let row = rows.row(i as usize);
                    // SAFETY: `Matrix` checked every column against the number of columns, and
                    // `relax` that there is a weight for each.
                    let mut output = unsafe { row.dot(data) };
                    if let Some((value, _)) = bias {
                        output += value * of_bias[0];
                    }
                    if !step.step(i as usize, &[output], &mut c) {
                        continue;
                    }
                    match factors.columns {
                        // SAFETY: as above.
                        None => unsafe { row.add_to(c[0], data) },
                        Some(factors) => {
                            for e in 0..row.len() {
                                let (j, x) = row.entry(e);
                                data[j] += c[0] * x * factors[j];
                            }
                        }
                    }
                    if let Some((_, value)) = bias {
                        of_bias[0] += c[0] * value;
                    }
                }
            },
        );
    }
}

/// The rows of a matrix in one of its storages.
pub(super) trait Rows: Copy {
    type Row: Row;
    fn row(self, i: usize) -> Self::Row;
}

/// One row.
pub(super) trait Row: Copy {
    fn len(self) -> usize;
    /// Column and value of an entry.
    fn entry(self, e: usize) -> (usize, f64);
    fn prefetch(self);
    /// # Safety
    /// Every column must be below `weights.len()`.
    unsafe fn dot(self, weights: &[f64]) -> f64;
    /// # Safety
    /// Every column must be below `weights.len()`.
    unsafe fn add_to(self, c: f64, weights: &mut [f64]);
}

#[derive(Clone, Copy)]
pub(super) struct DenseRows<'m, T> {
    pub(super) values: &'m [T],
    pub(super) cols: usize,
}

impl<'m, T: Stored> Rows for DenseRows<'m, T> {
    type Row = &'m [T];
    #[inline(always)]
    fn row(self, i: usize) -> &'m [T] {
        &self.values[i * self.cols..(i + 1) * self.cols]
    }
}

impl<T: Stored> Row for &[T] {
    #[inline(always)]
    fn len(self) -> usize {
        <[T]>::len(self)
    }
    #[inline(always)]
    fn entry(self, e: usize) -> (usize, f64) {
        (e, self[e].wide())
    }
    #[inline(always)]
    fn prefetch(self) {
        prefetch(self);
    }
    #[inline(always)]
    unsafe fn dot(self, weights: &[f64]) -> f64 {
        dot_kernel(self, weights)
    }
    #[inline(always)]
    unsafe fn add_to(self, c: f64, weights: &mut [f64]) {
        axpy_kernel(c, self, weights);
    }
}

#[derive(Clone, Copy)]
pub(super) struct SparseRows<'m, T> {
    pub(super) row_starts: &'m [u64],
    pub(super) columns: &'m [u32],
    pub(super) values: &'m [T],
}

#[derive(Clone, Copy)]
pub(super) struct SparseRow<'m, T> {
    columns: &'m [u32],
    values: &'m [T],
}

impl<'m, T: Stored> Rows for SparseRows<'m, T> {
    type Row = SparseRow<'m, T>;
    #[inline(always)]
    fn row(self, i: usize) -> SparseRow<'m, T> {
        let span = self.row_starts[i] as usize..self.row_starts[i + 1] as usize;
        SparseRow { columns: &self.columns[span.clone()], values: &self.values[span] }
    }
}

impl<T: Stored> Row for SparseRow<'_, T> {
    #[inline(always)]
    fn len(self) -> usize {
        self.columns.len()
    }
    #[inline(always)]
    fn entry(self, e: usize) -> (usize, f64) {
        (self.columns[e] as usize, self.values[e].wide())
    }
    #[inline(always)]
    fn prefetch(self) {
        prefetch(self.columns);
        prefetch(self.values);
    }
    #[inline(always)]
    unsafe fn dot(self, weights: &[f64]) -> f64 {
        // SAFETY: the caller's promise.
        unsafe { sparse_dot(self.columns, self.values, weights) }
    }
    #[inline(always)]
    unsafe fn add_to(self, c: f64, weights: &mut [f64]) {
        // SAFETY: the caller's promise.
        unsafe { sparse_axpy(c, self.columns, self.values, weights) };
    }
}

/// The visit of rows of several outputs, whose weights lie side by side.
struct Many<'k, R> {
    rows: R,
    order: &'k [u32],
    columns: Option<&'k [f64]>,
    bias: Option<(f64, f64)>,
    outputs: usize,
    weights: &'k mut [f64],
    step: &'k mut dyn RowStep,
}

/// Vectors of outputs that are summed at a time.
const TILE: usize = 4;
/// Entries that have accumulators of their own, to hide the latency of the additions.
const APART: usize = 2;

/// The numbers of some vectors.
#[inline(always)]
fn numbers<S: Simd>(vectors: &[S::f64s]) -> &[f64] {
    pulp::bytemuck::cast_slice(vectors)
}

/// The numbers of some vectors.
#[inline(always)]
fn numbers_mut<S: Simd>(vectors: &mut [S::f64s]) -> &mut [f64] {
    pulp::bytemuck::cast_slice_mut(vectors)
}

/// The outputs `first..first + V` (in vectors) of a row; `weights` has `width` vectors a feature.
#[inline(always)]
fn sum_tile<S: Simd, R: Row, const V: usize>(
    simd: S,
    row: R,
    bias: Option<(f64, f64)>,
    weights: &[S::f64s],
    (width, first): (usize, usize),
    out: &mut [S::f64s],
) {
    let mut acc = [[simd.splat_f64s(0.0); V]; APART];
    let entries = row.len();
    let whole = entries - entries % APART;
    for e in (0..whole).step_by(APART) {
        for slot in 0..APART {
            let (j, x) = row.entry(e + slot);
            let (x, w) = (simd.splat_f64s(x), &weights[j * width + first..][..V]);
            for v in 0..V {
                acc[slot][v] = simd.mul_add_f64s(x, w[v], acc[slot][v]);
            }
        }
    }
    let last = (entries > whole).then(|| row.entry(whole));
    let bias = bias.map(|(value, _)| (weights.len() / width - 1, value));
    for (slot, extra) in [last, bias].into_iter().enumerate() {
        if let Some((j, x)) = extra {
            let (x, w) = (simd.splat_f64s(x), &weights[j * width + first..][..V]);
            for v in 0..V {
                acc[slot][v] = simd.mul_add_f64s(x, w[v], acc[slot][v]);
            }
        }
    }
    for v in 0..V {
        out[first + v] = simd.add_f64s(acc[0][v], acc[1][v]);
    }
}

impl<R: Rows> WithSimd for Many<'_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Many { rows, order, columns, bias, outputs, weights: plain, step } = self;
        let (width, zero) = (outputs.div_ceil(S::F64_LANES), simd.splat_f64s(0.0));
        // Padded to whole vectors.
        let mut weights = vec![zero; plain.len() / outputs * width];
        for (to, from) in weights.chunks_exact_mut(width).zip(plain.chunks_exact(outputs)) {
            numbers_mut::<S>(to)[..outputs].copy_from_slice(from);
        }
        let (mut out, mut c) = (vec![zero; width], vec![zero; width]);
        for (at, &i) in order.iter().enumerate() {
            if let Some(&soon) = order.get(at + AHEAD) {
                rows.row(soon as usize).prefetch();
                prefetch(step.needs(soon as usize));
            }
            let row = rows.row(i as usize);
            for first in (0..width).step_by(TILE) {
                let place = (width, first);
                match width - first {
                    1 => sum_tile::<S, R::Row, 1>(simd, row, bias, &weights, place, &mut out),
                    2 => sum_tile::<S, R::Row, 2>(simd, row, bias, &weights, place, &mut out),
                    3 => sum_tile::<S, R::Row, 3>(simd, row, bias, &weights, place, &mut out),
                    _ => sum_tile::<S, R::Row, TILE>(simd, row, bias, &weights, place, &mut out),
                }
            }
            let told = &numbers::<S>(&out)[..outputs];
            let asked = numbers_mut::<S>(&mut c);
            if !step.step(i as usize, told, &mut asked[..outputs]) {
                continue;
            }
            // Most vectors of outputs have no coefficient.
            for v in 0..width {
                let lanes = &numbers::<S>(&c)[v * S::F64_LANES..][..S::F64_LANES];
                if lanes.iter().all(|c| *c == 0.0) {
                    continue;
                }
                for e in 0..row.len() {
                    let (j, mut x) = row.entry(e);
                    if let Some(factors) = columns {
                        x *= factors[j];
                    }
                    let w = &mut weights[j * width + v];
                    *w = simd.mul_add_f64s(simd.splat_f64s(x), c[v], *w);
                }
                if let Some((_, value)) = bias {
                    let w = &mut weights[(plain.len() / outputs - 1) * width + v];
                    *w = simd.mul_add_f64s(simd.splat_f64s(value), c[v], *w);
                }
            }
        }
        for (from, to) in weights.chunks_exact(width).zip(plain.chunks_exact_mut(outputs)) {
            to.copy_from_slice(&numbers::<S>(from)[..outputs]);
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
                *c = 0.5 * f + row as f64;
            }
            row != 1
        }
    }

    #[test]
    fn rows_see_the_weights_that_rows_before_them_left() {
        let (rows, cols) = (4, 7);
        let order = [2u32, 0, 3, 1, 2, 2];
        for (k, bias) in [(1, None), (1, Some(2.0)), (3, Some(-1.0)), (10, None), (19, Some(0.5))] {
            for scaled in [false, true] {
                let number = |i: usize| ((i * 37 + 11) % 16) as f64 / 16.0 - 0.5;
                let values: Vec<f64> =
                    (0..rows * cols).map(|i| if i % 3 == 0 { 0.0 } else { number(i) }).collect();
                let factors: Vec<f64> = (0..cols).map(|j| 1.0 + (j % 2) as f64).collect();
                let features = cols + usize::from(bias.is_some());
                let start: Vec<f64> = (0..features * k).map(number).collect();
                let mut w = start.clone();
                let mut expected = Halves(Vec::new());
                for &i in &order {
                    let row: Vec<f64> =
                        values[i as usize * cols..][..cols].iter().copied().chain(bias).collect();
                    let mut f = vec![0.0; k];
                    for (at, w) in w.iter().enumerate() {
                        f[at % k] += row[at / k] * w;
                    }
                    let mut c = vec![0.0; k];
                    if expected.step(i as usize, &f, &mut c) {
                        for (at, w) in w.iter_mut().enumerate() {
                            let factor = match at / k {
                                j if j == cols => 3.0,
                                j if scaled => factors[j],
                                _ => 1.0,
                            };
                            *w += c[at % k] * factor * row[at / k];
                        }
                    }
                }
                let dense = Matrix::dense(rows, cols, values.into()).unwrap();
                for matrix in [&dense, &dense.with_cols(cols).0] {
                    let design = Design::new(matrix, bias);
                    let mut reached = start.clone();
                    let mut seen = Halves(Vec::new());
                    let factors = Factors { columns: scaled.then_some(&factors[..]), bias: 3.0 };
                    if k == 1 {
                        design.relax(&order, factors, &mut reached, &mut seen);
                    } else {
                        design.relax_many(&order, factors, k, &mut reached, &mut seen);
                    }
                    let near = |a: &[f64], b: &[f64]| {
                        a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12 * (1.0 + b.abs()))
                    };
                    assert!(near(&reached, &w), "{k} {bias:?} {scaled}");
                    assert!(near(&seen.0.concat(), &expected.0.concat()), "{k} {bias:?}");
                }
            }
        }
    }
}
