//! From files of rows or of sequences to a cache, a few blocks of rows in memory at any time. Files are read
//! by the readers that read them elsewhere.

use super::resume;
use super::summary::TokenFacts;
use super::writer::{CacheWriter, kept_apart, slice};
use crate::collect::{Collector, Outlet};
use crate::dataset::Label;
use crate::error::{ReadError, Refusal};
use crate::label_table::LabelTable;
use crate::pairing;
use crate::piece::{Cells, Piece, PieceRows};
use crate::read::ReadOptions;
use crate::sequences::{self, SequenceOptions, SequenceOutlet};
use crate::source::Source;
use std::fmt::Debug;
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
    converted(paths, &options, target, goes_on, |sources, spill| {
        let mut collector = Collector::with_outlet(&options, spill);
        let mut rest = sources;
        while !rest.is_empty() {
            let used = pairing::read_next(rest, &mut collector)?;
            rest = &rest[used..];
        }
        Ok(Declared::Classes(collector.declared()))
    })
}

/// Writes the sequences of files into a cache as [`write_cache`] does with rows. All attributes are kept,
/// with how often each occurs: which are too rare is said by whoever reads the cache.
pub fn write_sequence_cache(
    paths: &[PathBuf],
    options: &SequenceOptions,
    target: &Path,
    goes_on: &mut dyn FnMut(Progress) -> bool,
) -> Result<Converted, ReadError> {
    converted(paths, options, target, goes_on, |sources, spill| {
        Ok(Declared::Tokens(sequences::hand_on(sources, options, spill)?))
    })
}

/// What is known of the whole when all of it was read.
enum Declared {
    /// The classes that exist even where no row has them.
    Classes(Vec<Label>),
    /// What the tokens of sequences are.
    Tokens(TokenFacts),
}

/// Writes what `read` takes to the outlet.
fn converted(
    paths: &[PathBuf],
    options: &dyn Debug,
    target: &Path,
    goes_on: &mut dyn FnMut(Progress) -> bool,
    read: impl FnOnce(&[Source<'_>], &mut Spill<'_>) -> Result<Declared, ReadError>,
) -> Result<Converted, ReadError> {
    let writer = resume::writer_for(target, paths, options)?;
    let resumed_at = writer.rows();
    let mut spill =
        Spill { writer, left: resumed_at, rows: 0, goes_on, failure: None, is_stopped: false };
    let read = read(&Source::all(paths)?, &mut spill);
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
            match declared {
                Declared::Classes(labels) => writer.declare(labels),
                Declared::Tokens(facts) => writer.declare_tokens(facts),
            }
            writer.finish()?;
            Ok(Converted::Whole { resumed_at })
        }
    }
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
        self.told(pushed)
    }

    fn rows(&self) -> usize {
        self.rows as usize
    }
}

impl SequenceOutlet for Spill<'_> {
    fn take(
        &mut self,
        tokens: Cells,
        names: &[Label],
        labels: PieceRows,
        lengths: Vec<u32>,
    ) -> Result<(), Refusal> {
        let rows = tokens.rows() as u64;
        self.rows += rows;
        // What comes together now came together before: blocks on disk end where a piece does.
        let pushed = if self.left >= rows {
            self.left -= rows;
            Ok(())
        } else {
            self.writer.push_sequences(tokens, names, labels, lengths)
        };
        self.told(pushed)
    }
}

impl Spill<'_> {
    /// Tells who watches, unless what was pushed was refused.
    fn told(&mut self, pushed: Result<(), ReadError>) -> Result<(), Refusal> {
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
}
