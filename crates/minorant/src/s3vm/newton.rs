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

/// Takes Newton steps until one meets no kink: the coordinate at whose kink a step ends is free no
/// longer. Returns about how many operations that took, unless there was nothing to gain.
pub(super) fn finish(inner: &mut Inner<'_>, tol: f64) -> Option<usize> {
    let order = inner.beta.len();
    let is_free = |i: &usize| matches!(inner.state(*i), State::FreeLow | State::FreeHigh);
    let free: Vec<usize> = (0..order).filter(is_free).collect();
    if free.len() < 2 || free.len() > MOST || spread(&slopes(inner, &free)) <= 0.1 * tol {
        return None;
    }
    let mut face = Face::new(inner, free)?;
    let size = face.free.len();
    let mut operations = size * size * size / 3;
    let mut moved = false;
    while face.free.len() >= 2 {
        match face.step(inner, tol) {
            Step::None => break,
            Step::Full => return Some(operations),
            Step::Clipped => moved = true,
        }
        operations += 2 * face.free.len() * (order + 2 * face.free.len());
    }
    moved.then_some(operations)
}

enum Step {
    /// No free coordinate could gain anything.
    None,
    /// The minimiser on the free coordinates was reached.
    Full,
    /// A kink lay in the way.
    Clipped,
}

/// The slopes of J at free coordinates.
fn slopes(inner: &Inner<'_>, free: &[usize]) -> Vec<f64> {
    let slope =
        |&i: &usize| inner.outputs[i] + if inner.beta[i] < inner.mid[i] { -1.0 } else { 1.0 };
    free.iter().map(slope).collect()
}

/// The greatest less the least: 0 where a minimum on Σβ = 0 is reached.
fn spread(slopes: &[f64]) -> f64 {
    let ends = slopes.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), slope| {
        (low.min(*slope), high.max(*slope))
    });
    ends.1 - ends.0
}

/// The free coordinates, and the factor of their block of the kernel matrix.
struct Face {
    free: Vec<usize>,
    factor: GrowingCholesky,
}

impl Face {
    /// The face of these coordinates, unless work is to end before it is known.
    fn new(inner: &mut Inner<'_>, free: Vec<usize>) -> Option<Self> {
        let diagonal = inner.gram.diagonal();
        let largest = free.iter().map(|&i| diagonal[i]).fold(0.0, f64::max);
        let ridge = RIDGE * largest.max(FLAT);
        let mut factor = GrowingCholesky::new(0);
        for (at, &i) in free.iter().enumerate() {
            if inner.is_to_end() {
                return None;
            }
            let row = inner.gram.row(i);
            let mut cross: Vec<f64> = free[..at].iter().map(|&j| row[j]).collect();
            if factor.append(&mut cross, diagonal[i] + ridge, 0.5 * ridge, &[]).is_err() {
                factor.append_with_pivot(&cross, ridge.sqrt(), &[]);
            }
        }
        Some(Face { free, factor })
    }

    /// Goes to the minimiser, or as far as the first kink.
    fn step(&mut self, inner: &mut Inner<'_>, tol: f64) -> Step {
        let residual = slopes(inner, &self.free);
        if spread(&residual) <= 0.1 * tol {
            return Step::None;
        }
        let Some(direction) = self.direction(&residual) else { return Step::None };
        // K d, for the length of the step and for the outputs behind it.
        let mut change = vec![0.0; inner.beta.len()];
        for (&i, &d) in self.free.iter().zip(&direction) {
            if inner.is_to_end() {
                return Step::None;
            }
            axpy(d, &inner.gram.row(i), &mut change);
        }
        let fall = -dot(&residual, &direction);
        let bend: f64 = self.free.iter().zip(&direction).map(|(&i, d)| d * change[i]).sum();
        if fall <= 0.0 || fall.is_nan() {
            return Step::None;
        }
        let mut length = fall / bend.max(FLAT * dot(&direction, &direction));
        let mut blocked = None;
        for (at, (&i, &d)) in self.free.iter().zip(&direction).enumerate() {
            let (beta, mid) = (inner.beta[i], inner.mid[i]);
            let (low, high) =
                if beta < mid { (-inner.minus[i], mid) } else { (mid, inner.plus[i]) };
            let to = if d > 0.0 { high } else { low };
            let room = (to - beta) / d;
            if d != 0.0 && room < length {
                length = room.max(0.0);
                blocked = Some((at, to));
            }
        }
        for (&i, &d) in self.free.iter().zip(&direction) {
            inner.beta[i] += length * d;
        }
        axpy(length, &change, &mut inner.outputs);
        let Some((at, to)) = blocked else { return Step::Full };
        inner.beta[self.free[at]] = to;
        self.free.remove(at);
        self.factor.delete(at);
        Step::Clipped
    }

    /// The minimiser of rᵀd + ½ dᵀ(K + ridge)d on Σd = 0.
    fn direction(&self, residual: &[f64]) -> Option<Vec<f64>> {
        let solve = |mut x: Vec<f64>| {
            self.factor.forward(&mut x);
            self.factor.backward(&mut x);
            x
        };
        let of_residual = solve(residual.to_vec());
        let of_ones = solve(vec![1.0; residual.len()]);
        let nu = of_residual.iter().sum::<f64>() / of_ones.iter().sum::<f64>();
        let direction: Vec<f64> =
            of_residual.iter().zip(&of_ones).map(|(r, one)| nu * one - r).collect();
        // What rounding left of the sum must not add up over steps.
        let excess = direction.iter().sum::<f64>() / residual.len() as f64;
        let direction: Vec<f64> = direction.iter().map(|d| d - excess).collect();
        direction.iter().all(|d| d.is_finite()).then_some(direction)
    }
}
