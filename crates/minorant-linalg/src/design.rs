//! Products of a feature matrix with weights, block of rows by block of rows: forward
//! (outputs = X·W) and backward (gradient += Xᵀ·coefficients). A caller that goes forward and
//! backward over one block before the next reads the data from memory once. Weights are stored
//! feature by feature, the K outputs of a feature side by side, so that a sparse entry touches one
//! run of memory whatever K is. A bias is a constant last feature that is never stored.

mod follow;
mod gram;
mod kernels;
mod relax;

use crate::dense::{LANES, Stored, TOGETHER, add_rows_kernel, axpy_kernel, dispatch};
use crate::matrix::{Body, Matrix, Values};
use crate::parallel::Spare;
pub use follow::Follow;
pub(crate) use kernels::sparse_dot;
use kernels::{DenseOutput, DenseOutputs, SparseOutputs, add_outer, prefetch, sparse_axpy};
use pulp::Arch;
pub use relax::{Factors, RowStep};
use std::borrow::Cow;
use std::ops::Range;

/// A feature matrix with an optional constant feature behind its columns.
#[derive(Debug, Clone, Copy)]
pub struct Design<'a> {
    matrix: &'a Matrix<'a>,
    bias: Option<f64>,
}

/// Weights (or a gradient) laid out for the kernels: feature by feature, K outputs padded to whole
/// vectors; or output by output, which suits the gradient over dense rows.
#[derive(Debug, Clone)]
pub struct PackedWeights<'w> {
    outputs: usize,
    stride: usize,
    by_output: bool,
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
            return PackedWeights {
                outputs,
                stride,
                by_output: false,
                data: Cow::Borrowed(weights),
            };
        }
        let mut data = vec![0.0; weights.len() / outputs * stride];
        for (to, from) in data.chunks_exact_mut(stride).zip(weights.chunks_exact(outputs)) {
            to[..outputs].copy_from_slice(from);
        }
        PackedWeights { outputs, stride, by_output: false, data: Cow::Owned(data) }
    }

    /// The weights without padding.
    pub fn unpack(self) -> Vec<f64> {
        if self.by_output {
            let features = self.data.len() / self.outputs;
            let at = |i: usize| self.data[i % self.outputs * features + i / self.outputs];
            return (0..self.data.len()).map(at).collect();
        }
        if self.stride == self.outputs {
            return self.data.into_owned();
        }
        self.data.chunks_exact(self.stride).flat_map(|row| &row[..self.outputs]).copied().collect()
    }
}

/// Rows that are gathered before they are added to a gradient of one output.
const GATHERED: usize = 128;
/// Groups of rows between those that are added to a gradient and those that are asked for from memory:
/// several rows at once are no pattern that hardware foresees.
const AHEAD: usize = 4;

impl<'a> Design<'a> {
    /// A design without or with a constant feature.
    pub fn new(matrix: &'a Matrix<'a>, bias: Option<f64>) -> Self {
        Design { matrix, bias }
    }

    /// The same over some of the rows.
    fn over<'p>(&self, part: &'p Matrix<'p>) -> Design<'p> {
        Design { matrix: part, bias: self.bias }
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
        (self.matrix.row_square(row) + self.bias.map_or(0.0, |bias| bias * bias)).sqrt()
    }

