//! e^x and what is made of it, in operations that a vector unit does on many numbers at once.
//!
//! x is n ln 2 + r with a whole n and |r| ≤ ln 2 / 2; e^r is a polynomial, and 2^n is made of bits.

use super::ln::ln_1p_of_share;

/// e^x in single precision, to a relative 3e-7. Ends of the range stand for what lies beyond.
#[inline(always)]
pub(crate) fn single(x: f32) -> f32 {
    const SHIFT: f32 = 12_582_912.0; // 1.5 · 2²³: adding it rounds to whole numbers
    const HIGH: f32 = 0.693_359_4; // ln 2 as a sum of two numbers, the first with few digits
    const LOW: f32 = -2.121_944_4e-4;
    let x = if x > 88.0 { 88.0 } else { x };
    let x = if x < -87.0 { -87.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + SHIFT;
    let whole = shifted - SHIFT;
    let r = (x - whole * HIGH) - whole * LOW;
    // Taylor's polynomial of degree 7 on |r| ≤ ln 2 / 2.
    let p = 1.0 / 5040.0;
    let p = p * r + 1.0 / 720.0;
    let p = p * r + 1.0 / 120.0;
    let p = p * r + 1.0 / 24.0;
    let p = p * r + 1.0 / 6.0;
    let p = p * r + 0.5;
    let p = p * r + 1.0;
    let p = p * r + 1.0;
    // The low bits of the shifted number are its whole number: they become the exponent.
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(1.0f32.to_bits()));
    p * power
}

/// (e^r − 1 − r) / r² on |r| ≤ ln 2 / 2, lowest degree first: the interpolation of degree 10 in Chebyshev's
/// nodes, which is off by 2⁻⁶⁰ of e^r − 1.
const POLYNOMIAL: [f64; 11] = [
    0.5,
    0.1666666666666667,
    0.04166666666666667,
    0.008333333333326136,
    0.0013888888888883748,
    0.00019841269874820627,
    2.4801587325547743e-5,
    2.7557255400206422e-6,
    2.75572736431103e-7,
    2.5105217004720745e-8,
    2.0914686968086876e-9,
];
/// ln 2 as a sum of two numbers, the first of which has so few digits that n times it is exact.
pub(super) const LN_2: [f64; 2] = [0.6931471805598903, 5.497923018708371e-14];
/// 1.5 · 2⁵² + 2048: adding it rounds to whole numbers, and leaves n + 2048 in the lowest 12 bits.
const SHIFT: f64 = 6_755_399_441_055_744.0 + 2048.0;

/// x as n ln 2 + r: e^r − 1, n, and the lowest bits of n + 2048.
#[inline(always)]
fn reduced(x: f64) -> (f64, u64) {
    let shifted = x.mul_add(std::f64::consts::LOG2_E, SHIFT);
    let n = shifted - SHIFT;
    let r = n.mul_add(-LN_2[1], n.mul_add(-LN_2[0], x));
    let c = &POLYNOMIAL;
    // In groups of terms that do not wait for each other.
    let r2 = r * r;
    let r4 = r2 * r2;
    let low = r2.mul_add(c[3].mul_add(r, c[2]), c[1].mul_add(r, c[0]));
    let middle = r2.mul_add(c[7].mul_add(r, c[6]), c[5].mul_add(r, c[4]));
    let high = r2.mul_add(c[10], c[9].mul_add(r, c[8]));
    let p = r4.mul_add(r4.mul_add(high, middle), low);
    (r2.mul_add(p, r), shifted.to_bits() & 0xfff)
}

/// [`exp`](super::exp()).
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    // What lies beyond has the same result as these. Not-a-number fails both comparisons and stays.
    let x = if x > 710.0 { 710.0 } else { x };
    let x = if x < -746.0 { -746.0 } else { x };
    let (rest, n) = reduced(x);
    // 2^n in two steps of about n/2, so that only the last product may leave the normal numbers.
    let half = n >> 1;
    let power = |n: u64| f64::from_bits(n.wrapping_sub(1) << 52);
    (1.0 + rest) * power(half) * power(n - half)
}

/// [`sigmoid`](super::sigmoid).
#[inline(always)]
pub fn sigmoid(x: f64) -> f64 {
    sigmoid_of_share(x, exp(-x.abs()))
}

/// The sigmoid of x where e^−|x| is known already.
#[inline(always)]
pub fn sigmoid_of_share(x: f64, share: f64) -> f64 {
    (if x < 0.0 { share } else { 1.0 }) / (1.0 + share)
}

/// [`softplus`](super::softplus).
#[inline(always)]
pub fn softplus(x: f64) -> f64 {
    softplus_of_share(x, exp(-x.abs()))
}

/// The softplus of x where e^−|x| is known already.
#[inline(always)]
pub fn softplus_of_share(x: f64, share: f64) -> f64 {
    ln_1p_of_share(share) + if x > 0.0 { x } else { 0.0 }
}

/// [`tanh`](super::tanh).
#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    // From 30 on it is 1. With e = e^−2|x| − 1 it is −e / (2 + e).
    let twice = -2.0 * x.abs();
    let (rest, n) = reduced(if twice < -60.0 { -60.0 } else { twice });
    let power = f64::from_bits(n.wrapping_sub(1025) << 52);
    let e = rest.mul_add(power, power - 1.0);
    (-e / (2.0 + e)).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::single;

    #[test]
    fn single_precision_is_that_of_double_precision() {
        for i in -860..880 {
            let x = i as f32 / 10.0 + 0.012_345;
            let (ours, exact) = (f64::from(single(x)), super::exp(f64::from(x)));
            assert!((ours - exact).abs() <= 3e-7 * exact, "e^{x}: {ours:e}, {exact:e}");
        }
        assert!(single(f32::NAN).is_nan());
    }
}
