//! The bundle under pressure: with room for three, four or five planes (aggregation) and with idle
//! planes dropped early its bound never decreases, it still reaches the optimum, and the proof
//! through aggregates holds.

mod common;

use common::{Case, Kind, Random, cases, difference, fit, random_case};
use minorant::archive::Archive;
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
    let (_, bound, best) = iterate_to_the_end(limits, parts, seed, rounds);
    (bound, best)
}

/// The same with the bundle.
fn iterate_to_the_end(
    limits: Limits,
    parts: usize,
    seed: u64,
    rounds: usize,
) -> (Bundle, f64, f64) {
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
    (bundle, bound, best)
}

#[test]
fn aggregation_keeps_the_bound() {
    for seed in 0..cases(5, 100) {
        for planes in [3, 4, 5] {
            for parts in [1, 4] {
                let limits = Limits { planes, idle: 20, bytes: u64::MAX, remembered: usize::MAX };
                let (bound, best) = iterate(limits, parts, seed, 150);
                assert!(best - bound < 0.2 * best, "seed {seed}: [{bound}, {best}]");
            }
        }
    }
}

/// A plane takes a normal of 7 numbers, and its point as many: where there is room for so many bytes,
/// there are no more planes, and weight is folded into aggregates.
#[test]
fn bytes_are_a_limit_too() {
    for seed in 0..cases(5, 100) {
        for parts in [1, 4] {
            for planes in [3, 5, 12] {
                let each = 56 * (1 + parts as u64);
                // The points behind an aggregate count; without room for them it forgets them.
                let bytes = each * planes;
                let limits = Limits { planes: usize::MAX, idle: 20, bytes, remembered: usize::MAX };
                let (bundle, bound, best) = iterate_to_the_end(limits, parts, seed, 60);
                assert!(
                    bundle.len() <= parts * (planes as usize).max(3),
                    "{} planes",
                    bundle.len()
                );
                assert!(best - bound < 0.3 * best, "seed {seed}: [{bound}, {best}]");
            }
        }
    }
}

/// A bundle of 0.1 wrote all coordinates of its normals, and nothing of slopes and aggregates.
#[test]
fn archives_of_earlier_versions_are_read() {
    let limits = Limits { planes: 5, idle: 20, bytes: u64::MAX, remembered: usize::MAX };
    let (bundle, ..) = iterate_to_the_end(limits, 2, 7, 20);
    let mut archive = Archive::default();
    bundle.save(&mut archive);
    let mut earlier = archive.clone();
    let values = earlier.take_reals("planes.values").expect("values");
    assert_eq!(values.len(), 7 * bundle.len(), "dense normals");
    earlier.put_reals("planes.normals", values);
    earlier.reals.remove("origins.slopes");
    for name in ["planes.counts", "planes.places", "origins.aggregates", "origins.slope_counts"] {
        earlier.integers.remove(name).expect("an entry that 0.1 does not have");
    }
    let load = |mut archive| Bundle::load(7, 2, limits, &mut archive).expect("a bundle");
    for archive in [archive.clone(), earlier] {
        let mut again = Archive::default();
        load(archive).save(&mut again);
        let mut expected = Archive::default();
        bundle.save(&mut expected);
        assert_eq!(again, expected);
    }
    // Sparse normals: of 40 coordinates two are not 0, now and then others.
    let mut bundle = Bundle::new(40, 1, limits);
    let regularizer = L2::new(1.0).expect("a regularizer");
    for round in 0..4 {
        let mut normal = vec![0.0; 40];
        (normal[3], normal[round / 2 + 8]) = (1.0 + round as f64, -2.0);
        let plane = minorant::risk::Plane { normal, offset: 1.0, ..Default::default() };
        bundle.add(&[0.0; 40], vec![plane], &regularizer);
        bundle.minimise(&regularizer, 1e-15);
    }
    let mut archive = Archive::default();
    bundle.save(&mut archive);
    assert!(archive.reals["planes.values"].len() <= 12, "{:?}", archive.reals["planes.values"]);
    let mut again = Bundle::load(40, 1, limits, &mut archive.clone()).expect("a bundle");
    let mut second = Archive::default();
    again.save(&mut second);
    assert_eq!(archive, second);
    assert_eq!(again.minimise(&regularizer, 1e-15).w, bundle.minimise(&regularizer, 1e-15).w);
    for (name, change) in [("planes.places", 40), ("planes.counts", 5), ("planes.counts", 1 << 60)]
    {
        let mut damaged = archive.clone();
        damaged.integers.get_mut(name).expect("an entry")[1] = change;
        assert!(Bundle::load(40, 1, limits, &mut damaged).is_err(), "{name} {change}");
    }
}

#[test]
fn dropping_idle_planes_keeps_the_bound() {
    for seed in 0..cases(5, 100) {
        for idle in [0, 1, 3, 20] {
            for parts in [1, 4] {
                let limits =
                    Limits { planes: usize::MAX, idle, bytes: u64::MAX, remembered: usize::MAX };
                let (bound, best) = iterate(limits, parts, seed, 150);
                assert!(best - bound < 1e-6 * best, "seed {seed} {idle}: [{bound}, {best}]");
            }
        }
    }
}

#[test]
fn forgotten_origins_leave_no_proof() {
    let limits = Limits { planes: 3, idle: 20, bytes: u64::MAX, remembered: 4 };
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
