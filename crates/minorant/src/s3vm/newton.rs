//! Newton steps for the inner problem: on the coordinates that lie between kinks J is a quadratic,
//! and one linear system gives its minimiser on Σβ = 0. Where the kernel is smooth, and its matrix
//! nearly singular, this ends what pairs of coordinates would take for ever. The system gets a
//! ridge of rounding size, so that duplicated points do no harm: the step stays a descent, and its
//! length is exact.

use super::inner::{FLAT, Inner, State};
use minorant_linalg::cholesky::GrowingCholesky;
use minorant_linalg::dense::{axpy, dot};

/// The ridge, relative to the largest diagonal entry.
const RIDGE: f64 = 1e-11;
/// Free coordinates beyond which the system would cost more than it saves.
const MOST: usize = 1500;
/// Steps before pairs have a turn again.
const STEPS: usize = 12;

/// Takes Newton steps until they meet no kink, or there were enough of them. Returns whether any
/// got anywhere.
pub(super) fn finish(inner: &mut Inner<'_>, tol: f64) -> bool {
    let mut moved = false;
    for _ in 0..STEPS {
        match step(inner, tol) {
            Step::None => return moved,
            Step::Full => return true,
            Step::Clipped => moved = true,
        }
    }
    moved
}

enum Step {
    /// There was nothing to gain.
    None,
    /// The minimiser on the free coordinates was reached.
    Full,
    /// A kink lay in the way.
    Clipped,
}

fn step(inner: &mut Inner<'_>, tol: f64) -> Step {
    let order = inner.beta.len();
    let is_free = |i: &usize| matches!(inner.state(*i), State::FreeLow | State::FreeHigh);
    let free: Vec<usize> = (0..order).filter(is_free).collect();
    if free.len() < 2 || free.len() > MOST {
        return Step::None;
    }
    let slope = |inner: &Inner<'_>, i: usize| {
        inner.outputs[i] + if inner.beta[i] < inner.mid[i] { -1.0 } else { 1.0 }
    };
    let residual: Vec<f64> = free.iter().map(|&i| slope(inner, i)).collect();
    let (low, high) = residual
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), r| (low.min(*r), high.max(*r)));
    if high - low <= 0.1 * tol {
        return Step::None;
    }
    let Some(direction) = direction(inner, &free, &residual) else { return Step::None };
    // K d, for the length of the step and for the outputs behind it.
    let mut change = vec![0.0; order];
    for (&i, &d) in free.iter().zip(&direction) {
        axpy(d, &inner.gram.row(i), &mut change);
    }
    let fall = -dot(&residual, &direction);
    let bend: f64 = free.iter().zip(&direction).map(|(&i, d)| d * change[i]).sum();
    if fall <= 0.0 || fall.is_nan() {
        return Step::None;
    }
    let mut length = fall / bend.max(FLAT * dot(&direction, &direction));
    let mut blocked = None;
    for (at, (&i, &d)) in free.iter().zip(&direction).enumerate() {
        let (beta, mid) = (inner.beta[i], inner.mid[i]);
        let (low, high) = if beta < mid { (-inner.minus[i], mid) } else { (mid, inner.plus[i]) };
        let to = if d > 0.0 { high } else { low };
        let room = (to - beta) / d;
        if d != 0.0 && room < length {
            length = room.max(0.0);
            blocked = Some((at, to));
        }
    }
    for (&i, &d) in free.iter().zip(&direction) {
        inner.beta[i] += length * d;
    }
    if let Some((at, to)) = blocked {
        inner.beta[free[at]] = to;
    }
    axpy(length, &change, &mut inner.outputs);
    if blocked.is_some() { Step::Clipped } else { Step::Full }
}

/// The minimiser of rᵀd + ½ dᵀ(K + ridge)d on Σd = 0.
fn direction(inner: &Inner<'_>, free: &[usize], residual: &[f64]) -> Option<Vec<f64>> {
    let diagonal = inner.gram.diagonal();
    let largest = free.iter().map(|&i| diagonal[i]).fold(0.0, f64::max);
    let ridge = RIDGE * largest.max(FLAT);
    let mut factor = GrowingCholesky::new(0);
    for (at, &i) in free.iter().enumerate() {
        let row = inner.gram.row(i);
        let mut cross: Vec<f64> = free[..at].iter().map(|&j| row[j]).collect();
        if factor.append(&mut cross, diagonal[i] + ridge, 0.5 * ridge, &[]).is_err() {
            factor.append_with_pivot(&cross, ridge.sqrt(), &[]);
        }
    }
    let solve = |mut x: Vec<f64>| {
        factor.forward(&mut x);
        factor.backward(&mut x);
        x
    };
    let of_residual = solve(residual.to_vec());
    let of_ones = solve(vec![1.0; free.len()]);
    let nu = of_residual.iter().sum::<f64>() / of_ones.iter().sum::<f64>();
    let direction: Vec<f64> =
        of_residual.iter().zip(&of_ones).map(|(r, one)| nu * one - r).collect();
    // What rounding left of the sum must not add up over steps.
    let excess = direction.iter().sum::<f64>() / free.len() as f64;
    let direction: Vec<f64> = direction.iter().map(|d| d - excess).collect();
    direction.iter().all(|d| d.is_finite()).then_some(direction)
}
