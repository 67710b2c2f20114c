//! Random problems for the tests: small, seeded, and nasty where it costs nothing (ties, repeated
//! and empty rows, empty label sets, weights of zero).
#![allow(dead_code)] // Each test file uses the part that it needs.

pub(crate) mod referee;
pub(crate) mod targets;

use minorant::data::{Dataset, Label, LabelKind, LabelRows, Labels};
use minorant::family::linear::{
    BIAS_WEIGHT, CLASS_WEIGHT, LOSS, LinearForm, LossName, MULTICLASS, Multiclass,
};
use minorant::family::{Context, FittedModel, Lambda, Settings, TrainError, TrainReport, train};
use minorant::linalg::{Matrix, Storage};
use minorant::options::common::{
    ABS_TOL, BIAS, LABEL_LOSS, MAX_EVALS, MEMORY, Norm, PARTS, PENALTY, SEED, SOLVER, TOL, WEIGHTS,
};
use minorant::options::reading::LABELS;
use minorant::options::{Key, Setting};
use minorant::solver::Method;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;

/// A seeded stream of random numbers.
pub(crate) struct Random(Pcg64Mcg);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(Pcg64Mcg::seed_from_u64(seed))
    }

    pub(crate) fn unit(&mut self) -> f64 {
        self.0.random()
    }

    /// A whole number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        self.0.random_range(low..=high)
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    pub(crate) fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }

    pub(crate) fn normals(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.normal()).collect()
    }

    /// Log-uniform between two positive numbers.
    pub(crate) fn scale(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + (high / low).ln() * self.unit()).exp()
    }

    pub(crate) fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.between(0, choices.len() - 1)].clone()
    }
}

/// How many cases to run: a sample, or with `MINORANT_CAMPAIGN` set all of them.
pub(crate) fn cases(sample: u64, campaign: u64) -> u64 {
    if std::env::var_os("MINORANT_CAMPAIGN").is_some() { campaign } else { sample }
}

/// The models that can be trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Hinge,
    SquaredHinge,
    Logistic,
    Multiclass,
    MulticlassLoss,
    Softmax,
    Multilabel,
    MultilabelLoss,
    OneVsRest,
    Ramp,
    MulticlassRamp,
    Transductive,
    MulticlassTransductive,
}

impl Kind {
    /// The kinds whose risk is not convex.
    pub(crate) const NON_CONVEX: [Kind; 4] =
        [Kind::Ramp, Kind::MulticlassRamp, Kind::Transductive, Kind::MulticlassTransductive];

    pub(crate) const ALL: [Kind; 9] = [
        Kind::Hinge,
        Kind::SquaredHinge,
        Kind::Logistic,
        Kind::Multiclass,
        Kind::MulticlassLoss,
        Kind::Softmax,
        Kind::Multilabel,
        Kind::MultilabelLoss,
        Kind::OneVsRest,
    ];

    pub(crate) fn is_binary(self) -> bool {
        let binary =
            [Kind::Hinge, Kind::SquaredHinge, Kind::Logistic, Kind::Ramp, Kind::Transductive];
        binary.contains(&self)
    }

    pub(crate) fn is_transductive(self) -> bool {
        matches!(self, Kind::Transductive | Kind::MulticlassTransductive)
    }

    pub(crate) fn is_multilabel(self) -> bool {
        matches!(self, Kind::Multilabel | Kind::MultilabelLoss)
    }
}

/// The methods that can be asked for.
pub(crate) const METHODS: [Method; 8] = [
    Method::Bmrm,
    Method::LmBmrm,
    Method::PBmrm,
    Method::ProxBmrm,
    Method::ProxPBmrm,
    Method::LsBmrm,
    Method::LsPBmrm,
    Method::Auto,
];

/// The methods for λ‖w‖₁.
pub(crate) const L1_METHODS: [Method; 3] = [Method::NewtonCd, Method::Owlqn, Method::OwlqnStar];

/// The same case with the penalty λ‖w‖₁, and logistic where it was something else.
pub(crate) fn with_l1(mut case: Case) -> Case {
    case.settings = of_model("logistic", &case.settings, &["bias-weight"]);
    case.put(&PENALTY, Norm::L1);
    case
}

