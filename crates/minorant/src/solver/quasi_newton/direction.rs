//! Algorithm 2 of Yu et al.: a descent direction of quasi-Newton type at a point with kinks, by
//! minimising M(p) = ½ pᵀB⁻¹p + sup_{g ∈ ∂J} gᵀp (Eq. 10) through ever tighter lower bounds.

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
    /// The direction, unless there is none.
    pub(in crate::solver) direction: Option<Direction>,
    /// ḡᵀBḡ of the last aggregated subgradient: twice what the model could still gain.
    pub(in crate::solver) size: f64,
    /// Rounds through the loop (Lines 6 to 13).
    pub(in crate::solver) steps: u64,
}

/// How long and how exactly to search.
#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct Effort {
    /// ε.
    pub(in crate::solver) tolerance: f64,
    /// k_max.
    pub(in crate::solver) most: u64,
}

/// Finds a direction from the subgradient `g`. `times` multiplies with B, `steepest` gives the
/// subgradient with the largest inner product with a direction.
pub(in crate::solver) fn descent_direction<E>(
    g: &[f64],
    effort: Effort,
    times: impl Fn(&[f64]) -> Vec<f64>,
    mut steepest: impl FnMut(&[f64]) -> Result<Vec<f64>, E>,
) -> Result<Found, E> {
    // Line 3. Below `p_mean` is p⁽ⁱ⁾ᵀ ḡ⁽ⁱ⁾ = −ḡᵀBḡ and `p_next` is p⁽ⁱ⁾ᵀ g⁽ⁱ⁺¹⁾.
    let mut mean = g.to_vec();
    let mut p: Vec<f64> = times(g).iter().map(|v| -v).collect();
    let mut p_mean = dot(&p, &mean);
    // Lines 4 and 5.
    let mut next = steepest(&p)?;
    let mut p_next = dot(&p, &next);
    // min over j of p⁽ʲ⁾ᵀg⁽ʲ⁺¹⁾ − ½ p⁽ʲ⁾ᵀḡ⁽ʲ⁾ = M(p⁽ʲ⁾), and where it is attained.
    let mut best = (p_next - 0.5 * p_mean, Direction { p: p.clone(), slope: p_next });
    let mut gap = best.0 - 0.5 * p_mean;
    let mut steps = 0;
    // Line 6; i = steps + 1.
    while (p_next > 0.0 || gap > effort.tolerance) && gap > 0.0 && steps + 1 < effort.most {
        // Line 7, with −p for B ḡ.
        let b_next = times(&next);
        let numerator = p_next - p_mean;
        let cross = -p_next;
        let denominator = dot(&next, &b_next) - p_mean - 2.0 * cross;
        if numerator.is_nan() || denominator.is_nan() || denominator <= 0.0 {
            break;
        }
        let mu = (numerator / denominator).min(1.0);
        // Lines 8 and 9.
        for ((mean, p), (g, b)) in mean.iter_mut().zip(&mut p).zip(next.iter().zip(&b_next)) {
            *mean += mu * (g - *mean);
            *p -= mu * (b + *p);
        }
        p_mean = dot(&p, &mean);
        // Lines 10 and 11.
        next = steepest(&p)?;
        p_next = dot(&p, &next);
        let model = p_next - 0.5 * p_mean;
        if model < best.0 {
            best = (model, Direction { p: p.clone(), slope: p_next });
        }
        let closer = best.0 - 0.5 * p_mean;
        steps += 1;
        // In exact arithmetic the bound falls in every round (Theorem 7).
        if mu == 0.0 || (closer >= gap && p_next <= 0.0) {
            break;
        }
        gap = closer;
    }
    // Lines 14 to 19.
    let direction = Some(best.1).filter(|d| d.slope < 0.0 && d.slope.is_finite());
    Ok(Found { direction, size: -p_mean, steps })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn find(points: &[Vec<f64>], scales: &[f64], first: usize) -> Found {
        let times = |v: &[f64]| v.iter().zip(scales).map(|(v, b)| v * b).collect();
        let steepest = |p: &[f64]| {
            let best = points.iter().max_by(|a, b| dot(a, p).total_cmp(&dot(b, p)));
            Ok::<_, Infallible>(best.cloned().unwrap_or_default())
        };
        let effort = Effort { tolerance: 1e-9, most: 100_000 };
        let Ok(found) = descent_direction(&points[first], effort, times, steepest);
        found
    }

    /// The toy of §2.1.1 at (0, 0.9): ∂f is the segment from (−10, 1) to (10, 1), and the
    /// direction has no x component whatever subgradient it starts from.
    #[test]
    fn the_toy_leads_straight_to_its_optimum() {
        let points = [vec![-10.0, 1.0], vec![10.0, 1.0]];
        for first in [0, 1] {
            let direction = find(&points, &[1.0, 1.0], first).direction.unwrap();
            assert!(direction.p[0].abs() < 1e-12 && (direction.p[1] + 1.0).abs() < 1e-12);
            assert!((direction.slope + 1.0).abs() < 1e-12);
        }
    }

    /// p = −B ḡ where ḡ has the least ḡᵀBḡ over the convex hull of the subgradients: for a
    /// segment in closed form, for triangles by brute force.
    #[test]
    fn it_minimises_over_the_subdifferential() {
        let number = |at: usize| ((at * 2_654_435_761) % 1_000_003) as f64 / 500_001.5 - 1.0;
        for case in 0..40 {
            let corners: Vec<Vec<f64>> = (0..3)
                .map(|c| vec![number(9 * case + c) + 0.4, number(500 + 7 * case + c), 0.3])
                .collect();
            let scales = [1.0, 0.5 + case as f64 / 10.0, 2.0];
            let size = |g: &[f64]| g.iter().zip(&scales).map(|(g, b)| b * g * g).sum::<f64>();
            let mut least = f64::INFINITY;
            let steps = 400;
            for i in 0..=steps {
                for j in 0..=steps - i {
                    let (a, b) = (i as f64 / steps as f64, j as f64 / steps as f64);
                    let mix = |k: usize| {
                        a * corners[0][k] + b * corners[1][k] + (1.0 - a - b) * corners[2][k]
                    };
                    least = least.min(size(&[mix(0), mix(1), mix(2)]));
                }
            }
            let found = find(&corners, &scales, case % 3);
            assert!((found.size - least).abs() <= 1e-4 * (1.0 + least), "{case}");
            let direction = found.direction.unwrap();
            // At the optimum sup gᵀp = −ḡᵀBḡ.
            assert!((direction.slope + least).abs() <= 1e-3 * (1.0 + least), "{case}");
        }
    }

    #[test]
    fn where_zero_is_a_subgradient_there_is_no_direction() {
        let points = [vec![-1.0, 0.0], vec![1.0, 0.0]];
        let found = find(&points, &[1.0, 1.0], 0);
        assert!(found.direction.is_none() && found.size < 1e-12);
    }
}
