//! Structured models against brute force: argmax, loss-augmented argmax, log-partition and
//! marginals of every small chain; gradients by finite differences; hard numbers; certificates.

use minorant::generate::{Lcg, PlatesOptions, plates};
use minorant::linalg::Matrix;
use minorant::regularizer::L2;
use minorant::risk::{Cancel, ExampleWeights, Risk};
use minorant::solver::{Method, MethodOptions, Problem, StopRules, run};
use minorant::structured::chain::{Chain, ChainShape, Pairs};
use minorant::structured::segment::{Plate, SegmentLoss, Segmentation};
use minorant::structured::{
    Likelihood, LikelihoodRisk, MarginRisk, Scores, StructuredModel, Weights,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Random labelled sequences.
struct Sample {
    tokens: Matrix<'static>,
    starts: Vec<usize>,
    labels: Vec<u16>,
}

fn sample(lengths: &[usize], attributes: usize, labels: usize, rng: &mut Pcg64Mcg) -> Sample {
    let count: usize = lengths.iter().sum();
    let values: Vec<f64> =
        (0..count * attributes).map(|_| rng.random::<f64>() * 2.0 - 1.0).collect();
    let mut starts = vec![0];
    lengths.iter().for_each(|length| starts.push(starts[starts.len() - 1] + length));
    Sample {
        tokens: Matrix::dense(count, attributes, values.into()).unwrap(),
        starts,
        labels: (0..count).map(|_| rng.random_range(0..labels as u16)).collect(),
    }
}

fn shape(
    sample: &Sample,
    labels: usize,
    observed: bool,
    bias: Option<f64>,
    boundary: bool,
) -> ChainShape {
    let pairs = if observed {
        Pairs::observed(&sample.tokens, &sample.starts, &sample.labels, labels)
    } else {
        Pairs::All
    };
    ChainShape { attributes: sample.tokens.cols(), labels, pairs, bias, boundary }
}

fn weights(dim: usize, scale: f64, rng: &mut Pcg64Mcg) -> Vec<f64> {
    (0..dim).map(|_| scale * (rng.random::<f64>() * 2.0 - 1.0)).collect()
}

/// All labellings of a sequence.
fn labellings(length: usize, labels: usize) -> Vec<Box<[u16]>> {
    let mut all: Vec<Vec<u16>> = vec![Vec::new()];
    for _ in 0..length {
        all = all
            .iter()
            .flat_map(|start| {
                (0..labels as u16).map(move |z| start.iter().copied().chain([z]).collect())
            })
            .collect();
    }
    all.into_iter().map(Vec::into_boxed_slice).collect()
}

type Labels = Box<[u16]>;

fn score(chain: &Chain<'_>, output: &Labels, w: &[f64]) -> f64 {
    let mut sum = 0.0;
    chain.for_each_feature(0, output, |at, x| sum += x * w[at]);
    sum
}

fn value_at(risk: &dyn Risk, w: &[f64]) -> f64 {
    risk.at(w.to_vec(), &Cancel::new()).unwrap().value
}

#[test]
fn chains_equal_brute_force() {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    for labels in 1..=5usize {
        for length in 1..=6usize {
            for variant in 0..4 {
                let (observed, ends) = (variant & 1 == 1, variant & 2 == 2);
                let sample = sample(&[length], 3, labels, &mut rng);
                let shape = shape(&sample, labels, observed, ends.then_some(0.7), ends);
                let w = weights(shape.dim(), 2.0, &mut rng);
                let costs = ends.then(|| {
                    let cost = |at: usize| if at / labels == at % labels { 0.0 } else { at as f64 };
                    (0..labels * labels).map(cost).collect()
                });
                let chain = || {
                    Chain::new(
                        &shape,
                        &sample.tokens,
                        &sample.starts,
                        &sample.labels,
                        costs.clone(),
                    )
                };
                let model = chain();
                let all = labellings(length, labels);
                let of_truth = score(&model, model.truth(0), &w);
                let scores: Vec<f64> = all.iter().map(|y| score(&model, y, &w)).collect();
                let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let (found, _) = shape.best(&sample.tokens, 0..length, &w);
                assert!((score(&model, &found.into(), &w) - best).abs() < 1e-12);

                let margins = all.iter().zip(&scores).map(|(y, s)| model.loss(0, y) + s - of_truth);
                let worst = margins.fold(f64::NEG_INFINITY, f64::max);
                let margin = MarginRisk::new(chain(), ExampleWeights::mean(1));
                assert!((value_at(&margin, &w) - worst).abs() < 1e-12 * (1.0 + worst.abs()));

                let total: f64 = scores.iter().map(|s| (s - best).exp()).sum();
                let log_partition = best + total.ln();
                let likelihood = LikelihoodRisk::new(chain(), ExampleWeights::mean(1));
                let found = value_at(&likelihood, &w);
                assert!((found - (log_partition - of_truth)).abs() < 1e-11);

                let marginals = shape.marginals(&sample.tokens, 0..length, &w);
                for token in 0..length {
                    for z in 0..labels {
                        let with = all.iter().zip(&scores).filter(|(y, _)| y[token] as usize == z);
                        let p: f64 = with.map(|(_, s)| (s - log_partition).exp()).sum();
                        assert!((marginals[token * labels + z] - p).abs() < 1e-12);
                    }
                }
            }
        }
    }
}

#[test]
fn gradients_agree_with_differences_and_planes_touch() {
    let mut rng = Pcg64Mcg::seed_from_u64(2);
    for variant in 0..4 {
        let (observed, ends) = (variant & 1 == 1, variant & 2 == 2);
        let sample = sample(&[4, 1, 6, 0, 3], 3, 4, &mut rng);
        let shape = shape(&sample, 4, observed, ends.then_some(0.7), ends);
        let chain = || Chain::new(&shape, &sample.tokens, &sample.starts, &sample.labels, None);
        // The second scale takes sums in logarithms.
        for scale in [1.0, 400.0] {
            let w = weights(shape.dim(), scale, &mut rng);
            let risk = LikelihoodRisk::new(chain(), ExampleWeights::mean(5));
            let (point, planes) = risk.at_with_planes(w.clone(), 2, &Cancel::new()).unwrap();
            let normal: Vec<f64> =
                planes[0].normal.iter().zip(&planes[1].normal).map(|(a, b)| a + b).collect();
            let touch: f64 = normal.iter().zip(&w).map(|(a, w)| a * w).sum();
            let offset = planes[0].offset + planes[1].offset;
            assert!((touch + offset - point.value).abs() < 1e-11 * scale, "{touch} {offset}");
            if scale > 1.0 {
                continue;
            }
            for j in 0..w.len() {
                let at = |step: f64| {
                    let mut w = w.clone();
                    w[j] += step;
                    value_at(&risk, &w)
                };
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((slope - normal[j]).abs() < 1e-6, "{slope} {}", normal[j]);
            }
        }
        let margin = MarginRisk::new(chain(), ExampleWeights::mean(5));
        let (v, w) = (weights(shape.dim(), 3.0, &mut rng), weights(shape.dim(), 3.0, &mut rng));
        let (point, planes) = margin.at_with_planes(w.clone(), 1, &Cancel::new()).unwrap();
        let plane = |w: &[f64]| {
            planes[0].offset + planes[0].normal.iter().zip(w).map(|(a, w)| a * w).sum::<f64>()
        };
        assert!((plane(&w) - point.value).abs() < 1e-12);
        assert!(plane(&v) <= value_at(&margin, &v) + 1e-12);
    }
}

#[test]
fn scores_of_any_size_and_sequences_of_any_length_are_safe() {
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    let sample = sample(&[100_000], 2, 3, &mut rng);
    let shape = shape(&sample, 3, false, None, true);
    for scale in [1e-3, 1.0, 1e4] {
        let w = weights(shape.dim(), scale, &mut rng);
        let chain = || Chain::new(&shape, &sample.tokens, &sample.starts, &sample.labels, None);
        let likelihood = LikelihoodRisk::new(chain(), ExampleWeights::mean(1));
        let (point, planes) = likelihood.at_with_planes(w.clone(), 1, &Cancel::new()).unwrap();
        assert!(point.value >= 0.0 && planes[0].normal.iter().all(|a| a.is_finite()));
        let margin = MarginRisk::new(chain(), ExampleWeights::mean(1));
        // Half a maximum is no more than the sum; loss-augmented maxima are at least the maximum.
        assert!(value_at(&margin, &w) + 100_000.0 * 3f64.ln() >= point.value - 1e-6 * scale);
        let marginals = shape.marginals(&sample.tokens, 0..100_000, &w);
        let sums = marginals.chunks(3).map(|p| p.iter().sum::<f64>());
        assert!(sums.into_iter().all(|sum| (sum - 1.0).abs() < 1e-6), "scale {scale}");
    }
}

#[test]
fn wide_transitions_give_what_narrow_ones_do() {
    // Shifting all transitions changes nothing; widening one that no path takes hardly does.
    let mut rng = Pcg64Mcg::seed_from_u64(4);
    let sample = sample(&[5, 7], 2, 3, &mut rng);
    let shape = shape(&sample, 3, false, None, false);
    let w = weights(shape.dim(), 1.0, &mut rng);
    let chain = || Chain::new(&shape, &sample.tokens, &sample.starts, &sample.labels, None);
    let risk = LikelihoodRisk::new(chain(), ExampleWeights::mean(2));
    let barred = |size: f64| {
        let mut w = w.clone();
        w[2 * 3] = -size;
        risk.at_with_planes(w, 1, &Cancel::new()).unwrap()
    };
    // Just below and above the range from which on sums are kept as logarithms.
    let (narrow, wide) = (barred(100.0), barred(200.0));
    let passes = sample.labels[..5].windows(2).chain(sample.labels[5..].windows(2));
    if passes.into_iter().all(|pair| pair != [0, 0]) {
        assert!((narrow.0.value - wide.0.value).abs() < 1e-10);
        for (a, b) in narrow.1[0].normal.iter().zip(&wide.1[0].normal) {
            assert!((a - b).abs() < 1e-10);
        }
    }
}

fn solve(risk: &dyn Risk, lambda: f64, method: Method, tol: f64) -> minorant::solver::Outcome {
    let regularizer = L2::new(lambda).unwrap();
    let problem = Problem::new(risk, &regularizer);
    let options = MethodOptions { proof_bytes: 1 << 20, ..MethodOptions::default() };
    let mut solver = method.build(problem, &options).unwrap();
    let rules = StopRules { tol, max_evaluations: Some(3000), ..StopRules::default() };
    run(&mut *solver, problem, rules, &Cancel::new(), &mut (), &mut ()).unwrap()
}

#[test]
fn methods_agree_on_the_optimum() {
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    let sample = sample(&[4, 2, 5, 3, 6, 1, 4], 4, 3, &mut rng);
    let shape = shape(&sample, 3, false, Some(1.0), true);
    let chain = || Chain::new(&shape, &sample.tokens, &sample.starts, &sample.labels, None);
    let margin = MarginRisk::new(chain(), ExampleWeights::mean(7));
    for lambda in [1.0, 0.1, 0.01] {
        let bcfw = solve(&margin, lambda, Method::Bcfw, 1e-7);
        let bmrm = solve(&margin, lambda, Method::Bmrm, 1e-6);
        assert!(bcfw.certificate.certifies(1e-7), "{:?}", bcfw.certificate);
        assert!(bmrm.certificate.certifies(1e-6), "{:?}", bmrm.certificate);
        let bounds = [bcfw.certificate.lower_bound.unwrap(), bmrm.certificate.lower_bound.unwrap()];
        assert!(bounds[0] <= bmrm.certificate.objective && bounds[1] <= bcfw.certificate.objective);
        assert!(bcfw.proof.is_some() && bmrm.proof.is_some());
        // Plain stochastic steps come near, and their bound holds too.
        let sgd = solve(&margin, lambda, Method::Sgd, 0.05).certificate;
        assert!(sgd.objective <= 1.2 * bcfw.certificate.objective, "{sgd:?}");
        assert!(sgd.lower_bound.unwrap() <= bcfw.certificate.objective);
    }
    let likelihood = LikelihoodRisk::new(chain(), ExampleWeights::mean(7));
    let nrbm = solve(&likelihood, 0.1, Method::NrbmLs, 1e-6);
    let bmrm = solve(&likelihood, 0.1, Method::Bmrm, 1e-6);
    assert!(nrbm.certificate.certifies(1e-6) && bmrm.certificate.certifies(1e-6));
    assert!(nrbm.certificate.lower_bound.unwrap() <= bmrm.certificate.objective);
    assert!(bmrm.certificate.lower_bound.unwrap() <= nrbm.certificate.objective);
}

/// Tokens without attributes, alone in their sequences: no weights tell one label from another, and
/// the step from one to the other has no length to divide by.
#[test]
fn outputs_with_the_same_features_are_no_trouble() {
    let mut rng = Pcg64Mcg::seed_from_u64(12);
    let lengths: Vec<usize> = (0..60).map(|i| if i % 3 == 0 { 2 } else { 1 }).collect();
    let mut sample = sample(&lengths, 2, 3, &mut rng);
    let tokens = sample.labels.len();
    let value = |at: usize| if at < tokens { 0.0 } else { rng.random_range(-1.0..1.0) };
    let values: Vec<f64> = (0..2 * tokens).map(value).collect();
    sample.tokens = Matrix::dense(tokens, 2, values.into()).unwrap();
    let shape = shape(&sample, 3, false, None, false);
    let chain = Chain::new(&shape, &sample.tokens, &sample.starts, &sample.labels, None);
    let margin = MarginRisk::new(chain, ExampleWeights::mean(lengths.len()));
    for lambda in [1.0, 1.0 / 60.0] {
        let outcome = solve(&margin, lambda, Method::Bcfw, 1e-4);
        assert!(outcome.certificate.certifies(1e-4), "{lambda}: {:?}", outcome.certificate);
    }
}

/// Values of a thousand that nobody has scaled: where `bcfw` comes to a halt, `auto` must not.
#[test]
fn features_that_are_not_scaled_end_in_a_certificate() {
    for seed in 0..20 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut sample = sample(&[3, 1, 4, 2, 5], 8, 3, &mut rng);
        let value = |_| 1000.0 * (rng.random::<f64>() * 2.0 - 1.0);
        let values: Vec<f64> = (0..8 * sample.labels.len()).map(value).collect();
        sample.tokens = Matrix::dense(sample.labels.len(), 8, values.into()).unwrap();
        let shape = shape(&sample, 3, false, None, true);
        let chain = Chain::new(&shape, &sample.tokens, &sample.starts, &sample.labels, None);
        let margin = MarginRisk::new(chain, ExampleWeights::mean(5));
        for lambda in [20.0, 0.2, 0.002] {
            let outcome = solve(&margin, lambda, Method::Auto, 1e-3);
            let certificate = outcome.certificate;
            assert!(certificate.certifies(1e-3), "{seed} {lambda}: {certificate:?}");
        }
    }
}

