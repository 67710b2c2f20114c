//! Numbers as people read them. Claims are rounded to the side on which they stay true: a lower
//! bound down, an objective up. Nothing here knows HTML.

use minorant::family::setting_in_words;

/// What stands where there is no number.
pub(crate) const NONE: &str = "–";

/// The most digits that tell one double from another.
const ALL_DIGITS: usize = 17;

/// Digits of objectives and bounds on a terminal.
const OBJECTIVE_DIGITS: usize = 9;

/// `value` with so many significant digits, or a dash where it is not finite.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    plain(value, digits).map_or_else(|| NONE.into(), |text| grouped(&text))
}

/// `value` as a power of ten with two digits, so that orders of magnitude line up.
pub(crate) fn scientific(value: f64) -> String {
    match value {
        v if !v.is_finite() => NONE.into(),
        0.0 => "0".into(),
        v => format!("{v:.1e}"),
    }
}

/// A number as `shown` writes it, or a dash where there is none.
pub(crate) fn optional(value: Option<f64>, shown: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| NONE.into(), shown)
}

/// A number not below `value`, and as near to it as the digits allow.
pub(crate) fn above(value: f64, digits: usize) -> String {
    grouped(&directed(value, digits, 1.0))
}

/// A number not above `value`, and as near to it as the digits allow.
pub(crate) fn below(value: f64, digits: usize) -> String {
    grouped(&directed(value, digits, -1.0))
}

/// An objective for terminals, where numbers are copied: rounded up, no groups.
pub(crate) fn objective(value: f64) -> String {
    directed(value, OBJECTIVE_DIGITS, 1.0)
}

/// A lower bound for terminals: rounded down, no groups.
pub(crate) fn bound(value: f64) -> String {
    directed(value, OBJECTIVE_DIGITS, -1.0)
}

/// A setting such as λ, as the library writes settings, or a dash where it is not finite.
pub(crate) fn setting(value: f64) -> String {
    Some(value).filter(|value| value.is_finite()).map_or_else(|| NONE.into(), setting_in_words)
}

/// A fraction in percent, rounded up.
pub(crate) fn percent_above(fraction: f64) -> String {
    format!("{}\u{a0}%", above(100.0 * fraction, 2))
}

/// How far above the best objective one may be that has this gap to a proven bound. A share of the
/// best needs a best above 0, and tells nothing when huge.
pub(crate) fn above_best(gap: f64, bound: f64) -> String {
    if bound > 0.0 && gap / bound < 10.0 { percent_above(gap / bound) } else { above(gap, 3) }
}

/// A fraction in percent, as somebody wrote it down.
pub(crate) fn percent(fraction: f64) -> String {
    let percent = 100.0 * fraction;
    // 100 · 0.001 is not the double nearest to 0.1: the fifteenth digit is as far as it is right.
    let text = plain(percent, 15).unwrap_or_else(|| NONE.into());
    format!("{}\u{a0}%", without_zeros(&text))
}

/// A count, in groups of three digits.
pub(crate) fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// How many digits show a difference of `gap` between numbers as large as `value`.
pub(crate) fn digits_to_show(gap: f64, value: f64) -> usize {
    let digits = (value.abs() / gap).log10().ceil() + 2.0;
    if digits.is_finite() { (digits.max(6.0) as usize).min(ALL_DIGITS) } else { 6 }
}

fn plain(value: f64, digits: usize) -> Option<String> {
    let scientific = format!("{value:.*e}", digits - 1);
    let exponent = exponent(&scientific);
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    value.is_finite().then(|| match exponent {
        _ if value == 0.0 => "0".into(),
        -4..9 => format!("{value:.decimals$}"),
        _ => scientific,
    })
}

