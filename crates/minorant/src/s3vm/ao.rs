//! `ao`: alternating optimisation. The decision function is trained on the labels, then the
//! labels that suit it best are taken, until no label changes. Every other method polishes its
//! candidates with it.

use super::work::Worker;
use crate::solver::Status;

/// Less than this, relative to the objective, is no progress.
pub(super) const PROGRESS: f64 = 1e-9;

/// Alternates from these labels; the worker keeps the best function. It ends early at labels that
/// the worker knows from before.
pub(super) fn alternate(worker: &mut Worker<'_>, mut labels: Vec<bool>) -> Result<f64, Status> {
    let mut least = f64::INFINITY;
    loop {
        if worker.has_met(&labels) {
            return Ok(least);
        }
        worker.solve_labels(&labels)?;
        let (objective, better) = worker.objective();
        let stays = better == labels || objective >= least - PROGRESS * objective.abs();
        least = least.min(objective);
        if stays {
            return Ok(least);
        }
        labels = better;
    }
}

/// Labels by the support vector machine of the labelled rows alone.
pub(super) fn supervised(worker: &mut Worker<'_>) -> Result<Vec<bool>, Status> {
    worker.solve(|_| 0.0, |_| 0.0)?;
    Ok(worker.objective().1)
}

/// The method: from the labelled rows' support vector machine.
pub(super) fn run(worker: &mut Worker<'_>) -> Result<(), Status> {
    let labels = supervised(worker)?;
    alternate(worker, labels).map(|_| ())
}
