//! Kernels on dense f64 slices: dot products, updates, norms. Each is written as plain loops over
//! eight-lane blocks and compiled for the widest vector unit found at run time; the order of the
//! additions is fixed, so the same machine gives the same bits every time. Long slices are cut into
//! fixed stretches that threads share.

use crate::parallel::{for_each_stretch, map};
use pulp::{Arch, WithSimd};

/// Slices of more than twice this length are cut: half a megabyte is worth a thread's while.
const STRETCH: usize = 1 << 16;

/// Kernels work on blocks of this many numbers.
pub const LANES: usize = 8;

/// Runs a kernel compiled for the machine's vector unit. The closure, and whatever it calls, must
/// be `#[inline(always)]` to gain from it.
#[inline]
pub fn dispatch<F: FnOnce() -> R, R>(kernel: F) -> R {
    struct Kernel<F>(F);
    impl<F: FnOnce() -> R, R> WithSimd for Kernel<F> {
        type Output = R;
        #[inline(always)]
        fn with_simd<S: pulp::Simd>(self, simd: S) -> R {
            simd.vectorize(self.0)
        }
    }
    Arch::new().dispatch(Kernel(kernel))
}

/// Types that a stored value may have.
pub(crate) trait Stored: Copy + Send + Sync {
    fn wide(self) -> f64;
}

impl Stored for f32 {
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl Stored for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
}

/// Sum of the lanes in a fixed order.
#[inline(always)]
pub(crate) fn fold(lanes: [f64; LANES]) -> f64 {
    ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6]))
        + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))
}

#[inline(always)]
pub(crate) fn dot_kernel<T: Stored>(x: &[T], y: &[f64]) -> f64 {
    let n = x.len().min(y.len());
    let (x, y) = (&x[..n], &y[..n]);
    // Four independent accumulators hide the latency of the fused multiply-add.
    let mut acc = [[0.0f64; LANES]; 4];
    let (xs, x_rest) = x.as_chunks::<{ 4 * LANES }>();
    let (ys, y_rest) = y.as_chunks::<{ 4 * LANES }>();
    for (xs, ys) in xs.iter().zip(ys) {
        for a in 0..4 {
            for l in 0..LANES {
                acc[a][l] = xs[a * LANES + l].wide().mul_add(ys[a * LANES + l], acc[a][l]);
            }
        }
    }
    let mut total = [0.0; LANES];
    for l in 0..LANES {
        total[l] = (acc[0][l] + acc[1][l]) + (acc[2][l] + acc[3][l]);
    }
    let (xs, x_rest) = x_rest.as_chunks::<LANES>();
    let (ys, y_rest) = y_rest.as_chunks::<LANES>();
    for (xs, ys) in xs.iter().zip(ys) {
        for l in 0..LANES {
            total[l] = xs[l].wide().mul_add(ys[l], total[l]);
        }
    }
    let mut sum = fold(total);
    for (x, y) in x_rest.iter().zip(y_rest) {
        sum = x.wide().mul_add(*y, sum);
    }
    sum
}

#[inline(always)]
pub(crate) fn axpy_kernel<T: Stored>(c: f64, x: &[T], y: &mut [f64]) {
    let n = x.len().min(y.len());
    let (x, y) = (&x[..n], &mut y[..n]);
    for (y, x) in y.iter_mut().zip(x) {
        *y = x.wide().mul_add(c, *y);
    }
}

/// Rows that are added together, one after the other as far as sums go: what they are added to is read
/// and written once for all of them.
pub(crate) const TOGETHER: usize = 4;

/// `y += c_0 x_0`, then `y += c_1 x_1` and so on, for some rows of a matrix with as many columns as `y`
/// has entries, and their coefficients.
#[inline(always)]
pub(crate) fn add_rows_kernel<T: Stored>(
    matrix: &[T],
    rows: [(usize, f64); TOGETHER],
    y: &mut [f64],
) {
    let n = y.len();
    let [(i0, c0), (i1, c1), (i2, c2), (i3, c3)] = rows;
    let (r0, r1) = (&matrix[i0 * n..][..n], &matrix[i1 * n..][..n]);
    let (r2, r3) = (&matrix[i2 * n..][..n], &matrix[i3 * n..][..n]);
    for j in 0..n {
        let sum = r1[j].wide().mul_add(c1, r0[j].wide().mul_add(c0, y[j]));
        y[j] = r3[j].wide().mul_add(c3, r2[j].wide().mul_add(c2, sum));
    }
}

/// The inner product of two vectors of equal length.
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len());
    let of_stretch = |(x, y): (&[f64], &[f64])| {
        dispatch(
            #[inline(always)]
            || dot_kernel(x, y),
        )
    };
    if x.len() <= 2 * STRETCH {
        return of_stretch((x, y));
    }
    let sums = map(x.len().div_ceil(STRETCH), |at| {
        let span = at * STRETCH..x.len().min((at + 1) * STRETCH);
        of_stretch((&x[span.clone()], &y[span]))
    });
    sums.iter().sum()
}

/// The squared Euclidean norm.
pub fn norm2(x: &[f64]) -> f64 {
    dot(x, x)
}

/// `y += c * x`.
pub fn axpy(c: f64, x: &[f64], y: &mut [f64]) {
    assert_eq!(x.len(), y.len());
    let of_stretch = |(x, y): (&[f64], &mut [f64])| {
        dispatch(
            #[inline(always)]
            || axpy_kernel(c, x, y),
        );
    };
    if x.len() <= 2 * STRETCH {
        return of_stretch((x, y));
    }
    for_each_stretch(y, STRETCH, |at, y| of_stretch((&x[at * STRETCH..][..y.len()], y)));
}

/// `(1 - t) * a + t * b`, written as `a + t (b - a)` so that `t = 0` gives `a` exactly.
pub fn between(a: &[f64], b: &[f64], t: f64) -> Vec<f64> {
    assert_eq!(a.len(), b.len());
    dispatch(
        #[inline(always)]
        || a.iter().zip(b).map(|(&a, &b)| a + t * (b - a)).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_and_axpy_agree_with_plain_loops_at_every_length() {
        for n in (0..130).chain([2 * STRETCH + 77, 3 * STRETCH]) {
            let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.37).sin()).collect();
            let y: Vec<f64> = (0..n).map(|i| (i as f64 * 0.73).cos()).collect();
            let plain: f64 = x.iter().zip(&y).map(|(a, b)| a * b).sum();
            assert!((dot(&x, &y) - plain).abs() < 1e-12 * (n as f64).max(1.0));
            let mut z = y.clone();
            axpy(-1.5, &x, &mut z);
            for i in 0..n {
                assert!((z[i] - (y[i] - 1.5 * x[i])).abs() < 1e-15);
            }
        }
    }
}
