//! `cccp`: the concave-convex procedure for transduction (Collobert, Sinz, Weston & Bottou 2006).
//! An unlabelled row's loss is the symmetric ramp, flat where |h| < |s|. Its concave term is
//! linearised: rows with decisions beyond |s| get their label's hinge, rows within count on both
//! sides, and the inner problem is solved again. At s = 0 this is [`super::ao`]. A labelled hinge
//! stands for the linearised pair of ramps: the two agree but where the decision is beyond the
//! other margin, and there it is the closer upper bound.

use super::ao;
use super::work::Worker;
use crate::solver::Status;

/// Rounds, at most: the upper bounds fall, but rounding may make two labelings take turns.
const ROUNDS: usize = 25;

pub(super) fn run(worker: &mut Worker<'_>, s: f64) -> Result<(), Status> {
    let mut labels = ao::supervised(worker)?;
    let mut undecided: Vec<bool> = worker.scores().iter().map(|h| h.abs() < -s).collect();
    for _ in 0..ROUNDS {
        let counts =
            |j: usize, side: bool| if undecided[j] || labels[j] == side { 1.0 } else { 0.0 };
        worker.solve(|j| counts(j, true), |j| counts(j, false))?;
        let (_, next) = worker.objective();
        let within: Vec<bool> = worker.scores().iter().map(|h| h.abs() < -s).collect();
        if next == labels && within == undecided {
            break;
        }
        (labels, undecided) = (next, within);
    }
    worker.solve_labels(&labels)?;
    worker.objective();
    Ok(())
}
