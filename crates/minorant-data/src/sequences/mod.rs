//! Labelled sequences: tokens with attributes, read from CoNLL columns with templates, CRFsuite's
//! attribute lists, the OCR letters' table or NPZ arrays; and recordings, sequences of measured
//! frames. Every file is as hostile here as tables
//! are; memory per token stays near its non-zeros.

mod arrays;
mod attributes;
mod builder;
mod cached;
mod conll;
mod crfsuite;
mod lines;
mod ocr;
mod recordings;
mod template;

pub use attributes::Attributes;
pub use recordings::{
    LabelledBy, RecordingOptions, Recordings, read_recording_bytes, read_recordings, recordings_in,
};
pub use template::Template;

use crate::cache::{TokenFacts, is_cache};
use crate::error::ReadError;
use crate::source::Source;
use builder::Builder;
pub(crate) use builder::SequenceOutlet;
use minorant_linalg::{Matrix, Storage};
use std::path::{Path, PathBuf};

/// Sequences of tokens.
#[derive(Debug, Clone)]
pub struct Sequences {
    /// One row per token, one column per attribute.
    pub tokens: Matrix<'static>,
    /// Sequence i has the tokens `starts[i]..starts[i + 1]`.
    pub starts: Vec<usize>,
    /// The label of each token, as a position in `classes`; empty where the file has none.
    pub labels: Vec<u16>,
    /// The distinct labels: ordered numerically, or alphabetically when any is not a number.
    pub classes: Vec<String>,
    /// What the columns are.
    pub attributes: Attributes,
    /// The template that made the attributes, where one did.
    pub template: Option<Template>,
    /// The lines of the tokens as they were read, where that was asked for.
    pub lines: Vec<String>,
    /// Attributes of tokens that were left out because the model does not know them.
    pub unknown: usize,
}

impl Sequences {
    /// Number of sequences.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The formats of sequence files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SequenceFormat {
    /// Columns, one token a line, the label last, a blank line between sequences.
    Conll,
    /// A label and attributes with optional values, separated by tabs.
    Crfsuite,
    /// The OCR letters: id, letter, next id, word, position, fold, pixels.
    Ocr,
    /// Arrays `values`, `offsets` and `labels`.
    Npz,
    /// A cache of sequences of any of the other formats.
    Mnt,
}

/// How to read sequences.
#[derive(Debug, Clone, Default)]
pub struct SequenceOptions {
    /// The format of all files; found out file by file unless given.
    pub format: Option<SequenceFormat>,
    /// CoNLL: how columns become attributes; a common one unless given.
    pub template: Option<Template>,
    /// Attributes that occur less often are left out.
    pub min_count: u64,
    /// Attributes are numbered by a hash of this many bits instead of a dictionary.
    pub hash_bits: Option<u32>,
    /// OCR: only these folds.
    pub folds: Option<Vec<u32>>,
    /// The attributes that a model knows: others are left out and counted, and labels may be
    /// missing.
    pub known: Option<Attributes>,
    /// Keep the lines of the tokens.
    pub keep_lines: bool,
    /// The precision in which values are stored.
    pub storage: Storage,
    /// Bytes that tokens may take in memory: those of a cache that take more are fetched from it when they
    /// are used, and no more than this of them stays. Without a limit all tokens are in memory.
    pub rows_in_memory: Option<u64>,
}

impl SequenceOptions {
    /// Refuses what another format is read with. A model's own template stays unused instead.
    fn refuse_foreign(&self, source: &Source<'_>, format: SequenceFormat) -> Result<(), ReadError> {
        let foreign = |expected: &str| {
            Err(ReadError::whole(&source.name(), expected, format!("the format {}", format.name())))
        };
        if self.template.is_some() && self.known.is_none() && format != SequenceFormat::Conll {
            return foreign("columns of the format conll, which a template goes with");
        }
        // Which of them a cache has, it says itself.
        let has_names = !matches!(format, SequenceFormat::Ocr | SequenceFormat::Npz);
        if (self.hash_bits.is_some() || self.min_count > 1) && self.known.is_none() && !has_names {
            return foreign("attributes with names, which --hash-bits and --min-count go with");
        }
        if self.folds.is_some() && format != SequenceFormat::Ocr {
            return foreign("letters of the format ocr, which folds go with");
        }
        Ok(())
    }
}

impl SequenceFormat {
    /// The name that users type.
    fn name(self) -> &'static str {
        match self {
            SequenceFormat::Conll => "conll",
            SequenceFormat::Crfsuite => "crfsuite",
            SequenceFormat::Ocr => "ocr",
            SequenceFormat::Npz => "npz",
            SequenceFormat::Mnt => "mnt",
        }
    }
}

/// Reads one or several files as one set of sequences.
pub fn read_sequences(
    paths: &[PathBuf],
    options: &SequenceOptions,
) -> Result<Sequences, ReadError> {
    read_sources(&Source::all(paths)?, options)
}

/// Reads a file that is already in memory; `name` stands for it in refusals.
pub fn read_sequence_bytes(
    name: &str,
    bytes: &[u8],
    options: &SequenceOptions,
) -> Result<Sequences, ReadError> {
    read_sources(&[Source::Bytes { name, bytes }], options)
}

