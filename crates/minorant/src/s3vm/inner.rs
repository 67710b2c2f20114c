//! The inner problem (IO): a support vector machine whose examples may count on both sides. Its
//! dual, with the doubled variables of the paper eliminated (β = α⁺ − α⁻), is
//!
//! min J(β) = ½ βᵀKβ + Σ max(−β_i − 2λ⁻_i, β_i − 2λ⁺_i),  −λ⁻ ≤ β ≤ λ⁺,  Σ β_i = 0,
//!
//! with one kink an example, at mid = λ⁺ − λ⁻, and K itself as its curvature: where points are
//! distinct the solution is unique although the doubled problem is singular by construction. It is
//! solved by pairs of coordinates (SMO) chosen by second-order gain, each step clipped at the next
//! kink, and where that creeps by Newton steps on the free coordinates (`newton.rs`). Any
//! feasible β gives the bound −J(β) on what weights can reach, whatever the tolerance.

use super::account::Stop;
use super::pairs::{Partner, Steepest, Ways, add_difference};
use super::region::ClosedForm;
use crate::kernel::Gram;
use minorant_linalg::dense::axpy;
use minorant_linalg::sum::Sum;

/// Curvatures below this count as this: duplicated points have none.
pub(super) const FLAT: f64 = 1e-12;
/// Pair steps, in numbers of examples, before Newton steps are tried: at first, and at most after
/// some.
const PATIENCE: (usize, usize) = (1, 4);
/// Pair steps between Newton steps, at least.
const FEWEST_STEPS: usize = 16;
/// Pair steps of a solve, in numbers of examples, at most.
const MOST_STEPS: usize = 240;
/// Pair steps, in numbers of examples, after which Kβ is computed afresh.
const REFRESH_STEPS: usize = 32;
/// How often Newton steps may fail to get anywhere before a solve is given up.
const MOST_IDLE: usize = 20;
/// What a pair step costs, in operations an example.
const SCANS: usize = 8;
/// Solves after which Kβ is computed afresh, so that rounding errors do not add up.
const REFRESH: u32 = 200;
/// Entries of the kernel matrix that may be read before the clock is looked at again: some
/// milliseconds' worth, even where they are computed.
const UNWATCHED: usize = 1 << 16;

/// The inner problem for weights λ⁺, λ⁻, and its solution as far as it is known.
#[derive(Debug, Clone)]
pub struct Inner<'g> {
    pub(super) gram: &'g Gram<'g>,
    /// λ⁺: what losses on the positive side count.
    pub(super) plus: Vec<f64>,
    /// λ⁻: what losses on the negative side count.
    pub(super) minus: Vec<f64>,
    /// Where the slope of the loss changes, λ⁺ − λ⁻.
    pub(super) mid: Vec<f64>,
    pub(super) beta: Vec<f64>,
    /// Kβ.
    pub(super) outputs: Vec<f64>,
    /// The offset b of the decision values.
    bias: f64,
    /// max over the ways down less min over the ways up: at most 0 at the optimum.
    violation: f64,
    /// Examples that count at all.
    active: Vec<u32>,
    solves: u32,
    ways: Ways,
    /// What may cut work short, if anything.
    stop: Option<&'g Stop>,
    /// Entries of the kernel matrix read since it was asked last.
    unwatched: usize,
    /// Whether it has cut the last piece of work short.
    is_cut: bool,
}

/// Where a coordinate of the solution lies, and so which of the paper's constraints are active.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// β = −λ⁻: the decision is 1 or more.
    Low,
    /// Between −λ⁻ and the kink: the decision is +1.
    FreeLow,
    /// On the kink: the decision is between −1 and 1.
    Middle,
    /// Between the kink and λ⁺: the decision is −1.
    FreeHigh,
    /// β = λ⁺: the decision is −1 or less.
    High,
}