#[test]
fn same_bits_on_any_number_of_threads() {
    let mut rng = Pcg64Mcg::seed_from_u64(6);
    let lengths: Vec<usize> = (0..200).map(|i| i % 9).collect();
    let sample = sample(&lengths, 5, 4, &mut rng);
    let shape = shape(&sample, 4, false, None, false);
    let on = |threads: usize, method: Method| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let chain = Chain::new(&shape, &sample.tokens, &sample.starts, &sample.labels, None);
            let margin = MarginRisk::new(chain, ExampleWeights::mean(200));
            let outcome = solve(&margin, 0.01, method, 1e-3);
            (outcome.point.w, outcome.ending.certificate.objective, outcome.ending.evaluations)
        })
    };
    for method in [Method::Bcfw, Method::Bmrm] {
        assert!(on(1, method) == on(4, method));
    }
}

#[test]
fn unfolded_weights_give_the_same_bits() {
    let (rows, attributes, labels) = (400, 61, 11);
    let mut rng = Pcg64Mcg::seed_from_u64(8);
    // Low attributes are frequent and get a row, high ones are rare and keep their list.
    let (mut row_starts, mut columns) = (vec![0], Vec::new());
    for _ in 0..rows {
        let draw = |j: &u32| (rng.random::<f64>() * 7.82).powi(2) > f64::from(*j);
        columns.extend((0..attributes as u32).filter(draw));
        row_starts.push(columns.len() as u64);
    }
    let values: Vec<f64> = columns.iter().map(|j| 1.0 + 0.1 * f64::from(*j)).collect();
    let sample = Sample {
        tokens: Matrix::csr(attributes, row_starts, columns, values.into()).unwrap(),
        starts: vec![0, 150, 150, 151, rows],
        labels: (0..rows).map(|_| rng.random_range(0..labels as u16)).collect(),
    };
    let shape = shape(&sample, labels, true, Some(1.0), true);
    let chain = Chain::new(&shape, &sample.tokens, &sample.starts, &sample.labels, None);
    let w = weights(chain.dim(), 1.0, &mut rng);
    let mut unfolded = vec![0.0; chain.unfolded()];
    chain.unfold(&w, &mut unfolded);
    let of_rows = attributes * labels.next_multiple_of(8);
    assert!(!unfolded.is_empty() && unfolded.len() < of_rows, "some attributes, not all");
    for example in 0..chain.len() {
        let scores = |unfolded: &[f64]| {
            let mut own = vec![0.0; chain.own_scores(example)];
            chain.write_own(example, Weights { folded: &w, unfolded }, &mut own);
            own
        };
        assert_eq!(scores(&[]), scores(&unfolded));
        let own = scores(&[]);
        let mut plain = vec![0.0; chain.dim()];
        let length = chain.add_back_own(example, 0.3, &own, &mut plain, &mut []);
        let (mut folded, mut rows) = (vec![0.0; chain.dim()], vec![0.0; unfolded.len()]);
        assert_eq!(length, chain.add_back_own(example, 0.3, &own, &mut folded, &mut rows));
        chain.fold_back(&rows, &mut folded);
        assert_eq!(plain, folded);
    }
}

