//! `cccp`: the concave-convex procedure for latent machines (Yu & Joachims 2009). Each positive row
//! is given to the component that suits it best, which linearises the concave term; all components
//! are trained, and so on until no row moves. The other methods polish
//! their candidates with it.

use super::work::Worker;
use crate::solver::Status;

/// Less than this, relative to the objective, is no progress.
pub(super) const PROGRESS: f64 = 1e-9;

/// Alternates from this assignment; the worker keeps the best machine.
pub(super) fn alternate(worker: &mut Worker<'_>, mut assignment: Vec<u32>) -> Result<f64, Status> {
    let mut least = f64::INFINITY;
    let mut before: Option<Vec<u32>> = None;
    loop {
        worker.solve(&assignment, before.as_deref())?;
        let (objective, better) = worker.objective();
        let stays = better == assignment || objective >= least - PROGRESS * objective.abs();
        least = least.min(objective);
        if stays {
            return Ok(least);
        }
        before = Some(std::mem::replace(&mut assignment, better));
    }
}
