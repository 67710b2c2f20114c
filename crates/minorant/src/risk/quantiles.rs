//! Several quantiles at once: outputs f₁ … f_K for levels τ₁ < … < τ_K and one target y. An example costs
//! the sum of what each quantile costs, and (f_k − f_{k+1})₊ for each neighbours that lie in the wrong
//! order. Crossings are made dear, not impossible: those that remain can be counted. One quantile alone
//! stands in `residual.rs`.

use super::Piece;
use super::loss::{Conjugate, Growth, KINK, Kinks, Loss, OUTSIDE, Piecewise, TIE, Tangent};
use super::residual::Targets;
use crate::line::Pieces;

/// The most quantiles at once: a piece of the loss is written in two numbers of 32 bits.
pub const MOST: usize = 31;

/// The loss of several quantiles.
#[derive(Debug, Clone)]
pub struct Quantiles {
    targets: Targets,
    levels: Vec<f64>,
}

/// Which side of its kink each term takes: bit k of `above` says that output k lies above the target,
/// bit k of `crossed` that outputs k and k + 1 lie in the wrong order.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sides {
    above: u32,
    crossed: u32,
}

impl Sides {
    /// Sides that two functions tell.
    fn of(
        outputs: usize,
        is_above: impl Fn(usize) -> bool,
        is_crossed: impl Fn(usize) -> bool,
    ) -> Self {
        let bits = |count: usize, is_set: &dyn Fn(usize) -> bool| {
            (0..count).filter(|&k| is_set(k)).fold(0, |bits, k| bits | 1 << k)
        };
        Sides { above: bits(outputs, &is_above), crossed: bits(outputs - 1, &is_crossed) }
    }
}

impl Quantiles {
    /// The loss of these levels, ascending and between 0 and 1, with a target for each row.
    pub fn new(targets: Targets, levels: Vec<f64>) -> Self {
        assert!((1..=MOST).contains(&levels.len()), "from 1 to {MOST} quantiles");
        Quantiles { targets, levels }
    }

    /// The tangent on some sides of all kinks.
    fn on(&self, example: usize, sides: Sides, f: &[f64], c: &mut [f64]) -> Tangent {
        let (y, mut value, mut sum) = (self.targets.values[example], 0.0, 0.0);
        for (k, level) in self.levels.iter().enumerate() {
            c[k] = if sides.above >> k & 1 == 1 { 1.0 - level } else { -level };
            value += c[k] * (f[k] - y);
            sum += c[k];
        }
        for k in (0..f.len() - 1).filter(|k| sides.crossed >> k & 1 == 1) {
            c[k] += 1.0;
            c[k + 1] -= 1.0;
            value += f[k] - f[k + 1];
        }
        // What crossings add to the slopes cancels in their sum.
        Tangent { value, offset: -sum * y }
    }

    fn sides_at(&self, example: usize, f: &[f64]) -> Sides {
        let y = self.targets.values[example];
        Sides::of(f.len(), |k| f[k] > y, |k| f[k] > f[k + 1])
    }

    /// How near to a kink counts as on it.
    fn near(&self, f: &[f64], share: f64) -> f64 {
        share * (self.targets.size + f.iter().fold(0.0, |most: f64, f| most.max(f.abs())))
    }

    fn is_near_kink(&self, example: usize, f: &[f64], share: f64) -> bool {
        let (y, near) = (self.targets.values[example], self.near(f, share));
        f.iter().any(|f| (f - y).abs() <= near)
            || f.windows(2).any(|two| (two[0] - two[1]).abs() <= near)
    }

    /// Whether slopes are those of a minorant: after what quantiles k … can take for themselves, from −τ
    /// to 1 − τ each, what is left must be what crossings, from 0 to 1 each, hand from one to the next.
    fn has_slopes(&self, c: &[f64]) -> bool {
        let (mut least, mut most) = (0.0f64, 0.0f64);
        for (k, (c, level)) in c.iter().zip(&self.levels).enumerate() {
            least += c - (1.0 - level);
            most += c + level;
            // The last one has no neighbour to hand anything to.
            let end = if k + 1 < self.levels.len() { 1.0 } else { 0.0 };
            (least, most) = (least.max(0.0), most.min(end));
            if least > most {
                return false;
            }
        }
        // A slope that is not a number is none, whatever clamping has made of it.
        c.iter().all(|c| c.is_finite())
    }
}

