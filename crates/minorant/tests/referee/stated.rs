//! A training problem stated by affine functions of the weights, whatever the model: an example's
//! loss is a maximum, a square, a rounded hinge or log Σ exp of a list of them, or a loss of one
//! residual. Structures are lists of all their outputs. Objectives are exact, or right to 250 bits
//! where logarithms and roots are in them. Everything is multiplied by the sum of the example weights,
//! so that nothing is ever divided.

use super::number::{BITS, Number, sum};
use minorant::family::Settings;
use minorant::options::common::{L1_RATIO, LAMBDA, Norm, PENALTY};

/// How the affine functions of an example make its loss.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    /// Their maximum.
    Maximum,
    /// The square of the positive part of their maximum.
    Square,
    /// Half the square of the only one.
    HalfSquare,
    /// With u the only one and a width δ: ½u² as far as δ, δ|u| − ½δ² beyond.
    Huber(Number),
    /// With u the only one of each example and a scale σ that is the best for all of them: ½(σ + u²/σ)
    /// as far as δσ, and ½σ + δ|u| − ½δ²σ beyond.
    Scaled(Number),
    /// With u the only one and a width h: 0 below −h, (u + h)²/(4h) up to h, u beyond.
    Rounded(Number),
    /// log Σ exp.
    LogSum,
}

/// An affine function of the weights.
#[derive(Debug, Clone)]
pub(crate) struct Affine {
    pub(crate) constant: Number,
    /// Factors of weights, each weight at most once.
    pub(crate) terms: Vec<(usize, Number)>,
}

impl Affine {
    pub(crate) fn constant(constant: Number) -> Self {
        Affine { constant, terms: Vec::new() }
    }

    /// Adds a multiple of a weight.
    pub(crate) fn add(&mut self, at: usize, factor: &Number) {
        match self.terms.iter_mut().find(|(known, _)| *known == at) {
            Some((_, known)) => *known = &*known + factor,
            None => self.terms.push((at, factor.clone())),
        }
    }

    pub(crate) fn at(&self, w: &[Number]) -> Number {
        let products = self.terms.iter().map(|(at, factor)| factor * &w[*at]);
        products.fold(self.constant.clone(), |sum, product| &sum + &product)
    }
}

/// An example: what its loss counts, and the functions that make it.
#[derive(Debug, Clone)]
pub(crate) struct Example {
    pub(crate) weight: Number,
    pub(crate) lines: Vec<Affine>,
}

/// How a weight is penalised: ½ curvature w² + slope |w|, and nothing below or above its bounds.
#[derive(Debug, Clone)]
pub(crate) struct Weight {
    pub(crate) curvature: Number,
    pub(crate) slope: Number,
    pub(crate) least: Option<Number>,
    pub(crate) greatest: Option<Number>,
}

impl Weight {
    /// A weight that is not penalised at all.
    pub(crate) fn free() -> Self {
        Weight { curvature: Number::zero(), slope: Number::zero(), least: None, greatest: None }
    }

    /// total · λ (r |w| + (1 − r)/2 w²).
    pub(crate) fn of(settings: &Settings, total: &Number) -> Self {
        let lambda = Number::new(settings.get(&LAMBDA).expect("lambda is always given"));
        let ratio = match settings.get(&PENALTY) {
            Norm::L1 => 1.0,
            Norm::L2 => settings.get(&L1_RATIO).unwrap_or(0.0),
        };
        let (strength, ratio) = (total * &lambda, Number::new(ratio));
        let rest = &Number::whole(1) - &ratio;
        Weight { curvature: &strength * &rest, slope: &strength * &ratio, ..Weight::free() }
    }

    /// The nearest value that its bounds allow.
    pub(crate) fn within(&self, w: &Number) -> Number {
        match (&self.least, &self.greatest) {
            (Some(least), _) if w < least => least.clone(),
            (_, Some(greatest)) if w > greatest => greatest.clone(),
            _ => w.clone(),
        }
    }
}

/// Σ_j penalty_j(w_j) + Σ_i weight_i loss_i(w), which is `total` times the objective.
#[derive(Debug, Clone)]
pub(crate) struct Stated {
    pub(crate) shape: Shape,
    pub(crate) total: Number,
    pub(crate) weights: Vec<Weight>,
    pub(crate) examples: Vec<Example>,
}

/// The weights of a model as numbers.
pub(crate) fn exact(w: &[f64]) -> Vec<Number> {
    w.iter().map(|&w| Number::new(w)).collect()
}

impl Stated {
    pub(crate) fn dim(&self) -> usize {
        self.weights.len()
    }

    /// Whether all weights keep within their bounds.
    pub(crate) fn is_feasible(&self, w: &[Number]) -> bool {
        self.weights.iter().zip(w).all(|(weight, w)| weight.within(w) == *w)
    }

    /// `total` times the objective.
    pub(crate) fn objective(&self, w: &[Number]) -> Number {
        // Where all losses are powers of e, the sum might not fit the memory.
        match self.shape {
            Shape::LogSum => self.penalty(w).plus(&self.risk(w), 2 * BITS),
            _ => &self.penalty(w) + &self.risk(w),
        }
    }

    /// `total` times the regularizer.
    pub(crate) fn penalty(&self, w: &[Number]) -> Number {
        let each = self.weights.iter().zip(w).map(|(weight, w)| {
            let square = (&weight.curvature * &(w * w)).scaled(-1);
            if weight.slope.is_zero() { square } else { &square + &(&weight.slope * &w.abs()) }
        });
        sum(each.collect::<Vec<_>>().iter())
    }

