//! From files of any tabular format to a cache, a few blocks of rows in memory at any time. Files are read
//! by the readers that read them elsewhere.

use super::resume;
use super::writer::{CacheWriter, kept_apart, slice};
use crate::collect::{Collector, Outlet};
use crate::error::{ReadError, Refusal};
use crate::label_table::LabelTable;
use crate::pairing;
use crate::piece::Piece;
use crate::read::ReadOptions;
use crate::source::Source;
use std::path::{Path, PathBuf};

/// How far a conversion has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Rows that were read.
    pub rows: u64,
    /// Bytes that were written.
    pub bytes: u64,
}

/// What became of a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Converted {
    /// The cache is there; so many of its rows had been converted before.
    Whole {
        /// Rows that an earlier conversion, which was cut off, had converted.
        resumed_at: u64,
    },
    /// Whoever watched wanted no more; the same call goes on.
    Stopped,
}

/// Writes the rows of files, read under these options, into a cache named `target`. `goes_on` is told how
/// far it is, and says whether it shall go on. A conversion that was cut off is taken up where it was.
pub fn write_cache(
    paths: &[PathBuf],
    options: &ReadOptions,
    target: &Path,
    goes_on: &mut dyn FnMut(Progress) -> bool,
) -> Result<Converted, ReadError> {
    // A cache serves predictions as well, which need no labels.
    let options = ReadOptions { for_prediction: true, ..options.clone() };
    let writer = resume::writer_for(target, paths, &options)?;
    let resumed_at = writer.rows();
    let mut spill =
        Spill { writer, left: resumed_at, rows: 0, goes_on, failure: None, is_stopped: false };
    let read = read_all(&Source::all(paths)?, &options, &mut spill);
    let Spill { mut writer, failure, is_stopped, .. } = spill;
    if is_stopped {
        writer.pause();
        return Ok(Converted::Stopped);
    }
    match (failure, read) {
        (Some(why), _) | (None, Err(why)) => {
            // Rows that are refused must be mended, and then they are other files.
            let is_worth_it = matches!(why, ReadError::Io { .. }) && writer.rows() > 0;
            writer.pause();
            if !is_worth_it {
                resume::clear(target);
            }
            Err(why)
        }
        (None, Ok(declared)) => {
            writer.declare(declared);
            writer.finish()?;
            Ok(Converted::Whole { resumed_at })
        }
    }
}

/// Reads all files; the result is the classes that exist even where no row has them.
fn read_all(
    sources: &[Source<'_>],
    options: &ReadOptions,
    spill: &mut Spill<'_>,
) -> Result<Vec<crate::dataset::Label>, ReadError> {
    let mut collector = Collector::with_outlet(options, spill);
    let mut rest = sources;
    while !rest.is_empty() {
        let used = pairing::read_next(rest, &mut collector)?;
        rest = &rest[used..];
    }
    Ok(collector.declared())
}

/// Takes pieces to the writer, but for the rows that are there already.
struct Spill<'g> {
    writer: CacheWriter,
    /// Rows to pass over.
    left: u64,
    rows: u64,
    goes_on: &'g mut dyn FnMut(Progress) -> bool,
    failure: Option<ReadError>,
    is_stopped: bool,
}

impl Outlet for Spill<'_> {
    fn take(&mut self, piece: Piece, table: &LabelTable) -> Result<(), Refusal> {
        let rows = piece.cells.rows() as u64;
        self.rows += rows;
        let Piece { cells, mut labels, .. } = piece;
        let known = self.left.min(rows) as usize;
        self.left -= known as u64;
        let pushed = if known == 0 {
            self.writer.push_piece(cells, labels, table)
        } else {
            let entries = cells.entries_of(0..known)..cells.entries();
            labels.rows = labels.rows.behind(known);
            self.writer.push_piece(slice(&cells, known..rows as usize, entries), labels, table)
        };
        if let Err(why) = pushed {
            self.failure = Some(why);
            return Err(kept_apart());
        }
        if !(self.goes_on)(Progress { rows: self.rows, bytes: self.writer.bytes() }) {
            self.is_stopped = true;
            return Err(kept_apart());
        }
        Ok(())
    }

    fn rows(&self) -> usize {
        self.rows as usize
    }
}
