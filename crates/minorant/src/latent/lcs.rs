//! `lcs`: local combinatorial search, Joachims' label switching (1999) carried over to latent
//! machines: the positive rows that gain most by another component change to it, a few at a time,
//! and the machine is trained again.

use super::work::Worker;
use crate::solver::Status;

/// Rows that change at once: one for each so many positive rows.
const ROWS_PER_CHANGE: usize = 100;

pub(super) fn run(worker: &mut Worker<'_>, mut chosen: Vec<u32>) -> Result<(), Status> {
    let changes = (chosen.len() / ROWS_PER_CHANGE).max(1);
    let mut before: Option<Vec<u32>> = None;
    // Each change lowers the objective, so that no choice comes back.
    for _ in 0..4 * chosen.len().max(1) {
        worker.solve(&chosen, before.as_deref())?;
        let (_, better) = worker.objective();
        let hinge = |j: usize, k: u32| {
            let h = worker.inners[k as usize].decision(worker.problem.rows[j]);
            (1.0 - h).max(0.0)
        };
        let gain = |j: usize| hinge(j, chosen[j]) - hinge(j, better[j]);
        let mut gains: Vec<(f64, usize)> = (0..chosen.len()).map(|j| (gain(j), j)).collect();
        gains.retain(|(gain, _)| *gain > 1e-9);
        if gains.is_empty() {
            return Ok(());
        }
        gains.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let old = chosen.clone();
        gains.iter().take(changes).for_each(|&(_, j)| chosen[j] = better[j]);
        before = Some(old);
    }
    Ok(())
}
