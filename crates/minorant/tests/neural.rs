//! Networks under a chain: values by brute force, gradients by finite differences, the same bits on
//! any number of threads and after a resume, degenerate data.

mod common;

use minorant::archive::Archive;
use minorant::data::{Attributes, Sequences};
use minorant::family::neuro::{ACTIVATION, HIDDEN, NeuroForm, PRETRAIN, Pretrain};
use minorant::family::sequence::{PER, Per};
use minorant::family::{
    Context, FittedModel, Lambda, PROOF_BYTES, Settings, TrainReport, Wanted, train,
};
use minorant::linalg::product::Real;
use minorant::linalg::{Matrix, Storage};
use minorant::neural::{Activation, Inputs, Network, NeuroRisk, Rbm, Start, start};
use minorant::options::Named;
use minorant::options::common::{MAX_EVALS, SEED, SOLVER, TOL};
use minorant::risk::{Cancel, ExampleWeights, Examples, Risk};
use minorant::solver::{Checkpoints, Method};

/// Numbers that look random.
fn stream(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Sequences whose labels are an exclusive or of two columns, and follow each other.
fn sequences(
    count: usize,
    inputs: usize,
    classes: usize,
    storage: Storage,
    seed: u64,
) -> Sequences {
    let mut next = stream(seed);
    let (mut values, mut starts, mut labels) = (Vec::new(), vec![0], Vec::new());
    for _ in 0..count {
        for _ in 0..1 + (5.0 * next()) as usize {
            let row: Vec<f64> = (0..inputs).map(|_| (3.0 * next()).floor() / 2.0).collect();
            let odd = (row[0] > 0.4) ^ (row[inputs - 1] > 0.4);
            labels.push((usize::from(odd) + (1.3 * next()) as usize).min(classes - 1) as u16);
            values.extend(row);
        }
        starts.push(labels.len());
    }
    let tokens = Matrix::dense(labels.len(), inputs, storage.store(values)).unwrap();
    Sequences {
        tokens,
        starts,
        labels,
        classes: (0..classes).map(|z| z.to_string()).collect(),
        attributes: Attributes::Columns(inputs),
        template: None,
        lines: Vec::new(),
        unknown: 0,
    }
}

fn weights(network: &Network, seed: u64) -> Vec<f64> {
    let mut next = stream(seed);
    (0..network.dim()).map(|_| 2.0 * next() - 1.0).collect()
}

/// −log p of one sequence by enumeration, from the layout of the weights as it is documented.
fn by_brute_force(network: &Network, w: &[f64], data: &Sequences, i: usize) -> f64 {
    let k = network.top.labels;
    let rows = data.starts[i]..data.starts[i + 1];
    let mut at = 0;
    let mut scores = Vec::new();
    let mut transitions = &w[..0];
    for row in rows.clone() {
        let mut x = vec![0.0; network.inputs];
        data.tokens.for_each_in_row(row, |j, value| x[j] = value);
        at = 0;
        let widths = [&network.hidden[..], &[k]].concat();
        for (l, &units) in widths.iter().enumerate() {
            let mut out: Vec<f64> = (0..units).map(|u| w[at + x.len() * units + u]).collect();
            for (j, x) in x.iter().enumerate() {
                out.iter_mut().enumerate().for_each(|(u, o)| *o += x * w[at + j * units + u]);
            }
            at += (x.len() + 1) * units;
            if l < network.hidden.len() {
                out.iter_mut().for_each(|o| {
                    *o = match network.activation {
                        Activation::Sigmoid => 1.0 / (1.0 + (-*o).exp()),
                        Activation::Tanh => o.tanh(),
                        Activation::Relu => o.max(0.0),
                    }
                });
            }
            x = out;
        }
        scores.push(x);
    }
    if !scores.is_empty() {
        transitions = &w[at..];
    }
    let ends = |z: usize, end: usize| {
        if network.top.boundary { transitions[k * k + end * k + z] } else { 0.0 }
    };
    let score = |labels: &[usize]| {
        let nodes: f64 = labels.iter().zip(&scores).map(|(&z, s)| s[z]).sum();
        let pairs: f64 = labels.windows(2).map(|p| transitions[p[0] * k + p[1]]).sum();
        nodes + pairs + ends(labels[0], 0) + ends(labels[labels.len() - 1], 1)
    };
    if scores.is_empty() {
        return 0.0;
    }
    let length = scores.len() as u32;
    let all = (0..k.pow(length)).map(|code| {
        let labels: Vec<usize> = (0..length).map(|t| code / k.pow(t) % k).collect();
        score(&labels).exp()
    });
    let truth: Vec<usize> = data.labels[rows].iter().map(|&z| usize::from(z)).collect();
    all.sum::<f64>().ln() - score(&truth)
}

fn risk<'a, T: Real>(network: &'a Network, data: &'a Sequences) -> NeuroRisk<'a, T> {
    let weights = ExampleWeights::mean(data.len());
    NeuroRisk::new(network, Inputs::new(&data.tokens), &data.starts, &data.labels, weights)
}

const SHAPES: [(&[usize], bool); 3] = [(&[3], false), (&[4, 3], true), (&[3, 2, 4], false)];

#[test]
fn values_agree_with_brute_force() {
    let data = sequences(12, 3, 3, Storage::F64, 1);
    for &activation in Activation::all() {
        for (hidden, boundary) in SHAPES {
            let network = Network::new(3, hidden.to_vec(), activation, 3, boundary);
            let w = weights(&network, 2);
            assert_eq!(network.checked_dim(), Some(network.dim()));
            let expected = (0..data.len()).map(|i| by_brute_force(&network, &w, &data, i));
            let expected = expected.sum::<f64>() / data.len() as f64;
            let value = risk::<f64>(&network, &data).at(w.clone(), &Cancel::new()).unwrap().value;
            assert!((value - expected).abs() <= 1e-12 * expected, "{value} {expected}");
            let value = risk::<f32>(&network, &data).at(w, &Cancel::new()).unwrap().value;
            assert!((value - expected).abs() <= 1e-5 * expected, "{value} {expected}");
        }
    }
}

#[test]
fn gradients_agree_with_finite_differences() {
    let data = sequences(10, 3, 3, Storage::F64, 3);
    for &activation in Activation::all() {
        for (hidden, boundary) in SHAPES {
            let network = Network::new(3, hidden.to_vec(), activation, 3, boundary);
            let w = weights(&network, 4);
            let risk = risk::<f64>(&network, &data);
            let value = |w: Vec<f64>| risk.at(w, &Cancel::new()).unwrap().value;
            let (_, planes) = risk.at_with_planes(w.clone(), 1, &Cancel::new()).unwrap();
            for j in 0..network.dim() {
                let moved = |by: f64| {
                    let mut w = w.clone();
                    w[j] += by;
                    w
                };
                let slope = (value(moved(1e-5)) - value(moved(-1e-5))) / 2e-5;
                let given = planes[0].normal[j];
                assert!(
                    (slope - given).abs() <= 1e-6 * slope.abs().max(1.0),
                    "{j}: {slope} {given}"
                );
            }
            let mut sum = vec![0.0; network.dim()];
            (0..data.len()).for_each(|i| {
                risk.add_subgradient(i, &w, 2.0, &mut sum);
            });
            for (sum, g) in sum.iter().zip(&planes[0].normal) {
                assert!((sum - 2.0 * g).abs() <= 1e-12);
            }
        }
    }
}

#[test]
fn single_precision_and_sparse_rows_give_the_same_gradient() {
    let dense = sequences(40, 30, 3, Storage::F32, 5);
    let network = Network::new(30, vec![5, 4], Activation::Tanh, 3, false);
    let w = weights(&network, 6);
    // A matrix that is mostly zeros is taken as it is.
    let mut kept = dense.clone();
    let (mut row_starts, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
    for row in 0..dense.tokens.rows() {
        dense.tokens.for_each_in_row(row, |j, x| {
            if x != 0.0 && (j + row) % 15 == 0 {
                columns.push(j as u32);
                values.push(x);
            }
        });
        row_starts.push(columns.len() as u64);
    }
    kept.tokens = Matrix::csr(30, row_starts, columns, Storage::F32.store(values)).unwrap();
    assert!(!Inputs::<f64>::new(&kept.tokens).is_dense());
    let mut thick = kept.clone();
    let all: Vec<f64> = (0..kept.tokens.rows())
        .flat_map(|row| {
            let mut x = vec![0.0; 30];
            kept.tokens.for_each_in_row(row, |j, value| x[j] = value);
            x
        })
        .collect();
    thick.tokens = Matrix::dense(kept.tokens.rows(), 30, Storage::F32.store(all)).unwrap();
    let plane = |data: &Sequences, single: bool| {
        let cancel = Cancel::new();
        let planes = if single {
            risk::<f32>(&network, data).at_with_planes(w.clone(), 1, &cancel)
        } else {
            risk::<f64>(&network, data).at_with_planes(w.clone(), 1, &cancel)
        };
        planes.unwrap().1.remove(0).normal
    };
    let exact = plane(&kept, false);
    for other in [plane(&kept, true), plane(&thick, true), plane(&thick, false)] {
        for (a, b) in exact.iter().zip(&other) {
            assert!((a - b).abs() <= 1e-5, "{a} {b}");
        }
    }
}

fn settings(activation: Activation, pretrain: Pretrain) -> Settings {
    let mut settings = Settings::new("neuro-crf")
        .unwrap()
        .with(&HIDDEN, vec![6, 5])
        .with(&ACTIVATION, activation)
        .with(&PRETRAIN, pretrain)
        .with(&MAX_EVALS, Some(40))
        .with(&SEED, 7);
    settings.set_lambda(Lambda::Lambda(1e-3));
    settings
}

fn fit(data: &Sequences, settings: &Settings) -> (FittedModel, TrainReport) {
    train(data, settings, Context::default()).unwrap()
}

fn bytes(model: &FittedModel) -> Vec<u8> {
    model.to_bytes(PROOF_BYTES)
}

fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    for storage in [Storage::F32, Storage::F64] {
        let data = sequences(600, 4, 3, storage, 8);
        let run = || bytes(&fit(&data, &settings(Activation::Sigmoid, Pretrain::Rbm)).0);
        assert_eq!(with_threads(1, run), with_threads(3, run));
    }
}

/// Keeps the checkpoint of one iteration.
#[derive(Default)]
struct Keep {
    from: Option<Archive>,
    kept: Option<Archive>,
    countdown: usize,
}

impl Checkpoints for Keep {
    fn resume(&mut self) -> Option<Archive> {
        self.from.take()
    }
    fn is_due(&mut self) -> bool {
        self.countdown = self.countdown.saturating_sub(1);
        self.countdown == 1
    }
    fn store(&mut self, archive: Archive) {
        self.kept.get_or_insert(archive);
    }
}

#[test]
fn a_resumed_run_ends_in_the_same_bytes() {
    let data = sequences(60, 4, 3, Storage::F32, 9);
    for method in [Method::NrbmLs, Method::Lbfgs] {
        let settings = settings(Activation::Sigmoid, Pretrain::Rbm);
        let settings = settings.with(&SOLVER, method.name().into());
        let mut keep = Keep { countdown: 6, ..Keep::default() };
        let run = |keep: &mut Keep| {
            let context = Context::default().kept_by(keep);
            bytes(&train(&data, &settings, context).unwrap().0)
        };
        let whole = run(&mut keep);
        let mut again = Keep { from: keep.kept.take(), ..Keep::default() };
        assert!(again.from.is_some());
        assert!(whole == run(&mut again), "{method:?}");
    }
}

#[test]
fn training_learns_an_exclusive_or_and_reports_its_objective() {
    let data = sequences(150, 4, 2, Storage::F64, 10);
    for (activation, pretrain) in [
        (Activation::Sigmoid, Pretrain::Rbm),
        (Activation::Tanh, Pretrain::None),
        (Activation::Tanh, Pretrain::Rbm),
        (Activation::Relu, Pretrain::None),
        (Activation::Relu, Pretrain::Rbm),
    ] {
        // An exclusive or begins at a saddle, whose gradient is small.
        let mut settings =
            settings(activation, pretrain).with(&MAX_EVALS, Some(600)).with(&TOL, 1e-6);
        settings.set_lambda(Lambda::Lambda(1e-4));
        let (model, report) = fit(&data, &settings);
        let form: &NeuroForm = model.form_as().unwrap();
        assert!(report.certificate.lower_bound.is_none() && report.evaluations <= 600);
        assert!(report.local_gap.is_some());
        let mean = (0..data.len())
            .map(|i| by_brute_force(&form.network, &form.weights, &data, i))
            .sum::<f64>()
            / data.len() as f64;
        let away: f64 = form.weights.iter().zip(&form.start).map(|(w, s)| (w - s) * (w - s)).sum();
        let objective = mean + 0.5e-4 * away;
        assert!((objective - report.certificate.objective).abs() <= 1e-9 * objective);
        let error = model.evaluate(&data).unwrap().error();
        // Rectified units that begin near 0 stay on a plateau for long.
        let most = if activation == Activation::Relu { 0.45 } else { 0.35 };
        assert!(error < most, "{activation:?} {pretrain:?}: {error}");
        let marginals = model.predict_with(&data, Wanted::Marginals).unwrap();
        assert!(marginals.numbers().chunks(2).all(|p| (p[0] + p[1] - 1.0).abs() < 1e-9));
    }
}

#[test]
fn the_mean_over_tokens_is_another_weight() {
    let data = sequences(20, 3, 3, Storage::F64, 11);
    let run = |per: Per, lambda: f64| {
        let mut settings = settings(Activation::Tanh, Pretrain::None).with(&PER, per);
        settings.set_lambda(Lambda::Lambda(lambda));
        fit(&data, &settings).1
    };
    let ratio = data.labels.len() as f64 / data.len() as f64;
    let (tokens, sequences) = (run(Per::Token, 1e-3), run(Per::Sequence, 1e-3 * ratio));
    let (a, b) = (ratio * tokens.certificate.objective, sequences.certificate.objective);
    assert!((a - b).abs() <= 1e-2 * b, "{a} {b}");
}

#[test]
fn a_tanh_network_starts_as_the_sigmoid_one() {
    let data = sequences(30, 4, 3, Storage::F64, 12);
    let begin = |activation| {
        let network = Network::new(4, vec![5, 3], activation, 3, false);
        let rbm = Start::Rbm(Rbm { epochs: 200, rate: 0.5, ..Rbm::default() });
        let w = start(&network, &data.tokens, rbm, 3, &Cancel::new()).unwrap();
        (network, w)
    };
    let features = |(network, mut w): (Network, Vec<f64>)| {
        // One label for each feature shows the features themselves.
        let at = network.top_at();
        w[at..].fill(0.0);
        (0..3).for_each(|j| w[at + j * 3 + j] = 1.0);
        network.scores(&w, &Inputs::<f64>::new(&data.tokens), data.tokens.rows())
    };
    let (sigmoid, tanh) = (features(begin(Activation::Sigmoid)), features(begin(Activation::Tanh)));
    assert!(sigmoid.iter().any(|h| (h - 0.5).abs() > 0.01));
    for (h, t) in sigmoid.iter().zip(&tanh) {
        assert!((2.0 * h - 1.0 - t).abs() < 1e-5, "{h} {t}");
    }
}

#[test]
fn degenerate_data_trains_or_is_refused_in_a_sentence() {
    let refusal = |data: &Sequences, settings: &Settings| {
        train(data, settings, Context::default()).unwrap_err().to_string()
    };
    let usual = settings(Activation::Sigmoid, Pretrain::Rbm);
    let one_label = sequences(5, 3, 1, Storage::F64, 13);
    assert!(fit(&one_label, &usual).1.risk.abs() < 1e-12);
    let one = sequences(1, 3, 2, Storage::F64, 14);
    assert_eq!(fit(&one, &usual).1.examples, 1);
    let mut gaps = sequences(4, 3, 2, Storage::F32, 15);
    gaps.starts.insert(1, gaps.starts[1]);
    gaps.starts.insert(0, 0);
    gaps.starts.push(gaps.labels.len());
    let (model, report) = fit(&gaps, &usual);
    let labels = model.predict(&gaps).unwrap();
    assert_eq!((report.examples, labels.labels().len()), (7, gaps.labels.len()));
    for hidden in [vec![], vec![3, 0]] {
        let error = refusal(&one, &usual.clone().with(&HIDDEN, hidden));
        assert_eq!(error, "hidden must be whole numbers of 1 or more");
    }
    let huge = usual.clone().with(&HIDDEN, vec![u64::MAX / 2, 3]);
    assert!(refusal(&one, &huge).contains("weights"));
    let mut plain = one.clone();
    plain.labels.clear();
    assert!(refusal(&plain, &usual).contains("no labels"));
}
