//! Training problems stated once more, as lists of affine functions, and solved by Clarabel.

use super::Case;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, ExponentialConeT, IPSolver, NonnegativeConeT,
    SolverStatus, SupportedConeT,
};
use minorant::data::LabelRows;
use minorant::family::linear::{BIAS_WEIGHT, CLASS_WEIGHT, LOSS, LossName, MULTICLASS, Multiclass};
use minorant::options::common::{
    BIAS, BOUNDS, INTERCEPT, L1_RATIO, LABEL_LOSS, NONNEGATIVE, Norm, PENALTY,
};

/// How the affine functions of an example make its loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Their maximum.
    Maximum,
    /// The square of their maximum.
    Square,
    /// log Σ exp.
    LogSum,
}

/// An affine function of the weights: constant and coefficients.
pub(crate) type Affine = (f64, Vec<(usize, f64)>);

/// λ/2 Σ θ² w² + λ₁ Σ |w| + Σ_i weight_i · shape(affine functions of example i), within bounds on the
/// weights. An intercept that is free stands behind the weights.
#[derive(Debug)]
pub(crate) struct Stated {
    pub(crate) shape: Shape,
    pub(crate) curvatures: Vec<f64>,
    pub(crate) l1: f64,
    /// Weights that are penalised.
    pub(crate) penalised: usize,
    pub(crate) ranges: Vec<(f64, f64)>,
    pub(crate) examples: Vec<(f64, Vec<Affine>)>,
}

/// The problems of a case: one, or one for each class.
pub(crate) fn state(case: &Case) -> Vec<Stated> {
    let (data, settings) = (&case.data, &case.settings);
    let (n, d) = (data.features.rows(), data.features.cols());
    let classes = data.labels.classes.len();
    let joint = case.kind.is_multilabel()
        || (!case.kind.is_binary() && settings.get(&MULTICLASS) == Multiclass::Joint);
    let k = if joint { classes } else { 1 };
    let example_weights = settings.example_weights();
    let class_weights = settings.get(&CLASS_WEIGHT);
    let bias = settings.get(&BIAS);
    let label_loss = settings.get(&LABEL_LOSS);
    let total: f64 = example_weights.as_ref().map_or(n as f64, |s| s.iter().sum());
    let lambda = settings.lambda(total).expect("a lambda");
    let weight = |i: usize| {
        let s = example_weights.as_ref().map_or(1.0, |s| s[i]);
        let label = |z: u32| &data.labels.classes[z as usize];
        let class = class_weights.iter().find(|(name, _)| match &data.labels.rows {
            LabelRows::Single(rows) => name == label(rows[i]),
            _ => false,
        });
        s * class.map_or(1.0, |(_, c)| *c) / total
    };
    let rows = d + usize::from(bias.is_some());
    let mut curvatures = vec![lambda; rows * k];
    if let Some(theta) = settings.get(&BIAS_WEIGHT) {
        curvatures[d * k..].fill(lambda * theta * theta);
    }
    let is_l1 = settings.get(&PENALTY) == Norm::L1;
    let ratio = if is_l1 { 1.0 } else { settings.get(&L1_RATIO).unwrap_or(0.0) };
    let l1 = lambda * ratio;
    curvatures.iter_mut().for_each(|curvature| *curvature *= 1.0 - ratio);
    let least = if settings.get(&NONNEGATIVE) { 0.0 } else { f64::NEG_INFINITY };
    let mut ranges = vec![(least, f64::INFINITY); d * k];
    for bound in settings.get(&BOUNDS).unwrap_or_default().chunks(3) {
        let column = bound[0] as usize - 1;
        for range in &mut ranges[column * k..(column + 1) * k] {
            *range = (range.0.max(bound[1]), bound[2]);
        }
    }
    let penalised = curvatures.len();
    let is_free = settings.get(&INTERCEPT).is_some();
    curvatures.resize(penalised + if is_free { k } else { 0 }, 0.0);
    ranges.resize(curvatures.len(), (f64::NEG_INFINITY, f64::INFINITY));
    // constant + Σ factor · f_z
    let affine = |i: usize, constant: f64, of: &[(usize, f64)]| -> Affine {
        let bias = bias.map(|b| (d, b));
        let free = is_free.then_some((rows, 1.0));
        let entries: Vec<(usize, f64)> = data.features.row(i).chain(bias).chain(free).collect();
        let terms = of.iter().flat_map(|&(z, factor)| {
            entries.iter().map(move |&(j, x)| (j * k + z, factor * x)).collect::<Vec<_>>()
        });
        (constant, terms.collect())
    };
    let delta = |truth: usize, other: usize| match &label_loss {
        Some(delta) => delta[truth * classes + other],
        None => f64::from(u8::from(truth != other)),
    };
    let logistic = settings.model() == "logistic";
    let pairs = |i: usize, truth: usize| -> Vec<Affine> {
        let each = (0..classes).map(|z| {
            let constant = if logistic { 0.0 } else { delta(truth, z) };
            let of: &[(usize, f64)] = if z == truth { &[] } else { &[(z, 1.0), (truth, -1.0)] };
            affine(i, constant, of)
        });
        each.collect()
    };
    let binary = |i: usize, positive: bool| -> Vec<Affine> {
        let sign = if positive { 1.0 } else { -1.0 };
        let constant = if logistic { 0.0 } else { 1.0 };
        vec![(0.0, Vec::new()), affine(i, constant, &[(0, -sign)])]
    };
    let shape = match (logistic, settings.get(&LOSS)) {
        (true, _) => Shape::LogSum,
        (_, LossName::SquaredHinge) => Shape::Square,
        _ => Shape::Maximum,
    };
    let make = |lines: &dyn Fn(usize) -> Vec<Affine>| Stated {
        shape,
        curvatures: curvatures.clone(),
        l1,
        penalised,
        ranges: ranges.clone(),
        examples: (0..n).map(|i| (weight(i), lines(i))).collect(),
    };
    match &data.labels.rows {
        LabelRows::Single(rows) if case.kind.is_binary() => {
            vec![make(&|i| binary(i, rows[i] == 1))]
        }
        LabelRows::Single(rows) if joint => vec![make(&|i| pairs(i, rows[i] as usize))],
        LabelRows::Single(rows) => {
            (0..classes).map(|class| make(&|i| binary(i, rows[i] as usize == class))).collect()
        }
        _ => vec![make(&|i| {
            let set = data.labels.row(i);
            let has = |z: usize| set.contains(&(z as u32));
            let mut lines = vec![(0.0, Vec::new())];
            for z in (0..classes).filter(|&z| has(z)) {
                for other in (0..classes).filter(|&z| !has(z)) {
                    lines.push(affine(i, delta(z, other), &[(other, 1.0), (z, -1.0)]));
                }
            }
            lines
        })],
    }
}

