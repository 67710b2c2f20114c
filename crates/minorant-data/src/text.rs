//! Drives the readers of line-based formats: takes the input in blocks that end at line ends,
//! gives the lines before the rows to the format one by one, and has the rows parsed in parallel.
//! Reading (and decompressing) goes on in a thread of its own meanwhile. Compressed or not, only
//! a few blocks of text are in memory at any time.

use crate::collect::{Collector, MOST_COLUMNS};
use crate::error::{ReadError, Refusal};
use crate::piece::Piece;
use crate::source::Source;
use rayon::prelude::*;
use std::io::Read;
use std::sync::mpsc::{Receiver, sync_channel};

/// Text is read in blocks of this size.
const BLOCK: usize = 8 << 20;
/// Blocks are parsed in pieces of at least this size.
const SMALLEST_PIECE: usize = 128 << 10;
/// No line may be longer: without a limit, one compressed megabyte could ask for gigabytes.
const LONGEST_LINE: usize = 1 << 30;
/// Sparse rows may name any column up to this one.
const FREE_COLUMNS: u64 = 10_000_000;
/// Beyond that number, up to this many columns for each non-zero are allowed.
const COLUMNS_PER_NONZERO: u64 = 1000;

/// What a format makes of a line that comes before the rows.
pub(crate) enum Head {
    /// More such lines follow.
    More,
    /// Rows begin after this line.
    Over,
    /// This line is already a row.
    NoneHere,
}

/// A format made of lines.
pub(crate) trait LineFormat: Sync {
    /// Takes one line (without its end) before the rows. Refusals concern this line unless they
    /// name another.
    fn head(&mut self, line: &[u8], collector: &mut Collector<'_>) -> Result<Head, Refusal>;

    /// Called when the rows begin, or when the file ended before they did.
    fn head_over(&mut self, reached_rows: bool) -> Result<(), Refusal>;

    /// Parses whole lines of rows; lines in refusals count from 0 at the text's beginning.
    fn rows(&self, text: &[u8]) -> Result<Piece, Refusal>;
}

/// Reads all of `source`.
pub(crate) fn read(
    source: &Source<'_>,
    format: &mut impl LineFormat,
    collector: &mut Collector<'_>,
) -> Result<(), ReadError> {
    let name = source.name();
    let mut blocks = Blocks { input: source.open()?, rest: Vec::new(), over: false };
    let mut progress =
        Progress { name: &name, in_head: true, lines: 0, columns: Columns::default() };
    let rows_before = collector.total_rows();
    let first = blocks.next_block().map_err(|why| why.for_file(&name))?;
    let empty = first.is_none();
    if let Some(mut first) = first {
        if first.starts_with(b"\xef\xbb\xbf") {
            first.drain(..3);
        }
        progress.block(&first, format, collector)?;
    }
    if !blocks.over {
        // Small inputs never come here: starting a thread costs more than parsing them.
        std::thread::scope(|scope| {
            let (sender, receiver) = sync_channel(1);
            scope.spawn(move || {
                loop {
                    let block = blocks.next_block().transpose();
                    let last = !matches!(block, Some(Ok(_)));
                    // A parser that has refused the file has gone away; so may the reader.
                    if block.is_some_and(|block| sender.send(block).is_err()) || last {
                        return;
                    }
                }
            });
            progress.all(receiver, format, collector)
        })?;
    }
    if progress.in_head {
        format.head_over(false).map_err(|why| why.in_file(&name))?;
    }
    if collector.total_rows() == rows_before {
        let found = if empty { "an empty file" } else { "none" };
        return Err(ReadError::whole(&name, "at least one example", found));
    }
    progress.columns.check(collector).map_err(|why| why.in_file(&name))
}

/// How far a file has been parsed.
struct Progress<'n> {
    name: &'n str,
    in_head: bool,
    lines: u64,
    columns: Columns,
}

impl Progress<'_> {
    fn all(
        &mut self,
        blocks: Receiver<Result<Vec<u8>, BlockError>>,
        format: &mut impl LineFormat,
        collector: &mut Collector<'_>,
    ) -> Result<(), ReadError> {
        for block in blocks {
            let block = block.map_err(|why| why.for_file(self.name))?;
            self.block(&block, format, collector)?;
        }
        Ok(())
    }

    /// Parses a block of whole lines.
    fn block(
        &mut self,
        mut text: &[u8],
        format: &mut impl LineFormat,
        collector: &mut Collector<'_>,
    ) -> Result<(), ReadError> {
        while self.in_head && !text.is_empty() {
            let end = text.iter().position(|&b| b == b'\n').unwrap_or(text.len());
            let here = |why: Refusal| match why.line {
                None => why.at_line(self.lines).in_file(self.name),
                Some(_) => why.in_file(self.name),
            };
            let line = text[..end].strip_suffix(b"\r").unwrap_or(&text[..end]);
            let head = format.head(line, collector).map_err(here)?;
            if !matches!(head, Head::NoneHere) {
                text = &text[(end + 1).min(text.len())..];
            }
            if !matches!(head, Head::More) {
                format.head_over(true).map_err(here)?;
                self.in_head = false;
            }
            if !matches!(head, Head::NoneHere) {
                self.lines += 1;
            }
        }
        if text.is_empty() {
            return Ok(());
        }
        let format = &*format;
        let cuts = cut_at_lines(text);
        let pieces: Vec<Result<Piece, Refusal>> = if let [only] = cuts[..] {
            vec![format.rows(only)]
        } else {
            cuts.par_iter().map(|cut| format.rows(cut)).collect()
        };
        for piece in pieces {
            let piece = piece.map_err(|why| why.after_lines(self.lines).in_file(self.name))?;
            self.columns.note(&piece, self.lines);
            self.lines += piece.lines;
            collector.push(piece).map_err(|why| why.in_file(self.name))?;
        }
        Ok(())
    }
}