    /// A gradient of zeros, to be accumulated into by [`Design::backward`].
    pub fn gradient(&self, outputs: usize, spare: &Spare) -> PackedWeights<'static> {
        let by_output = !self.matrix.is_sparse() && outputs > 1;
        let stride = if by_output { outputs } else { stride_of(outputs) };
        let data = Cow::Owned(spare.zeros(self.features() * stride));
        PackedWeights { outputs, stride, by_output, data }
    }

    /// `out[i K + k] = x_i · w_k` for the rows `i` of the block.
    pub fn forward(&self, rows: Range<usize>, weights: &PackedWeights<'_>, out: &mut [f64]) {
        assert!(!weights.by_output);
        assert_eq!(weights.data.len(), self.features() * weights.stride);
        assert_eq!(out.len(), rows.len() * weights.outputs);
        assert!(rows.end <= self.rows());
        if let Some(blocks) = self.matrix.elsewhere() {
            let k = weights.outputs;
            let each = |part: &Matrix<'static>, local: Range<usize>, before: usize| {
                let out = &mut out[before * k..(before + local.len()) * k];
                self.over(part).forward(local, weights, out);
            };
            return blocks.for_each_run(rows, |_| true, each);
        }
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
        assert_eq!(gradient.by_output, !self.matrix.is_sparse() && gradient.outputs > 1);
        assert_eq!(gradient.data.len(), self.features() * gradient.stride);
        assert_eq!(coefficients.len(), rows.len() * gradient.outputs);
        assert!(rows.end <= self.rows());
        if let Some(blocks) = self.matrix.elsewhere() {
            let k = gradient.outputs;
            let count = |run: Range<usize>| run.start * k..run.end * k;
            let is_active = |run| coefficients[count(run)].iter().any(|c| *c != 0.0);
            return blocks.for_each_run(rows, is_active, |part, local, before| {
                let c = &coefficients[count(before..before + local.len())];
                self.over(part).backward(local, c, gradient);
            });
        }
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
        if weights.outputs > 1 {
            let bias = self.bias;
            return Arch::new().dispatch(DenseOutputs { values, cols, rows, bias, weights, out });
        }
        let bias = self.bias.map_or(0.0, |b| b * weights.data[cols]);
        let weights = &weights.data[..cols];
        Arch::new().dispatch(DenseOutput { values, cols, rows, bias, weights, out });
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
        if weights.outputs > 1 {
            let bias = self.bias;
            return Arch::new().dispatch(SparseOutputs {
                row_starts,
                columns,
                values,
                rows,
                bias,
                weights,
                out,
            });
        }
        let bias = self.bias.map_or(0.0, |b| b * weights.data[self.matrix.cols()]);
        dispatch(
            #[inline(always)]
            || {
                for (out, i) in out.iter_mut().zip(rows) {
                    let span = row_starts[i] as usize..row_starts[i + 1] as usize;
                    let (columns, values) = (&columns[span.clone()], &values[span]);
                    // SAFETY: `Matrix::csr` checked every column index against `cols`, and
                    // `forward` checked that there is a weight for each feature.
                    *out = unsafe { sparse_dot(columns, values, &weights.data) } + bias;
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
        let (cols, features) = (self.matrix.cols(), self.features());
        let outputs = gradient.outputs;
        let data = &mut gradient.data.to_mut()[..];
        let bias = self.bias.unwrap_or(0.0);
        // Rows of one output are gathered before they are added: which of them count, no processor can
        // foresee. Those of several stay few enough for the first-level cache.
        let most = if outputs == 1 { GATHERED } else { TOGETHER };
        dispatch(
            #[inline(always)]
            || {
                let groups = coefficients.chunks(most * outputs);
                for (c, first) in groups.zip(rows.step_by(most)) {
                    for (k, data) in data.chunks_exact_mut(features).enumerate() {
                        let (mut active, mut count) = ([(0, 0.0); GATHERED], 0);
                        for (row, c) in c.chunks_exact(outputs).enumerate() {
                            active[count] = (first + row, c[k]);
                            count += usize::from(c[k] != 0.0);
                        }
                        let (data, of_bias) = data.split_at_mut(cols);
                        let (many, rest) = active[..count].as_chunks::<TOGETHER>();
                        for (at, group) in many.iter().enumerate() {
                            if let Some(soon) = many.get(at + AHEAD) {
                                for (i, _) in soon {
                                    prefetch(&values[i * cols..(i + 1) * cols]);
                                }
                            }
                            add_rows_kernel(values, *group, data);
                        }
                        for (i, c) in rest {
                            axpy_kernel(*c, &values[i * cols..(i + 1) * cols], data);
                        }
                        for g in of_bias {
                            active[..count].iter().for_each(|(_, c)| *g += bias * c);
                        }
                    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Products by their definition.
    fn plain(rows: &[Vec<f64>], w: &[f64], c: &[f64], k: usize) -> (Vec<f64>, Vec<f64>) {
        let mut outputs = vec![0.0; rows.len() * k];
        let mut gradient = vec![0.0; w.len()];
        for (i, row) in rows.iter().enumerate() {
            for (at, x) in
                row.iter().enumerate().flat_map(|(j, x)| (0..k).map(move |z| (j * k + z, x)))
            {
                outputs[i * k + at % k] += x * w[at];
                gradient[at] += x * c[i * k + at % k];
            }
        }
        (outputs, gradient)
    }

    #[test]
    fn products_agree_with_their_definition_at_every_width() {
        let number = |i: usize| ((i * 7919 + 13) % 31) as f64 / 8.0 - 2.0;
        for (cols, k, bias) in [(1, 1, None), (9, 1, Some(0.5)), (37, 3, None), (37, 10, Some(2.0))]
            .into_iter()
            .chain((2..19usize).map(|k| (5 + k, k, k.is_multiple_of(2).then_some(1.5))))
        {
            let rows = 11;
            let sparse = |at: usize| if at.is_multiple_of(3) { 0.0 } else { number(at) };
            let values: Vec<f64> = (0..rows * cols).map(sparse).collect();
            let full: Vec<Vec<f64>> =
                values.chunks(cols).map(|row| row.iter().copied().chain(bias).collect()).collect();
            let w: Vec<f64> = (0..full[0].len() * k).map(|at| number(at + 5)).collect();
            let c: Vec<f64> = (0..rows * k)
                .map(|at: usize| if at.is_multiple_of(4) { number(at) } else { 0.0 })
                .collect();
            let (outputs, gradient) = plain(&full, &w, &c, k);
            let dense = Matrix::dense(rows, cols, values.into()).unwrap();
            for matrix in [&dense, &dense.with_cols(cols).0] {
                let design = Design::new(matrix, bias);
                let mut out = vec![f64::NAN; 9 * k];
                design.forward(2..11, &PackedWeights::pack(&w, k), &mut out);
                assert_eq!(out, outputs[2 * k..]);
                let mut total = design.gradient(k, &Spare::default());
                design.backward(0..4, &c[..4 * k], &mut total);
                design.backward(4..11, &c[4 * k..], &mut total);
                assert_eq!(total.unpack(), gradient);
            }
        }
    }
}
