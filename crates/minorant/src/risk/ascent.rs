//! The dual of a linear risk climbed one example at a time: one sweep visits many examples and moves
//! the slopes of each to the best place for it. The solver decides which examples are visited, in
//! which order, and when the weights that come out are worth an evaluation.

use super::loss::{Ascent, Foothold, Rival};
use super::{
    Cancel, DualCoordinates, DualState, ExampleWeights, LinearRisk, Plane, RowMetric, Sweep,
};
use minorant_linalg::dense::norm2;
use minorant_linalg::sum::Sum;
use minorant_linalg::{Design, Factors, Follow, RowStep};

/// Multiplications, about, between two looks at whether a sweep is cancelled, and those of a step along an
/// output besides one for each entry of the row.
const AT_ONCE: usize = 1 << 24;
const OF_STEP: usize = 20;

/// A sweep over many examples, waiting for the loss that it climbs. [`Ascent::sweep`] says how the
/// loss joins it.
#[derive(Debug)]
pub struct DualSweep<'s, 'c> {
    design: &'s Design<'s>,
    order: &'s [u32],
    factors: Factors<'s>,
    w: &'s mut [f64],
    /// Where weights come to rest, and those at rest.
    rests: Option<(Follow<'s>, &'s mut [f64])>,
    climber: &'s mut Climber<'c>,
}

/// What a sweep reads and what it brings.
#[derive(Debug)]
struct Climber<'c> {
    weights: &'c ExampleWeights,
    curvatures: &'c [f64],
    slopes: &'c mut [f64],
    outputs: usize,
    lambda: f64,
    held: f64,
    room: Vec<Rival>,
    kept: Vec<u32>,
    rise: f64,
    pull: f64,
    path: f64,
    moves: u64,
}

impl DualSweep<'_, '_> {
    /// Sweeps with a call through a pointer for each example.
    pub fn run<L: Ascent>(self, loss: &L) {
        let outputs = self.climber.outputs;
        let step: &mut dyn RowStep = &mut Climbing { loss, climber: self.climber };
        if let Some(rests) = self.rests {
            self.design.relax_following(self.order, self.factors, self.w, rests, step);
        } else if outputs == 1 {
            self.design.relax(self.order, self.factors, self.w, step);
        } else {
            self.design.relax_many(self.order, self.factors, outputs, self.w, step);
        }
    }

    /// Sweeps with the steps of a loss of one output compiled into the loop over the rows, once for
    /// each way in which rows are stored and each vector unit.
    pub fn run_compiled<L: Ascent>(self, loss: &L) {
        if self.rests.is_some() {
            return self.run(loss);
        }
        let mut step = Climbing { loss, climber: self.climber };
        self.design.relax(self.order, self.factors, self.w, &mut step);
    }
}

/// The steps of a loss.
struct Climbing<'s, 'c, L> {
    loss: &'s L,
    climber: &'s mut Climber<'c>,
}

impl<L: Ascent> RowStep for Climbing<'_, '_, L> {
    #[inline(always)]
    fn needs(&self, row: usize) -> &[f64] {
        let k = self.loss.outputs();
        &self.climber.slopes[row * k..(row + 1) * k]
    }

    #[inline(always)]
    fn step(&mut self, row: usize, outputs: &[f64], coefficients: &mut [f64]) -> bool {
        let k = outputs.len();
        let climber = &mut *self.climber;
        let slopes = &mut climber.slopes[row * k..(row + 1) * k];
        coefficients.fill(0.0);
        let from = Foothold {
            f: outputs,
            curvature: climber.curvatures[row],
            c: slopes,
            change: coefficients,
            room: &mut climber.room,
        };
        let climb = self.loss.climb(row, from);
        if climb.pull < -climber.held {
            return false;
        }
        climber.kept.push(row as u32);
        climber.pull = climber.pull.max(climb.pull);
        if climb.way == 0.0 {
            return false;
        }
        let weight = climber.weights.of(row);
        let scale = -weight / climber.lambda;
        for c in coefficients {
            *c *= scale;
        }
        climber.rise += weight * climb.rise;
        climber.path += weight * climb.way;
        climber.moves += 1;
        true
    }
}