fn read_sources(sources: &[Source<'_>], options: &SequenceOptions) -> Result<Sequences, ReadError> {
    let Some(first) = sources.first() else {
        return Err(ReadError::whole("no files", "at least one data file", "none"));
    };
    if let ([source], Some(most)) = (sources, options.rows_in_memory)
        && format_of(source, options)? == SequenceFormat::Mnt
        && let Some(data) = Builder::new(options).leave_on_disk(source, most)?
    {
        return Ok(data);
    }
    let mut builder = Builder::new(options);
    read_all(sources, &mut builder)?;
    builder.finish(&first.name())
}

/// Reads sequences that are handed on, some at a time; what their tokens are.
pub(crate) fn hand_on(
    sources: &[Source<'_>],
    options: &SequenceOptions,
    outlet: &mut dyn SequenceOutlet,
) -> Result<TokenFacts, ReadError> {
    let name = sources.first().map_or_else(String::new, Source::name);
    if options.min_count > 1 {
        let expected =
            "--min-count where the cache is read, which keeps how often attributes occur";
        return Err(ReadError::whole(
            &name,
            expected,
            format!("--min-count {}", options.min_count),
        ));
    }
    let mut builder = Builder::with_outlet(options, outlet);
    read_all(sources, &mut builder)?;
    builder.hand_on_the_rest(&name)
}

fn read_all(sources: &[Source<'_>], builder: &mut Builder<'_>) -> Result<(), ReadError> {
    let options = builder.options;
    for source in sources {
        let before = builder.tokens_in_all();
        match format_of(source, options)? {
            SequenceFormat::Conll => conll::read(source, builder)?,
            SequenceFormat::Crfsuite => crfsuite::read(source, builder)?,
            SequenceFormat::Ocr => ocr::read(source, builder)?,
            SequenceFormat::Npz => arrays::read(source, builder)?,
            SequenceFormat::Mnt => builder.read_cache(source)?,
        }
        if builder.tokens_in_all() == before {
            let expected = "at least one token";
            let found = if options.folds.is_some() { "none in these folds" } else { "none" };
            return Err(ReadError::whole(&source.name(), expected, found));
        }
    }
    Ok(())
}

/// The format of a file, which the options must fit.
fn format_of(source: &Source<'_>, options: &SequenceOptions) -> Result<SequenceFormat, ReadError> {
    let start = source.beginning(LOOKED_AT)?;
    source.refuse_foreign(&start)?;
    let format = options.format.unwrap_or_else(|| detect(&start));
    options.refuse_foreign(source, format)?;
    Ok(format)
}

/// How much of a file is looked at to know its format.
const LOOKED_AT: u64 = 64 << 10;

/// Whether a file looks like CRFsuite's attribute lists: tabs, attributes after the first of them, and a
/// blank line between tokens. Tables and rows of LIBSVM text look otherwise.
pub fn looks_like_attribute_lists(path: &Path) -> bool {
    // A pipe gives its bytes only once.
    let source = if path.is_file() { Source::at(path).ok() } else { None };
    let Some(start) = source.and_then(|source| source.beginning(LOOKED_AT).ok()) else {
        return false;
    };
    if detect(&start) != SequenceFormat::Crfsuite {
        return false;
    }
    let lines = || start.split(|&b| b == b'\n').map(<[u8]>::trim_ascii_end);
    let full = || lines().enumerate().filter(|(_, line)| !line.is_empty()).map(|(at, _)| at);
    let has_gap = full().zip(full().skip(1)).any(|(at, next)| next > at + 1);
    // LIBSVM text has numbers before its colons.
    let is_pair = |cell: &[u8]| {
        let name = cell.split(|&b| b == b':').next().unwrap_or_default();
        cell.contains(&b':') && crate::number::parse(name).is_ok()
    };
    let mut cells = lines().flat_map(|line| line.split(|&b| b == b'\t').skip(1));
    has_gap && !cells.any(is_pair)
}

/// The format that a file looks like by its beginning.
fn detect(start: &[u8]) -> SequenceFormat {
    if is_cache(start) {
        return SequenceFormat::Mnt;
    }
    if start.starts_with(b"PK") {
        return SequenceFormat::Npz;
    }
    let line = start.split(|&b| b == b'\n').find(|line| !line.trim_ascii().is_empty());
    let line = line.unwrap_or_default();
    let cells: Vec<&[u8]> = line.split(|&b| b == b'\t').collect();
    let number = |cell: &&[u8]| crate::number::parse(cell.trim_ascii()).is_ok();
    let empty_end = cells.last().is_some_and(|cell| cell.trim_ascii().is_empty());
    let cells = &cells[..cells.len() - usize::from(empty_end)];
    if cells.len() > 7 && cells.iter().enumerate().all(|(at, cell)| at == 1 || number(cell)) {
        return SequenceFormat::Ocr;
    }
    let attribute = |cell: &&[u8]| cell.iter().any(|b| matches!(b, b'=' | b':' | b'['));
    if cells.len() > 1 && cells[1..].iter().any(attribute) {
        SequenceFormat::Crfsuite
    } else {
        SequenceFormat::Conll
    }
}
