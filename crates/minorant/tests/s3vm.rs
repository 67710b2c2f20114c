//! The methods for semi-supervised machines: branch and bound against enumeration, the search
//! against branch and bound, the same bits whatever the threads, limits that hold.

use minorant::generate::{Clouds, CloudsOptions, Lcg, clouds};
use minorant::kernel::{Gram, Kernel, KernelError, Points};
use minorant::linalg::Matrix;
use minorant::risk::Cancel;
use minorant::s3vm::{
    Balance, Inner, Mode, Options, RampProblem, S3vmFit, S3vmProblem, Solver, fit, fit_ramp,
};
use minorant::solver::{Status, StopRules};
use minorant::trace::{Observer, TraceRecord};

fn run(problem: &S3vmProblem<'_>, options: &Options) -> S3vmFit {
    fit(problem, options, &Cancel::new(), &mut (), &mut ()).unwrap()
}

fn by(solver: Solver) -> Options {
    Options { solver, ..Options::default() }
}

/// The objective of a decision function by its definition.
fn objective(problem: &S3vmProblem<'_>, beta: &[f64], bias: f64) -> f64 {
    let n = problem.signs.len();
    let outputs: Vec<f64> =
        (0..n).map(|i| problem.gram.row(i).iter().zip(beta).map(|(k, b)| k * b).sum()).collect();
    let square: f64 = beta.iter().zip(&outputs).map(|(b, f)| b * f).sum();
    let mut losses: Vec<(f64, f64)> = Vec::new();
    let mut known = 0.0;
    for i in 0..n {
        let h = outputs[i] + bias;
        match problem.signs[i] {
            0 => losses.push(((1.0 - h).max(0.0), (1.0 + h).max(0.0))),
            s => known += (1.0 - f64::from(s) * h).max(0.0),
        }
    }
    // Every number of positives, given to the rows that gain most by it.
    losses.sort_by(|a, b| (a.0 - a.1).total_cmp(&(b.0 - b.1)));
    let (low, high) = problem.balance;
    let cost = |k: usize| {
        let positive: f64 = losses[..k].iter().map(|l| l.0).sum();
        positive + losses[k..].iter().map(|l| l.1).sum::<f64>()
    };
    let unknown = (low..=high).map(cost).fold(f64::INFINITY, f64::min);
    0.5 * square + problem.c1 * known + problem.c2 * unknown
}

/// The least objective over all labelings.
fn enumerate(problem: &S3vmProblem<'_>) -> f64 {
    let u = problem.unlabelled.len();
    let (low, high) = problem.balance;
    let mut least = f64::INFINITY;
    for mask in 0u32..1 << u {
        let count = mask.count_ones() as usize;
        if count < low || count > high {
            continue;
        }
        let has = |j: usize| f64::from(mask >> j & 1);
        let (plus, minus) = problem.weights(has, |j| 1.0 - has(j));
        let mut inner = Inner::new(problem.gram);
        inner.set_weights(&plus, &minus);
        inner.solve(1e-9);
        least = least.min(inner.primal());
    }
    least
}

#[test]
fn branch_and_bound_agrees_with_enumeration() {
    let mut rng = Lcg::new(3);
    for seed in 0..8 {
        let n = 12;
        let mut values: Vec<f64> = (0..2 * n).map(|_| 2.0 * rng.signed()).collect();
        // Two rows are the same.
        values.copy_within(0..2, 20);
        let matrix = Matrix::dense(n, 2, values.into()).unwrap();
        let points = Points::new(&matrix);
        let kernel = [Kernel::Rbf { sigma: 0.7 }, Kernel::Linear][seed % 2];
        let gram = Gram::new(kernel, &points, 1 << 30).unwrap();
        let signs: Vec<i8> = (0..n).map(|i| [1, -1, 0][i.min(2)]).collect();
        let balance = [(0, 10), (5, 5), (3, 6), (10, 10)][seed / 2];
        let problem = S3vmProblem::new(&gram, signs, 3.0, 1.0, balance);
        let best = enumerate(&problem);
        let exact = run(&problem, &by(Solver::Bb));
        let found = exact.solution.objective();
        assert!((found - best).abs() <= 1e-6 * best, "{seed}: {found} {best}");
        let bound = exact.lower_bound.unwrap();
        assert!(bound <= best * (1.0 + 1e-9) && bound >= best * (1.0 - 1e-5), "{bound} {best}");
        assert_eq!(exact.status, Status::Converged);
        let count = exact.solution.labels.iter().filter(|y| **y).count();
        assert!(count >= balance.0 && count <= balance.1);
        for solver in Solver::ALL {
            let fit = run(&problem, &by(solver));
            let said = fit.solution.objective();
            let measured = objective(&problem, &fit.solution.beta, fit.solution.bias);
            assert!((said - measured).abs() <= 1e-8 * measured, "{solver:?}: {said} {measured}");
            assert!(said >= best * (1.0 - 1e-7), "{solver:?}");
            assert_eq!(fit.lower_bound.is_some(), solver == Solver::Bb);
            let gap = fit.solution.local_gap;
            assert!((0.0..=1e-5 * said).contains(&gap), "{solver:?}: {gap}");
        }
    }
}

