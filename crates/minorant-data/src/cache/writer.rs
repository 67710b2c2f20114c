//! Writes a cache: rows are gathered until they fill a block, and each block goes to disk as soon as it is
//! full, so that no more than one is in memory. The file grows under a temporary name and gets its own name
//! at the end, when it is whole.

use super::MARK;
use super::block::{Block, BlockLabels};
use super::frame::{self, Holds};
use super::resume;
use super::summary::{BlockPlace, Summary, TokenFacts};
use crate::dataset::{Dataset, Label, LabelRows, Labels};
use crate::error::{ReadError, Refusal};
use crate::label_table::LabelTable;
use crate::piece::{Cells, PieceLabels, PieceRows};
use crate::values::GrowingValues;
use minorant_linalg::{Matrix, Storage, Values};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Bytes of a block where nothing else is asked for.
const BLOCK: usize = 4 << 20;

/// A cache that is being written.
#[derive(Debug)]
pub struct CacheWriter {
    target: PathBuf,
    out: BufWriter<File>,
    at: u64,
    summary: Summary,
    words: LabelTable,
    pending: Option<Block>,
    width: Option<usize>,
    has_labels: Option<bool>,
    has_weights: Option<bool>,
    /// Bytes that a block takes at least, but for the last.
    block: usize,
}

impl CacheWriter {
    /// A new cache, which will be named `target`; what an earlier one left unfinished is written over.
    pub fn create(target: &Path) -> Result<Self, ReadError> {
        // A cache takes the place of what has its name, which must not happen to a device.
        if std::fs::metadata(target).is_ok_and(|found| !found.is_file()) {
            let name = target.display().to_string();
            return Err(ReadError::whole(&name, "a file that can be replaced", "another thing"));
        }
        let part = resume::part_of(target);
        let file = File::create(&part).map_err(|why| at_file(&part, why))?;
        let mut writer = CacheWriter::of(target, file, MARK.len() as u64);
        writer.out.write_all(MARK).map_err(|why| at_file(&part, why))?;
        Ok(writer)
    }

    /// A cache whose first bytes, up to `at`, are in `file` already.
    pub(super) fn of(target: &Path, file: File, at: u64) -> Self {
        CacheWriter {
            target: target.to_owned(),
            out: BufWriter::new(file),
            at,
            summary: Summary {
                is_single: true,
                is_dense: true,
                is_text: true,
                ..Summary::default()
            },
            words: LabelTable::default(),
            pending: None,
            width: None,
            has_labels: None,
            has_weights: None,
            block: BLOCK,
        }
    }

    /// Blocks of about so many bytes: smaller ones are read sooner, larger ones with less ado.
    pub fn with_block_bytes(self, block: usize) -> Self {
        CacheWriter { block, ..self }
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.summary.rows + self.pending.as_ref().map_or(0, |block| block.cells.rows() as u64)
    }

    /// Bytes on disk so far.
    pub fn bytes(&self) -> u64 {
        self.at
    }

    /// Names of the columns, in their order.
    pub fn set_names(&mut self, names: Vec<String>) {
        self.summary.names = names;
    }

    /// Appends the rows of a data set, with the weights of its examples where they have some.
    pub fn push(&mut self, data: &Dataset<'_>, weights: Option<&[f64]>) -> Result<(), ReadError> {
        let rows = data.features.rows();
        let name = self.target.display().to_string();
        let refuse = |expected: String, found: usize| {
            Err(ReadError::whole(&name, expected, found.to_string()))
        };
        if !data.labels.is_empty() && data.labels.len() != rows {
            return refuse(format!("labels for {rows} rows"), data.labels.len());
        }
        if let Some(found) = weights.map(<[f64]>::len).filter(|found| *found != rows) {
            return refuse(format!("weights for {rows} rows"), found);
        }
        if *self.has_weights.get_or_insert(weights.is_some()) != weights.is_some() {
            return Err(ReadError::whole(
                &name,
                "weights for all rows or for none",
                "some without",
            ));
        }
        self.summary.has_weights = weights.is_some();
        let labels = self.labels_of(&data.labels);
        self.push_rows(cells_of(&data.features), labels, weights)
    }