/// The weights of the references: a seeded sequence.
fn seeded(dim: usize) -> Vec<f64> {
    let mut rng = Lcg::new(9);
    (0..dim).map(|_| rng.signed()).collect()
}

#[test]
fn segmentations_reach_the_reference_optima() {
    let small = PlatesOptions {
        seed: 4,
        images: 8,
        height: 3,
        widths: vec![2, 3, 4, 3],
        noise: 1.0,
        longest: 4,
    };
    let large = PlatesOptions {
        seed: 5,
        images: 30,
        height: 4,
        widths: vec![2, 3, 3, 4, 5, 2],
        noise: 1.5,
        longest: 5,
    };
    use SegmentLoss::{Label, Position};
    for (options, lambda, loss, optimum, at_seeded) in [
        (&small, 0.1, Position, 1.48694936593, 10.35704891510616),
        (&small, 0.1, Label, 1.23254952312, 9.779322456793064),
        (&large, 0.01, Position, 1.39009393069, 16.303798401436726),
        (&large, 0.01, Label, 1.37480569852, 15.82016183940485),
    ] {
        let plates = plates(options).into_iter().map(Into::into).collect();
        let model = Segmentation::new(options.height, options.widths.clone(), plates, loss);
        let risk = MarginRisk::new(model.unwrap(), ExampleWeights::mean(options.images));
        let w = seeded(risk.dim());
        let penalty = L2::new(lambda).unwrap().value(&w);
        assert!((value_at(&risk, &w) + penalty - at_seeded).abs() < 1e-9);
        let outcome = solve(&risk, lambda, Method::Auto, 1e-7);
        assert!(outcome.certificate.certifies(1e-7), "{:?}", outcome.certificate);
        let objective = outcome.certificate.objective;
        assert!((objective - optimum).abs() < 1e-6 * optimum, "{objective} {optimum}");
        assert!(outcome.certificate.lower_bound.unwrap() <= optimum + 1e-10);
    }
}