impl<'g> Inner<'g> {
    /// The problem in which nothing counts, solved.
    pub fn new(gram: &'g Gram<'g>) -> Self {
        let zeros = vec![0.0; gram.order()];
        Inner {
            gram,
            plus: zeros.clone(),
            minus: zeros.clone(),
            mid: zeros.clone(),
            beta: zeros.clone(),
            outputs: zeros,
            bias: 0.0,
            violation: f64::INFINITY,
            active: Vec::new(),
            solves: 0,
            ways: Ways::default(),
            stop: None,
            unwatched: UNWATCHED,
            is_cut: false,
        }
    }

    /// The same problem, whose work ends early where this says so.
    pub(crate) fn stopped_by(self, stop: &'g Stop) -> Self {
        Inner { stop: Some(stop), ..self }
    }

    /// Whether the work since the weights were set was cut short. The coefficients are feasible then
    /// if this was in a solve, and of no use if it was on the way to its start.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether work is to end here; asked wherever a row of the kernel matrix is read.
    #[inline(always)]
    pub(super) fn is_to_end(&mut self) -> bool {
        self.unwatched += self.beta.len();
        if self.unwatched >= UNWATCHED && !self.is_cut {
            self.unwatched = 0;
            self.is_cut = self.stop.is_some_and(|stop| stop.check().is_err());
        }
        self.is_cut
    }

    /// Changes the weights; the solution moves to the nearest feasible point, from which the next
    /// solve starts.
    pub fn set_weights(&mut self, plus: &[f64], minus: &[f64]) {
        self.is_cut = false;
        self.active.clear();
        for i in 0..plus.len() {
            (self.plus[i], self.minus[i]) = (plus[i], minus[i]);
            self.mid[i] = plus[i] - minus[i];
            if plus[i] > 0.0 || minus[i] > 0.0 {
                self.active.push(i as u32);
            }
            self.move_to(i, self.beta[i].clamp(-minus[i], plus[i]));
        }
        self.restore_sum();
        self.violation = f64::INFINITY;
    }

    /// Starts the next solve from these coefficients, or from the nearest feasible ones.
    pub fn start_at(&mut self, beta: &[f64]) {
        for (i, &to) in beta.iter().enumerate() {
            self.move_to(i, to.clamp(-self.minus[i], self.plus[i]));
        }
        self.restore_sum();
    }

    /// Takes up weights with their solution, which is known.
    pub(super) fn settle(&mut self, plus: &[f64], minus: &[f64], known: ClosedForm) {
        self.is_cut = false;
        self.active.clear();
        let counts = (0..plus.len()).filter(|&i| plus[i] > 0.0 || minus[i] > 0.0);
        self.active.extend(counts.map(|i| i as u32));
        for (i, (plus, minus)) in plus.iter().zip(minus).enumerate() {
            (self.plus[i], self.minus[i], self.mid[i]) = (*plus, *minus, plus - minus);
            // The closed form may be a rounding error outside.
            self.beta[i] = known.beta[i].clamp(-minus, *plus);
        }
        (self.outputs, self.bias) = (known.outputs, known.bias);
        self.violation = known.violation.max(0.0);
    }

    /// The ends of the offsets that are optimal: all alike unless no coordinate is free.
    pub(super) fn biases(&mut self) -> (f64, f64) {
        let (least, greatest) = self.extremes();
        if least.is_finite() && greatest.is_finite() && least > greatest {
            (-least, -greatest)
        } else {
            (self.bias, self.bias)
        }
    }

    fn move_to(&mut self, i: usize, to: f64) {
        let step = to - self.beta[i];
        if step != 0.0 && !self.is_to_end() {
            self.beta[i] = to;
            axpy(step, &self.gram.row(i), &mut self.outputs);
        }
    }

