//! Huber's loss with its scale fitted along (Huber's concomitant scale): of excesses eᵢ = fᵢ − yᵢ and
//! weights sᵢ the risk is the least over σ > 0 of Σ sᵢ (σ/2 + σ h(eᵢ/σ)), where h is Huber's loss,
//! ½u² as far as δ and straight beyond. Jointly in w and σ this is convex, so R is.
//!
//! It is no sum over rows, but its dual nearly is one: R is the largest of Σ sᵢ cᵢ eᵢ over slopes
//! |cᵢ| ≤ δ with Σ sᵢ cᵢ² ≤ Σ sᵢ. A minorant so has the slopes cᵢ = eᵢ/σ, cut off at ±δ, and the height
//! of each row is that of δ|e|, whose risk therefore does all passes over the data here. With a free
//! intercept the least is over the intercept, too, and the slopes add up to zero.

use super::InterceptRisk;
use crate::risk::residual::{Residual, Shape, Targets};
use crate::risk::{
    BySlopes, Cancel, Duals, ExampleWeights, Outputs, Plane, Point, Risk, RiskError, ScaledTangents,
};
use minorant_linalg::Design;
use minorant_linalg::parallel::{map_chunks, split_evenly};
use minorant_linalg::sum::Sum;
use std::ops::Range;

/// Slopes are taken so much shorter than the longest that are allowed, so that no sum of their squares
/// is longer, however it is rounded.
const SHORTER: f64 = 1e-13;
/// Steps towards the scale; each is over when rows no longer change sides, which takes a handful.
const STEPS: usize = 200;
/// Most runs of rows that sums are made of.
const RUNS: usize = 64;
/// A sum of slopes that is this share of their sizes is as near to 0 as the intercept can bring it.
const LEVEL: f64 = 1e-15;
/// Excesses of this share of the largest numbers that they come from are 0.
const MET: f64 = 1e-12;
/// Corrections of the slopes' sum.
const CORRECTIONS: usize = 3;

/// The scale of excesses, and what they cost at it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// σ; 0 where fewer rows than the loss has to keep straight are missed at all.
    pub sigma: f64,
    /// The risk.
    pub value: f64,
}

/// Rows with what they weigh.
#[derive(Debug, Clone, Copy)]
struct Excesses<'e> {
    outputs: &'e [f64],
    targets: &'e [f64],
    weights: &'e ExampleWeights,
    delta: f64,
}

/// Sums over rows by the side of δσ on which their excess e lies.
#[derive(Debug, Clone, Copy)]
struct Sums {
    /// Σ s.
    weight: f64,
    /// Σ s e² and Σ s e of the rows inside, and Σ s.
    squares: f64,
    inside: f64,
    within: f64,
    /// Σ s and Σ s |e| of the rows outside, and Σ s of those above less that of those below.
    outside: f64,
    sizes: f64,
    above: f64,
}

