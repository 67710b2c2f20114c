//! Example weights of sequences and images: a weight is the same as so many repetitions of its
//! example, whatever the model, the unit of the mean and the method; the audit knows them.

use minorant::data::{Attributes, Images, Sequences};
use minorant::family::chain::{ChainForm, PAIRS, Weighed};
use minorant::family::neuro::{HIDDEN, NeuroForm, PRETRAIN, Pretrain};
use minorant::family::sequence::{BOUNDARY, PER, Per};
use minorant::family::{Context, Data, FittedModel, Lambda, Settings, TrainReport, train};
use minorant::fingerprint::Fingerprint;
use minorant::generate::{PlatesOptions, parts, parts_shape, plates};
use minorant::linalg::Matrix;
use minorant::options::common::{MAX_EVALS, Norm, PENALTY, SOLVER, TOL, WEIGHTS};
use minorant::solver::Method;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// So often each example is repeated; one is left out.
const TIMES: [usize; 4] = [1, 2, 3, 0];

fn times(examples: usize) -> Vec<usize> {
    (0..examples).map(|i| TIMES[i % TIMES.len()]).collect()
}

fn weights(examples: usize) -> Vec<f64> {
    times(examples).into_iter().map(|times| times as f64).collect()
}

/// The numbers of the examples, each so often as it is repeated.
fn repetitions(examples: usize) -> Vec<usize> {
    times(examples).into_iter().enumerate().flat_map(|(i, n)| std::iter::repeat_n(i, n)).collect()
}

/// Random labelled sequences, one of them empty; those that are left out have pairs of their own.
fn sequences(count: usize) -> Sequences {
    const ATTRIBUTES: usize = 6;
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    let mut starts = vec![0];
    (0..count).for_each(|i| starts.push(starts[i] + (i * 3 + 1) % 5));
    let tokens = starts[count];
    let values: Vec<f64> = (0..tokens * ATTRIBUTES)
        .map(|_| if rng.random::<f64>() < 0.6 { 0.0 } else { rng.random::<f64>() * 2.0 - 1.0 })
        .collect();
    Sequences {
        tokens: Matrix::dense(tokens, ATTRIBUTES, values.into()).unwrap(),
        starts,
        labels: (0..tokens).map(|_| rng.random_range(0..3)).collect(),
        classes: ["a", "b", "c"].map(String::from).to_vec(),
        attributes: Attributes::Columns(ATTRIBUTES),
        template: None,
        lines: Vec::new(),
        unknown: 0,
    }
}

fn chosen(data: &Sequences, of: &[usize]) -> Sequences {
    let (mut rows, mut starts) = (Vec::new(), vec![0]);
    for &i in of {
        rows.extend(data.starts[i]..data.starts[i + 1]);
        starts.push(rows.len());
    }
    let labels = rows.iter().map(|&row| data.labels[row]).collect();
    Sequences { tokens: data.tokens.select_rows(&rows), starts, labels, ..data.clone() }
}

const CHAINS: [&str; 2] = ["chain-svm", "chain-crf"];

fn settings(model: &str) -> Settings {
    Settings::new(model).expect("a model")
}

fn fit<'d>(data: impl Into<Data<'d>>, settings: &Settings) -> (FittedModel, TrainReport) {
    train(data, settings, Context::default()).expect("a model")
}

/// The model as one of other data.
fn moved<'d>(model: &FittedModel, data: impl Into<Data<'d>>) -> FittedModel {
    let (mut model, data) = (model.clone(), data.into());
    model.facts.examples = data.examples();
    model.facts.data_sha256 = data.sha256();
    model
}

fn near(a: f64, b: f64, tol: f64) -> bool {
    (a - b).abs() <= tol * a.abs().max(b.abs())
}

