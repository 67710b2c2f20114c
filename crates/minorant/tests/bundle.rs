//! The bundle under pressure: with room for three, four or five planes (aggregation) and with idle
//! planes dropped early its bound never decreases, it still reaches the optimum, and the proof
//! through aggregates holds.

mod common;

use common::{Case, Kind, Random, cases, difference, fit, random_case};
use minorant::bundle::{Bundle, Limits};
use minorant::family::linear::BIAS_WEIGHT;
use minorant::linalg::Design;
use minorant::options::common::{BIAS, MEMORY};
use minorant::regularizer::L2;
use minorant::risk::hinge::Hinge;
use minorant::risk::{Cancel, ExampleWeights, LinearRisk, Risk};
use minorant::solver::{Method, Status};

/// Cutting planes at the model's minimisers; checks every bound and returns the last one with the
/// lowest objective.
fn iterate(limits: Limits, parts: usize, seed: u64, rounds: usize) -> (f64, f64) {
    let mut random = Random::new(seed);
    let (n, d) = (40, 6);
    let rows = common::rows(&mut random, n, d, common::Values::Normal);
    let matrix = common::dense(&rows, d, minorant::linalg::Storage::F64);
    let signs = (0..n).map(|_| random.pick(&[1.0, -1.0])).collect();
    let design = Design::new(&matrix, Some(1.0));
    let risk = LinearRisk::new(design, Hinge::new(signs), ExampleWeights::mean(n));
    let theta = (0..=d).map(|_| random.scale(0.5, 2.0)).collect();
    let center = random.normals(d + 1);
    let regularizer = L2::new(0.05).and_then(|l2| l2.with_weights(theta)).expect("a regularizer");
    let regularizer = regularizer.with_center(center).expect("a regularizer");
    let mut bundle = Bundle::new(risk.dim(), parts, limits);
    let mut w = regularizer.center(risk.dim());
    let (mut bound, mut best) = (f64::NEG_INFINITY, f64::INFINITY);
    for round in 0..rounds {
        let (point, planes) = risk.at_with_planes(w, parts, &Cancel::new()).expect("an evaluation");
        best = best.min(regularizer.value(&point.w) + point.value);
        bundle.add(&point.w, planes, &regularizer);
        assert!(bundle.len() <= limits.planes.saturating_mul(parts), "{} planes", bundle.len());
        let minimum = bundle.minimise(&regularizer, 1e-15);
        let told = format!("seed {seed} round {round} {limits:?} parts {parts}");
        assert!(minimum.bound >= bound - 1e-13, "{told}: {bound} then {}", minimum.bound);
        assert!(minimum.bound <= best, "{told}: bound {} objective {best}", minimum.bound);
        bound = bound.max(minimum.bound);
        for part in 0..parts {
            let proof = bundle.proof().expect("a proof");
            let sum: f64 = proof.points().iter().map(|point| point.part_weights[part]).sum();
            assert!((sum - 1.0).abs() < 1e-13, "{told}: weights of part {part} sum to {sum}");
        }
        w = minimum.w;
    }
    (bound, best)
}

#[test]
fn aggregation_keeps_the_bound() {
    for seed in 0..cases(5, 100) {
        for planes in [3, 4, 5] {
            for parts in [1, 4] {
                let limits = Limits { planes, idle: 20, remembered: usize::MAX };
                let (bound, best) = iterate(limits, parts, seed, 150);
                assert!(best - bound < 0.2 * best, "seed {seed}: [{bound}, {best}]");
            }
        }
    }
}

#[test]
fn dropping_idle_planes_keeps_the_bound() {
    for seed in 0..cases(5, 100) {
        for idle in [0, 1, 3, 20] {
            for parts in [1, 4] {
                let limits = Limits { planes: usize::MAX, idle, remembered: usize::MAX };
                let (bound, best) = iterate(limits, parts, seed, 150);
                assert!(best - bound < 1e-6 * best, "seed {seed} {idle}: [{bound}, {best}]");
            }
        }
    }
}

