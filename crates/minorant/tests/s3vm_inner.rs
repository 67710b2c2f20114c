//! The inner problem of the semi-supervised machine: against a conic solver on the doubled dual,
//! its closed form, critical region and gradient, the convexity of its value, and Proposition 2.

use clarabel::algebra::CscMatrix;
use clarabel::solver::SupportedConeT::{NonnegativeConeT, ZeroConeT};
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver};
use minorant::generate::Lcg;
use minorant::kernel::{Gram, Kernel, Points};
use minorant::linalg::Matrix;
use minorant::s3vm::region::{Region, gradient};
use minorant::s3vm::{Inner, S3vmProblem};

struct Case {
    matrix: Matrix<'static>,
    kernel: Kernel,
}

/// Points in the plane, every fourth of them twice, with kernels of all conditions.
fn cases(seed: u64, n: usize) -> Vec<Case> {
    let mut rng = Lcg::new(seed);
    let mut rows: Vec<[f64; 2]> = Vec::new();
    for i in 0..n {
        let copy = (i % 4 == 3).then(|| rows[rng.below(i)]);
        rows.push(copy.unwrap_or_else(|| [2.0 * rng.signed(), 2.0 * rng.signed()]));
    }
    let values: Vec<f64> = rows.concat();
    let kernels = [
        Kernel::Linear,
        Kernel::Rbf { sigma: 0.35 },
        Kernel::Rbf { sigma: 5.0 },
        Kernel::Poly { power: 3, offset: 1.0 },
    ];
    let of = |kernel| Case { matrix: Matrix::dense(n, 2, values.clone().into()).unwrap(), kernel };
    kernels.into_iter().map(of).collect()
}

/// Weights of all kinds: both sides, one side, none.
fn weights(rng: &mut Lcg, n: usize) -> (Vec<f64>, Vec<f64>) {
    let side = |rng: &mut Lcg| match rng.below(4) {
        0 => 0.0,
        1 => 10.0,
        _ => rng.unit(),
    };
    (0..n).map(|_| (side(rng), side(rng))).unzip()
}

/// −min of the doubled dual by Clarabel.
fn referee(gram: &Gram<'_>, plus: &[f64], minus: &[f64]) -> f64 {
    let n = plus.len();
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..2 * n {
        for j in 0..=i {
            let sign = if (i < n) == (j < n) { 1.0 } else { -1.0 };
            rows.push(j);
            columns.push(i);
            values.push(sign * gram.row(i % n)[j % n]);
        }
    }
    let p = CscMatrix::new_from_triplets(2 * n, 2 * n, rows, columns, values);
    let (mut rows, mut columns, mut values, mut right) = (vec![], vec![], vec![], vec![0.0]);
    for i in 0..2 * n {
        rows.push(0);
        columns.push(i);
        values.push(if i < n { 1.0 } else { -1.0 });
    }
    for (sign, ends) in [(1.0, Some((plus, minus))), (-1.0, None)] {
        for i in 0..2 * n {
            rows.push(right.len());
            columns.push(i);
            values.push(sign);
            right
                .push(ends.map_or(0.0, |(plus, minus)| if i < n { plus[i] } else { minus[i - n] }));
        }
    }
    let a = CscMatrix::new_from_triplets(right.len(), 2 * n, rows, columns, values);
    let settings = DefaultSettingsBuilder::default()
        .verbose(false)
        .max_threads(1)
        .tol_gap_abs(1e-11)
        .tol_gap_rel(1e-11)
        .tol_feas(1e-11)
        .build()
        .unwrap();
    let cones = [ZeroConeT(1), NonnegativeConeT(4 * n)];
    let mut solver =
        DefaultSolver::new(&p, &vec![-1.0; 2 * n], &a, &right, &cones, settings).unwrap();
    solver.solve();
    -solver.solution.obj_val
}

