//! Models that are not convex: their losses along lines and as differences of convex ones, the
//! global search along a line against brute force, tiny transductive problems against enumeration,
//! and regularizers with centre and weights in every method.

mod common;

use common::{
    Case, Kind, NON_CONVEX_METHODS, Random, cases, dense, fit, form, larger_case, random_case,
};
use minorant::data::{Dataset, Label, LabelRows, Labels};
use minorant::family::linear::{BALANCE_MEAN, BIAS_WEIGHT, GAMMA, RAMP, STARTS};
use minorant::family::{FittedModel, Settings};
use minorant::linalg::{Design, Matrix, Storage};
use minorant::line::{Quadratic, minimise_globally};
use minorant::options::common::BIAS;
use minorant::regularizer::L2;
use minorant::risk::hinge::Hinge;
use minorant::risk::multiclass_hinge::{MulticlassHinge, uniform_margins};
use minorant::risk::multiclass_ramp::MulticlassRamp;
use minorant::risk::multiclass_transductive::MulticlassTransductive;
use minorant::risk::ramp::Ramp;
use minorant::risk::transductive::Transductive;
use minorant::risk::{Cancel, ExampleWeights, LinearRisk, Loss, Risk};
use minorant::solver::{Method, MethodOptions, Outcome, Problem, Status, StopRules, run};

/// A loss of each kind over `n` examples.
fn losses(random: &mut Random, n: usize) -> Vec<Box<dyn Loss>> {
    let signs: Vec<f64> = (0..n).map(|_| random.pick(&[-1.0, 1.0])).collect();
    let some: Vec<f64> = (0..n).map(|_| random.pick(&[-1.0, 1.0, 0.0, 0.0])).collect();
    let classes = random.between(2, 5);
    let mut label = || random.between(0, classes - 1) as u32;
    let labels: Vec<u32> = (0..n).map(|_| label()).collect();
    let maybe: Vec<Option<u32>> =
        labels.iter().enumerate().map(|(i, z)| (i % 3 == 0).then_some(*z)).collect();
    let hinge = MulticlassHinge::new(classes, labels, uniform_margins(classes));
    let mean = Some(random.normal());
    vec![
        Box::new(Ramp::new(signs, random.pick(&[-1.0, 0.0, 0.5, -3.0]))),
        Box::new(Transductive::new(some.clone(), None)),
        Box::new(Transductive::new(some[..n - 1].to_vec(), mean)),
        Box::new(MulticlassRamp::new(hinge, random.pick(&[-1.0, 0.0]))),
        Box::new(MulticlassTransductive::new(classes, &maybe)),
    ]
}

/// Whole numbers and halves meet kinks exactly.
fn output(random: &mut Random) -> f64 {
    if random.chance(0.5) {
        (random.between(0, 12) as f64 - 6.0) / 2.0
    } else {
        2.0 * random.normal()
    }
}

#[test]
fn the_lowest_point_of_a_line() {
    let mut random = Random::new(11);
    for case in 0..cases(60, 2000) {
        let n = random.between(2, 9);
        for loss in losses(&mut random, n) {
            let k = loss.outputs();
            let identity: Vec<f64> = (0..n * n).map(|at| f64::from(at / n == at % n)).collect();
            let matrix = Matrix::dense(n, n, identity.into()).unwrap();
            let weights = ExampleWeights::Each((0..n).map(|_| random.scale(0.1, 3.0)).collect());
            let risk = LinearRisk::boxed(Design::new(&matrix, None), loss, weights);
            let mut point = || {
                let w = (0..n * k).map(|_| output(&mut random)).collect();
                risk.at(w, &Cancel::new()).unwrap()
            };
            let (from, to) = (point(), point());
            let quadratic = Quadratic { slope: random.normal(), curvature: random.unit() };
            let lines = risk.lines().unwrap();
            let height = |eta: f64| {
                let smooth = eta * (quadratic.slope + 0.5 * quadratic.curvature * eta);
                lines.between(&from, &to, eta).value + smooth
            };
            let mut line = lines.line(&from, &to);
            let found = minimise_globally(&mut line, quadratic, 2.0).expect("a piecewise line");
            assert!((0.0..=2.0).contains(&found));
            let grid = (0..=4000).map(|i| f64::from(i) * 5e-4);
            let kinks = line.breakpoints(0.0, 2.0).unwrap().1;
            let least = grid.chain(kinks.iter().map(|b| b.at)).map(height).fold(f64::MAX, f64::min);
            let size = 1.0 + height(0.0).abs();
            assert!(height(found) <= least + 1e-9 * size, "case {case}: {found}");
            // The slopes that the pieces tell are those of the values.
            let (start, _) = line.breakpoints(0.0, 2.0).unwrap();
            let first = kinks.iter().map(|b| b.at).fold(2.0, f64::min);
            let rise = lines.between(&from, &to, 0.5 * first).value - from.value;
            let told = 0.5 * first * (start[0] + 0.25 * start[1] * first);
            assert!((rise - told).abs() <= 1e-9 * size, "case {case}: {rise}, not {told}");
        }
    }
}

