//! The front door: which files to read, how, and in what order.

use crate::cache;
use crate::collect::{Collector, MOST_COLUMNS};
use crate::dataset::{Dataset, LabelKind};
use crate::detect::Format;
use crate::error::ReadError;
use crate::pairing;
use crate::source::Source;
use minorant_linalg::Storage;
use std::path::PathBuf;

/// How to read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// How labels are to be understood; by the labels themselves unless given.
    pub label_kind: Option<LabelKind>,
    /// The precision in which values are stored.
    pub storage: Storage,
    /// At least this many columns; also allows sparse indices up to this one, however high.
    pub features: Option<usize>,
    /// LIBSVM: indices count from 0.
    pub zero_based: bool,
    /// CSV: the label column by name or by number (from 1), or `none` where there is none.
    pub label_column: Option<String>,
    /// ARFF: the label file, where it is neither among the files nor beside them.
    pub label_xml: Option<PathBuf>,
    /// The format of all files; found out file by file unless given.
    pub format: Option<Format>,
    /// Labels may be missing, and one class is enough.
    pub for_prediction: bool,
    /// With `for_prediction`: the columns that the model knows. Sparse entries beyond them are
    /// dropped, dense tables with fewer are refused, and a CSV file with just as many and no
    /// column named as a label has no labels.
    pub model_features: Option<usize>,
    /// Bytes that rows may take in memory: those of a cache that take more are fetched from it when they
    /// are used, and no more than this of them stays. Without a limit all rows are in memory.
    pub rows_in_memory: Option<u64>,
}

impl ReadOptions {
    /// The columns that the model knows, where there is a model.
    pub(crate) fn model_columns(&self) -> Option<usize> {
        self.model_features.filter(|_| self.for_prediction)
    }
}

/// Reads one or several files as one data set, rows in the files' order.
///
/// A file of labels (a vector after an NPY or NPZ file, an IDX label file after its images, the
/// XML after an ARFF file) belongs to the file before it.
pub fn read(paths: &[PathBuf], options: &ReadOptions) -> Result<Dataset<'static>, ReadError> {
    Ok(read_for_model(paths, options)?.0)
}

/// Reads as [`read`] does; the number is that of the non-zero entries which were dropped because
/// the model ([`ReadOptions::model_features`]) does not know their columns.
pub fn read_for_model(
    paths: &[PathBuf],
    options: &ReadOptions,
) -> Result<(Dataset<'static>, usize), ReadError> {
    read_sources(&Source::all(paths)?, options)
}

/// Reads a file that is already in memory; `name` stands for it in refusals.
pub fn read_bytes(
    name: &str,
    bytes: &[u8],
    options: &ReadOptions,
) -> Result<Dataset<'static>, ReadError> {
    Ok(read_sources(&[Source::Bytes { name, bytes }], options)?.0)
}

/// Reads several files (name and content) that are already in memory, as [`read`] does.
pub fn read_bytes_of_files(
    files: &[(&str, &[u8])],
    options: &ReadOptions,
) -> Result<Dataset<'static>, ReadError> {
    let sources: Vec<Source<'_>> =
        files.iter().map(|&(name, bytes)| Source::Bytes { name, bytes }).collect();
    Ok(read_sources(&sources, options)?.0)
}

fn read_sources(
    sources: &[Source<'_>],
    options: &ReadOptions,
) -> Result<(Dataset<'static>, usize), ReadError> {
    let Some(first) = sources.first() else {
        return Err(ReadError::whole("no files", "at least one data file", "none"));
    };
    if let Some(features) = options.features
        && features > MOST_COLUMNS
    {
        let expected = format!("--features of at most {MOST_COLUMNS}");
        return Err(ReadError::whole(&first.name(), expected, features.to_string()));
    }
    let mut collector = Collector::new(options);
    let mut rest = sources;
    if let ([source], Some(most)) = (sources, options.rows_in_memory)
        && cache::leave_on_disk(source, most, &mut collector)?
    {
        return collector.finish(&first.name());
    }
    while !rest.is_empty() {
        let used = pairing::read_next(rest, &mut collector)?;
        rest = &rest[used..];
    }
    let name = match sources.len() {
        1 => first.name(),
        more => format!("{} and {} more", first.name(), more - 1),
    };
    collector.finish(&name)
}
