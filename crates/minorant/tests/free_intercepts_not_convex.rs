//! Free intercepts under losses that are not convex: of one output the best one is found among all, planes
//! touch and have slopes that add up to zero, and the convex problems of `cccp` are those with a constant
//! feature that is hardly penalised.

mod common;

use common::{Random, cases};
use minorant::intercept::InterceptRisk;
use minorant::linalg::{Design, Matrix};
use minorant::regularizer::L2;
use minorant::risk::multiclass_hinge::{MulticlassHinge, uniform_margins};
use minorant::risk::multiclass_ramp::MulticlassRamp;
use minorant::risk::multiclass_transductive::MulticlassTransductive;
use minorant::risk::ramp::Ramp;
use minorant::risk::transductive::Transductive;
use minorant::risk::{Cancel, ExampleWeights, LinearRisk, Loss, Risk};
use minorant::solver::{self, Method, MethodOptions, Problem, StopRules};

struct Rows {
    n: usize,
    d: usize,
    matrix: Matrix<'static>,
}

impl Rows {
    fn random(random: &mut Random) -> Self {
        let (n, d) = (random.between(4, 30), random.between(1, 4));
        let values: Vec<f64> = (0..n).flat_map(|_| random.normals(d)).collect();
        let matrix = Matrix::dense(n, d, values.into()).expect("a matrix");
        Rows { n, d, matrix }
    }
}

fn binary(random: &mut Random, n: usize) -> Box<dyn Loss> {
    let sign = |random: &mut Random| if random.chance(0.4) { 1.0 } else { -1.0 };
    if random.chance(0.5) {
        let bend = random.pick(&[-1.0, 0.2, -3.0]);
        return Box::new(Ramp::new((0..n).map(|_| sign(random)).collect(), bend));
    }
    let signs = (0..n).map(|i| if i % 3 == 0 { sign(random) } else { 0.0 }).collect();
    Box::new(Transductive::new(signs, None))
}

fn of_several(random: &mut Random, n: usize) -> Box<dyn Loss> {
    let labels: Vec<u32> = (0..n).map(|_| random.between(0, 2) as u32).collect();
    if random.chance(0.5) {
        let hinge = MulticlassHinge::new(3, labels, uniform_margins(3));
        return Box::new(MulticlassRamp::new(hinge, -0.5));
    }
    let some = |i: usize| i.is_multiple_of(3).then_some(labels[i]);
    Box::new(MulticlassTransductive::new(3, &(0..n).map(some).collect::<Vec<_>>()))
}

/// The mean loss at outputs that all have something added to them.
fn mean(loss: &dyn Loss, outputs: &[f64], b: &[f64]) -> f64 {
    let k = b.len();
    let shifted = |f: &[f64]| f.iter().zip(b).map(|(f, b)| f + b).collect::<Vec<_>>();
    let each = outputs.chunks_exact(k).enumerate();
    each.map(|(i, f)| loss.value(i, &shifted(f))).sum::<f64>() / (outputs.len() / k) as f64
}

#[test]
fn the_intercept_of_one_output_is_the_best_of_all() {
    for seed in 0..cases(200, 5000) {
        let mut random = Random::new(seed);
        let rows = Rows::random(&mut random);
        let design = Design::new(&rows.matrix, None);
        let shares = || ExampleWeights::mean(rows.n);
        let loss = binary(&mut Random::new(seed), rows.n);
        let same = binary(&mut Random::new(seed), rows.n);
        let risk = InterceptRisk::new(design, loss, shares()).expect("an intercept");
        let w = random.normals(rows.d);
        let point = risk.at(w.clone(), &Cancel::new()).expect("a point");
        let bare: Vec<f64> =
            (0..rows.n).map(|i| rows.matrix.row(i).map(|(j, x)| x * w[j]).sum()).collect();
        let here = mean(&*same, &bare, &point.intercept);
        assert!((here - point.value).abs() <= 1e-12, "{seed}: {here} {}", point.value);
        // Every loss is linear between these places.
        for f in &bare {
            for place in [-3.0, -1.0, -0.2, 0.0, 0.2, 1.0, 3.0] {
                let there = mean(&*same, &bare, &[place - f]);
                assert!(point.value <= there + 1e-12, "{seed}: {} above {there}", point.value);
            }
        }
        planes_touch(&risk, &point, seed);
    }
}

