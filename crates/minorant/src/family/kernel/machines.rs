//! Machines one after the other, one class against the rest: what their checkpoints hold of those that
//! are finished, and what these leave for those that wait.

use crate::archive::{Archive, ArchiveError};
use crate::family::carried::Finished;
use crate::s3vm::{Answer, MOST_COUNTED, S3vmFit, Solution};
use crate::solver::{RunError, Status};

/// Inner problems of the finished machines, which must leave one for each of those that wait.
pub(super) fn spent(
    finished: &[S3vmFit],
    most: Option<u64>,
    machines: usize,
) -> Result<u64, RunError> {
    let spent: u64 = finished.iter().map(|fit| fit.evaluations).sum();
    let needed = spent + (machines - finished.len()) as u64;
    match most.filter(|most| *most < needed) {
        Some(most) => Err(RunError::Spent { needed, most }),
        None => Ok(spent),
    }
}

impl Finished for S3vmFit {
    fn status(&self) -> Status {
        self.status
    }

    fn save(&self, archive: &mut Archive) {
        self.solution.save(archive);
        let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
        archive.put_reals("fit", vec![or_nan(self.lower_bound), or_nan(self.delta), self.seconds]);
        archive.put_integers("counts", [self.evaluations, self.iterations, self.status.number()]);
    }
}

/// A finished machine, for data of so many rows, so many of them unlabelled.
pub(super) fn load(
    archive: &mut Archive,
    rows: usize,
    unlabelled: usize,
) -> Result<S3vmFit, ArchiveError> {
    let solution = Solution::load(archive, rows, unlabelled)?;
    let numbers = archive.take_reals("fit")?;
    let counts = archive.take_up_to("counts", 3, MOST_COUNTED)?;
    let (&[lower_bound, delta, seconds], &[evaluations, iterations, status]) =
        (&numbers[..], &counts[..])
    else {
        return Err(ArchiveError("fit".into()));
    };
    let status = Status::of_number(status).filter(|_| seconds.is_finite());
    Ok(S3vmFit {
        solution,
        lower_bound: Some(lower_bound).filter(|bound| !bound.is_nan()),
        delta: Some(delta).filter(|delta| !delta.is_nan()),
        status: status.ok_or_else(|| ArchiveError("counts".into()))?,
        evaluations,
        iterations,
        seconds,
    })
}