    /// Appends rows as a reader leaves them; `table` has the labels where a piece brings none of its own.
    pub(super) fn push_piece(
        &mut self,
        cells: Cells,
        labels: PieceLabels,
        table: &LabelTable,
    ) -> Result<(), ReadError> {
        let names = labels.table.as_ref().unwrap_or(table).labels();
        let rows = self.block_labels(&names, labels.rows);
        self.push_rows(cells, rows, None)
    }

    /// Appends the tokens of whole sequences; their labels are numbers of `names`.
    pub(super) fn push_sequences(
        &mut self,
        cells: Cells,
        names: &[Label],
        labels: PieceRows,
        lengths: Vec<u32>,
    ) -> Result<(), ReadError> {
        let labels = self.block_labels(names, labels);
        self.check_labels(&labels)?;
        let (new_words, sequences) = (Vec::new(), Some(lengths));
        self.gather(Block { cells, labels, new_words, weights: None, sequences })
    }

    /// Notes classes that exist even where no row has them.
    pub(super) fn declare(&mut self, labels: Vec<Label>) {
        self.summary.declared = labels;
    }

    /// Notes what the tokens of sequences are.
    pub(super) fn declare_tokens(&mut self, facts: TokenFacts) {
        self.summary.tokens = Some(facts);
    }

    /// Either all rows have labels or none.
    fn check_labels(&mut self, labels: &BlockLabels) -> Result<(), ReadError> {
        let has_labels = *labels != BlockLabels::None;
        if *self.has_labels.get_or_insert(has_labels) == has_labels {
            return Ok(());
        }
        let name = self.target.display().to_string();
        Err(ReadError::whole(&name, "labels for all rows", "rows without labels"))
    }

    fn labels_of(&mut self, labels: &Labels) -> BlockLabels {
        let rows = match &labels.rows {
            LabelRows::None => PieceRows::None,
            LabelRows::Single(ids) => PieceRows::Single(ids.clone()),
            LabelRows::Numbers { width, values } => {
                PieceRows::Numbers { width: *width, values: values.clone() }
            }
            LabelRows::Sets { starts, items } => {
                let lengths = starts.windows(2).map(|pair| (pair[1] - pair[0]) as u32).collect();
                PieceRows::Sets { lengths, items: items.clone() }
            }
        };
        self.block_labels(&labels.classes, rows)
    }

    /// Labels as blocks keep them: numbers as such, else words by their numbers in this file.
    fn block_labels(&mut self, names: &[Label], rows: PieceRows) -> BlockLabels {
        let number = |id: &u32| match &names[*id as usize] {
            Label::Number(number) => Some(*number),
            Label::Text(_) => None,
        };
        let numbers = |ids: &[u32]| ids.iter().map(number).collect::<Option<Vec<f64>>>();
        match rows {
            PieceRows::None => BlockLabels::None,
            PieceRows::Numbers { width, values } => BlockLabels::Targets(width, values),
            PieceRows::Single(ids) => match numbers(&ids) {
                Some(numbers) => BlockLabels::Numbers(numbers),
                None => BlockLabels::Words(self.numbered(names, ids)),
            },
            PieceRows::Sets { lengths, items } => match numbers(&items) {
                Some(numbers) => BlockLabels::NumberSets(lengths, numbers),
                None => BlockLabels::WordSets(lengths, self.numbered(names, items)),
            },
        }
    }

    fn numbered(&mut self, names: &[Label], ids: Vec<u32>) -> Vec<u32> {
        let mut known: Vec<Option<u32>> = vec![None; names.len()];
        let mut new_words = Vec::new();
        let mut number = |id: u32| {
            *known[id as usize].get_or_insert_with(|| {
                let before = self.words.len();
                let number = self.words.insert(&names[id as usize]);
                if self.words.len() > before {
                    new_words.push(names[id as usize].clone());
                }
                number
            })
        };
        let numbered = ids.into_iter().map(&mut number).collect();
        self.pending_words(new_words);
        numbered
    }

