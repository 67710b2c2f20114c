//! Regression on random small problems of every loss, with targets from 10⁻⁶ to 10⁶: the bound lies below
//! the optimum and the objective above it, with Clarabel as the referee; gaps are certified whatever the
//! scale of the targets is; proofs hold, altered ones do not; answers have the same bits on any number of
//! threads and after a resume. `MINORANT_CAMPAIGN` runs so many problems of each loss instead of a sample.
#![allow(clippy::print_stderr)]

mod common;

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, ZeroConeT,
};
use common::Random;
use minorant::archive::Archive;
use minorant::data::{Dataset, Labels};
use minorant::family::linear::regression::{EPSILON, HUBER, LOSS, TAU};
use minorant::family::linear::{LinearForm, LossName};
use minorant::family::{Context, FittedModel, Settings, TrainReport, train};
use minorant::linalg::Matrix;
use minorant::options::common::{BIAS, LAMBDA, MAX_EVALS, SOLVER, TOL, WEIGHTS};
use minorant::path::{PathOptions, path};
use minorant::proof::Proof;
use minorant::risk::Cancel;
use minorant::solver::{Checkpoints, Status};
use rayon::ThreadPoolBuilder;

const LOSSES: [LossName; 6] = [
    LossName::Squares,
    LossName::Absolute,
    LossName::Quantile,
    LossName::EpsilonInsensitive,
    LossName::SquaredEpsilonInsensitive,
    LossName::Huber,
];
/// Problems of each loss unless `MINORANT_CAMPAIGN` says otherwise.
const SAMPLE: u64 = 60;

/// A problem: rows, targets of a middling size, and what a loss needs, before targets are scaled.
#[derive(Debug)]
struct Problem {
    loss: LossName,
    rows: Vec<Vec<f64>>,
    targets: Vec<f64>,
    weights: Option<Vec<f64>>,
    levels: Vec<f64>,
    epsilon: f64,
    delta: f64,
    lambda: f64,
    bias: Option<f64>,
    /// What targets are multiplied by.
    scale: f64,
}

