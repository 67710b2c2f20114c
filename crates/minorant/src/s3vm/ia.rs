//! `ia`: infinitesimal annealing, after an idea of Ogawa, Imamura, Takeuchi & Sugiyama (2013). The
//! unlabelled rows' weight grows from next to nothing to C2, and the local solution is followed: where
//! a label no longer suits the decision function it changes, and the solution moves on from there.
//!
//! The method is not the algorithm of these authors. They follow the path exactly, from one breakpoint to the next, and a
//! label changes where its row meets the boundary. Here the weight takes nineteen values, each half as
//! large again as the one before, and the inner problem is solved for each from the solution before:
//! breakpoints in between are passed unseen, and at each weight all labels that the balance lets change
//! do so together, until none does. The local optimum at the end need not be theirs.

use super::ao;
use super::work::Worker;
use crate::solver::Status;

/// The first weight, in shares of C2.
const FIRST: f64 = 1e-3;
/// By how much it grows.
const GROWTH: f64 = 1.5;

pub(super) fn run(worker: &mut Worker<'_>) -> Result<(), Status> {
    let mut labels = ao::supervised(worker)?;
    let mut share = FIRST;
    loop {
        // Alternation ends: the objective at this weight falls with every change of labels.
        for _ in 0..labels.len() {
            let weight = |y: bool, side: bool| if y == side { share } else { 0.0 };
            worker.solve(|j| weight(labels[j], true), |j| weight(labels[j], false))?;
            let (_, next) = worker.objective();
            if next == labels {
                break;
            }
            labels = next;
        }
        if share >= 1.0 {
            return Ok(());
        }
        share = (GROWTH * share).min(1.0);
    }
}
