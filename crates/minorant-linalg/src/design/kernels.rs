//! The inner loops of products with one row or a few: sparse dot products and updates, K outputs at
//! once. They are inlined into callers that were compiled for the machine's vector unit. No fused
//! multiply-add stands in a closure: one that is not inlined is compiled for the plain machine,
//! where it is a function call.

use super::PackedWeights;
use crate::dense::{LANES, Stored, dot_kernel, fold};
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// Asks for the cache lines of a stretch that will be read soon.
#[inline(always)]
pub(super) fn prefetch<T>(stretch: &[T]) {
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
pub(crate) unsafe fn sparse_dot<T: Stored>(columns: &[u32], values: &[T], weights: &[f64]) -> f64 {
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
pub(super) unsafe fn sparse_axpy<T: Stored>(c: f64, columns: &[u32], values: &[T], y: &mut [f64]) {
    let (js, j_rest) = columns.as_chunks::<LANES>();
    let (xs, x_rest) = values.as_chunks::<LANES>();
    for (js, xs) in js.iter().zip(xs) {
        let js = load_columns(js);
        for l in 0..LANES {
            // SAFETY: the caller's promise.
            let y = unsafe { y.get_unchecked_mut(js[l]) };
            *y = xs[l].wide().mul_add(c, *y);
        }
    }
    for (&j, x) in j_rest.iter().zip(x_rest) {
        // SAFETY: the caller's promise.
        let y = unsafe { y.get_unchecked_mut(j as usize) };
        *y = x.wide().mul_add(c, *y);
    }
}

/// `data[j, k] += c_k x_j`: all K at once, or only the few `k` whose coefficient is not zero.
#[inline(always)]
pub(super) fn add_outer(
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

/// Vectors of outputs that one tile of the kernels below takes.
const TILE: usize = 2;
/// The widest vector, in numbers.
const WIDEST: usize = 8;

/// `acc + x w`.
#[inline(always)]
fn add_scaled<S: Simd>(
    simd: S,
    x: S::f64s,
    w: [S::f64s; TILE],
    mut acc: [S::f64s; TILE],
) -> [S::f64s; TILE] {
    for v in 0..TILE {
        acc[v] = simd.mul_add_f64s(x, w[v], acc[v]);
    }
    acc
}

/// `out[from..]`, as far as it goes, from the vectors of a tile.
#[inline(always)]
fn store<S: Simd>(tile: &[S::f64s; TILE], from: usize, out: &mut [f64]) {
    let mut numbers = [0.0; TILE * WIDEST];
    let (vectors, _) = S::as_mut_simd_f64s(&mut numbers);
    vectors[..TILE].copy_from_slice(tile);
    let width = (TILE * S::F64_LANES).min(out.len() - from);
    out[from..from + width].copy_from_slice(&numbers[..width]);
}

/// One output of dense rows. Where a vector holds as many numbers as the sums have lanes, what the compiler
/// makes of [`dot_kernel`] is slower than what stands here; the bits are the same.
pub(super) struct DenseOutput<'k, T> {
    pub(super) values: &'k [T],
    pub(super) cols: usize,
    pub(super) rows: Range<usize>,
    pub(super) bias: f64,
    pub(super) weights: &'k [f64],
    pub(super) out: &'k mut [f64],
}

/// Eight numbers of a row, the `at`-th eight, as a vector.
#[inline(always)]
fn load<S: Simd, T: Stored>(row: &[T], at: usize) -> S::f64s {
    let mut numbers = [0.0; LANES];
    let row = &row[at * LANES..][..LANES];
    for l in 0..LANES {
        numbers[l] = row[l].wide();
    }
    S::as_simd_f64s(&numbers).0[0]
}

/// The inner product of a row with a vector, added up in the order of [`dot_kernel`].
#[inline(always)]
fn dot_by_vectors<S: Simd, T: Stored>(simd: S, row: &[T], y: &[f64]) -> f64 {
    let (whole, rest) = S::as_simd_f64s(y);
    let mut acc = [simd.splat_f64s(0.0); 4];
    let long = whole.len() / 4 * 4;
    for at in (0..long).step_by(4) {
        let y = &whole[at..][..4];
        for a in 0..4 {
            acc[a] = simd.mul_add_f64s(load::<S, T>(row, at + a), y[a], acc[a]);
        }
    }
    let mut total = simd.add_f64s(simd.add_f64s(acc[0], acc[1]), simd.add_f64s(acc[2], acc[3]));
    for at in long..whole.len() {
        total = simd.mul_add_f64s(load::<S, T>(row, at), whole[at], total);
    }
    let mut lanes = [0.0; LANES];
    S::as_mut_simd_f64s(&mut lanes).0[0] = total;
    let mut sum = fold(lanes);
    for (x, y) in row[y.len() - rest.len()..].iter().zip(rest) {
        sum = x.wide().mul_add(*y, sum);
    }
    sum
}

impl<T: Stored> WithSimd for DenseOutput<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let DenseOutput { values, cols, rows, bias, weights, out } = self;
        if S::F64_LANES == LANES {
            for (out, i) in out.iter_mut().zip(rows) {
                *out = dot_by_vectors(simd, &values[i * cols..][..cols], weights) + bias;
            }
            return;
        }
        simd.vectorize(
            #[inline(always)]
            || {
                for (out, i) in out.iter_mut().zip(rows) {
                    *out = dot_kernel(&values[i * cols..][..cols], weights) + bias;
                }
            },
        );
    }
}

/// K outputs of dense rows: each weight loaded serves four rows.
pub(super) struct DenseOutputs<'k, 'w, T> {
    pub(super) values: &'k [T],
    pub(super) cols: usize,
    pub(super) rows: Range<usize>,
    pub(super) bias: Option<f64>,
    pub(super) weights: &'k PackedWeights<'w>,
    pub(super) out: &'k mut [f64],
}