fn directed(value: f64, digits: usize, side: f64) -> String {
    let Some(mut text) = plain(value, digits) else { return NONE.into() };
    let shown: f64 = text.parse().unwrap_or(value);
    if (shown - value) * side < 0.0 {
        let unit = 10f64.powi(exponent(&format!("{value:.*e}", digits - 1)) + 1 - digits as i32);
        text = plain(shown + side * unit, digits).unwrap_or(text);
    }
    text
}

fn exponent(scientific: &str) -> i32 {
    scientific.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0)
}

/// A number without the zeros at the end of its decimals.
pub(crate) fn without_zeros(text: &str) -> String {
    let (digits, exponent) = text.split_at(text.find('e').unwrap_or(text.len()));
    match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_string() + exponent,
        false => text.into(),
    }
}

/// Narrow spaces between groups of three digits, where five or more stand before the decimal point.
fn grouped(text: &str) -> String {
    let whole = text.find(['.', 'e']).unwrap_or(text.len());
    let sign = usize::from(text.starts_with('-'));
    if whole - sign < 5 {
        return text.into();
    }
    let groups = text.as_bytes()[sign..whole].rchunks(3).rev();
    let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
    format!("{}{}{}", &text[..sign], groups.join("\u{202f}"), &text[whole..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(significant(0.356_507_2, 6), "0.356507");
        assert_eq!(significant(-12_345.678, 7), "-12\u{202f}345.68");
        assert_eq!(significant(1e-9, 3), "1.00e-9");
        assert_eq!(significant(0.0, 3), "0");
        assert_eq!(significant(f64::NAN, 3), NONE);
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(count(1234), "1234");
        assert_eq!(percent(1e-3), "0.1\u{a0}%");
        assert_eq!(percent(1e-9), "1e-7\u{a0}%");
        assert_eq!(percent(10.0), "1000\u{a0}%");
    }

    #[test]
    fn claims_are_rounded_to_the_safe_side() {
        assert_eq!(below(0.356_507_9, 6), "0.356507");
        assert_eq!(above(0.356_507_1, 6), "0.356508");
        assert_eq!(above(9.996, 3), "10.0");
        assert_eq!(below(-1.234_56, 3), "-1.24");
        assert_eq!(above(2e-7, 2), "2.0e-7");
        assert_eq!(percent_above(7.29e-5), "0.0073\u{a0}%");
        // 2 may be twice the best, not only half of itself above it.
        assert_eq!(above_best(1.0, 1.0), "100\u{a0}%");
        assert_eq!(above_best(1.0, 0.01), "1.00");
        assert_eq!(above_best(1.0, -3.0), "1.00");
        for value in [0.1 + 0.2, 1.0 / 3.0, 7.77e-12, -5.4321e15] {
            for digits in 1..=17 {
                let parse = |text: String| text.replace('\u{202f}', "").parse::<f64>().unwrap();
                assert!(parse(below(value, digits)) <= value, "{value} {digits}");
                assert!(parse(above(value, digits)) >= value, "{value} {digits}");
            }
        }
    }

    #[test]
    fn small_and_large_numbers_keep_their_digits() {
        assert_eq!(objective(0.25), "0.250000000");
        assert_eq!(objective(1.234_567_890_1e-12), "1.23456790e-12");
        assert_eq!(bound(1.234_567_899_9e-12), "1.23456789e-12");
        assert_eq!(bound(12_345.678_901_23), "12345.6789");
        assert_eq!(objective(f64::INFINITY), NONE);
        let settings = [1e-4, 0.0025, 1e-5, 1.0 / 3e8, 1e12, 2e4].map(setting);
        assert_eq!(settings, ["0.0001", "0.0025", "1e-5", "3.33333e-9", "1e12", "20000"]);
    }

    #[test]
    fn a_gap_stays_visible() {
        assert_eq!(digits_to_show(2.6e-5, 0.3565), 7);
        assert_eq!(digits_to_show(0.3, 0.3565), 6);
        assert_eq!(digits_to_show(0.0, 0.3565), 6);
        assert_eq!(digits_to_show(1e-30, 0.3565), 17);
    }
}
