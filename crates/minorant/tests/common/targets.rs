//! Regression on random small problems: what is asked for, and a referee's answer by Clarabel.

use super::Random;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, ZeroConeT,
};
use minorant::data::{Dataset, Labels};
use minorant::family::Settings;
use minorant::family::linear::LossName;
use minorant::family::linear::regression::{EPSILON, HUBER, LOSS, TAU};
use minorant::linalg::Matrix;
use minorant::options::common::{
    BIAS, BOUNDS, INTERCEPT, Intercept, L1_RATIO, LAMBDA, NONNEGATIVE, WEIGHTS,
};

/// What is penalised besides squares, and which weights are allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Penalty {
    Squares,
    /// This share of the penalty is for absolute weights.
    Absolute(f64),
    NotNegative,
    /// Every weight but the constant feature's lies between −1 and this times the targets' scale.
    Box(f64),
}

/// A problem: rows, targets of a middling size, and what a loss needs, before targets are scaled.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) loss: LossName,
    pub(crate) rows: Vec<Vec<f64>>,
    pub(crate) targets: Vec<f64>,
    pub(crate) weights: Option<Vec<f64>>,
    pub(crate) levels: Vec<f64>,
    pub(crate) epsilon: f64,
    pub(crate) delta: f64,
    pub(crate) lambda: f64,
    pub(crate) bias: Option<f64>,
    pub(crate) penalty: Penalty,
    /// Whether the constant feature, which is 1 then, is an intercept that is not penalised.
    pub(crate) is_free: bool,
    /// What targets are multiplied by.
    pub(crate) scale: f64,
}

impl Problem {
    pub(crate) fn random(loss: LossName, several: bool, random: &mut Random) -> Self {
        let (n, d) = (random.between(2, 30), random.between(1, 8));
        let whole = random.chance(0.4);
        let number = |random: &mut Random| match whole {
            true => random.between(0, 6) as f64 - 3.0,
            false => random.normal(),
        };
        let rows: Vec<Vec<f64>> =
            (0..n).map(|_| (0..d).map(|_| number(random)).collect()).collect();
        let truth = random.normals(d);
        let noise = random.pick(&[0.0, 0.5, 2.0]);
        let target = |row: &Vec<f64>, random: &mut Random| {
            let signal: f64 = row.iter().zip(&truth).map(|(x, w)| x * w).sum();
            let outlier = if random.chance(0.1) { 20.0 * random.normal() } else { 0.0 };
            let y = signal + noise * random.normal() + outlier;
            if whole { y.round() } else { y }
        };
        let targets = rows.iter().map(|row| target(row, random)).collect();
        Problem {
            loss,
            targets,
            weights: random
                .chance(0.3)
                .then(|| (0..n).map(|i| random.between(usize::from(i == 0), 3) as f64).collect()),
            levels: if several {
                vec![0.1, 0.5, 0.9]
            } else {
                vec![random.pick(&[0.05, 0.5, 0.8])]
            },
            epsilon: random.pick(&[0.0, 0.1, 1.0]),
            delta: random.pick(&[0.3, 1.35]),
            lambda: random.scale(1e-4, 10.0),
            bias: random.chance(0.5).then_some(1.0),
            penalty: Penalty::Squares,
            is_free: false,
            scale: random.pick(&[1e-6, 1e-3, 1.0, 1e3, 1e6]),
            rows,
        }
    }

    pub(crate) fn outputs(&self) -> usize {
        if self.loss == LossName::Quantile { self.levels.len() } else { 1 }
    }

    /// The power of the scale that the objective grows with, λ left as it is in squares and taken
    /// smaller by the scale in losses that grow like the targets.
    pub(crate) fn power(&self) -> i32 {
        match self.loss {
            LossName::Squares | LossName::SquaredEpsilonInsensitive | LossName::Huber => 2,
            _ => 1,
        }
    }

