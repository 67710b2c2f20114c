//! The natural logarithm, in operations that a vector unit does on many numbers at once.
//!
//! u is 2^k m with a whole k and m between √½ and √2. With f = m − 1 and s = f / (2 + f) the logarithm of
//! m is 2 artanh s = f − (f²/2 − s (f²/2 + s² P(s²))), where what is rounded is small beside f.

use super::exp::LN_2;

/// (2 artanh(s)/s − 2) / s² as a polynomial in s², lowest degree first, where m is between √½ and √2: the
/// interpolation of degree 6 in Chebyshev's nodes, which is off by 2⁻⁵⁷ of the logarithm.
const POLYNOMIAL: [f64; 7] = [
    0.666666666666667,
    0.39999999999899444,
    0.2857142862600327,
    0.22222211130259878,
    0.18182889455674947,
    0.15331710618210773,
    0.14616585424888623,
];
/// The bits of √½, and of 1 less those.
const ROOT_OF_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
const TO_ONE: u64 = 0x3ff0_0000_0000_0000 - ROOT_OF_HALF;
const FRACTION: u64 = (1 << 52) - 1;
/// 2⁵²: with its exponent, the lowest bits of a number are that number.
const WHOLE: f64 = 4_503_599_627_370_496.0;
/// 2⁻⁵⁴.
const TINY: f64 = f64::EPSILON / 4.0;

/// ln u + k₀ ln 2 + `more` of a normal u; `more` is small.
#[inline(always)]
fn of_normal(u: f64, k0: f64, more: f64) -> f64 {
    // Moved so that the exponent changes at √½ and not at 1.
    let moved = u.to_bits().wrapping_add(TO_ONE);
    let m = f64::from_bits((moved & FRACTION) + ROOT_OF_HALF);
    let k = (f64::from_bits((moved >> 52) | WHOLE.to_bits()) - (WHOLE + 1023.0)) + k0;
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let c = &POLYNOMIAL;
    let z = s * s;
    let z2 = z * z;
    // In groups of terms that do not wait for each other.
    let low = z2.mul_add(c[3].mul_add(z, c[2]), c[1].mul_add(z, c[0]));
    let p = (z2 * z2).mul_add(z2.mul_add(c[6], c[5].mul_add(z, c[4])), low);
    let half = 0.5 * f * f;
    let small = s.mul_add(p.mul_add(z, half), k.mul_add(LN_2[1], more));
    k.mul_add(LN_2[0], f - (half - small))
}

/// The logarithm of `u`, or what there is instead where `u` has none.
#[inline(always)]
fn or_special(u: f64, logarithm: f64) -> f64 {
    // Not-a-number fails all comparisons: it and ∞ are their own logarithms.
    let special = if u < 0.0 { f64::NAN } else { u };
    let special = if u == 0.0 { f64::NEG_INFINITY } else { special };
    // Bits of positive numbers lie between those of 0 and of ∞: one comparison tells them.
    let is_positive = u.to_bits().wrapping_sub(1) < f64::INFINITY.to_bits() - 1;
    if is_positive { logarithm } else { special }
}

/// [`ln`](super::ln()).
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    let is_small = x < f64::MIN_POSITIVE;
    let normal = if is_small { x * (1.0 / TINY) } else { x };
    or_special(x, of_normal(normal, if is_small { -54.0 } else { 0.0 }, 0.0))
}

/// [`ln_1p`](super::ln_1p()).
#[inline(always)]
pub fn ln_1p(x: f64) -> f64 {
    let u = 1.0 + x;
    // What the sum has lost counts as its share of u.
    let (large, small) = if x > 1.0 { (x, 1.0) } else { (1.0, x) };
    let lost = small - (u - large);
    let logarithm = or_special(u, of_normal(u, 0.0, lost / u));
    if x.abs() < TINY { x } else { logarithm }
}

/// [`ln_1p`](super::ln_1p()) of a number between 0 and 1, which has no special values but not-a-number.
#[inline(always)]
pub(super) fn ln_1p_of_share(x: f64) -> f64 {
    let u = 1.0 + x;
    of_normal(u, 0.0, (x - (u - 1.0)) / u)
}
