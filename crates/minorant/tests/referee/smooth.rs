//! The optimum of a problem whose losses are differentiable, by Newton's method in many bits; with
//! λ‖w‖₁ on the weights that are not 0 and those that want to leave it, each in its orthant.

use super::number::{BITS, Number};
use super::solve::{self, Factor, dot};
use super::stated::{Shape, Stated};

const STEPS: usize = 100;

/// The best weights, from a guess; whether they are the best to 1e-40.
pub(crate) fn optimum(stated: &Stated, guess: &[Number]) -> (Vec<Number>, bool) {
    let mut w: Vec<Number> = guess.to_vec();
    let mut objective = stated.objective(&w);
    let has_kinks = !stated.l1.is_zero();
    for _ in 0..STEPS {
        let (mut gradient, hessian) = derivatives(stated, &w);
        let mut free: Vec<usize> = (0..stated.dim()).collect();
        let mut signs = vec![0; stated.dim()];
        if has_kinks {
            for at in 0..stated.dim() {
                signs[at] = match () {
                    () if w[at].is_positive() => 1,
                    () if w[at].is_negative() => -1,
                    () if gradient[at] > stated.l1 => -1,
                    () if gradient[at] < -&stated.l1 => 1,
                    () => 0,
                };
                gradient[at] = &gradient[at] + &(&stated.l1 * &Number::whole(signs[at]));
            }
            free.retain(|&at| signs[at] != 0);
        }
        let Some(step) = newton_step(&free, &gradient, &hessian) else { return (w, false) };
        let slopes: Vec<Number> = free.iter().map(|&at| gradient[at].clone()).collect();
        let promised = dot(&slopes, &step);
        if promised.is_zero() || promised.magnitude() < objective.magnitude() - 200 {
            return (w, true);
        }
        let mut found = None;
        for halvings in 0..40 {
            let trial = moved(&w, &free, &step, &signs, halvings);
            let value = stated.objective(&trial);
            if value < objective {
                found = Some((trial, value));
                break;
            }
        }
        match found {
            Some(better) => (w, objective) = better,
            None => return (w, promised.magnitude() < objective.magnitude() - 140),
        }
    }
    (w, false)
}

/// w + 2^−halvings · step, where weights that would change their sign stop at 0.
fn moved(
    w: &[Number],
    free: &[usize],
    step: &[Number],
    signs: &[i64],
    halvings: i64,
) -> Vec<Number> {
    let mut trial = w.to_vec();
    for (&at, step) in free.iter().zip(step) {
        let to = (&w[at] + &step.scaled(-halvings)).rounded(BITS);
        let crosses = (signs[at] > 0 && to.is_negative()) || (signs[at] < 0 && to.is_positive());
        trial[at] = if crosses { Number::zero() } else { to };
    }
    trial
}

/// −H⁻¹ g on the free weights. Where H is singular, its diagonal is raised by ever more.
fn newton_step(
    free: &[usize],
    gradient: &[Number],
    hessian: &[Vec<Number>],
) -> Option<Vec<Number>> {
    let right: Vec<Number> = free.iter().map(|&at| -&gradient[at]).collect();
    let largest = free.iter().map(|&at| hessian[at][at].clone()).max();
    for raise in [None, Some(-200), Some(-100), Some(-50), Some(-20)] {
        let mut matrix: Vec<Vec<Number>> = free
            .iter()
            .enumerate()
            .map(|(i, &at)| free[..=i].iter().map(|&other| hessian[at][other].clone()).collect())
            .collect();
        if let (Some(raise), Some(largest)) = (raise, &largest) {
            for (i, row) in matrix.iter_mut().enumerate() {
                let least = largest.scaled(-200);
                row[i] = &(&row[i] + &row[i].scaled(raise)) + &least;
            }
        }
        if let Ok(factor) = Factor::new(&matrix) {
            return Some(factor.solve(&right));
        }
    }
    None
}

/// The gradient and the lower half of the second derivatives, ‖w‖₁ left out.
fn derivatives(stated: &Stated, w: &[Number]) -> (Vec<Number>, Vec<Vec<Number>>) {
    let dim = stated.dim();
    let mut gradient: Vec<Number> =
        stated.curvatures.iter().zip(w).map(|(c, w)| c.times(w, solve::BITS)).collect();
    let mut hessian: Vec<Vec<Number>> = (0..dim).map(|at| vec![Number::zero(); at + 1]).collect();
    for (at, c) in stated.curvatures.iter().enumerate() {
        hessian[at][at] = c.clone();
    }
    let add = |to: &mut Number, x: &Number| *to = to.plus(x, solve::BITS);
    for example in stated.examples.iter().filter(|example| !example.weight.is_zero()) {
        let values: Vec<Number> = example.lines.iter().map(|line| line.at(w)).collect();
        // Each function's share of the slope, and the curvature along it.
        let shares = shares(stated, &values);
        let mut mean = vec![Number::zero(); dim];
        for (line, (slope, curvature)) in example.lines.iter().zip(&shares) {
            let (slope, curvature) =
                (slope.times(&example.weight, BITS), curvature.times(&example.weight, BITS));
            for (at, x) in &line.terms {
                add(&mut mean[*at], &slope.times(x, BITS));
                if curvature.is_zero() {
                    continue;
                }
                let along = curvature.times(x, BITS);
                for (other, y) in line.terms.iter().filter(|(other, _)| other <= at) {
                    add(&mut hessian[*at][*other], &along.times(y, BITS));
                }
            }
        }
        if stated.shape == Shape::LogSum {
            for at in (0..dim).filter(|&at| !mean[at].is_zero()) {
                let along = mean[at].over(&example.weight, BITS);
                for other in (0..=at).filter(|&other| !mean[other].is_zero()) {
                    let product = -&along.times(&mean[other], BITS);
                    add(&mut hessian[at][other], &product);
                }
            }
        }
        gradient.iter_mut().zip(&mean).for_each(|(to, x)| add(to, x));
    }
    (gradient, hessian)
}

/// First and second derivative of the loss in each function (for log Σ exp without what the
/// derivatives in two different functions have in common).
fn shares(stated: &Stated, values: &[Number]) -> Vec<(Number, Number)> {
    let zero = || (Number::zero(), Number::zero());
    let one = Number::whole(1);
    match &stated.shape {
        Shape::Maximum => unreachable!("a maximum has kinks"),
        Shape::Square if values[0].is_positive() => vec![(values[0].scaled(1), Number::whole(2))],
        Shape::Square => vec![zero()],
        Shape::Rounded(h) if values[0] <= -h => vec![zero()],
        Shape::Rounded(h) if values[0] >= *h => vec![(one, Number::zero())],
        Shape::Rounded(h) => {
            let slope = (&values[0] + h).over(&h.scaled(1), BITS);
            vec![(slope, one.over(&h.scaled(1), BITS))]
        }
        Shape::LogSum => {
            let top = values.iter().max().cloned().unwrap_or_else(Number::zero);
            let powers: Vec<Number> = values.iter().map(|value| (value - &top).exp()).collect();
            let total = powers.iter().fold(Number::zero(), |sum, power| sum.plus(power, BITS));
            let share = |power: &Number| power.over(&total, BITS);
            powers.iter().map(|power| (share(power), share(power))).collect()
        }
    }
}