#[test]
fn the_ramp_loss_agrees_with_enumeration() {
    let mut rng = Lcg::new(41);
    for seed in 0..8 {
        let n = 11;
        let values: Vec<f64> = (0..2 * n).map(|_| 2.0 * rng.signed()).collect();
        let matrix = Matrix::dense(n, 2, values.clone().into()).unwrap();
        let points = Points::new(&matrix);
        let kernel = [Kernel::Rbf { sigma: 0.8 }, Kernel::Linear][seed % 2];
        let gram = Gram::new(kernel, &points, 1 << 30).unwrap();
        // By the first feature, with every fifth label wrong.
        let sign = |i: usize| if (values[2 * i] > 0.0) != (i % 5 == 4) { 1 } else { -1 };
        let signs: Vec<i8> = (0..n).map(sign).collect();
        let problem = RampProblem { gram: &gram, signs, c: 2.0, ramp: -0.5 };
        // Which rows count, in all ways.
        let mut best = f64::INFINITY;
        for mask in 0u32..1 << n {
            let share = |i: usize, s: i8| {
                if problem.signs[i] == s { problem.c * f64::from(mask >> i & 1) } else { 0.0 }
            };
            let side = |s: i8| (0..n).map(|i| share(i, s)).collect::<Vec<f64>>();
            let mut inner = Inner::new(&gram);
            inner.set_weights(&side(1), &side(-1));
            inner.solve(1e-9);
            let cut = (n as u32 - mask.count_ones()) as f64;
            best = best.min(inner.primal() + problem.c * 1.5 * cut);
        }
        let run = |solver: Solver| {
            let fit = fit_ramp(&problem, &by(solver), &Cancel::new(), &mut (), &mut ()).unwrap();
            let solution = fit.solution;
            let output = |i: usize| -> f64 {
                gram.row(i).iter().zip(&solution.beta).map(|(k, b)| k * b).sum()
            };
            let square: f64 = (0..n).map(|i| solution.beta[i] * output(i)).sum();
            let loss = |i: usize| {
                (1.0 - f64::from(problem.signs[i]) * (output(i) + solution.bias)).clamp(0.0, 1.5)
            };
            let measured = 0.5 * square + problem.c * (0..n).map(loss).sum::<f64>();
            assert!((measured - solution.objective()).abs() <= 1e-8 * measured, "{solver:?}");
            assert!(solution.local_gap <= 1e-5 * measured, "{solver:?}: {}", solution.local_gap);
            measured
        };
        let found = run(Solver::Pdm);
        assert!(found >= best * (1.0 - 1e-7) && found <= best * (1.0 + 1e-6), "{found} {best}");
        assert!(run(Solver::Da) >= found * (1.0 - 1e-7));
        assert!(run(Solver::Ao) >= found * (1.0 - 1e-7));
    }
}

fn moons(examples: usize, seed: u64) -> (Matrix<'static>, Vec<i8>) {
    let options = CloudsOptions {
        clouds: Clouds::Moons,
        examples,
        noise: 0.1,
        labeled: Some(2),
        seed,
        skip: 0,
    };
    let data = clouds(&options);
    // The classes take turns, and the first two have labels.
    (data.features, (0..examples).map(|i| [-1, 1, 0][i.min(2)]).collect())
}

