//! The support of the weights and the factor that belongs to it: which planes are in, and which
//! way the weights of those must go to be stationary. It moves no weights itself.
//!
//! With `G` the inner products over the support and `E` the indicator of parts, the factor is
//! `Uᵀ U = G + ρ E Eᵀ`. On directions that keep the sums of the parts (`Eᵀ d = 0`) this is `G`, and
//! it is definite exactly if `G` is so on them. The factor depends neither on the curvature nor on
//! the offsets: everything here is in units of the objective divided by the curvature.

use minorant_linalg::cholesky::GrowingCholesky;
use minorant_linalg::dense::norm2;

use super::pricing::{Candidate, Problem};

/// A squared pivot below this share of its diagonal is rounding, not curvature.
const DEPENDENT: f64 = 1e-13;
/// The factor is computed afresh after so many updates, before their rounding adds up.
const UPDATES_BEFORE_REFACTORING: usize = 1000;
/// ... and when the scale of the planes has left that of `ρ` by this factor.
const SHIFT_RANGE: f64 = 30.0;
/// The position of a plane outside the support.
pub(super) const OUTSIDE: usize = usize::MAX;

/// A direction along which a dependent plane can enter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    /// The derivative of the objective along the direction.
    pub(super) slope: f64,
    /// Minus the second derivative.
    pub(super) curvature: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Support {
    parts: usize,
    /// The planes of the support, in the order of the factor.
    pub(super) members: Vec<usize>,
    /// Where in `members` each plane stands, or [`OUTSIDE`].
    pub(super) position: Vec<usize>,
    /// How many members each part has.
    pub(super) count: Vec<usize>,
    /// The factor, with the columns of `E` attached (then called `Z`) and, last, the residual (`y`).
    pub(super) factor: GrowingCholesky,
    pub(super) shift: f64,
    /// The factor no longer belongs to the weights.
    pub(super) stale: bool,
    pub(super) updates: usize,
    /// What [`direction`](Self::direction) or [`exchange`](Self::exchange) found.
    pub(super) step: Vec<f64>,
    projected: Vec<f64>,
    coefficients: Vec<f64>,
    right_hand: Vec<f64>,
    target: Vec<f64>,
    small: Vec<f64>,
}

impl Support {
    pub(super) fn new(parts: usize) -> Self {
        Self {
            parts,
            members: Vec::new(),
            position: Vec::new(),
            count: vec![0; parts],
            factor: GrowingCholesky::new(parts + 1),
            shift: 1.0,
            stale: true,
            updates: 0,
            step: Vec::new(),
            projected: Vec::new(),
            coefficients: vec![0.0; parts + 1],
            right_hand: vec![0.0; parts + 1],
            target: vec![0.0; parts],
            small: vec![0.0; parts * parts],
        }
    }

    pub(super) fn contains(&self, plane: usize) -> bool {
        self.position[plane] != OUTSIDE
    }

    /// Makes the factor belong to the planes of positive weight, afresh if it has to be.
    pub(super) fn prepare(&mut self, problem: &Problem<'_>, weights: &mut [f64]) {
        let scale = self.scale(problem);
        let fits =
            scale == 0.0 || (self.shift < scale * SHIFT_RANGE && scale < self.shift * SHIFT_RANGE);
        if self.stale || !fits || self.updates > UPDATES_BEFORE_REFACTORING {
            self.refactor(problem, weights);
            return;
        }
        for plane in 0..weights.len() {
            if weights[plane] > 0.0 && !self.contains(plane) {
                self.join_anyway(problem, plane, 0.0);
            }
        }
        self.factor.refresh_products();
    }

    /// Computes the factor of the planes of positive weight, in the order of the planes. Those
    /// that depend on the ones before give their weight away.
    pub(super) fn refactor(&mut self, problem: &Problem<'_>, weights: &mut [f64]) {
        self.members.clear();
        self.members.extend((0..weights.len()).filter(|&plane| weights[plane] > 0.0));
        let scale = self.scale(problem);
        self.shift = if scale > 0.0 { scale } else { 1.0 };
        let planes = std::mem::take(&mut self.members);
        self.position.fill(OUTSIDE);
        self.count.fill(0);
        self.factor.clear();
        for &plane in &planes {
            while weights[plane] > 0.0 && !self.join(problem, plane, 0.0) {
                self.reduce(problem, plane, weights);
            }
        }
        // A part of which nothing is independent of the others keeps its first plane.
        for &plane in &planes {
            if self.count[problem.part_of[plane]] == 0 {
                weights[plane] = 1.0;
                self.join_anyway(problem, plane, 0.0);
            }
        }
        self.stale = false;
        self.updates = 0;
    }

