//! The line search of the non-convex bundle methods: a few points on the ray from the best point
//! through the model's minimiser, until one meets the strong Wolfe conditions. What it finds are
//! points with planes; which of them count is the method's business.

use super::nrbm::evaluate_if_finite;
use super::{Halt, Run};
use crate::risk::{Plane, Point};

/// Sufficient decrease and curvature.
const DECREASE: f64 = 1e-4;
const CURVATURE: f64 = 0.9;
/// The longest step, where 1 leads to the minimiser.
const LONGEST: f64 = 1.1;
/// A step that falls too steeply still grows by this factor.
const GROWTH: f64 = 10.0;
/// The most points that one search visits.
const TRIALS: usize = 3;

/// A ray through the model's minimiser.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ray<'a> {
    /// The best point, where it starts.
    pub(super) from: &'a Point,
    /// The model's minimiser, at step 1.
    pub(super) to: &'a [f64],
    /// The objective at the start.
    pub(super) objective: f64,
    /// The slope at the start, by the subgradient of the best point's plane.
    pub(super) slope: f64,
}

/// A point of the ray that was evaluated.
#[derive(Debug, Clone)]
pub(super) struct RayPoint {
    pub(super) step: f64,
    pub(super) point: Point,
    pub(super) plane: Plane,
    pub(super) objective: f64,
    /// A subgradient of the objective.
    pub(super) gradient: Vec<f64>,
    /// Whether its outputs were combined from those of other points.
    pub(super) is_combined: bool,
}

/// A subgradient of the objective, from the risk's plane at the point.
pub(super) fn gradient(run: &Run<'_>, point: &Point, plane: &Plane) -> Vec<f64> {
    let mut gradient = plane.normal.clone();
    run.problem.regularizer.add_gradient(&point.w, &mut gradient);
    gradient
}

impl<'a> Ray<'a> {
    /// The ray from an evaluated point, with a subgradient of the objective there, to `to`.
    pub(super) fn new(from: &'a Point, objective: f64, gradient: &[f64], to: &'a [f64]) -> Self {
        let mut ray = Ray { from, to, objective, slope: 0.0 };
        ray.slope = ray.slope_of(gradient);
        ray
    }

    /// Evaluates the point at a step and appends it, unless the risk is not finite there or the
    /// point is known.
    pub(super) fn visit(
        &self,
        run: &mut Run<'_>,
        step: f64,
        points: &mut Vec<RayPoint>,
    ) -> Result<bool, Halt> {
        if points.iter().any(|point| point.step == step) {
            return Ok(true);
        }
        let at = |(from, to): (&f64, &f64)| {
            if step == 1.0 { *to } else { from + step * (to - from) }
        };
        let w = self.from.w.iter().zip(self.to).map(at).collect();
        let Some((point, plane)) = evaluate_if_finite(run, w)? else { return Ok(false) };
        let objective = run.problem.objective(&point);
        if !objective.is_finite() {
            return Ok(false);
        }
        let gradient = gradient(run, &point, &plane);
        points.push(RayPoint { step, point, plane, objective, gradient, is_combined: false });
        Ok(true)
    }

    /// The slope of the objective along the ray where its gradient is this.
    fn slope_of(&self, gradient: &[f64]) -> f64 {
        let direction = self.to.iter().zip(&self.from.w).map(|(to, from)| to - from);
        gradient.iter().zip(direction).map(|(g, d)| g * d).sum()
    }
}

/// One end of the bracket: step, objective, slope.
#[derive(Debug, Clone, Copy)]
struct End {
    step: f64,
    value: f64,
    slope: f64,
}

/// Visits points of the ray, the first at step `first`, until one meets the conditions.
pub(super) fn search(
    run: &mut Run<'_>,
    ray: &Ray<'_>,
    first: f64,
    points: &mut Vec<RayPoint>,
) -> Result<(), Halt> {
    let start = ray.slope;
    let mut low = End { step: 0.0, value: ray.objective, slope: start };
    let mut high: Option<End> = None;
    let mut step = first;
    for _ in 0..TRIALS {
        let end = if ray.visit(run, step, points)? {
            let point = &points[points.len() - 1];
            End { step, value: point.objective, slope: ray.slope_of(&point.gradient) }
        } else {
            // Not finite: the step was too long.
            End { step, value: f64::INFINITY, slope: f64::NAN }
        };
        let fell = end.value <= ray.objective + DECREASE * step * start;
        if !fell || end.slope > -CURVATURE * start {
            high = Some(end);
        } else if end.slope < CURVATURE * start && step < LONGEST {
            low = end;
        } else {
            return Ok(());
        }
        step = match high {
            Some(high) => between(low, high),
            None => (GROWTH * step).min(LONGEST),
        };
    }
    Ok(())
}

/// The minimiser of the cubic through both ends, kept away from them.
fn between(low: End, high: End) -> f64 {
    let width = high.step - low.step;
    let theta = 3.0 * (low.value - high.value) / width + low.slope + high.slope;
    let root = (theta * theta - low.slope * high.slope).sqrt();
    let cubic =
        high.step - width * (high.slope + root - theta) / (high.slope - low.slope + 2.0 * root);
    if cubic.is_finite() {
        cubic.clamp(low.step + 0.1 * width, high.step - 0.1 * width)
    } else {
        low.step + 0.5 * width
    }
}
