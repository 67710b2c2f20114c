//! Example weights of sequences and images: a weight is the same as so many repetitions of its
//! example, whatever the model, the unit of the mean and the method; the audit knows them.

use minorant::audit::{audit_chain, audit_images};
use minorant::checkpoint::Fingerprint;
use minorant::data::{Attributes, Sequences};
use minorant::generate::{PlatesOptions, parts, parts_shape, plates};
use minorant::images::Images;
use minorant::linalg::Matrix;
use minorant::model::{ChainModel, ImageModel, NeuroModel};
use minorant::risk::Cancel;
use minorant::solver::Method;
use minorant::train::{
    ChainName, ChainOptions, ImageOptions, Lambda, NeuroOptions, Penalty, Per, Pretrain,
    TrainReport, train_chain, train_images, train_neuro,
};
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

fn chain(data: &Sequences, options: &ChainOptions) -> (ChainModel, TrainReport) {
    train_chain(data, options, &Cancel::new(), &mut (), &mut ()).expect("a chain")
}

fn near(a: f64, b: f64, tol: f64) -> bool {
    (a - b).abs() <= tol * a.abs().max(b.abs())
}

#[test]
fn weights_of_sequences_equal_repetition() {
    let data = sequences(24);
    let repeated = chosen(&data, &repetitions(24));
    let lambda = Some(Lambda::Lambda(0.02));
    for (name, per, observed, penalty, method) in [
        (ChainName::ChainSvm, Per::Sequence, false, Penalty::L2, Method::Auto),
        (ChainName::ChainSvm, Per::Token, true, Penalty::L2, Method::Auto),
        (ChainName::ChainSvm, Per::Sequence, true, Penalty::L2, Method::Bmrm),
        (ChainName::ChainCrf, Per::Sequence, false, Penalty::L2, Method::Auto),
        (ChainName::ChainCrf, Per::Token, true, Penalty::L2, Method::Auto),
        (ChainName::ChainCrf, Per::Sequence, false, Penalty::L1, Method::Auto),
    ] {
        let mut options = ChainOptions::new(name);
        (options.per, options.observed_pairs, options.penalty) = (per, observed, penalty);
        (options.method, options.lambda, options.boundary) = (method, lambda, true);
        options.rules.tol = 1e-9;
        options.rules.max_evaluations = Some(20_000);
        let often = chain(&repeated, &options).0;
        options.example_weights = Some(weights(24));
        let (once, report) = chain(&data, &options);
        let case = format!("{name:?} {per:?} {observed} {penalty:?} {method:?}");
        assert!(once.shape == often.shape, "{case}");
        let (a, b) = (once.certificate.objective, often.certificate.objective);
        assert!(near(a, b, 2e-9), "{case}: {a} is not {b}; {}", report.status.as_str());
        let found = audit_chain(&once, &data, options.example_weights.as_deref());
        assert!(found.holds, "{case}: {}", found.why);
        // At the very same weights, by the audit's code, on the data with repetitions.
        let mut moved =
            ChainModel { examples: repeated.len(), tokens: repeated.labels.len(), ..once };
        moved.data_sha256 = repeated.sha256();
        let again = audit_chain(&moved, &repeated, None).objective;
        assert!(again.is_some_and(|again| near(a, again, 1e-12)), "{case}: {again:?} is not {a}");
    }
}

#[test]
fn lambda_is_by_default_one_over_the_sum_of_the_weights() {
    let data = sequences(24);
    let lengths: Vec<usize> = data.starts.windows(2).map(|span| span[1] - span[0]).collect();
    let of_tokens: usize = times(24).iter().zip(&lengths).map(|(n, length)| n * length).sum();
    for (per, total) in [(Per::Sequence, 36), (Per::Token, of_tokens)] {
        let mut options = ChainOptions::new(ChainName::ChainCrf);
        (options.per, options.example_weights) = (per, Some(weights(24)));
        assert_eq!(chain(&data, &options).1.lambda, 1.0 / total as f64);
        options.lambda = Some(Lambda::C(2.0));
        assert_eq!(chain(&data, &options).1.lambda, 1.0 / (2.0 * total as f64));
    }
}

