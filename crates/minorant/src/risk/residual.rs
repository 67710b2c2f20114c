//! Losses of one output f and a target y: what a prediction costs that lies f − y above what was to be
//! met. Squares, absolute errors, quantiles, Huber's loss and both ε-insensitive losses are one formula.
//! With the excess e = f − y each of them is the largest of its minorants c e − ε|c| − κ c²/2 over slopes
//! c from `least` to `greatest`: ε is half the width of a flat bottom, κ says how far the excess goes for
//! each unit of slope, and 0 stands for a kink.
//!
//! | loss | least, greatest | ε | κ |
//! |---|---|---|---|
//! | squares ½e² | −∞, ∞ | 0 | 1 |
//! | absolute |e| | −1, 1 | 0 | 0 |
//! | quantile τ | −τ, 1 − τ | 0 | 0 |
//! | ε-insensitive (|e| − ε)₊ | −1, 1 | ε | 0 |
//! | its square | −∞, ∞ | ε | ½ |
//! | Huber, straight beyond δ | −δ, δ | 0 | 1 |
//!
//! What several quantiles at once cost stands in `quantiles.rs`.

use super::loss::{
    Ascent, Climb, Conjugate, DualSweep, Foothold, Growth, KINK, Kinks, Loss, OUTSIDE, Piecewise,
    SecondDerivative, TIE, Tangent,
};
use super::{Piece, Tie};
use crate::line::Pieces;
use std::ops::Range;

/// The shape of a loss of a residual.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// The slope on the far left, 0 or less; it may be −∞.
    pub least: f64,
    /// The slope on the far right, 0 or more; it may be ∞.
    pub greatest: f64,
    /// ε.
    pub epsilon: f64,
    /// κ, which is above 0 where a slope has no end.
    pub kappa: f64,
}

impl Shape {
    /// ½e².
    pub const SQUARES: Shape =
        Shape { least: f64::NEG_INFINITY, greatest: f64::INFINITY, epsilon: 0.0, kappa: 1.0 };
    /// |e|.
    pub const ABSOLUTE: Shape = Shape { least: -1.0, greatest: 1.0, epsilon: 0.0, kappa: 0.0 };

    /// τ for each unit that the target lies above the output, 1 − τ for each unit below it.
    pub fn quantile(tau: f64) -> Shape {
        Shape { least: -tau, greatest: 1.0 - tau, epsilon: 0.0, kappa: 0.0 }
    }

    /// (|e| − ε)₊.
    pub fn epsilon_insensitive(epsilon: f64) -> Shape {
        Shape { epsilon, ..Shape::ABSOLUTE }
    }

    /// The square of that.
    pub fn squared_epsilon_insensitive(epsilon: f64) -> Shape {
        Shape { epsilon, kappa: 0.5, ..Shape::SQUARES }
    }

    /// ½e² as far as δ, and straight from there on.
    pub fn huber(delta: f64) -> Shape {
        Shape { least: -delta, greatest: delta, epsilon: 0.0, kappa: 1.0 }
    }

    /// How far an excess lies beside the flat bottom.
    #[inline(always)]
    fn beside(&self, e: f64) -> f64 {
        e - e.clamp(-self.epsilon, self.epsilon)
    }

    /// The slope at an excess that lies so far beside the bottom: the one of the loss's tangent.
    #[inline(always)]
    fn slope(&self, beside: f64) -> f64 {
        if self.kappa > 0.0 {
            return (beside / self.kappa).clamp(self.least, self.greatest);
        }
        // Without a branch: on which side rows lie, no processor can foresee.
        let (left, right) = (f64::from(u8::from(beside < 0.0)), f64::from(u8::from(beside > 0.0)));
        left * self.least + right * self.greatest
    }

    /// The height at e = 0, and so at f = y, of the highest minorant with a slope.
    #[inline(always)]
    fn sunk(&self, c: f64) -> f64 {
        -(self.epsilon * c.abs() + 0.5 * self.kappa * c * c)
    }

    /// The height at f = 0 of the highest minorant with a slope, for a target. Taken off the target
    /// before the product, so that the sum rounds by a share of what it is.
    #[inline(always)]
    fn offset(&self, c: f64, target: f64) -> f64 {
        -c * (target + self.epsilon.copysign(c) + 0.5 * self.kappa * c)
    }

