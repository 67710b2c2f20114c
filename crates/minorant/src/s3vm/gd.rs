//! `gd`: gradient descent on a smoothed objective (∇S³VM, Chapelle & Zien 2005). Labelled rows have
//! the squared hinge, unlabelled ones exp(−3h²), whose weight doubles up to C2; the mean decision
//! over the unlabelled rows is held at the balance by the offset. Gradients are taken in the
//! kernel's own metric, with conjugate directions. The answer is the machine trained on
//! the labels that the descent ends with.

use super::balance::best_labels;
use super::da::centre;
use super::work::Worker;
use crate::solver::Status;
use minorant_linalg::dense::{axpy, dot};
use minorant_linalg::elementary;

/// Doublings of the unlabelled rows' weight.
const LEVELS: i32 = 10;
/// Rows of the kernel matrix between two looks at the clock.
const UNWATCHED: usize = 16;
/// Steps at one weight.
const STEPS: usize = 60;
/// A level ends where the objective falls by less, relative to it.
const PROGRESS: f64 = 1e-5;

/// A point of the descent: coefficients, and their products with the kernel matrix.
struct Point {
    beta: Vec<f64>,
    outputs: Vec<f64>,
}

pub(super) fn run(worker: &mut Worker<'_>) -> Result<(), Status> {
    let problem = worker.problem;
    let n = problem.signs.len();
    // Something to answer with, and the start.
    worker.solve(|_| 0.0, |_| 0.0)?;
    worker.objective();
    let p = centre(worker);
    let u = p.len() as f64;
    let mean = 2.0 * p.iter().sum::<f64>() / u - 1.0;
    let centred = |outputs: &[f64], shift: f64| -> Vec<f64> {
        let middle = problem.unlabelled.iter().map(|&i| outputs[i]).sum::<f64>() / u;
        outputs.iter().map(|f| f - middle + shift).collect()
    };
    let product = |direction: &[f64], worker: &Worker<'_>| {
        let mut image = vec![0.0; n];
        for (i, &d) in direction.iter().enumerate().filter(|(_, d)| **d != 0.0) {
            if i % UNWATCHED == 0 {
                worker.check()?;
            }
            axpy(d, &problem.gram.row(i), &mut image);
        }
        Ok(image)
    };
    let mut at =
        Point { beta: worker.inner.beta().to_vec(), outputs: worker.inner.outputs().to_vec() };
    for level in (0..=LEVELS).rev() {
        let c2 = problem.c2 * 0.5f64.powi(level);
        let bells = |h: &[f64]| {
            let mut bells: Vec<f64> = h.iter().map(|h| -3.0 * h * h).collect();
            elementary::exp_all(&mut bells);
            bells
        };
        let value = |h: &[f64], square: f64| {
            let loss = |((h, s), bell): ((&f64, &i8), f64)| match s {
                0 => c2 * bell,
                s => problem.c1 * (1.0 - f64::from(*s) * h).max(0.0).powi(2),
            };
            0.5 * square + h.iter().zip(&problem.signs).zip(bells(h)).map(loss).sum::<f64>()
        };
        let mut h = centred(&at.outputs, mean);
        let mut square = dot(&at.beta, &at.outputs);
        let mut objective = value(&h, square);
        let mut direction: Vec<f64> = Vec::new();
        let mut last = 0.0;
        for _ in 0..STEPS {
            worker.check()?;
            let mut gradient: Vec<f64> = h
                .iter()
                .zip(&problem.signs)
                .zip(bells(&h))
                .map(|((h, s), bell)| match s {
                    0 => -6.0 * c2 * h * bell,
                    s => -2.0 * problem.c1 * f64::from(*s) * (1.0 - f64::from(*s) * h).max(0.0),
                })
                .collect();
            // The offset moves with the mean: what the losses gain by it is shared out.
            let pull = gradient.iter().sum::<f64>() / u;
            problem.unlabelled.iter().for_each(|&i| gradient[i] -= pull);
            gradient.iter_mut().zip(&at.beta).for_each(|(g, b)| *g += b);
            let image = product(&gradient, worker)?;
            let length = dot(&gradient, &image);
            if length <= 1e-18 {
                break;
            }
            // Fletcher and Reeves' factor, and the steepest way where that leads uphill.
            let factor = if last > 0.0 { length / last } else { 0.0 };
            last = length;
            if direction.is_empty() {
                direction = vec![0.0; n];
            }
            direction.iter_mut().zip(&gradient).for_each(|(d, g)| *d = factor * *d - g);
            if dot(&direction, &image) >= 0.0 {
                direction.iter_mut().zip(&gradient).for_each(|(d, g)| *d = -g);
            }
            let slope = dot(&direction, &image);
            let along = product(&direction, worker)?;
            let shift = centred(&along, 0.0);
            let (cross, bend) = (dot(&direction, &at.outputs), dot(&direction, &along));
            let mut step = 1.0;
            let mut found = None;
            for _ in 0..40 {
                let moved: Vec<f64> = h.iter().zip(&shift).map(|(h, d)| h + step * d).collect();
                let there = value(&moved, square + 2.0 * step * cross + step * step * bend);
                if there <= objective + 1e-4 * step * slope {
                    found = Some((moved, there));
                    break;
                }
                step *= 0.5;
            }
            let Some((moved, there)) = found else { break };
            axpy(step, &direction, &mut at.beta);
            axpy(step, &along, &mut at.outputs);
            square += 2.0 * step * cross + step * step * bend;
            let fall = objective - there;
            (h, objective) = (moved, there);
            if fall <= PROGRESS * objective.abs() {
                break;
            }
        }
    }
    let h = centred(&at.outputs, mean);
    let scores: Vec<f64> = problem.unlabelled.iter().map(|&i| h[i]).collect();
    worker.solve_labels(&best_labels(&scores, problem.balance))?;
    worker.objective();
    Ok(())
}