    fn risk(&self, w: &[Number]) -> Number {
        if let Shape::Scaled(delta) = &self.shape {
            return self.scaled(delta, w).1;
        }
        let mut risk = Number::zero();
        for example in self.examples.iter().filter(|example| !example.weight.is_zero()) {
            let values: Vec<Number> = example.lines.iter().map(|line| line.at(w)).collect();
            let loss = &example.weight * &self.loss(&values);
            // Powers of e may lie further below than could be added up exactly.
            risk = if self.shape == Shape::LogSum { risk.plus(&loss, BITS) } else { &risk + &loss };
        }
        risk
    }

    /// The loss of an example from its functions' values.
    pub(crate) fn loss(&self, values: &[Number]) -> Number {
        let top = values.iter().max().cloned().unwrap_or_else(Number::zero);
        match &self.shape {
            Shape::Maximum => top,
            Shape::Square if top.is_positive() => &top * &top,
            Shape::Square => Number::zero(),
            Shape::HalfSquare => (&top * &top).scaled(-1),
            Shape::Huber(delta) if top.abs() <= *delta => (&top * &top).scaled(-1),
            Shape::Huber(delta) => delta * &(&top.abs() - &delta.scaled(-1)),
            Shape::Scaled(_) => unreachable!("a scale is that of all examples together"),
            Shape::Rounded(h) if top <= -h => Number::zero(),
            Shape::Rounded(h) if top >= *h => top,
            Shape::Rounded(h) => {
                let above = &top + h;
                (&above * &above).over(&h.scaled(2), 2 * BITS)
            }
            Shape::LogSum => {
                let at = values.iter().position(|value| *value == top).unwrap_or(0);
                let others = values.iter().enumerate().filter(|(other, _)| *other != at);
                let powers = others.map(|(_, value)| (value - &top).exp());
                let rest = powers.fold(Number::zero(), |sum, power| sum.plus(&power, BITS));
                top.plus(&rest.ln_1p(), BITS)
            }
        }
    }

    /// The best scale of all examples, and `total` times the risk with it. With A the sum of the squares
    /// of what lies as far as δσ, and B the weight of the rest, the scale is √(A / (total − δ²B)).
    pub(crate) fn scaled(&self, delta: &Number, w: &[Number]) -> (Number, Number) {
        let counted = self.examples.iter().filter(|example| !example.weight.is_zero());
        let mut sizes: Vec<(Number, &Number)> =
            counted.map(|example| (example.lines[0].at(w).abs(), &example.weight)).collect();
        sizes.sort_by(|a, b| a.0.cmp(&b.0));
        let square = delta * delta;
        let weights: Vec<&Number> = sizes.iter().map(|(_, weight)| *weight).collect();
        let mut rest = &self.total - &(&square * &sum(weights.into_iter()));
        let mut squares = Number::zero();
        let mut straight: Number =
            sum(sizes.iter().map(|(u, weight)| u * *weight).collect::<Vec<_>>().iter());
        for at in 0..=sizes.len() {
            let ends = sizes.get(at).is_none_or(|(u, _)| &square * &squares <= &(u * u) * &rest);
            if rest.is_positive() && ends {
                break;
            }
            let Some((u, weight)) = sizes.get(at) else { break };
            squares = &squares + &(&(u * u) * *weight);
            straight = &straight - &(u * *weight);
            rest = &rest + &(&square * *weight);
        }
        let sigma =
            if squares.is_zero() { Number::zero() } else { squares.over(&rest, BITS).root(BITS) };
        let curved = (&squares * &rest).root(BITS);
        (sigma, &curved + &(delta * &straight))
    }

    /// The value of the objective that a multiple by `total` stands for.
    pub(crate) fn plain(&self, objective: &Number) -> Number {
        objective.over(&self.total, BITS)
    }

    /// `total` times a claimed value.
    pub(crate) fn claimed(&self, value: f64) -> Number {
        &self.total * &Number::new(value)
    }
}

/// One example x of weight 1 with the loss of the shape at 1 − x w, and λ/2 w².
#[cfg(test)]
fn of_one_row(shape: Shape, x: f64, lambda: f64) -> Stated {
    let mut line = Affine::constant(Number::whole(1));
    line.add(0, &Number::new(-x));
    let zero = Affine::constant(Number::zero());
    let lines = if shape == Shape::Maximum { vec![zero, line] } else { vec![line] };
    Stated {
        shape,
        total: Number::whole(1),
        weights: vec![Weight { curvature: Number::new(lambda), ..Weight::free() }],
        examples: vec![Example { weight: Number::whole(1), lines }],
    }
}

#[test]
fn optima_of_one_row_are_known() {
    let guess = [Number::zero()];
    // The hinge: w = 1/x where that is less than x/λ.
    let stated = of_one_row(Shape::Maximum, 4.0, 0.5);
    let (w, is_proven) = super::piecewise::optimum(&stated, &guess);
    assert!(is_proven && (&w[0] - &Number::new(0.25)).magnitude() < -300, "{w:?}");
    assert!((&stated.objective(&w) - &Number::new(1.0 / 64.0)).magnitude() < -300);
    let stated = of_one_row(Shape::Maximum, 0.5, 2.0);
    assert_eq!(super::piecewise::optimum(&stated, &guess).0[0], Number::new(0.25));
    // The squared hinge: λ w = 2 x (1 − x w).
    let (w, is_proven) = super::smooth::optimum(&of_one_row(Shape::Square, 2.0, 8.0), &guess);
    assert!(is_proven && (&w[0] - &Number::new(0.25)).magnitude() < -200, "{w:?}");
}
