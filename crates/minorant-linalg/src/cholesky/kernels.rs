//! The inner loops of the growing Cholesky factor: rotations and substitutions on a triangle stored
//! by rows. They are inlined into callers that were compiled for the machine's vector unit, and
//! check nothing but the bounds of slices.

use crate::dense::{LANES, axpy_kernel, dot_kernel};

/// The length of chunks that are rows of attached columns; there must be a length even if there
/// are no columns.
#[inline(always)]
pub(super) fn row_length(columns: usize) -> usize {
    columns.max(1)
}

/// `products += c rowᵀ row`, lower triangle.
#[inline(always)]
pub(super) fn add_outer_product(c: f64, row: &[f64], products: &mut [f64]) {
    for (i, line) in products.chunks_exact_mut(row_length(row.len())).enumerate() {
        axpy_kernel(c * row[i], &row[..=i], &mut line[..=i]);
    }
}

/// `target = c row + s carry`, `carry = c carry - s row`.
#[inline(always)]
pub(super) fn rotate(cosine: f64, sine: f64, row: &[f64], carry: &mut [f64], target: &mut [f64]) {
    let n = row.len();
    let (carry, target) = (&mut carry[..n], &mut target[..n]);
    for i in 0..n {
        let (x, w) = (row[i], carry[i]);
        target[i] = cosine.mul_add(x, sine * w);
        carry[i] = cosine.mul_add(w, -(sine * x));
    }
}

/// Rows handled together in the substitutions: the vector is then read and written once for all.
const BLOCK: usize = 4;

/// Solves `Uᵀ x = rhs` in place.
#[inline(always)]
pub(super) fn forward(upper: &[f64], stride: usize, x: &mut [f64]) {
    let n = x.len();
    let mut k = 0;
    while k + BLOCK <= n {
        let rows: [&[f64]; BLOCK] =
            std::array::from_fn(|i| &upper[(k + i) * stride + k..(k + i) * stride + n]);
        let (head, tail) = x[k..].split_at_mut(BLOCK);
        for i in 0..BLOCK {
            head[i] /= rows[i][i];
            for l in i + 1..BLOCK {
                head[l] = (-head[i]).mul_add(rows[i][l], head[l]);
            }
        }
        let c = [head[0], head[1], head[2], head[3]];
        let rows = rows.map(|row| &row[BLOCK..][..tail.len()]);
        for (j, value) in tail.iter_mut().enumerate() {
            let first = (-c[1]).mul_add(rows[1][j], (-c[0]).mul_add(rows[0][j], *value));
            *value = (-c[3]).mul_add(rows[3][j], (-c[2]).mul_add(rows[2][j], first));
        }
        k += BLOCK;
    }
    for k in k..n {
        let (head, tail) = x.split_at_mut(k + 1);
        head[k] /= upper[k * stride + k];
        axpy_kernel(-head[k], &upper[k * stride + k + 1..k * stride + n], tail);
    }
}

/// Solves `U x = rhs` in place.
#[inline(always)]
pub(super) fn backward(upper: &[f64], stride: usize, x: &mut [f64]) {
    let n = x.len();
    let mut k = n;
    while k >= BLOCK {
        k -= BLOCK;
        let rows: [&[f64]; BLOCK] =
            std::array::from_fn(|i| &upper[(k + i) * stride + k..(k + i) * stride + n]);
        let (head, tail) = x[k..].split_at_mut(BLOCK);
        let sums = dots(rows.map(|row| &row[BLOCK..]), tail);
        for i in (0..BLOCK).rev() {
            let mut value = head[i] - sums[i];
            for l in i + 1..BLOCK {
                value = (-rows[i][l]).mul_add(head[l], value);
            }
            head[i] = value / rows[i][i];
        }
    }
    for k in (0..k).rev() {
        let row = &upper[k * stride + k..k * stride + n];
        let (head, tail) = x.split_at_mut(k + 1);
        head[k] = (head[k] - dot_kernel(&row[1..], tail)) / row[0];
    }
}

/// The products of each row with `x`; the sums of the rows are independent of each other, which
/// hides the latency of the additions.
#[inline(always)]
fn dots(rows: [&[f64]; BLOCK], x: &[f64]) -> [f64; BLOCK] {
    let (x_chunks, x_rest) = x.as_chunks::<LANES>();
    let [a, b, c, d] = rows.map(|row| row.as_chunks::<LANES>().0);
    // One array per row: an array of arrays would live in memory instead of registers.
    let [mut sum_a, mut sum_b, mut sum_c, mut sum_d] = [[0.0; LANES]; BLOCK];
    for ((((x, a), b), c), d) in x_chunks.iter().zip(a).zip(b).zip(c).zip(d) {
        for l in 0..LANES {
            sum_a[l] = a[l].mul_add(x[l], sum_a[l]);
            sum_b[l] = b[l].mul_add(x[l], sum_b[l]);
            sum_c[l] = c[l].mul_add(x[l], sum_c[l]);
            sum_d[l] = d[l].mul_add(x[l], sum_d[l]);
        }
    }
    let mut sums = [fold(sum_a), fold(sum_b), fold(sum_c), fold(sum_d)];
    let done = x.len() - x_rest.len();
    for (sum, row) in sums.iter_mut().zip(rows) {
        for (a, b) in row[done..].iter().zip(x_rest) {
            *sum = a.mul_add(*b, *sum);
        }
    }
    sums
}

/// Sum of the lanes in a fixed order.
#[inline(always)]
fn fold(lanes: [f64; LANES]) -> f64 {
    ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6]))
        + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))
}