impl Stated {
    /// The objective at `w`, in plain sums.
    pub(crate) fn objective(&self, w: &[f64]) -> f64 {
        let quadratic: f64 = self.curvatures.iter().zip(w).map(|(c, w)| 0.5 * c * w * w).sum();
        let risk: f64 = self.examples.iter().map(|(s, lines)| s * self.loss(lines, w)).sum();
        quadratic + self.l1 * w[..self.penalised].iter().map(|w| w.abs()).sum::<f64>() + risk
    }

    fn loss(&self, lines: &[Affine], w: &[f64]) -> f64 {
        let value = |(constant, terms): &Affine| {
            constant + terms.iter().map(|&(at, factor)| factor * w[at]).sum::<f64>()
        };
        let top = lines.iter().map(value).fold(f64::NEG_INFINITY, f64::max);
        match self.shape {
            Shape::Maximum => top,
            Shape::Square => top * top,
            Shape::LogSum => {
                top + lines.iter().map(|line| (value(line) - top).exp()).sum::<f64>().ln()
            }
        }
    }

    /// How large the numbers are that the objective at `w` is summed up from: what its rounding
    /// errors are proportional to.
    pub(crate) fn magnitude(&self, w: &[f64]) -> f64 {
        let line = |(constant, terms): &Affine| {
            constant.abs() + terms.iter().map(|&(at, factor)| (factor * w[at]).abs()).sum::<f64>()
        };
        let loss = |lines: &[Affine]| {
            let top = lines.iter().map(line).fold(1.0, f64::max);
            if self.shape == Shape::Square { top * top } else { top }
        };
        self.examples.iter().map(|(s, lines)| s * loss(lines)).sum()
    }

