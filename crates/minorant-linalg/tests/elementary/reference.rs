//! The reference: exponentials, sines and cosines by their series in fixed-point numbers of 115 binary
//! places; other functions are checked by the exponential of what they gave.

use minorant_linalg::elementary::{self, ERROR};

/// Binary places of the reference's numbers.
const PLACES: i32 = 115;
const ONE: i128 = 1 << PLACES;
/// ln 2, from a table of 50 digits.
const LN_2: i128 = 0x58b90bfbe8e7bcd5e4f1d9cc01f98;

/// The product of two fixed-point numbers, rounded towards 0.
pub(crate) fn times(a: i128, b: i128) -> i128 {
    let sign = a.signum() * b.signum();
    let (a, b) = (a.unsigned_abs(), b.unsigned_abs());
    let low = |x: u128| x & u128::from(u64::MAX);
    let (cross, ross) = ((a >> 64) * low(b), low(a) * (b >> 64));
    let middle = ((low(a) * low(b)) >> 64) + low(cross) + low(ross);
    let high = (a >> 64) * (b >> 64) + (cross >> 64) + (ross >> 64) + (middle >> 64);
    sign * ((high << (128 - PLACES)) | (low(middle) >> (PLACES - 64))) as i128
}

/// x · 2^−n as a fixed-point number: exact, or cut off at the last place.
pub(crate) fn fixed(x: f64, n: i32) -> i128 {
    let bits = x.abs().to_bits();
    let (fraction, power) = ((bits & ((1 << 52) - 1)) as i128, (bits >> 52) as i32);
    let (whole, power) = if power == 0 { (fraction, 1) } else { (fraction | 1 << 52, power) };
    let shift = power - 1075 + PLACES - n;
    let size = if shift >= 0 { whole << shift } else { whole >> (-shift).min(127) };
    if x < 0.0 { -size } else { size }
}

pub(crate) fn double(x: i128) -> f64 {
    x as f64 / ONE as f64
}

/// Computes e^x as a fixed-point number times 2^n.
pub(crate) struct Reference {
    /// 1/k! from the highest on.
    coefficients: Vec<i128>,
}

impl Reference {
    pub(crate) fn new() -> Self {
        let mut coefficients = vec![ONE];
        (1..30).for_each(|k| coefficients.push(coefficients[k - 1] / k as i128));
        coefficients.reverse();
        Reference { coefficients }
    }

    pub(crate) fn exp(&self, x: f64) -> (i128, i32) {
        let n = (x * std::f64::consts::LOG2_E).round() as i32;
        let r = fixed(x, 0) - i128::from(n) * LN_2;
        (self.coefficients.iter().fold(0, |sum, c| times(sum, r) + c), n)
    }

    /// How far y is off e^x, relative to it; from the denormal numbers on as a share of the smallest.
    pub(crate) fn error_of_exp(&self, x: f64, y: f64) -> f64 {
        if !(-746.0..=710.0).contains(&x) || y == f64::INFINITY {
            let right = if x > 709.7827128933 { f64::INFINITY } else { 0.0 };
            return if y == right { 0.0 } else { 1.0 };
        }
        let (e, n) = self.exp(x);
        let error = double(fixed(y, n) - e);
        if n >= -1021 {
            error / double(e)
        } else {
            error * 2f64.powi(n + 1021) * 2f64.powi(53) * ERROR / 2.0
        }
    }

    /// How far y is off ln(`more` + x), relative to it, where `more` is 0 or 1.
    pub(crate) fn error_of_ln(&self, more: f64, x: f64, y: f64) -> f64 {
        // Where the logarithm of 1 + x is next to x, its series tells the quotient.
        if more == 1.0 && x.abs() < 2f64.powi(-30) {
            return if x == 0.0 { y } else { (y - x) / x - x * (x / 3.0 - 0.5) };
        }
        let (e, n) = self.exp(y);
        let sum = match more {
            1.0 if x > -0.5 => fixed(x, n) + fixed(1.0, n),
            _ => fixed(more + x, n),
        };
        let distance = double(sum - e) / double(e);
        let distance = distance - 0.5 * distance * distance;
        if y == 0.0 { distance } else { distance / y }
    }

    pub(crate) fn error_of_sigmoid(&self, x: f64, y: f64) -> f64 {
        if x.abs() > 740.0 {
            return y - f64::from(u8::from(x > 0.0));
        }
        let (e, n) = self.exp(-x.abs());
        let share = e >> (-n).min(127);
        if x >= 0.0 {
            double(times(fixed(y, 0), ONE + share) - ONE)
        } else if n < -1021 {
            (y - elementary::exp(x)) * 1e300
        } else {
            double(times(fixed(y, n), ONE + share) - e) / double(e)
        }
    }

    pub(crate) fn error_of_softplus(&self, x: f64, y: f64) -> f64 {
        if x < -20.0 {
            let share = elementary::exp(x);
            let share = share * (share / 3.0 - 0.5);
            return self.error_of_exp(x, y) - if x < -50.0 { 0.0 } else { share };
        }
        if x > 700.0 {
            return y - x;
        }
        let ((e, n), (of_x, n_of_x)) = (self.exp(y), self.exp(x));
        let shift = n - n_of_x;
        let of_x = if shift >= 0 { of_x >> shift } else { of_x << -shift };
        double(of_x + fixed(1.0, n) - e) / double(e) / y
    }

    pub(crate) fn error_of_tanh(&self, x: f64, y: f64) -> f64 {
        if x.abs() < 2f64.powi(-20) {
            return if x == 0.0 { y } else { (y - x) / x + x * x * (1.0 / 3.0 - x * x / 7.5) };
        }
        if x.abs() > 50.0 {
            return y.abs() - 1.0;
        }
        let (e, n) = self.exp(-2.0 * x.abs());
        let share = e >> (-n).min(127);
        double(times(fixed(y.abs(), 0), ONE + share) - (ONE - share)) / double(ONE - share)
    }
}

/// π/2, from a table of 50 digits.
const QUARTER: i128 = 0xc90fdaa22168c234c4c6628b80dc2;

/// Sine and cosine of an angle.
pub(crate) fn sines(x: f64) -> (i128, i128) {
    let n = (x * std::f64::consts::FRAC_2_PI).round();
    // 9 places fewer make room for large angles.
    let r = if n == 0.0 { fixed(x, 0) } else { (fixed(x, 9) - n as i128 * (QUARTER >> 9)) << 9 };
    let (mut power, mut sums) = (ONE, [0, 0]);
    for k in 0..28 {
        let sign = if k % 4 < 2 { 1 } else { -1 };
        sums[k % 2] += sign * power;
        power = times(power, r) / (k as i128 + 1);
    }
    let [cosine, sine] = sums;
    match (n as i64).rem_euclid(4) {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    }
}