#[test]
fn weights_of_sequences_equal_repetition() {
    let data = sequences(24);
    let repeated = chosen(&data, &repetitions(24));
    for (name, per, pairs, penalty, method) in [
        ("chain-svm", Per::Sequence, Weighed::All, Norm::L2, Method::Auto),
        ("chain-svm", Per::Token, Weighed::Observed, Norm::L2, Method::Auto),
        ("chain-svm", Per::Sequence, Weighed::Observed, Norm::L2, Method::Bmrm),
        ("chain-crf", Per::Sequence, Weighed::All, Norm::L2, Method::Auto),
        ("chain-crf", Per::Token, Weighed::Observed, Norm::L2, Method::Auto),
        ("chain-crf", Per::Sequence, Weighed::All, Norm::L1, Method::Auto),
    ] {
        let mut settings = settings(name)
            .with(&PER, per)
            .with(&PAIRS, pairs)
            .with(&SOLVER, method.name().into())
            .with(&BOUNDARY, true)
            .with(&TOL, 1e-9)
            .with(&MAX_EVALS, Some(20_000));
        if penalty == Norm::L1 {
            settings.put(&PENALTY, penalty);
        }
        settings.set_lambda(Lambda::Lambda(0.02));
        let often = fit(&repeated, &settings).0;
        settings.put(&WEIGHTS, Some(weights(24)));
        let (once, report) = fit(&data, &settings);
        let case = format!("{name} {per:?} {pairs:?} {penalty:?} {method:?}");
        let shape = |model: &FittedModel| model.form_as::<ChainForm>().unwrap().shape.clone();
        assert!(shape(&once) == shape(&often), "{case}");
        let (a, b) = (once.facts.certificate.objective, often.facts.certificate.objective);
        assert!(near(a, b, 2e-9), "{case}: {a} is not {b}; {}", report.status.as_str());
        let found = once.audit(&data, settings.example_weights().as_deref());
        assert!(found.holds == Some(true), "{case}: {}", found.why);
        // At the very same weights, by the audit's code, on the data with repetitions.
        let again = moved(&once, &repeated).audit(&repeated, None).objective;
        assert!(again.is_some_and(|again| near(a, again, 1e-12)), "{case}: {again:?} is not {a}");
    }
}

#[test]
fn lambda_is_by_default_one_over_the_sum_of_the_weights() {
    let data = sequences(24);
    let lengths: Vec<usize> = data.starts.windows(2).map(|span| span[1] - span[0]).collect();
    let of_tokens: usize = times(24).iter().zip(&lengths).map(|(n, length)| n * length).sum();
    for (per, total) in [(Per::Sequence, 36), (Per::Token, of_tokens)] {
        let mut settings = settings("chain-crf").with(&PER, per).with(&WEIGHTS, Some(weights(24)));
        assert_eq!(fit(&data, &settings).1.lambda, Some(1.0 / total as f64));
        settings.set_lambda(Lambda::C(2.0));
        assert_eq!(fit(&data, &settings).1.lambda, Some(1.0 / (2.0 * total as f64)));
    }
}

#[test]
fn an_audit_rejects_other_weights() {
    let data = sequences(24);
    let weights = weights(24);
    let mut others = weights.clone();
    others[1] = 2.5;
    for name in CHAINS {
        let mut model = fit(&data, &settings(name).with(&WEIGHTS, Some(weights.clone()))).0;
        assert!(model.audit(&data, Some(&weights)).holds == Some(true));
        for wrong in [None, Some(&others[..]), Some(&weights[..23])] {
            let found = model.audit(&data, wrong);
            let is_refused = found.holds == Some(false) && found.why.contains("example weights");
            assert!(is_refused, "{}", found.why);
        }
        // Not by the fingerprint alone.
        model.facts.data_sha256 = data.sha256_with(Some(&others));
        let found = model.audit(&data, Some(&others));
        let is_refused = found.holds == Some(false) && found.why.contains("objective");
        assert!(is_refused, "{}", found.why);
    }
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let data = sequences(60);
    let on = |threads: usize, name: &str| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let weights = (0..60).map(|i| f64::from(i % 7) * 0.3).collect();
        let mut settings = settings(name).with(&WEIGHTS, Some(weights));
        settings.set_lambda(Lambda::Lambda(0.05));
        pool.install(|| fit(&data, &settings).0.form().weights()[0].to_vec())
    };
    for name in CHAINS {
        assert!(on(1, name) == on(3, name), "{name}");
    }
}

fn images() -> [Images; 2] {
    let widths = vec![2, 3, 4, 3];
    let options = PlatesOptions { seed: 4, images: 8, height: 3, widths, noise: 1.0, longest: 4 };
    let (plates, widths) = (plates(&options), options.widths);
    let plates = Images::Plates { height: 3, widths, plates, labelled: true };
    [plates, Images::Parts { shape: parts_shape(), images: parts(6, 8), labelled: true }]
}

