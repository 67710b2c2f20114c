//! The risk of a linear model with an intercept that is not penalised: R(w) = min over b of the mean
//! loss of w·x + b, one b for each output. Points keep the outputs with the best intercept in them, so
//! that lines between points, which move weights and intercept together, are lines of outputs as ever;
//! the end of a line gets a best intercept of its own.
//!
//! At a best intercept the examples' slopes add up to zero (at kinks a mixture of them does), so that the
//! plane that they make has no component along the intercept: it is a minorant of R. Planes are made of
//! slopes, and tell them. What rounding leaves of their sum could be mended by scaling some examples'
//! slopes down a little, which costs next to nothing and is taken off.

mod ascent;
mod balance;
mod curvature;
pub mod huber_scale;
mod local;
mod mixture;
mod small_system;

use crate::line::{self, Line, Quadratic, Side};
use crate::risk::{
    BySlopes, Cancel, Curvature, DifferenceOfConvex, DualCoordinates, Duals, ExampleWeights,
    LinearRisk, Lines, Loss, Outputs, Plane, Point, Risk, RiskError,
};
use balance::ROUNDING;
use minorant_linalg::Design;
use minorant_linalg::parallel::{map_chunks, map_chunks_mut};
use small_system::SmallSystem;

/// Newton steps to the best intercept of several outputs.
const STEPS: usize = 60;
/// A sum of slopes that is this share of their sizes is near its end.
const NEAR: f64 = 1e-9;
/// Newton steps beyond this have no curvature to rest on.
const ENDLESS: f64 = 1e30;
/// Outputs that are so many times as large as a step are what the step is measured by.
const OUTSIZED: f64 = 1e15;
/// A step that is longer than this rounds by more than what counts as lying on a kink.
const FAR: f64 = 100.0;

/// The risk of a linear model with a free intercept.
#[derive(Debug)]
pub struct InterceptRisk<'a> {
    inner: LinearRisk<'a>,
}

/// Whether a loss allows a free intercept: its minorants are known by their slopes, or those of the convex
/// ones that it is the difference of. It must be nowhere negative besides.
pub fn allows_intercept(loss: &dyn Loss) -> bool {
    let knows = |loss: &dyn Loss| loss.conjugate().is_some();
    match loss.difference() {
        Some(difference) => knows(&*difference.convex_term()),
        None => loss.is_convex() && knows(loss),
    }
}

impl<'a> InterceptRisk<'a> {
    /// The risk of `loss` over the rows of `design`, which has no constant feature; nothing where the
    /// loss does not allow it.
    pub fn new(
        design: Design<'a>,
        loss: Box<dyn Loss + 'a>,
        weights: ExampleWeights,
    ) -> Option<Self> {
        if !allows_intercept(&*loss) {
            return None;
        }
        let risk = InterceptRisk { inner: LinearRisk::boxed(design, loss, weights) };
        risk.is_nonnegative().then_some(risk)
    }

    fn loss(&self) -> &dyn Loss {
        &*self.inner.rows.loss
    }

    /// Whether the best intercept is found together with a mixture of slopes: several outputs and kinks.
    fn needs_mixture(&self) -> bool {
        self.loss().outputs() > 1 && self.loss().curvature().is_none()
    }

    fn weight(&self, row: usize) -> f64 {
        self.inner.rows.weights.of(row)
    }

    /// Moves the outputs to the best intercept; returns how far.
    fn center(&self, outputs: &mut [f64]) -> Result<Vec<f64>, RiskError> {
        if !self.is_convex() {
            return self.center_locally(outputs);
        }
        if self.needs_mixture() {
            let (shift, _) = self.mixture(outputs);
            for row in outputs.chunks_exact_mut(shift.len()) {
                row.iter_mut().zip(&shift).for_each(|(f, b)| *f += b);
            }
            return Ok(shift);
        }
        if self.loss().outputs() > 1 {
            return self.newton(outputs);
        }
        let mut shift = self.step_along(outputs, &[1.0])?;
        if shift.abs() > FAR {
            // So long a step leaves outputs beside the kinks that it ends at.
            shift += self.step_along(outputs, &[1.0])?;
        }
        Ok(vec![shift])
    }

