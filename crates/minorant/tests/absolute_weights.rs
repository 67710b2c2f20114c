//! Absolute weights alone under losses that are straight somewhere: Newton steps that begin where no loss
//! is curved, and the prox method's master, which has no quadratic of its own. Rows have entries of 0.1 to
//! 1000: where these are large, what rounding leaves shows first.

mod common;

use common::Random;
use minorant::prelude::*;

/// Rows with numbers to be met that depend on them, and the signs of these.
fn rows(random: &mut Random) -> (Vec<Vec<f64>>, Vec<f64>, Vec<f64>) {
    let (count, columns) = (random.between(12, 30), random.between(2, 6));
    let scale = random.scale(0.1, 1000.0);
    let rows: Vec<Vec<f64>> = (0..count)
        .map(|_| random.normals(columns).into_iter().map(|x| scale * x).collect())
        .collect();
    let mut target = |row: &Vec<f64>| row.iter().sum::<f64>() + 2.0 * scale * random.normal();
    let targets: Vec<f64> = rows.iter().map(&mut target).collect();
    let mut signs: Vec<f64> = targets.iter().map(|t| t.signum()).collect();
    (signs[0], signs[1]) = (1.0, -1.0);
    (rows, targets, signs)
}

#[test]
fn straight_losses_do_not_hold_newton_steps_up() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let (rows, targets, signs) = rows(&mut random);
        let lambda = random.scale(1e-4, 1e-2);
        let classes = Dataset::from_rows(&rows, &signs[..]).unwrap();
        let svm = Svm::new().loss("huber-hinge").lambda(lambda).l1_ratio(1.0).tol(1e-6);
        let numbers = Dataset::from_rows(&rows, Targets(&targets)).unwrap();
        let huber = Regression::new().loss("huber").lambda(lambda).l1_ratio(1.0).tol(1e-6);
        for model in [svm.fit(&classes).unwrap(), huber.fit(&numbers).unwrap()] {
            let facts = &model.facts;
            assert_eq!(facts.solver, "newton-cd");
            assert!(facts.certificate.certifies(1e-6), "seed {seed}: {:?}", facts.certificate);
        }
    }
}

#[test]
fn masters_without_a_quadratic_are_solved_as_far_as_numbers_tell() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let (rows, targets, _) = rows(&mut random);
        let lambda = random.scale(1e-4, 1e-2);
        let numbers = Dataset::from_rows(&rows, Targets(&targets)).unwrap();
        let absolute = Regression::new().loss("absolute").lambda(lambda).l1_ratio(1.0).tol(1e-4);
        let facts = absolute.fit(&numbers).unwrap().facts;
        assert_eq!(facts.solver, "prox-bmrm");
        assert!(facts.certificate.certifies(1e-4), "seed {seed}: {:?}", facts.certificate);
    }
}

/// With next to no quadratic the master's minimiser is rounding over λ, though its bound is exact.
#[test]
fn next_to_no_quadratic_is_enough() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let (rows, targets, _) = rows(&mut random);
        let (lambda, ratio) = (random.scale(1e-4, 1e-2), random.pick(&[0.9999, 0.999999]));
        let numbers = Dataset::from_rows(&rows, Targets(&targets)).unwrap();
        for solver in ["bmrm", "ls-bmrm", "ls-p-bmrm", "prox-bmrm"] {
            let absolute = Regression::new().loss("absolute").lambda(lambda).l1_ratio(ratio);
            let facts = absolute.tol(1e-6).solver(solver).fit(&numbers).unwrap().facts;
            let told = format!("seed {seed} {solver}: {:?}", facts.certificate);
            assert!(facts.certificate.certifies(1e-6), "{told}");
        }
    }
}
