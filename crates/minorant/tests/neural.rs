//! Networks under a chain: values by brute force, gradients by finite differences, the same bits on
//! any number of threads and after a resume, degenerate data.

mod common;

use minorant::archive::Archive;
use minorant::data::{Attributes, Sequences};
use minorant::linalg::product::Real;
use minorant::linalg::{Matrix, Storage};
use minorant::model::SequenceModel;
use minorant::neural::{Activation, Inputs, Network, NeuroRisk, Rbm, Start, start};
use minorant::risk::{Cancel, ExampleWeights, Examples, Risk};
use minorant::solver::{Checkpoints, Method};
use minorant::train::{Lambda, NeuroOptions, Per, Pretrain, train_neuro};

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
    for activation in Activation::ALL {
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
    for activation in Activation::ALL {
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

fn options(activation: Activation, pretrain: Pretrain) -> NeuroOptions {
    let mut options = NeuroOptions {
        hidden: vec![6, 5],
        activation,
        pretrain,
        lambda: Some(Lambda::Lambda(1e-3)),
        ..NeuroOptions::default()
    };
    options.rules.max_evaluations = Some(40);
    options.method_options.seed = 7;
    options
}

fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    for storage in [Storage::F32, Storage::F64] {
        let data = sequences(600, 4, 3, storage, 8);
        let run = || {
            let options = options(Activation::Sigmoid, Pretrain::Rbm);
            train_neuro(&data, &options, &Cancel::new(), &mut (), &mut ()).unwrap().0.to_bytes()
        };
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
        let options = NeuroOptions { method, ..options(Activation::Sigmoid, Pretrain::Rbm) };
        let mut keep = Keep { countdown: 6, ..Keep::default() };
        let (whole, _) = train_neuro(&data, &options, &Cancel::new(), &mut (), &mut keep).unwrap();
        let mut again = Keep { from: keep.kept.take(), ..Keep::default() };
        assert!(again.from.is_some());
        let (resumed, _) =
            train_neuro(&data, &options, &Cancel::new(), &mut (), &mut again).unwrap();
        assert!(whole.to_bytes() == resumed.to_bytes(), "{method:?}");
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
        let mut options = options(activation, pretrain);
        options.rules.max_evaluations = Some(600);
        // An exclusive or begins at a saddle, whose gradient is small.
        options.rules.tol = 1e-6;
        options.lambda = Some(Lambda::Lambda(1e-4));
        let run = train_neuro(&data, &options, &Cancel::new(), &mut (), &mut ());
        let (model, report) = run.unwrap();
        assert!(report.certificate.lower_bound.is_none() && report.evaluations <= 600);
        assert!(report.local_gap.is_some());
        let mean = (0..data.len())
            .map(|i| by_brute_force(&model.network, &model.weights, &data, i))
            .sum::<f64>()
            / data.len() as f64;
        let away: f64 =
            model.weights.iter().zip(&model.start).map(|(w, s)| (w - s) * (w - s)).sum();
        let objective = mean + 0.5e-4 * away;
        assert!((objective - report.certificate.objective).abs() <= 1e-9 * objective);
        let error = model.evaluate(&data).token_error;
        // Rectified units that begin near 0 stay on a plateau for long.
        let most = if activation == Activation::Relu { 0.45 } else { 0.35 };
        assert!(error < most, "{activation:?} {pretrain:?}: {error}");
        let marginals = model.marginals(&data);
        assert!(marginals.chunks(2).all(|p| (p[0] + p[1] - 1.0).abs() < 1e-9));
    }
}

#[test]
fn the_mean_over_tokens_is_another_weight() {
    let data = sequences(20, 3, 3, Storage::F64, 11);
    let run = |per: Per, lambda: f64| {
        let lambda = Some(Lambda::Lambda(lambda));
        let options = NeuroOptions { per, lambda, ..options(Activation::Tanh, Pretrain::None) };
        train_neuro(&data, &options, &Cancel::new(), &mut (), &mut ()).unwrap().1
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
    let train = |data: &Sequences, options: &NeuroOptions| {
        train_neuro(data, options, &Cancel::new(), &mut (), &mut ())
    };
    let usual = options(Activation::Sigmoid, Pretrain::Rbm);
    let one_label = sequences(5, 3, 1, Storage::F64, 13);
    assert!(train(&one_label, &usual).unwrap().1.risk.abs() < 1e-12);
    let one = sequences(1, 3, 2, Storage::F64, 14);
    assert_eq!(train(&one, &usual).unwrap().1.examples, 1);
    let mut gaps = sequences(4, 3, 2, Storage::F32, 15);
    gaps.starts.insert(1, gaps.starts[1]);
    gaps.starts.insert(0, 0);
    gaps.starts.push(gaps.labels.len());
    let (model, report) = train(&gaps, &usual).unwrap();
    assert_eq!((report.examples, model.predict(&gaps).len()), (7, gaps.labels.len()));
    for (hidden, word) in [(vec![], "hidden layer"), (vec![3, 0], "at least 1 unit")] {
        let error = train(&one, &NeuroOptions { hidden, ..usual.clone() }).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    }
    let huge = NeuroOptions { hidden: vec![usize::MAX / 2, 3], ..usual.clone() };
    assert!(train(&one, &huge).unwrap_err().to_string().contains("weights"));
    let mut plain = one.clone();
    plain.labels.clear();
    assert!(train(&plain, &usual).unwrap_err().to_string().contains("no labels"));
}