    /// Excesses at which the slope is neither least nor greatest nor, inside of the bottom, 0, lie on a
    /// curve; the excesses at which a kink or an end of a curve lies, in ascending order, with slope and
    /// rate of the slope's change (both as functions of the excess) behind each, and before the first.
    #[inline]
    fn ends(&self, ends: &mut [(f64, f64, f64); 4]) -> ((f64, f64), usize) {
        let Shape { least, greatest, epsilon, kappa } = *self;
        let rate = if kappa > 0.0 { 1.0 / kappa } else { 0.0 };
        let mut count = 0;
        let mut add = |at: f64, slope: f64, rate: f64| {
            ends[count] = (at, slope, rate);
            count += 1;
        };
        let first = if least.is_finite() { (least, 0.0) } else { (epsilon * rate, rate) };
        if kappa > 0.0 {
            if least.is_finite() {
                add(kappa * least - epsilon, epsilon * rate, rate);
            }
            if epsilon > 0.0 {
                add(-epsilon, 0.0, 0.0);
                add(epsilon, -epsilon * rate, rate);
            }
            if greatest.is_finite() {
                add(kappa * greatest + epsilon, greatest, 0.0);
            }
        } else if epsilon > 0.0 {
            add(-epsilon, 0.0, 0.0);
            add(epsilon, greatest, 0.0);
        } else {
            add(0.0, greatest, 0.0);
        }
        (first, count)
    }
}

/// Targets with what is known of all of them together, whoever holds which.
#[derive(Debug, Clone)]
pub struct Targets {
    pub(crate) values: Vec<f64>,
    /// The size of the largest: what counts as near to a kink is told by it.
    pub(super) size: f64,
}

impl Targets {
    /// All targets.
    pub fn new(values: Vec<f64>) -> Self {
        let size = values.iter().fold(0.0, |most: f64, y| most.max(y.abs()));
        Targets { values, size }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Those of some rows.
    pub fn part(&self, rows: Range<usize>) -> Self {
        Targets { values: self.values[rows].to_vec(), size: self.size }
    }
}

/// A loss of residuals.
#[derive(Debug, Clone)]
pub struct Residual {
    targets: Targets,
    shape: Shape,
}

impl Residual {
    /// The loss of a shape, with a target for each row.
    pub fn new(targets: Targets, shape: Shape) -> Self {
        Residual { targets, shape }
    }

    #[inline(always)]
    fn excess(&self, example: usize, f: &[f64]) -> f64 {
        f[0] - self.targets.values[example]
    }

    /// Whether an excess lies within a share of the sizes of its numbers from a kink.
    fn is_near_kink(&self, example: usize, f: &[f64], share: f64) -> bool {
        let near = share * (self.targets.size + f[0].abs() + self.shape.epsilon);
        (self.excess(example, f).abs() - self.shape.epsilon).abs() <= near
    }
}

impl Loss for Residual {
    fn outputs(&self) -> usize {
        1
    }

    fn is_parabola(&self) -> bool {
        self.shape == Shape::SQUARES
    }

    #[inline]
    fn value(&self, example: usize, f: &[f64]) -> f64 {
        let beside = self.shape.beside(self.excess(example, f));
        let c = self.shape.slope(beside);
        c * (beside - 0.5 * self.shape.kappa * c)
    }

    #[inline]
    fn tangent(&self, example: usize, f: &[f64], c: &mut [f64]) -> Tangent {
        let beside = self.shape.beside(self.excess(example, f));
        c[0] = self.shape.slope(beside);
        Tangent {
            value: c[0] * (beside - 0.5 * self.shape.kappa * c[0]),
            offset: self.shape.offset(c[0], self.targets.values[example]),
        }
    }

    fn growth(&self) -> Growth {
        let steepest = self.shape.greatest.max(-self.shape.least);
        if steepest.is_finite() { Growth::Linear(steepest) } else { Growth::Square }
    }

    fn shift(&self) -> f64 {
        self.shape.epsilon
    }

    fn is_smooth(&self) -> bool {
        self.shape.kappa > 0.0
    }

    fn pieces(&self) -> Option<&dyn Piecewise> {
        Some(self)
    }

    fn kinks(&self) -> Option<&dyn Kinks> {
        if self.is_smooth() { None } else { Some(self) }
    }

    fn conjugate(&self) -> Option<&dyn Conjugate> {
        Some(self)
    }

    fn ascent(&self) -> Option<&dyn Ascent> {
        Some(self)
    }

