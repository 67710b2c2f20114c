//! Products of dense matrices in single or double precision, and functions of all entries of one.
//! A product runs on the thread that asks for it: whoever wants more threads cuts the work into
//! fixed blocks, so that the bits do not depend on their number.

use crate::dense::dispatch;
use crate::elementary::{self, inlined};

use std::fmt::Debug;
use std::ops::{AddAssign, Mul, Sub};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// A precision to compute in.
pub trait Real:
    sealed::Sealed
    + Copy
    + Default
    + Debug
    + PartialOrd
    + Send
    + Sync
    + AddAssign
    + Mul<Output = Self>
    + Sub<Output = Self>
    + 'static
{
    /// 1.
    const ONE: Self;

    /// The nearest number of this precision.
    fn round(x: f64) -> Self;

    /// The number in double precision.
    fn wide(self) -> f64;

    /// 1/(1 + e^−x) of every entry.
    fn sigmoid_all(values: &mut [Self]);

    /// tanh of every entry.
    fn tanh_all(values: &mut [Self]);

    /// The product that [`multiply`] has checked.
    #[doc(hidden)]
    fn product(a: Operand<'_, Self>, b: Operand<'_, Self>, keep: Self, c: &mut [Self]);
}

/// A matrix to multiply with: a slice read row by row, or the transposed of that.
#[derive(Debug, Clone, Copy)]
pub struct Operand<'a, T> {
    values: &'a [T],
    rows: usize,
    cols: usize,
    steps: [isize; 2],
}

impl<'a, T> Operand<'a, T> {
    /// The matrix whose rows lie one after the other in `values`.
    ///
    /// # Panics
    /// When there are not rows · cols values.
    pub fn new(values: &'a [T], rows: usize, cols: usize) -> Self {
        assert_eq!(Some(values.len()), rows.checked_mul(cols), "a matrix of {rows} x {cols}");
        Operand { values, rows, cols, steps: [cols as isize, 1] }
    }

    /// The transposed matrix.
    pub fn transposed(self) -> Self {
        let [down, right] = self.steps;
        Operand { rows: self.cols, cols: self.rows, steps: [right, down], ..self }
    }
}

/// c = a b + keep c, with c read row by row. Where `keep` is 0, what was in c does not matter.
///
/// # Panics
/// When the shapes do not fit together.
pub fn multiply<T: Real>(a: Operand<'_, T>, b: Operand<'_, T>, keep: T, c: &mut [T]) {
    assert_eq!(a.cols, b.rows, "the columns of the first factor are the rows of the second");
    assert_eq!(Some(c.len()), a.rows.checked_mul(b.cols), "the shape of the product");
    if !c.is_empty() {
        T::product(a, b, keep, c);
    }
}

macro_rules! product {
    ($real:ty, $kernel:path) => {
        fn product(a: Operand<'_, $real>, b: Operand<'_, $real>, keep: $real, c: &mut [$real]) {
            let [a_down, a_right] = a.steps;
            let [b_down, b_right] = b.steps;
            let c_down = b.cols as isize;
            // SAFETY: an operand's slice has rows · cols values and its steps reach each of them
            // once, nothing else; `multiply` has checked that the shapes fit and that c has
            // a.rows · b.cols entries, which nobody else can reach meanwhile.
            unsafe {
                $kernel(
                    a.rows,
                    a.cols,
                    b.cols,
                    1.0,
                    a.values.as_ptr(),
                    a_down,
                    a_right,
                    b.values.as_ptr(),
                    b_down,
                    b_right,
                    keep,
                    c.as_mut_ptr(),
                    c_down,
                    1,
                );
            }
        }
    };
}

impl Real for f32 {
    const ONE: f32 = 1.0;

    fn round(x: f64) -> f32 {
        x as f32
    }

    fn wide(self) -> f64 {
        f64::from(self)
    }

    fn sigmoid_all(values: &mut [f32]) {
        dispatch(
            #[inline(always)]
            || values.iter_mut().for_each(|x| *x = 1.0 / (1.0 + inlined::single(-*x))),
        );
    }

    fn tanh_all(values: &mut [f32]) {
        dispatch(
            #[inline(always)]
            || values.iter_mut().for_each(|x| *x = 1.0 - 2.0 / (1.0 + inlined::single(2.0 * *x))),
        );
    }

    product!(f32, matrixmultiply::sgemm);
}

impl Real for f64 {
    const ONE: f64 = 1.0;

    fn round(x: f64) -> f64 {
        x
    }

    fn wide(self) -> f64 {
        self
    }

    fn sigmoid_all(values: &mut [f64]) {
        elementary::sigmoid_all(values);
    }

    fn tanh_all(values: &mut [f64]) {
        elementary::tanh_all(values);
    }

    product!(f64, matrixmultiply::dgemm);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers<T: Real>(count: usize, seed: u64) -> Vec<T> {
        let number = |i: u64| ((i * 7919 + seed * 104_729) % 1000) as f64 / 500.0 - 1.0;
        (0..count as u64).map(|i| T::round(number(i))).collect()
    }

    fn agrees_with_the_definition<T: Real>(tolerance: f64) {
        for (m, k, n) in [(1, 1, 1), (3, 5, 7), (40, 33, 26), (2, 0, 3), (0, 4, 2)] {
            let (a, b) = (numbers::<T>(m * k, 1), numbers::<T>(k * n, 2));
            for (flip_a, flip_b) in [(false, false), (true, false), (false, true), (true, true)] {
                let at = |values: &[T], r: usize, c: usize, rows: usize, cols: usize, flip| {
                    values[if flip { c * rows + r } else { r * cols + c }].wide()
                };
                let operand = |values, rows, cols, flip| {
                    if flip {
                        Operand::new(values, cols, rows).transposed()
                    } else {
                        Operand::new(values, rows, cols)
                    }
                };
                let before = numbers::<T>(m * n, 3);
                let mut c = before.clone();
                multiply(operand(&a, m, k, flip_a), operand(&b, k, n, flip_b), T::ONE, &mut c);
                for (r, s) in (0..m).flat_map(|r| (0..n).map(move |s| (r, s))) {
                    let sum: f64 = (0..k)
                        .map(|j| at(&a, r, j, m, k, flip_a) * at(&b, j, s, k, n, flip_b))
                        .sum();
                    let expected = sum + before[r * n + s].wide();
                    assert!((c[r * n + s].wide() - expected).abs() <= tolerance, "{r} {s}");
                }
            }
        }
    }

    #[test]
    fn products_are_those_of_the_definition() {
        agrees_with_the_definition::<f32>(1e-4);
        agrees_with_the_definition::<f64>(1e-12);
    }

    #[test]
    fn functions_of_entries_agree_with_the_library() {
        let x: Vec<f32> = (-4000..4000).map(|i| i as f32 / 40.0).collect();
        let (mut sigmoid, mut tanh) = (x.clone(), x.clone());
        f32::sigmoid_all(&mut sigmoid);
        f32::tanh_all(&mut tanh);
        for ((x, s), t) in x.iter().zip(&sigmoid).zip(&tanh) {
            let exact = 1.0 / (1.0 + (-f64::from(*x)).exp());
            assert!((f64::from(*s) - exact).abs() <= 1e-6 * exact + 1e-37, "{x}: {s}");
            assert!((f64::from(*t) - f64::from(*x).tanh()).abs() <= 5e-7, "{x}: {t}");
        }
        let mut odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        f32::sigmoid_all(&mut odd);
        assert!(odd[0].is_nan() && odd[1] == 1.0 && odd[2] < 1e-37);
    }
}
