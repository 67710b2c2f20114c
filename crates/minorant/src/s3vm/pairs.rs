//! The scans that a pair step of the inner problem makes over all examples: the steepest way up, the
//! partner with the greatest gain, and the change of Kβ. What the kinks and ends of an example leave
//! of its slopes is kept beside it, so that a scan is a plain loop for the vector unit; it finds what
//! a loop over the examples one by one would find, to the last bit.

use super::inner::FLAT;
use minorant_linalg::dense::{LANES, dispatch};

/// The slopes of J at every example, less the outputs Kβ.
#[derive(Debug, Clone, Default)]
pub(super) struct Ways {
    /// On the way up: −1, 1, or ∞ where there is none.
    up: Vec<f64>,
    /// On the way down: −1, 1, or −∞ where there is none.
    down: Vec<f64>,
    /// What a partner promises.
    gains: Vec<f64>,
}

/// The example of the steepest way up, and its kernel row.
pub(super) struct Steepest<'r> {
    /// Its slope.
    pub(super) slope: f64,
    /// Its diagonal entry of the kernel matrix.
    pub(super) diagonal: f64,
    /// Its row of the kernel matrix.
    pub(super) row: &'r [f64],
}

/// The example to take down.
pub(super) struct Partner {
    pub(super) index: usize,
    /// The difference of the two slopes.
    pub(super) slope: f64,
    /// How the slope changes along the step.
    pub(super) curvature: f64,
}

impl Steepest<'_> {
    /// The curvature of the pair with an example of this diagonal entry and this entry of the row.
    #[inline(always)]
    fn curvature(&self, diagonal: f64, row: f64) -> f64 {
        greater(self.diagonal + diagonal - 2.0 * row, FLAT)
    }
}

impl Ways {
    /// Takes over what kinks and ends leave of all slopes.
    pub(super) fn fill(&mut self, count: usize, of: impl Fn(usize) -> (f64, f64)) {
        self.gains.resize(count, 0.0);
        self.up.clear();
        self.down.clear();
        for (up, down) in (0..count).map(of) {
            self.up.push(up);
            self.down.push(down);
        }
    }

    /// Takes over what kinks and ends leave of one example's slopes.
    pub(super) fn set(&mut self, i: usize, (up, down): (f64, f64)) {
        (self.up[i], self.down[i]) = (up, down);
    }

    /// The least slope on a way up, and the greatest on a way down.
    pub(super) fn extremes(&self, outputs: &[f64]) -> (f64, f64) {
        let Ways { up, down, .. } = self;
        dispatch(
            #[inline(always)]
            || {
                let mut least = [f64::INFINITY; LANES];
                let mut greatest = [f64::NEG_INFINITY; LANES];
                let (outputs, rest) = outputs.as_chunks::<LANES>();
                let (ups, up_rest) = up.as_chunks::<LANES>();
                let (downs, down_rest) = down.as_chunks::<LANES>();
                for ((output, up), down) in outputs.iter().zip(ups).zip(downs) {
                    for l in 0..LANES {
                        least[l] = lesser(least[l], output[l] + up[l]);
                        greatest[l] = greater(greatest[l], output[l] + down[l]);
                    }
                }
                for ((output, up), down) in rest.iter().zip(up_rest).zip(down_rest) {
                    least[0] = lesser(least[0], output + up);
                    greatest[0] = greater(greatest[0], output + down);
                }
                let (mut low, mut high) = (least[0], greatest[0]);
                for l in 1..LANES {
                    (low, high) = (lesser(low, least[l]), greater(high, greatest[l]));
                }
                (low, high)
            },
        )
    }

    /// The first example whose slope on the way up is this.
    pub(super) fn steepest(&self, outputs: &[f64], slope: f64) -> Option<usize> {
        outputs.iter().zip(&self.up).position(|(output, up)| output + up == slope)
    }

