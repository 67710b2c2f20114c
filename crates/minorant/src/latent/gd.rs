//! `gd`: subgradient descent for polytope machines (after Kantchelian et al. 2014), in the kernel's
//! metric with steps 1/t: w_k moves towards less the subgradient of its losses. The components
//! that the rows choose in the end are the answer's.

use super::work::Worker;
use crate::solver::Status;
use minorant_linalg::dense::axpy;

/// Rows of the kernel matrix between two looks at the clock.
const UNWATCHED: usize = 16;
/// Steps of descent.
const STEPS: usize = 100;

pub(super) fn run(worker: &mut Worker<'_>, chosen: Vec<u32>) -> Result<(), Status> {
    let problem = worker.problem;
    let n = problem.positive.len();
    // Something to answer with, and the start.
    worker.solve(&chosen, None)?;
    worker.objective();
    let components = problem.components;
    let mut beta: Vec<Vec<f64>> = vec![vec![0.0; n]; components];
    let mut outputs: Vec<Vec<f64>> = vec![vec![0.0; n]; components];
    let mut bias: Vec<f64> = worker.inners.iter().map(|inner| inner.bias()).collect();
    let mut chosen = chosen;
    for step in 1..=STEPS {
        worker.check()?;
        let rate = 1.0 / step as f64;
        for k in 0..components {
            let mut target = vec![0.0; n];
            for (i, target) in target.iter_mut().enumerate().filter(|(i, _)| !problem.positive[*i])
            {
                if outputs[k][i] + bias[k] > -1.0 {
                    *target = -problem.c_neg;
                }
            }
            for (&i, &component) in problem.rows.iter().zip(&chosen) {
                if component as usize == k && outputs[k][i] + bias[k] < 1.0 {
                    target[i] = problem.c_pos;
                }
            }
            // The offset is not regularized: it takes the same step, scaled to the rows.
            bias[k] += rate * target.iter().sum::<f64>() / n as f64;
            let mut image = vec![0.0; n];
            for (i, &t) in target.iter().enumerate().filter(|(_, t)| **t != 0.0) {
                if i % UNWATCHED == 0 {
                    worker.check()?;
                }
                axpy(t, &problem.gram.row(i), &mut image);
            }
            let shrink = |old: &mut f64, new: &f64| *old += rate * (new - *old);
            beta[k].iter_mut().zip(&target).for_each(|(b, t)| shrink(b, t));
            outputs[k].iter_mut().zip(&image).for_each(|(f, g)| shrink(f, g));
        }
        chosen = problem.loss(|k, i| outputs[k][i] + bias[k]).1;
    }
    worker.solve(&chosen, None)?;
    worker.objective();
    Ok(())
}