#[test]
fn agrees_with_a_conic_solver_on_the_doubled_dual() {
    let mut rng = Lcg::new(5);
    for seed in 0..6 {
        for case in cases(seed, 24) {
            let points = Points::new(&case.matrix);
            let gram = Gram::new(case.kernel, &points, 1 << 30).unwrap();
            let mut inner = Inner::new(&gram);
            // One after the other, each from the solution before.
            for _ in 0..4 {
                let (plus, minus) = weights(&mut rng, 24);
                inner.set_weights(&plus, &minus);
                assert!(inner.solve(1e-9), "{:?}: {}", case.kernel, inner.violation());
                inner.refresh();
                let (primal, bound) = (inner.primal(), -inner.dual());
                let best = referee(&gram, &plus, &minus);
                let scale = 1e-7 * (1.0 + best.abs());
                assert!((primal - best).abs() <= scale, "{:?}: {primal} {best}", case.kernel);
                assert!((bound - best).abs() <= scale, "{:?}: {bound} {best}", case.kernel);
                assert!(inner.beta().iter().sum::<f64>().abs() < 1e-9);
            }
        }
    }
}

#[test]
fn any_tolerance_gives_a_bound() {
    let mut rng = Lcg::new(17);
    for case in cases(3, 40) {
        let points = Points::new(&case.matrix);
        let gram = Gram::new(case.kernel, &points, 1 << 30).unwrap();
        let (plus, minus) = weights(&mut rng, 40);
        let mut exact = Inner::new(&gram);
        exact.set_weights(&plus, &minus);
        exact.solve(1e-9);
        let best = exact.primal();
        for tol in [10.0, 1.0, 0.1, 1e-2, 1e-4] {
            let mut inner = Inner::new(&gram);
            inner.set_weights(&plus, &minus);
            inner.solve(tol);
            let slack = 1e-9 * (1.0 + best.abs());
            assert!(-inner.dual() <= best + slack && inner.primal() >= best - slack);
        }
    }
}

/// A problem on distinct points, and soft labels inside the box.
fn soft<'g>(gram: &'g Gram<'g>, rng: &mut Lcg) -> (S3vmProblem<'g>, Vec<f64>) {
    let n = gram.order();
    let signs = (0..n).map(|i| [1, -1, 0, 0, 0][i.min(4)]).collect();
    let problem = S3vmProblem::new(gram, signs, 10.0, 1.0, (0, n - 2));
    let p = (0..problem.unlabelled.len()).map(|_| rng.unit()).collect();
    (problem, p)
}

fn solved<'g>(problem: &S3vmProblem<'g>, p: &[f64]) -> Inner<'g> {
    let (plus, minus) = problem.weights(|j| p[j], |j| 1.0 - p[j]);
    let mut inner = Inner::new(problem.gram);
    inner.set_weights(&plus, &minus);
    inner.solve(1e-11);
    inner.refresh();
    inner
}

fn distinct(seed: u64, n: usize) -> Matrix<'static> {
    let mut rng = Lcg::new(seed);
    let values: Vec<f64> = (0..2 * n).map(|_| 2.0 * rng.signed()).collect();
    Matrix::dense(n, 2, values.into()).unwrap()
}

#[test]
fn the_gradient_is_that_of_finite_differences() {
    let mut rng = Lcg::new(23);
    let mut inside = 0;
    for seed in 0..10 {
        let matrix = distinct(seed, 20);
        let points = Points::new(&matrix);
        let gram = Gram::new(Kernel::Rbf { sigma: 0.6 }, &points, 1 << 30).unwrap();
        let (problem, p) = soft(&gram, &mut rng);
        let inner = solved(&problem, &p);
        let region = Region::of(&inner);
        let (of_plus, of_minus) = gradient(&inner);
        for (j, &i) in problem.unlabelled.iter().enumerate().step_by(3) {
            let step = 1e-5;
            let [above, below] = [step, -step].map(|step| {
                let mut moved = p.clone();
                moved[j] += step;
                solved(&problem, &moved)
            });
            let slope = (above.dual() - below.dual()) / (2.0 * step);
            let given = problem.c2 * (of_plus[i] - of_minus[i]);
            // Within a critical region the value is quadratic, and central differences are exact;
            // across its border they are as far off as the gradient bends.
            let stays = Region::of(&above) == region && Region::of(&below) == region;
            inside += usize::from(stays);
            let most = if stays { 1e-7 } else { 1e-5 };
            assert!((slope - given).abs() < most, "{seed} {j}: {slope} {given}");
        }
    }
    assert!(inside > 40, "{inside}");
}