impl Problem {
    fn random(loss: LossName, several: bool, random: &mut Random) -> Self {
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
            scale: random.pick(&[1e-6, 1e-3, 1.0, 1e3, 1e6]),
            rows,
        }
    }

    fn outputs(&self) -> usize {
        if self.loss == LossName::Quantile { self.levels.len() } else { 1 }
    }

    /// The power of the scale that the objective grows with, λ left as it is in squares and taken
    /// smaller by the scale in losses that grow like the targets.
    fn power(&self) -> i32 {
        match self.loss {
            LossName::Squares | LossName::SquaredEpsilonInsensitive | LossName::Huber => 2,
            _ => 1,
        }
    }

    fn data(&self) -> Dataset<'static> {
        let (n, d) = (self.rows.len(), self.rows[0].len());
        let features = Matrix::dense(n, d, self.rows.concat().into()).expect("a matrix");
        let targets: Vec<f64> = self.targets.iter().map(|y| self.scale * y).collect();
        Dataset { features, labels: Labels::of_targets(&targets) }
    }

    fn settings(&self) -> Settings {
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
        settings.put(&BIAS, self.bias);
        settings.put(&WEIGHTS, self.weights.clone());
        settings
    }

    /// The optimum at scale 1 by Clarabel, as its dual value and the objective at its weights. The excess
    /// is split into what costs nothing, what costs by its square, and what costs by its size, up and
    /// down; quantiles that cross cost by a further number.
    fn optimum(&self) -> Option<(f64, f64)> {
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
        let of_row = 4 * outputs + outputs - 1;
        let columns = d * outputs + n * of_row;
        let (mut square, mut linear) = (vec![0.0; columns], vec![0.0; columns]);
        square[..d * outputs].fill(self.lambda);
        let mut entries: (Vec<usize>, Vec<usize>, Vec<f64>) = Default::default();
        let mut right = Vec::new();
        let mut enter = |row: usize, at: usize, x: f64| {
            entries.0.push(row);
            entries.1.push(at);
            entries.2.push(x);
        };
        for i in 0..n {
            for k in 0..outputs {
                let (row, at) = (right.len(), d * outputs + i * of_row + 4 * k);
                let features = self.rows[i].iter().copied().chain(self.bias);
                features.enumerate().for_each(|(j, x)| enter(row, j * outputs + k, x));
                [-1.0, -1.0, -1.0, 1.0]
                    .into_iter()
                    .enumerate()
                    .for_each(|(p, x)| enter(row, at + p, x));
                right.push(self.targets[i]);
                if curve > 0.0 {
                    square[at + 1] = share(i) / curve;
                }
                let [up, down] = match self.loss {
                    LossName::Quantile => [1.0 - self.levels[k], self.levels[k]],
                    _ => sides.unwrap_or([0.0, 0.0]),
                };
                (linear[at + 2], linear[at + 3]) = (share(i) * up, share(i) * down);
            }
        }
        let equations = right.len();
        let mut at_most = |terms: &[(usize, f64)], most: f64| {
            terms.iter().for_each(|&(at, x)| enter(right.len(), at, x));
            right.push(most);
        };
        for i in 0..n {
            let first = d * outputs + i * of_row;
            for k in 0..outputs {
                let at = first + 4 * k;
                at_most(&[(at, 1.0)], bottom);
                at_most(&[(at, -1.0)], bottom);
                // What must not take part is held at 0.
                let end = |is_free: bool| if is_free { 1e9 } else { 0.0 };
                at_most(&[(at + 1, 1.0)], end(curve > 0.0));
                at_most(&[(at + 1, -1.0)], end(curve > 0.0));
                for side in [at + 2, at + 3] {
                    at_most(&[(side, -1.0)], 0.0);
                    at_most(&[(side, 1.0)], end(sides.is_some()));
                }
            }
            for k in 0..outputs - 1 {
                let (slack, features) =
                    (first + 4 * outputs + k, self.rows[i].iter().copied().chain(self.bias));
                let apart = features
                    .enumerate()
                    .flat_map(|(j, x)| [(j * outputs + k, x), (j * outputs + k + 1, -x)]);
                let terms: Vec<(usize, f64)> = apart.chain([(slack, -1.0)]).collect();
                at_most(&terms, 0.0);
                at_most(&[(slack, -1.0)], 0.0);
                linear[slack] = share(i);
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
        let w = solver.solution.x[..d * outputs].to_vec();
        let reached = self.objective(&w);
        let dual = solver.solution.obj_val_dual;
        (solver.solution.status == SolverStatus::Solved
            && (reached - dual).abs() <= 1e-7 * (reached.abs() + 1e-9))
            .then_some((dual, reached))
    }

    /// The objective at scale 1, by definition.
    fn objective(&self, w: &[f64]) -> f64 {
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
        0.5 * self.lambda * w.iter().map(|w| w * w).sum::<f64>() + risk
    }
}

fn fit(data: &Dataset<'_>, settings: &Settings) -> (FittedModel, TrainReport) {
    train(data, settings, Context::default()).expect("a fitted model")
}

fn solvers(loss: LossName, outputs: usize) -> Vec<&'static str> {
    let mut solvers =
        vec!["auto", "bmrm", "ls-bmrm", "ls-p-bmrm", "prox-bmrm", "sublbfgs", "hybrid", "nrbm"];
    if outputs == 1 {
        solvers.push("dual-cd");
    }
    if [LossName::Squares, LossName::SquaredEpsilonInsensitive, LossName::Huber].contains(&loss) {
        solvers.extend(["newton", "lbfgs"]);
    }
    solvers
}