/// What was given to one model, as far as another one takes it, but for some options.
pub(crate) fn of_model(model: &str, settings: &Settings, without: &[&str]) -> Settings {
    let mut other = Settings::new(model).expect("a model");
    for (name, value) in settings.given().filter(|(name, _)| !without.contains(name)) {
        let is_taken = other.entry().option(name).is_some();
        let is_there = name != SOLVER.spec.name
            || other.entry().solvers().contains(&settings.solver().as_str());
        if is_taken && is_there {
            other.set(name, value.clone()).expect("a value that was taken before");
        }
    }
    other
}

/// The methods that walk from point to point and prove a bound on the way.
pub(crate) const WALKING: [Method; 3] = [Method::SubBfgs, Method::SubLbfgs, Method::Hybrid];

/// Methods that promise a valid bound but not that they get anywhere.
pub(crate) const BASELINES: [Method; 4] =
    [Method::Gd, Method::SubGd, Method::Subgradient, Method::Sgd];

/// All methods for problems of a kind that get to the optimum.
pub(crate) fn methods_for(kind: Kind) -> Vec<Method> {
    let smooth = matches!(kind, Kind::SquaredHinge | Kind::Logistic | Kind::Softmax);
    let climbs = matches!(
        kind,
        Kind::Hinge | Kind::SquaredHinge | Kind::Logistic | Kind::Multiclass | Kind::MulticlassLoss
    );
    let more = [
        smooth.then_some(Method::Lbfgs),
        smooth.then_some(Method::Newton),
        climbs.then_some(Method::DualCd),
    ];
    METHODS.into_iter().chain(WALKING).chain(more.into_iter().flatten()).collect()
}

/// The methods for risks that are not convex.
pub(crate) const NON_CONVEX_METHODS: [Method; 7] = [
    Method::Nrbm,
    Method::NrbmLs,
    Method::NrbmLsFull,
    Method::ProxNrbm,
    Method::Nbm,
    Method::Lmbm,
    Method::Cccp,
];

/// What a random matrix looks like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Values {
    /// −2 to 2: ties everywhere.
    Whole,
    /// Multiples of 0.1: ties but for rounding.
    Tenths,
    /// Normal.
    Normal,
}

/// Random rows, some of them empty, some of them repeated.
pub(crate) fn rows(random: &mut Random, n: usize, d: usize, values: Values) -> Vec<Vec<f64>> {
    let density = random.pick(&[1.0, 0.7, 0.3]);
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for i in 0..n {
        let row = match random.between(0, 9) {
            0 => vec![0.0; d],
            1 if i > 0 => rows[random.between(0, i - 1)].clone(),
            _ => (0..d)
                .map(|_| {
                    if !random.chance(density) {
                        return 0.0;
                    }
                    match values {
                        Values::Whole => random.between(0, 4) as f64 - 2.0,
                        Values::Tenths => (random.between(0, 40) as f64 - 20.0) / 10.0,
                        Values::Normal => random.normal(),
                    }
                })
                .collect(),
        };
        rows.push(row);
    }
    rows
}

pub(crate) fn dense(rows: &[Vec<f64>], d: usize, storage: Storage) -> Matrix<'static> {
    Matrix::dense(rows.len(), d, storage.store(rows.concat())).expect("a matrix")
}

pub(crate) fn sparse(rows: &[Vec<f64>], d: usize, storage: Storage) -> Matrix<'static> {
    let (mut starts, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
    for row in rows {
        for (j, &x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            columns.push(j as u32);
            values.push(x);
        }
        starts.push(columns.len() as u64);
    }
    Matrix::csr(d, starts, columns, storage.store(values)).expect("a matrix")
}

/// Random labels of `n` rows over `classes` classes; every class occurs where `n` allows it.
pub(crate) fn labels(random: &mut Random, kind: Kind, n: usize, classes: usize) -> Labels {
    let rows = if kind.is_multilabel() {
        let (mut starts, mut items) = (vec![0], Vec::new());
        for _ in 0..n {
            let density = random.pick(&[0.0, 0.2, 0.5, 0.5, 0.8, 1.0]);
            items.extend((0..classes as u32).filter(|_| random.chance(density)));
            starts.push(items.len() as u64);
        }
        LabelRows::Sets { starts, items }
    } else {
        let each =
            |i: usize| if i < classes { i as u32 } else { random.between(0, classes - 1) as u32 };
        LabelRows::Single((0..n).map(each).collect())
    };
    let classes: Vec<Label> = if kind.is_binary() {
        vec![Label::Number(-1.0), Label::Number(1.0)]
    } else {
        (0..classes).map(|z| Label::Number(z as f64 + 1.0)).collect()
    };
    let labels = Labels { classes, rows };
    if kind.is_transductive() { without_most_labels(labels) } else { labels }
}