fn repeated_images(data: &Images) -> Images {
    let mut copy = data.clone();
    match &mut copy {
        Images::Plates { plates, .. } => {
            *plates = repetitions(8).into_iter().map(|i| plates[i].clone()).collect();
        }
        Images::Parts { images, .. } => {
            *images = repetitions(8).into_iter().map(|i| images[i].clone()).collect();
        }
    }
    copy
}

#[test]
fn weights_of_images_equal_repetition() {
    for (data, name) in images().iter().zip(["segment-svm", "tree-svm"]) {
        let repeated = repeated_images(data);
        for method in [Method::Auto, Method::Bmrm] {
            let mut settings = settings(name).with(&SOLVER, method.name().into()).with(&TOL, 1e-9);
            let (often, of_often) = fit(&repeated, &settings);
            settings.put(&WEIGHTS, Some(weights(8)));
            let (once, of_once) = fit(data, &settings);
            assert_eq!(of_once.lambda, Some(1.0 / 12.0));
            assert_eq!(of_often.lambda, of_once.lambda);
            let (a, b) = (once.facts.certificate.objective, often.facts.certificate.objective);
            assert!(near(a, b, 2e-9), "{method:?}: {a} is not {b}");
            let found = once.audit(data, settings.example_weights().as_deref());
            assert!(found.holds == Some(true), "{method:?}: {}", found.why);
            assert!(once.audit(data, None).holds == Some(false));
            let again = moved(&once, &repeated).audit(&repeated, None).objective;
            assert!(again.is_some_and(|again| near(a, again, 1e-12)), "{again:?} is not {a}");
        }
    }
}

#[test]
fn weights_equal_repetition_under_a_network() {
    let data = sequences(24);
    let repeated = chosen(&data, &repetitions(24));
    for per in [Per::Sequence, Per::Token] {
        let fit = |data: &Sequences, weights: Option<Vec<f64>>| {
            let settings = settings("neuro-crf").with(&HIDDEN, vec![4]).with(&PER, per);
            let settings = settings.with(&PRETRAIN, Pretrain::None).with(&WEIGHTS, weights);
            fit(data, &settings.with(&MAX_EVALS, Some(4)))
        };
        let (once, of_once) = fit(&data, Some(weights(24)));
        let (often, of_often) = fit(&repeated, None);
        // Both start at the same random weights; a few steps on, roundings have not grown yet.
        let start = |model: &FittedModel| model.form_as::<NeuroForm>().unwrap().start.clone();
        assert!(start(&once) == start(&often));
        assert!(near(of_once.lambda.unwrap(), of_often.lambda.unwrap(), 1e-15));
        let (a, b) = (once.facts.certificate.objective, often.facts.certificate.objective);
        assert!(near(a, b, 1e-9), "{per:?}: {a} {b}");
    }
}

#[test]
fn what_are_no_weights_is_refused_in_a_sentence() {
    let data = sequences(24);
    let with = |at: usize, weight: f64| {
        let mut weights = vec![1.0; 24];
        weights[at] = weight;
        weights
    };
    let empty = (0..24).map(|i| f64::from(u8::from(data.starts[i] == data.starts[i + 1])));
    for (weights, per, expected) in [
        (vec![1.0; 23], Per::Sequence, "expected 24 example weights, one a sequence, found 23"),
        (with(2, -1.0), Per::Sequence, "0 or more, found -1 for sequence 3"),
        (with(0, f64::NAN), Per::Token, "0 or more, found NaN for sequence 1"),
        (with(1, f64::INFINITY), Per::Token, "0 or more, found inf for sequence 2"),
        (vec![0.0; 24], Per::Sequence, "expected some example weight above 0, found none"),
        (vec![1e308; 24], Per::Sequence, "more than a number can hold"),
        (empty.collect(), Per::Token, "a positive sum of example weights times tokens"),
    ] {
        let network = settings("neuro-crf").with(&PRETRAIN, Pretrain::None);
        for settings in [settings("chain-crf"), network.with(&HIDDEN, vec![2])] {
            let settings = settings.with(&PER, per).with(&WEIGHTS, Some(weights.clone()));
            let refused = train(&data, &settings, Context::default());
            let sentence = refused.expect_err(expected).to_string();
            assert!(sentence.contains(expected), "{sentence}");
        }
    }
    let [plates, _] = images();
    let settings = settings("segment-svm").with(&WEIGHTS, Some(vec![1.0]));
    let refused = train(&plates, &settings, Context::default());
    let sentence = refused.expect_err("one weight for eight images").to_string();
    assert_eq!(sentence, "expected 8 example weights, one an image, found 1");
}
