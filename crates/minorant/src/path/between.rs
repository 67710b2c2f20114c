//! What is proven for every λ between two neighbours of a path. Weights w have the objective
//! λ/2 ‖w‖² + R(w), affine in λ; a dual point's bound is concave in λ. So for one pair of them the
//! relative gap 1 − bound/objective is quasi-convex in λ and largest at an end of an interval.
//! Where two affine objectives cross, or two bounds, the better one changes: cut there, every piece
//! has one pair of its own, and the largest gap is at one of the cuts. Nothing here solves anything.

use crate::certificate::BoundOverLambda;

/// The weights of a point of the path and the dual points behind its bound, over λ.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    /// The point's own λ.
    pub(super) lambda: f64,
    /// The quadratic's share of λ.
    pub(super) share: f64,
    /// 2 Ω(w)/λ, added up over the problems: ‖θ ∘ (w − w_reg)‖² where there is the quadratic alone.
    pub(super) square: f64,
    /// R(w), added up over the problems.
    pub(super) risk: f64,
    /// The bound of each problem.
    pub(super) bounds: Vec<BoundOverLambda>,
}

/// Rounding in the gaps themselves.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

impl Pair {
    /// The objective of the weights at another λ.
    fn objective(&self, lambda: f64) -> f64 {
        0.5 * lambda * self.square + self.risk
    }
}

/// The relative gap at one λ: the better weights of two neighbours against the better bound of
/// each problem.
fn relative_gap(a: &Pair, b: &Pair, lambda: f64) -> f64 {
    let objective = a.objective(lambda).min(b.objective(lambda));
    let at = |pair: &Pair, bound: &BoundOverLambda| bound.at(pair.share * lambda);
    let better = |(of_a, of_b)| at(a, of_a).max(at(b, of_b));
    let bound: f64 = a.bounds.iter().zip(&b.bounds).map(better).sum();
    let gap = objective - bound;
    if gap <= 0.0 { 0.0 } else { gap / objective.abs() }
}

/// The largest relative gap of the better neighbour's weights at any λ from one neighbour's to the
/// other's, both included.
pub(super) fn largest_gap(a: &Pair, b: &Pair) -> f64 {
    let (lo, hi) = (a.lambda.min(b.lambda), a.lambda.max(b.lambda));
    let of_objectives = 2.0 * (b.risk - a.risk) / (a.square - b.square);
    if !a.bounds.iter().all(BoundOverLambda::is_quadratic) {
        // Where bounds cross is not known in closed form: each neighbour answers for its side, and its own
        // gap, relative to its objective, is largest at an end of that.
        let cut = of_objectives.max(lo).min(hi);
        let (low, high) = if a.lambda < b.lambda { (a, b) } else { (b, a) };
        let ends = [(low, lo), (low, cut), (high, cut), (high, hi)];
        let gaps = ends.into_iter().map(|(pair, lambda)| relative_gap(pair, pair, lambda));
        return gaps.fold(0.0, f64::max) + ROUNDING;
    }
    let of_bounds = a.bounds.iter().zip(&b.bounds).filter_map(|(a, b)| a.crossing(b));
    let cuts = of_bounds.chain([of_objectives]).filter(|cut| lo < *cut && *cut < hi);
    let gaps = cuts.chain([lo, hi]).map(|cut| relative_gap(a, b, cut));
    gaps.fold(0.0, f64::max) + ROUNDING
}
