//! Intercepts that are free, of regressions of every loss and of several quantiles at once: no constant
//! feature does better however little it is penalised, targets that lie far away change nothing, and
//! elastic net and bounds leave the intercept alone.

mod common;

use common::{Random, cases, difference, form};
use minorant::data::{Dataset, Labels};
use minorant::family::linear::LossName;
use minorant::family::linear::regression::{EPSILON, LOSS, TAU};
use minorant::family::{Context, FittedModel, Settings, TrainReport, train};
use minorant::intercept::InterceptRisk;
use minorant::linalg::{Design, Matrix};
use minorant::options::common::{
    ABS_TOL, BIAS, INTERCEPT, Intercept, L1_RATIO, LAMBDA, MAX_EVALS, NONNEGATIVE, SOLVER, TOL,
};
use minorant::risk::logistic::Logistic;
use minorant::risk::{Cancel, ExampleWeights, Risk};

const LOSSES: [LossName; 6] = [
    LossName::Squares,
    LossName::Absolute,
    LossName::Quantile,
    LossName::EpsilonInsensitive,
    LossName::SquaredEpsilonInsensitive,
    LossName::Huber,
];

struct Numbers {
    rows: Vec<Vec<f64>>,
    targets: Vec<f64>,
}

impl Numbers {
    fn random(random: &mut Random) -> Self {
        let (n, d) = (random.between(3, 40), random.between(1, 6));
        let rows: Vec<Vec<f64>> = (0..n).map(|_| random.normals(d)).collect();
        let truth = random.normals(d);
        let noise = random.pick(&[0.0, 0.5, 2.0]);
        let signal = |row: &[f64]| row.iter().zip(&truth).map(|(x, w)| x * w).sum::<f64>();
        let targets = rows.iter().map(|row| 30.0 + signal(row) + noise * random.normal()).collect();
        Numbers { rows, targets }
    }

    fn data(&self, shift: f64) -> Dataset<'static> {
        let (n, d) = (self.rows.len(), self.rows[0].len());
        let features = Matrix::dense(n, d, self.rows.concat().into()).expect("a matrix");
        let targets: Vec<f64> = self.targets.iter().map(|y| y + shift).collect();
        Dataset { features, labels: Labels::of_targets(&targets) }
    }
}

fn settings(loss: LossName, random: &mut Random) -> Settings {
    let mut settings = Settings::new("regression").expect("a model").with(&LOSS, loss);
    match loss {
        LossName::Quantile => {
            let levels = random.pick(&[&[0.5][..], &[0.2], &[0.1, 0.5, 0.9]]).to_vec();
            settings.put(&TAU, levels);
        }
        LossName::EpsilonInsensitive => settings.put(&EPSILON, 0.25),
        _ => {}
    }
    settings.put(&LAMBDA, Some(random.scale(1e-3, 1.0)));
    settings.put(&TOL, 1e-7);
    settings.put(&ABS_TOL, 1e-9);
    settings.put(&MAX_EVALS, Some(5000));
    settings.put(&INTERCEPT, Some(Intercept::Free));
    settings
}

fn fit(data: &Dataset<'_>, settings: &Settings) -> (FittedModel, TrainReport) {
    let (model, report) = train(data, settings, Context::default()).expect("a fitted model");
    let told = || format!("{:?} {report:?}", settings.given().collect::<Vec<_>>());
    let found = report.certificate;
    assert!(found.certifies(1e-7) || found.gap() <= Some(1e-9), "{}", told());
    let audit = model.audit(data, None);
    assert_eq!(audit.holds, Some(true), "{}: {}", told(), audit.why);
    (model, report)
}

#[test]
fn no_constant_feature_does_better() {
    for seed in 0..cases(48, 3000) {
        let mut random = Random::new(seed);
        let loss = LOSSES[seed as usize % LOSSES.len()];
        let numbers = Numbers::random(&mut random);
        let mut settings = settings(loss, &mut random);
        let is_mixed = random.chance(0.3);
        settings.put(&L1_RATIO, is_mixed.then_some(0.4));
        settings.put(&NONNEGATIVE, random.chance(0.3));
        if random.chance(0.3) {
            settings.put(&SOLVER, "bmrm".into());
        }
        let data = numbers.data(0.0);
        let (model, report) = fit(&data, &settings);
        let free = report.certificate;
        // A column that is large is hardly penalised.
        settings.put(&SOLVER, "auto".into());
        settings.put(&INTERCEPT, None);
        settings.put(&BIAS, Some(1e3));
        let (_, report) = fit(&data, &settings);
        let with_column = report.certificate;
        let told = format!("seed {seed} {loss:?}: {free:?} {with_column:?}");
        assert!(free.lower_bound <= Some(with_column.objective), "{told}");
        let penalty: f64 = form(&model).problems[0]
            .intercept
            .iter()
            .flatten()
            .map(|b| (b * 1e-3).powi(2).max((b * 1e-3).abs()))
            .sum();
        let most = free.objective + report.lambda.expect("a lambda") * penalty;
        assert!(with_column.lower_bound <= Some(most * (1.0 + 1e-9) + 1e-12), "{told}");
    }
}

#[test]
fn targets_far_away_change_nothing_but_the_intercept() {
    for (seed, loss) in LOSSES.into_iter().enumerate() {
        let mut random = Random::new(seed as u64);
        let numbers = Numbers::random(&mut random);
        let settings = settings(loss, &mut random);
        let (near, _) = fit(&numbers.data(0.0), &settings);
        let (far, _) = fit(&numbers.data(1e6), &settings);
        let objective = |model: &FittedModel| model.facts.certificate.objective;
        assert!(difference(objective(&near), objective(&far)) < 1e-6, "{loss:?}");
    }
}

/// The slope of the logistic loss is flat where outputs begin, so that the way to the best intercept is guessed
/// at first: whatever the guess, the outputs of the point are those of its weights and its intercept.
#[test]
fn outputs_are_those_of_the_intercept() {
    let x = [-1.047869505403792, -2.2973566129566194];
    let rows = Matrix::dense(2, 1, x.to_vec().into()).expect("a matrix");
    let loss = Box::new(Logistic::new(vec![-1.0, 1.0]));
    let shares = ExampleWeights::Each(vec![0.6, 0.4]);
    let risk = InterceptRisk::new(Design::new(&rows, None), loss, shares).expect("an intercept");
    for step in 0..40 {
        let w = -0.5 * f64::from(step);
        let point = risk.at(vec![w], &Cancel::new()).expect("a point");
        for (x, f) in x.iter().zip(point.outputs.here()) {
            let (of_w, of_b) = (x * w, point.intercept[0]);
            let size = of_w.abs() + of_b.abs();
            assert!((of_w + of_b - f).abs() <= 4.0 * f64::EPSILON * size, "{w}: {point:?}");
        }
    }
}
