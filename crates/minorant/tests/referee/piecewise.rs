//! The optimum of a problem whose losses are maxima of affine functions, by an active-set method on
//! its dual in 512 bits: every example distributes its weight over its functions, the optimum on
//! the functions in use comes from a linear system, functions whose share would turn negative leave
//! and the most violated one enters (Wolfe's method for the nearest point of a polytope, here of a
//! sum of polytopes). It ends after finitely many steps.
//!
//! Absolute weights and bounds are further examples: what steps over a bound costs more than it could
//! gain anywhere. Weights without a quadratic get a tiny one around the guess, which moves the optimum by
//! less than anybody sees.

use super::number::{Number, sum};
use super::solve::{BITS, Factor, dot};
use super::stated::{Affine, Example, Stated, Weight};

/// Steps after which the point found so far has to do.
const STEPS: usize = 400;

/// The power of ½ that a tiny quadratic is, beside the penalties.
const TINY: i64 = 90;

/// A function in use: its example, its number there, its share.
#[derive(Clone)]
struct Used {
    example: usize,
    line: usize,
    share: Number,
}

struct ActiveSet<'a> {
    stated: &'a Stated,
    /// The normal of each function of each example, one number a weight.
    normals: Vec<Vec<Vec<Number>>>,
    inverse: Vec<Number>,
    used: Vec<Used>,
}

/// The best weights, from a guess; whether they are proven to be the best to 1e-40 (or, where there is no
/// quadratic, as good as a tiny one allows).
pub(crate) fn optimum(stated: &Stated, guess: &[Number]) -> (Vec<Number>, bool) {
    let (shifted, centre) = around(stated, guess);
    let start: Vec<Number> = guess.iter().zip(&centre).map(|(w, c)| w - c).collect();
    let (w, is_proven) = search(&shifted, &start);
    let back = w.iter().zip(&centre).zip(&stated.weights);
    (back.map(|((w, c), weight)| weight.within(&(w + c))).collect(), is_proven)
}

/// The problem with its penalties as examples, and the centre around which it is stated.
fn around(stated: &Stated, guess: &[Number]) -> (Stated, Vec<Number>) {
    let mut all = stated.clone();
    let largest = stated.weights.iter().map(|weight| &weight.curvature + &weight.slope);
    let tiny = largest.max().unwrap_or_else(|| Number::whole(1)).scaled(-TINY);
    let mut centre = vec![Number::zero(); stated.dim()];
    for (at, weight) in all.weights.iter_mut().enumerate() {
        if weight.curvature.is_zero() {
            weight.curvature = tiny.clone();
            centre[at] = guess[at].clone();
        }
    }
    let of_weight = |at: usize, constant: Number, factor: i64| {
        let mut line = Affine::constant(constant);
        line.add(at, &Number::whole(factor));
        line
    };
    let flat = || Affine::constant(Number::zero());
    for (at, weight) in stated.weights.iter().enumerate() {
        if !weight.slope.is_zero() {
            let lines = vec![of_weight(at, Number::zero(), 1), of_weight(at, Number::zero(), -1)];
            all.examples.push(Example { weight: weight.slope.clone(), lines });
        }
        for (bound, sense) in [(&weight.least, -1), (&weight.greatest, 1)] {
            let Some(bound) = bound else { continue };
            // No loss and no penalty falls faster than this where the weight is at its bound.
            let steepest = stated.examples.iter().map(|example| {
                let terms = example.lines.iter().flat_map(|line| &line.terms);
                let own = terms.filter(|(own, _)| *own == at).map(|(_, x)| x.abs()).max();
                &example.weight * &own.unwrap_or_else(Number::zero).scaled(1)
            });
            let steepest = sum(steepest.collect::<Vec<_>>().iter());
            let curved = &(&weight.curvature + &tiny) * &(&bound.abs() + &centre[at].abs());
            let price = (&(&(&steepest + &curved) + &weight.slope) + &tiny).scaled(1);
            let beyond = of_weight(at, (bound * &Number::whole(-sense)).clone(), sense);
            all.examples.push(Example { weight: price, lines: vec![flat(), beyond] });
        }
    }
    for line in all.examples.iter_mut().flat_map(|example| &mut example.lines) {
        let shift = line.at(&centre);
        line.constant = shift;
    }
    for weight in &mut all.weights {
        *weight = Weight { curvature: weight.curvature.clone(), ..Weight::free() };
    }
    (all, centre)
}