#[test]
fn the_search_finds_what_branch_and_bound_proves() {
    for seed in [1, 4] {
        let (matrix, signs) = moons(40, seed);
        let points = Points::new(&matrix);
        let gram = Gram::new(Kernel::Rbf { sigma: 0.354 }, &points, 1 << 30).unwrap();
        let balance = Balance::Auto.interval(1, 2, 38).unwrap();
        let problem = S3vmProblem::new(&gram, signs, 100.0, 1.0, balance);
        let exact = run(&problem, &by(Solver::Bb));
        let found = run(&problem, &by(Solver::Pdm));
        let (best, reached) = (exact.solution.objective(), found.solution.objective());
        assert!(reached <= best * (1.0 + 1e-4), "{seed}: {reached} {best}");
        assert!(exact.lower_bound.unwrap() >= best * (1.0 - 2e-6));
    }
}

#[test]
fn few_labels_are_enough_for_moons() {
    for seed in [1, 2, 4] {
        let (matrix, signs) = moons(120, seed);
        let points = Points::new(&matrix);
        let gram = Gram::new(Kernel::Rbf { sigma: 0.125f64.sqrt() }, &points, 1 << 30).unwrap();
        let problem = S3vmProblem::new(&gram, signs, 100.0, 1.0, (59, 59));
        let found = run(&problem, &Options::default());
        let wrong = found.solution.labels.iter().enumerate().filter(|(j, y)| **y != (j % 2 == 1));
        assert!(wrong.count() <= 3, "{seed}");
        assert!(found.evaluations <= 400, "{}", found.evaluations);
        let true_labels = |j: usize| (j % 2) as f64;
        let (plus, minus) = problem.weights(true_labels, |j| 1.0 - true_labels(j));
        let mut truth = Inner::new(&gram);
        truth.set_weights(&plus, &minus);
        truth.solve(1e-8);
        assert!(found.solution.objective() <= truth.primal() * (1.0 + 1e-6), "{seed}");
        // No local method beside it is better, and Algorithm 1 as printed ends with its Δ.
        for solver in [Solver::Ao, Solver::Da, Solver::Lcs, Solver::Cccp, Solver::Ia, Solver::Gd] {
            let local = run(&problem, &by(solver));
            assert!(found.solution.objective() <= local.solution.objective() * (1.0 + 1e-4));
        }
        let strict = run(&problem, &Options { mode: Mode::Strict, ..Options::default() });
        assert!(strict.delta.is_some() && strict.delta.unwrap() <= 1e-6);
        // Critical regions save inner problems, in either mode.
        assert!(strict.regions_reused.unwrap() > 10 && found.regions_reused.unwrap() > 10);
    }
}

/// Keeps what Figure 1 of the paper draws.
#[derive(Default)]
struct Figure1 {
    labels: Vec<Vec<f64>>,
    records: Vec<TraceRecord>,
}

impl Observer for Figure1 {
    fn iteration(&mut self, record: &TraceRecord) {
        self.records.push(record.clone());
    }

    fn labels(&mut self, p: &[f64]) {
        self.labels.push(p.to_vec());
    }

    fn wants_labels(&self) -> bool {
        true
    }
}

