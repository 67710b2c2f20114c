//! The master: the quadratic program over the planes of a bundle,
//!
//! maximise `D(α) = Σ_j α_j b_j - (κ/2) αᵀ G α` over `α ≥ 0` with `Σ_{j in part p} α_j = 1`,
//!
//! solved by a primal active-set method that starts where the last solve ended. It knows planes
//! only by their inner products and offsets; cutting planes, risks and steps are not its business.

mod active_set;
mod gram;
mod pairwise;
mod pricing;
mod state;
mod support;

pub use gram::Gram;
pub use state::MasterState;

use pricing::{Pricing, Problem};
use support::{OUTSIDE, Support};

/// What a solve reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MasterSolution {
    /// `D(α)`.
    pub value: f64,
    /// The duality gap of `α`: `Σ_p max_{j in p} ∇_j - Σ_j α_j ∇_j` with `∇ = b - κ G α`.
    pub gap: f64,
    /// How many times a plane entered, left or the support's system was solved.
    pub steps: usize,
}

/// The planes' parts and weights, and the factor that makes the next solve cheap.
#[derive(Clone, Debug)]
pub struct Master {
    parts: usize,
    part_of: Vec<usize>,
    weights: Vec<f64>,
    support: Support,
    pricing: Pricing,
    /// The weights of least gap and of largest value of the running solve.
    best_weights: Vec<f64>,
    anchor: Vec<f64>,
    sums: Vec<f64>,
}

impl Master {
    /// A master without planes.
    pub fn new(parts: usize) -> Self {
        Self {
            parts,
            part_of: Vec::new(),
            weights: Vec::new(),
            support: Support::new(parts),
            pricing: Pricing::default(),
            best_weights: Vec::new(),
            anchor: Vec::new(),
            sums: vec![0.0; parts],
        }
    }

    /// The number of planes.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Whether there are no planes.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// A plane of `part` was appended to the bundle. It enters with weight 0, or 1 if it is the
    /// part's first.
    pub fn push(&mut self, part: usize) {
        assert!(part < self.parts, "no such part");
        let first = !self.part_of.contains(&part);
        self.part_of.push(part);
        self.weights.push(if first { 1.0 } else { 0.0 });
        self.support.position.push(OUTSIDE);
    }

    /// The planes with `keep[j] == false` leave. What weight they had goes to the other planes of
    /// their part, in proportion (to the first one, if they had none). A part must keep a plane.
    pub fn retain(&mut self, keep: &[bool]) {
        assert_eq!(keep.len(), self.weights.len(), "one word for every plane");
        let lost = (0..keep.len()).any(|j| !keep[j] && self.weights[j] > 0.0);
        if lost {
            self.support.stale = true;
        } else if !self.support.stale {
            // A stale factor is computed afresh anyway, and need not fit its members.
            self.support.release(keep, &self.part_of);
        }
        let mut renamed = Vec::with_capacity(keep.len());
        let mut kept = 0;
        for j in 0..keep.len() {
            renamed.push(kept);
            if keep[j] {
                self.part_of[kept] = self.part_of[j];
                self.weights[kept] = self.weights[j];
                kept += 1;
            }
        }
        self.part_of.truncate(kept);
        self.weights.truncate(kept);
        self.support.rename(&renamed, kept);
        if lost {
            self.give_to_the_empty();
            self.normalise_all();
        }
    }

    /// Sets all weights, for instance after planes were aggregated. They should be nonnegative and
    /// sum to 1 in each part; rounding in the sums is mended.
    pub fn set_weights(&mut self, weights: &[f64]) {
        assert_eq!(weights.len(), self.weights.len(), "one weight for every plane");
        for (own, &given) in self.weights.iter_mut().zip(weights) {
            *own = given.max(0.0);
        }
        self.support.stale = true;
        self.give_to_the_empty();
        self.normalise_all();
    }

    /// The inner products have changed: the factor does not belong to them.
    pub fn forget_factor(&mut self) {
        self.support.stale = true;
    }

    /// The weights: nonnegative, with sum 1 in each part.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The part of plane `j`.
    pub fn part_of(&self, j: usize) -> usize {
        self.part_of[j]
    }

    /// Solves until the duality gap is at most `gap`, or as exactly as rounding allows.
    pub fn solve(
        &mut self,
        gram: &Gram,
        offsets: &[f64],
        curvature: f64,
        gap: f64,
    ) -> MasterSolution {
        assert_eq!(gram.len(), self.weights.len(), "one row for every plane");
        assert_eq!(offsets.len(), self.weights.len(), "one offset for every plane");
        let part_of = std::mem::take(&mut self.part_of);
        let problem = Problem { gram, offsets, curvature, part_of: &part_of };
        let solution = self.run(&problem, gap);
        self.part_of = part_of;
        solution
    }

    /// A part that has planes but no weight gives weight 1 to its first plane.
    fn give_to_the_empty(&mut self) {
        let sums = self.sums();
        let mut given = vec![false; self.parts];
        for (weight, &part) in self.weights.iter_mut().zip(&self.part_of) {
            if sums[part] <= 0.0 && !given[part] {
                *weight = 1.0;
                given[part] = true;
            }
        }
    }

    fn sums(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.parts];
        for (&weight, &part) in self.weights.iter().zip(&self.part_of) {
            sums[part] += weight;
        }
        sums
    }

    /// Divides the weights of the support by the sums of their parts. A part that rounding left without
    /// weight gets it back.
    fn normalise(&mut self, part_of: &[usize]) {
        self.sums.fill(0.0);
        for &k in &self.support.members {
            self.sums[part_of[k]] += self.weights[k];
        }
        if !self.sums.iter().all(|sum| is_sum(*sum)) {
            self.revive(part_of);
        }
        for &k in &self.support.members {
            self.weights[k] /= self.sums[part_of[k]];
        }
    }

    /// Gives all weight of each part without a sum of weights to its first member, or its first plane where it
    /// has none.
    fn revive(&mut self, part_of: &[usize]) {
        for part in (0..self.parts).filter(|&part| !is_sum(self.sums[part])) {
            let is_of_part = |plane: &usize| part_of[*plane] == part;
            let member = self.support.members.iter().copied().find(is_of_part);
            let heir = member.or_else(|| (0..part_of.len()).find(is_of_part));
            for plane in (0..part_of.len()).filter(is_of_part) {
                self.weights[plane] = if Some(plane) == heir { 1.0 } else { 0.0 };
            }
        }
        self.support.adopt(&self.weights);
        self.sums.iter_mut().filter(|sum| !is_sum(**sum)).for_each(|sum| *sum = 1.0);
    }

    /// Divides the weights by the sums of their parts.
    fn normalise_all(&mut self) {
        let sums = self.sums();
        for (weight, &part) in self.weights.iter_mut().zip(&self.part_of) {
            *weight /= sums[part];
        }
    }
}

/// Whether weights can be divided by this.
fn is_sum(sum: f64) -> bool {
    sum > 0.0 && sum < f64::INFINITY
}