/// The same labels, but three of four rows have none: 0, between the negative and the positive.
fn without_most_labels(labels: Labels) -> Labels {
    let LabelRows::Single(rows) = labels.rows else { return labels };
    let mut classes = labels.classes;
    let at = classes.iter().take_while(|class| **class == Label::Number(-1.0)).count();
    classes.insert(at, Label::Number(0.0));
    let known = |(i, z): (usize, u32)| {
        let is_known = i < 8 || i % 4 == 0;
        if is_known { z + u32::from(z as usize >= at) } else { at as u32 }
    };
    Labels { classes, rows: LabelRows::Single(rows.into_iter().enumerate().map(known).collect()) }
}

/// A label loss with a zero diagonal; whole numbers (ties) or any.
pub(crate) fn label_loss(random: &mut Random, classes: usize) -> Vec<f64> {
    let whole = random.chance(0.5);
    let mut entry = |at: usize| match (at / classes == at % classes, whole) {
        (true, _) => 0.0,
        (_, true) => random.between(0, 3) as f64,
        _ => 2.0 * random.unit(),
    };
    (0..classes * classes).map(&mut entry).collect()
}

/// A data set and what to train on it.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) kind: Kind,
    pub(crate) data: Dataset<'static>,
    pub(crate) settings: Settings,
    pub(crate) start: Option<Vec<f64>>,
    pub(crate) to_rounding: bool,
}

impl Case {
    pub(crate) fn new(kind: Kind, data: Dataset<'static>, settings: Settings) -> Self {
        Case { kind, data, settings, start: None, to_rounding: false }
    }

    pub(crate) fn put<T: Setting>(&mut self, key: &Key<T>, value: T) {
        self.settings.put(key, value);
    }

    pub(crate) fn lambda(&mut self, lambda: f64) {
        self.settings.set_lambda(Lambda::Lambda(lambda));
    }

    pub(crate) fn solver(&mut self, method: Method) {
        self.put(&SOLVER, method.name().into());
    }

    pub(crate) fn tol(&mut self, tol: f64) {
        self.put(&TOL, tol);
    }

    pub(crate) fn abs_tol(&mut self, tol: f64) {
        self.put(&ABS_TOL, tol);
    }

    pub(crate) fn max_evals(&mut self, most: u64) {
        self.put(&MAX_EVALS, Some(most));
    }

    pub(crate) fn memory(&mut self, planes: usize) {
        self.put(&MEMORY, Some(planes));
    }

    pub(crate) fn parts(&mut self, parts: usize) {
        self.put(&PARTS, Some(parts));
    }

    pub(crate) fn seed(&mut self, seed: u64) {
        self.put(&SEED, seed);
    }

    pub(crate) fn weigh(&mut self, weights: Vec<f64>) {
        self.put(&WEIGHTS, Some(weights));
    }

    pub(crate) fn weights(&self) -> Option<Vec<f64>> {
        self.settings.example_weights()
    }

    /// Whether the audit confirms a model of this case.
    pub(crate) fn holds(&self, model: &FittedModel) -> bool {
        model.audit(&self.data, self.weights().as_deref()).holds == Some(true)
    }

    /// Trains, with whoever takes part.
    pub(crate) fn train(
        &self,
        context: Context<'_>,
    ) -> Result<(FittedModel, TrainReport), TrainError> {
        let (start, to_rounding) = (self.start.clone(), self.to_rounding);
        train(&self.data, &self.settings, Context { start, to_rounding, ..context })
    }
}

/// What a linear model holds beyond its facts.
pub(crate) fn form(model: &FittedModel) -> &LinearForm {
    model.form_as().expect("a linear model")
}

/// Changes what a linear model holds beyond its facts.
pub(crate) fn edit(model: &mut FittedModel, change: impl FnOnce(&mut LinearForm)) {
    let mut other = form(model).clone();
    change(&mut other);
    *model = model.with_form(Box::new(other));
}