impl<T: Stored> DenseOutputs<'_, '_, T> {
    #[inline(always)]
    fn rows<S: Simd, const R: usize>(&mut self, simd: S, first: usize) {
        let (outputs, per_feature) = (self.weights.outputs, self.weights.stride / S::F64_LANES);
        let (weights, _) = S::as_simd_f64s(&self.weights.data);
        let mut rows = [&self.values[..0]; R];
        for r in 0..R {
            rows[r] = &self.values[(first + r) * self.cols..][..self.cols];
        }
        let out = &mut self.out[(first - self.rows.start) * outputs..][..R * outputs];
        for at in (0..outputs.div_ceil(S::F64_LANES)).step_by(TILE) {
            // The last tile may be narrow.
            let last = (at + 1).min(per_feature - 1);
            let mut acc = [[simd.splat_f64s(0.0); TILE]; R];
            for (j, w) in weights.chunks_exact(per_feature).take(self.cols).enumerate() {
                for r in 0..R {
                    let x = simd.splat_f64s(rows[r][j].wide());
                    acc[r] = add_scaled(simd, x, [w[at], w[last]], acc[r]);
                }
            }
            if let Some(bias) = self.bias {
                let w = &weights[self.cols * per_feature..];
                for r in 0..R {
                    acc[r] = add_scaled(simd, simd.splat_f64s(bias), [w[at], w[last]], acc[r]);
                }
            }
            for r in 0..R {
                store::<S>(&acc[r], at * S::F64_LANES, &mut out[r * outputs..][..outputs]);
            }
        }
    }
}

impl<T: Stored> WithSimd for DenseOutputs<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        const ROWS: usize = 4;
        let mut at = self.rows.start;
        while at + ROWS <= self.rows.end {
            self.rows::<S, ROWS>(simd, at);
            at += ROWS;
        }
        for at in at..self.rows.end {
            self.rows::<S, 1>(simd, at);
        }
    }
}

/// K outputs of sparse rows.
pub(super) struct SparseOutputs<'k, 'w, T> {
    pub(super) row_starts: &'k [u64],
    pub(super) columns: &'k [u32],
    pub(super) values: &'k [T],
    pub(super) rows: Range<usize>,
    pub(super) bias: Option<f64>,
    pub(super) weights: &'k PackedWeights<'w>,
    pub(super) out: &'k mut [f64],
}

impl<T: Stored> WithSimd for SparseOutputs<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (outputs, per_feature) = (self.weights.outputs, self.weights.stride / S::F64_LANES);
        let (weights, _) = S::as_simd_f64s(&self.weights.data);
        for (out, i) in self.out.chunks_exact_mut(outputs).zip(self.rows) {
            let span = self.row_starts[i] as usize..self.row_starts[i + 1] as usize;
            let (columns, values) = (&self.columns[span.clone()], &self.values[span]);
            for at in (0..outputs.div_ceil(S::F64_LANES)).step_by(TILE) {
                let last = (at + 1).min(per_feature - 1);
                // Even and odd entries have accumulators of their own to hide the latency.
                let mut acc = [[simd.splat_f64s(0.0); TILE]; 2];
                let (js, j_rest) = columns.as_chunks::<2>();
                let (xs, x_rest) = values.as_chunks::<2>();
                for (js, xs) in js.iter().zip(xs) {
                    for e in 0..2 {
                        let w = &weights[js[e] as usize * per_feature..][..per_feature];
                        let x = simd.splat_f64s(xs[e].wide());
                        acc[e] = add_scaled(simd, x, [w[at], w[last]], acc[e]);
                    }
                }
                for (&j, x) in j_rest.iter().zip(x_rest) {
                    let w = &weights[j as usize * per_feature..][..per_feature];
                    let x = simd.splat_f64s(x.wide());
                    acc[0] = add_scaled(simd, x, [w[at], w[last]], acc[0]);
                }
                if let Some(bias) = self.bias {
                    let w = &weights[weights.len() - per_feature..];
                    let x = simd.splat_f64s(bias);
                    acc[1] = add_scaled(simd, x, [w[at], w[last]], acc[1]);
                }
                let mut total = acc[0];
                for v in 0..TILE {
                    total[v] = simd.add_f64s(acc[0][v], acc[1][v]);
                }
                store::<S>(&total, at * S::F64_LANES, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_vectors_give_the_same_outputs() {
        let (cols, k) = (3, 5);
        let values: Vec<f32> = (0..5 * cols).map(|i| i as f32 - 4.0).collect();
        let w: Vec<f64> = (0..(cols + 1) * k).map(|i| i as f64 * 0.25).collect();
        let weights = PackedWeights::pack(&w, k);
        let (row_starts, columns) = ([0, 3, 6, 9, 12, 15], [0, 1, 2].repeat(5));
        let mut out = [vec![0.0; 5 * k], vec![0.0; 5 * k], vec![0.0; 5 * k]];
        let [wide, narrow, sparse] = &mut out;
        let dense = |out| DenseOutputs {
            values: &values,
            cols,
            rows: 0..5,
            bias: Some(0.5),
            weights: &weights,
            out,
        };
        pulp::Arch::new().dispatch(dense(wide));
        dense(narrow).with_simd(pulp::Scalar::new());
        let (values, rows, bias, weights) = (&values[..], 0..5, Some(0.5), &weights);
        let (row_starts, columns) = (&row_starts[..], &columns[..]);
        SparseOutputs { row_starts, columns, values, rows, bias, weights, out: sparse }
            .with_simd(pulp::Scalar::new());
        assert_eq!(out[0], out[1]);
        assert_eq!(out[0], out[2]);
    }
}
