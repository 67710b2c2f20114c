//! What the master's weights are worth: gradient, value and gap, always from the inner products themselves,
//! and the planes that ought to enter. It changes nothing but its own tables.

use minorant_linalg::dense::axpy;

use super::gram::Gram;
use super::support::Support;

/// A part's worst plane enters if its violation is at least this share of the worst of all. Milder
/// ones often turn out wrong once the worse ones have entered.
const CANDIDATE_SHARE: f64 = 0.7;
/// How many planes of a part are kept to be priced again before all planes are.
const POOLED: usize = 8;

/// The quadratic program: maximise `Σ α_j b_j - (κ/2) αᵀ G α` over weights that sum to 1 in each
/// part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem<'a> {
    pub(super) gram: &'a Gram,
    pub(super) offsets: &'a [f64],
    pub(super) curvature: f64,
    pub(super) part_of: &'a [usize],
}

/// A plane outside the support whose derivative is above the mean of its part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) plane: usize,
    pub(super) violation: f64,
}

/// The tables of the last pricing.
#[derive(Clone, Debug, Default)]
pub(super) struct Pricing {
    /// `∇ = b - κ G α`.
    pub(super) gradient: Vec<f64>,
    /// `(∇ - its weighted mean over the part) / κ`.
    pub(super) residual: Vec<f64>,
    /// The weighted mean of the gradient over each part.
    mean: Vec<f64>,
    /// The largest gradient of each part.
    top: Vec<f64>,
    /// The planes that are to enter.
    pub(super) candidates: Vec<Candidate>,
    /// Planes outside the support that violate optimality most, at most [`POOLED`] of a part.
    pool: Vec<Vec<Candidate>>,
    /// The weights of the members, in their order.
    compact: Vec<f64>,
    /// The member of largest weight of each part.
    heaviest: Vec<Option<usize>>,
    pub(super) value: f64,
    pub(super) gap: f64,
    /// About the rounding to be expected in `gap`, rather too much.
    pub(super) noise: f64,
}

impl Pricing {
    /// Prices all planes at the given weights, which are zero outside the support.
    pub(super) fn update(&mut self, problem: &Problem<'_>, support: &Support, weights: &[f64]) {
        let &Problem { gram, offsets, curvature, part_of } = problem;
        let (planes, parts) = (part_of.len(), support.count.len());
        self.gradient.clear();
        self.gradient.resize(planes, 0.0);
        // |(G α)_j| is at most |a_j| Σ α_k |a_k|, which may be far more than what is left of it.
        let (mut largest, mut total) = (0.0f64, 0.0);
        for &k in &support.members {
            let row = gram.row(k);
            axpy(weights[k], row, &mut self.gradient);
            let norm = row[k].max(0.0).sqrt();
            largest = largest.max(norm);
            total += weights[k] * norm;
        }
        let mut steepest: f64 = 0.0;
        for (g, &b) in self.gradient.iter_mut().zip(offsets) {
            *g = b - curvature * *g;
            steepest = steepest.max(b.abs());
        }
        self.mean.clear();
        self.mean.resize(parts, 0.0);
        for &k in &support.members {
            self.mean[part_of[k]] += weights[k] * self.gradient[k];
        }
        self.top.clear();
        self.top.resize(parts, f64::NEG_INFINITY);
        self.pool.resize(parts, Vec::new());
        for pool in &mut self.pool {
            pool.clear();
        }
        self.residual.clear();
        for (plane, (&g, &part)) in self.gradient.iter().zip(part_of).enumerate() {
            let violation = g - self.mean[part];
            self.residual.push(violation / curvature);
            if g > self.top[part] {
                self.top[part] = g;
            }
            if violation > 0.0 && !support.contains(plane) {
                keep_the_worst(&mut self.pool[part], Candidate { plane, violation });
            }
        }
        // Summing α_j (top - ∇_j) ≥ 0 loses nothing to cancellation between parts.
        (self.value, self.gap) = (0.0, 0.0);
        for &k in &support.members {
            self.value += 0.5 * weights[k] * (offsets[k] + self.gradient[k]);
            self.gap += weights[k] * (self.top[part_of[k]] - self.gradient[k]);
        }
        self.noise = f64::EPSILON * parts as f64 * (steepest + curvature * largest * total);
    }

    /// The largest violation in the pool.
    pub(super) fn worst(&self) -> f64 {
        self.pool.iter().flatten().map(|c| c.violation).fold(0.0, f64::max)
    }

    /// Prices the pool alone, at weights that are stationary over the support: then the gradient
    /// of any member is the mean of its part, and the members' residuals are zero.
    pub(super) fn reprice(&mut self, problem: &Problem<'_>, support: &Support, weights: &[f64]) {
        self.compact.clear();
        self.compact.extend(support.members.iter().map(|&k| weights[k]));
        self.heaviest.clear();
        self.heaviest.resize(self.pool.len(), None);
        for &k in &support.members {
            self.residual[k] = 0.0;
            let best = &mut self.heaviest[problem.part_of[k]];
            if best.is_none_or(|best| weights[k] > weights[best]) {
                *best = Some(k);
            }
        }
        for (pool, heaviest) in self.pool.iter_mut().zip(&self.heaviest) {
            pool.retain(|candidate| !support.contains(candidate.plane));
            let Some(&heaviest) = heaviest.as_ref().filter(|_| !pool.is_empty()) else { continue };
            let level = gradient(problem, &support.members, &self.compact, heaviest);
            for candidate in pool {
                let here = gradient(problem, &support.members, &self.compact, candidate.plane);
                candidate.violation = here - level;
                self.residual[candidate.plane] = candidate.violation / problem.curvature;
            }
        }
    }

    /// Collects the planes that violate optimality by more than `tolerance`: the worst of each
    /// part, unless it is mild beside the worst of all, or only the worst of all.
    pub(super) fn collect(&mut self, tolerance: f64, only_the_worst: bool) {
        let worst = self.worst();
        let share = if only_the_worst { 1.0 } else { CANDIDATE_SHARE };
        self.candidates.clear();
        let enough = |c: &Candidate| c.violation > tolerance && c.violation >= share * worst;
        for pool in &self.pool {
            let best =
                pool.iter().copied().reduce(|a, b| if b.violation > a.violation { b } else { a });
            self.candidates.extend(best.filter(enough));
        }
        if only_the_worst {
            self.candidates.truncate(1);
        }
    }
}

/// `∇_j = b_j - κ (G α)_j` of one plane, from the weights of the members.
fn gradient(problem: &Problem<'_>, members: &[usize], weights: &[f64], plane: usize) -> f64 {
    let row = problem.gram.row(plane);
    let mut sums = [0.0; 4];
    let (fours, rest) = members.as_chunks::<4>();
    let (weight_fours, weight_rest) = weights.as_chunks::<4>();
    for (planes, weights) in fours.iter().zip(weight_fours) {
        for l in 0..4 {
            sums[l] += row[planes[l]] * weights[l];
        }
    }
    for (&k, &weight) in rest.iter().zip(weight_rest) {
        sums[0] += row[k] * weight;
    }
    problem.offsets[plane] - problem.curvature * ((sums[0] + sums[1]) + (sums[2] + sums[3]))
}

/// Puts a candidate into a pool of limited size, where it may take the place of the mildest.
fn keep_the_worst(pool: &mut Vec<Candidate>, candidate: Candidate) {
    if pool.len() < POOLED {
        pool.push(candidate);
    } else if let Some(mildest) =
        pool.iter_mut().reduce(|a, b| if b.violation < a.violation { b } else { a })
        && candidate.violation > mildest.violation
    {
        *mildest = candidate;
    }
}