    /// Words stand in the first block that has them, or in one before.
    fn pending_words(&mut self, words: Vec<Label>) {
        if words.is_empty() {
            return;
        }
        let empty = || Block {
            cells: Cells::Dense {
                cols: 0,
                rows: 0,
                values: GrowingValues::new(Storage::Exact),
                from_text: false,
            },
            labels: BlockLabels::None,
            new_words: Vec::new(),
            weights: None,
            sequences: None,
        };
        self.pending.get_or_insert_with(empty).new_words.extend(words);
    }

    fn push_rows(
        &mut self,
        cells: Cells,
        labels: BlockLabels,
        weights: Option<&[f64]>,
    ) -> Result<(), ReadError> {
        let rows = cells.rows();
        if rows == 0 {
            return Ok(());
        }
        self.check_labels(&labels)?;
        let (mut first, mut entry) = (0, 0);
        while first < rows {
            let end = last_of_block(&cells, first, self.block);
            let entries = cells.entries_of(first..end);
            let part = slice(&cells, first..end, entry..entry + entries);
            let weights = weights.map(|all| all[first..end].to_vec());
            let labels = labels.slice(first..end);
            let new_words = Vec::new();
            self.gather(Block { cells: part, labels, new_words, weights, sequences: None })?;
            (first, entry) = (end, entry + entries);
        }
        Ok(())
    }

    fn gather(&mut self, more: Block) -> Result<(), ReadError> {
        if let Some(block) = &mut self.pending {
            if block.cells.rows() == 0 {
                let new_words = std::mem::take(&mut block.new_words);
                *block = Block { new_words, ..more };
                return self.write_if_full();
            }
            let fits = block.labels.is_like(&more.labels)
                && block.weights.is_some() == more.weights.is_some()
                && is_like(&block.cells, &more.cells);
            if fits {
                let left = block.cells.append(more.cells);
                debug_assert!(left.is_ok(), "layouts were compared");
                block.labels.append(more.labels);
                if let (Some(all), Some(more)) = (&mut block.weights, more.weights) {
                    all.extend(more);
                }
                if let (Some(all), Some(more)) = (&mut block.sequences, more.sequences) {
                    all.extend(more);
                }
                return self.write_if_full();
            }
            self.write_pending()?;
        }
        self.pending = Some(more);
        self.write_if_full()
    }

    fn write_if_full(&mut self) -> Result<(), ReadError> {
        match &self.pending {
            Some(block) if bytes_of(&block.cells) >= self.block => self.write_pending(),
            _ => Ok(()),
        }
    }

    fn write_pending(&mut self) -> Result<(), ReadError> {
        let Some(block) = self.pending.take() else { return Ok(()) };
        let length = frame::write(&mut self.out, Holds::Rows, &block.encode());
        let length = length.map_err(|why| at_file(&resume::part_of(&self.target), why))?;
        self.note(&block, length);
        Ok(())
    }

    /// Takes account of a block that is on disk and takes so many bytes there.
    pub(super) fn note(&mut self, block: &Block, length: u64) {
        let (rows, cols) = (block.cells.rows() as u64, block.cells.cols());
        let summary = &mut self.summary;
        summary.blocks.push(BlockPlace { offset: self.at, length, rows });
        summary.rows += rows;
        summary.columns = summary.columns.max(cols as u64);
        summary.entries += block.cells.entries() as u64;
        let (values, is_dense, from_text) = match &block.cells {
            Cells::Dense { values, from_text, .. } => (values, true, *from_text),
            Cells::Sparse { values, .. } => (values, false, false),
        };
        let nonzeros = match values {
            GrowingValues::Narrow { values, .. } => values.iter().filter(|x| **x != 0.0).count(),
            GrowingValues::Wide(values) => values.iter().filter(|x| **x != 0.0).count(),
        };
        summary.nonzeros += nonzeros as u64;
        summary.is_single &= matches!(values, GrowingValues::Narrow { .. });
        summary.is_dense &= is_dense && *self.width.get_or_insert(cols) == cols;
        summary.is_text &= from_text;
        self.at += length;
    }

