//! Products of a feature matrix with weights, block of rows by block of rows: forward
//! (outputs = X·W) and backward (gradient += Xᵀ·coefficients). A caller that goes forward and
//! backward over one block before the next reads the data from memory once. Weights are stored
//! feature by feature, the K outputs of a feature side by side, so that a sparse entry touches one
//! run of memory whatever K is. A bias is a constant last feature that is never stored.

use crate::dense::{LANES, Stored, axpy_kernel, dispatch, dot_kernel};
use crate::matrix::{Body, Matrix, Values};
use std::borrow::Cow;
use std::ops::Range;

/// A feature matrix with an optional constant feature behind its columns.
#[derive(Debug, Clone, Copy)]
pub struct Design<'a> {
    matrix: &'a Matrix<'a>,
    bias: Option<f64>,
}

/// Weights (or a gradient) laid out for the kernels: K outputs padded to whole vectors.
#[derive(Debug, Clone)]
pub struct PackedWeights<'w> {
    outputs: usize,
    stride: usize,
    data: Cow<'w, [f64]>,
}

fn stride_of(outputs: usize) -> usize {
    if outputs == 1 { 1 } else { outputs.next_multiple_of(LANES) }
}

impl<'w> PackedWeights<'w> {
    /// Packs `weights` (feature by feature, `outputs` to each).
    pub fn pack(weights: &'w [f64], outputs: usize) -> Self {
        let stride = stride_of(outputs);
        if stride == outputs {
            return PackedWeights { outputs, stride, data: Cow::Borrowed(weights) };
        }
        let mut data = vec![0.0; weights.len() / outputs * stride];
        for (to, from) in data.chunks_exact_mut(stride).zip(weights.chunks_exact(outputs)) {
            to[..outputs].copy_from_slice(from);
        }
        PackedWeights { outputs, stride, data: Cow::Owned(data) }
    }

    /// All zeros, to be accumulated into by [`Design::backward`].
    pub fn zeros(features: usize, outputs: usize) -> PackedWeights<'static> {
        let stride = stride_of(outputs);
        PackedWeights { outputs, stride, data: Cow::Owned(vec![0.0; features * stride]) }
    }

    /// The weights without padding.
    pub fn unpack(self) -> Vec<f64> {
        if self.stride == self.outputs {
            return self.data.into_owned();
        }
        self.data.chunks_exact(self.stride).flat_map(|row| &row[..self.outputs]).copied().collect()
    }
}

impl<'a> Design<'a> {
    /// A design without or with a constant feature.
    pub fn new(matrix: &'a Matrix<'a>, bias: Option<f64>) -> Self {
        Design { matrix, bias }
    }

    /// The matrix behind it.
    pub fn matrix(&self) -> &'a Matrix<'a> {
        self.matrix
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.matrix.rows()
    }

    /// Number of features, the constant one included.
    pub fn features(&self) -> usize {
        self.matrix.cols() + usize::from(self.bias.is_some())
    }

    /// The constant feature's value.
    pub fn bias(&self) -> Option<f64> {
        self.bias
    }

    /// The Euclidean length of a row, the constant feature included.
    pub fn row_length(&self, row: usize) -> f64 {
        let entries: f64 = self.matrix.row(row).map(|(_, x)| x * x).sum();
        (entries + self.bias.map_or(0.0, |bias| bias * bias)).sqrt()
    }

    /// How many rows to take at a time so that a block stays in the second-level cache between
    /// its forward and its backward product.
    pub fn rows_per_block(&self) -> usize {
        const BLOCK_BYTES: usize = 128 << 10;
        (BLOCK_BYTES * self.rows().max(1) / self.matrix.bytes().max(1)).clamp(4, 512)
    }

    /// `out[i K + k] = x_i · w_k` for the rows `i` of the block.
    pub fn forward(&self, rows: Range<usize>, weights: &PackedWeights<'_>, out: &mut [f64]) {
        assert_eq!(weights.data.len(), self.features() * weights.stride);
        assert_eq!(out.len(), rows.len() * weights.outputs);
        assert!(rows.end <= self.rows());
        match self.matrix.body() {
            Body::Dense { values: Values::F32(v) } => self.forward_dense(v, rows, weights, out),
            Body::Dense { values: Values::F64(v) } => self.forward_dense(v, rows, weights, out),
            Body::Csr { row_starts, columns, values: Values::F32(v) } => {
                self.forward_sparse(row_starts, columns, v, rows, weights, out);
            }
            Body::Csr { row_starts, columns, values: Values::F64(v) } => {
                self.forward_sparse(row_starts, columns, v, rows, weights, out);
            }
        }
    }

