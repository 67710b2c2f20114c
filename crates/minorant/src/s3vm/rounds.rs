//! Where a search stands that makes a few starts and then polishes numbered candidates, in rounds and
//! in batches: what `pdm` for all kernel machines shares. What candidates are is theirs to say.

use super::account::MOST_COUNTED;
use crate::archive::{Archive, ArchiveError};

/// Candidates that are polished side by side, whatever the number of threads.
const BATCH: u64 = 4;
/// A candidate must be better by this, relative to the objective.
pub(crate) const BETTER: f64 = 1e-7;

/// Where a search stands.
#[derive(Debug, Clone)]
pub(crate) struct Rounds {
    /// Starts that have been made.
    pub(crate) starts: usize,
    /// Candidates that have been polished.
    pub(crate) number: u64,
    /// The candidate that ends the round.
    end: u64,
    /// The least objective before the round.
    before: f64,
    /// Rounds without improvement, one after the other.
    pub(crate) idle: u64,
}

impl Default for Rounds {
    fn default() -> Self {
        Rounds { starts: 0, number: 0, end: 0, before: f64::INFINITY, idle: 0 }
    }
}

impl Rounds {
    /// Begins a round of so many candidates, unless one is going on, which has no more of them left.
    pub(crate) fn begin(&mut self, length: u64, best_objective: f64) {
        if self.number >= self.end {
            (self.end, self.before) = (self.number + length, best_objective);
        }
        self.end = self.end.min(self.number + length);
    }

    /// The number of candidates to be polished next; none where the round is over.
    pub(crate) fn batch(&self) -> Option<u64> {
        Some(BATCH.min(self.end - self.number)).filter(|batch| *batch > 0)
    }

    /// Ends a round. Returns whether it has improved the best objective.
    pub(crate) fn finish(&mut self, best_objective: f64) -> bool {
        let improved = best_objective < self.before - BETTER * self.before.abs();
        self.idle = if improved { 0 } else { self.idle + 1 };
        improved
    }

    pub(crate) fn save(&self, archive: &mut Archive) {
        let counts = [self.starts as u64, self.number, self.end, self.idle];
        archive.put_integers("rounds", counts);
        archive.put_reals("before", vec![self.before]);
    }

    pub(crate) fn load(archive: &mut Archive) -> Result<Self, ArchiveError> {
        let counts = archive.take_up_to("rounds", 4, MOST_COUNTED)?;
        let before = archive.take_real("before")?;
        match counts[..] {
            [starts, number, end, idle] if number <= end && !before.is_nan() => {
                Ok(Rounds { starts: starts as usize, number, end, before, idle })
            }
            _ => Err(ArchiveError("rounds".into())),
        }
    }
}
