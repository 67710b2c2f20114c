//! Carries the answer of a smooth problem on to rounding: Newton steps whose linear systems are
//! solved by conjugate gradients, with differences of gradients for products with the Hessian. Planes
//! alone get there slowly where a risk is curved; this starts where a method has converged. The
//! plane at the last point gives the bound J(w) − ‖∇J(w)‖²/(2λ), which is as tight as rounding
//! allows. Not a method by itself.

use super::{Outcome, Problem, RunError, Status, StopRules};
use crate::certificate::{DualPoint, Term};
use crate::line;
use crate::proof::{Proof, ProofPoint};
use crate::risk::{Cancel, Plane, Point, RiskError};
use crate::trace::{Observer, TraceRecord};
use minorant_linalg::dense::{axpy, dot, norm2};
use std::time::Instant;

/// Newton steps; from a converged point a handful is enough.
const STEPS: usize = 50;
/// A step must shorten the gradient by this much, or rounding has the last word.
const SHORTER: f64 = 0.5;
/// Or lower the objective by this much, relative to it.
const DECREASE: f64 = 1e-10;
/// How much conjugate gradients shorten the residual, at least.
const RESIDUAL: f64 = 1e-3;
/// Conjugate-gradient steps in one Newton step.
const INNER: usize = 500;
/// The length of the step behind a difference of gradients, relative to the weights.
const DIFFERENCE: f64 = 1e-7;

/// A point with the gradient of the whole objective.
struct Place {
    point: Point,
    plane: Plane,
    gradient: Vec<f64>,
    length: f64,
}

struct Finish<'a> {
    problem: Problem<'a>,
    rules: StopRules,
    cancel: &'a Cancel,
    clock: Instant,
    earlier: f64,
    evaluations: u64,
}

/// Goes on from the outcome of a run until rounding stops it. Does nothing where the risk is not
/// smooth or the run has not converged. The proof is kept if it takes at most `proof_bytes`.
pub fn finish(
    problem: Problem<'_>,
    outcome: &mut Outcome,
    rules: StopRules,
    proof_bytes: u64,
    cancel: &Cancel,
    observer: &mut dyn Observer,
) -> Result<(), RunError> {
    let smooth = problem.risk.is_smooth() && problem.risk.is_convex();
    let regularizer = problem.regularizer;
    let quadratic = regularizer.is_quadratic() && regularizer.lambda() > 0.0;
    if !smooth || !quadratic || !matches!(outcome.status, Status::Converged | Status::Stalled) {
        return Ok(());
    }
    let mut finish = Finish {
        problem,
        rules,
        cancel,
        clock: Instant::now(),
        earlier: outcome.seconds,
        evaluations: outcome.evaluations,
    };
    let Some(mut place) = finish.at(outcome.point.w.clone())? else { return Ok(()) };
    finish.take(&place, outcome, proof_bytes);
    for _ in 0..STEPS {
        let Some(next) = finish.step(&place)? else { break };
        let objective = problem.objective(&next.point);
        let lower = objective < (1.0 - DECREASE) * outcome.certificate.objective;
        if next.length > SHORTER * place.length && !lower {
            break;
        }
        place = next;
        outcome.iterations += 1;
        finish.take(&place, outcome, proof_bytes);
        observer.best(&place.point.w);
        observer.iteration(&TraceRecord {
            iteration: outcome.iterations,
            evaluations: finish.evaluations,
            seconds: finish.seconds(),
            objective: outcome.certificate.objective,
            best_objective: outcome.certificate.objective,
            lower_bound: outcome.certificate.lower_bound,
            step: "newton",
            planes: 1,
            master_seconds: outcome.master_seconds,
            ..TraceRecord::default()
        });
    }
    outcome.seconds = finish.seconds();
    outcome.evaluations = finish.evaluations;
    Ok(())
}