    /// Moves the outputs along a direction of the intercept to the minimum; returns the step.
    fn step_along(&self, outputs: &mut [f64], direction: &[f64]) -> Result<f64, RiskError> {
        // Steps are searched for up to a length that outputs of any size must not come near.
        let largest = |all: &[f64]| all.iter().fold(0.0, |top: f64, x| top.max(x.abs()));
        let ratio = largest(outputs).max(1.0) / largest(direction);
        let unit = if ratio > OUTSIZED && ratio < f64::MAX { ratio } else { 1.0 };
        let line = |sense: f64| {
            let way: Vec<f64> = direction.iter().map(|d| sense * unit * d).collect();
            Line::new(vec![self.inner.rows.line_of_intercept(outputs, &way)])
        };
        let mut sense = 1.0;
        let mut ahead = line(sense);
        if ahead.slope(0.0, Side::After) >= 0.0 {
            if ahead.slope(0.0, Side::Before) <= 0.0 {
                return Ok(0.0);
            }
            sense = -1.0;
            drop(ahead);
            ahead = line(sense);
        }
        let eta = line::minimise(&mut ahead, Quadratic { slope: 0.0, curvature: 0.0 });
        drop(ahead);
        if !eta.is_finite() {
            let why = "no intercept is the best one: the mean loss falls however far it goes";
            return Err(RiskError::NotFinite(why.into()));
        }
        let step = sense * unit * eta;
        let k = direction.len();
        map_chunks_mut(&self.inner.rows.chunks, outputs, k, |_, _, outputs| {
            for row in outputs.chunks_exact_mut(k) {
                row.iter_mut().zip(direction).for_each(|(f, d)| *f += step * d);
            }
        });
        Ok(step)
    }

    /// The best intercept of several outputs of a smooth loss, by Newton steps.
    fn newton(&self, outputs: &mut [f64]) -> Result<Vec<f64>, RiskError> {
        let k = self.loss().outputs();
        let start = outputs.to_vec();
        let mut shift = vec![0.0; k];
        let mut least = f64::INFINITY;
        for _ in 0..STEPS {
            let (slope, size) = self.sum_of_slopes(&self.slopes(outputs));
            let steepest = slope.iter().fold(0.0, |top: f64, g| top.max(g.abs()));
            // Near the end steps that no longer halve the slope are rounding.
            let is_stuck = steepest > 0.5 * least && steepest <= NEAR * size;
            if steepest <= ROUNDING * size || is_stuck {
                break;
            }
            least = steepest;
            let factor = SmallSystem::new(&self.curvature_of_intercept(outputs), k);
            let mut way: Vec<f64> = factor.solve(&slope).into_iter().map(|step| -step).collect();
            // Where next to nothing is curved, the way down says more than a step without end.
            if !way.iter().all(|step| step.abs() <= ENDLESS) {
                way = slope.iter().map(|g| -g).collect();
            }
            let step = self.step_along(outputs, &way)?;
            shift.iter_mut().zip(&way).for_each(|(shift, way)| *shift += step * way);
        }
        // All steps at once round once.
        for (to, from) in outputs.chunks_exact_mut(k).zip(start.chunks_exact(k)) {
            to.iter_mut().zip(from.iter().zip(&shift)).for_each(|(to, (f, b))| *to = f + b);
        }
        Ok(shift)
    }

    /// Σ cᵢ by outputs of numbers that have the examples' weights in them.
    fn plain_sums(&self, numbers: &[f64]) -> Vec<f64> {
        let k = self.loss().outputs();
        let sums = map_chunks(&self.inner.rows.chunks, |_, rows| {
            let mut sums = vec![0.0; k];
            for row in numbers[rows.start * k..rows.end * k].chunks_exact(k) {
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
            }
            sums
        });
        sums.into_iter().fold(vec![0.0; k], |mut total, sums| {
            total.iter_mut().zip(sums).for_each(|(total, x)| *total += x);
            total
        })
    }

    /// Σ of matrices over the examples, each k × k, from what adds an example's to a sum.
    fn sum_of_matrices(&self, add: impl Fn(usize, &mut [f64]) + Sync) -> Vec<f64> {
        let k = self.loss().outputs();
        let sums = map_chunks(&self.inner.rows.chunks, |_, rows| {
            let mut sum = vec![0.0; k * k];
            rows.for_each(|i| add(i, &mut sum));
            sum
        });
        sums.into_iter().fold(vec![0.0; k * k], |mut total, sum| {
            total.iter_mut().zip(sum).for_each(|(total, x)| *total += x);
            total
        })
    }

    /// The second derivative of the mean loss in the intercept.
    fn curvature_of_intercept(&self, outputs: &[f64]) -> Vec<f64> {
        let k = self.loss().outputs();
        let Some(curvature) = self.loss().curvature() else { return vec![0.0; k * k] };
        self.sum_of_matrices(|i, sum| {
            let (mut a, mut b) = (vec![0.0; k], vec![0.0; k]);
            curvature.second_derivative(i, &outputs[i * k..(i + 1) * k], &mut a, &mut b);
            let weight = self.weight(i);
            for p in 0..k {
                sum[p * k + p] += weight * a[p];
                for q in 0..k {
                    sum[p * k + q] -= weight * b[p] * b[q];
                }
            }
        })
    }

