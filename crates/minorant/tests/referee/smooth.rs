//! The optimum of a problem whose losses are differentiable, by Newton's method in many bits. Kinks of
//! absolute weights and bounds cut the line of each weight into pieces: weights that rest between two of
//! them stay, the others move within the piece that they want to go to.

use super::number::{BITS, Number};
use super::solve::{self, Factor, dot};
use super::stated::{Shape, Stated, Weight};

const STEPS: usize = 100;

/// A weight that may move: its slope, and the ends of the piece that it moves in.
struct Free {
    at: usize,
    slope: Number,
    ends: [Option<Number>; 2],
}

/// The best weights, from a guess; whether they are the best to 1e-40.
pub(crate) fn optimum(stated: &Stated, guess: &[Number]) -> (Vec<Number>, bool) {
    let mut w: Vec<Number> =
        stated.weights.iter().zip(guess).map(|(weight, w)| weight.within(w)).collect();
    let mut objective = stated.objective(&w);
    for _ in 0..STEPS {
        let Some((gradient, hessian)) = derivatives(stated, &w) else { return (w, false) };
        let each = stated.weights.iter().zip(&w).zip(&gradient).enumerate();
        let free: Vec<Free> =
            each.filter_map(|(at, ((weight, w), slope))| piece(at, weight, w, slope)).collect();
        let Some(step) = newton_step(&free, &hessian) else { return (w, false) };
        let slopes: Vec<Number> = free.iter().map(|free| free.slope.clone()).collect();
        let promised = dot(&slopes, &step);
        if promised.is_zero() || promised.magnitude() < objective.magnitude() - 200 {
            return (w, true);
        }
        let mut found = None;
        for halvings in 0..40 {
            let trial = moved(&w, &free, &step, halvings);
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

/// The piece that a weight may move in; nothing where it rests on a kink or a bound.
fn piece(at: usize, weight: &Weight, w: &Number, gradient: &Number) -> Option<Free> {
    let kink = (!weight.slope.is_zero()).then(Number::zero);
    let breaks = || [&weight.least, &kink, &weight.greatest].into_iter().flatten();
    let below =
        |strictly: bool| breaks().filter(|end| *end < w || (!strictly && *end == w)).max().cloned();
    let above =
        |strictly: bool| breaks().filter(|end| *end > w || (!strictly && *end == w)).min().cloned();
    let up = if w.is_negative() { gradient - &weight.slope } else { gradient + &weight.slope };
    let down = if w.is_positive() { gradient + &weight.slope } else { gradient - &weight.slope };
    let may_rise = weight.greatest.as_ref() != Some(w);
    let may_fall = weight.least.as_ref() != Some(w);
    match () {
        () if may_rise && up.is_negative() => {
            Some(Free { at, slope: up, ends: [below(false), above(true)] })
        }
        () if may_fall && down.is_positive() => {
            Some(Free { at, slope: down, ends: [below(true), above(false)] })
        }
        () if breaks().any(|end| end == w) => None,
        () => Some(Free { at, slope: up, ends: [below(true), above(true)] }),
    }
}

/// w + 2^−halvings · step, where weights stop at the ends of their pieces.
fn moved(w: &[Number], free: &[Free], step: &[Number], halvings: i64) -> Vec<Number> {
    let mut trial = w.to_vec();
    for (free, step) in free.iter().zip(step) {
        let to = (&w[free.at] + &step.scaled(-halvings)).rounded(BITS);
        let [least, greatest] = free.ends.clone();
        trial[free.at] = Weight { least, greatest, ..Weight::free() }.within(&to);
    }
    trial
}

/// −H⁻¹ g on the free weights. Where H is singular, its diagonal is raised by ever more.
fn newton_step(free: &[Free], hessian: &[Vec<Number>]) -> Option<Vec<Number>> {
    let right: Vec<Number> = free.iter().map(|free| -&free.slope).collect();
    let free: Vec<usize> = free.iter().map(|free| free.at).collect();
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

/// The gradient and the lower half of the second derivatives, ‖w‖₁ left out; nothing where the scale is
/// 0, at which there are none.
fn derivatives(stated: &Stated, w: &[Number]) -> Option<(Vec<Number>, Vec<Vec<Number>>)> {
    let dim = stated.dim();
    let curvatures = || stated.weights.iter().map(|weight| &weight.curvature);
    let mut gradient: Vec<Number> =
        curvatures().zip(w).map(|(c, w)| c.times(w, solve::BITS)).collect();
    let mut hessian: Vec<Vec<Number>> = (0..dim).map(|at| vec![Number::zero(); at + 1]).collect();
    for (at, c) in curvatures().enumerate() {
        hessian[at][at] = c.clone();
    }
    let sigma = match &stated.shape {
        Shape::Scaled(delta) => stated.scaled(delta, w).0,
        _ => Number::whole(1),
    };
    if !sigma.is_positive() {
        return None;
    }
    // What the slope in the scale changes by with each weight, and with the scale.
    let (mut mixed, mut own) = (vec![Number::zero(); dim], Number::zero());
    let add = |to: &mut Number, x: &Number| *to = to.plus(x, solve::BITS);
    for example in stated.examples.iter().filter(|example| !example.weight.is_zero()) {
        let values: Vec<Number> = example.lines.iter().map(|line| line.at(w)).collect();
        // Each function's share of the slope, and the curvature along it.
        let shares = shares(stated, &values, &sigma);
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
                if let Shape::Scaled(_) = stated.shape {
                    let ratio = values[0].over(&sigma, BITS);
                    add(&mut mixed[*at], &along.times(&ratio, BITS));
                }
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
        if let (Shape::Scaled(_), (_, curvature)) = (&stated.shape, &shares[0]) {
            let ratio = values[0].over(&sigma, BITS);
            let square = ratio.times(&ratio, BITS);
            add(&mut own, &curvature.times(&example.weight, BITS).times(&square, BITS));
        }
        gradient.iter_mut().zip(&mean).for_each(|(to, x)| add(to, x));
    }
    if own.is_positive() {
        for at in 0..dim {
            let along = mixed[at].over(&own, BITS);
            for other in 0..=at {
                let product = -&along.times(&mixed[other], BITS);
                add(&mut hessian[at][other], &product);
            }
        }
    }
    Some((gradient, hessian))
}

/// First and second derivative of the loss in each function (for log Σ exp without what the
/// derivatives in two different functions have in common; of functions whose maximum is squared, one at
/// most is above 0).
fn shares(stated: &Stated, values: &[Number], sigma: &Number) -> Vec<(Number, Number)> {
    let zero = || (Number::zero(), Number::zero());
    let one = Number::whole(1);
    match &stated.shape {
        Shape::Maximum => unreachable!("a maximum has kinks"),
        Shape::Square => {
            let share = |value: &Number| (value.scaled(1), Number::whole(2));
            let is_above = |value: &Number| value.is_positive();
            values.iter().map(|u| if is_above(u) { share(u) } else { zero() }).collect()
        }
        Shape::HalfSquare => vec![(values[0].clone(), one)],
        Shape::Huber(delta) if values[0].abs() <= *delta => vec![(values[0].clone(), one)],
        Shape::Scaled(delta) if values[0].abs() <= delta.times(sigma, BITS) => {
            vec![(values[0].over(sigma, BITS), one.over(sigma, BITS))]
        }
        Shape::Huber(delta) | Shape::Scaled(delta) => {
            let slope = if values[0].is_negative() { -delta } else { delta.clone() };
            vec![(slope, Number::zero())]
        }
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