/// The settings that make a model of this kind.
pub(crate) fn settings_of(kind: Kind, random: &mut Random, classes: usize) -> Settings {
    let mut model = match kind {
        Kind::Logistic | Kind::Softmax => "logistic",
        Kind::Ramp | Kind::MulticlassRamp => "ramp-svm",
        Kind::Transductive | Kind::MulticlassTransductive => "tsvm",
        _ => "svm",
    };
    let one_vs_rest = if kind == Kind::OneVsRest { random.between(0, 2) } else { 0 };
    if one_vs_rest == 2 {
        model = "logistic";
    }
    let mut settings = Settings::new(model).expect("a model");
    match kind {
        Kind::SquaredHinge => settings.put(&LOSS, LossName::SquaredHinge),
        Kind::Multiclass | Kind::Softmax => settings.put(&LABELS, Some(LabelKind::Multiclass)),
        Kind::MulticlassLoss | Kind::MultilabelLoss => {
            settings.put(&LABEL_LOSS, Some(label_loss(random, classes)));
        }
        Kind::OneVsRest => {
            settings.put(&LABELS, Some(LabelKind::Multiclass));
            settings.put(&MULTICLASS, Multiclass::OneVsRest);
            if one_vs_rest < 2 {
                settings.put(&LOSS, [LossName::Hinge, LossName::SquaredHinge][one_vs_rest]);
            }
        }
        _ => {}
    }
    settings
}

/// A small random problem: data, weights, bias and λ, but neither method nor tolerance.
pub(crate) fn random_case(kind: Kind, random: &mut Random) -> Case {
    let n = random.between(2, 40);
    let d = random.between(1, 12);
    let classes = if kind.is_binary() { 2 } else { random.between(2, 5.min(n)) };
    let values = random.pick(&[Values::Whole, Values::Tenths, Values::Normal]);
    let rows = rows(random, n, d, values);
    let storage = random.pick(&[Storage::Exact, Storage::F64]);
    let features =
        if random.chance(0.5) { dense(&rows, d, storage) } else { sparse(&rows, d, storage) };
    let labels = labels(random, kind, n, classes);
    let mut case =
        Case::new(kind, Dataset { features, labels }, settings_of(kind, random, classes));
    case.lambda(random.scale(1e-4, 10.0));
    if random.chance(0.5) {
        case.put(&BIAS, Some(random.pick(&[1.0, 0.5, -2.0, 10.0])));
        if random.chance(0.5) {
            case.put(&BIAS_WEIGHT, Some(random.scale(0.1, 10.0)));
        }
    }
    if random.chance(0.4) {
        let whole = random.chance(0.5);
        let mut weights: Vec<f64> = (0..n)
            .map(|_| if whole { random.between(0, 3) as f64 } else { random.scale(0.01, 100.0) })
            .collect();
        weights[0] += 1.0;
        case.weigh(weights);
    }
    if !kind.is_multilabel() && random.chance(0.3) {
        let mut class_weights = Vec::new();
        for label in &case.data.labels.classes {
            if random.chance(0.5) {
                class_weights.push((label.clone(), random.pick(&[0.0, 0.5, 1.0, 3.0, 10.0])));
            }
        }
        case.put(&CLASS_WEIGHT, class_weights);
    }
    case
}

/// A middling problem of one kind: enough rows for many chunks and some iterations.
pub(crate) fn larger_case(kind: Kind, n: usize, d: usize, seed: u64) -> Case {
    let mut random = Random::new(seed);
    let classes = if kind.is_binary() { 2 } else { 4 };
    let mut rows = rows(&mut random, n, d, Values::Normal);
    let labels = labels(&mut random, kind, n, classes);
    // Some signal, so that the optimum is not zero.
    for (i, row) in rows.iter_mut().enumerate() {
        for &z in labels.row(i) {
            row[z as usize % d] += if kind.is_transductive() { 0.3 } else { 1.0 };
        }
    }
    let features = sparse(&rows, d, Storage::F64);
    let settings = settings_of(kind, &mut random, classes);
    let mut case = Case::new(kind, Dataset { features, labels }, settings);
    case.lambda(1e-3);
    case.put(&BIAS, Some(1.0));
    case
}

/// Trains without observer, cancellation or checkpoints.
pub(crate) fn fit(case: &Case) -> (FittedModel, TrainReport) {
    case.train(Context::default()).expect("a fitted model")
}

/// |a − b| relative to 1 + |b|.
pub(crate) fn difference(a: f64, b: f64) -> f64 {
    (a - b).abs() / (1.0 + b.abs())
}
