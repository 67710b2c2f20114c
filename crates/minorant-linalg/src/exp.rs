//! e^x in operations that a vector unit does on many numbers at once. Ends of the range stand for
//! what lies beyond, not-a-number stays so.

/// In single precision, to a relative 3e-7.
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

/// 1/k! from the highest degree down: Taylor's polynomial for |r| ≤ ln 2 / 2.
const TAYLOR: [f64; 14] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

/// In double precision, to a relative 4e-16; for kernels that are dispatched to a vector unit.
#[inline(always)]
pub fn double(x: f64) -> f64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5 · 2⁵²
    const HIGH: f64 = 0.693_147_180_369_123_8;
    const LOW: f64 = 1.908_214_929_270_587_7e-10;
    let x = if x > 709.0 { 709.0 } else { x };
    let x = if x < -708.0 { -708.0 } else { x };
    let shifted = x.mul_add(std::f64::consts::LOG2_E, SHIFT);
    let whole = shifted - SHIFT;
    let r = whole.mul_add(-LOW, whole.mul_add(-HIGH, x));
    let mut p = TAYLOR[0];
    for term in &TAYLOR[1..] {
        p = p.mul_add(r, *term);
    }
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0f64.to_bits()));
    p * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_those_of_the_library() {
        for i in -7080..7090 {
            let x = f64::from(i) / 10.0 + 0.012_345;
            let (ours, theirs) = (double(x), x.exp());
            assert!((ours - theirs).abs() <= 4e-16 * theirs, "e^{x}: {ours:e}, {theirs:e}");
            if (-86.0..88.0).contains(&x) {
                let (ours, theirs) = (f64::from(single(x as f32)), f64::from(x as f32).exp());
                assert!((ours - theirs).abs() <= 3e-7 * theirs, "e^{x}: {ours:e}, {theirs:e}");
            }
        }
        assert_eq!(double(0.0), 1.0);
        assert!(double(f64::NAN).is_nan() && single(f32::NAN).is_nan());
        assert!(double(f64::NEG_INFINITY) < 1e-300 && double(f64::INFINITY) > 1e300);
    }
}
