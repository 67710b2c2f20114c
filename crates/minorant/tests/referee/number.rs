//! Exact arithmetic: numbers m · 2^e with whole m and e. Every double is one, sums and products of
//! them are again, and so objectives are compared without any rounding. Where roots, quotients and
//! logarithms leave these numbers, they are computed to as many bits as the caller asks for.

use num_bigint::{BigInt, Sign};
use num_traits::{Signed, ToPrimitive, Zero};
use std::cmp::Ordering;
use std::ops::{Add, Mul, Neg, Sub};
use std::sync::OnceLock;

/// Bits that transcendental functions are computed to, and by how many their results are wrong at
/// most: the last 32.
pub(crate) const BITS: u64 = 320;

/// A number m · 2^e.
#[derive(Debug, Clone)]
pub(crate) struct Number {
    mantissa: BigInt,
    exponent: i64,
}

impl Number {
    pub(crate) fn zero() -> Self {
        Number { mantissa: BigInt::zero(), exponent: 0 }
    }

    pub(crate) fn whole(n: i64) -> Self {
        Number { mantissa: n.into(), exponent: 0 }
    }

    /// The value of a double, which must be finite.
    pub(crate) fn new(x: f64) -> Self {
        assert!(x.is_finite(), "{x} is no number");
        let bits = x.to_bits();
        let (fraction, power) = (bits & ((1 << 52) - 1), ((bits >> 52) & 0x7ff) as i64);
        let (mantissa, exponent) =
            if power == 0 { (fraction, -1074) } else { (fraction | 1 << 52, power - 1075) };
        if mantissa == 0 {
            return Number::zero();
        }
        let spare = mantissa.trailing_zeros();
        let mantissa = BigInt::from(mantissa >> spare);
        let mantissa = if x < 0.0 { -mantissa } else { mantissa };
        Number { mantissa, exponent: exponent + i64::from(spare) }
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.mantissa.is_zero()
    }

    pub(crate) fn is_positive(&self) -> bool {
        self.mantissa.is_positive()
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.mantissa.is_negative()
    }

    pub(crate) fn abs(&self) -> Self {
        Number { mantissa: self.mantissa.abs(), exponent: self.exponent }
    }

    /// Times 2^`by`.
    pub(crate) fn scaled(&self, by: i64) -> Self {
        Number { mantissa: self.mantissa.clone(), exponent: self.exponent + by }
    }

    /// The power of 2 just above the magnitude.
    pub(crate) fn magnitude(&self) -> i64 {
        if self.is_zero() { i64::MIN / 4 } else { self.exponent + self.mantissa.bits() as i64 }
    }

    /// The same number to so many bits, rounded down.
    pub(crate) fn rounded(&self, bits: u64) -> Self {
        let excess = self.mantissa.bits().saturating_sub(bits);
        if excess == 0 {
            return self.clone();
        }
        let mantissa = &self.mantissa >> excess;
        Number { mantissa, exponent: self.exponent + excess as i64 }
    }

    /// A sum to so many bits, also of numbers whose exponents lie so far apart that the exact sum
    /// would not fit the memory.
    pub(crate) fn plus(&self, other: &Number, bits: u64) -> Number {
        let apart = self.magnitude() - other.magnitude();
        let most = bits as i64 + 64;
        match () {
            () if apart > most => self.rounded(bits),
            () if -apart > most => other.rounded(bits),
            () => (self + other).rounded(bits),
        }
    }

    /// A product to so many bits.
    pub(crate) fn times(&self, other: &Number, bits: u64) -> Number {
        (self * other).rounded(bits)
    }

    /// A quotient to so many bits.
    pub(crate) fn over(&self, other: &Number, bits: u64) -> Number {
        let shift = bits as i64 + 2 + other.mantissa.bits() as i64 - self.mantissa.bits() as i64;
        let shift = shift.max(0);
        Number {
            mantissa: (&self.mantissa << shift) / &other.mantissa,
            exponent: self.exponent - other.exponent - shift,
        }
    }

