//! The master's last resort: weight is moved between two planes of a part at a time, which converges
//! from anywhere whatever the inner products are, but slowly. `active_set.rs` is what does the work.

use minorant_linalg::dense::axpy;

use super::pricing::Problem;

/// Moves weight along pairs until every part's gap is below `tolerance` or `limit` steps are done.
/// `gradient` is `b - κ G α` and is kept up to date. Returns the number of steps.
pub(super) fn polish(
    problem: &Problem<'_>,
    weights: &mut [f64],
    gradient: &mut [f64],
    parts: usize,
    tolerance: f64,
    limit: usize,
) -> usize {
    for step in 0..limit {
        let Some((to, from)) = best_pair(problem, weights, gradient, parts, tolerance) else {
            return step;
        };
        let slope = gradient[to] - gradient[from];
        let bend = problem.curvature * squared_distance(problem, to, from);
        let move_by = if slope < bend * weights[from] { slope / bend } else { weights[from] };
        let (before_to, before_from) = (weights[to], weights[from]);
        weights[to] += move_by;
        weights[from] = (before_from - move_by).max(0.0);
        if weights[to] == before_to && weights[from] == before_from {
            return step;
        }
        axpy(-problem.curvature * move_by, problem.gram.row(to), gradient);
        axpy(problem.curvature * move_by, problem.gram.row(from), gradient);
    }
    limit
}

fn squared_distance(problem: &Problem<'_>, i: usize, j: usize) -> f64 {
    let gram = problem.gram;
    (gram.get(i, i) - 2.0 * gram.get(i, j) + gram.get(j, j)).max(0.0)
}

/// The steepest plane of each part, and the partner from which a step to it gains most.
fn best_pair(
    problem: &Problem<'_>,
    weights: &[f64],
    gradient: &[f64],
    parts: usize,
    tolerance: f64,
) -> Option<(usize, usize)> {
    let mut steepest: Vec<Option<usize>> = vec![None; parts];
    for (plane, &part) in problem.part_of.iter().enumerate() {
        if steepest[part].is_none_or(|best| gradient[plane] > gradient[best]) {
            steepest[part] = Some(plane);
        }
    }
    let mut best = None;
    let mut best_gain = 0.0;
    for (plane, &part) in problem.part_of.iter().enumerate() {
        let Some(to) = steepest[part] else { continue };
        let slope = gradient[to] - gradient[plane];
        if weights[plane] <= 0.0 || slope <= tolerance {
            continue;
        }
        let bend = problem.curvature * squared_distance(problem, to, plane);
        let length = if slope < bend * weights[plane] { slope / bend } else { weights[plane] };
        let gain = length * (slope - 0.5 * bend * length);
        if gain > best_gain {
            best_gain = gain;
            best = Some((to, plane));
        }
    }
    best
}
