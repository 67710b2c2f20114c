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
    let (is_negative, unsigned) = match text {
        [b'-', unsigned @ ..] => (true, unsigned),
        [b'+', unsigned @ ..] => (false, unsigned),
        _ => (false, text),
    };
    let mut mantissa = 0;
    let mut rest = take_digits(unsigned, &mut mantissa);
    let mut digits = unsigned.len() - rest.len();
    let mut exponent: i64 = 0;
    if let [b'.', fraction @ ..] = rest {
        rest = take_digits(fraction, &mut mantissa);
        let places = fraction.len() - rest.len();
        digits += places;
        exponent = -(places as i64);
    }
    if digits == 0 {
        return Err(NotANumber::Form);
    }
    if let [b'e' | b'E', ..] = rest {
        let (power, length) = exponent_part(rest)?;
        exponent = exponent.saturating_add(power);
        rest = &rest[length..];
    }
    let length = text.len() - rest.len();
    // More digits may not have fitted into the mantissa. Both factors are exact, so one multiplication or
    // division rounds correctly.
    if digits <= 19 && mantissa < 1 << 53 && exponent.unsigned_abs() <= 22 {
        let size = mantissa as f64;
        let power = EXACT_POWERS[exponent.unsigned_abs() as usize];
        let number = if exponent < 0 { size / power } else { size * power };
        return Ok((if is_negative { -number } else { number }, length));
    }
    slow(&text[..length]).map(|number| (number, length))
}

/// Puts the digits that `text` begins with behind those of a whole number, which wraps around where they
/// are too many; what comes behind them is left.
#[inline]
pub(crate) fn take_digits<'t>(mut text: &'t [u8], number: &mut u64) -> &'t [u8] {
    while let [byte, behind @ ..] = text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        *number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        text = behind;
    }
    text
}

/// The power of ten after an `e`, cut to what no mantissa of a readable file can undo, and how
/// many bytes the exponent takes.
fn exponent_part(text: &[u8]) -> Result<(i64, usize), NotANumber> {
    let (is_negative, unsigned) = match text {
        [_, b'-', unsigned @ ..] => (true, unsigned),
        [_, b'+', unsigned @ ..] | [_, unsigned @ ..] => (false, unsigned),
        [] => return Err(NotANumber::Form),
    };
    let digits = unsigned.iter().take_while(|byte| byte.is_ascii_digit());
    let power = digits.clone().fold(0i64, |power, digit| {
        power.saturating_mul(10).saturating_add(i64::from(digit - b'0'))
    });
    match digits.count() {
        0 => Err(NotANumber::Form),
        count => {
            Ok((if is_negative { -power } else { power }, text.len() - unsigned.len() + count))
        }
    }
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