    /// The square root of a number that is not negative, to so many bits.
    pub(crate) fn root(&self, bits: u64) -> Number {
        let mut shift = (2 * bits as i64 - self.mantissa.bits() as i64).max(0);
        shift += (self.exponent - shift) & 1;
        let exponent = (self.exponent - shift) / 2;
        Number { mantissa: (&self.mantissa << shift).sqrt(), exponent }
    }

    /// The double nearest to it, but for the last bit; infinite or 0 where there is none.
    pub(crate) fn to_f64(&self) -> f64 {
        let short = self.rounded(60);
        let Some(mantissa) = short.mantissa.to_f64() else { return f64::NAN };
        let mut power = short.exponent.clamp(-4000, 4000) as i32;
        let mut value = mantissa;
        while power != 0 {
            let step = power.clamp(-900, 900);
            value *= 2f64.powi(step);
            power -= step;
        }
        value
    }

    /// The fraction bits of a number as a whole number: the number times 2^`bits`, rounded down.
    fn fixed(&self, bits: u64) -> BigInt {
        let shift = self.exponent + bits as i64;
        if shift >= 0 { &self.mantissa << shift } else { &self.mantissa >> (-shift) }
    }

    /// e to the power of this number, which must not be large and positive.
    pub(crate) fn exp(&self) -> Number {
        // Beyond this the power is below everything that a double can be compared with, and sums with it
        // would fill the memory.
        if self.is_negative() && self.magnitude() > 17 {
            return Number::zero();
        }
        let bits = BITS + 64;
        let powers = (self.to_f64() / std::f64::consts::LN_2).round() as i64;
        let rest = self.fixed(bits) - ((BigInt::from(powers) * ln_2()) >> (LN_2_BITS - bits));
        const HALVINGS: u32 = 12;
        let rest = rest >> HALVINGS;
        let one = BigInt::from(1) << bits;
        let (mut sum, mut term) = (one.clone(), one);
        for k in 1u32.. {
            term = ((term * &rest) >> bits) / k;
            if term.is_zero() || term == BigInt::from(-1) {
                break;
            }
            sum += &term;
        }
        for _ in 0..HALVINGS {
            sum = (&sum * &sum) >> bits;
        }
        Number { mantissa: sum, exponent: powers - bits as i64 }.rounded(BITS)
    }

    /// ln(1 + x) for x from 0 up to many.
    pub(crate) fn ln_1p(&self) -> Number {
        if self.is_zero() {
            return Number::zero();
        }
        if self.magnitude() < -20 {
            return small_ln_1p(self);
        }
        // A double is right to 50 bits; what is left is small.
        let whole = &Number::whole(1) + self;
        let near = Number::new(whole.to_f64().ln());
        let rest = &whole.times(&(-&near).exp(), BITS) - &Number::whole(1);
        near.plus(&small_ln_1p(&rest), BITS)
    }
}

/// ln(1 + x) = 2 artanh(x / (2 + x)) of a small x, by its series.
fn small_ln_1p(x: &Number) -> Number {
    if x.is_zero() {
        return Number::zero();
    }
    let z = x.over(&Number::whole(2).plus(x, BITS), BITS);
    let square = z.times(&z, BITS);
    let (mut sum, mut power) = (z.clone(), z);
    for k in 1.. {
        power = power.times(&square, BITS);
        let term = power.over(&Number::whole(2 * k + 1), BITS);
        if term.magnitude() < sum.magnitude() - BITS as i64 {
            break;
        }
        sum = sum.plus(&term, BITS);
    }
    sum.scaled(1)
}

const LN_2_BITS: u64 = 1024;

