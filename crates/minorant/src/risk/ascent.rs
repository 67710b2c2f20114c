//! The dual of a linear risk climbed one example at a time: what the steps cost, and one sweep of
//! them over many examples, compiled for the loss and for the way in which the rows are stored.
//! Which examples are visited when, and what it is all worth, the solver decides.

use super::loss::{Foothold, Rival};
use super::{
    DualCoordinates, DualState, ExampleWeights, LinearRisk, Loss, Plane, RowMetric, Sweep,
};
use minorant_linalg::RowStep;
use minorant_linalg::dense::norm2;
use minorant_linalg::sum::Sum;

/// One sweep at work.
struct Climber<'c, L> {
    loss: &'c L,
    weights: &'c ExampleWeights,
    curvatures: &'c [f64],
    slopes: &'c mut [f64],
    lambda: f64,
    held: f64,
    room: Vec<Rival>,
    kept: Vec<u32>,
    rise: f64,
    pull: f64,
    path: f64,
    moves: u64,
}

impl<L: Loss> RowStep for Climber<'_, L> {
    #[inline(always)]
    fn needs(&self, row: usize) -> &[f64] {
        let k = self.loss.outputs();
        &self.slopes[row * k..(row + 1) * k]
    }

    #[inline(always)]
    fn step(&mut self, row: usize, outputs: &[f64], coefficients: &mut [f64]) -> bool {
        let k = outputs.len();
        let slopes = &mut self.slopes[row * k..(row + 1) * k];
        coefficients.fill(0.0);
        let from = Foothold {
            f: outputs,
            curvature: self.curvatures[row],
            c: slopes,
            change: coefficients,
            room: &mut self.room,
        };
        let climb = self.loss.climb(row, from);
        if climb.pull < -self.held {
            return false;
        }
        self.kept.push(row as u32);
        self.pull = self.pull.max(climb.pull);
        if climb.way == 0.0 {
            return false;
        }
        let weight = self.weights.of(row);
        let scale = -weight / self.lambda;
        for c in coefficients {
            *c *= scale;
        }
        self.rise += weight * climb.rise;
        self.path += weight * climb.way;
        self.moves += 1;
        true
    }
}

impl<L: Loss> DualCoordinates for LinearRisk<'_, L> {
    fn examples(&self) -> Vec<u32> {
        let all = 0..self.design.rows() as u32;
        all.filter(|&i| self.weights.of(i as usize) > 0.0).collect()
    }

    fn sweep(
        &self,
        metric: &RowMetric,
        state: &mut DualState,
        order: &mut Vec<u32>,
        held: f64,
    ) -> Sweep {
        let mut climber = Climber {
            loss: &self.loss,
            weights: &self.weights,
            curvatures: &metric.curvatures,
            slopes: &mut state.slopes,
            lambda: metric.lambda,
            held,
            room: Vec::new(),
            kept: Vec::with_capacity(order.len()),
            rise: 0.0,
            pull: 0.0,
            path: 0.0,
            moves: 0,
        };
        let before = norm2(&state.w).sqrt();
        self.design.relax(order, metric.factors(), self.loss.outputs(), &mut state.w, &mut climber);
        // Each move rounds the weights once, wherever they are on their way, and its own length a
        // few times.
        let path = climber.path / metric.lambda * metric.longest;
        state.drift += f64::EPSILON * (climber.moves as f64 * (before + path) + 8.0 * path);
        *order = climber.kept;
        Sweep { rise: climber.rise, pull: climber.pull }
    }

    fn still_open(&self, state: &DualState, outputs: &[f64], held: f64) -> Vec<u32> {
        let k = self.loss.outputs();
        let mut open = self.examples();
        open.retain(|&i| {
            let span = i as usize * k..(i as usize + 1) * k;
            self.loss.pull(i as usize, &outputs[span.clone()], &state.slopes[span]) >= -held
        });
        open
    }

    fn plane(&self, metric: &RowMetric, state: &DualState, center: &[f64]) -> Option<Plane> {
        let k = self.loss.outputs();
        let (mut offset, mut size) = (Sum::new(), 0.0);
        let mut slopes = vec![0.0; k];
        for (i, of_example) in state.slopes.chunks_exact(k).enumerate() {
            slopes.copy_from_slice(of_example);
            let share = self.weights.of(i) * self.loss.highest_offset(i, &mut slopes)?;
            offset.add(share);
            size += share.abs();
        }
        let cols = self.design.matrix().cols();
        let curvature = |at: usize| match &metric.columns {
            _ if at / k == cols => metric.lambda / metric.bias,
            None => metric.lambda,
            Some(columns) => metric.lambda / columns[at / k],
        };
        let largest = (0..state.w.len()).map(curvature).fold(0.0, f64::max);
        let away = center.iter().zip(&state.w).enumerate();
        let normal: Vec<f64> = away.map(|(at, (c, w))| curvature(at) * (c - w)).collect();
        let rounding = 4.0 * f64::EPSILON * norm2(&normal).sqrt();
        Some(Plane {
            normal_error: largest * state.drift + rounding,
            offset: offset.value(),
            offset_error: 4.0 * f64::EPSILON * (1.0 + k as f64) * size,
            normal,
            ties: Vec::new(),
        })
    }
}