    /// Takes account of a block that is on disk already.
    pub(super) fn take_up(&mut self, block: &Block, length: u64) {
        for word in &block.new_words {
            self.words.insert(word);
        }
        self.has_labels = Some(block.labels != BlockLabels::None);
        self.note(block, length);
    }

    /// Writes what is left and the summary, and gives the file its name.
    pub fn finish(mut self) -> Result<(), ReadError> {
        let part = resume::part_of(&self.target);
        if self.rows() == 0 {
            drop(self.out);
            resume::clear(&self.target);
            let name = self.target.display().to_string();
            return Err(ReadError::whole(&name, "at least one example", "none"));
        }
        self.write_pending()?;
        let offset = self.at;
        let end = |out: &mut BufWriter<File>, body: &[u8]| {
            frame::write(out, Holds::Summary, body)?;
            out.write_all(&offset.to_le_bytes())?;
            out.flush()?;
            out.get_ref().sync_all()
        };
        end(&mut self.out, &self.summary.encode()).map_err(|why| at_file(&part, why))?;
        std::fs::rename(&part, &self.target).map_err(|why| at_file(&self.target, why))?;
        resume::clear(&self.target);
        Ok(())
    }

    /// Sees to it that all whole blocks are on disk, to be taken up later.
    pub(super) fn pause(mut self) {
        // What did not get to the disk is read again.
        drop(self.out.flush());
    }
}

pub(super) fn at_file(path: &Path, why: std::io::Error) -> ReadError {
    ReadError::io(&path.display().to_string(), why)
}

/// The features of a matrix as readers leave them.
fn cells_of(features: &Matrix<'_>) -> Cells {
    let mut values = GrowingValues::with_capacity(Storage::Exact, features.entries());
    match features.values() {
        Values::F32(all) => values = GrowingValues::Narrow { values: all.to_vec(), rounds: false },
        Values::F64(all) => values.extend_exactly(all),
    }
    let (rows, cols) = (features.rows(), features.cols());
    if !features.is_sparse() {
        return Cells::Dense { cols, rows, values, from_text: false };
    }
    let mut lengths = Vec::with_capacity(rows);
    let mut columns = Vec::with_capacity(features.entries());
    for row in 0..rows {
        let before = columns.len();
        columns.extend(features.row(row).map(|(column, _)| column as u32));
        lengths.push((columns.len() - before) as u32);
    }
    Cells::Sparse { cols, lengths, columns, values }
}

fn is_like(a: &Cells, b: &Cells) -> bool {
    match (a, b) {
        (Cells::Dense { cols, from_text, .. }, Cells::Dense { cols: c, from_text: t, .. }) => {
            cols == c && from_text == t
        }
        (Cells::Sparse { .. }, Cells::Sparse { .. }) => true,
        _ => false,
    }
}

fn bytes_of(cells: &Cells) -> usize {
    cells.rows() * 4 + cells.entries() * bytes_of_entry(cells)
}

fn bytes_of_entry(cells: &Cells) -> usize {
    let value = |values: &GrowingValues| match values {
        GrowingValues::Narrow { .. } => 4,
        GrowingValues::Wide(_) => 8,
    };
    match cells {
        Cells::Dense { values, .. } => value(values),
        Cells::Sparse { values, .. } => 4 + value(values),
    }
}

