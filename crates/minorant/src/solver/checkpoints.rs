//! How the state of a run leaves it and comes back: whoever runs a method says when a checkpoint is
//! wanted and keeps it, in whatever form.

use crate::archive::Archive;

/// How a run's state gets saved, and where it starts from.
pub trait Checkpoints {
    /// The state to resume from, if any.
    fn resume(&mut self) -> Option<Archive> {
        None
    }

    /// Whether checkpoints are wanted at all.
    fn are_wanted(&self) -> bool {
        true
    }

    /// Whether a checkpoint is wanted now.
    fn is_due(&mut self) -> bool {
        false
    }

    /// Takes a checkpoint.
    fn store(&mut self, _archive: Archive) {}
}

/// No checkpoints.
impl Checkpoints for () {
    fn are_wanted(&self) -> bool {
        false
    }
}
