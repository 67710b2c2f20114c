//! What the methods share whose risk is smooth and whose regularizer is not: slopes of the objective,
//! which has a kink wherever a weight is zero and ends at bounds, and the lower bound that an evaluated
//! point gives. The regularizer's quadratic counts with the risk.

use super::{Halt, Problem, Run, bound_of_plane};
use crate::certificate::l1_bound;
use crate::proof::{Proof, ProofPoint};
use crate::risk::{Plane, Point};
use minorant_linalg::sum::Sum;

/// The subgradient of least length: the risk's gradient g with the penalty's slope that brings
/// each entry nearest to zero (Andrew and Gao, Eq. 4).
pub(super) fn pseudo_gradient(w: &[f64], g: &[f64], lambda: f64) -> Vec<f64> {
    w.iter().zip(g).map(|(&w, &g)| pseudo_slope(w, g, lambda)).collect()
}

/// One entry of the pseudo-gradient.
#[inline]
pub(super) fn pseudo_slope(w: f64, g: f64, lambda: f64) -> f64 {
    if w != 0.0 {
        g + lambda.copysign(w)
    } else if g.abs() > lambda {
        g - lambda.copysign(g)
    } else {
        0.0
    }
}

/// One entry of the pseudo-gradient of a weight that has a least and a greatest value.
#[inline]
pub(super) fn slope_within(w: f64, g: f64, lambda: f64, (least, greatest): (f64, f64)) -> f64 {
    let slope = pseudo_slope(w, g, lambda);
    let is_held = w <= least && slope > 0.0 || w >= greatest && slope < 0.0;
    if is_held { 0.0 } else { slope }
}

/// The slope of J at `w` towards `to`: sup over the subdifferential of gᵀ(to − w).
pub(super) fn slope_towards(w: &[f64], to: &[f64], g: &[f64], lambda: f64) -> f64 {
    let mut sum = Sum::new();
    for ((&w, &to), &g) in w.iter().zip(to).zip(g) {
        let d = to - w;
        if d != 0.0 {
            // At a zero weight the kink's steeper side.
            let of_penalty = if w != 0.0 { lambda.copysign(w) } else { lambda.copysign(d) };
            sum.add((g + of_penalty) * d);
        }
    }
    sum.value()
}

/// The largest magnitude among the entries.
pub(super) fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |top, x| x.abs().max(top))
}

/// Attempts at a factor that keeps the normal below λ whatever rounding does.
const ATTEMPTS: usize = 3;

/// Offers the bound of the scaled dual point at `point`, whose plane (of all rows) is `plane`: the
/// tangents' slopes scaled down by c = min(1, λ/‖normal‖_∞), each example's minorant as high as its
/// loss allows. No pass over the data.
pub(super) fn offer_bound(run: &mut Run<'_>, point: &Point, plane: &Plane) {
    let Some(duals) = run.problem.risk.duals() else { return offer_scaled(run, point, plane) };
    let lambda = run.problem.regularizer.l1();
    let steepest = largest(&plane.normal) + plane.normal_error;
    // A second allowance, for what scaling rounds.
    let safe = steepest + plane.normal_error;
    let mut factor = if safe <= lambda { 1.0 } else { lambda / safe };
    for _ in 0..ATTEMPTS {
        let Some(tangents) = duals.scaled_tangents(point, factor) else { return };
        let scaled = factor * steepest * (1.0 + 2.0 * f64::EPSILON) + tangents.moved;
        if let Some(bound) = l1_bound(tangents.offset, tangents.offset_error, scaled, lambda) {
            run.offer_bound(bound, || Some(Proof::Slopes(tangents.slopes)));
            return;
        }
        factor *= (lambda / scaled) * (1.0 - 4.0 * f64::EPSILON);
    }
}

/// The same for a risk that tells no slopes but is nowhere negative: c times its plane lies below c
/// times the risk, and so below the risk.
fn offer_scaled(run: &mut Run<'_>, point: &Point, plane: &Plane) {
    if !run.problem.risk.is_nonnegative() {
        return;
    }
    let lambda = run.problem.regularizer.l1();
    let steepest = largest(&plane.normal) + plane.normal_error;
    let shrink = 1.0 - 4.0 * f64::EPSILON;
    let factor = if steepest <= lambda * shrink { 1.0 } else { lambda / steepest * shrink };
    let scaled = factor * steepest * (1.0 + 2.0 * f64::EPSILON);
    let offset = factor * plane.offset;
    let error = plane.offset_error + 2.0 * f64::EPSILON * offset.abs();
    if let Some(bound) = l1_bound(offset, error, scaled, lambda) {
        let touch = || ProofPoint {
            w: point.w.clone().into(),
            part_weights: vec![1.0],
            ties: Vec::new().into(),
        };
        run.offer_bound(bound, || Some(Proof::Points(vec![touch()])));
    }
}

/// Offers the bound of the plane at `point` under a regularizer that has more than absolute weights.
fn offer_plane(run: &mut Run<'_>, point: &Point, plane: &Plane) {
    let Problem { risk, regularizer, .. } = run.problem;
    let bound = bound_of_plane(plane.clone(), regularizer, risk.is_nonnegative());
    let touch = || ProofPoint {
        w: point.w.clone().into(),
        part_weights: vec![1.0],
        ties: plane.ties.clone().into(),
    };
    run.offer_bound(bound, || match plane.tells_slopes() {
        true => Some(Proof::Slopes(plane.slopes.clone())),
        false => Some(Proof::Points(vec![touch()])),
    });
}

/// The point at `w` with the gradient of risk and quadratic there; the bound of the risk's plane is
/// offered: one evaluation.
pub(super) fn visit(run: &mut Run<'_>, w: Vec<f64>) -> Result<(Point, Vec<f64>), Halt> {
    let (point, mut planes) = run.evaluate_with_planes(w, 1)?;
    let plane = planes.pop().unwrap_or_default();
    if run.problem.is_l1() {
        offer_bound(run, &point, &plane);
    } else {
        offer_plane(run, &point, &plane);
    }
    let mut gradient = plane.normal;
    if run.problem.regularizer.lambda() > 0.0 {
        run.problem.regularizer.add_gradient(&point.w, &mut gradient);
    }
    Ok((point, gradient))
}
