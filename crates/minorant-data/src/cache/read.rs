//! Reads caches: the summary when a cache is opened, blocks one by one. Into a data set they go the way of
//! all pieces, through the collector, which decides on storage, layout and classes as it does for any file.

use super::MARK;
use super::block::{Block, BlockLabels};
use super::frame::{self, Holds};
use super::summary::{Summary, TokenFacts};
use crate::collect::{Collector, is_thin};
use crate::dataset::{Label, LabelKind, Labels};
use crate::error::{ReadError, Refusal};
use crate::formats::binary::{Trouble, read_up_to};
use crate::label_table::LabelTable;
use crate::piece::{Cells, Piece, PieceLabels, PieceRows};
use crate::read::ReadOptions;
use crate::source::{ReadSeek, Source};
use crate::text::check_claimed_columns;
use crate::values::GrowingValues;
use minorant_linalg::Storage;
use std::io::SeekFrom;
use std::path::Path;

/// Whether a file begins as a cache does.
pub fn is_cache(start: &[u8]) -> bool {
    start.starts_with(MARK)
}

/// Whether a file is a cache, by its beginning.
pub fn is_cache_at(path: &Path) -> Result<bool, ReadError> {
    Ok(is_cache(&Source::at(path)?.beginning(MARK.len() as u64)?))
}

/// A cache that is open.
pub struct Cache<'a> {
    pub(super) name: String,
    input: Box<dyn ReadSeek + 'a>,
    pub(super) summary: Summary,
    body: Vec<u8>,
}

impl std::fmt::Debug for Cache<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Cache<'static> {
    /// Opens a cache and reads its summary.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Cache::of(&Source::at(path)?)
    }
}

impl<'a> Cache<'a> {
    pub(crate) fn of(source: &Source<'a>) -> Result<Self, ReadError> {
        let name = source.name();
        let mut input = source.open_seekable()?;
        match summary(&mut input) {
            Ok(summary) => Ok(Cache { name, input, summary, body: Vec::new() }),
            Err(why) => Err(why.in_file(&name)),
        }
    }

    /// Examples: sequences, or rows.
    pub fn examples(&self) -> u64 {
        self.summary.tokens.as_ref().map_or(self.summary.rows, |tokens| tokens.sequences)
    }

    /// Rows, which may be tokens of sequences.
    pub fn rows(&self) -> u64 {
        self.summary.rows
    }

    /// Columns.
    pub fn columns(&self) -> u64 {
        self.summary.columns
    }

    /// Values that are stored.
    pub fn entries(&self) -> u64 {
        self.summary.entries
    }

    /// Values other than 0.
    pub fn nonzeros(&self) -> u64 {
        self.summary.nonzeros
    }

    /// Whether readers would store the rows dense.
    pub fn is_dense(&self) -> bool {
        let summary = &self.summary;
        summary.is_dense && !(summary.is_text && is_thin(summary.nonzeros, summary.entries))
    }

    /// Whether readers would store the values in single precision: each is exactly an f32.
    pub fn is_single(&self) -> bool {
        self.summary.is_single
    }

    /// The labels of all rows, with one block in memory at any time. Rows may have none.
    pub fn labels(&mut self, options: &ReadOptions) -> Result<Labels, ReadError> {
        let options = ReadOptions { for_prediction: true, ..options.clone() };
        let mut collector = Collector::new(&options);
        let name = self.name.clone();
        self.pieces(&mut collector, |collector, piece| {
            collector.push(labels_alone(piece.labels, &options))
        })?;
        collector.finish_labels(&name)
    }

    /// Whether the rows are tokens of sequences.
    pub fn holds_sequences(&self) -> bool {
        self.summary.tokens.is_some()
    }

    /// What the tokens are; a refusal where there are rows instead.
    pub(crate) fn tokens(&self) -> Result<&TokenFacts, ReadError> {
        let found = "a cache of rows of features";
        let refusal = || ReadError::whole(&self.name, "sequences of tokens", found);
        self.summary.tokens.as_ref().ok_or_else(refusal)
    }