impl Loss for Quantiles {
    fn outputs(&self) -> usize {
        self.levels.len()
    }

    fn value(&self, example: usize, f: &[f64]) -> f64 {
        let y = self.targets.values[example];
        let quantiles = f.iter().zip(&self.levels);
        let own = quantiles.map(|(f, level)| (level * (y - f)).max((1.0 - level) * (f - y)));
        own.chain(f.windows(2).map(|two| (two[0] - two[1]).max(0.0))).sum()
    }

    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        let sides = self.sides_at(example, f);
        Tangent { value: self.value(example, f), ..self.on(example, sides, f, c) }
    }

    fn growth(&self) -> Growth {
        let own: f64 = self.levels.iter().map(|level| level.max(1.0 - level)).sum();
        Growth::Linear(own + 2.0 * (self.levels.len() - 1) as f64)
    }

    fn pieces(&self) -> Option<&dyn Piecewise> {
        Some(self)
    }

    fn kinks(&self) -> Option<&dyn Kinks> {
        Some(self)
    }

    fn conjugate(&self) -> Option<&dyn Conjugate> {
        Some(self)
    }
}

impl Piecewise for Quantiles {
    fn add_pieces(&self, example: usize, f: &[f64], d: &[f64], pieces: &mut Pieces<'_>) {
        let y = self.targets.values[example];
        for ((f, d), level) in f.iter().zip(d).zip(&self.levels) {
            pieces.kinks(*f, *d, -level, &[(y, 1.0)]);
        }
        for (f, d) in f.windows(2).zip(d.windows(2)) {
            pieces.kinks(f[0] - f[1], d[0] - d[1], 0.0, &[(0.0, 1.0)]);
        }
    }
}

impl Kinks for Quantiles {
    fn at_kink(&self, example: usize, f: &[f64]) -> bool {
        self.is_near_kink(example, f, KINK)
    }

    fn steepest_tangent(&self, example: usize, f: &[f64], d: &[f64], c: &mut [f64]) -> Tangent {
        let (y, near) = (self.targets.values[example], self.near(f, KINK));
        let side = |beyond: f64, rise: f64| match beyond.abs() <= near {
            true => rise > 0.0,
            false => beyond > 0.0,
        };
        let sides = Sides::of(
            f.len(),
            |k| side(f[k] - y, d[k]),
            |k| side(f[k] - f[k + 1], d[k] - d[k + 1]),
        );
        self.on(example, sides, f, c)
    }

    /// All sides together are the piece: those above the target as `up`, those crossed as `down`.
    fn near_tie(&self, example: usize, f: &[f64]) -> Option<Piece> {
        let Sides { above, crossed } = self.sides_at(example, f);
        self.is_near_kink(example, f, TIE).then_some(Piece::Slope { up: above, down: crossed })
    }
}

