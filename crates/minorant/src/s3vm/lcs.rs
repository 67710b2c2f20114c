//! `lcs`: local combinatorial search, the label switching of Joachims' transductive support vector
//! machine (1999). The unlabelled rows' weight doubles from next to nothing up to C2; at each weight
//! pairs of rows with different labels switch them while that lowers their losses, several pairs
//! between two solves where there are many rows (Sindhwani & Keerthi 2006).

use super::ao;
use super::work::Worker;
use crate::solver::Status;

/// The first weight, in shares of C2.
const FIRST: f64 = 1e-5;
/// Pairs that switch at once: one for each so many rows.
const ROWS_PER_PAIR: usize = 100;

pub(super) fn run(worker: &mut Worker<'_>) -> Result<(), Status> {
    let mut labels = ao::supervised(worker)?;
    let (low, high) = worker.problem.balance;
    let pairs = (labels.len() / ROWS_PER_PAIR).max(1);
    let mut share = FIRST;
    loop {
        // Each switch lowers the objective at this weight, so that none comes back.
        for _ in 0..labels.len() {
            let weight = |y: bool, side: bool| if y == side { share } else { 0.0 };
            worker.solve(|j| weight(labels[j], true), |j| weight(labels[j], false))?;
            worker.objective();
            if !switch(&mut labels, &worker.scores(), pairs, (low, high)) {
                break;
            }
        }
        if share >= 1.0 {
            return Ok(());
        }
        share = (2.0 * share).min(1.0);
    }
}

/// Switches the labels that cost most. Returns whether there were any.
fn switch(labels: &mut [bool], scores: &[f64], pairs: usize, (low, high): (usize, usize)) -> bool {
    // Positive labels by rising decision, negative ones by falling decision.
    let by = |side: bool| {
        let mut rows: Vec<usize> = (0..labels.len()).filter(|&j| labels[j] == side).collect();
        let sign = if side { 1.0 } else { -1.0 };
        rows.sort_by(|&a, &b| (sign * scores[a]).total_cmp(&(sign * scores[b])));
        rows.truncate(pairs);
        rows
    };
    let (up, down) = (by(true), by(false));
    let mut switched = false;
    for (&i, &j) in up.iter().zip(&down) {
        let (slack_i, slack_j) = ((1.0 - scores[i]).max(0.0), (1.0 + scores[j]).max(0.0));
        if slack_i > 0.0 && slack_j > 0.0 && slack_i + slack_j > 2.0 {
            (labels[i], labels[j]) = (false, true);
            switched = true;
        }
    }
    if switched {
        return true;
    }
    // Within an interval one label may change without another.
    let count = labels.iter().filter(|y| **y).count();
    if let Some(&i) = up.first().filter(|&&i| scores[i] < 0.0 && count > low) {
        labels[i] = false;
        return true;
    }
    if let Some(&j) = down.first().filter(|&&j| scores[j] > 0.0 && count < high) {
        labels[j] = true;
        return true;
    }
    false
}