    pub(crate) fn data(&self) -> Dataset<'static> {
        let (n, d) = (self.rows.len(), self.rows[0].len());
        let features = Matrix::dense(n, d, self.rows.concat().into()).expect("a matrix");
        let targets: Vec<f64> = self.targets.iter().map(|y| self.scale * y).collect();
        Dataset { features, labels: Labels::of_targets(&targets) }
    }

    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::new("regression").expect("a model").with(&LOSS, self.loss);
        match self.loss {
            LossName::Quantile => settings.put(&TAU, self.levels.clone()),
            LossName::EpsilonInsensitive | LossName::SquaredEpsilonInsensitive => {
                settings.put(&EPSILON, self.epsilon * self.scale);
            }
            LossName::Huber => settings.put(&HUBER, self.delta * self.scale),
            _ => {}
        }
        let lambda = if self.power() == 2 { self.lambda } else { self.lambda / self.scale };
        settings.put(&LAMBDA, Some(lambda));
        match self.is_free {
            true => settings.put(&INTERCEPT, Some(Intercept::Free)),
            false => settings.put(&BIAS, self.bias),
        }
        match self.penalty {
            Penalty::Squares => {}
            Penalty::Absolute(share) => settings.put(&L1_RATIO, Some(share)),
            Penalty::NotNegative => settings.put(&NONNEGATIVE, true),
            Penalty::Box(most) => {
                let of_column =
                    |j: usize| [j as f64 + 1.0, -self.scale, most * self.scale].into_iter();
                let bounds = (0..self.rows[0].len()).flat_map(of_column).collect();
                settings.put(&BOUNDS, Some(bounds));
            }
        }
        settings.put(&WEIGHTS, self.weights.clone());
        settings
    }

    /// The share of the penalty that is for absolute weights.
    fn absolute(&self) -> f64 {
        if let Penalty::Absolute(share) = self.penalty { share } else { 0.0 }
    }

    /// Whether a feature is the intercept that nothing penalises.
    fn is_intercept(&self, feature: usize) -> bool {
        self.is_free && feature == self.rows[0].len()
    }

    /// The least and the greatest weight of a feature.
    fn range(&self, feature: usize) -> (f64, f64) {
        match self.penalty {
            _ if feature == self.rows[0].len() => (f64::NEG_INFINITY, f64::INFINITY),
            Penalty::NotNegative => (0.0, f64::INFINITY),
            Penalty::Box(most) => (-1.0, most),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }

    /// The optimum at scale 1 by Clarabel, as its dual value and the objective at its weights. The excess
    /// is split into what costs nothing, what costs by its square, and what costs by its size, up and
    /// down; quantiles that cross cost by a further number.
    pub(crate) fn optimum(&self) -> Option<(f64, f64)> {
        let (n, outputs) = (self.rows.len(), self.outputs());
        let d = self.rows[0].len() + usize::from(self.bias.is_some());
        let total: f64 = self.weights.as_ref().map_or(n as f64, |weights| weights.iter().sum());
        let share = |i: usize| self.weights.as_ref().map_or(1.0, |weights| weights[i]) / total;
        // Slopes on both sides, what curves for each unit of slope, and the width of the bottom.
        let (sides, curve, bottom) = match self.loss {
            LossName::Squares => (None, 1.0, 0.0),
            LossName::Absolute => (Some([1.0, 1.0]), 0.0, 0.0),
            LossName::Quantile => (Some([0.0, 0.0]), 0.0, 0.0),
            LossName::EpsilonInsensitive => (Some([1.0, 1.0]), 0.0, self.epsilon),
            LossName::SquaredEpsilonInsensitive => (None, 0.5, self.epsilon),
            _ => (Some([self.delta, self.delta]), 1.0, 0.0),
        };
        let is_flat = bottom > 0.0;
        let (has_curve, has_sides) = (curve > 0.0, sides.is_some());
        // The parts of an excess that a loss has: how much of it lies in the bottom, on the curve, beyond.
        let of_output = usize::from(is_flat) + usize::from(has_curve) + 2 * usize::from(has_sides);
        let of_row = of_output * outputs + outputs - 1;
        let has_sizes = self.absolute() > 0.0;
        let first_size = d * outputs + n * of_row;
        let columns = first_size + if has_sizes { d * outputs } else { 0 };
        let (mut square, mut linear) = (vec![0.0; columns], vec![0.0; columns]);
        for j in (0..d).filter(|&j| !self.is_intercept(j)) {
            for at in j * outputs..(j + 1) * outputs {
                square[at] = self.lambda * (1.0 - self.absolute());
                if has_sizes {
                    linear[first_size + at] = self.lambda * self.absolute();
                }
            }
        }
        let mut entries: (Vec<usize>, Vec<usize>, Vec<f64>) = Default::default();
        let mut right = Vec::new();
        let mut enter = |row: usize, at: usize, x: f64| {
            entries.0.push(row);
            entries.1.push(at);
            entries.2.push(x);
        };
        let mut ranges = Vec::new();
        for i in 0..n {
            for k in 0..outputs {
                let (row, mut at) = (right.len(), d * outputs + i * of_row + of_output * k);
                let features = self.rows[i].iter().copied().chain(self.bias);
                features.enumerate().for_each(|(j, x)| enter(row, j * outputs + k, x));
                right.push(self.targets[i]);
                if is_flat {
                    enter(row, at, -1.0);
                    ranges.extend([(at, 1.0, bottom), (at, -1.0, bottom)]);
                    at += 1;
                }
                if has_curve {
                    enter(row, at, -1.0);
                    square[at] = share(i) / curve;
                    at += 1;
                }
                let [up, down] = match self.loss {
                    LossName::Quantile => [1.0 - self.levels[k], self.levels[k]],
                    _ => sides.unwrap_or([0.0, 0.0]),
                };
                if has_sides {
                    enter(row, at, -1.0);
                    enter(row, at + 1, 1.0);
                    (linear[at], linear[at + 1]) = (share(i) * up, share(i) * down);
                    ranges.extend([(at, -1.0, 0.0), (at + 1, -1.0, 0.0)]);
                }
            }
        }
        let equations = right.len();
        for (at, x, most) in ranges {
            enter(right.len(), at, x);
            right.push(most);
        }
        for i in 0..n {
            for k in 0..outputs - 1 {
                let slack = d * outputs + i * of_row + of_output * outputs + k;
                let features = self.rows[i].iter().copied().chain(self.bias);
                for (j, x) in features.enumerate() {
                    enter(right.len(), j * outputs + k, x);
                    enter(right.len(), j * outputs + k + 1, -x);
                }
                enter(right.len(), slack, -1.0);
                enter(right.len() + 1, slack, -1.0);
                right.extend([0.0, 0.0]);
                linear[slack] = share(i);
            }
        }
        let mut at_most = |terms: &[(usize, f64)], most: f64| {
            terms.iter().for_each(|&(at, x)| enter(right.len(), at, x));
            right.push(most);
        };
        for at in 0..d * outputs {
            let (least, greatest) = self.range(at / outputs);
            if least.is_finite() {
                at_most(&[(at, -1.0)], -least);
            }
            if greatest.is_finite() {
                at_most(&[(at, 1.0)], greatest);
            }
            if has_sizes {
                at_most(&[(at, 1.0), (first_size + at, -1.0)], 0.0);
                at_most(&[(at, -1.0), (first_size + at, -1.0)], 0.0);
            }
        }
        let all = (0..columns).collect::<Vec<_>>();
        let p = CscMatrix::new_from_triplets(columns, columns, all.clone(), all, square);
        let rows = right.len();
        let a = CscMatrix::new_from_triplets(rows, columns, entries.0, entries.1, entries.2);
        let cones = [ZeroConeT(equations), NonnegativeConeT(rows - equations)];
        let settings = DefaultSettingsBuilder::default()
            .verbose(false)
            .max_threads(1)
            .tol_gap_abs(1e-11)
            .tol_gap_rel(1e-11)
            .tol_feas(1e-11)
            .build()
            .ok()?;
        let mut solver = DefaultSolver::new(&p, &linear, &a, &right, &cones, settings).ok()?;
        solver.solve();
        let mut w = solver.solution.x[..d * outputs].to_vec();
        for (at, w) in w.iter_mut().enumerate() {
            let (least, greatest) = self.range(at / outputs);
            *w = w.clamp(least, greatest);
        }
        let reached = self.objective(&w);
        let dual = solver.solution.obj_val_dual;
        let is_solved =
            [SolverStatus::Solved, SolverStatus::AlmostSolved].contains(&solver.solution.status);
        (is_solved && (reached - dual).abs() <= 1e-7 * (reached.abs() + 1e-9))
            .then_some((dual, reached))
    }

    /// The objective at scale 1, by definition.
    pub(crate) fn objective(&self, w: &[f64]) -> f64 {
        let outputs = self.outputs();
        let total: f64 =
            self.weights.as_ref().map_or(self.rows.len() as f64, |weights| weights.iter().sum());
        let loss = |f: &[f64], y: f64| {
            let r = y - f[0];
            match self.loss {
                LossName::Squares => 0.5 * r * r,
                LossName::Absolute => r.abs(),
                LossName::Quantile => {
                    let own = f.iter().zip(&self.levels);
                    let own = own.map(|(f, t)| f64::max(t * (y - f), (t - 1.0) * (y - f)));
                    own.sum::<f64>() + f.windows(2).map(|f| (f[0] - f[1]).max(0.0)).sum::<f64>()
                }
                LossName::EpsilonInsensitive => (r.abs() - self.epsilon).max(0.0),
                LossName::SquaredEpsilonInsensitive => (r.abs() - self.epsilon).max(0.0).powi(2),
                _ if r.abs() <= self.delta => 0.5 * r * r,
                _ => self.delta * r.abs() - 0.5 * self.delta * self.delta,
            }
        };
        let mut risk = 0.0;
        for (i, row) in self.rows.iter().enumerate() {
            let mut f = vec![0.0; outputs];
            for (j, x) in row.iter().copied().chain(self.bias).enumerate() {
                (0..outputs).for_each(|k| f[k] += x * w[j * outputs + k]);
            }
            let weight = self.weights.as_ref().map_or(1.0, |weights| weights[i]);
            risk += weight / total * loss(&f, self.targets[i]);
        }
        let penalty = |(at, w): (usize, &f64)| match self.is_intercept(at / outputs) {
            true => 0.0,
            false => self.absolute() * w.abs() + (1.0 - self.absolute()) * 0.5 * w * w,
        };
        self.lambda * w.iter().enumerate().map(penalty).sum::<f64>() + risk
    }
}