impl Excesses<'_> {
    fn of(&self, row: usize, shift: f64) -> f64 {
        self.outputs[row] + shift - self.targets[row]
    }

    fn sums(&self, shift: f64, sigma: f64) -> Sums {
        let runs = split_evenly(self.outputs.len(), RUNS.min(self.outputs.len().max(1)));
        let of_run = |_: usize, rows: Range<usize>| {
            let mut sums = [Sum::new(); 7];
            for i in rows {
                let (s, e) = (self.weights.of(i), self.of(i, shift));
                let [weight, squares, inside, within, outside, sizes, above] = &mut sums;
                weight.add(s);
                if e.abs() <= self.delta * sigma {
                    squares.add_product(s * e, e);
                    inside.add_product(s, e);
                    within.add(s);
                } else {
                    outside.add(s);
                    sizes.add_product(s, e.abs());
                    above.add(s.copysign(e));
                }
            }
            sums
        };
        let mut all = [Sum::new(); 7];
        for run in map_chunks(&runs, of_run) {
            all.iter_mut().zip(run).for_each(|(all, sum)| all.add_scaled(1.0, sum));
        }
        let [weight, squares, inside, within, outside, sizes, above] = all.map(Sum::value);
        Sums { weight, squares, inside, within, outside, sizes, above }
    }

    /// The best scale where the intercept is shifted, by Newton steps in 1/σ²: with it
    /// Σ sᵢ min(eᵢ²/σ², δ²) grows in straight pieces that get flatter, so that steps from the left never
    /// pass its meeting with Σ sᵢ. The sums at it come along.
    fn scale(&self, shift: f64) -> (Scale, Sums) {
        let all = self.sums(shift, f64::INFINITY);
        let mut sigma = (all.squares / all.weight).sqrt();
        if sigma.is_nan() || sigma <= 0.0 {
            return (Scale { sigma: 0.0, value: 0.0 }, self.sums(shift, 0.0));
        }
        let mut sums = all;
        for _ in 0..STEPS {
            sums = self.sums(shift, sigma);
            let next = (sums.squares / sums.rest(self.delta)).sqrt();
            if sums.squares <= 0.0 {
                let sums = self.sums(shift, 0.0);
                return (Scale { sigma: 0.0, value: self.delta * sums.sizes }, sums);
            }
            // Any scale bounds the risk from above; one that rounding no longer lowers is the best.
            if next.is_nan() || next >= sigma * (1.0 - 4.0 * f64::EPSILON) {
                break;
            }
            sigma = next;
        }
        (Scale { sigma, value: sums.value(sigma, self.delta) }, sums)
    }

    /// The shift of the intercept that is best together with its scale. The least over the scale is convex
    /// in the shift: its slope closes a bracket in, by the minimum of the piece that was met, and by halves
    /// where that lies outside.
    fn best_shift(&self) -> f64 {
        let all = self.sums(0.0, f64::INFINITY);
        let mut shift = -all.inside / all.weight;
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        let (mut best, mut least) = (0.0, f64::INFINITY);
        for _ in 0..STEPS {
            let (scale, sums) = self.scale(shift);
            if scale.value < least {
                (best, least) = (shift, scale.value);
            }
            let (slope, size) = sums.slope(scale.sigma, self.delta);
            if slope.is_nan() || slope.abs() <= LEVEL * size {
                break;
            }
            let side = if slope > 0.0 { &mut high } else { &mut low };
            *side = shift;
            let next = shift + sums.way(scale.sigma, self.delta);
            let middle = 0.5 * low + 0.5 * high;
            let reach = all.weight.recip() * (all.squares * all.weight).sqrt();
            let next = match (low < next && next < high, middle.is_finite()) {
                (true, _) => next,
                (false, true) => middle,
                (false, false) => shift - reach.copysign(slope),
            };
            if next == shift || next == low || next == high {
                break;
            }
            shift = next;
        }
        best
    }
}

impl Sums {
    /// What is left of Σ s for the rows inside.
    fn rest(&self, delta: f64) -> f64 {
        self.weight - delta * delta * self.outside
    }

    fn value(&self, sigma: f64, delta: f64) -> f64 {
        0.5 * (sigma * self.rest(delta) + self.squares / sigma) + delta * self.sizes
    }

    /// The slope of the risk in the intercept, and the size of its terms.
    fn slope(&self, sigma: f64, delta: f64) -> (f64, f64) {
        let inside = if sigma > 0.0 { self.inside / sigma } else { 0.0 };
        (inside + delta * self.above, inside.abs() + delta * self.outside + delta * self.within)
    }

    /// The way to the best intercept of all, if no row changed sides.
    fn way(&self, sigma: f64, delta: f64) -> f64 {
        let spread = self.squares - self.inside / self.within * self.inside;
        let tilt = delta * self.above;
        let rest = self.rest(delta) - tilt / self.within * tilt;
        let next = (spread / rest).sqrt();
        let next = if next.is_finite() { next } else { sigma };
        -(self.inside + next * tilt) / self.within
    }
}

impl Scale {
    /// The best scale for outputs of rows.
    pub fn of(outputs: &[f64], targets: &Targets, weights: &ExampleWeights, delta: f64) -> Scale {
        Excesses { outputs, targets: &targets.values, weights, delta }.scale(0.0).0
    }
}

/// The risk of Huber's loss with its scale fitted along.
#[derive(Debug)]
pub struct HuberScale<'a> {
    /// The risk of δ|e|, of which only what is free of the scale is asked.
    straight: InterceptRisk<'a>,
    has_intercept: bool,
    targets: Targets,
    weights: ExampleWeights,
    delta: f64,
}