    /// The objective at Clarabel's weights and its dual value, or nothing where it gives up.
    pub(crate) fn solve(&self) -> Option<(f64, f64)> {
        let (dim, n) = (self.curvatures.len(), self.examples.len());
        let mut program = Program { columns: dim + n, ..Program::default() };
        let mut diagonal: Vec<f64> = self.curvatures.clone();
        let mut linear = vec![0.0; dim];
        for (i, (s, lines)) in self.examples.iter().enumerate() {
            let slack = dim + i;
            match self.shape {
                Shape::Square => {
                    diagonal.push(2.0 * s);
                    linear.push(0.0);
                }
                _ => {
                    diagonal.push(0.0);
                    linear.push(*s);
                }
            }
            match self.shape {
                Shape::LogSum => program.log_sum(slack, lines),
                _ => program.above(slack, lines),
            }
        }
        diagonal.resize(program.columns, 0.0);
        linear.resize(program.columns, 0.0);
        if self.l1 > 0.0 {
            // |w_j| ≤ t_j, and λ Σ t_j in the objective.
            let first = program.columns;
            program.columns += self.penalised;
            for at in 0..self.penalised {
                let both = [(0.0, vec![(at, 1.0)]), (0.0, vec![(at, -1.0)])];
                program.above(first + at, &both);
            }
            diagonal.resize(program.columns, 0.0);
            linear.resize(program.columns, self.l1);
        }
        for (at, (least, greatest)) in self.ranges.iter().enumerate() {
            for (end, sense) in [(least, 1.0), (greatest, -1.0)] {
                if end.is_finite() {
                    program.row(-sense * end, [(at, sense)].into_iter());
                    program.cones.push(NonnegativeConeT(1));
                }
            }
        }
        let (mut x, dual) = program.solve(&diagonal, &linear)?;
        for (x, (least, greatest)) in x.iter_mut().zip(&self.ranges) {
            *x = x.clamp(*least, *greatest);
        }
        // Clarabel's own value is that of slacks which may be too small; this one is reached.
        let primal = self.objective(&x[..dim]);
        ((primal - dual).abs() <= 1e-7 * (1.0 + primal.abs())).then_some((primal, dual))
    }
}

/// A cone program that grows row by row: b − A x in the cones.
#[derive(Default)]
struct Program {
    columns: usize,
    entries: (Vec<usize>, Vec<usize>, Vec<f64>),
    right: Vec<f64>,
    cones: Vec<SupportedConeT<f64>>,
}

impl Program {
    /// Appends the row `constant + Σ terms`, as something that must lie in a cone.
    fn row(&mut self, constant: f64, terms: impl Iterator<Item = (usize, f64)>) {
        for (at, factor) in terms {
            self.entries.0.push(self.right.len());
            self.entries.1.push(at);
            self.entries.2.push(-factor);
        }
        self.right.push(constant);
    }

    /// slack ≥ every line.
    fn above(&mut self, slack: usize, lines: &[Affine]) {
        for (constant, terms) in lines {
            let terms = terms.iter().map(|&(at, factor)| (at, -factor));
            self.row(-constant, std::iter::once((slack, 1.0)).chain(terms));
        }
        self.cones.push(NonnegativeConeT(lines.len()));
    }

    /// Σ exp(line − slack) ≤ 1, one exponential cone a line.
    fn log_sum(&mut self, slack: usize, lines: &[Affine]) {
        let first = self.columns;
        self.columns += lines.len();
        self.row(1.0, (0..lines.len()).map(|l| (first + l, -1.0)));
        self.cones.push(NonnegativeConeT(1));
        for (l, (constant, terms)) in lines.iter().enumerate() {
            self.row(*constant, terms.iter().copied().chain(std::iter::once((slack, -1.0))));
            self.row(1.0, std::iter::empty());
            self.row(0.0, std::iter::once((first + l, 1.0)));
            self.cones.push(ExponentialConeT());
        }
    }

    fn solve(self, diagonal: &[f64], linear: &[f64]) -> Option<(Vec<f64>, f64)> {
        let n = self.columns;
        let p = CscMatrix::new_from_triplets(
            n,
            n,
            (0..n).collect(),
            (0..n).collect(),
            diagonal.to_vec(),
        );
        let (rows, columns, values) = self.entries;
        let a = CscMatrix::new_from_triplets(self.right.len(), n, rows, columns, values);
        let settings = DefaultSettingsBuilder::default()
            .verbose(false)
            .max_threads(1)
            .tol_gap_abs(1e-10)
            .tol_gap_rel(1e-10)
            .tol_feas(1e-10)
            .build()
            .ok()?;
        let mut solver =
            DefaultSolver::new(&p, linear, &a, &self.right, &self.cones, settings).ok()?;
        solver.solve();
        let solution = &solver.solution;
        (solution.status == SolverStatus::Solved)
            .then(|| (solution.x.clone(), solution.obj_val_dual))
    }
}