#[test]
fn differences_of_convex_losses() {
    let mut random = Random::new(12);
    for _ in 0..cases(200, 5000) {
        let n = 6;
        for loss in losses(&mut random, n) {
            let k = loss.outputs();
            let difference = loss.difference().expect("a difference");
            let convex = difference.convex_term();
            let i = random.between(0, n - 1);
            let (mut c, mut t) = (vec![0.0; k], vec![0.0; k]);
            let f: Vec<f64> = (0..k).map(|_| output(&mut random)).collect();
            let offset = difference.concave_tangent(i, &f, &mut c);
            let linear = |g: &[f64]| offset + c.iter().zip(g).map(|(c, g)| c * g).sum::<f64>();
            let touches = convex.value(i, &f) + linear(&f);
            assert!((touches - loss.value(i, &f)).abs() < 1e-12, "touches at the point");
            let tangent = convex.tangent(i, &f, &mut t);
            let own = loss.tangent(i, &f, &mut vec![0.0; k]);
            assert!((own.value - loss.value(i, &f)).abs() < 1e-12);
            for _ in 0..5 {
                let g: Vec<f64> = (0..k).map(|_| output(&mut random)).collect();
                assert!(convex.value(i, &g) + linear(&g) >= loss.value(i, &g) - 1e-12, "above");
                let plane = tangent.offset + t.iter().zip(&g).map(|(t, g)| t * g).sum::<f64>();
                assert!(convex.value(i, &g) >= plane - 1e-12, "the convex part is convex");
            }
        }
    }
}

/// The convex problem in which the rows without a label have these.
fn with_labels(rows: &[Vec<f64>], signs: &[f64], weights: &[f64], lambda: f64) -> Outcome {
    let known: Vec<usize> = (0..signs.len()).filter(|&i| signs[i] != 0.0).collect();
    let rows: Vec<Vec<f64>> = known.iter().map(|&i| rows[i].clone()).collect();
    let matrix = dense(&rows, rows[0].len(), Storage::F64);
    let loss = Hinge::new(known.iter().map(|&i| signs[i]).collect());
    let weights = ExampleWeights::Each(known.iter().map(|&i| weights[i]).collect());
    let risk = LinearRisk::new(Design::new(&matrix, None), loss, weights);
    let regularizer = L2::new(lambda).unwrap();
    let problem = Problem::new(&risk, &regularizer);
    let options = MethodOptions { parts: Some(known.len()), ..MethodOptions::default() };
    let mut solver = Method::LsPBmrm.build(problem, &options).unwrap();
    let rules = StopRules { tol: 1e-8, ..StopRules::default() };
    run(&mut *solver, problem, rules, &Cancel::new(), &mut (), &mut ()).unwrap()
}

