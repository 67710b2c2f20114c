//! Compensated sums for the numbers that a certificate rests on: products and additions whose
//! rounding errors are carried along, so that a bound is as good as if computed in twice the
//! working precision.

use crate::dense::dispatch;

/// A running sum in twice the working precision.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    /// The empty sum.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a number without losing its low bits.
    #[inline(always)]
    pub fn add(&mut self, x: f64) {
        let total = self.high + x;
        let back = total - self.high;
        self.low += (self.high - (total - back)) + (x - back);
        self.high = total;
    }

    /// Adds the exact product of two numbers. Loops over many are compiled for the machine by
    /// [`dispatch`]: elsewhere a fused multiply-addition is a call.
    #[inline(always)]
    pub fn add_product(&mut self, x: f64, y: f64) {
        let product = x * y;
        self.low += x.mul_add(y, -product);
        self.add(product);
    }

    /// Adds another sum, times a number.
    #[inline(always)]
    pub fn add_scaled(&mut self, factor: f64, other: Sum) {
        self.add_product(factor, other.high);
        self.add_product(factor, other.low);
    }

    /// Adds another sum.
    #[inline(always)]
    pub fn join(&mut self, other: Sum) {
        self.add(other.high);
        self.low += other.low;
    }

    /// How far this sum lies above another, rounded once.
    #[inline(always)]
    pub fn above(mut self, other: Sum) -> f64 {
        self.add(-other.high);
        self.low -= other.low;
        self.value()
    }

    /// The sum, rounded once.
    #[inline]
    pub fn value(self) -> f64 {
        self.high + self.low
    }
}

impl FromIterator<f64> for Sum {
    fn from_iter<I: IntoIterator<Item = f64>>(numbers: I) -> Self {
        let mut sum = Sum::new();
        for x in numbers {
            sum.add(x);
        }
        sum
    }
}

/// The inner product in twice the working precision.
pub fn compensated_dot(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len());
    dispatch(
        #[inline(always)]
        || {
            let mut sum = Sum::new();
            for (&x, &y) in x.iter().zip(y) {
                sum.add_product(x, y);
            }
            sum.value()
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancellation_keeps_the_small_part() {
        let sum: Sum = [1e16, 1.0, -1e16].into_iter().collect();
        assert_eq!(sum.value(), 1.0);
        let near: Sum = [1.0, 1e-30].into_iter().collect();
        assert_eq!(near.above([1.0].into_iter().collect()), 1e-30);
        let mut twice = near;
        twice.join(near);
        assert_eq!(twice.above([2.0].into_iter().collect()), 2e-30);
        assert_eq!(compensated_dot(&[1e8, 1.0, -1e8], &[1e8, 1.0, 1e8]), 1.0);
    }
}