#[test]
fn segmentations_equal_brute_force() {
    // Every number of columns up to 12, some of which these characters can cover in many ways.
    for (widths, seed) in [(vec![1, 2, 3], 1), (vec![2, 5, 3, 2], 2), (vec![4], 3)] {
        let mut rng = Lcg::new(seed);
        for columns in 1..=12 {
            let all = segmentations(columns, &widths);
            if all.is_empty() {
                continue;
            }
            let plate = Plate {
                pixels: (0..2 * columns).map(|_| rng.signed()).collect(),
                characters: all[rng.below(all.len())].clone(),
            };
            for loss in [SegmentLoss::Position, SegmentLoss::Label] {
                let model = Segmentation::new(2, widths.clone(), vec![plate.clone()], loss);
                let model = model.unwrap();
                let w: Vec<f64> = (0..model.dim()).map(|_| rng.signed()).collect();
                let value = |y: &Labels, with_loss: bool| {
                    let mut value = if with_loss { model.loss(0, y) } else { 0.0 };
                    model.for_each_difference(0, y, model.truth(0), |at, x| value += x * w[at]);
                    value
                };
                let most = |with_loss: bool| {
                    let values = all.iter().map(|y| value(y, with_loss));
                    values.fold(f64::NEG_INFINITY, f64::max)
                };
                let scores = Scores { shared: &w, own: &[] };
                let (best, worst) = (model.best(0, scores), model.worst(0, scores));
                assert!((value(&best, false) - most(false)).abs() < 1e-12);
                assert!((value(&worst, true) - most(true)).abs() < 1e-12);
                // Slack rescaling, by dynamic programming over the number of wrong columns.
                let rescaled = |y: &Labels| {
                    let rise = value(y, false) - value(model.truth(0), false);
                    model.loss(0, y) * (1.0 + rise)
                };
                let found = model.worst_rescaled(0, Scores { shared: &w, own: &[] });
                let best = all.iter().map(&rescaled).fold(f64::NEG_INFINITY, f64::max);
                assert!((rescaled(&found) - best).abs() < 1e-12 * (1.0 + best), "{found:?}");
            }
        }
    }
    let widths = vec![1, 2, 3];
    let uncovered = Plate { pixels: vec![0.0; 10], characters: [0, 1].into() };
    assert!(Segmentation::new(2, widths, vec![uncovered], SegmentLoss::Label).is_err());
}