/// Behind the last of the rows from `first` on that fill a block.
fn last_of_block(cells: &Cells, first: usize, block: usize) -> usize {
    match cells {
        Cells::Dense { cols, rows, .. } => {
            let each = (block / (bytes_of_entry(cells) * cols).max(1)).max(1);
            (first + each).min(*rows)
        }
        Cells::Sparse { lengths, .. } => {
            let mut bytes = 0;
            let each = bytes_of_entry(cells);
            let full = lengths[first..].iter().position(|&length| {
                bytes += 4 + length as usize * each;
                bytes >= block
            });
            full.map_or(lengths.len(), |at| first + at + 1)
        }
    }
}

/// Some rows, whose entries these are.
pub(super) fn slice(cells: &Cells, rows: Range<usize>, entries: Range<usize>) -> Cells {
    let cut = |values: &GrowingValues| match values {
        GrowingValues::Narrow { values, rounds } => {
            GrowingValues::Narrow { values: values[entries.clone()].to_vec(), rounds: *rounds }
        }
        GrowingValues::Wide(values) => {
            let mut found = GrowingValues::with_capacity(Storage::Exact, entries.len());
            found.extend_exactly(&values[entries.clone()]);
            found
        }
    };
    match cells {
        Cells::Dense { cols, values, from_text, .. } => Cells::Dense {
            cols: *cols,
            rows: rows.len(),
            values: cut(values),
            from_text: *from_text,
        },
        Cells::Sparse { cols, lengths, columns, values } => Cells::Sparse {
            cols: *cols,
            lengths: lengths[rows].to_vec(),
            columns: columns[entries.clone()].to_vec(),
            values: cut(values),
        },
    }
}

impl BlockLabels {
    /// The labels of some rows.
    pub(super) fn slice(&self, rows: Range<usize>) -> BlockLabels {
        let items = |lengths: &[u32]| {
            let sum = |some: &[u32]| some.iter().map(|&n| n as usize).sum::<usize>();
            let start = sum(&lengths[..rows.start]);
            start..start + sum(&lengths[rows.clone()])
        };
        match self {
            BlockLabels::None => BlockLabels::None,
            BlockLabels::Numbers(each) => BlockLabels::Numbers(each[rows].to_vec()),
            BlockLabels::Words(each) => BlockLabels::Words(each[rows].to_vec()),
            BlockLabels::NumberSets(lengths, all) => {
                let all = all[items(lengths)].to_vec();
                BlockLabels::NumberSets(lengths[rows].to_vec(), all)
            }
            BlockLabels::WordSets(lengths, all) => {
                let all = all[items(lengths)].to_vec();
                BlockLabels::WordSets(lengths[rows].to_vec(), all)
            }
            BlockLabels::Targets(width, all) => {
                BlockLabels::Targets(*width, all[rows.start * width..rows.end * width].to_vec())
            }
        }
    }

    /// Whether labels of the other kind can follow these in one block.
    fn is_like(&self, other: &BlockLabels) -> bool {
        let width = |labels: &BlockLabels| match labels {
            BlockLabels::Targets(width, _) => *width,
            _ => 0,
        };
        std::mem::discriminant(self) == std::mem::discriminant(other) && width(self) == width(other)
    }

    fn append(&mut self, other: BlockLabels) {
        match (self, other) {
            (BlockLabels::Numbers(all), BlockLabels::Numbers(more))
            | (BlockLabels::Targets(_, all), BlockLabels::Targets(_, more)) => all.extend(more),
            (BlockLabels::Words(all), BlockLabels::Words(more)) => all.extend(more),
            (BlockLabels::NumberSets(lengths, all), BlockLabels::NumberSets(l, more)) => {
                lengths.extend(l);
                all.extend(more);
            }
            (BlockLabels::WordSets(lengths, all), BlockLabels::WordSets(l, more)) => {
                lengths.extend(l);
                all.extend(more);
            }
            // Kinds were compared.
            _ => {}
        }
    }
}

/// A refusal that stands for a failure that the writer keeps.
pub(super) fn kept_apart() -> Refusal {
    Refusal::new("a cache that can be written", "a failure")
}