/// The global minimum over all labelings of the rows without a label, by branch and bound.
fn enumerate(
    rows: &[Vec<f64>],
    signs: &mut Vec<f64>,
    weights: &[f64],
    lambda: f64,
    best: &mut f64,
) {
    let outcome = with_labels(rows, signs, weights, lambda);
    if outcome.certificate.lower_bound.unwrap() >= *best * (1.0 - 1e-9) {
        return;
    }
    let Some(next) = signs.iter().position(|sign| *sign == 0.0) else {
        *best = best.min(outcome.certificate.objective);
        return;
    };
    let f: f64 = rows[next].iter().zip(&outcome.point.w).map(|(x, w)| x * w).sum();
    for sign in [f.signum(), -f.signum()] {
        signs[next] = sign;
        enumerate(rows, signs, weights, lambda, best);
    }
    signs[next] = 0.0;
}

#[test]
fn tiny_transductive_problems() {
    let mut reached = 0;
    for seed in 0..10 {
        let mut random = Random::new(100 + seed);
        let (labelled, unlabelled) = (random.between(6, 8), random.between(10, 14));
        let d = random.between(2, 4);
        let (lambda, gamma) = (random.scale(0.05, 0.3), random.scale(0.5, 3.0));
        let mut signs = vec![0.0; labelled + unlabelled];
        for (i, sign) in signs.iter_mut().enumerate().take(labelled) {
            *sign = if i % 2 == 0 { 1.0 } else { -1.0 };
        }
        let rows: Vec<Vec<f64>> = signs
            .iter()
            .map(|sign| {
                (0..d).map(|j| random.normal() + if j == 0 { *sign } else { 0.0 }).collect()
            })
            .collect();
        let weights: Vec<f64> = signs
            .iter()
            .map(|s| if *s != 0.0 { 1.0 / labelled as f64 } else { gamma / unlabelled as f64 })
            .collect();
        let classes = vec![Label::Number(-1.0), Label::Number(0.0), Label::Number(1.0)];
        let numbers = signs.iter().map(|sign| (sign + 1.0) as u32).collect();
        let data = Dataset {
            features: dense(&rows, d, Storage::F64),
            labels: Labels { classes, rows: LabelRows::Single(numbers) },
        };
        let settings = Settings::new("tsvm").unwrap();
        let mut case = Case::new(Kind::Transductive, data, settings);
        case.lambda(lambda);
        case.put(&GAMMA, gamma);
        case.tol(1e-6);
        case.put(&STARTS, 20);
        let (model, report) = fit(&case);
        assert_eq!(form(&model).classes.len(), 2);
        let found = report.certificate.objective;
        let w = &form(&model).problems[0].weights;
        let plain = 0.5 * lambda * w.iter().map(|w| w * w).sum::<f64>()
            + (0..rows.len())
                .map(|i| {
                    let f: f64 = rows[i].iter().zip(w).map(|(x, w)| x * w).sum();
                    let margin = if signs[i] == 0.0 { f.abs() } else { signs[i] * f };
                    weights[i] * (1.0 - margin).max(0.0)
                })
                .sum::<f64>();
        assert!((found - plain).abs() <= 1e-12, "{found}, not {plain}");
        // Whatever is not pruned by this could be better.
        let mut best = found;
        enumerate(&rows, &mut signs.clone(), &weights, lambda, &mut best);
        reached += u32::from(found <= best * (1.0 + 1e-4));
        case.put(&STARTS, 1);
        for method in NON_CONVEX_METHODS {
            case.solver(method);
            case.max_evals(500);
            let objective = fit(&case).1.certificate.objective;
            assert!(objective >= best * (1.0 - 1e-7), "{method:?}: {objective} below {best}");
        }
    }
    assert!(reached >= 9, "20 starts reach the global minimum in {reached} of 10 problems only");
}