    fn curvature(&self) -> Option<&dyn SecondDerivative> {
        if self.is_smooth() { Some(self) } else { None }
    }
}

impl Piecewise for Residual {
    /// The excess along the line is e + η d, and the slope in η is d times that of the loss.
    #[inline]
    fn add_pieces(&self, example: usize, f: &[f64], d: &[f64], pieces: &mut Pieces<'_>) {
        let (e, d) = (self.excess(example, f), d[0]);
        if d == 0.0 {
            return;
        }
        let mut ends = [(0.0, 0.0, 0.0); 4];
        let (first, count) = self.shape.ends(&mut ends);
        let along = |(slope, rate): (f64, f64)| (d * (slope + rate * e), rate * d * d);
        // The pieces in the order in which the line meets them, from −∞ on.
        let of = |place: usize| {
            let place = if d > 0.0 { place } else { count - place };
            if place == 0 { first } else { (ends[place - 1].1, ends[place - 1].2) }
        };
        let end = |place: usize| {
            let at = if d > 0.0 { ends[place].0 } else { ends[count - 1 - place].0 };
            (at - e) / d
        };
        let behind = (0..count).take_while(|&place| end(place) <= pieces.from()).count();
        let mut now = along(of(behind));
        pieces.start(now.0, now.1);
        for place in behind..count {
            let next = along(of(place + 1));
            pieces.change(end(place), next.0 - now.0, next.1 - now.1);
            now = next;
        }
    }
}

impl Kinks for Residual {
    fn at_kink(&self, example: usize, f: &[f64]) -> bool {
        self.is_near_kink(example, f, KINK)
    }

    fn steepest_tangent(&self, example: usize, f: &[f64], d: &[f64], c: &mut [f64]) -> Tangent {
        let Shape { least, greatest, epsilon, .. } = self.shape;
        let is_right = self.excess(example, f) > 0.0;
        let (low, high) = match epsilon > 0.0 {
            false => (least, greatest),
            true if is_right => (0.0, greatest),
            true => (least, 0.0),
        };
        c[0] = if d[0] > 0.0 { high } else { low };
        Tangent { value: 0.0, offset: self.shape.offset(c[0], self.targets.values[example]) }
    }

    fn near_tie(&self, example: usize, f: &[f64]) -> Option<Piece> {
        if !self.is_near_kink(example, f, TIE) {
            return None;
        }
        let c = self.shape.slope(self.shape.beside(self.excess(example, f)));
        Some(piece_of(c))
    }

    fn add_ties(&self, rows: Range<usize>, f: &[f64], ties: &mut Vec<Tie>) {
        for (i, f) in rows.zip(f) {
            if let Some(piece) = self.near_tie(i, std::slice::from_ref(f)) {
                ties.push(Tie { example: i as u32, piece });
            }
        }
    }
}

/// The piece on which a loss of one output has a slope: it rises, falls, or is flat.
pub(super) fn piece_of(slope: f64) -> Piece {
    match slope {
        c if c > 0.0 => Piece::Slope { up: 1, down: 0 },
        c if c < 0.0 => Piece::Slope { up: 0, down: 1 },
        _ => Piece::Flat,
    }
}

impl Conjugate for Residual {
    fn highest_offset(&self, example: usize, c: &mut [f64]) -> Option<f64> {
        let Shape { least, greatest, .. } = self.shape;
        let steepest = if least.is_finite() { greatest.max(-least) } else { 0.0 };
        let outside = OUTSIDE * steepest;
        let is_slope = c[0].is_finite() && least - outside <= c[0] && c[0] <= greatest + outside;
        if !is_slope {
            return None;
        }
        c[0] = c[0].clamp(least, greatest);
        Some(self.shape.offset(c[0], self.targets.values[example]))
    }
}

impl Ascent for Residual {
    /// With the way's curvature q the height e c − ε|c| − κ c²/2 − q (c − c₀)²/2 is largest where
    /// q c₀ + e lies ε sign(c) + (κ + q) c above 0.
    #[inline(always)]
    fn climb(&self, example: usize, from: Foothold<'_>) -> Climb {
        let Foothold { f, curvature, c, change, .. } = from;
        let (shape, e, before) = (self.shape, self.excess(example, f), c[0]);
        let pull = self.pull(example, f, c);
        let wanted = shape.beside(curvature * before + e);
        let stiffness = shape.kappa + curvature;
        let next = if stiffness > 0.0 {
            (wanted / stiffness).clamp(shape.least, shape.greatest)
        } else {
            shape.slope(wanted)
        };
        let step = next - before;
        (c[0], change[0]) = (next, step);
        let rise = step * (e - 0.5 * curvature * step) + (shape.sunk(next) - shape.sunk(before));
        Climb { rise: rise.max(0.0), pull, way: step.abs() }
    }

