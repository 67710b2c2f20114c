//! The free intercept of losses that are not convex but the difference of convex ones. Of one output the
//! best intercept is found among all there are, by one sweep over the breakpoints of all losses; of several
//! outputs it is followed down from two starts, one convex problem after the other. At a best intercept it
//! is also the best one of the convex losses that touch there, so that the slopes that add up to zero are
//! theirs.

use super::InterceptRisk;
use crate::line::{self, Line, Quadratic};
use crate::risk::{Cancel, DifferenceOfConvex, LinearRisk, Lines, Plane, Point, Risk, RiskError};
use minorant_linalg::parallel::map_chunks_mut;

/// Convex problems to the best intercept of several outputs.
const ROUNDS: usize = 50;
/// A descent that is this share of the losses is rounding.
const ROUNDING: f64 = 1e-12;
/// How far breakpoints are looked for.
const FAR: f64 = 1e30;

impl InterceptRisk<'_> {
    /// The convex losses that touch these at the outputs and lie above them elsewhere, with an intercept.
    fn convexified_at(&self, outputs: &[f64]) -> InterceptRisk<'_> {
        InterceptRisk { inner: self.inner.convexified_at(outputs) }
    }

    /// Moves the outputs to the best intercept, or to a good one of several outputs, where the losses are
    /// not convex; returns how far.
    pub(super) fn center_locally(&self, outputs: &mut [f64]) -> Result<Vec<f64>, RiskError> {
        let k = self.loss().outputs();
        if k == 1 {
            let step = self.lowest_step(outputs);
            outputs.iter_mut().for_each(|f| *f += step);
            return Ok(vec![step]);
        }
        let from_here = (self.inner.rows.value_of(outputs), vec![0.0; k]);
        // A convex term that is negative somewhere may fall without end.
        let convex = self.inner.convex_term().filter(LinearRisk::is_nonnegative);
        let convex = convex.map(|inner| InterceptRisk { inner });
        let from_convex = convex.map(|convex| convex.center(&mut outputs.to_vec())).transpose()?;
        let mut best = self.followed_down(outputs, from_here)?;
        if let Some(shift) = from_convex {
            let value = self.inner.rows.value_of(&self.shifted(outputs, &shift));
            let other = self.followed_down(outputs, (value, shift))?;
            if other.0 < best.0 {
                best = other;
            }
        }
        outputs.copy_from_slice(&self.shifted(outputs, &best.1));
        Ok(best.1)
    }

    /// The outputs with something added to those of each row.
    fn shifted(&self, outputs: &[f64], shift: &[f64]) -> Vec<f64> {
        let (mut moved, k) = (outputs.to_vec(), shift.len());
        map_chunks_mut(&self.inner.rows.chunks, &mut moved, k, |_, _, outputs| {
            for row in outputs.chunks_exact_mut(k) {
                row.iter_mut().zip(shift).for_each(|(f, b)| *f += b);
            }
        });
        moved
    }

    /// The mean loss and the intercept that convex problems lead to from a given one.
    fn followed_down(
        &self,
        outputs: &[f64],
        (mut value, mut shift): (f64, Vec<f64>),
    ) -> Result<(f64, Vec<f64>), RiskError> {
        for _ in 0..ROUNDS {
            let mut there = self.shifted(outputs, &shift);
            let further = self.convexified_at(&there).center(&mut there)?;
            let next: Vec<f64> = shift.iter().zip(&further).map(|(b, step)| b + step).collect();
            let reached = self.inner.rows.value_of(&self.shifted(outputs, &next));
            if reached >= value {
                break;
            }
            let is_small = value - reached <= ROUNDING * value.abs();
            (value, shift) = (reached, next);
            if is_small {
                break;
            }
        }
        Ok((value, shift))
    }

    /// The step of the intercept of one output to the lowest mean loss of all; of steps that are as good the
    /// shortest.
    fn lowest_step(&self, outputs: &[f64]) -> f64 {
        let at = |step: f64| self.inner.rows.value_of(&self.shifted(outputs, &[step]));
        let mut best = (self.inner.rows.value_of(outputs), 0.0);
        for sense in [1.0, -1.0] {
            let way = self.inner.rows.line_of_intercept(outputs, &[sense]);
            let mut line = Line::new(vec![way]);
            let Some((start, breakpoints)) = line.breakpoints(0.0, FAR) else { continue };
            // Behind the last breakpoint a parabola may still fall.
            let [mut constant, mut linear] = start;
            let mut last = 0.0_f64;
            for breakpoint in &breakpoints {
                constant += breakpoint.constant;
                linear += breakpoint.linear;
                last = last.max(breakpoint.at);
            }
            let bottom = if linear > 0.0 { -constant / linear } else { 0.0 };
            let to = last.max(bottom) * (1.0 + f64::EPSILON);
            let flat = Quadratic { slope: 0.0, curvature: 0.0 };
            let lowest = line::minimise_globally(&mut line, flat, to);
            let step = sense * lowest.unwrap_or(0.0);
            drop(line);
            let value = at(step);
            if value < best.0 {
                best = (value, step);
            }
        }
        best.1
    }

    /// The plane of slopes that add up to zero, which touches at a point but lies below the risk only where
    /// convex losses do.
    pub(super) fn local_planes(
        &self,
        point: &Point,
        cancel: &Cancel,
    ) -> Result<Vec<Plane>, RiskError> {
        self.convexified_at(point.outputs.here()).planes(point, 1, cancel)
    }
}

impl DifferenceOfConvex for InterceptRisk<'_> {
    fn convexified<'r>(&'r self, point: &Point) -> Box<dyn Risk + 'r> {
        Box::new(self.convexified_at(point.outputs.here()))
    }

    fn has_dual_coordinates(&self) -> bool {
        self.inner.has_dual_coordinates()
    }

    fn restored(&self, point: Point) -> Point {
        self.between(&point, &point, 0.0)
    }
}
