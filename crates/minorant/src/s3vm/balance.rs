//! How many of the unlabelled rows are positive, and the best labelings for it: without such a
//! constraint the objective is least where almost all of them get the same label. The linear
//! program over the labelings needs no solver: the largest decisions are positive.

use super::S3vmError;
use minorant_linalg::elementary::sigmoid_all;
use std::fmt;
use std::str::FromStr;

/// What is asked of the number of positive labels among the unlabelled rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Balance {
    /// Nothing.
    None,
    /// This number.
    Count(usize),
    /// A number from the first to the second.
    Between(usize, usize),
    /// The share among the labelled rows, give or take a twentieth of the unlabelled ones.
    #[default]
    Auto,
}

/// How far the number may be from the labelled share, relative to the unlabelled rows.
const TOLERANCE: f64 = 0.05;

impl Balance {
    /// The least and the greatest number of positives among `unlabelled` rows.
    pub fn interval(
        self,
        positive: usize,
        labelled: usize,
        unlabelled: usize,
    ) -> Result<(usize, usize), S3vmError> {
        let refuse = |asked: String| Err(S3vmError::Balance { asked, unlabelled });
        match self {
            Balance::None => Ok((0, unlabelled)),
            Balance::Count(count) if count > unlabelled => refuse(self.to_string()),
            Balance::Count(count) => Ok((count, count)),
            Balance::Between(low, high) if low > high || high > unlabelled => {
                refuse(self.to_string())
            }
            Balance::Between(low, high) => Ok((low, high)),
            Balance::Auto => {
                let u = unlabelled as f64;
                let expected = positive as f64 / labelled.max(1) as f64 * u;
                // Halves of a rounding error must not move the ends.
                let low = (expected - TOLERANCE * u - 1e-9).ceil().max(0.0);
                let high = (expected + TOLERANCE * u + 1e-9).floor().min(u);
                if low <= high {
                    return Ok((low as usize, high as usize));
                }
                let nearest = expected.round() as usize;
                Ok((nearest, nearest))
            }
        }
    }
}

/// As users type it.
impl fmt::Display for Balance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Balance::None => f.write_str("none"),
            Balance::Count(count) => write!(f, "count={count}"),
            Balance::Between(low, high) => write!(f, "{low}:{high}"),
            Balance::Auto => f.write_str("auto"),
        }
    }
}

impl FromStr for Balance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected none, auto, count=N or LO:HI, found '{text}'");
        let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
        match text {
            "none" => Ok(Balance::None),
            "auto" => Ok(Balance::Auto),
            _ => match (text.strip_prefix("count="), text.split_once(':')) {
                (Some(count), _) => number(count).map(Balance::Count),
                (None, Some((low, high))) => Ok(Balance::Between(number(low)?, number(high)?)),
                (None, None) => Err(wrong()),
            },
        }
    }
}

/// The labels that cost least where the decisions are `scores`: the k largest are positive, with k
/// the number of positive scores, or the nearest number that is allowed. Ties go to the first.
pub fn best_labels(scores: &[f64], (low, high): (usize, usize)) -> Vec<bool> {
    let above = scores.iter().filter(|s| **s > 0.0).count();
    let count = above.clamp(low, high);
    if count == above {
        return scores.iter().map(|s| *s > 0.0).collect();
    }
    let mut order: Vec<u32> = (0..scores.len() as u32).collect();
    let larger = |a: &u32, b: &u32| {
        scores[*b as usize].total_cmp(&scores[*a as usize]).then_with(|| a.cmp(b))
    };
    let mut labels = vec![false; scores.len()];
    if count > 0 {
        if count < order.len() {
            order.select_nth_unstable_by(count - 1, larger);
        }
        order[..count].iter().for_each(|&j| labels[j as usize] = true);
    }
    labels
}

/// Soft labels 1/(1 + exp(−(gain − ν)/T)) that meet the balance: ν is 0 where they do by
/// themselves, else it takes their sum to the nearer end.
pub fn soft_labels(gains: &[f64], temperature: f64, (low, high): (usize, usize)) -> Vec<f64> {
    let at = |nu: f64| {
        let mut labels: Vec<f64> = gains.iter().map(|g| (g - nu) / temperature).collect();
        sigmoid_all(&mut labels);
        labels
    };
    let unmoved = at(0.0);
    let free: f64 = unmoved.iter().sum();
    let target = free.clamp(low as f64, high as f64);
    if target == free {
        return unmoved;
    }
    if target <= 0.0 || target >= gains.len() as f64 {
        return vec![if target <= 0.0 { 0.0 } else { 1.0 }; gains.len()];
    }
    let (least, most) =
        gains.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), g| (l.min(*g), m.max(*g)));
    // The sum falls with ν; Newton's steps stay within the bracket.
    let (mut left, mut right) = (least - 40.0 * temperature, most + 40.0 * temperature);
    let mut nu = 0.5 * (least + most);
    for _ in 0..100 {
        let (mut sum, mut slope) = (0.0, 0.0);
        for p in at(nu) {
            sum += p;
            slope += p * (1.0 - p);
        }
        if (sum - target).abs() <= 1e-9 * gains.len() as f64 {
            break;
        }
        if sum > target {
            left = nu
        } else {
            right = nu
        }
        let newton = nu + (sum - target) * temperature / slope;
        nu = if newton > left && newton < right { newton } else { 0.5 * (left + right) };
        if right - left <= 1e-15 * (left.abs() + right.abs()) {
            break;
        }
    }
    at(nu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_the_labelled_share_give_or_take_a_twentieth() {
        assert_eq!(Balance::Auto.interval(1, 2, 100), Ok((45, 55)));
        assert_eq!(Balance::Auto.interval(1, 2, 118), Ok((54, 64)));
        assert_eq!(Balance::Auto.interval(1, 3, 5), Ok((2, 2)));
        assert_eq!(Balance::Auto.interval(1, 40, 100), Ok((0, 7)));
        assert_eq!(Balance::None.interval(1, 2, 7), Ok((0, 7)));
        assert!(Balance::Count(8).interval(1, 2, 7).is_err());
        assert!(Balance::Between(3, 2).interval(1, 2, 7).is_err());
    }

    #[test]
    fn a_balance_is_read_as_it_is_written() {
        let all = [Balance::None, Balance::Auto, Balance::Count(7), Balance::Between(3, 9)];
        assert!(all.iter().all(|balance| balance.to_string().parse() == Ok(*balance)));
        assert!(
            ["", "half", "count=", "count=-1", "3:", "1:2:3"]
                .iter()
                .all(|text| text.parse::<Balance>().is_err())
        );
    }

    #[test]
    fn labels_and_soft_labels_meet_the_balance() {
        let scores = [0.5, -1.0, 2.0, 0.1, -0.2];
        assert_eq!(best_labels(&scores, (0, 5)), [true, false, true, true, false]);
        assert_eq!(best_labels(&scores, (0, 1)), [false, false, true, false, false]);
        assert_eq!(best_labels(&scores, (4, 4)), [true, false, true, true, true]);
        for (low, high) in [(0, 1), (4, 5), (2, 2), (0, 5), (5, 5), (0, 0)] {
            for temperature in [1e-3, 0.3, 10.0] {
                let sum: f64 = soft_labels(&scores, temperature, (low, high)).iter().sum();
                assert!(sum > low as f64 - 1e-6 && sum < high as f64 + 1e-6, "{sum} {low} {high}");
            }
        }
    }
}