    #[inline(always)]
    fn pull(&self, example: usize, f: &[f64], c: &[f64]) -> f64 {
        let (shape, e, c) = (self.shape, self.excess(example, f), c[0]);
        // How fast the height grows to the right of the slope, and to its left.
        let right = e - shape.kappa * c - if c >= 0.0 { shape.epsilon } else { -shape.epsilon };
        let left = -(e - shape.kappa * c - if c > 0.0 { shape.epsilon } else { -shape.epsilon });
        match (c <= shape.least, c >= shape.greatest) {
            (true, _) => right,
            (_, true) => left,
            _ => right.max(left),
        }
    }

    fn sweep(&self, sweep: DualSweep<'_, '_>) {
        sweep.run_compiled(self);
    }
}

impl SecondDerivative for Residual {
    fn second_derivative(&self, example: usize, f: &[f64], a: &mut [f64], _b: &mut [f64]) {
        let Shape { least, greatest, epsilon, kappa } = self.shape;
        let beside = self.shape.beside(self.excess(example, f));
        let is_curved = (kappa * least..=kappa * greatest).contains(&beside)
            && (beside != 0.0 || epsilon == 0.0);
        a[0] = if is_curved { 1.0 / kappa } else { 0.0 };
    }

    fn parabola(&self, example: usize, f: f64) -> Option<f64> {
        let beside = self.shape.beside(self.excess(example, &[f]));
        let slope = self.shape.slope(beside);
        let is_straight = beside != 0.0 && slope != beside / self.shape.kappa;
        is_straight.then(|| slope / beside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Envelope;

    /// A loss by its definition.
    type ByDefinition = Box<dyn Fn(f64) -> f64>;

    /// The shapes with their losses by definition.
    fn cases() -> Vec<(Shape, ByDefinition)> {
        let huber = |e: f64| match e.abs() <= 1.35 {
            true => 0.5 * e * e,
            false => 1.35 * e.abs() - 0.5 * 1.35 * 1.35,
        };
        vec![
            (Shape::SQUARES, Box::new(|e| 0.5 * e * e)),
            (Shape::ABSOLUTE, Box::new(f64::abs)),
            (Shape::quantile(0.9), Box::new(|e| f64::max(-0.9 * e, 0.1 * e))),
            (Shape::epsilon_insensitive(0.25), Box::new(|e| (e.abs() - 0.25).max(0.0))),
            (
                Shape::squared_epsilon_insensitive(0.25),
                Box::new(|e| (e.abs() - 0.25).max(0.0).powi(2)),
            ),
            (Shape::huber(1.35), Box::new(huber)),
        ]
    }

    /// Outputs that meet all kinks and ends of curves around the target, and far ones.
    fn outputs(target: f64) -> impl Iterator<Item = f64> {
        let ends = [-50.0, -1.35, -0.25, 0.0, 0.25, 1.35, 50.0];
        (-40..=40).map(|i| f64::from(i) / 8.0).chain(ends).map(move |e| target + e)
    }

    #[test]
    fn values_tangents_and_second_derivatives() {
        for ((shape, plain), y) in
            cases().iter().flat_map(|case| [0.0, 3.5, -2.0].map(|y| (case, y)))
        {
            let loss = Residual::new(Targets::new(vec![y]), *shape);
            for f in outputs(y) {
                let mut c = [0.0];
                let tangent = loss.tangent(0, &[f], &mut c);
                assert_eq!(tangent.value, loss.value(0, &[f]));
                assert!((tangent.value - plain(f - y)).abs() <= 1e-12 * (1.0 + f * f), "{shape:?}");
                let touches = tangent.offset + c[0] * f;
                assert!((touches - tangent.value).abs() <= 1e-12 * (1.0 + f * f), "{shape:?} {f}");
                for g in outputs(y) {
                    let below = tangent.offset + c[0] * g;
                    assert!(below <= plain(g - y) + 1e-12 * (1.0 + f * f + g * g), "{shape:?} {f}");
                }
                if shape.kappa > 0.0 {
                    let (mut a, mut before, mut behind) = ([0.0], [0.0], [0.0]);
                    loss.second_derivative(0, &[f], &mut a, &mut []);
                    loss.tangent(0, &[f - 1e-6], &mut before);
                    loss.tangent(0, &[f + 1e-6], &mut behind);
                    let sides = [c[0] - before[0], behind[0] - c[0]].map(|d| d / 1e-6);
                    assert!(sides.iter().any(|side| (side - a[0]).abs() < 1e-3), "{shape:?} {f}");
                }
            }
        }
    }

    #[test]
    fn pieces_add_up_to_values() {
        for (shape, plain) in cases() {
            let y = 0.75;
            let loss = Residual::new(Targets::new(vec![y]), shape);
            for (f, d) in outputs(y).zip([0.7, -1.3, 2.0, -0.25, 0.0].into_iter().cycle()) {
                let (mut start, mut breaks, mut envelope) = ([0.0; 2], vec![], Envelope::default());
                let (from, to) = (0.5, 6.0);
                let mut pieces =
                    Pieces::new((from, to), 1.0, &mut start, &mut breaks, &mut envelope);
                loss.add_pieces(0, &[f], &[d], &mut pieces);
                breaks.sort_by(|a, b| a.at.total_cmp(&b.at));
                let (mut height, mut at, mut slope) = (plain(f + from * d - y), from, start);
                for end in breaks.iter().map(|b| Some(*b)).chain([None]) {
                    let next = end.map_or(to, |b| b.at);
                    assert!(at <= next && next <= to);
                    height += (next - at) * (slope[0] + 0.5 * slope[1] * (next + at));
                    let expected = plain(f + next * d - y);
                    assert!(
                        (height - expected).abs() <= 1e-10 * (1.0 + f * f),
                        "{shape:?} {f} {d}"
                    );
                    at = next;
                    if let Some(b) = end {
                        slope = [slope[0] + b.constant, slope[1] + b.linear];
                    }
                }
            }
        }
    }

    #[test]
    fn offsets_are_the_highest() {
        for (shape, plain) in cases() {
            let loss = Residual::new(Targets::new(vec![1.5]), shape);
            let (low, high) = (shape.least.max(-3.0), shape.greatest.min(3.0));
            for at in 0..=20 {
                let mut c = [low + (high - low) * f64::from(at) / 20.0];
                let told = loss.highest_offset(0, &mut c).expect("an allowed slope");
                let grid = (-60_000..=60_000).map(|i| f64::from(i) * 1e-3);
                let least = grid.map(|f| plain(f - 1.5) - c[0] * f).fold(f64::MAX, f64::min);
                assert!(told <= least + 1e-10 && least - told < 1e-5, "{shape:?} {c:?}");
            }
            if shape.least.is_finite() {
                assert_eq!(loss.highest_offset(0, &mut [1.01 * shape.least]), None);
                assert_eq!(loss.highest_offset(0, &mut [1.01 * shape.greatest]), None);
            }
            assert_eq!(loss.highest_offset(0, &mut [f64::NAN]), None);
        }
    }

    #[test]
    fn climbs_reach_the_best_slope() {
        for (shape, _) in cases() {
            let loss = Residual::new(Targets::new(vec![1.5]), shape);
            let (low, high) = (shape.least.max(-9.0), shape.greatest.min(9.0));
            for (f, curvature) in outputs(1.5).zip([0.0, 0.3, 2.0].into_iter().cycle()) {
                for start in [0.0, 0.5 * low, high] {
                    let height = |c: f64| {
                        let own = loss.highest_offset(0, &mut [c]).expect("an allowed slope");
                        own + c * f - 0.5 * curvature * (c - start).powi(2)
                    };
                    let (mut c, mut change, mut room) = ([start], [0.0], Vec::new());
                    let pull = loss.pull(0, &[f], &[start]);
                    let from = Foothold {
                        f: &[f],
                        curvature,
                        c: &mut c,
                        change: &mut change,
                        room: &mut room,
                    };
                    let climb = loss.climb(0, from);
                    assert_eq!(climb.pull, pull);
                    assert!((climb.way - (c[0] - start).abs()).abs() < 1e-12);
                    let rise = height(c[0]) - height(start);
                    assert!((climb.rise - rise).abs() <= 1e-9 * (1.0 + f * f), "{shape:?} {f}");
                    for at in 0..=200 {
                        let other = low + (high - low) * f64::from(at) / 200.0;
                        let best = height(c[0]) + 1e-9 * (1.0 + f * f);
                        assert!(height(other) <= best, "{shape:?} {f} {start} {c:?} {other}");
                    }
                    assert!(pull >= 0.0 || climb.way == 0.0, "{shape:?} {f} {start}");
                }
            }
        }
    }
}