fn search(stated: &Stated, guess: &[Number]) -> (Vec<Number>, bool) {
    let mut search = ActiveSet::new(stated, guess);
    for _ in 0..STEPS {
        search.settle();
        let w = search.weights();
        let Some((gap, entering)) = search.most_violated(&w) else { return (w, true) };
        let objective = stated.objective(&w);
        if gap.is_zero() || gap.magnitude() < objective.magnitude() - 200 {
            return (w, true);
        }
        search.used.push(entering);
    }
    (search.weights(), false)
}

impl<'a> ActiveSet<'a> {
    fn new(stated: &'a Stated, guess: &[Number]) -> Self {
        let dim = stated.dim();
        let normal = |terms: &[(usize, Number)]| {
            let mut normal = vec![Number::zero(); dim];
            terms.iter().for_each(|(at, factor)| normal[*at] = factor.clone());
            normal
        };
        let normals = stated.examples.iter();
        let normals =
            normals.map(|example| example.lines.iter().map(|l| normal(&l.terms)).collect());
        let one = Number::whole(1);
        let mut used = Vec::new();
        for (example, own) in stated.examples.iter().enumerate() {
            if own.weight.is_positive() {
                let values: Vec<Number> = own.lines.iter().map(|line| line.at(guess)).collect();
                let top =
                    (1..values.len()).fold(0, |t, l| if values[l] > values[t] { l } else { t });
                used.push(Used { example, line: top, share: own.weight.clone() });
            }
        }
        ActiveSet {
            stated,
            normals: normals.collect(),
            inverse: stated
                .weights
                .iter()
                .map(|weight| one.over(&weight.curvature, BITS))
                .collect(),
            used,
        }
    }

    /// w = −Σ share · normal / curvature.
    fn weights(&self) -> Vec<Number> {
        let mut w = vec![Number::zero(); self.stated.dim()];
        for used in &self.used {
            for (w, x) in w.iter_mut().zip(&self.normals[used.example][used.line]) {
                if !x.is_zero() {
                    *w = (&*w - &(&used.share * x)).rounded(BITS);
                }
            }
        }
        w.iter().zip(&self.inverse).map(|(w, inverse)| w.times(inverse, BITS)).collect()
    }

    /// The duality gap at `w`, and the function that contributes most to it; nothing where the
    /// functions in use are the highest everywhere.
    fn most_violated(&self, w: &[Number]) -> Option<(Number, Used)> {
        let (mut gap, mut worst): (Number, Option<(Number, Used)>) = (Number::zero(), None);
        for (example, own) in self.stated.examples.iter().enumerate() {
            let in_use = self.used.iter().filter(|used| used.example == example);
            let shares: Vec<(Number, usize)> =
                in_use.map(|used| (used.share.clone(), used.line)).collect();
            if shares.is_empty() {
                continue;
            }
            let values: Vec<Number> = own.lines.iter().map(|line| line.at(w)).collect();
            let top = (1..values.len()).fold(0, |t, l| if values[l] > values[t] { l } else { t });
            let lacks: Vec<Number> = shares
                .iter()
                .map(|(share, line)| share * &(&values[top] - &values[*line]))
                .collect();
            let lack = sum(lacks.iter());
            gap = &gap + &lack;
            let enters = !shares.iter().any(|(_, line)| *line == top);
            if enters && worst.as_ref().is_none_or(|(most, _)| lack > *most) {
                worst = Some((lack, Used { example, line: top, share: Number::zero() }));
            }
        }
        worst.map(|(_, used)| (gap, used))
    }

    /// The first function in use of an example, against which the others are counted.
    fn base(&self, example: usize) -> usize {
        self.used.iter().position(|used| used.example == example).expect("a function in use")
    }