    pub(super) fn refuse_sequences(&self) -> Result<(), ReadError> {
        if self.holds_sequences() {
            let found = "a cache of sequences of tokens";
            return Err(ReadError::whole(&self.name, "rows of features", found));
        }
        Ok(())
    }

    /// The weights of all rows, where they have some, with one block in memory at any time.
    pub fn weights(&mut self) -> Result<Option<Vec<f64>>, ReadError> {
        if !self.summary.has_weights {
            return Ok(None);
        }
        let mut weights = Vec::new();
        for at in 0..self.blocks() {
            let block = self.block(at, Storage::Exact).map_err(|why| why.in_file(&self.name))?;
            let found = block.weights.ok_or_else(|| {
                ReadError::whole(&self.name, "weights in every block", "a block without")
            })?;
            weights.extend(found);
        }
        Ok(Some(weights))
    }

    /// Blocks of rows.
    pub fn blocks(&self) -> usize {
        self.summary.blocks.len()
    }

    /// Names of the columns, where they have some.
    pub fn names(&self) -> &[String] {
        &self.summary.names
    }

    /// Reads one block.
    pub(super) fn block(&mut self, at: usize, storage: Storage) -> Result<Block, Trouble> {
        let place = self.summary.blocks[at];
        self.input.seek(SeekFrom::Start(place.offset))?;
        let found = frame::read(&mut self.input, Holds::Rows, place.length, &mut self.body)?;
        let block = Block::decode(&self.body, storage)?;
        if found.length != place.length || block.cells.rows() as u64 != place.rows {
            return Err(Refusal::new("the block that the summary names", "another").into());
        }
        Ok(block)
    }
}

/// The summary of a cache, which fits its length.
fn summary(input: &mut Box<dyn ReadSeek + '_>) -> Result<Summary, Trouble> {
    let all = input.seek(SeekFrom::End(0))?;
    let start = MARK.len() as u64;
    let whole = || Refusal::new("a whole cache", "one that was cut off");
    input.seek(SeekFrom::Start(0))?;
    let mut mark = [0; MARK.len()];
    if read_up_to(input, &mut mark)? < mark.len() || &mark != MARK {
        return Err(Refusal::new("a cache of this version", "another file").into());
    }
    if all < start + frame::AROUND + 8 {
        return Err(whole().into());
    }
    input.seek(SeekFrom::Start(all - 8))?;
    let mut offset = [0; 8];
    input.read_exact(&mut offset)?;
    let offset = u64::from_le_bytes(offset);
    if offset < start || offset > all - 8 - frame::AROUND {
        return Err(whole().into());
    }
    input.seek(SeekFrom::Start(offset))?;
    let mut body = Vec::new();
    let found = frame::read(input, Holds::Summary, all - 8 - offset, &mut body)?;
    let summary = Summary::decode(&body)?;
    if offset + found.length != all - 8 {
        return Err(whole().into());
    }
    summary.check(start, offset)?;
    Ok(summary)
}

/// Reads all of a cache into the collector.
pub(crate) fn read(source: &Source<'_>, collector: &mut Collector<'_>) -> Result<(), ReadError> {
    let mut cache = Cache::of(source)?;
    cache.refuse_sequences()?;
    cache.pieces(collector, Collector::push)
}

/// A piece that has labels and no cells.
pub(super) fn labels_alone(labels: PieceLabels, options: &ReadOptions) -> Piece {
    let (columns, values) = (Vec::new(), GrowingValues::new(options.storage));
    let cells = Cells::Sparse { cols: 0, lengths: Vec::new(), columns, values };
    Piece { cells, labels, lines: 0, highest: None }
}

/// A refusal of labels that come from this row on.
pub(super) fn from_row(why: Refusal, first: usize) -> Refusal {
    let found = format!("{} from row {first} on", why.found);
    Refusal { found, ..why }
}

