//! Checkpoints that carry something along with the state of a method: what was done before the run
//! that is under way, so that a resumed run need not do it again.

use super::{Checkpoints, Status};
use crate::archive::{Archive, ArchiveError};

/// What checkpoints hold besides the state of a method.
pub(crate) trait Carried: Default {
    /// Stores what is carried beside the state of the method.
    fn save(&self, archive: &mut Archive);

    /// Whether a run can go on from a checkpoint that is taken now.
    fn is_whole(&self) -> bool {
        true
    }
}

/// Checkpoints that carry something along.
pub(crate) struct Carrying<'c, T> {
    checkpoints: &'c mut dyn Checkpoints,
    running: Option<Archive>,
    pub(crate) carried: T,
}

impl<'c, T: Carried> Carrying<'c, T> {
    /// Takes up what a checkpoint carries, if there is one to resume from.
    pub(crate) fn resume(
        checkpoints: &'c mut dyn Checkpoints,
        load: impl FnOnce(&mut Archive) -> Result<T, ArchiveError>,
    ) -> Result<Self, ArchiveError> {
        let mut running = checkpoints.resume();
        let carried = running.as_mut().map(load).transpose()?.unwrap_or_default();
        Ok(Carrying { checkpoints, running, carried })
    }

    /// Whether there is a state to go on from.
    pub(crate) fn is_resumed(&self) -> bool {
        self.running.is_some()
    }
}

impl<T: Carried> Checkpoints for Carrying<'_, T> {
    fn resume(&mut self) -> Option<Archive> {
        self.running.take()
    }

    fn are_wanted(&self) -> bool {
        self.carried.is_whole() && self.checkpoints.are_wanted()
    }

    fn is_due(&mut self) -> bool {
        self.are_wanted() && self.checkpoints.is_due()
    }

    fn store(&mut self, mut archive: Archive) {
        self.carried.save(&mut archive);
        self.checkpoints.store(archive);
    }
}

/// A run that others follow: one class against the rest, or one of several starts.
pub(crate) trait Finished {
    /// How it ended.
    fn status(&self) -> Status;

    /// Stores its answer.
    fn save(&self, archive: &mut Archive);
}

impl<T: Finished> Carried for Vec<T> {
    fn save(&self, archive: &mut Archive) {
        archive.put_integers("finished", [self.len() as u64]);
        for (at, run) in self.iter().enumerate() {
            archive.put_all(&format!("finished.{at}"), |own| run.save(own));
        }
    }

    /// A run that was cut short is not finished: the checkpoint from within it stands.
    fn is_whole(&self) -> bool {
        self.iter().all(|run| matches!(run.status(), Status::Converged | Status::Stalled))
    }
}

/// The finished runs of a checkpoint, of which there are at most so many.
pub(crate) fn finished<T: Finished>(
    archive: &mut Archive,
    most: u64,
    load: impl Fn(&mut Archive) -> Result<T, ArchiveError>,
) -> Result<Vec<T>, ArchiveError> {
    let count = archive.take_up_to("finished", 1, most)?[0];
    (0..count).map(|at| load(&mut archive.take_all(&format!("finished.{at}")))).collect()
}