    /// Moves the shares to the optimum on the functions in use, dropping those whose share ends at
    /// 0 on the way.
    fn settle(&mut self) {
        loop {
            let free: Vec<usize> =
                (0..self.used.len()).filter(|&at| self.base(self.used[at].example) != at).collect();
            let rows: Vec<Vec<Number>> = free.iter().map(|&at| self.difference(at)).collect();
            let gram: Vec<Vec<Number>> = (0..rows.len())
                .map(|i| (0..=i).map(|j| self.product(&rows[i], &rows[j])).collect())
                .collect();
            let (direction, is_ray) = match Factor::new(&gram) {
                Ok(factor) => {
                    let w = self.weights();
                    let rises: Vec<Number> =
                        free.iter().map(|&at| self.rise(at, &w).rounded(BITS)).collect();
                    (factor.solve(&rises), false)
                }
                // Shares that can move without moving w do, for as long as they can.
                Err(dependent) => {
                    let mut ray = vec![Number::zero(); free.len()];
                    ray[dependent] = Number::whole(1);
                    if let Ok(factor) = Factor::new(&gram[..dependent]) {
                        let solved = factor.solve(&gram[dependent][..dependent]);
                        ray.iter_mut().zip(solved).for_each(|(to, x)| *to = -&x);
                    }
                    let w = self.weights();
                    let rises: Vec<Number> = free.iter().map(|&at| self.rise(at, &w)).collect();
                    if dot(&rises, &ray).is_negative() {
                        ray = ray.iter().map(|x| -x).collect();
                    }
                    (ray, true)
                }
            };
            let mut change = vec![Number::zero(); self.used.len()];
            for (&at, by) in free.iter().zip(&direction) {
                let base = self.base(self.used[at].example);
                change[base] = &change[base] - by;
                change[at] = &change[at] + by;
            }
            // How far the shares can go until one of them is 0.
            let mut least: Option<(Number, usize)> = None;
            for (at, by) in change.iter().enumerate().filter(|(_, by)| by.is_negative()) {
                let far = self.used[at].share.over(&-by, BITS);
                if least.as_ref().is_none_or(|(known, _)| far < *known) {
                    least = Some((far, at));
                }
            }
            let one = Number::whole(1);
            let blocked = least.filter(|(far, _)| is_ray || *far < one);
            let step = blocked.as_ref().map_or(one, |(far, _)| far.clone());
            for (used, by) in self.used.iter_mut().zip(&change) {
                used.share = (&used.share + &(&step * by)).rounded(BITS);
            }
            let Some((_, leaves)) = blocked else { break };
            self.used.remove(leaves);
            self.used.iter_mut().filter(|used| used.share.is_negative()).for_each(|used| {
                used.share = Number::zero();
            });
            self.repair();
        }
    }

    /// Rounding moves the sums of shares by a little: the largest share takes what is missing.
    fn repair(&mut self) {
        for (example, own) in self.stated.examples.iter().enumerate() {
            let of_example = self.used.iter().filter(|used| used.example == example);
            let total = sum(of_example.map(|used| &used.share));
            let missing = &own.weight - &total;
            let mine = self.used.iter_mut().filter(|used| used.example == example);
            if let Some(largest) = mine.max_by(|a, b| a.share.cmp(&b.share)) {
                largest.share = &largest.share + &missing;
            }
        }
    }

    /// The normal of a function less that of its example's base.
    fn difference(&self, at: usize) -> Vec<Number> {
        let used = &self.used[at];
        let base = &self.used[self.base(used.example)];
        let normals = &self.normals[used.example];
        normals[used.line].iter().zip(&normals[base.line]).map(|(x, y)| x - y).collect()
    }

    fn product(&self, x: &[Number], y: &[Number]) -> Number {
        let nonzero = x.iter().zip(y).zip(&self.inverse);
        let nonzero = nonzero.filter(|((x, y), _)| !x.is_zero() && !y.is_zero());
        nonzero.fold(Number::zero(), |sum, ((x, y), inverse)| {
            (&sum + &(&(x * y) * inverse)).rounded(BITS)
        })
    }

    /// How much higher a function lies at `w` than its example's base.
    fn rise(&self, at: usize, w: &[Number]) -> Number {
        let used = &self.used[at];
        let lines = &self.stated.examples[used.example].lines;
        let base = self.used[self.base(used.example)].line;
        &lines[used.line].at(w) - &lines[base].at(w)
    }
}