#[test]
fn an_audit_rejects_other_weights() {
    let data = sequences(24);
    let weights = weights(24);
    let mut others = weights.clone();
    others[1] = 2.5;
    for name in ChainName::ALL {
        let mut options = ChainOptions::new(name);
        options.example_weights = Some(weights.clone());
        let mut model = chain(&data, &options).0;
        assert!(audit_chain(&model, &data, Some(&weights)).holds);
        for wrong in [None, Some(&others[..]), Some(&weights[..23])] {
            let found = audit_chain(&model, &data, wrong);
            assert!(!found.holds && found.why.contains("example weights"), "{}", found.why);
        }
        // Not by the fingerprint alone.
        model.data_sha256 = data.sha256_with(Some(&others));
        let found = audit_chain(&model, &data, Some(&others));
        assert!(!found.holds && found.why.contains("objective"), "{}", found.why);
    }
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let data = sequences(60);
    let on = |threads: usize, name: ChainName| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut options = ChainOptions::new(name);
        options.example_weights = Some((0..60).map(|i| f64::from(i % 7) * 0.3).collect());
        options.lambda = Some(Lambda::Lambda(0.05));
        pool.install(|| chain(&data, &options).0.weights)
    };
    for name in ChainName::ALL {
        assert!(on(1, name) == on(3, name), "{name:?}");
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
    for data in images() {
        let repeated = repeated_images(&data);
        for method in [Method::Auto, Method::Bmrm] {
            let mut options = ImageOptions { method, ..ImageOptions::default() };
            options.rules.tol = 1e-9;
            let fit = |data: &Images, options: &ImageOptions| {
                train_images(data, options, &Cancel::new(), &mut (), &mut ()).expect("a model")
            };
            let (often, of_often) = fit(&repeated, &options);
            options.example_weights = Some(weights(8));
            let (once, of_once) = fit(&data, &options);
            assert_eq!(of_once.lambda, 1.0 / 12.0);
            assert_eq!(of_often.lambda, of_once.lambda);
            let (a, b) = (once.certificate.objective, often.certificate.objective);
            assert!(near(a, b, 2e-9), "{method:?}: {a} is not {b}");
            let found = audit_images(&once, &data, options.example_weights.as_deref());
            assert!(found.holds, "{method:?}: {}", found.why);
            assert!(!audit_images(&once, &data, None).holds);
            let mut moved = ImageModel { examples: repeated.len(), ..once };
            moved.data_sha256 = repeated.sha256();
            let again = audit_images(&moved, &repeated, None).objective;
            assert!(again.is_some_and(|again| near(a, again, 1e-12)), "{again:?} is not {a}");
        }
    }
}

#[test]
fn weights_equal_repetition_under_a_network() {
    let data = sequences(24);
    let repeated = chosen(&data, &repetitions(24));
    for per in [Per::Sequence, Per::Token] {
        let fit = |data: &Sequences, weights: Option<Vec<f64>>| -> (NeuroModel, TrainReport) {
            let mut options = NeuroOptions { hidden: vec![4], per, ..NeuroOptions::default() };
            (options.pretrain, options.example_weights) = (Pretrain::None, weights);
            options.rules.max_evaluations = Some(4);
            train_neuro(data, &options, &Cancel::new(), &mut (), &mut ()).expect("a network")
        };
        let (once, of_once) = fit(&data, Some(weights(24)));
        let (often, of_often) = fit(&repeated, None);
        // Both start at the same random weights; a few steps on, roundings have not grown yet.
        assert!(once.start == often.start);
        assert!(near(of_once.lambda, of_often.lambda, 1e-15));
        assert!(
            near(once.objective, often.objective, 1e-9),
            "{per:?}: {} {}",
            once.objective,
            often.objective
        );
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
        let mut options = ChainOptions::new(ChainName::ChainCrf);
        (options.per, options.example_weights) = (per, Some(weights.clone()));
        let refused = train_chain(&data, &options, &Cancel::new(), &mut (), &mut ());
        let sentence = refused.expect_err(expected).to_string();
        assert!(sentence.contains(expected), "{sentence}");
        let network = NeuroOptions { per, example_weights: Some(weights), ..Default::default() };
        let network = NeuroOptions { pretrain: Pretrain::None, hidden: vec![2], ..network };
        let refused = train_neuro(&data, &network, &Cancel::new(), &mut (), &mut ());
        let sentence = refused.expect_err(expected).to_string();
        assert!(sentence.contains(expected), "{sentence}");
    }
    let [plates, _] = images();
    let options = ImageOptions { example_weights: Some(vec![1.0]), ..ImageOptions::default() };
    let refused = train_images(&plates, &options, &Cancel::new(), &mut (), &mut ());
    let sentence = refused.expect_err("one weight for eight images").to_string();
    assert_eq!(sentence, "expected 8 example weights, one an image, found 1");
}