/// A problem with centre and weights is the plain one in other coordinates.
#[test]
fn centres_and_weights_of_the_regularizer() {
    for seed in 0..cases(6, 100) {
        let mut random = Random::new(200 + seed);
        let (n, d) = (30, 4);
        let theta: Vec<f64> = (0..d).map(|_| random.pick(&[0.5, 1.0, 2.0, 4.0])).collect();
        let rows: Vec<Vec<f64>> = (0..n).map(|_| random.normals(d)).collect();
        let signs: Vec<f64> = (0..n).map(|_| random.pick(&[-1.0, 1.0])).collect();
        // Powers of two: dividing the columns by θ rounds nothing.
        let scaled: Vec<Vec<f64>> =
            rows.iter().map(|row| row.iter().zip(&theta).map(|(x, t)| x / t).collect()).collect();
        let solve = |rows: &[Vec<f64>], regularizer: L2, method: Method| {
            let matrix = dense(rows, d, Storage::F64);
            let loss = Ramp::new(signs.clone(), -0.5);
            let risk = LinearRisk::new(Design::new(&matrix, None), loss, ExampleWeights::mean(n));
            let problem = Problem::new(&risk, &regularizer);
            let mut solver = method.build(problem, &MethodOptions::default()).unwrap();
            let rules = StopRules { tol: 1e-4, max_evaluations: Some(300), ..StopRules::default() };
            run(&mut *solver, problem, rules, &Cancel::new(), &mut (), &mut ()).unwrap()
        };
        for method in NON_CONVEX_METHODS {
            let plain = solve(&scaled, L2::new(0.1).unwrap(), method);
            let weighted =
                solve(&rows, L2::new(0.1).unwrap().with_weights(theta.clone()).unwrap(), method);
            let (a, b) = (plain.certificate.objective, weighted.certificate.objective);
            assert!((a - b).abs() <= 1e-9 * a, "seed {seed}, {method:?}: {a} and {b}");
            assert_eq!(plain.evaluations, weighted.evaluations, "seed {seed}, {method:?}");
            // Around the answer itself the answer costs its risk alone.
            let center = weighted.point.w.clone();
            let centred = L2::new(0.1).unwrap().with_weights(theta.clone()).unwrap();
            let outcome = solve(&rows, centred.with_center(center).unwrap(), method);
            assert!(
                outcome.certificate.objective <= weighted.point.value + 1e-12,
                "seed {seed}, {method:?}"
            );
        }
    }
}

/// Nothing is certified, the local gap is told, and files keep what the model needs.
#[test]
fn reports_of_models_that_are_not_convex() {
    let folder = tempfile::tempdir().unwrap();
    for kind in Kind::NON_CONVEX {
        let mut case = larger_case(kind, 120, 6, 9);
        case.lambda(0.05);
        let (model, report) = fit(&case);
        assert_eq!((report.solver, report.status), ("nrbm-ls", Status::Converged), "{kind:?}");
        assert_eq!(report.certificate.lower_bound, None);
        assert!(!report.certificate.certifies(1.0));
        let gap = report.local_gap.expect("a local gap");
        assert!((0.0..=1e-3 * report.certificate.objective).contains(&gap), "{kind:?}: {gap}");
        let path = folder.path().join("model");
        model.save(&path, u64::MAX).unwrap();
        let loaded = FittedModel::load(&path).unwrap();
        let (kept, given) = (&loaded.facts.settings, &model.facts.settings);
        assert_eq!((kept.get(&RAMP), kept.get(&GAMMA)), (given.get(&RAMP), given.get(&GAMMA)));
        assert_eq!(kept.is_given("ramp"), !kind.is_transductive());
        assert_eq!(loaded.facts.local_gap, model.facts.local_gap);
        assert!(!form(&loaded).classes.contains(&Label::Number(0.0)));
        let audit = loaded.audit(&case.data, None);
        assert!(audit.holds.is_none() && audit.why.contains("no global bound"), "{}", audit.why);
    }
}

/// Wherever decisions can be shifted freely, their mean over the rows without a label lies within
/// 0.1 of what was asked for.
#[test]
fn balanced_means() {
    for mean in [-0.5, 0.0, 0.4] {
        let mut case = larger_case(Kind::Transductive, 200, 5, 4);
        case.lambda(1e-2);
        case.put(&BIAS, Some(1.0));
        case.put(&BIAS_WEIGHT, Some(1e-3));
        case.put(&BALANCE_MEAN, Some(mean));
        let (model, report) = fit(&case);
        assert_eq!(report.status, Status::Converged);
        let scores = form(&model).scores(&case.data.features).0;
        let unlabelled: Vec<f64> = (0..200)
            .filter(|&i| case.data.labels.row(i) == [1])
            .map(|i| scores.row(i)[0])
            .collect();
        let found = unlabelled.iter().sum::<f64>() / unlabelled.len() as f64;
        assert!((found - mean).abs() <= 0.1 + 0.02, "{found} for {mean}");
    }
}