impl Cache<'_> {
    /// Refuses claims of more columns than the entries make believable, and notes classes that were
    /// declared.
    pub(super) fn check_columns(&self, collector: &mut Collector<'_>) -> Result<(), ReadError> {
        let options = collector.options;
        if options.model_columns().is_none() {
            check_claimed_columns(self.columns(), self.entries(), options.features)
                .map_err(|why| why.in_file(&self.name))?;
        }
        let declared = self.summary.declared.clone();
        if !declared.is_empty() && options.label_kind != Some(LabelKind::Targets) {
            collector.declare(declared.into_iter());
        }
        Ok(())
    }

    /// Gives the blocks as pieces to `take`, one after the other.
    fn pieces<'o>(
        &mut self,
        collector: &mut Collector<'o>,
        take: impl Fn(&mut Collector<'o>, Piece) -> Result<(), Refusal>,
    ) -> Result<(), ReadError> {
        let name = self.name.clone();
        let options = collector.options;
        self.check_columns(collector)?;
        let (mut words, mut first) = (Vec::new(), 1);
        for at in 0..self.blocks() {
            let block = self.block(at, options.storage).map_err(|why| why.in_file(&name))?;
            words.extend(block.new_words);
            let labels = piece_labels(block.labels, &words, options.label_kind);
            let labels = labels.map_err(|why| from_row(why, first).in_file(&name))?;
            first += block.cells.rows();
            let piece = Piece { cells: block.cells, labels, lines: 0, highest: None };
            take(collector, piece).map_err(|why| why.in_file(&name))?;
        }
        Ok(())
    }
}

/// Labels as readers of other formats leave them, for classes or for targets.
pub(super) fn piece_labels(
    labels: BlockLabels,
    words: &[Label],
    kind: Option<LabelKind>,
) -> Result<PieceLabels, Refusal> {
    let as_targets = kind == Some(LabelKind::Targets);
    let mut table = LabelTable::default();
    let mut number = |all: Vec<f64>| all.into_iter().map(|x| table.insert_number(x)).collect();
    let rows = match labels {
        BlockLabels::None => PieceRows::None,
        BlockLabels::Numbers(values) if as_targets => PieceRows::Numbers { width: 1, values },
        BlockLabels::Targets(width, values) if as_targets => PieceRows::Numbers { width, values },
        BlockLabels::NumberSets(lengths, values) if as_targets => {
            let mut rows = PieceRows::targets();
            let mut rest = &values[..];
            for length in lengths {
                let (row, others) = rest.split_at(length as usize);
                rows.push_targets(row)?;
                rest = others;
            }
            rows
        }
        BlockLabels::Words(_) | BlockLabels::WordSets(..) if as_targets => {
            return Err(Refusal::new("numbers as targets", "words"));
        }
        BlockLabels::Numbers(all) | BlockLabels::Targets(1, all) => PieceRows::Single(number(all)),
        BlockLabels::Targets(width, _) => {
            return Err(Refusal::new("classes as labels", format!("{width} targets a row")));
        }
        BlockLabels::NumberSets(lengths, all) => PieceRows::Sets { lengths, items: number(all) },
        BlockLabels::Words(ids) => PieceRows::Single(named(ids, words, &mut table)?),
        BlockLabels::WordSets(lengths, ids) => {
            PieceRows::Sets { lengths, items: named(ids, words, &mut table)? }
        }
    };
    Ok(PieceLabels { table: Some(table), rows })
}

/// The numbers of words in a table of their own.
fn named(ids: Vec<u32>, words: &[Label], table: &mut LabelTable) -> Result<Vec<u32>, Refusal> {
    let mut known: Vec<Option<u32>> = vec![None; words.len()];
    let mut number = |id: u32| {
        let Some(place) = known.get_mut(id as usize) else {
            return Err(Refusal::new("a word that a block has named", format!("number {id}")));
        };
        Ok(*place.get_or_insert_with(|| table.insert(&words[id as usize])))
    };
    ids.into_iter().map(&mut number).collect()
}
