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

use crate::kernel::Gram;
use minorant_linalg::dense::axpy;
use minorant_linalg::sum::Sum;

/// Curvatures below this count as this: duplicated points have none.
pub(super) const FLAT: f64 = 1e-12;
/// Pair steps, in numbers of examples, after which Newton steps are tried.
const PATIENCE: usize = 4;
/// Solves after which Kβ is computed afresh, so that rounding errors do not add up.
const REFRESH: u32 = 200;

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
        }
    }

    /// Changes the weights; the solution moves to the nearest feasible point, from which the next
    /// solve starts.
    pub fn set_weights(&mut self, plus: &[f64], minus: &[f64]) {
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

    fn move_to(&mut self, i: usize, to: f64) {
        let step = to - self.beta[i];
        if step != 0.0 {
            self.beta[i] = to;
            axpy(step, &self.gram.row(i), &mut self.outputs);
        }
    }

    /// Brings Σβ back to 0: coordinates on the side that is too heavy are scaled towards 0, which
    /// is feasible for all of them.
    fn restore_sum(&mut self) {
        let heavy = |sign: f64, beta: &[f64]| -> f64 {
            beta.iter().map(|b| (sign * b).max(0.0)).collect::<Sum>().value()
        };
        let (up, down) = (heavy(1.0, &self.beta), heavy(-1.0, &self.beta));
        let (sign, from, to) = if up > down { (1.0, up, down) } else { (-1.0, down, up) };
        if from > to {
            let factor = to / from;
            for at in 0..self.active.len() {
                let i = self.active[at] as usize;
                if sign * self.beta[i] > 0.0 {
                    self.move_to(i, factor * self.beta[i]);
                }
            }
        }
    }

    /// Computes Kβ afresh.
    pub fn refresh(&mut self) {
        self.outputs.fill(0.0);
        for i in 0..self.beta.len() {
            if self.beta[i] != 0.0 {
                axpy(self.beta[i], &self.gram.row(i), &mut self.outputs);
            }
        }
    }

    /// The slope of J on the way up from β_i, and on the way down; infinite where there is none.
    #[inline(always)]
    fn slopes(&self, i: usize) -> (f64, f64) {
        let (beta, mid, output) = (self.beta[i], self.mid[i], self.outputs[i]);
        let up = if beta >= self.plus[i] {
            f64::INFINITY
        } else if beta < mid {
            output - 1.0
        } else {
            output + 1.0
        };
        let down = if beta <= -self.minus[i] {
            f64::NEG_INFINITY
        } else if beta <= mid {
            output - 1.0
        } else {
            output + 1.0
        };
        (up, down)
    }

    /// Solves until no pair of coordinates violates optimality by more than `tol`, or until
    /// rounding allows no more. Returns whether the tolerance was reached.
    pub fn solve(&mut self, tol: f64) -> bool {
        self.solves += 1;
        if self.solves.is_multiple_of(REFRESH) {
            self.refresh();
        }
        let rounds = 60;
        let steps = PATIENCE * self.active.len().max(50);
        let mut reached = false;
        for round in 0..rounds {
            reached = self.pair_steps(tol, steps);
            if reached {
                break;
            }
            // Steps that lead nowhere show errors of Kβ: with those gone it goes on, or is over.
            if round % 8 == 7 {
                self.refresh();
            }
            if !super::newton::finish(self, tol) && round > 20 {
                break;
            }
        }
        self.set_bias();
        reached
    }

    /// Steps on pairs of coordinates. Returns whether the tolerance was reached.
    fn pair_steps(&mut self, tol: f64, most: usize) -> bool {
        let gram = self.gram;
        let diagonal = gram.diagonal();
        for _ in 0..most {
            let (mut up, mut least) = (usize::MAX, f64::INFINITY);
            let mut greatest = f64::NEG_INFINITY;
            for &i in &self.active {
                let (rise, fall) = self.slopes(i as usize);
                if rise < least {
                    (up, least) = (i as usize, rise);
                }
                greatest = greatest.max(fall);
            }
            self.violation = greatest - least;
            if self.violation.is_nan() || self.violation <= tol {
                self.violation = if self.violation.is_nan() { 0.0 } else { self.violation };
                return true;
            }
            // The second coordinate by the gain that a quadratic of the pair's curvature promises.
            let row = gram.row(up);
            let (mut down, mut best, mut curvature) = (usize::MAX, 0.0, FLAT);
            let mut slope = 0.0;
            for &j in &self.active {
                let j = j as usize;
                let difference = self.slopes(j).1 - least;
                if difference > 0.0 {
                    let bend = (diagonal[up] + diagonal[j] - 2.0 * row[j]).max(FLAT);
                    let gain = difference * difference / bend;
                    if gain > best {
                        (down, best, curvature, slope) = (j, gain, bend, difference);
                    }
                }
            }
            if down == usize::MAX || down == up {
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
            let other = gram.row(down);
            add_difference(step, &row, &other, &mut self.outputs);
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
        let (mut least, mut greatest) = (f64::INFINITY, f64::NEG_INFINITY);
        for &i in &self.active {
            let (rise, fall) = self.slopes(i as usize);
            least = least.min(rise);
            greatest = greatest.max(fall);
        }
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

/// `out += step (x − y)`.
fn add_difference(step: f64, x: &[f64], y: &[f64], out: &mut [f64]) {
    for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
        *out += step * (x - y);
    }
}
