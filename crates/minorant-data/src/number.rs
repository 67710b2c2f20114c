//! Decimal numbers from bytes, exactly rounded. Short decimals take a fast path; everything else
//! goes to the standard library. Not a number here, whatever other tools say: hexadecimal, `inf`
//! and `nan`.

/// Why text is not a finite number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotANumber {
    /// It does not have the form of a decimal number.
    Form,
    /// Its size is beyond the largest f64.
    Overflow,
}

/// Powers of ten that are exactly an f64.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The number that all of `text` spells.
pub(crate) fn parse(text: &[u8]) -> Result<f64, NotANumber> {
    match parse_prefix(text) {
        Ok((number, length)) if length == text.len() => Ok(number),
        Ok(_) => Err(NotANumber::Form),
        Err(why) => Err(why),
    }
}

/// The longest number that `text` begins with, and its length.
#[inline]
pub(crate) fn parse_prefix(text: &[u8]) -> Result<(f64, usize), NotANumber> {
    let mut at = 0;
    let negative = match text.first() {
        Some(b'-') => {
            at = 1;
            true
        }
        Some(b'+') => {
            at = 1;
            false
        }
        _ => false,
    };
    // Digits go into the mantissa while they fit surely; more of them take the slow path.
    let mut mantissa: u64 = 0;
    let digits_from = at;
    while let Some(digit) = digit_at(text, at) {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(digit);
        at += 1;
    }
    let mut digits = at - digits_from;
    let mut exponent: i64 = 0;
    if text.get(at) == Some(&b'.') {
        at += 1;
        let fraction_from = at;
        while let Some(digit) = digit_at(text, at) {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(digit);
            at += 1;
        }
        digits += at - fraction_from;
        exponent = -((at - fraction_from) as i64);
    }
    if digits == 0 {
        return Err(NotANumber::Form);
    }
    if let Some(b'e' | b'E') = text.get(at) {
        let (power, length) = exponent_part(&text[at..])?;
        exponent = exponent.saturating_add(power);
        at += length;
    }
    // Both factors are exact, so one multiplication or division rounds correctly.
    if digits <= 19 && mantissa < 1 << 53 && exponent.unsigned_abs() <= 22 {
        let size = mantissa as f64;
        let power = EXACT_POWERS[exponent.unsigned_abs() as usize];
        let number = if exponent < 0 { size / power } else { size * power };
        return Ok((if negative { -number } else { number }, at));
    }
    slow(&text[..at]).map(|number| (number, at))
}

#[inline]
fn digit_at(text: &[u8], at: usize) -> Option<u64> {
    let digit = text.get(at)?.wrapping_sub(b'0');
    (digit < 10).then_some(u64::from(digit))
}

/// The power of ten after an `e`, cut to what no mantissa of a readable file can undo, and how
/// many bytes the exponent takes.
fn exponent_part(text: &[u8]) -> Result<(i64, usize), NotANumber> {
    let mut at = 1;
    let negative = text.get(at) == Some(&b'-');
    if let Some(b'-' | b'+') = text.get(at) {
        at += 1;
    }
    let from = at;
    let mut power: i64 = 0;
    while let Some(digit) = digit_at(text, at) {
        power = power.saturating_mul(10).saturating_add(digit as i64);
        at += 1;
    }
    if at == from {
        return Err(NotANumber::Form);
    }
    Ok((if negative { -power } else { power }, at))
}

#[cold]
fn slow(text: &[u8]) -> Result<f64, NotANumber> {
    let text = std::str::from_utf8(text).map_err(|_| NotANumber::Form)?;
    let number: f64 = text.parse().map_err(|_| NotANumber::Form)?;
    if number.is_finite() { Ok(number) } else { Err(NotANumber::Overflow) }
}

/// Spellings of what is not a finite number: never a name, always refused.
pub(crate) fn is_nan_or_inf(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    [&b"nan"[..], b"inf", b"infinity"].iter().any(|name| text.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forms() {
        for (text, number) in [
            ("0", 0.0),
            ("+1", 1.0),
            ("-1.5", -1.5),
            (".5", 0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("1E-3", 0.001),
            ("1e+2", 100.0),
            ("4.9e-324", 5e-324),
            ("1e-400", 0.0),
            ("123456789012345678901234567890", 1.2345678901234568e29),
            ("0.000000000000000000000000000001", 1e-30),
            ("1.7976931348623157e308", f64::MAX),
        ] {
            assert_eq!(parse(text.as_bytes()), Ok(number), "{text}");
        }
        for text in ["", "+", "-", ".", "e5", "1e", "1e+", "0x10", "inf", "nan", "1 ", "1_0", "--1"]
        {
            assert_eq!(parse(text.as_bytes()), Err(NotANumber::Form), "{text}");
        }
        assert_eq!(parse(b"1e400"), Err(NotANumber::Overflow));
        assert_eq!(parse(b"-1e99999999999999999999"), Err(NotANumber::Overflow));
        assert_eq!(parse_prefix(b"12:3"), Ok((12.0, 2)));
    }

    proptest! {
        #[test]
        fn agrees_with_the_standard_library(text in "[+-]?[0-9]{0,25}\\.?[0-9]{0,25}([eE][+-]?[0-9]{1,3})?") {
            let expected = text.parse::<f64>().ok().filter(|n| n.is_finite());
            prop_assert_eq!(parse(text.as_bytes()).ok().map(f64::to_bits), expected.map(f64::to_bits));
        }
    }
}