impl<'a> HuberScale<'a> {
    /// The risk of rows with a target each.
    pub fn new(
        design: Design<'a>,
        targets: Targets,
        weights: ExampleWeights,
        delta: f64,
        has_intercept: bool,
    ) -> HuberScale<'a> {
        let shape = Shape { least: -delta, greatest: delta, ..Shape::ABSOLUTE };
        let loss = Box::new(Residual::new(targets.clone(), shape));
        let straight = InterceptRisk::new(design, loss, weights.clone());
        let straight = straight.unwrap_or_else(|| unreachable!("absolute errors allow intercepts"));
        HuberScale { straight, has_intercept, targets, weights, delta }
    }

    fn excesses<'e>(&'e self, outputs: &'e [f64]) -> Excesses<'e> {
        let targets = &self.targets.values;
        Excesses { outputs, targets, weights: &self.weights, delta: self.delta }
    }

    /// The slopes of the plane at some outputs.
    fn slopes(&self, outputs: &[f64]) -> Vec<f64> {
        let excesses = self.excesses(outputs);
        let (Scale { sigma, .. }, _) = excesses.scale(0.0);
        let size = |(f, y): (&f64, &f64)| f.abs().max(y.abs());
        let size = outputs.iter().zip(&self.targets.values).map(size).fold(0.0, f64::max);
        // Without a scale, rows that are met have whatever slope levels the others.
        let (mut sum, mut met) = (Sum::new(), Sum::new());
        let mut slopes: Vec<f64> = (0..outputs.len())
            .map(|i| match excesses.of(i, 0.0) {
                e if sigma > MET * size => (e / sigma).clamp(-self.delta, self.delta),
                e if e.abs() > MET * size => self.delta.copysign(e),
                _ => f64::NAN,
            })
            .collect();
        for (i, c) in slopes.iter().enumerate() {
            let weight = self.weights.of(i);
            if c.is_nan() { met.add(weight) } else { sum.add_product(weight, *c) }
        }
        let level = if self.has_intercept { -sum.value() / met.value() } else { 0.0 };
        let level = if level.is_finite() { level.clamp(-self.delta, self.delta) } else { 0.0 };
        slopes.iter_mut().filter(|c| c.is_nan()).for_each(|c| *c = level);
        for _ in 0..if self.has_intercept { CORRECTIONS } else { 0 } {
            if !self.straight.level(&mut slopes) {
                break;
            }
        }
        let (length, weight) = self.length(&slopes);
        let most = weight * (1.0 - SHORTER);
        if length > most {
            let shorter = (most / length).sqrt() * (1.0 - SHORTER);
            slopes.iter_mut().for_each(|c| *c *= shorter);
        }
        slopes
    }

    /// Σ s c² and Σ s.
    fn length(&self, slopes: &[f64]) -> (f64, f64) {
        let (mut length, mut weight) = (Sum::new(), Sum::new());
        for (i, c) in slopes.iter().enumerate() {
            length.add_product(self.weights.of(i) * c, *c);
            weight.add(self.weights.of(i));
        }
        (length.value(), weight.value())
    }

    fn plane(&self, slopes: &mut [f64], cancel: &Cancel) -> Result<Option<Plane>, RiskError> {
        match self.has_intercept {
            true => self.straight.plane_with_slopes(slopes, cancel),
            false => self.straight.inner.plane_with_slopes(slopes, cancel),
        }
    }
}

impl Risk for HuberScale<'_> {
    fn dim(&self) -> usize {
        self.straight.dim()
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn at(&self, w: Vec<f64>, cancel: &Cancel) -> Result<Point, RiskError> {
        let point = self.straight.inner.at(w, cancel)?;
        let mut outputs = point.outputs.gather();
        let mut intercept = Vec::new();
        if self.has_intercept {
            let shift = self.excesses(&outputs).best_shift();
            outputs.iter_mut().for_each(|f| *f += shift);
            intercept.push(shift);
        }
        let value = self.excesses(&outputs).scale(0.0).0.value;
        Ok(Point { value, outputs: Outputs::of(outputs), intercept, ..point })
    }

    fn value_error(&self, point: &Point) -> f64 {
        match self.has_intercept {
            true => self.straight.value_error(point),
            false => self.straight.inner.value_error(point),
        }
    }

    /// One plane, which tells the slopes of its rows: the scale at the point where it touches is not told
    /// by single rows.
    fn planes(
        &self,
        point: &Point,
        _parts: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Plane>, RiskError> {
        let mut slopes = self.slopes(point.outputs.here());
        let plane = self.plane(&mut slopes, cancel)?;
        let lost = || RiskError::Failed("a slope is not a number".into());
        Ok(vec![Plane { slopes, ..plane.ok_or_else(lost)? }])
    }

    /// Where no scale is 0, which a fit with noise does not come near.
    fn is_smooth(&self) -> bool {
        true
    }

    fn is_streamed(&self) -> bool {
        self.straight.inner.is_streamed()
    }

    fn is_nonnegative(&self) -> bool {
        true
    }

    fn duals(&self) -> Option<&dyn Duals> {
        Some(self)
    }

    fn by_slopes(&self) -> Option<&dyn BySlopes> {
        Some(self)
    }
}

impl BySlopes for HuberScale<'_> {
    fn products(&self, vector: &[f64]) -> Vec<f64> {
        self.straight.inner.products(vector)
    }

    fn normal(&self, slopes: &[f64]) -> Vec<f64> {
        self.straight.inner.normal(slopes)
    }
}