    /// Brings Σβ back to 0 along the ways that promise most, from kink to kink: few coordinates
    /// move, so that those at ends and kinks, which are most of them, stay there.
    fn restore_sum(&mut self) {
        // A way goes over one kink at the most.
        for _ in 0..2 {
            let excess = self.beta.iter().copied().collect::<Sum>().value();
            let sign = -excess.signum();
            let slope = |i: usize| {
                let (up, down) = self.ways(i);
                if sign > 0.0 { self.outputs[i] + up } else { -self.outputs[i] - down }
            };
            let mut ways: Vec<(f64, u32)> =
                self.active.iter().map(|&i| (slope(i as usize), i)).collect();
            ways.retain(|way| way.0 < f64::INFINITY);
            ways.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let mut left = excess.abs();
            for (_, i) in ways {
                if left <= 0.0 || self.is_cut {
                    return;
                }
                let i = i as usize;
                let (to, room) = self.next_kink(i, sign);
                self.move_to(i, if left >= room { to } else { self.beta[i] + sign * left });
                left -= room;
            }
        }
    }

    /// Computes Kβ afresh; where it is cut short Kβ stays as it was.
    pub fn refresh(&mut self) {
        let mut outputs = vec![0.0; self.beta.len()];
        for i in 0..self.beta.len() {
            if self.beta[i] != 0.0 {
                if self.is_to_end() {
                    return;
                }
                axpy(self.beta[i], &self.gram.row(i), &mut outputs);
            }
        }
        self.outputs = outputs;
    }

    /// The slope of J on the way up from β_i, and on the way down, less the output; infinite where
    /// there is no way.
    #[inline(always)]
    fn ways(&self, i: usize) -> (f64, f64) {
        let (beta, mid) = (self.beta[i], self.mid[i]);
        let up = if beta >= self.plus[i] {
            f64::INFINITY
        } else if beta < mid {
            -1.0
        } else {
            1.0
        };
        let down = if beta <= -self.minus[i] {
            f64::NEG_INFINITY
        } else if beta <= mid {
            -1.0
        } else {
            1.0
        };
        (up, down)
    }

    /// The least slope on a way up, and the greatest on a way down.
    fn extremes(&mut self) -> (f64, f64) {
        let mut ways = std::mem::take(&mut self.ways);
        ways.fill(self.beta.len(), |i| self.ways(i));
        self.ways = ways;
        self.ways.extremes(&self.outputs)
    }

    /// Solves until no pair of coordinates violates optimality by more than `tol`, or until
    /// rounding allows no more. Returns whether the tolerance was reached.
    pub fn solve(&mut self, tol: f64) -> bool {
        self.solves += 1;
        if self.solves.is_multiple_of(REFRESH) {
            self.refresh();
        }
        let n = self.active.len().max(50);
        let (mut burst, mut idle, mut since_refresh) = (PATIENCE.0 * n, 0, 0);
        let mut left = MOST_STEPS * n;
        let mut reached = false;
        while left > 0 && idle < MOST_IDLE && !self.is_cut {
            let most = burst.min(left);
            reached = self.pair_steps(tol, most);
            if reached {
                break;
            }
            left -= most;
            since_refresh += most;
            // Steps that lead nowhere show errors of Kβ: with those gone it goes on, or is over.
            if since_refresh >= REFRESH_STEPS * n {
                self.refresh();
                since_refresh = 0;
            }
            burst = match super::newton::finish(self, tol) {
                // As long with pairs as the Newton steps took.
                Some(operations) => (operations / (SCANS * n)).clamp(FEWEST_STEPS, PATIENCE.1 * n),
                None => {
                    idle += 1;
                    PATIENCE.1 * n
                }
            };
        }
        self.set_bias();
        reached
    }