#[test]
fn algorithm_1_as_printed() {
    let (mut several_rounds, mut global) = (0, 0);
    for seed in 1..=20 {
        let (matrix, signs) = moons(20, seed);
        let points = Points::new(&matrix);
        let gram = Gram::new(Kernel::Rbf { sigma: 1.0 }, &points, 1 << 30).unwrap();
        let truth: Vec<bool> = (0..18).map(|j| j % 2 == 1).collect();
        let problem = S3vmProblem::new(&gram, signs, 1.0, 1.0, (8, 10));
        let problem = S3vmProblem { truth: Some(truth.clone()), ..problem };
        let options = Options { mode: Mode::Strict, degree: 1.0, seed, ..Options::default() };
        let mut seen = Figure1::default();
        let strict = fit(&problem, &options, &Cancel::new(), &mut seen, &mut ()).unwrap();
        let reached = strict.solution.objective();
        assert_eq!(strict.status, Status::Converged);
        assert!(strict.delta.unwrap() <= 1e-9 * reached, "{seed}: {:?}", strict.delta);
        // Theorem 4: objectives never rise from round to round. The last record is the last solve's.
        let objectives: Vec<f64> = seen.records.iter().map(|r| r.objective).collect();
        assert!(objectives.windows(2).all(|two| two[1] <= two[0] * (1.0 + 1e-6)), "{objectives:?}");
        several_rounds += usize::from(objectives.len() > 2);
        // p is told with each record, within P; the accuracy is that of the answer's labels.
        assert_eq!(seen.labels.len(), seen.records.len());
        for p in &seen.labels {
            let sum: f64 = p.iter().sum();
            assert!(p.iter().all(|p| (0.0..=1.0).contains(p)) && sum > 8.0 - 1e-6);
            assert!(sum < 10.0 + 1e-6);
        }
        let right = truth.iter().zip(&strict.solution.labels).filter(|(a, b)| a == b).count();
        assert_eq!(seen.records.last().unwrap().accuracy, Some(right as f64 / 18.0));
        // Δ ≤ 0 on m points is no proof: the exact optimum is lower more often than not.
        let exact = run(&problem, &by(Solver::Bb)).solution.objective();
        assert!(reached >= exact * (1.0 - 1e-6), "{seed}: {reached} {exact}");
        global += usize::from(reached <= exact * (1.0 + 1e-6));
    }
    assert!(several_rounds > 0 && global < 20, "{several_rounds} {global}");
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let (matrix, signs) = moons(60, 5);
    let points = Points::new(&matrix);
    let gram = Gram::new(Kernel::Rbf { sigma: 0.35 }, &points, 1 << 30).unwrap();
    let problem = S3vmProblem::new(&gram, signs, 100.0, 1.0, (26, 32));
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let fit = pool.install(|| run(&problem, &Options::default()));
        (fit.solution.beta, fit.solution.bias, fit.evaluations)
    };
    assert!(on(1) == on(3));
}

#[test]
fn limits_hold() {
    let (matrix, signs) = moons(60, 7);
    let points = Points::new(&matrix);
    let gram = Gram::new(Kernel::Rbf { sigma: 0.35 }, &points, 1 << 30).unwrap();
    let problem = S3vmProblem::new(&gram, signs, 100.0, 1.0, (29, 29));
    for solver in Solver::ALL {
        for most in [1, 2, 3, 7, 40, 150] {
            let rules = StopRules { max_evaluations: Some(most), ..Options::default().rules };
            let fit = run(&problem, &Options { rules, ..by(solver) });
            assert!(fit.evaluations <= most, "{solver:?}: {} of {most}", fit.evaluations);
            assert!(fit.solution.objective().is_finite());
        }
        // Somebody who stops it at once still gets an answer.
        let cancel = Cancel::new();
        cancel.cancel();
        let fit = fit(&problem, &by(solver), &cancel, &mut (), &mut ()).unwrap();
        assert_eq!(fit.status, Status::Interrupted);
        assert!(fit.solution.objective().is_finite());
    }
}

#[test]
fn rows_kept_one_by_one_give_the_same_matrix() {
    let (matrix, _) = moons(50, 9);
    let points = Points::new(&matrix);
    let kernel = Kernel::Rbf { sigma: 0.35 };
    let whole = Gram::new(kernel, &points, 1 << 30).unwrap();
    let rows = Gram::new(kernel, &points, 8 * 50 * 6).unwrap();
    for i in (0..50).chain((0..50).rev()) {
        assert_eq!(whole.row(i)[..], rows.row(i)[..]);
    }
    let of = |values: Vec<f64>| Gram::from_values(2, values).map(|_| ());
    assert_eq!(of(vec![1.0, 0.5, 0.5, 1.0]), Ok(()));
    assert_eq!(of(vec![0.0; 4]), Ok(()));
    assert!(matches!(of(vec![1.0, 0.5, 0.4, 1.0]), Err(KernelError::NotSymmetric { .. })));
    assert!(matches!(of(vec![1.0, 2.0, 2.0, 1.0]), Err(KernelError::NotPositive { .. })));
}
