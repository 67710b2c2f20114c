//! Algorithm 2 of Yu et al.: a descent direction of quasi-Newton type at a point with kinks, which
//! minimises M(p) = ½ pᵀB⁻¹p + sup_{g ∈ ∂J} gᵀp (Eq. 11) by convex combinations of subgradients.

use minorant_linalg::dense::dot;

/// A direction along which the objective falls.
#[derive(Debug, Clone)]
pub(in crate::solver) struct Direction {
    /// p = −B ḡ.
    pub(in crate::solver) p: Vec<f64>,
    /// sup gᵀp over the subdifferential, below 0.
    pub(in crate::solver) slope: f64,
}

/// What the search for a direction came to.
#[derive(Debug)]
pub(in crate::solver) struct Found {
    /// The direction; nothing where the algorithm fails (Line 16).
    pub(in crate::solver) direction: Option<Direction>,
    /// Rounds through the loop (Lines 6 to 13).
    pub(in crate::solver) steps: u64,
}

/// How exactly and how long to search.
#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct Effort {
    /// ε.
    pub(in crate::solver) tolerance: f64,
    /// k_max.
    pub(in crate::solver) most: u64,
}

/// Finds a direction from the subgradient `g`. `times` multiplies with B, `steepest` gives the
/// subgradient with the largest inner product with a direction.
pub(in crate::solver) fn descent_direction(
    g: Vec<f64>,
    effort: Effort,
    times: impl Fn(&[f64]) -> Vec<f64>,
    steepest: impl Fn(&[f64]) -> Vec<f64>,
) -> Found {
    // Line 3: ḡ and p = −B ḡ.
    let mut mean = g;
    let mut p: Vec<f64> = times(&mean).into_iter().map(|v| -v).collect();
    let mut best: Option<(f64, Direction)> = None;
    let mut steps = 0;
    loop {
        // Lines 4 and 10.
        let next = steepest(&p);
        let (along_mean, along_next) = (dot(&p, &mean), dot(&p, &next));
        // M(p) = pᵀg⁽ⁱ⁺¹⁾ − ½ pᵀḡ, for ½ pᵀB⁻¹p = −½ pᵀḡ.
        let model = along_next - 0.5 * along_mean;
        if best.as_ref().is_none_or(|(least, _)| model < *least) {
            best = Some((model, Direction { p: p.clone(), slope: along_next }));
        }
        // Lines 5 and 11.
        let least = best.as_ref().map_or(model, |(least, _)| *least);
        let gap = least - 0.5 * along_mean;
        // Line 6.
        let wanted = (along_next > 0.0 || gap > effort.tolerance) && gap > 0.0;
        if !wanted || steps + 1 >= effort.most {
            break;
        }
        // Line 7: with B ḡ = −p the numerator is (g − ḡ)ᵀp.
        let b_next = times(&next);
        let apart: f64 = (0..p.len()).map(|i| (mean[i] - next[i]) * (-p[i] - b_next[i])).sum();
        let share = (along_next - along_mean) / apart;
        if share.is_nan() || share <= 0.0 {
            break;
        }
        let share = share.min(1.0);
        // Lines 8 and 9.
        for i in 0..p.len() {
            mean[i] += share * (next[i] - mean[i]);
            p[i] -= share * (p[i] + b_next[i]);
        }
        steps += 1;
    }
    // Lines 14 to 19.
    let direction = best.map(|(_, direction)| direction).filter(|found| found.slope < 0.0);
    Found { direction, steps }
}