/// Random small problems: every method ends, with a local gap and a finite objective no worse than
/// that of its start.
#[test]
fn random_problems() {
    let mut random = Random::new(31);
    for _ in 0..cases(10, 500) {
        for kind in [Kind::Ramp, Kind::MulticlassRamp] {
            let mut case = random_case(kind, &mut random);
            case.max_evals(200);
            for method in NON_CONVEX_METHODS {
                case.solver(method);
                let report = fit(&case).1;
                assert!(report.certificate.objective.is_finite() && report.evaluations <= 200);
                assert!(report.local_gap.is_none_or(|gap| gap >= -1e-9), "{method:?}");
            }
        }
    }
}

/// On a convex risk the same methods have no localities and prove a global bound.
#[test]
fn convex_risks_get_a_bound() {
    for kind in [Kind::Hinge, Kind::SquaredHinge, Kind::Logistic, Kind::Multiclass] {
        let mut case = larger_case(kind, 120, 6, 9);
        case.lambda(0.02);
        for method in [Method::Nrbm, Method::NrbmLs, Method::NrbmLsFull, Method::ProxNrbm] {
            case.solver(method);
            let (model, report) = fit(&case);
            let told = format!("{kind:?} {method:?}");
            assert_eq!(report.status, Status::Converged, "{told}");
            assert!(report.certificate.certifies(1e-3) && report.local_gap.is_none(), "{told}");
            let audit = model.audit(&case.data, None);
            assert!(audit.holds == Some(true), "{told}: {}", audit.why);
        }
    }
}

/// The convex problems of the concave-convex procedure: the same optimum in the primal and in the
/// dual, whose climbing knows the shifted slopes.
#[test]
fn convex_problems_in_the_dual() {
    let mut random = Random::new(23);
    let mut climbed = 0;
    for case in 0..cases(40, 600) {
        let n = random.between(4, 24);
        let cols = random.between(1, 5);
        let entries = (0..n * cols).map(|_| random.normal()).collect::<Vec<f64>>();
        let matrix = Matrix::dense(n, cols, entries.into()).unwrap();
        for loss in losses(&mut random, n) {
            let weights = ExampleWeights::Each((0..n).map(|_| random.scale(0.01, 1.0)).collect());
            let Some(difference) = loss.difference() else {
                panic!("every loss here is known as a difference")
            };
            let climbs = difference.convex_term().ascent().is_some();
            let risk = LinearRisk::boxed(Design::new(&matrix, None), loss, weights);
            let w: Vec<f64> = (0..risk.dim()).map(|_| random.normal()).collect();
            let point = risk.at(w, &Cancel::new()).unwrap();
            let difference = risk.difference().unwrap();
            assert_eq!(difference.has_dual_coordinates(), climbs);
            if !climbs {
                continue;
            }
            climbed += 1;
            let convex = difference.convexified(&point);
            let regularizer = L2::new(random.scale(0.01, 1.0)).unwrap();
            let problem = Problem::new(&*convex, &regularizer);
            let least = |method: Method| {
                let rules = StopRules { tol: 1e-9, abs_tol: 1e-9, ..StopRules::default() };
                let mut solver = method.build(problem, &MethodOptions::default()).unwrap();
                run(&mut *solver, problem, rules, &Cancel::new(), &mut (), &mut ()).unwrap()
            };
            let (primal, dual) = (least(Method::LsBmrm), least(Method::DualCd));
            assert_eq!(dual.status, Status::Converged, "case {case}");
            let (above, below) = (&primal.certificate, &dual.certificate);
            assert!(
                below.lower_bound.unwrap() <= above.objective
                    && above.lower_bound.unwrap() <= below.objective
                    && (above.objective - below.objective).abs() <= 1e-8,
                "case {case}: {above:?} {below:?}"
            );
        }
    }
    assert!(climbed >= 80);
}