impl Finish<'_> {
    fn seconds(&self) -> f64 {
        self.earlier + self.clock.elapsed().as_secs_f64()
    }

    /// The point at `w`, or nothing where the limits or the user allow no more evaluations: the
    /// run has its answer already.
    fn at(&mut self, w: Vec<f64>) -> Result<Option<Place>, RiskError> {
        let spent = self.rules.max_evaluations.is_some_and(|most| self.evaluations >= most);
        let late = self.rules.max_seconds.is_some_and(|most| self.seconds() >= most);
        if spent || late {
            return Ok(None);
        }
        let (point, mut planes) = match self.problem.risk.at_with_planes(w, 1, self.cancel) {
            Err(RiskError::Cancelled) => return Ok(None),
            evaluated => evaluated?,
        };
        self.evaluations += 1;
        let Some(plane) = planes.pop() else { return Ok(None) };
        let mut gradient = plane.normal.clone();
        self.problem.regularizer.add_gradient(&point.w, &mut gradient);
        let length = norm2(&gradient).sqrt();
        Ok(Some(Place { point, plane, gradient, length }))
    }

    /// The point after one Newton step: the whole step, or where that does not shorten the
    /// gradient the best point on its line.
    fn step(&mut self, place: &Place) -> Result<Option<Place>, RiskError> {
        let Some(direction) = self.direction(place)? else { return Ok(None) };
        let mut w = place.point.w.clone();
        axpy(1.0, &direction, &mut w);
        let Some(trial) = self.at(w)? else { return Ok(None) };
        let Some(lines) =
            self.problem.risk.lines().filter(|_| trial.length > SHORTER * place.length)
        else {
            return Ok(Some(trial));
        };
        let quadratic = self.problem.regularizer.along(&place.point.w, &trial.point.w);
        let step = line::minimise(&mut lines.line(&place.point, &trial.point), quadratic);
        let mut w = place.point.w.clone();
        axpy(step, &direction, &mut w);
        self.at(w)
    }

    /// Solves ∇²J p = −∇J by conjugate gradients.
    fn direction(&mut self, place: &Place) -> Result<Option<Vec<f64>>, RiskError> {
        let mut p = vec![0.0; place.gradient.len()];
        let mut residual: Vec<f64> = place.gradient.iter().map(|g| -g).collect();
        let mut v = residual.clone();
        let mut square = norm2(&residual);
        let enough = RESIDUAL * RESIDUAL * square;
        for _ in 0..INNER {
            if square <= enough {
                break;
            }
            let Some(product) = self.hessian_times(place, &v)? else { return Ok(None) };
            let curvature = dot(&v, &product);
            if curvature.is_nan() || curvature <= 0.0 {
                break;
            }
            let step = square / curvature;
            axpy(step, &v, &mut p);
            axpy(-step, &product, &mut residual);
            let next = norm2(&residual);
            let keep = next / square;
            square = next;
            v.iter_mut().zip(&residual).for_each(|(v, r)| *v = r + keep * *v);
        }
        Ok(Some(p).filter(|p| p.iter().all(|x| x.is_finite())))
    }

    /// ∇²J v from the gradients at two near points.
    fn hessian_times(&mut self, place: &Place, v: &[f64]) -> Result<Option<Vec<f64>>, RiskError> {
        let length = norm2(v).sqrt();
        let h = DIFFERENCE * (1.0 + norm2(&place.point.w).sqrt()) / length;
        let mut w = place.point.w.clone();
        axpy(h, v, &mut w);
        let Some(near) = self.at(w)? else { return Ok(None) };
        let pairs = near.gradient.iter().zip(&place.gradient);
        Ok(Some(pairs.map(|(there, here)| (there - here) / h).collect()))
    }

    /// Makes a place the answer, and its plane the proof if its bound is the highest.
    fn take(&self, place: &Place, outcome: &mut Outcome, proof_bytes: u64) {
        let regularizer = self.problem.regularizer;
        let plane = regularizer.plane_in_metric(place.plane.clone());
        let mut dual = DualPoint::new(plane.normal.len());
        let term = Term {
            weight: 1.0,
            offset: plane.offset,
            length: norm2(&plane.normal).sqrt(),
            normal_error: plane.normal_error,
            offset_error: plane.offset_error,
        };
        dual.add(term, |normal| normal.copy_from_slice(&plane.normal));
        let bound = dual.bound(regularizer.lambda());
        if outcome.certificate.lower_bound.is_none_or(|best| bound > best) {
            outcome.certificate.lower_bound = Some(bound);
            let proof = if plane.tells_slopes() {
                Proof::Slopes(plane.slopes)
            } else {
                Proof::Points(vec![ProofPoint {
                    w: place.point.w.as_slice().into(),
                    part_weights: vec![1.0],
                    ties: plane.ties.into(),
                }])
            };
            outcome.proof = Some(proof).filter(|proof| 8 * proof.len() as u64 <= proof_bytes);
        }
        outcome.certificate.objective = self.problem.objective(&place.point);
        outcome.point = place.point.clone();
    }
}
