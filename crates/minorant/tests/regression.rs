//! Regression on random small problems of every loss, with targets from 10⁻⁶ to 10⁶: the bound lies below
//! the optimum and the objective above it, with Clarabel as the referee; gaps are certified whatever the
//! scale of the targets is; proofs hold, altered ones do not; answers have the same bits on any number of
//! threads and after a resume. `MINORANT_CAMPAIGN` runs so many problems of each loss instead of a sample.
#![allow(clippy::print_stderr)]

mod common;

use common::Random;
use common::targets::{Penalty, Problem};
use minorant::archive::Archive;
use minorant::data::{Dataset, Labels};
use minorant::family::linear::regression::LOSS;
use minorant::family::linear::{LinearForm, LossName};
use minorant::family::{Context, FittedModel, Settings, TrainReport, train};
use minorant::linalg::Matrix;
use minorant::options::common::{BIAS, LAMBDA, MAX_EVALS, SOLVER, TOL};
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
    let solver = random.pick(&solvers(loss, problem.outputs()));
    check_problem(&problem, solver, &format!("{loss:?} seed {seed}"), &mut random)
}

/// The same with a penalty besides squares, or an intercept that is free.
fn check_penalised(loss: LossName, several: bool, seed: u64) -> bool {
    let stream = seed.wrapping_mul(1_000_003) + 16 * loss as u64 + 8 + u64::from(several);
    let mut random = Random::new(stream);
    let mut problem = Problem::random(loss, several, &mut random);
    let penalties = [
        Penalty::Squares,
        Penalty::Absolute(0.5),
        Penalty::Absolute(1.0),
        Penalty::NotNegative,
        Penalty::Box(0.5),
    ];
    problem.penalty = penalties[seed as usize % penalties.len()];
    problem.is_free = problem.penalty == Penalty::Squares || random.chance(0.5);
    if problem.is_free {
        problem.bias = Some(1.0);
    }
    // The penalty grows by the scale where it is linear, by its square elsewhere: only at the scale 1
    // do both go together.
    if matches!(problem.penalty, Penalty::Absolute(_)) {
        problem.scale = 1.0;
    }
    let solver = match problem.penalty {
        Penalty::Absolute(1.0) => "auto",
        _ => random.pick(&["auto", "bmrm", "ls-bmrm", "prox-bmrm"]),
    };
    check_problem(&problem, solver, &format!("{loss:?} seed {seed}"), &mut random)
}

fn check_problem(problem: &Problem, solver: &str, told: &str, random: &mut Random) -> bool {
    let (data, mut settings) = (problem.data(), problem.settings());
    let tol = match problem.penalty {
        Penalty::Absolute(1.0) => 1e-3,
        _ => random.pick(&[1e-2, 1e-4, 1e-6]),
    };
    settings.put(&SOLVER, solver.to_string());
    settings.put(&TOL, tol);
    settings.put(&MAX_EVALS, Some(2000));
    let (model, report) = fit(&data, &settings);
    let told = format!("{told} {solver} tol {tol}: {problem:?} {report:?}");
    let (objective, bound) = (report.certificate.objective, report.certificate.lower_bound);
    let bound = bound.expect("a bound");
    let factor = problem.scale.powi(problem.power());
    let audit = model.audit(&data, problem.weights.as_deref());
    assert_eq!(audit.holds, Some(true), "{} {told}", audit.why);
    let form: &LinearForm = model.form_as().expect("a linear model");
    let fitted = &form.problems[0];
    let weights = fitted.weights.iter().chain(fitted.intercept.iter().flatten());
    let at_one: Vec<f64> = weights.map(|w| w / problem.scale).collect();
    let plain = factor * problem.objective(&at_one);
    let at_zero = factor * problem.objective(&vec![0.0; at_one.len()]);
    // Objectives are rounded up by what rounding may have taken from them, also where they are 0.
    let near = 1e-11 * (plain + at_zero) + report.rounding;
    assert!((objective - plain).abs() <= near, "{plain} {told}");
    // Without squares the planes of a loss with kinks may creep; what they prove holds all the same.
    let may_creep = problem.penalty == Penalty::Absolute(1.0);
    match report.status {
        Status::Stalled | Status::MaxEvals if may_creep => {}
        Status::Converged => {
            let enough = (tol * objective).max(1e-12 * at_zero * (1.0 + 1e-9)) + report.rounding;
            assert!(objective - bound <= enough, "{told}");
        }
        // Few planes at a time, and no line search, are slow on hard problems.
        Status::MaxEvals => {
            let is_quick = ["auto", "newton", "ls-p-bmrm"].contains(&solver);
            assert!(!is_quick || tol < 1e-5, "{told}");
        }
        Status::Stalled => assert!(tol < 1e-3 || objective <= 1e-9 * at_zero, "{told}"),
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

#[test]
fn other_penalties_and_free_intercepts_too() {
    let cases = common::cases(SAMPLE, 2000);
    for (loss, several) in
        LOSSES.map(|loss| (loss, false)).into_iter().chain([(LossName::Quantile, true)])
    {
        let refereed = (0..cases).filter(|&seed| check_penalised(loss, several, seed)).count();
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
                .with(&LAMBDA, Some(1e-8 / if loss == LossName::Squares { 1.0 } else { scale }))
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

/// Targets of 0 are met to the last bit at w = 0, where every run begins.
#[test]
fn targets_of_zero_are_proven_too() {
    for (loss, several, solver) in all() {
        let mut random = Random::new(3);
        let mut problem = Problem::random(loss, several, &mut random);
        problem.rows = (0..40).map(|_| random.normals(3)).collect();
        problem.targets = (0..40).map(|i| if i % 3 == 0 { random.normal() } else { 0.0 }).collect();
        (problem.lambda, problem.scale, problem.weights) = (1e-3, 1.0, None);
        let (data, settings) = (problem.data(), problem.settings());
        let settings = settings.with(&SOLVER, solver.to_string()).with(&MAX_EVALS, Some(3000));
        let (model, report) = fit(&data, &settings);
        let is_slow = ["bmrm", "nrbm"].contains(&solver);
        assert!(is_slow || report.certificate.certifies(1e-3), "{loss:?} {several} {report:?}");
        assert_eq!(model.audit(&data, None).holds, Some(true), "{loss:?} {several} {solver}");
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
        let wanted = PathOptions {
            lambdas: &lambdas,
            validation: Some((&data).into()),
            start: None,
            fill: true,
        };
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
    let settings = settings.with(&BIAS, Some(1.0)).with(&TOL, 1e-3).with(&MAX_EVALS, None);
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