#[test]
fn the_closed_form_holds_inside_its_region() {
    let mut rng = Lcg::new(29);
    let mut inside = 0;
    for seed in 0..40 {
        let matrix = distinct(100 + seed, 20);
        let points = Points::new(&matrix);
        let gram = Gram::new(Kernel::Rbf { sigma: 0.5 }, &points, 1 << 30).unwrap();
        let (problem, p) = soft(&gram, &mut rng);
        let inner = solved(&problem, &p);
        let region = Region::of(&inner);
        for step in [0.0, 1e-4, 1e-3, 1e-2] {
            let moved: Vec<f64> =
                p.iter().map(|p| (p + step * rng.signed()).clamp(0.0, 1.0)).collect();
            let (plus, minus) = problem.weights(|j| moved[j], |j| 1.0 - moved[j]);
            let Some(explicit) = region.clone().explicit(&gram) else { continue };
            let form = explicit.solution(&gram, &plus, &minus, f64::INFINITY).unwrap();
            let there = solved(&problem, &moved);
            let products = form.beta.iter().zip(&form.outputs).map(|(b, f)| 0.5 * b * f);
            let kink = |i: usize| {
                let b = form.beta[i];
                (-b - 2.0 * minus[i]).max(b - 2.0 * plus[i])
            };
            let dual = products.sum::<f64>() + (0..plus.len()).map(kink).sum::<f64>();
            let error = (dual - there.dual()).abs();
            let within = explicit.solution(&gram, &plus, &minus, 1e-9);
            assert_eq!(within.is_some(), form.violation <= 1e-9);
            if form.violation <= 1e-9 {
                inside += 1;
                assert!(error <= 1e-8, "{seed} {step}: {error}");
                assert!((form.bias - there.bias()).abs() < 1e-6);
                let far = form.beta.iter().zip(there.beta()).map(|(a, b)| (a - b).abs());
                assert!(far.fold(0.0, f64::max) < 1e-6);
            } else if form.violation > 1e-3 {
                // Outside it the promise is not the solution.
                let far = form.beta.iter().zip(there.beta()).map(|(a, b)| (a - b).abs());
                assert!(far.fold(0.0, f64::max) > 1e-6, "{seed} {step}");
            }
        }
    }
    assert!(inside > 40, "{inside}");
}

#[test]
fn the_value_is_convex_and_proposition_2_holds() {
    let mut rng = Lcg::new(31);
    let mut improved = 0;
    for seed in 0..30 {
        let matrix = distinct(200 + seed, 16);
        let points = Points::new(&matrix);
        let gram = Gram::new(Kernel::Rbf { sigma: 0.7 }, &points, 1 << 30).unwrap();
        let (problem, p) = soft(&gram, &mut rng);
        let q: Vec<f64> = p.iter().map(|_| rng.unit()).collect();
        let value = |p: &[f64]| solved(&problem, p).dual();
        for t in [0.25, 0.5, 0.75] {
            let between: Vec<f64> = p.iter().zip(&q).map(|(p, q)| (1.0 - t) * p + t * q).collect();
            assert!(value(&between) <= (1.0 - t) * value(&p) + t * value(&q) + 1e-8);
        }
        // The best vertex u at q: Δ > 0 says F(u) > F(q), and F(q) + Δ is less the objective there.
        let inner = solved(&problem, &q);
        let (of_plus, of_minus) = gradient(&inner);
        let slopes: Vec<f64> =
            problem.unlabelled.iter().map(|&i| of_plus[i] - of_minus[i]).collect();
        let (loss, labels) = problem.loss(|i| inner.decision(i));
        let vertex: Vec<f64> = labels.iter().map(|y| f64::from(u8::from(*y))).collect();
        let delta: f64 = vertex.iter().zip(&q).zip(&slopes).map(|((u, q), g)| (u - q) * g).sum();
        let objective = 0.5 * inner.square() + loss;
        assert!((inner.dual() + delta + objective).abs() < 1e-6 * objective);
        if delta > 1e-6 {
            improved += 1;
            assert!(value(&vertex) > inner.dual());
        }
    }
    assert!(improved > 10);
}
