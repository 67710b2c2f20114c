//! How an evaluation ends without a result: the caller asked it to stop, its value is not finite, or
//! it failed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// A flag that asks running work to stop; polled once per chunk of rows.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    flag: Arc<AtomicU8>,
    /// When the work is to stop by itself.
    deadline: Option<Instant>,
}

const CANCELLED: u8 = 1;
const HURRIED: u8 = 2;

impl Cancel {
    /// A token that nobody has cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// A token of the same flag for work that is to stop by itself after so many seconds more.
    pub fn within(&self, seconds: f64) -> Self {
        // More than a clock can count is no limit.
        let left = Duration::try_from_secs_f64(seconds.max(0.0)).ok();
        let deadline = left.and_then(|left| Instant::now().checked_add(left));
        Cancel { flag: Arc::clone(&self.flag), deadline }
    }

    /// A token of the same flag for work that nothing but the flag stops.
    pub fn of_any_length(&self) -> Self {
        Cancel { flag: Arc::clone(&self.flag), deadline: None }
    }

    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.flag.fetch_max(CANCELLED, Ordering::Relaxed);
    }

    /// Asks the work to stop at once: a cancelled run still takes the passes over the data that
    /// make its answer exact and auditable, a hurried one leaves them out.
    pub fn hurry(&self) {
        self.flag.fetch_max(HURRIED, Ordering::Relaxed);
    }

    /// Whether somebody asked the work to stop at once.
    pub fn is_hurried(&self) -> bool {
        self.flag.load(Ordering::Relaxed) >= HURRIED
    }

    /// Whether somebody asked the work to stop, or its time is over.
    pub fn is_cancelled(&self) -> bool {
        let is_over = |deadline| Instant::now() >= deadline;
        self.flag.load(Ordering::Relaxed) >= CANCELLED || self.deadline.is_some_and(is_over)
    }

    /// An error if the work is to stop.
    pub fn check(&self) -> Result<(), RiskError> {
        if self.is_cancelled() { Err(RiskError::Cancelled) } else { Ok(()) }
    }
}

/// Why an evaluation gave no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RiskError {
    /// The work was cancelled.
    #[error("the evaluation was cancelled")]
    Cancelled,
    /// The risk's value or slope is NaN or infinite.
    #[error("the risk is not finite: {0}")]
    NotFinite(String),
    /// The risk could not be evaluated.
    #[error("the risk could not be evaluated: {0}")]
    Failed(String),
}
