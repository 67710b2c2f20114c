//! `ao`: alternating optimisation one component at a time (Dundar et al. 2008). A component is
//! trained on its rows, the positive rows choose again, and the next component has its turn.

use super::cccp::PROGRESS;
use super::work::Worker;
use crate::solver::Status;

pub(super) fn run(worker: &mut Worker<'_>, mut assignment: Vec<u32>) -> Result<(), Status> {
    worker.solve(&assignment, None)?;
    let (mut least, mut next) = worker.objective();
    loop {
        let before = least;
        for k in 0..worker.problem.components {
            if next == assignment {
                continue;
            }
            assignment = next;
            worker.solve_component(k, &assignment)?;
            let (objective, better) = worker.objective();
            least = least.min(objective);
            next = better;
        }
        if least >= before - PROGRESS * before.abs() {
            return Ok(());
        }
    }
}