    /// Makes all planes of positive weight members, for pricing. If one is new to the support, the
    /// factor is left behind.
    pub(super) fn adopt(&mut self, weights: &[f64]) {
        let positive = |plane: &usize| weights[*plane] > 0.0;
        if (0..weights.len()).filter(positive).all(|plane| self.contains(plane)) {
            return;
        }
        self.members.clear();
        self.position.fill(OUTSIDE);
        for plane in (0..weights.len()).filter(positive) {
            self.position[plane] = self.members.len();
            self.members.push(plane);
        }
        self.stale = true;
    }

    /// After a refused [`join`](Self::join) of a plane of positive weight: goes along the
    /// direction that does not change the aggregated normal, to the side where the offsets grow,
    /// until the plane or a member has no weight. With many dependent planes the factor would be
    /// worth nothing; this is the step of Carathéodory's theorem.
    fn reduce(&mut self, problem: &Problem<'_>, plane: usize, weights: &mut [f64]) {
        self.exchange(problem, plane);
        let taken: f64 =
            self.members.iter().zip(&self.step).map(|(&k, &c)| c * problem.offsets[k]).sum();
        let side = if problem.offsets[plane] >= taken { 1.0 } else { -1.0 };
        // The plane's weight grows by `side * length`, the members' by `-side * length * step`.
        let (mut length, mut blocking) =
            (if side > 0.0 { f64::INFINITY } else { weights[plane] }, None);
        for (position, &k) in self.members.iter().enumerate() {
            let rate = side * self.step[position];
            if rate > 0.0 && weights[k] < length * rate {
                length = weights[k] / rate;
                blocking = Some(position);
            }
        }
        if !length.is_finite() || (blocking.is_none() && side > 0.0) {
            // Only rounding leads here: the sums of the parts bound every direction.
            weights[plane] = 0.0;
            return;
        }
        for (&k, &c) in self.members.iter().zip(&self.step) {
            weights[k] = (weights[k] - side * length * c).max(0.0);
        }
        weights[plane] = if blocking.is_none() { 0.0 } else { weights[plane] + side * length };
        if let Some(position) = blocking {
            weights[self.members[position]] = 0.0;
            self.leave(position, problem.part_of);
        }
    }

    /// The mean squared norm of the members: `ρ` of this size keeps the factor as well
    /// conditioned as the problem allows.
    fn scale(&self, problem: &Problem<'_>) -> f64 {
        let total: f64 = self.members.iter().map(|&k| problem.gram.get(k, k)).sum();
        total / self.members.len().max(1) as f64
    }

    /// Attaches the residual: the derivative of the objective by the weight of each plane.
    pub(super) fn attach(&mut self, residual: &[f64]) {
        self.projected.clear();
        self.projected.extend(self.members.iter().map(|&k| residual[k]));
        self.factor.attach(self.parts, &mut self.projected);
    }

    /// Lets a plane in, if it is independent of the members. If it is not, [`exchange`] can be
    /// asked for next.
    ///
    /// [`exchange`]: Self::exchange
    pub(super) fn join(&mut self, problem: &Problem<'_>, plane: usize, residual: f64) -> bool {
        let part = problem.part_of[plane];
        let row = problem.gram.row(plane);
        self.projected.clear();
        self.projected.extend(
            self.members
                .iter()
                .map(|&k| if problem.part_of[k] == part { row[k] + self.shift } else { row[k] }),
        );
        let diagonal = row[plane] + self.shift;
        self.right_hand.fill(0.0);
        self.right_hand[part] = 1.0;
        self.right_hand[self.parts] = residual;
        let threshold = DEPENDENT * diagonal;
        let joined =
            self.factor.append(&mut self.projected, diagonal, threshold, &self.right_hand).is_ok();
        if joined {
            self.register(plane, part);
        }
        joined
    }

    /// Lets a plane in even if it is dependent, then with a raised pivot: as if a little were
    /// added to its squared norm, which makes later steps shorter but not wrong.
    pub(super) fn join_anyway(&mut self, problem: &Problem<'_>, plane: usize, residual: f64) {
        if !self.join(problem, plane, residual) {
            let diagonal = problem.gram.get(plane, plane) + self.shift;
            let rounding = (diagonal - norm2(&self.projected)).abs();
            // Well above the rounding that made it dependent, or that would grow from one raised
            // pivot to the next.
            let pivot = (DEPENDENT * diagonal).max(10.0 * rounding).sqrt();
            self.factor.append_with_pivot(&self.projected, pivot, &self.right_hand);
            self.register(plane, problem.part_of[plane]);
        }
    }

    fn register(&mut self, plane: usize, part: usize) {
        self.position[plane] = self.members.len();
        self.members.push(plane);
        self.count[part] += 1;
        self.updates += 1;
    }

    /// Lets the member at `position` out.
    pub(super) fn leave(&mut self, position: usize, part_of: &[usize]) {
        let plane = self.members.remove(position);
        self.position[plane] = OUTSIDE;
        for (offset, &later) in self.members[position..].iter().enumerate() {
            self.position[later] = position + offset;
        }
        self.count[part_of[plane]] -= 1;
        self.factor.delete(position);
        self.updates += 1;
    }