#[test]
fn the_intercepts_of_several_outputs_are_no_worse_than_none() {
    for seed in 0..cases(60, 2000) {
        let mut random = Random::new(seed);
        let rows = Rows::random(&mut random);
        let design = Design::new(&rows.matrix, None);
        let loss = of_several(&mut Random::new(seed), rows.n);
        let same = of_several(&mut Random::new(seed), rows.n);
        let risk = InterceptRisk::new(design, loss, ExampleWeights::mean(rows.n)).expect("one");
        let point = risk.at(random.normals(3 * rows.d), &Cancel::new()).expect("a point");
        let b: Vec<f64> = point.intercept.iter().map(|b| -b).collect();
        let outputs = point.outputs.gather();
        assert!(point.value <= mean(&*same, &outputs, &b) + 1e-9, "{seed}");
        assert!((point.value - mean(&*same, &outputs, &[0.0; 3])).abs() <= 1e-12, "{seed}");
        planes_touch(&risk, &point, seed);
    }
}

/// A plane at a point has its value there; its slopes add up to zero, so that it says the same wherever
/// the rows lie.
fn planes_touch(risk: &InterceptRisk<'_>, point: &minorant::risk::Point, seed: u64) {
    let plane = risk.planes(point, 1, &Cancel::new()).expect("planes").remove(0);
    let height: f64 = plane.normal.iter().zip(&point.w).map(|(a, w)| a * w).sum();
    let off = (plane.offset + height - point.value).abs();
    assert!(
        off <= 1e-6 * (1.0 + point.value),
        "{seed}: {} and {}",
        plane.offset + height,
        point.value
    );
}

#[test]
fn convex_problems_are_those_of_a_constant_feature_that_is_hardly_penalised() {
    const LARGE: f64 = 1e3;
    for seed in 0..cases(40, 1000) {
        let mut random = Random::new(seed);
        let rows = Rows::random(&mut random);
        let is_binary = random.chance(0.6);
        let made = |n| match is_binary {
            true => binary(&mut Random::new(seed), n),
            false => of_several(&mut Random::new(seed), n),
        };
        let k = if is_binary { 1 } else { 3 };
        let shares = || ExampleWeights::mean(rows.n);
        let free = InterceptRisk::new(Design::new(&rows.matrix, None), made(rows.n), shares());
        let free = free.expect("an intercept");
        let with_column = Design::new(&rows.matrix, Some(LARGE));
        let column = LinearRisk::boxed(with_column, made(rows.n), shares());
        let w = random.normals(k * rows.d);
        let point = free.at(w.clone(), &Cancel::new()).expect("a point");
        let mut long = w;
        long.extend(point.intercept.iter().map(|b| b / LARGE));
        let same = column.at(long, &Cancel::new()).expect("a point");
        let regularizer = L2::new(random.scale(1e-2, 1.0)).expect("a regularizer");
        let solve = |risk: &dyn Risk| {
            let problem = Problem::new(risk, &regularizer);
            let mut method =
                Method::Bmrm.build(problem, &MethodOptions::default()).expect("a method");
            let rules = StopRules { tol: 1e-6, max_evaluations: Some(3000), ..Default::default() };
            let run = solver::run(&mut *method, problem, rules, &Cancel::new(), &mut (), &mut ());
            run.expect("an answer")
        };
        let convex = solve(&*free.difference().expect("a difference").convexified(&point));
        let other = solve(&*column.difference().expect("a difference").convexified(&same));
        let (found, of_column) = (convex.certificate, other.certificate);
        let told = format!("{seed}: {found:?} {of_column:?}");
        assert!(found.lower_bound <= Some(of_column.objective), "{told}");
        let b: f64 = convex.point.intercept.iter().map(|b| (b / LARGE).powi(2)).sum();
        let most = found.objective + 0.5 * regularizer.lambda() * b;
        assert!(of_column.lower_bound <= Some(most * (1.0 + 1e-9) + 1e-12), "{told}");
        assert!(found.certifies(1e-5), "{told}");
    }
}