    /// The point with these outputs, centred.
    fn finish(
        &self,
        w: Vec<f64>,
        mut outputs: Vec<f64>,
        before: Vec<f64>,
    ) -> Result<Point, RiskError> {
        let shift = self.center(&mut outputs)?;
        let value = self.inner.rows.value_of(&outputs);
        let intercept: Vec<f64> = before.iter().zip(&shift).map(|(b, shift)| b + shift).collect();
        let point = Point::new(w, value)?;
        Ok(Point { outputs: Outputs::of(outputs), intercept, ..point })
    }
}

impl Risk for InterceptRisk<'_> {
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    fn is_convex(&self) -> bool {
        self.inner.is_convex()
    }

    fn is_smooth(&self) -> bool {
        // The best intercept moves smoothly where the loss is curved; elsewhere any of several is best.
        self.loss().is_smooth()
    }

    fn is_streamed(&self) -> bool {
        self.inner.is_streamed()
    }

    fn is_nonnegative(&self) -> bool {
        if self.is_convex() {
            return self.inner.is_nonnegative();
        }
        // What touches at outputs of 0 tells as much.
        let zeros = vec![0.0; self.inner.rows.lengths.len() * self.loss().outputs()];
        self.inner.convexified_at(&zeros).is_nonnegative()
    }

    fn at(&self, w: Vec<f64>, cancel: &Cancel) -> Result<Point, RiskError> {
        let (outputs, _) = self.inner.rows.values(&w, cancel)?;
        self.finish(w, outputs, vec![0.0; self.loss().outputs()])
    }

    fn value_error(&self, point: &Point) -> f64 {
        // Outputs are sums with one summand more.
        let size = point.intercept.iter().fold(0.0, |top: f64, b| top.max(b.abs()));
        self.inner.value_error(point) + self.inner.error_of_intercept(size, point.value)
    }

    fn planes(
        &self,
        point: &Point,
        parts: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Plane>, RiskError> {
        assert_eq!(parts, 1, "the slopes of all rows add up to 0, those of parts do not");
        if !self.is_convex() {
            return self.local_planes(point, cancel);
        }
        let mut slopes = self.balanced_slopes(point.outputs.here());
        let plane = self.balanced_plane(&mut slopes, cancel)?;
        let wrong = || RiskError::NotFinite("the slopes at a point are no minorant's".into());
        Ok(vec![Plane { slopes, ..plane.ok_or_else(wrong)? }])
    }

    fn lines(&self) -> Option<&dyn Lines> {
        Some(self)
    }

    fn duals(&self) -> Option<&dyn Duals> {
        self.is_convex().then_some(self)
    }

    fn dual_coordinates(&self) -> Option<&dyn DualCoordinates> {
        self.inner.dual_coordinates().map(|_| self as &dyn DualCoordinates)
    }

    fn difference(&self) -> Option<&dyn DifferenceOfConvex> {
        self.inner.difference().map(|_| self as &dyn DifferenceOfConvex)
    }

    fn by_slopes(&self) -> Option<&dyn BySlopes> {
        Some(self)
    }

    fn curvature(&self) -> Option<&dyn Curvature> {
        self.inner.curvature().map(|_| self as &dyn Curvature)
    }
}

impl Lines for InterceptRisk<'_> {
    /// The line on which weights and intercept move together: it touches R at both ends and lies above it
    /// between.
    fn line<'r>(&'r self, from: &'r Point, to: &'r Point) -> Line<'r> {
        self.inner.line(from, to)
    }

    fn between(&self, from: &Point, to: &Point, t: f64) -> Point {
        let mixed = self.inner.between(from, to, t);
        let each = from.intercept.iter().zip(&to.intercept);
        let before = each.map(|(from, to)| from + t * (to - from)).collect();
        let point = Point { intercept: before, ..mixed };
        let centred = match &point.outputs {
            Outputs::Here(outputs) => {
                self.finish(point.w.clone(), outputs.to_vec(), point.intercept.clone())
            }
            _ => unreachable!("points of this risk have their outputs"),
        };
        // Where no intercept is the best one the point stays as good as it is.
        centred.unwrap_or(point)
    }

    fn lie_above(&self) -> bool {
        true
    }
}
