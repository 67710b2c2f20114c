//! Elementary functions: exponentials, logarithms and what is made of them, a power, sines. They are made
//! of additions, products, quotients, fused multiply-additions and operations on bits alone, each of which
//! IEEE 754 defines to the last bit, in one fixed order: every machine, with or without a vector unit,
//! gives the same bits, which the functions of a system's library do not. They are not correctly
//! rounded; how far off they may be is stated with each.
//!
//! The functions here choose the machine's instructions at every call. Loops take those for slices, or
//! call the functions of [`inlined`] in a closure that [`dispatch`] compiles; the bits are the same.

mod exp;
mod ln;
mod trigonometry;

use crate::dense::dispatch;

/// The functions themselves, for closures that [`dispatch`] compiles for the machine's vector unit.
/// Elsewhere they are slow: without the instruction, a fused multiply-addition is a call.
pub mod inlined {
    pub(crate) use super::exp::single;
    pub use super::exp::{exp, sigmoid, sigmoid_of_share, softplus, softplus_of_share, tanh};
    pub use super::ln::{ln, ln_1p};
}

/// How far [`exp()`], [`ln`], [`ln_1p`] and [`hypot`] may be off, relative to the result: one unit of its last
/// place, or less. A result below the normal numbers may be off by the smallest positive number.
pub const ERROR: f64 = f64::EPSILON;

/// How far [`sigmoid`], [`softplus`] and [`tanh`] may be off, relative to the result.
pub const ERROR_OF_COMPOSED: f64 = 2.0 * f64::EPSILON;

/// How far [`sin_cos`] may be off, for angles up to 2²⁰ on either side of 0.
pub const ERROR_OF_SINES: f64 = f64::EPSILON;

macro_rules! one {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name(x: f64) -> f64 {
            dispatch(
                #[inline(always)]
                || inlined::$name(x),
            )
        }
    )*};
}

one! {
    /// e^x. Below the smallest positive number it is 0, above the largest one ∞; e^0 is 1, and nothing
    /// exceeds 1 where x is not positive.
    exp;
    /// The natural logarithm: −∞ of 0, not a number below; that of 1 is 0, and what does not exceed 1 has
    /// none above 0.
    ln;
    /// ln(1 + x), to the last digits also where x is next to nothing; that of ±0 is ±0.
    ln_1p;
    /// 1/(1 + e^−x), which is between 0 and 1.
    sigmoid;
    /// ln(1 + e^x), which is not negative.
    softplus;
    /// The hyperbolic tangent, to the last digits also where x is next to nothing.
    tanh;
}

macro_rules! all {
    ($($(#[$doc:meta])* $name:ident: $of:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(values: &mut [f64]) {
            dispatch(
                #[inline(always)]
                || {
                    // A loop, because a closure within this one might not be inlined.
                    for x in values {
                        *x = inlined::$of(*x);
                    }
                },
            );
        }
    )*};
}

all! {
    /// [`exp()`] of every entry.
    exp_all: exp;
    /// [`ln`] of every entry.
    ln_all: ln;
    /// [`ln_1p`] of every entry.
    ln_1p_all: ln_1p;
    /// [`sigmoid`] of every entry.
    sigmoid_all: sigmoid;
    /// [`softplus`] of every entry.
    softplus_all: softplus;
    /// [`tanh`] of every entry.
    tanh_all: tanh;
}

/// A positive base to any power, as e^(exponent · ln base): relative to the result it may be off by
/// [`ERROR`] · (2 + 2 |exponent · ln base|).
pub fn power(base: f64, exponent: f64) -> f64 {
    dispatch(
        #[inline(always)]
        || inlined::exp(exponent * inlined::ln(base)),
    )
}

/// The product of `count` times the same number, by squares: from the last binary digit of `count` to the
/// first. Each of the products rounds.
pub fn repeated(x: f64, count: u32) -> f64 {
    let (mut product, mut square, mut left) = (1.0, x, count);
    loop {
        if left & 1 == 1 {
            product *= square;
        }
        left >>= 1;
        if left == 0 {
            return product;
        }
        square *= square;
    }
}

/// √(x² + y²), where no square overflows or vanishes.
pub fn hypot(x: f64, y: f64) -> f64 {
    let (x, y) = (x.abs(), y.abs());
    let (long, short) = if x < y { (y, x) } else { (x, y) };
    // A power of 2 near the longer one, so that scaling rounds nothing.
    let exponent = (long.to_bits() >> 52).clamp(54, 1992);
    let (down, up) = (f64::from_bits((2046 - exponent) << 52), f64::from_bits(exponent << 52));
    let (long, short) = (long * down, short * down);
    long.mul_add(long, short * short).sqrt() * up
}

/// Sine and cosine of an angle, up to 2²⁰ on either side of 0.
pub fn sin_cos(x: f64) -> (f64, f64) {
    dispatch(
        #[inline(always)]
        || trigonometry::sin_cos(x),
    )
}