impl LinearRisk<'_> {
    /// A sweep in which the rows have the features of this design.
    pub(crate) fn sweep_over(
        &self,
        design: &Design<'_>,
        metric: &RowMetric,
        state: &mut DualState,
        (order, held): (&mut Vec<u32>, f64),
        cancel: &Cancel,
    ) -> Sweep {
        let mut climber = Climber {
            weights: &self.rows.weights,
            curvatures: &metric.curvatures,
            slopes: &mut state.slopes,
            outputs: self.rows.loss.outputs(),
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
        let mut at_rest = metric.rests.as_ref().map(|_| metric.at_rest(state.w.clone()));
        let (rows, matrix) = (&self.rows, design.matrix());
        let entries = matrix.entries() / matrix.rows().max(1) + OF_STEP;
        let at_once = (AT_ONCE / (entries * rows.loss.outputs())).max(1);
        for order in order.chunks(at_once) {
            let Some(ascent) = rows.loss.ascent().filter(|_| !cancel.is_cancelled()) else { break };
            let rests = metric.rests.as_ref().zip(at_rest.as_mut());
            ascent.sweep(DualSweep {
                design,
                order,
                factors: metric.factors(),
                w: &mut state.w,
                rests: rests.map(|(rests, at_rest)| (rests.follow(), &mut at_rest[..])),
                climber: &mut climber,
            });
        }
        // Each move rounds the weights once, wherever they are on their way, and its own length a
        // few times.
        let path = climber.path / metric.lambda * metric.longest;
        state.drift += f64::EPSILON * (climber.moves as f64 * (before + path) + 8.0 * path);
        *order = climber.kept;
        Sweep { rise: climber.rise, pull: climber.pull }
    }
}

impl DualCoordinates for LinearRisk<'_> {
    fn examples(&self) -> Vec<u32> {
        let all = 0..self.rows.design.rows() as u32;
        all.filter(|&i| self.rows.weights.of(i as usize) > 0.0).collect()
    }

    fn metric(&self, lambda: f64, theta: Option<&[f64]>) -> Option<RowMetric> {
        self.row_metric(lambda, theta)
    }

    fn has_cheap_steps(&self) -> bool {
        self.rows.matrix().is_sparse() && !self.rows.loss.is_parabola()
    }

    fn sweep(
        &self,
        metric: &RowMetric,
        state: &mut DualState,
        order: &mut Vec<u32>,
        held: f64,
        cancel: &Cancel,
    ) -> Sweep {
        self.sweep_over(&self.rows.design, metric, state, (order, held), cancel)
    }

    fn still_open(&self, state: &DualState, outputs: &[f64], held: f64) -> Vec<u32> {
        let k = self.rows.loss.outputs();
        let mut open = self.examples();
        let Some(ascent) = self.rows.loss.ascent() else { return open };
        open.retain(|&i| {
            let span = i as usize * k..(i as usize + 1) * k;
            ascent.pull(i as usize, &outputs[span.clone()], &state.slopes[span]) >= -held
        });
        open
    }

    fn plane(&self, metric: &RowMetric, state: &DualState, center: &[f64]) -> Option<Plane> {
        let k = self.rows.loss.outputs();
        let conjugate = self.rows.loss.conjugate()?;
        let (mut offset, mut size) = (Sum::new(), 0.0);
        let mut slopes = vec![0.0; k];
        for (i, of_example) in state.slopes.chunks_exact(k).enumerate() {
            slopes.copy_from_slice(of_example);
            let share = self.rows.weights.of(i) * conjugate.highest_offset(i, &mut slopes)?;
            offset.add(share);
            size += share.abs();
        }
        let cols = self.rows.design.matrix().cols();
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
            slopes: Vec::new(),
        })
    }
}