    /// The direction to the stationary point over the members, into `step`:
    /// `d = U⁻¹ (y + Z ν)` with `ZᵀZ ν = -Zᵀ y`, so that `Eᵀ d = 0`.
    pub(super) fn direction(&mut self) {
        for part in 0..self.parts {
            self.coefficients[part] = -self.factor.attached_product(self.parts, part);
        }
        self.solve_small();
        self.coefficients[self.parts] = 1.0;
        self.step.clear();
        self.step.resize(self.members.len(), 0.0);
        self.factor.add_attached(&self.coefficients, &mut self.step);
        self.factor.backward(&mut self.step);
    }

    /// After a refused [`join`](Self::join): the direction that gives the plane weight 1, takes
    /// `step` from the members and changes the aggregated normal least. With `u` the projected
    /// column of the plane and `e` its row of `E`, `step = U⁻¹ (u + Z ν)`, `ZᵀZ ν = e - Zᵀ u`.
    pub(super) fn exchange(&mut self, problem: &Problem<'_>, plane: usize) -> Exchange {
        let residual = self.right_hand[self.parts];
        let part = problem.part_of[plane];
        self.factor.attached_transposed(&self.projected, &mut self.coefficients);
        let along_residual = self.coefficients[self.parts];
        for value in &mut self.coefficients {
            *value = -*value;
        }
        self.coefficients[part] += 1.0;
        self.target.copy_from_slice(&self.coefficients[..self.parts]);
        self.solve_small();
        self.coefficients[self.parts] = 0.0;
        let nu = &self.coefficients[..self.parts];
        let bend: f64 = nu.iter().zip(&self.target).map(|(a, b)| a * b).sum();
        let turn: f64 =
            (0..self.parts).map(|p| nu[p] * self.factor.attached_product(self.parts, p)).sum();
        let pivot_squared = problem.gram.get(plane, plane) + self.shift - norm2(&self.projected);
        self.step.clear();
        self.step.extend_from_slice(&self.projected);
        self.factor.add_attached(&self.coefficients, &mut self.step);
        self.factor.backward(&mut self.step);
        Exchange {
            slope: residual - along_residual - turn,
            curvature: (pivot_squared + bend).max(0.0),
        }
    }

    /// Going `length` along the direction of the last [`exchange`](Self::exchange) changes the
    /// residuals of the members by one constant per part, `length ν`, which the attached residual
    /// may ignore. The residuals of planes that come later must be taken against the same
    /// constants: `r_j -= length ((G n)_j + ν_p(j))` with `n` the direction.
    pub(super) fn shift_residuals(
        &self,
        problem: &Problem<'_>,
        plane: usize,
        later: &[Candidate],
        length: f64,
        residual: &mut [f64],
    ) {
        for candidate in later {
            let row = problem.gram.row(candidate.plane);
            let taken: f64 = self.members.iter().zip(&self.step).map(|(&k, &c)| row[k] * c).sum();
            let turn = self.coefficients[problem.part_of[candidate.plane]];
            residual[candidate.plane] -= length * (row[plane] - taken + turn);
        }
    }

    /// Lets all members out that are not kept.
    pub(super) fn release(&mut self, keep: &[bool], part_of: &[usize]) {
        for position in (0..self.members.len()).rev() {
            if !keep[self.members[position]] {
                self.leave(position, part_of);
            }
        }
    }

    /// Gives the planes new numbers, below `planes`.
    pub(super) fn rename(&mut self, renamed: &[usize], planes: usize) {
        self.position.clear();
        self.position.resize(planes, OUTSIDE);
        if self.stale {
            self.members.clear();
        }
        for (position, plane) in self.members.iter_mut().enumerate() {
            *plane = renamed[*plane];
            self.position[*plane] = position;
        }
    }

    /// Solves `ZᵀZ x = c` for the first entries `c` of `coefficients`, in place. `ρ` keeps the
    /// matrix well conditioned, so a plain Cholesky factorisation does.
    fn solve_small(&mut self) {
        let (n, a, x) = (self.parts, &mut self.small, &mut self.coefficients);
        for i in 0..n {
            for j in 0..=i {
                let mut sum = self.factor.attached_product(i, j);
                for k in 0..j {
                    sum -= a[i * n + k] * a[j * n + k];
                }
                a[i * n + j] =
                    if i == j { sum.max(f64::MIN_POSITIVE).sqrt() } else { sum / a[j * n + j] };
            }
            let mut sum = x[i];
            for k in 0..i {
                sum -= a[i * n + k] * x[k];
            }
            x[i] = sum / a[i * n + i];
        }
        for i in (0..n).rev() {
            x[i] /= a[i * n + i];
            for k in 0..i {
                x[k] -= a[i * n + k] * x[i];
            }
        }
    }
}