#[test]
fn forgotten_origins_leave_no_proof() {
    let limits = Limits { planes: 3, idle: 20, remembered: 4 };
    let mut bundle = Bundle::new(2, 1, limits);
    let regularizer = L2::new(1.0).expect("a regularizer");
    let mut random = Random::new(1);
    for _ in 0..40 {
        let w = random.normals(2);
        // Planes of ‖v‖²/2: normal w, offset −‖w‖²/2.
        let offset = -0.5 * w.iter().map(|w| w * w).sum::<f64>();
        let plane = minorant::risk::Plane { normal: w.clone(), offset, ..Default::default() };
        bundle.add(&w, vec![plane], &regularizer);
        bundle.minimise(&regularizer, 1e-15);
        if let Some(proof) = bundle.proof() {
            assert!(proof.points().len() <= 4 + 3);
        }
    }
}

fn with_method(case: &Case, method: Method, memory: Option<usize>, tol: f64) -> Case {
    let mut case = case.clone();
    case.solver(method);
    case.put(&MEMORY, memory);
    case.tol(tol);
    case
}

/// Checks a limited-memory run against the exact optimum and audits it; returns its status and
/// relative gap.
fn check_limited(case: &Case, memory: usize, most: u64, told: &str) -> (Status, f64) {
    let optimum = fit(&with_method(case, Method::LsPBmrm, None, 1e-10)).1.certificate.objective;
    let mut limited = with_method(case, Method::LmBmrm, Some(memory), 1e-6);
    limited.max_evals(most);
    let (model, report) = fit(&limited);
    let (low, high) = (report.certificate.lower_bound, report.certificate.objective);
    assert!(low.is_some_and(|low| low <= optimum + 1e-13), "{told}: {low:?} above {optimum}");
    assert!(high >= optimum - 1e-9, "{told}: {high} below {optimum}");
    if report.status == Status::Converged {
        assert!(difference(high, optimum) < 2e-6, "{told}: {high} against {optimum}");
    }
    let verdict = model.audit(&case.data, case.weights().as_deref());
    assert!(verdict.holds == Some(true), "{told}: {}", verdict.why);
    (report.status, report.certificate.relative_gap().unwrap_or(f64::INFINITY))
}

#[test]
fn limited_memory_goes_to_the_same_optimum() {
    for kind in Kind::ALL {
        for seed in 0..cases(3, 30) {
            let mut random = Random::new(seed);
            let mut case = random_case(kind, &mut random);
            case.lambda(random.scale(0.5, 5.0));
            for memory in [3, 4, 5] {
                let told = format!("{kind:?} seed {seed} memory {memory}");
                let (status, gap) = check_limited(&case, memory, 600, &told);
                assert_ne!(status, Status::Stalled, "{told}");
                // One class against the rest: the first may use up all evaluations.
                let fair = kind != Kind::OneVsRest;
                assert!(!fair || gap < 0.2, "{told}: gap {gap} ({status:?})");
            }
        }
    }
}

#[test]
fn limited_memory_is_exact_where_few_planes_suffice() {
    for seed in 0..cases(20, 300) {
        let mut random = Random::new(seed);
        let mut case = random_case(Kind::Hinge, &mut random);
        case.lambda(random.scale(0.1, 5.0));
        case.put(&BIAS, None);
        case.put(&BIAS_WEIGHT, None);
        let rows = case.data.features.rows();
        let one: Vec<Vec<f64>> = (0..rows).map(|_| vec![random.normal()]).collect();
        case.data.features = common::dense(&one, 1, minorant::linalg::Storage::F64);
        for memory in [3, 4, 5] {
            let told = format!("seed {seed} memory {memory}");
            assert_eq!(check_limited(&case, memory, 500, &told).0, Status::Converged, "{told}");
        }
    }
}
