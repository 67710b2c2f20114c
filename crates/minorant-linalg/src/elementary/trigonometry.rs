//! Sine and cosine of moderate angles, for whoever makes data up.

/// π/2 as a sum of three numbers: whole multiples up to 2²⁰ of the first two are exact.
const QUARTER: [f64; 3] = [1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21];
/// 1.5 · 2⁵²: adding it rounds to whole numbers, and leaves them in the lowest bits.
const SHIFT: f64 = 6_755_399_441_055_744.0;
/// (sin(r)/r − 1)/r² and (cos r − 1 + r²/2)/r⁴ as polynomials in r² for |r| ≤ π/4, lowest degree first:
/// interpolations in Chebyshev's nodes.
const SINE: [f64; 6] = [
    -0.16666666666666666,
    0.008333333333330936,
    -0.00019841269836740532,
    2.7557316093198404e-6,
    -2.5051129896450185e-8,
    1.5917988979397435e-10,
];
const COSINE: [f64; 6] = [
    0.041666666666666664,
    -0.0013888888888887389,
    2.48015872987544e-5,
    -2.755731726587808e-7,
    2.087614504941318e-9,
    -1.138254464534925e-11,
];

#[inline(always)]
fn horner(c: &[f64; 6], x: f64) -> f64 {
    c[..5].iter().rev().fold(c[5], |p, c| p.mul_add(x, *c))
}

/// [`sin_cos`](super::sin_cos()).
#[inline(always)]
pub(super) fn sin_cos(x: f64) -> (f64, f64) {
    let shifted = x.mul_add(std::f64::consts::FRAC_2_PI, SHIFT);
    let (n, quadrant) = (shifted - SHIFT, shifted.to_bits() & 3);
    let r = n.mul_add(-QUARTER[2], n.mul_add(-QUARTER[1], n.mul_add(-QUARTER[0], x)));
    let r2 = r * r;
    let sine = (r2 * r).mul_add(horner(&SINE, r2), r);
    let cosine = (r2 * r2).mul_add(horner(&COSINE, r2), (-0.5f64).mul_add(r2, 1.0));
    match quadrant {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    }
}