    /// `gradient += Σ_i x_i ⊗ coefficients_i` over the rows of the block; rows whose coefficients
    /// are all zero are not read.
    pub fn backward(
        &self,
        rows: Range<usize>,
        coefficients: &[f64],
        gradient: &mut PackedWeights<'_>,
    ) {
        assert_eq!(gradient.data.len(), self.features() * gradient.stride);
        assert_eq!(coefficients.len(), rows.len() * gradient.outputs);
        assert!(rows.end <= self.rows());
        match self.matrix.body() {
            Body::Dense { values: Values::F32(v) } => {
                self.backward_dense(v, rows, coefficients, gradient);
            }
            Body::Dense { values: Values::F64(v) } => {
                self.backward_dense(v, rows, coefficients, gradient);
            }
            Body::Csr { row_starts, columns, values: Values::F32(v) } => {
                self.backward_sparse(row_starts, columns, v, rows, coefficients, gradient);
            }
            Body::Csr { row_starts, columns, values: Values::F64(v) } => {
                self.backward_sparse(row_starts, columns, v, rows, coefficients, gradient);
            }
        }
    }

    fn forward_dense<T: Stored>(
        &self,
        values: &[T],
        rows: Range<usize>,
        weights: &PackedWeights<'_>,
        out: &mut [f64],
    ) {
        let cols = self.matrix.cols();
        let row = |i: usize| &values[i * cols..(i + 1) * cols];
        dispatch(
            #[inline(always)]
            || {
                if weights.outputs == 1 {
                    let bias = self.bias.map_or(0.0, |b| b * weights.data[cols]);
                    for (o, i) in out.iter_mut().zip(rows.clone()) {
                        *o = dot_kernel(row(i), &weights.data[..cols]) + bias;
                    }
                    return;
                }
                let mut at = rows.start;
                while at + 4 <= rows.end {
                    let block = [row(at), row(at + 1), row(at + 2), row(at + 3)];
                    let out = &mut out[(at - rows.start) * weights.outputs..];
                    outputs_dense(block, self.bias, weights, out);
                    at += 4;
                }
                for i in at..rows.end {
                    let out = &mut out[(i - rows.start) * weights.outputs..];
                    outputs_dense([row(i)], self.bias, weights, out);
                }
            },
        );
    }

    fn forward_sparse<T: Stored>(
        &self,
        row_starts: &[u64],
        columns: &[u32],
        values: &[T],
        rows: Range<usize>,
        weights: &PackedWeights<'_>,
        out: &mut [f64],
    ) {
        let cols = self.matrix.cols();
        dispatch(
            #[inline(always)]
            || {
                let bias = self.bias.filter(|_| weights.outputs == 1);
                let bias = bias.map_or(0.0, |b| b * weights.data[cols]);
                for (out, i) in out.chunks_exact_mut(weights.outputs).zip(rows.clone()) {
                    let span = row_starts[i] as usize..row_starts[i + 1] as usize;
                    let (columns, values) = (&columns[span.clone()], &values[span]);
                    if weights.outputs == 1 {
                        // SAFETY: `Matrix::csr` checked every column index against `cols`, and
                        // `forward` checked that there is a weight for each feature.
                        out[0] = unsafe { sparse_dot(columns, values, &weights.data) } + bias;
                    } else {
                        outputs_sparse(columns, values, self.bias, weights, out);
                    }
                }
            },
        );
    }

    fn backward_dense<T: Stored>(
        &self,
        values: &[T],
        rows: Range<usize>,
        coefficients: &[f64],
        gradient: &mut PackedWeights<'_>,
    ) {
        let cols = self.matrix.cols();
        let (outputs, stride) = (gradient.outputs, gradient.stride);
        let data = gradient.data.to_mut();
        dispatch(
            #[inline(always)]
            || {
                for (c, i) in coefficients.chunks_exact(outputs).zip(rows.clone()) {
                    if c.iter().all(|&c| c == 0.0) {
                        continue;
                    }
                    let x = &values[i * cols..(i + 1) * cols];
                    if outputs == 1 {
                        axpy_kernel(c[0], x, &mut data[..cols]);
                    } else {
                        let entries = x.iter().map(|x| x.wide()).enumerate();
                        add_outer(entries, c, stride, data);
                    }
                    self.add_bias(c, stride, data);
                }
            },
        );
    }

