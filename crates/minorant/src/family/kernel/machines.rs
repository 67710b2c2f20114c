//! Machines one after the other, one class against the rest: their checkpoints hold the machines that
//! are finished together with the state within the one that is not.

use crate::archive::{Archive, ArchiveError};
use crate::s3vm::{Answer, MOST_COUNTED, S3vmFit, Solution};
use crate::solver::{Checkpoints, RunError, Status};

/// The finished machines, and checkpoints of them all.
pub(super) struct Machines<'c> {
    inner: &'c mut dyn Checkpoints,
    pub(super) finished: Vec<S3vmFit>,
    running: Option<Archive>,
}

impl<'c> Machines<'c> {
    /// Takes up those of a checkpoint, if there is one: for data of so many rows, and so many of them
    /// unlabelled, at most so many machines.
    pub(super) fn resume(
        inner: &'c mut dyn Checkpoints,
        (rows, unlabelled): (usize, usize),
        machines: usize,
    ) -> Result<Self, ArchiveError> {
        let mut running = inner.resume();
        let mut finished = Vec::new();
        if let Some(archive) = &mut running {
            let count = archive.take_up_to("finished", 1, machines as u64 - 1)?[0];
            for machine in 0..count {
                let mut own = archive.take_all(&format!("finished.{machine}"));
                finished.push(load(&mut own, rows, unlabelled)?);
            }
        }
        Ok(Machines { inner, finished, running })
    }

    /// Inner problems of the finished machines, which must leave one for each of those that wait.
    pub(super) fn spent(&self, most: Option<u64>, machines: usize) -> Result<u64, RunError> {
        let spent: u64 = self.finished.iter().map(|fit| fit.evaluations).sum();
        let needed = spent + (machines - self.finished.len()) as u64;
        match most.filter(|most| *most < needed) {
            Some(most) => Err(RunError::Spent { needed, most }),
            None => Ok(spent),
        }
    }

    /// Seconds that the finished machines took.
    pub(super) fn seconds(&self) -> f64 {
        self.finished.iter().map(|fit| fit.seconds).sum()
    }
}

impl Checkpoints for Machines<'_> {
    fn resume(&mut self) -> Option<Archive> {
        self.running.take()
    }

    fn are_wanted(&self) -> bool {
        // A machine that was cut short is not finished: the checkpoint from within it stands.
        let is_done = |fit: &S3vmFit| matches!(fit.status, Status::Converged | Status::Stalled);
        self.finished.iter().all(is_done) && self.inner.are_wanted()
    }

    fn is_due(&mut self) -> bool {
        self.inner.is_due()
    }

    fn store(&mut self, mut archive: Archive) {
        archive.put_integers("finished", [self.finished.len() as u64]);
        for (machine, fit) in self.finished.iter().enumerate() {
            archive.put_all(&format!("finished.{machine}"), |own| save(fit, own));
        }
        self.inner.store(archive);
    }
}

fn save(fit: &S3vmFit, archive: &mut Archive) {
    fit.solution.save(archive);
    let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
    archive.put_reals("fit", vec![or_nan(fit.lower_bound), or_nan(fit.delta), fit.seconds]);
    archive.put_integers("counts", [fit.evaluations, fit.iterations, fit.status.number()]);
}

fn load(archive: &mut Archive, rows: usize, unlabelled: usize) -> Result<S3vmFit, ArchiveError> {
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
