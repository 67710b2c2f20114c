//! How an evaluation ends without a result: the caller asked it to stop, its value is not finite, or
//! it failed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// A flag that asks running work to stop; polled once per chunk of rows.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicU8>);

const CANCELLED: u8 = 1;
const HURRIED: u8 = 2;

impl Cancel {
    /// A token that nobody has cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.0.fetch_max(CANCELLED, Ordering::Relaxed);
    }

    /// Asks the work to stop at once: a cancelled run still takes the passes over the data that
    /// make its answer exact and auditable, a hurried one leaves them out.
    pub fn hurry(&self) {
        self.0.fetch_max(HURRIED, Ordering::Relaxed);
    }

    /// Whether somebody asked the work to stop at once.
    pub fn is_hurried(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= HURRIED
    }

    /// Whether somebody asked the work to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= CANCELLED
    }

    /// An error if somebody asked the work to stop.
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
