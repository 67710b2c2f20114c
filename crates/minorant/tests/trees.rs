//! Trees of parts against brute force: the argmax with and without losses, both ways to pass messages,
//! windows and descriptors of single parts; and optima that were found elsewhere.

use minorant::generate::{Lcg, parts, parts_shape};
use minorant::regularizer::L2;
use minorant::risk::{Cancel, ExampleWeights, Risk};
use minorant::solver::{Method, MethodOptions, Problem, StopRules, run};
use minorant::structured::tree::{PATTERNS, PartsImage, Template, Tree, TreeShape, message};
use minorant::structured::{MarginRisk, Scores, StructuredModel};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

type Places = Box<[u32]>;

fn weights(dim: usize, scale: f64, rng: &mut Pcg64Mcg) -> Vec<f64> {
    (0..dim).map(|_| scale * (rng.random::<f64>() * 2.0 - 1.0)).collect()
}

fn value_at(risk: &dyn Risk, w: &[f64]) -> f64 {
    risk.at(w.to_vec(), &Cancel::new()).unwrap().value
}

/// The weights of the references: a seeded sequence.
fn seeded(dim: usize) -> Vec<f64> {
    let mut rng = Lcg::new(9);
    (0..dim).map(|_| rng.signed()).collect()
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
fn trees_reach_the_reference_optima() {
    let images = parts(6, 10);
    assert_eq!(*images[0].places, [5 + 2, 5, 15 + 1, 10 + 4]);
    assert!((images[0].pixels[0] + 0.38383738).abs() < 1e-8);
    let images = images.into_iter().map(Into::into).collect();
    let model = Tree::new(parts_shape().into(), images).unwrap();
    let risk = MarginRisk::new(model, ExampleWeights::mean(10));
    assert!((value_at(&risk, &seeded(risk.dim())) - 11.94921588554007).abs() < 1e-12);
    for (lambda, optimum) in [(0.1, 2.38299617380), (0.01, 1.95942284678)] {
        let outcome = solve(&risk, lambda, Method::Auto, 1e-7);
        assert!(outcome.certificate.certifies(1e-7), "{:?}", outcome.certificate);
        let objective = outcome.certificate.objective;
        assert!((objective - optimum).abs() < 1e-6 * optimum, "{objective} {optimum}");
    }
}

#[test]
fn trees_equal_brute_force_and_both_messages_agree() {
    let mut rng = Pcg64Mcg::seed_from_u64(8);
    // One to five parts; the tree with five of them has a million configurations.
    for parents in [vec![], vec![0], vec![0, 1], vec![0, 0], vec![0, 1, 1], vec![0, 0, 1, 3]] {
        let parts = parents.len() as u32 + 1;
        let shape = TreeShape { width: 4, height: 4, channels: 2, parents, scale: 3.0 };
        let image = PartsImage {
            pixels: (0..32).map(|_| rng.random::<f64>() - 0.5).collect(),
            places: (0..parts).map(|_| rng.random_range(0..16)).collect(),
        };
        let model = Tree::new(shape.clone(), vec![image]).unwrap();
        let w = weights(model.dim(), 2.0, &mut rng);
        let (mut most, mut worst) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        let score = |y: &Places| {
            let mut score = 0.0;
            model.for_each_difference(0, y, model.truth(0), |at, x| score += x * w[at]);
            score
        };
        for code in 0..16u32.pow(parts) {
            let y: Places = (0..parts).map(|part| code >> (4 * part) & 15).collect();
            let score = score(&y);
            most = most.max(score);
            worst = worst.max(score + model.loss(0, &y));
        }
        let best = model.best(0, Scores { shared: &w, own: &[] });
        assert!((score(&best) - most).abs() < 1e-12);
        let risk = MarginRisk::new(model, ExampleWeights::mean(1));
        assert!((value_at(&risk, &w) - worst).abs() < 1e-12);
        // The distance transform against the plain maximum.
        let scores: Vec<f64> = (0..16).map(|_| rng.random::<f64>()).collect();
        let deformation = [0.3, -0.2, -rng.random::<f64>() - 1e-3, -rng.random::<f64>() - 1e-3];
        let (found, _) = message(&shape, &scores, &deformation);
        for (place, found) in found.iter().enumerate() {
            let best = (0..16usize).map(|from| {
                let d = |a: usize, b: usize| (a as f64 - b as f64) / 3.0;
                let (dx, dy) = (d(from / 4, place / 4), d(from % 4, place % 4));
                let [a, b, c, e] = deformation;
                scores[from] + a * dx + b * dy + c * dx * dx + e * dy * dy
            });
            assert!((best.fold(f64::NEG_INFINITY, f64::max) - found).abs() < 1e-12);
        }
    }
}

/// Parts with windows and descriptors of their own: the argmax with and without losses among all
/// placements, by features that are gathered apart from those that scores are made of.
#[test]
fn templates_of_several_sizes_equal_brute_force() {
    let mut rng = Lcg::new(21);
    let shape = TreeShape { width: 4, height: 3, channels: 2, parents: vec![0, 0], scale: 3.0 };
    let places = 4 * 3;
    for texts in
        [["3x3:lbp", "1x1", "2x3"], ["1x1", "5x2:lbp", "4x3"], ["3x1", "1x1:lbp", "3x3:lbp"]]
    {
        let templates: Vec<Template> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let image = PartsImage {
            pixels: (0..places * 2).map(|_| rng.signed()).collect(),
            places: (0..3).map(|_| rng.below(places) as u32).collect(),
        };
        let model = Tree::new(shape.clone(), vec![image]).unwrap();
        let model = model.looking_at(&templates).unwrap();
        let size = |t: &Template| {
            let each = if t.to_string().ends_with("lbp") { PATTERNS } else { 1 };
            t.width * t.height * 2 * each
        };
        assert_eq!(model.dim(), templates.iter().map(size).sum::<usize>() + 2 * 4, "{texts:?}");
        for _ in 0..4 {
            let w: Vec<f64> = (0..model.dim()).map(|_| rng.signed()).collect();
            let scores = Scores { shared: &w, own: &[] };
            let value = |output: &Places, with_loss: bool| {
                let mut sum = if with_loss { model.loss(0, output) } else { 0.0 };
                model.for_each_feature(0, output, |at, x| sum += x * w[at]);
                sum
            };
            let all = (0..places.pow(3) as u32).map(|n| -> Places {
                let p = places as u32;
                [n / (p * p), n / p % p, n % p].into()
            });
            let all: Vec<Places> = all.collect();
            for (found, with_loss) in
                [(model.best(0, scores), false), (model.worst(0, scores), true)]
            {
                let most =
                    all.iter().map(|y| value(y, with_loss)).fold(f64::NEG_INFINITY, f64::max);
                let reached = value(&found, with_loss);
                assert!((reached - most).abs() < 1e-9, "{texts:?}: {reached} {most}");
            }
        }
    }
    let image = PartsImage { pixels: vec![0.0; places * 2], places: vec![0, 1, 2].into() };
    let two = [Template::default(); 2];
    let refused = Tree::new(shape, vec![image]).unwrap().looking_at(&two).unwrap_err();
    assert!(refused.contains("each of 3 parts"), "{refused}");
}