impl Duals for HuberScale<'_> {
    fn slopes(&self) -> usize {
        self.targets.len()
    }

    fn plane_with_slopes(
        &self,
        slopes: &mut [f64],
        cancel: &Cancel,
    ) -> Result<Option<Plane>, RiskError> {
        let (length, weight) = self.length(slopes);
        if length > weight {
            return Ok(None);
        }
        self.plane(slopes, cancel)
    }

    fn scaled_tangents(&self, point: &Point, factor: f64) -> Option<ScaledTangents> {
        let mut slopes = self.slopes(point.outputs.here());
        slopes.iter_mut().for_each(|c| *c *= factor);
        match self.has_intercept {
            true => self.straight.highest_balanced(slopes),
            false => self.straight.inner.highest_with_slopes(slopes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use minorant_linalg::Matrix;

    fn plain(e: &[f64], sigma: f64, delta: f64) -> f64 {
        let huber = |u: f64| match u.abs() <= delta {
            true => 0.5 * u * u,
            false => delta * u.abs() - 0.5 * delta * delta,
        };
        e.iter().map(|e| 0.5 * sigma + sigma * huber(e / sigma)).sum::<f64>() / e.len() as f64
    }

    #[test]
    fn scales_are_the_best_on_a_grid() {
        for (e, delta) in [
            (vec![1.0, -2.0, 0.5, 30.0], 1.35),
            (vec![1.0, 1.0, -1.0], 1.35),
            (vec![0.0, 0.0, 0.0, 5.0], 1.35),
            (vec![0.0, 0.0], 1.35),
            (vec![1e6, 2e6, -1e6], 2.0),
            (vec![1.0, 2.0], 0.5),
        ] {
            let targets = Targets::new(vec![0.0; e.len()]);
            let found = Scale::of(&e, &targets, &ExampleWeights::mean(e.len()), delta);
            let size = e.iter().fold(1e-9, |most: f64, e| most.max(e.abs()));
            let grid = (1..40_000).map(|i| size * f64::from(i) * 1e-4);
            let least = grid.map(|sigma| plain(&e, sigma, delta)).fold(f64::MAX, f64::min);
            assert!(found.value <= least * (1.0 + 1e-12), "{e:?}: {found:?} {least}");
            assert!(found.value >= least * (1.0 - 1e-3) - 1e-12, "{e:?}: {found:?} {least}");
            if found.sigma > 0.0 {
                let there = plain(&e, found.sigma, delta);
                assert!((there - found.value).abs() <= 1e-12 * there, "{e:?}: {found:?} {there}");
            }
        }
    }

    #[test]
    fn planes_touch_and_lie_below() {
        let rows = [1.0, 0.5, -1.0, 2.0, 0.3, -0.7, 1.5, 1.0];
        let matrix = Matrix::dense(4, 2, rows.to_vec().into()).expect("a matrix");
        let targets = Targets::new(vec![1.0, -2.0, 0.5, 40.0]);
        let design = Design::new(&matrix, None);
        let points: Vec<Vec<f64>> =
            (0..25).map(|i| vec![f64::from(i % 5) - 2.0, f64::from(i / 5) * 3.0 - 6.0]).collect();
        let cancel = Cancel::new();
        for has_intercept in [false, true] {
            let weights = ExampleWeights::mean(4);
            let risk = HuberScale::new(design, targets.clone(), weights, 1.35, has_intercept);
            for w in &points {
                let point = risk.at(w.clone(), &cancel).expect("a point");
                let plane = risk.planes(&point, 1, &cancel).expect("a plane").remove(0);
                let at = |v: &[f64]| plane.offset + plane.normal[0] * v[0] + plane.normal[1] * v[1];
                assert!((at(w) - point.value).abs() <= 1e-11 * point.value, "{w:?}");
                for v in &points {
                    let value = risk.at(v.clone(), &cancel).expect("a point").value;
                    assert!(at(v) <= value * (1.0 + 1e-12), "{w:?} {v:?}");
                }
            }
        }
    }

    #[test]
    fn intercepts_are_the_best_on_a_grid() {
        for (e, delta) in [
            (vec![1.0, -2.0, 0.5, 30.0], 1.35),
            (vec![1e3, 1e3 + 1.0, 1e3 - 1.0, 2e3], 1.35),
            (vec![3.0, 3.0, 3.0, 8.0], 1.35),
            (vec![5.0, 5.0], 1.35),
            (vec![0.0, 1.0, 10.0, 100.0, 1000.0], 0.5),
        ] {
            let weights = ExampleWeights::mean(e.len());
            let targets = vec![0.0; e.len()];
            let all = Excesses { outputs: &e, targets: &targets, weights: &weights, delta };
            let found = all.scale(all.best_shift()).0.value;
            let size = e.iter().fold(0.0, |most: f64, e| most.max(e.abs()));
            let grid = (-4000..=4000).map(|i| -size + size * f64::from(i) / 4000.0);
            let least = grid.map(|shift| all.scale(shift).0.value).fold(f64::MAX, f64::min);
            assert!(found <= least * (1.0 + 1e-12) + 1e-12 * size, "{e:?}: {found} {least}");
        }
    }
}