    /// Steps on pairs of coordinates. Returns whether the tolerance was reached.
    fn pair_steps(&mut self, tol: f64, most: usize) -> bool {
        let gram = self.gram;
        let diagonal = gram.diagonal();
        let (mut least, mut greatest) = self.extremes();
        for _ in 0..most {
            self.violation = greatest - least;
            if self.violation.is_nan() || self.violation <= tol {
                self.violation = if self.violation.is_nan() { 0.0 } else { self.violation };
                return true;
            }
            if self.is_to_end() {
                return false;
            }
            let Some(up) = self.ways.steepest(&self.outputs, least) else { return true };
            let row = gram.row(up);
            let with = Steepest { slope: least, diagonal: diagonal[up], row: &row };
            let partner = self.ways.partner(&self.outputs, diagonal, &with);
            let Some(Partner { index: down, slope, curvature }) = partner else { return true };
            if down == up {
                return true;
            }
            let (to_up, room_up) = self.next_kink(up, 1.0);
            let (to_down, room_down) = self.next_kink(down, -1.0);
            let step = (slope / curvature).min(room_up).min(room_down);
            let end = |from: f64, to: f64, room: f64, sign: f64| {
                if step >= room { to } else { from + sign * step }
            };
            self.beta[up] = end(self.beta[up], to_up, room_up, 1.0);
            self.beta[down] = end(self.beta[down], to_down, room_down, -1.0);
            add_difference(step, &row, &gram.row(down), &mut self.outputs);
            for i in [up, down] {
                self.ways.set(i, self.ways(i));
            }
            (least, greatest) = self.ways.extremes(&self.outputs);
        }
        false
    }

    /// The next kink or end in a direction, and how far it is.
    #[inline(always)]
    fn next_kink(&self, i: usize, sign: f64) -> (f64, f64) {
        let (beta, mid) = (self.beta[i], self.mid[i]);
        let to = if sign > 0.0 {
            if beta < mid { mid } else { self.plus[i] }
        } else if beta > mid {
            mid
        } else {
            -self.minus[i]
        };
        (to, (to - beta).abs())
    }

    /// b from the optimality conditions: the middle of what they leave.
    fn set_bias(&mut self) {
        let (least, greatest) = self.extremes();
        self.bias = match (least.is_finite(), greatest.is_finite()) {
            (true, true) => -0.5 * (least + greatest),
            (true, false) => -least,
            (false, true) => -greatest,
            (false, false) => 0.0,
        };
    }

    /// J(β), so that −J(β) is a bound: no decision function has a smaller objective with these
    /// weights.
    pub fn dual(&self) -> f64 {
        let quadratic = 0.5 * self.square();
        let kinks = self.active.iter().map(|&i| {
            let i = i as usize;
            (-self.beta[i] - 2.0 * self.minus[i]).max(self.beta[i] - 2.0 * self.plus[i])
        });
        quadratic + kinks.collect::<Sum>().value()
    }

    /// ‖w‖² = βᵀKβ.
    pub fn square(&self) -> f64 {
        let products = self.beta.iter().zip(&self.outputs).map(|(b, f)| b * f);
        products.collect::<Sum>().value().max(0.0)
    }

    /// The objective of (w, b) with these weights: ½‖w‖² + Σ λ⁺ V(+1, h) + λ⁻ V(−1, h).
    pub fn primal(&self) -> f64 {
        let losses = self.active.iter().map(|&i| {
            let i = i as usize;
            let h = self.outputs[i] + self.bias;
            self.plus[i] * (1.0 - h).max(0.0) + self.minus[i] * (1.0 + h).max(0.0)
        });
        0.5 * self.square() + losses.collect::<Sum>().value()
    }

    /// The decision value h of a row.
    pub fn decision(&self, i: usize) -> f64 {
        self.outputs[i] + self.bias
    }

    /// β.
    pub fn beta(&self) -> &[f64] {
        &self.beta
    }

    /// b.
    pub fn bias(&self) -> f64 {
        self.bias
    }

    /// Kβ, row by row.
    pub fn outputs(&self) -> &[f64] {
        &self.outputs
    }

    /// By how much the last solve left optimality violated.
    pub fn violation(&self) -> f64 {
        self.violation.max(0.0)
    }

    /// Where β_i lies.
    pub fn state(&self, i: usize) -> State {
        let (beta, mid) = (self.beta[i], self.mid[i]);
        if beta == mid {
            State::Middle
        } else if beta <= -self.minus[i] {
            State::Low
        } else if beta >= self.plus[i] {
            State::High
        } else if beta < mid {
            State::FreeLow
        } else {
            State::FreeHigh
        }
    }
}