    /// The example whose way down goes best with a way up, by the gain that a quadratic of the
    /// pair's curvature promises.
    pub(super) fn partner(
        &mut self,
        outputs: &[f64],
        diagonal: &[f64],
        with: &Steepest<'_>,
    ) -> Option<Partner> {
        let Ways { down, gains, .. } = self;
        let n = gains.len();
        let (outputs, diagonal, row) = (&outputs[..n], &diagonal[..n], &with.row[..n]);
        let down = &down[..n];
        let best = dispatch(
            #[inline(always)]
            || {
                for j in 0..n {
                    let slope = greater(outputs[j] + down[j] - with.slope, 0.0);
                    gains[j] = slope * slope / with.curvature(diagonal[j], row[j]);
                }
                let mut best = [0.0; LANES];
                let (blocks, rest) = gains.as_chunks::<LANES>();
                for block in blocks {
                    for l in 0..LANES {
                        best[l] = greater(best[l], block[l]);
                    }
                }
                let all = best.iter().chain(rest);
                all.fold(0.0, |best, gain| greater(best, *gain))
            },
        );
        if best <= 0.0 {
            return None;
        }
        let index = gains.iter().position(|gain| *gain == best)?;
        Some(Partner {
            index,
            slope: outputs[index] + down[index] - with.slope,
            curvature: with.curvature(diagonal[index], row[index]),
        })
    }
}

/// `out += step (x − y)`.
pub(super) fn add_difference(step: f64, x: &[f64], y: &[f64], out: &mut [f64]) {
    dispatch(
        #[inline(always)]
        || {
            for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
                *out += step * (x - y);
            }
        },
    );
}

/// The lesser of two numbers, in one instruction: no number is NaN here.
#[inline(always)]
fn lesser(x: f64, y: f64) -> f64 {
    if y < x { y } else { x }
}

/// The greater of two numbers, in one instruction.
#[inline(always)]
fn greater(x: f64, y: f64) -> f64 {
    if y > x { y } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Lcg;

    /// What the scans find, looked for example by example.
    #[test]
    fn scans_find_what_plain_loops_find() {
        let mut rng = Lcg::new(11);
        for count in [1, 7, 8, 9, 37, 64, 203] {
            let mut ways = Ways::default();
            // Coarse numbers, so that there are ties, of which the first must be found.
            let mut coarse = || (3.0 * rng.signed()).round();
            let outputs: Vec<f64> = (0..count).map(|_| 0.5 * coarse()).collect();
            let row: Vec<f64> = (0..count).map(|_| 0.25 * coarse()).collect();
            let diagonal: Vec<f64> = (0..count).map(|_| 1.0 + coarse().abs()).collect();
            let choices =
                [(-1.0, -1.0), (1.0, 1.0), (f64::INFINITY, 1.0), (-1.0, f64::NEG_INFINITY)];
            let slopes: Vec<(f64, f64)> =
                (0..count).map(|_| choices[(coarse().abs() as usize) % 4]).collect();
            ways.fill(count, |i| slopes[i]);
            let (mut least, mut up) = (f64::INFINITY, None);
            let mut greatest = f64::NEG_INFINITY;
            for i in 0..count {
                if outputs[i] + slopes[i].0 < least {
                    (least, up) = (outputs[i] + slopes[i].0, Some(i));
                }
                greatest = greatest.max(outputs[i] + slopes[i].1);
            }
            assert_eq!(ways.extremes(&outputs), (least, greatest));
            let Some(up) = up else { continue };
            assert_eq!(ways.steepest(&outputs, least), Some(up));
            let (mut best, mut down) = (0.0, None);
            for j in 0..count {
                let slope = outputs[j] + slopes[j].1 - least;
                let bend = (diagonal[up] + diagonal[j] - 2.0 * row[j]).max(FLAT);
                if slope > 0.0 && slope * slope / bend > best {
                    (best, down) = (slope * slope / bend, Some((j, slope, bend)));
                }
            }
            let with = Steepest { slope: least, diagonal: diagonal[up], row: &row };
            let found = ways.partner(&outputs, &diagonal, &with);
            assert_eq!(found.map(|p| (p.index, p.slope, p.curvature)), down);
        }
    }
}
