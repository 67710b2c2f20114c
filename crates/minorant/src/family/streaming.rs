//! Rows of a cache that do not fit the memory that a run may use: when they are left on disk, how much of
//! them stays in memory all the same, and what is known of that before the first pass. How blocks come and
//! go is `minorant-data`'s business.

use super::memory::{Needed, POINTS, in_words};
use super::{Data, Settings, TrainError, quarter_of_memory};
use crate::options::common::MAX_MEMORY;
use minorant_linalg::{Matrix, RowBlocks, Traffic};
use std::sync::Arc;

/// Bytes of state that a row takes besides its outputs: its length twice, its label and weight, and what
/// searches along lines sort.
const OF_A_ROW: u128 = 8 + 8 + 8 + 8 + 24;
/// Bytes of state that a token takes: its length, and its label twice.
const OF_A_TOKEN: u128 = 8 + 2 + 2;
/// Outputs of all rows: those of the best point, a trial, the way between them, and coefficients.
const OUTPUTS: u128 = 4;
/// Planes that there must be room for, and those that room is left for where rows would take it.
const FEWEST_PLANES: u128 = 2;
const PLANES: u128 = 200;
/// Blocks that every thread holds: what it computes on, what is read ahead for it, and bytes as they are
/// on disk.
const BLOCKS: u128 = 6;

/// How the rows of a run are streamed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Streaming {
    /// Rows.
    pub rows: usize,
    /// Bytes that all rows would take in memory.
    pub bytes: u64,
    /// Bytes of rows that stay in memory.
    pub resident_bytes: u64,
    /// Bytes of state for each row.
    pub state_of_a_row: u64,
    /// Bytes that weights and outputs take besides rows and their state.
    pub needed_bytes: u64,
    /// Seconds that the first look at all rows took.
    pub first_seconds: f64,
}

/// The account of a run: what was given, or half of the machine's memory.
fn account(settings: &Settings) -> Option<u64> {
    given_or_half(settings.get(&MAX_MEMORY))
}

fn given_or_half(given: Option<u64>) -> Option<u64> {
    given.or_else(|| quarter_of_memory().map(|quarter| 2 * quarter))
}

/// Bytes that rows may take before they are left on disk; nothing where a model needs all of them at hand.
pub(super) fn rows_in_memory(settings: &Settings) -> Option<u64> {
    let is_taken = |name: &str| settings.entry().option(name).is_some();
    // Kernels compare any two rows, and networks read sequences in an order of their own.
    let needs_all =
        is_taken("kernel") || is_taken("hidden") || settings.file("unlabeled").is_some();
    if needs_all { None } else { Streaming::rows_in_memory(settings.get(&MAX_MEMORY)) }
}

impl Streaming {
    /// Bytes that rows may take before they are left on disk, of so many that a run may use, or of half of
    /// the machine's memory.
    pub fn rows_in_memory(account: Option<u64>) -> Option<u64> {
        given_or_half(account).map(|most| most / 4 * 3)
    }

    /// How the rows are streamed under these settings; nothing where they are in memory. A run whose state
    /// does not fit is refused.
    pub fn plan(data: Data<'_>, settings: &Settings) -> Result<Option<Self>, TrainError> {
        let (Some(matrix), Some(most)) = (data.matrix(), account(settings)) else {
            return Ok(None);
        };
        let Some(source) = matrix.blocks() else { return Ok(None) };
        let shape = source.shape();
        let n = matrix.rows() as u128;
        let (needed, of_rows, plane) = match data {
            Data::Rows(rows) => {
                let needs = Needed::of(rows, settings);
                let k = needs.outputs();
                let of_rows = n * (OF_A_ROW + 8 * OUTPUTS * k);
                (needs.bytes(), of_rows, 8 * matrix.cols() as u128 * k)
            }
            _ => {
                // Outputs of a sequence are forgotten when the next one's turn comes.
                let k = data.classes() as u128;
                let plane = 8 * (matrix.cols() as u128 + k) * k;
                (POINTS * plane, n * OF_A_TOKEN, plane)
            }
        };
        let blocks = shape.starts.len().max(2) as u128 - 1;
        let threads = rayon::current_num_threads() as u128;
        let buffers = BLOCKS * threads * (matrix.bytes() as u128).div_ceil(blocks);
        let most = u128::from(most);
        let fixed = of_rows + needed + buffers;
        if fixed + FEWEST_PLANES * plane > most {
            return Err(TrainError::Setting(format!(
                "{n} rows with {} features need {} of memory even where the rows stay on disk ({} bytes of \
                 state a row, weights, two planes, and buffers), of {} that may be used; --max-memory \
                 allows more",
                matrix.cols(),
                in_words(fixed + FEWEST_PLANES * plane),
                of_rows / n.max(1),
                in_words(most),
            )));
        }
        let left = most - fixed;
        let for_planes = (PLANES * plane).min(left / 2);
        Ok(Some(Streaming {
            rows: matrix.rows(),
            bytes: matrix.bytes() as u64,
            resident_bytes: ((left - for_planes) as u64).min(matrix.bytes() as u64),
            state_of_a_row: (of_rows / n.max(1)) as u64,
            needed_bytes: u64::try_from(needed).unwrap_or(u64::MAX),
            first_seconds: shape.seconds,
        }))
    }

    /// Bytes that the run takes besides its planes.
    pub(super) fn taken(&self) -> u128 {
        u128::from(self.needed_bytes)
            + u128::from(self.resident_bytes)
            + self.rows as u128 * u128::from(self.state_of_a_row)
    }

    /// What a user is told before the first pass.
    pub fn in_words(&self) -> String {
        let share = 100.0 * self.resident_bytes as f64 / self.bytes.max(1) as f64;
        format!(
            "{} rows of {} are read from disk at every pass but for {share:.0} % that stay in memory; state \
             takes {} bytes a row; the first look at all rows took {:.1} s, and runs take some tens of passes",
            self.rows,
            in_words(self.bytes.into()),
            self.state_of_a_row,
            self.first_seconds,
        )
    }
}

/// Lets as many rows stay in memory as the account of a training run allows.
pub(crate) fn keep_for_training(data: Data<'_>, settings: &Settings) -> Result<(), TrainError> {
    if let Some(plan) = Streaming::plan(data, settings)?
        && let Some(source) = data.matrix().and_then(Matrix::blocks)
    {
        source.keep(plan.resident_bytes);
    }
    Ok(())
}

/// Lets half of the account be taken by rows that a fitted model goes through more than once: outputs are
/// what else there is.
pub(super) fn keep_for_one_pass(data: Data<'_>, settings: &Settings) {
    if let (Some(source), Some(most)) = (data.matrix().and_then(Matrix::blocks), account(settings))
    {
        source.keep(most / 2);
    }
}

impl<'a> Data<'a> {
    /// What may be left on disk.
    fn matrix(self) -> Option<&'a Matrix<'a>> {
        match self {
            Data::Rows(rows) => Some(&rows.features),
            Data::Sequences(sequences) => Some(&sequences.tokens),
            Data::Recordings(_) | Data::Images(_) => None,
        }
    }

    /// Why some of the data could not be had while it was used: what was computed is worth nothing then.
    pub(crate) fn failure(self) -> Option<String> {
        self.matrix().and_then(Matrix::failure)
    }

    /// Who fetches rows from disk, where they are there.
    pub fn source(self) -> Option<Arc<dyn RowBlocks>> {
        self.matrix().and_then(Matrix::blocks).cloned()
    }

    /// What fetching rows from disk took so far, where they are there.
    pub fn traffic(self) -> Option<Traffic> {
        self.source().map(|source| source.traffic())
    }
}
