//! How data is written down to be hashed: every number takes eight bytes or says its length before it,
//! so that different data is never written as the same bytes. What the data is, others say.

use minorant_linalg::Matrix;
use sha2::{Digest, Sha256};

/// Bytes that are hashed at once.
const AT_ONCE: usize = 1 << 16;

/// Bytes to be hashed.
#[derive(Debug, Default)]
pub struct Record(Vec<u8>);

impl Record {
    /// A whole number.
    pub fn count(&mut self, number: usize) {
        self.0.extend_from_slice(&(number as u64).to_le_bytes());
    }

    /// A number.
    pub fn real(&mut self, number: f64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// A text.
    pub fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    /// The entries of a row of a matrix, widened, in the order in which they are stored. Zeros are left
    /// out, so that rows stored dense and sparse agree.
    pub(super) fn entries(&mut self, matrix: &Matrix<'_>, row: usize) {
        let at = self.0.len();
        self.count(0);
        matrix.for_each_in_row(row, |column, value| {
            if value != 0.0 {
                let mut entry = [0; 12];
                entry[..4].copy_from_slice(&(column as u32).to_le_bytes());
                entry[4..].copy_from_slice(&value.to_le_bytes());
                self.0.extend_from_slice(&entry);
            }
        });
        let entries = (self.0.len() - at - 8) / 12;
        self.0[at..at + 8].copy_from_slice(&(entries as u64).to_le_bytes());
    }
}

/// Hashes records piece by piece.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    pub(super) record: Record,
    hash: Sha256,
}

impl Recorder {
    /// Hashes what was recorded, if it is long.
    pub(super) fn flush(&mut self) {
        if self.record.0.len() >= AT_ONCE {
            self.hash.update(&self.record.0);
            self.record.0.clear();
        }
    }

    /// The hash of all records.
    pub(super) fn finish(mut self) -> [u8; 32] {
        self.hash.update(&self.record.0);
        self.hash.finalize().into()
    }
}