/// Checks one problem; returns whether Clarabel could referee.
fn check(loss: LossName, several: bool, seed: u64) -> bool {
    let stream = seed.wrapping_mul(1_000_003) + 16 * loss as u64 + u64::from(several);
    let mut random = Random::new(stream);
    let problem = Problem::random(loss, several, &mut random);
    let (data, mut settings) = (problem.data(), problem.settings());
    let solver = random.pick(&solvers(loss, problem.outputs()));
    let tol = random.pick(&[1e-2, 1e-4, 1e-6]);
    settings.put(&SOLVER, solver.to_string());
    settings.put(&TOL, tol);
    settings.put(&MAX_EVALS, Some(2000));
    let (model, report) = fit(&data, &settings);
    let told = format!("{loss:?} seed {seed} {solver} tol {tol}: {problem:?} {report:?}");
    let (objective, bound) = (report.certificate.objective, report.certificate.lower_bound);
    let bound = bound.expect("a bound");
    let factor = problem.scale.powi(problem.power());
    let audit = model.audit(&data, problem.weights.as_deref());
    assert_eq!(audit.holds, Some(true), "{} {told}", audit.why);
    let form: &LinearForm = model.form_as().expect("a linear model");
    let at_one: Vec<f64> = form.problems[0].weights.iter().map(|w| w / problem.scale).collect();
    let plain = factor * problem.objective(&at_one);
    let at_zero = factor * problem.objective(&vec![0.0; at_one.len()]);
    assert!((objective - plain).abs() <= 1e-11 * (plain + at_zero), "{plain} {told}");
    match report.status {
        Status::Converged => {
            let enough = (tol * objective).max(1e-12 * at_zero * (1.0 + 1e-9));
            assert!(objective - bound <= enough, "{told}");
        }
        // Few planes at a time, and no line search, are slow on hard problems.
        Status::MaxEvals => assert!(!["auto", "newton", "ls-p-bmrm"].contains(&solver), "{told}"),
        Status::Stalled => assert!(tol < 1e-5 || objective <= 1e-9 * at_zero, "{told}"),
        _ => panic!("{told}"),
    }
    let Some((dual, reached)) = problem.optimum() else { return false };
    let slack = 1e-7 * factor * reached.abs() + 1e-10 * at_zero;
    assert!(bound <= factor * reached + slack, "bound above {} {told}", factor * reached);
    assert!(objective >= factor * dual - slack, "objective below {} {told}", factor * dual);
    true
}

#[test]
fn bounds_lie_below_the_optimum_and_objectives_above() {
    let cases = common::cases(SAMPLE, 2000);
    for (loss, several) in
        LOSSES.map(|loss| (loss, false)).into_iter().chain([(LossName::Quantile, true)])
    {
        let refereed = (0..cases).filter(|&seed| check(loss, several, seed)).count();
        eprintln!("{loss:?}, several {several}: {cases} problems, {refereed} refereed");
        assert!(refereed as u64 * 2 > cases, "{loss:?}: Clarabel gave up on most problems");
    }
}

/// A middling problem, large enough for many chunks.
fn larger(loss: LossName, several: bool) -> (Dataset<'static>, Settings) {
    let mut random = Random::new(loss as u64);
    let mut problem = Problem::random(loss, several, &mut random);
    let (n, d) = (3000, 9);
    problem.rows = (0..n).map(|_| random.normals(d)).collect();
    let truth = random.normals(d);
    let signal = |row: &Vec<f64>| row.iter().zip(&truth).map(|(x, w)| x * w).sum::<f64>();
    problem.targets = problem.rows.iter().map(|row| signal(row) + random.normal()).collect();
    (problem.lambda, problem.scale, problem.weights) = (1e-3, 1.0, None);
    (problem.data(), problem.settings().with(&TOL, 1e-6).with(&MAX_EVALS, Some(40)))
}

fn all() -> impl Iterator<Item = (LossName, bool, &'static str)> {
    let each = LOSSES.map(|loss| (loss, false)).into_iter().chain([(LossName::Quantile, true)]);
    each.flat_map(|(loss, several)| {
        let outputs = if several { 3 } else { 1 };
        solvers(loss, outputs).into_iter().map(move |solver| (loss, several, solver))
    })
}