    fn backward_sparse<T: Stored>(
        &self,
        row_starts: &[u64],
        columns: &[u32],
        values: &[T],
        rows: Range<usize>,
        coefficients: &[f64],
        gradient: &mut PackedWeights<'_>,
    ) {
        let (outputs, stride) = (gradient.outputs, gradient.stride);
        let data = &mut gradient.data.to_mut()[..];
        dispatch(
            #[inline(always)]
            || {
                let row = |i: usize| {
                    let span = row_starts[i] as usize..row_starts[i + 1] as usize;
                    (&columns[span.clone()], &values[span])
                };
                let each = coefficients.chunks_exact(outputs).zip(rows.clone());
                let mut active = each.filter(|(c, _)| c.iter().any(|&c| c != 0.0)).peekable();
                while let Some((c, i)) = active.next() {
                    // The rows in between are skipped, which no hardware foresees.
                    if let Some(&(_, next)) = active.peek() {
                        prefetch(row(next).0);
                        prefetch(row(next).1);
                    }
                    let (columns, values) = row(i);
                    if outputs == 1 {
                        // SAFETY: as in `forward_sparse`: every column index is below the number
                        // of features, and the gradient has an entry for each.
                        unsafe { sparse_axpy(c[0], columns, values, data) };
                    } else {
                        let entries = columns.iter().zip(values);
                        let entries = entries.map(|(&j, x)| (j as usize, x.wide()));
                        add_outer(entries, c, stride, data);
                    }
                    self.add_bias(c, stride, data);
                }
            },
        );
    }

    #[inline(always)]
    fn add_bias(&self, c: &[f64], stride: usize, data: &mut [f64]) {
        if let Some(bias) = self.bias {
            for (g, c) in data[self.matrix.cols() * stride..].iter_mut().zip(c) {
                *g += bias * c;
            }
        }
    }
}

/// Asks for the cache lines of a stretch that will be read soon.
#[inline(always)]
fn prefetch<T>(stretch: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for line in stretch.chunks(64 / size_of::<T>()) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing that the program can see, at any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = stretch;
}

/// Eight column indices by four loads: loads are what the sparse kernels run out of.
#[inline(always)]
fn load_columns(columns: &[u32; LANES]) -> [usize; LANES] {
    let pairs = columns.as_ptr().cast::<u64>();
    let mut at = [0; LANES];
    for k in 0..LANES / 2 {
        // SAFETY: the pairs are the array's own eight entries, and any bits are a number.
        let pair = unsafe { pairs.add(k).read_unaligned() }.to_le();
        (at[2 * k], at[2 * k + 1]) = (pair as u32 as usize, (pair >> 32) as usize);
    }
    at
}

/// # Safety
/// Every entry of `columns` must be below `weights.len()`.
#[inline(always)]
unsafe fn sparse_dot<T: Stored>(columns: &[u32], values: &[T], weights: &[f64]) -> f64 {
    // SAFETY: the caller's promise.
    let weight = |j: usize| unsafe { *weights.get_unchecked(j) };
    let mut acc = [0.0f64; LANES];
    let (js, j_rest) = columns.as_chunks::<LANES>();
    let (xs, x_rest) = values.as_chunks::<LANES>();
    for (js, xs) in js.iter().zip(xs) {
        let js = load_columns(js);
        for l in 0..LANES {
            acc[l] = xs[l].wide().mul_add(weight(js[l]), acc[l]);
        }
    }
    let mut sum = ((acc[0] + acc[4]) + (acc[2] + acc[6])) + ((acc[1] + acc[5]) + (acc[3] + acc[7]));
    for (&j, x) in j_rest.iter().zip(x_rest) {
        sum = x.wide().mul_add(weight(j as usize), sum);
    }
    sum
}