/// The highest column that a file's sparse rows name, and what justifies it.
#[derive(Default)]
struct Columns {
    highest: Option<(u32, u64)>,
    nonzeros: u64,
}

impl Columns {
    fn note(&mut self, piece: &Piece, lines_before: u64) {
        self.nonzeros += piece.cells.entries() as u64;
        if let Some((column, line)) = piece.highest
            && self.highest.is_none_or(|(highest, _)| column > highest)
        {
            self.highest = Some((column, line + lines_before));
        }
    }

    /// A weight vector is as long as the highest column: a slip of the pen there must not cost
    /// gigabytes. With a model there is no new weight vector.
    fn check(&self, collector: &Collector<'_>) -> Result<(), Refusal> {
        let Some((column, line)) = self.highest else { return Ok(()) };
        if collector.options.model_columns().is_some() {
            return Ok(());
        }
        let needed = u64::from(column) + 1;
        let allowed = FREE_COLUMNS
            .max(self.nonzeros.saturating_mul(COLUMNS_PER_NONZERO))
            .max(collector.options.features.unwrap_or(0) as u64);
        if needed <= allowed {
            return Ok(());
        }
        let named = if collector.options.zero_based { needed - 1 } else { needed };
        let expected = format!(
            "feature indices up to {} for {} non-zeros (--features allows more)",
            if collector.options.zero_based { allowed - 1 } else { allowed },
            self.nonzeros
        );
        Err(Refusal::new(expected, named.to_string()).at_line(line))
    }
}

/// Refuses a number of columns that a sparse file only claims, as [`Columns::check`] does.
pub(crate) fn check_claimed_columns(
    columns: u64,
    nonzeros: u64,
    features: Option<usize>,
) -> Result<usize, Refusal> {
    let allowed = FREE_COLUMNS
        .max(nonzeros.saturating_mul(COLUMNS_PER_NONZERO))
        .max(features.unwrap_or(0) as u64)
        .min(MOST_COLUMNS as u64);
    if columns > allowed {
        let expected =
            format!("at most {allowed} columns for {nonzeros} non-zeros (--features allows more)");
        return Err(Refusal::new(expected, columns.to_string()));
    }
    Ok(columns as usize)
}

/// The text in about equal pieces that end at line ends, in order.
fn cut_at_lines(text: &[u8]) -> Vec<&[u8]> {
    // Twice as many as threads, so that a slow piece does not hold up the block.
    let most = 2 * rayon::current_num_threads();
    let size = (text.len() / most).max(SMALLEST_PIECE);
    let mut cuts = Vec::with_capacity(text.len() / size + 1);
    let mut rest = text;
    while rest.len() > size + SMALLEST_PIECE {
        match rest[size..].iter().position(|&b| b == b'\n') {
            Some(end) => {
                let (piece, after) = rest.split_at(size + end + 1);
                cuts.push(piece);
                rest = after;
            }
            None => break,
        }
    }
    if !rest.is_empty() {
        cuts.push(rest);
    }
    cuts
}

/// Cuts a stream into blocks of whole lines.
struct Blocks<'a> {
    input: Box<dyn Read + Send + 'a>,
    /// The beginning of the line that the last block did not end.
    rest: Vec<u8>,
    over: bool,
}

enum BlockError {
    Io(std::io::Error),
    LongLine,
}

impl BlockError {
    fn for_file(self, name: &str) -> ReadError {
        match self {
            BlockError::Io(why) => ReadError::io(name, why),
            BlockError::LongLine => {
                let expected = format!("lines of at most {LONGEST_LINE} bytes");
                ReadError::whole(name, expected, "a longer one")
            }
        }
    }
}

impl Blocks<'_> {
    fn next_block(&mut self) -> Result<Option<Vec<u8>>, BlockError> {
        let mut block = std::mem::take(&mut self.rest);
        while !self.over {
            let known = block.len();
            let read = self
                .input
                .by_ref()
                .take(BLOCK as u64)
                .read_to_end(&mut block)
                .map_err(BlockError::Io)?;
            self.over = read < BLOCK;
            if self.over {
                break;
            }
            if let Some(end) = block[known..].iter().rposition(|&b| b == b'\n') {
                self.rest = block[known + end + 1..].to_vec();
                block.truncate(known + end + 1);
                return Ok(Some(block));
            }
            if block.len() > LONGEST_LINE {
                return Err(BlockError::LongLine);
            }
        }
        Ok((!block.is_empty()).then_some(block))
    }
}
