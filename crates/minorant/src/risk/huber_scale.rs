//! Huber's loss with its scale fitted along (Huber's concomitant scale): of excesses eᵢ = fᵢ − yᵢ and
//! weights sᵢ the risk is the least over σ > 0 of Σ sᵢ (σ/2 + σ h(eᵢ/σ)), where h is Huber's loss,
//! ½u² as far as δ and straight beyond. Jointly in w and σ this is convex, so R is.
//!
//! It is no sum over rows, but its dual nearly is one: R is the largest of Σ sᵢ cᵢ eᵢ over slopes
//! |cᵢ| ≤ δ with Σ sᵢ cᵢ² ≤ Σ sᵢ. A minorant so has the slopes cᵢ = eᵢ/σ, cut off at ±δ, and the height
//! of each row is that of δ|e|, whose risk therefore does all passes over the data here.

use super::residual::{Residual, Shape, Targets};
use super::{
    Cancel, Duals, ExampleWeights, LinearRisk, Plane, Point, Risk, RiskError, ScaledTangents,
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

/// The scale of excesses, and what they cost at it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// σ; 0 where fewer rows than the loss has to keep straight are missed at all.
    pub sigma: f64,
    /// The risk.
    pub value: f64,
}

/// Sums over rows by the side of δσ on which their excess lies.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    weight: Sum,
    squares: Sum,
    outside: Sum,
    sizes: Sum,
}

impl Scale {
    /// The best scale for outputs of rows, by Newton steps in 1/σ²: with it Σ sᵢ min(eᵢ²/σ², δ²) grows in
    /// straight pieces that get flatter, so that steps from the left never pass its meeting with Σ sᵢ.
    pub fn of(outputs: &[f64], targets: &Targets, weights: &ExampleWeights, delta: f64) -> Scale {
        let runs = split_evenly(outputs.len(), RUNS.min(outputs.len().max(1)));
        let sums = |sigma: f64| {
            let of_run = |_: usize, rows: Range<usize>| {
                let mut sums = Sums::default();
                for i in rows {
                    let (s, e) = (weights.of(i), (outputs[i] - targets.values[i]).abs());
                    sums.weight.add(s);
                    if e <= delta * sigma {
                        sums.squares.add_product(s * e, e);
                    } else {
                        sums.outside.add(s);
                        sums.sizes.add_product(s, e);
                    }
                }
                sums
            };
            let mut all = [Sum::new(); 4];
            for run in map_chunks(&runs, of_run) {
                let each = [run.weight, run.squares, run.outside, run.sizes];
                all.iter_mut().zip(each).for_each(|(all, sum)| all.add_scaled(1.0, sum));
            }
            all.map(Sum::value)
        };
        let [weight, squares, ..] = sums(f64::INFINITY);
        let mut sigma = (squares / weight).sqrt();
        if sigma.is_nan() || sigma <= 0.0 {
            return Scale { sigma: 0.0, value: 0.0 };
        }
        for _ in 0..STEPS {
            let [_, squares, outside, sizes] = sums(sigma);
            let rest = weight - delta * delta * outside;
            let next = if squares > 0.0 { (squares / rest).sqrt() } else { 0.0 };
            if next == 0.0 {
                let [_, _, _, sizes] = sums(0.0);
                return Scale { sigma: 0.0, value: delta * sizes };
            }
            // Any scale bounds the risk from above; one that rounding no longer lowers is the best.
            if next.is_nan() || next >= sigma * (1.0 - 4.0 * f64::EPSILON) {
                let value = 0.5 * (sigma * rest + squares / sigma) + delta * sizes;
                return Scale { sigma, value };
            }
            sigma = next;
        }
        let [_, squares, outside, sizes] = sums(sigma);
        let rest = weight - delta * delta * outside;
        Scale { sigma, value: 0.5 * (sigma * rest + squares / sigma) + delta * sizes }
    }
}

/// The risk of Huber's loss with its scale fitted along.
#[derive(Debug)]
pub struct HuberScale<'a> {
    straight: LinearRisk<'a>,
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
    ) -> HuberScale<'a> {
        let shape = Shape { least: -delta, greatest: delta, ..Shape::ABSOLUTE };
        let loss = Residual::new(targets.clone(), shape);
        let straight = LinearRisk::new(design, loss, weights.clone());
        HuberScale { straight, targets, weights, delta }
    }

    fn scale(&self, outputs: &[f64]) -> Scale {
        Scale::of(outputs, &self.targets, &self.weights, self.delta)
    }

    /// The slopes of the plane at some outputs.
    fn slopes(&self, outputs: &[f64]) -> Vec<f64> {
        let Scale { sigma, .. } = self.scale(outputs);
        let (mut length, mut weight) = (Sum::new(), Sum::new());
        let mut slopes: Vec<f64> = outputs
            .iter()
            .zip(&self.targets.values)
            .enumerate()
            .map(|(i, (f, y))| {
                let e = f - y;
                let c = if sigma > 0.0 {
                    (e / sigma).clamp(-self.delta, self.delta)
                } else {
                    self.delta * f64::from(i8::from(e > 0.0) - i8::from(e < 0.0))
                };
                length.add_product(self.weights.of(i) * c, c);
                weight.add(self.weights.of(i));
                c
            })
            .collect();
        let most = weight.value() * (1.0 - SHORTER);
        if length.value() > most {
            let shorter = (most / length.value()).sqrt() * (1.0 - SHORTER);
            slopes.iter_mut().for_each(|c| *c *= shorter);
        }
        slopes
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
        let point = self.straight.at(w, cancel)?;
        let value = self.scale(point.outputs.here()).value;
        Ok(Point { value, ..point })
    }

    fn value_error(&self, point: &Point) -> f64 {
        self.straight.value_error(point)
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
        let plane = self.straight.plane_with_slopes(&mut slopes, cancel)?;
        let lost = || RiskError::Failed("a slope is not a number".into());
        Ok(vec![Plane { slopes, ..plane.ok_or_else(lost)? }])
    }

    /// Where no scale is 0, which a fit with noise does not come near.
    fn is_smooth(&self) -> bool {
        true
    }

    fn is_nonnegative(&self) -> bool {
        true
    }

    fn duals(&self) -> Option<&dyn Duals> {
        Some(self)
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
        let (mut length, mut weight) = (Sum::new(), Sum::new());
        for (i, c) in slopes.iter().enumerate() {
            length.add_product(self.weights.of(i) * c, *c);
            weight.add(self.weights.of(i));
        }
        if length.value() > weight.value() {
            return Ok(None);
        }
        self.straight.plane_with_slopes(slopes, cancel)
    }

    fn scaled_tangents(&self, _point: &Point, _factor: f64) -> Option<ScaledTangents> {
        None
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
        let risk =
            HuberScale::new(Design::new(&matrix, None), targets, ExampleWeights::mean(4), 1.35);
        let points: Vec<Vec<f64>> =
            (0..25).map(|i| vec![f64::from(i % 5) - 2.0, f64::from(i / 5) * 3.0 - 6.0]).collect();
        let cancel = Cancel::new();
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