/// `y[j] += c x_j` for the entries of a row, one after the other: a column may come twice.
///
/// # Safety
/// Every entry of `columns` must be below `y.len()`.
#[inline(always)]
unsafe fn sparse_axpy<T: Stored>(c: f64, columns: &[u32], values: &[T], y: &mut [f64]) {
    let mut add = |j: usize, x: T| {
        // SAFETY: the caller's promise.
        let y = unsafe { y.get_unchecked_mut(j) };
        *y = x.wide().mul_add(c, *y);
    };
    let (js, j_rest) = columns.as_chunks::<LANES>();
    let (xs, x_rest) = values.as_chunks::<LANES>();
    for (js, xs) in js.iter().zip(xs) {
        let js = load_columns(js);
        for l in 0..LANES {
            add(js[l], xs[l]);
        }
    }
    for (&j, x) in j_rest.iter().zip(x_rest) {
        add(j as usize, *x);
    }
}

/// K outputs of R dense rows at once: each weight loaded serves R rows.
#[inline(always)]
fn outputs_dense<T: Stored, const R: usize>(
    rows: [&[T]; R],
    bias: Option<f64>,
    weights: &PackedWeights<'_>,
    out: &mut [f64],
) {
    let (outputs, stride) = (weights.outputs, weights.stride);
    for group in 0..stride / LANES {
        let mut acc = [[0.0f64; LANES]; R];
        let first = group * LANES;
        let mut add = |j: usize, x: [f64; R]| {
            let w = &weights.data[j * stride + first..][..LANES];
            for r in 0..R {
                for l in 0..LANES {
                    acc[r][l] = x[r].mul_add(w[l], acc[r][l]);
                }
            }
        };
        for j in 0..rows[0].len() {
            add(j, std::array::from_fn(|r| rows[r][j].wide()));
        }
        if let Some(bias) = bias {
            add(rows[0].len(), [bias; R]);
        }
        let width = LANES.min(outputs - first);
        for r in 0..R {
            out[r * outputs + first..][..width].copy_from_slice(&acc[r][..width]);
        }
    }
}

/// K outputs of one sparse row.
#[inline(always)]
fn outputs_sparse<T: Stored>(
    columns: &[u32],
    values: &[T],
    bias: Option<f64>,
    weights: &PackedWeights<'_>,
    out: &mut [f64],
) {
    let (outputs, stride) = (weights.outputs, weights.stride);
    for group in 0..stride / LANES {
        // Even and odd entries have accumulators of their own to hide the latency.
        let mut acc = [[0.0f64; LANES]; 2];
        let first = group * LANES;
        let mut add = |parity: usize, j: usize, x: f64| {
            let w = &weights.data[j * stride + first..][..LANES];
            for l in 0..LANES {
                acc[parity][l] = x.mul_add(w[l], acc[parity][l]);
            }
        };
        let (js, j_rest) = columns.as_chunks::<2>();
        let (xs, x_rest) = values.as_chunks::<2>();
        for (js, xs) in js.iter().zip(xs) {
            add(0, js[0] as usize, xs[0].wide());
            add(1, js[1] as usize, xs[1].wide());
        }
        if let (Some(&j), Some(x)) = (j_rest.first(), x_rest.first()) {
            add(0, j as usize, x.wide());
        }
        if let Some(bias) = bias {
            add(1, weights.data.len() / stride - 1, bias);
        }
        let width = LANES.min(outputs - first);
        for l in 0..width {
            out[first + l] = acc[0][l] + acc[1][l];
        }
    }
}

/// `data[j, k] += c_k x_j`: all K at once, or only the few `k` whose coefficient is not zero.
#[inline(always)]
fn add_outer(
    entries: impl Iterator<Item = (usize, f64)> + Clone,
    c: &[f64],
    stride: usize,
    data: &mut [f64],
) {
    const FEW: usize = 2;
    let mut few = [(0usize, 0.0f64); FEW];
    let mut count = 0;
    for (k, &c) in c.iter().enumerate().filter(|(_, c)| **c != 0.0) {
        if count < FEW {
            few[count] = (k, c);
        }
        count += 1;
    }
    if count <= FEW {
        for &(k, c) in &few[..count] {
            for (j, x) in entries.clone() {
                let g = &mut data[j * stride + k];
                *g = x.mul_add(c, *g);
            }
        }
    } else {
        for (j, x) in entries {
            for (g, c) in data[j * stride..].iter_mut().zip(c) {
                *g = x.mul_add(*c, *g);
            }
        }
    }
}