#[test]
fn threads_do_not_change_a_bit() {
    for (loss, several, solver) in all() {
        let (data, settings) = larger(loss, several);
        let settings = settings.with(&SOLVER, solver.to_string());
        let bytes = [1, 2, 3, 8].map(|threads| {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| fit(&data, &settings).0.to_bytes(u64::MAX))
        });
        assert!(bytes.iter().all(|other| *other == bytes[0]), "{loss:?} {several} {solver}");
    }
}

/// Keeps the states of a run, and gives one of them to go on from.
#[derive(Default)]
struct States {
    kept: Vec<Archive>,
    first: Option<Archive>,
}

impl Checkpoints for States {
    fn resume(&mut self) -> Option<Archive> {
        self.first.take()
    }

    fn is_due(&mut self) -> bool {
        true
    }

    fn store(&mut self, archive: Archive) {
        self.kept.push(archive);
    }
}

#[test]
fn resumed_runs_end_in_the_same_bits() {
    for (loss, several, solver) in all() {
        let (data, settings) = larger(loss, several);
        let settings = settings.with(&SOLVER, solver.to_string());
        let mut states = States::default();
        let context = Context { checkpoints: Some(&mut states), ..Context::default() };
        let whole = train(&data, &settings, context).expect("a fitted model").0.to_bytes(u64::MAX);
        let Some(middle) = states.kept.get(states.kept.len() / 2) else { continue };
        let mut from = States { first: Some(middle.clone()), ..States::default() };
        let context = Context { checkpoints: Some(&mut from), ..Context::default() };
        let resumed = train(&data, &settings, context).expect("a fitted model").0;
        assert!(resumed.to_bytes(u64::MAX) == whole, "{loss:?} {several} {solver}");
    }
}

#[test]
fn altered_proofs_and_other_targets_are_rejected() {
    for (loss, several, solver) in all() {
        let (data, settings) = larger(loss, several);
        let settings = settings.with(&SOLVER, solver.to_string()).with(&TOL, 1e-2);
        let model = fit(&data, &settings).0;
        let holds = |model: &FittedModel, data: &Dataset<'_>| model.audit(data, None).holds;
        assert_eq!(holds(&model, &data), Some(true), "{loss:?} {several} {solver}");
        let mut targets = match &data.labels.rows {
            minorant::data::LabelRows::Numbers { values, .. } => values.clone(),
            _ => unreachable!("targets"),
        };
        targets[7] += 1e-9;
        let other =
            Dataset { features: data.features.clone(), labels: Labels::of_targets(&targets) };
        assert_eq!(holds(&model, &other), Some(false));
        let mut changed = model.clone();
        let bound = changed.facts.certificate.lower_bound.as_mut().expect("a bound");
        *bound += 1e-6 * bound.abs();
        let raised = changed.facts.certificate;
        let mut form = changed.form_as::<LinearForm>().expect("a linear model").clone();
        form.problems[0].certificate = raised;
        let changed = changed.with_form(Box::new(form));
        assert_eq!(holds(&changed, &data), Some(false), "{loss:?} {several} {solver}: raised");
        let mut changed = model.clone();
        match changed.proofs[0].as_mut().expect("a proof") {
            Proof::Slopes(slopes) => slopes.iter_mut().for_each(|c| *c = 1e3 * (*c + 0.1)),
            Proof::Points(points) => {
                points.iter_mut().for_each(|point| {
                    point.w = point.w.iter().map(|w| w + 0.5).collect();
                });
            }
            Proof::Outputs(_) => unreachable!("no structure"),
        }
        assert_eq!(holds(&changed, &data), Some(false), "{loss:?} {several} {solver}: altered");
    }
}

