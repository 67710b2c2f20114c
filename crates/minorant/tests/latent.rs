//! Latent machines: the search against every way to give rows to components, objectives by their
//! definition, the same bits whatever the threads.

use minorant::generate::Lcg;
use minorant::kernel::{Gram, Kernel, Points};
use minorant::latent::{LatentFit, LatentProblem, SOLVERS, fit};
use minorant::linalg::Matrix;
use minorant::risk::Cancel;
use minorant::s3vm::{Inner, Options, Solver};
use minorant::solver::StopRules;

fn run(problem: &LatentProblem<'_>, options: &Options) -> LatentFit {
    fit(problem, options, &Cancel::new(), &mut (), &mut ()).unwrap()
}

fn points(seed: u64, n: usize) -> Matrix<'static> {
    let mut rng = Lcg::new(seed);
    let values: Vec<f64> = (0..2 * n).map(|_| 2.0 * rng.signed()).collect();
    Matrix::dense(n, 2, values.into()).unwrap()
}

fn objective(problem: &LatentProblem<'_>, fit: &LatentFit) -> f64 {
    let n = problem.positive.len();
    let mut square = 0.0;
    let mut decisions = Vec::new();
    for component in &fit.solution.components {
        let outputs: Vec<f64> = (0..n)
            .map(|i| problem.gram.row(i).iter().zip(&component.beta).map(|(k, b)| k * b).sum())
            .collect();
        square += component.beta.iter().zip(&outputs).map(|(b, f)| b * f).sum::<f64>();
        decisions.push(outputs.iter().map(|f| f + component.bias).collect::<Vec<f64>>());
    }
    let loss = |i: usize| {
        let hinge = |sign: f64, k: usize| (1.0 - sign * decisions[k][i]).max(0.0);
        let all = 0..problem.components;
        if problem.positive[i] {
            problem.c_pos * all.map(|k| hinge(1.0, k)).fold(f64::INFINITY, f64::min)
        } else {
            problem.c_neg * all.map(|k| hinge(-1.0, k)).sum::<f64>()
        }
    };
    0.5 * square + (0..n).map(loss).sum::<f64>()
}

/// The least objective over all ways to give the positive rows to two components.
fn enumerate(problem: &LatentProblem<'_>) -> f64 {
    let minus: Vec<f64> =
        problem.positive.iter().map(|p| if *p { 0.0 } else { problem.c_neg }).collect();
    let value = |mask: u32| {
        let mut plus = vec![0.0; problem.positive.len()];
        for (j, &i) in problem.rows.iter().enumerate() {
            plus[i] = problem.c_pos * f64::from(mask >> j & 1);
        }
        let mut inner = Inner::new(problem.gram);
        inner.set_weights(&plus, &minus);
        inner.solve(1e-9);
        inner.primal()
    };
    let all = 1u32 << problem.rows.len();
    let values: Vec<f64> = (0..all).map(value).collect();
    (0..all)
        .map(|mask| values[mask as usize] + values[(all - 1 - mask) as usize])
        .fold(f64::INFINITY, f64::min)
}

#[test]
fn the_search_finds_the_best_parts() {
    for seed in 0..6 {
        let matrix = points(seed, 16);
        let rows = Points::new(&matrix);
        let kernel = [Kernel::Linear, Kernel::Rbf { sigma: 0.8 }][seed as usize % 2];
        let gram = Gram::new(kernel, &rows, 1 << 30).unwrap();
        let positive = (0..16).map(|i| i % 2 == 0).collect();
        let problem = LatentProblem::new(&gram, positive, 2, 3.0, 1.0);
        let best = enumerate(&problem);
        for solver in SOLVERS {
            let fit = run(&problem, &Options { solver, ..Options::default() });
            let (said, measured) = (fit.solution.objective(), objective(&problem, &fit));
            assert!((said - measured).abs() <= 1e-8 * measured, "{solver:?}");
            assert!(said >= best * (1.0 - 1e-7), "{solver:?}: {said} {best}");
            assert!(fit.lower_bound.is_none());
            if solver == Solver::Pdm {
                assert!(said <= best * (1.0 + 1e-4), "{seed}: {said} {best}");
            }
        }
    }
}

#[test]
fn one_component_is_convex_and_limits_hold() {
    let matrix = points(9, 40);
    let rows = Points::new(&matrix);
    let gram = Gram::new(Kernel::Rbf { sigma: 0.5 }, &rows, 1 << 30).unwrap();
    let positive: Vec<bool> = (0..40).map(|i| i % 3 == 0).collect();
    let one = LatentProblem::new(&gram, positive.clone(), 1, 2.0, 1.0);
    let fit = run(&one, &Options::default());
    let (bound, found) = (fit.lower_bound.unwrap(), fit.solution.objective());
    assert!(bound <= found && found - bound <= 1e-6 * found);
    let problem = LatentProblem::new(&gram, positive, 3, 2.0, 1.0);
    for solver in SOLVERS {
        for most in [3, 5, 6, 20, 100] {
            let rules = StopRules { max_evaluations: Some(most), ..Options::default().rules };
            let fit = run(&problem, &Options { solver, rules, ..Options::default() });
            assert!(fit.evaluations <= most, "{solver:?}: {} of {most}", fit.evaluations);
        }
    }
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let fit = pool.install(|| run(&problem, &Options::default()));
        (fit.solution.components, fit.evaluations)
    };
    assert!(on(1) == on(3));
}