/// All ways to cut `columns` columns.
fn segmentations(columns: usize, widths: &[usize]) -> Vec<Box<[u16]>> {
    if columns == 0 {
        return vec![Box::default()];
    }
    let mut all = Vec::new();
    for (a, &width) in widths.iter().enumerate().filter(|(_, width)| **width <= columns) {
        for rest in segmentations(columns - width, widths) {
            all.push([a as u16].into_iter().chain(rest).collect());
        }
    }
    all
}

/// Sequences without labels: every token asks that the best labelling win by 1 over the best one with
/// another label there, against all labellings; planes by finite differences; and the best labelling of
/// a token alone is the binary machine's max(0, 1 − |f|).
#[test]
fn sequences_without_labels_equal_brute_force() {
    let mut rng = Pcg64Mcg::seed_from_u64(17);
    for labels in 1..=4usize {
        for length in 1..=5usize {
            let sample = sample(&[length, length], 3, labels, &mut rng);
            let shape = shape(&sample, labels, false, Some(0.5), length % 2 == 0);
            let chain = || {
                let chain =
                    Chain::new(&shape, &sample.tokens, &sample.starts, &sample.labels, None);
                chain.without_labels(vec![true, false])
            };
            let model = chain();
            let weights_of = || ExampleWeights::Each(vec![0.7, 1.3]);
            let risk = MarginRisk::new(chain(), weights_of());
            assert!(!risk.is_convex());
            for scale in [0.1, 1.0, 3.0] {
                let w = weights(shape.dim(), scale, &mut rng);
                let all = labellings(length, labels);
                let scores: Vec<f64> = all.iter().map(|y| score(&model, y, &w)).collect();
                let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let best = &all[scores.iter().position(|s| *s == top).unwrap()];
                let lack = |token: usize| {
                    let others = all.iter().zip(&scores).filter(|(y, _)| y[token] != best[token]);
                    let rival = others.map(|(_, s)| *s).fold(f64::NEG_INFINITY, f64::max);
                    (1.0 + rival - top).max(0.0)
                };
                let unlabelled: f64 = (0..length).map(lack).sum();
                let worst = |y: &Labels| {
                    let mut sum = model.loss(1, y);
                    model.for_each_difference(1, y, model.truth(1), |at, x| sum += x * w[at]);
                    sum
                };
                let labelled = all.iter().map(worst).fold(f64::NEG_INFINITY, f64::max);
                let expected = 0.7 * unlabelled + 1.3 * labelled;
                let found = value_at(&risk, &w);
                assert!((found - expected).abs() < 1e-9, "{labels} {length}: {found} {expected}");
                // The plane touches, and its normal is the derivative where there is one.
                let (point, planes) = risk.at_with_planes(w.clone(), 1, &Cancel::new()).unwrap();
                assert!((point.value - expected).abs() < 1e-9);
                let along: Vec<f64> = (0..w.len()).map(|_| rng.random::<f64>() - 0.5).collect();
                let normal = &planes[0].normal;
                let slope: f64 = along.iter().zip(normal).map(|(d, a)| d * a).sum();
                let touch: f64 = w.iter().zip(normal).map(|(w, a)| w * a).sum();
                assert!((planes[0].offset + touch - expected).abs() < 1e-9);
                let step = 1e-7;
                let moved = |sign: f64| -> Vec<f64> {
                    w.iter().zip(&along).map(|(w, d)| w + sign * step * d).collect()
                };
                let difference =
                    (value_at(&risk, &moved(1.0)) - value_at(&risk, &moved(-1.0))) / (2.0 * step);
                assert!(
                    (difference - slope).abs() < 1e-5,
                    "{labels} {length}: {difference} {slope}"
                );
            }
        }
    }
}