/// ln 2 · 2^1024.
fn ln_2() -> &'static BigInt {
    static VALUE: OnceLock<BigInt> = OnceLock::new();
    VALUE.get_or_init(|| {
        // 2 artanh(1/3), with some bits to spare.
        let bits = LN_2_BITS + 64;
        let mut power: BigInt = (BigInt::from(2) << bits) / 3;
        let mut sum = power.clone();
        for k in 1u32.. {
            power /= 9;
            if power.is_zero() {
                break;
            }
            sum += &power / (2 * k + 1);
        }
        sum >> 64
    })
}

impl Add for &Number {
    type Output = Number;

    fn add(self, other: &Number) -> Number {
        if self.is_zero() {
            return other.clone();
        }
        if other.is_zero() {
            return self.clone();
        }
        let (low, high) =
            if self.exponent <= other.exponent { (self, other) } else { (other, self) };
        let shift = high.exponent - low.exponent;
        let mantissa = if shift == 0 {
            &high.mantissa + &low.mantissa
        } else {
            (&high.mantissa << shift) + &low.mantissa
        };
        Number { mantissa, exponent: low.exponent }
    }
}

impl Sub for &Number {
    type Output = Number;

    fn sub(self, other: &Number) -> Number {
        self + &-other
    }
}

impl Mul for &Number {
    type Output = Number;

    fn mul(self, other: &Number) -> Number {
        let mantissa = &self.mantissa * &other.mantissa;
        Number { mantissa, exponent: self.exponent + other.exponent }
    }
}

impl Neg for &Number {
    type Output = Number;

    fn neg(self) -> Number {
        Number { mantissa: -&self.mantissa, exponent: self.exponent }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        let sign = |number: &Number| match number.mantissa.sign() {
            Sign::Minus => -1,
            Sign::NoSign => 0,
            Sign::Plus => 1,
        };
        let (own, its) = (sign(self), sign(other));
        if own != its || own == 0 {
            return own.cmp(&its);
        }
        match self.magnitude().cmp(&other.magnitude()) {
            Ordering::Equal => (self - other).mantissa.cmp(&BigInt::zero()),
            apart if own > 0 => apart,
            apart => apart.reverse(),
        }
    }
}

/// A sum without rounding.
pub(crate) fn sum<'a>(terms: impl Iterator<Item = &'a Number>) -> Number {
    terms.fold(Number::zero(), |sum, term| &sum + term)
}

#[test]
fn numbers_are_what_they_should_be() {
    for x in [0.0, 1.0, -0.1, 1e300, -5e-324, 3.5e-310] {
        assert_eq!(Number::new(x).to_f64(), x);
    }
    let third = Number::whole(1).over(&Number::whole(3), 200);
    let off = &(&third * &Number::whole(3)) - &Number::whole(1);
    assert!(off.magnitude() < -190, "{off:?}");
    let root = Number::whole(2).root(200);
    assert!((&(&root * &root) - &Number::whole(2)).magnitude() < -190);
    assert!(Number::new(-1.5) < Number::new(-1.25) && Number::new(0.1) < Number::new(2.0));
    for x in [-1e-9, -0.3, -1.0, -17.25, -800.0] {
        let (exp, plain) = (Number::new(x).exp(), f64::exp(x));
        assert!((exp.to_f64() / plain - 1.0).abs() < 1e-13 || plain < 1e-300, "{x}");
        // ln(1 + y) at y = e^−x − 1 is −x.
        if x < -1e-3 && x > -100.0 {
            let y = &Number::whole(1).over(&exp, BITS) - &Number::whole(1);
            let off = &y.ln_1p() + &Number::new(x);
            assert!(off.magnitude() < -240, "{x}: 2^{}", off.magnitude());
        }
    }
    // Σ 1/k! to many digits.
    let e = Number::whole(1).exp();
    let digits = "2.71828182845904523536028747135266249775724709369995957496696763";
    let scaled = (&e * &(0..40).fold(Number::whole(1), |n, _| &n * &Number::whole(10))).fixed(0);
    assert_eq!(scaled.to_string(), digits.replace('.', "")[..41]);
}