impl Conjugate for Quantiles {
    /// What crossings add to the slopes cancels in their sum, and has no height of its own.
    fn highest_offset(&self, example: usize, c: &mut [f64]) -> Option<f64> {
        if !self.has_slopes(c) {
            // Slopes of 0 are well inside, and so is a short way towards them.
            let inside =
                1.0 - OUTSIDE / self.levels.iter().fold(1.0, |a: f64, t| a.min(t.min(1.0 - t)));
            c.iter_mut().for_each(|c| *c *= inside);
            if !self.has_slopes(c) {
                return None;
            }
        }
        Some(-c.iter().sum::<f64>() * self.targets.values[example])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Envelope;

    const LEVELS: [f64; 3] = [0.1, 0.5, 0.8];

    fn plain(f: &[f64], y: f64) -> f64 {
        let own = |k: usize| f64::max(LEVELS[k] * (y - f[k]), (LEVELS[k] - 1.0) * (y - f[k]));
        let crossing = |k: usize| (f[k] - f[k + 1]).max(0.0);
        (0..3).map(own).sum::<f64>() + (0..2).map(crossing).sum::<f64>()
    }

    /// Outputs on both sides of a target of 0.5, at it, and in every order.
    fn outputs() -> impl Iterator<Item = [f64; 3]> {
        let each = [-2.0, -0.25, 0.5, 0.75, 3.0];
        each.into_iter()
            .flat_map(move |a| each.into_iter().flat_map(move |b| each.map(move |c| [a, b, c])))
    }

    fn loss() -> Quantiles {
        Quantiles::new(Targets::new(vec![0.5]), LEVELS.to_vec())
    }

    #[test]
    fn tangents_touch_and_lie_below() {
        let loss = loss();
        for f in outputs() {
            let mut c = [0.0; 3];
            let tangent = loss.tangent(0, &f, &mut c);
            assert!((tangent.value - plain(&f, 0.5)).abs() < 1e-14);
            let at = |c: &[f64], g: &[f64]| c.iter().zip(g).map(|(c, g)| c * g).sum::<f64>();
            assert!((tangent.offset + at(&c, &f) - tangent.value).abs() < 1e-13, "{f:?}");
            let told = loss.highest_offset(0, &mut c.clone()).expect("slopes of a tangent");
            assert!((told - tangent.offset).abs() < 1e-14);
            let mut steepest = [0.0; 3];
            for d in [[1.0, -1.0, 0.5], [-1.0, 2.0, 2.5]] {
                let steep = loss.steepest_tangent(0, &f, &d, &mut steepest);
                assert!((steep.offset + at(&steepest, &f) - tangent.value).abs() < 1e-13);
                assert!(at(&steepest, &d) >= at(&c, &d) - 1e-14);
                for g in outputs() {
                    assert!(tangent.offset + at(&c, &g) <= plain(&g, 0.5) + 1e-13, "{f:?} {g:?}");
                    assert!(steep.offset + at(&steepest, &g) <= plain(&g, 0.5) + 1e-13);
                }
            }
        }
    }

    #[test]
    fn slopes_beyond_those_of_minorants_are_refused() {
        let loss = loss();
        for c in [[1.0, 0.0, 0.0], [0.95, -1.0, 0.0], [-0.1, -0.5, -0.8], [0.9, 0.5, 0.2]] {
            // Slopes that rounding has carried out are moved: what is told is of those that they become.
            let mut slopes = c;
            let told = loss.highest_offset(0, &mut slopes);
            assert!(slopes.iter().zip(&c).all(|(moved, c)| (moved - c).abs() < 1e-11), "{c:?}");
            let least = outputs()
                .map(|f| plain(&f, 0.5) - slopes.iter().zip(&f).map(|(c, f)| c * f).sum::<f64>())
                .fold(f64::MAX, f64::min);
            match told {
                Some(offset) => assert!(offset <= least + 1e-13, "{c:?}"),
                None => panic!("{c:?} is a minorant's"),
            }
        }
        for c in [[2.0, 0.0, 0.0], [-0.2, 0.0, 0.0], [0.0, 0.0, 0.3], [f64::NAN, 0.0, 0.0]] {
            assert_eq!(loss.highest_offset(0, &mut c.clone()), None, "{c:?}");
        }
    }

    #[test]
    fn pieces_add_up_to_values() {
        let loss = loss();
        for (f, d) in outputs().zip([[0.7, -1.3, 2.0], [0.0, 1.0, -2.5]].into_iter().cycle()) {
            let (mut start, mut breaks, mut envelope) = ([0.0; 2], vec![], Envelope::default());
            let mut pieces = Pieces::new((0.0, 4.0), 1.0, &mut start, &mut breaks, &mut envelope);
            loss.add_pieces(0, &f, &d, &mut pieces);
            breaks.sort_by(|a, b| a.at.total_cmp(&b.at));
            let (mut height, mut from, mut slope) = (plain(&f, 0.5), 0.0, start[0]);
            for (at, change) in breaks.iter().map(|b| (b.at, b.constant)).chain([(4.0, 0.0)]) {
                height += (at - from) * slope;
                let there: Vec<f64> = f.iter().zip(&d).map(|(f, d)| f + at * d).collect();
                assert!((height - plain(&there, 0.5)).abs() < 1e-12, "{f:?} {d:?} {at}");
                (from, slope) = (at, slope + change);
            }
        }
    }
}