#[test]
fn targets_that_can_be_met_end_at_an_absolute_gap() {
    for loss in LOSSES {
        for scale in [1e-6, 1.0, 1e6] {
            let (mut rows, mut targets) = (Vec::new(), Vec::new());
            for i in 0..12 {
                rows.push(vec![f64::from(i), f64::from(i * i % 7)]);
                targets.push(scale * (2.0 * rows[i as usize][0] - rows[i as usize][1]));
            }
            let features = Matrix::dense(12, 2, rows.concat().into()).expect("a matrix");
            let data = Dataset { features, labels: Labels::of_targets(&targets) };
            let settings = Settings::new("regression")
                .expect("a model")
                .with(&LOSS, loss)
                .with(&LAMBDA, Some(1e-14 / if loss == LossName::Squares { 1.0 } else { scale }))
                .with(&MAX_EVALS, Some(5000));
            let (_, report) = fit(&data, &settings);
            let certificate = report.certificate;
            let gap = certificate.gap().expect("a bound");
            let at_zero = targets.iter().map(|y| y.abs()).sum::<f64>() / 12.0;
            let unit = if loss == LossName::Squares { at_zero * at_zero } else { at_zero };
            assert!(
                certificate.certifies(1e-3) || gap <= 1e-6 * unit,
                "{loss:?} {scale}: {report:?}"
            );
        }
    }
}

#[test]
fn paths_serve_every_lambda_in_between() {
    for (loss, several) in
        LOSSES.map(|loss| (loss, false)).into_iter().chain([(LossName::Quantile, true)])
    {
        let (data, settings) = larger(loss, several);
        let settings = settings.with(&TOL, 1e-3).with(&MAX_EVALS, None);
        let lambdas = [1.0, 0.1, 0.01];
        let wanted =
            PathOptions { lambdas: &lambdas, validation: Some(&data), start: None, fill: true };
        let found = path(&data, &settings, wanted, &Cancel::new(), &mut |_| {}).expect("a path");
        assert!(found.is_whole);
        for point in &found.points {
            assert!(point.report.certificate.certifies(1e-3), "{loss:?}: {:?}", point.report);
            assert_eq!(point.model.audit(&data, None).holds, Some(true));
            assert!(
                point.train_error.is_finite() && point.validation_error == Some(point.train_error)
            );
        }
        for between in &found.between {
            assert!(between.relative_gap.is_some_and(|gap| gap <= 3e-3), "{loss:?} {between:?}");
        }
    }
}

#[test]
fn evaluations_tell_errors_coverage_and_crossings() {
    let (data, settings) = larger(LossName::Quantile, true);
    let model = fit(&data, &settings).0;
    let evaluation = model.evaluate(&data).expect("an evaluation");
    let list = |key: &str| {
        let found = evaluation.lists.iter().find(|(name, _, _)| *name == key);
        found.map(|(_, _, numbers)| numbers.clone()).expect("a list")
    };
    let coverage = list("coverage");
    for (level, covered) in [0.1, 0.5, 0.9].into_iter().zip(&coverage) {
        assert!((level - covered).abs() < 0.05, "{coverage:?}");
    }
    assert_eq!(list("pinball").len(), 3);
    assert!(evaluation.count("crossings").expect("a count") < 30);
    let r2 = evaluation.get("r2").expect("a share");
    assert!(r2 > 0.5 && r2 < 1.0, "{r2}");
    let (mae, rmse) = (evaluation.get("mae"), evaluation.get("rmse"));
    assert!(mae.expect("an error") < rmse.expect("an error"));
}

#[test]
fn labels_of_another_kind_are_refused() {
    let rows = [[0.0], [1.0], [2.0]];
    let classes = Dataset::from_rows(&rows, &["a", "b", "a"]).expect("data");
    let targets =
        Dataset::from_rows(&rows, minorant::data::Targets(&[0.5, 1.0, 2.5])).expect("data");
    let told = |data: &Dataset<'_>, model: &str| {
        let settings = Settings::new(model).expect("a model");
        train(data, &settings, Context::default()).expect_err("a refusal").to_string()
    };
    assert!(told(&classes, "regression").contains("numbers as targets, found classes"));
    assert!(told(&targets, "svm").contains("for those train regression"));
    assert!(told(&targets, "tsvm").contains("not targets"));
    assert!(told(&targets, "robust-svm").contains("not targets"));
}
