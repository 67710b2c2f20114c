//! Recordings: sequences of frames, each a row of measured numbers, from NPZ arrays `values`
//! (frames by features), `offsets` (where each sequence begins, and where the last one ends) and
//! `labels` (one a sequence) or `frame_labels` (one a frame). Attributes with names are not for
//! here.

use super::arrays::read_offsets;
use crate::collect::{Collector, join_labels};
use crate::dataset::{LabelRows, Labels};
use crate::error::ReadError;
use crate::formats::array_labels::read_labels;
use crate::formats::npy::Features;
use crate::formats::npy_header::ArrayHeader;
use crate::formats::npz::Archive;
use crate::label_table::LabelTable;
use crate::piece::{Cells, PieceRows};
use crate::read::ReadOptions;
use crate::source::{Source, is_pipe};
use crate::values::GrowingValues;
use minorant_linalg::{Matrix, Storage};
use std::path::{Path, PathBuf};

/// Sequences of frames.
#[derive(Debug, Clone)]
pub struct Recordings {
    /// One dense row per frame.
    pub frames: Matrix<'static>,
    /// Sequence i has the frames `starts[i]..starts[i + 1]`.
    pub starts: Vec<usize>,
    /// One label a sequence or a frame, as was asked for; none where the files have none.
    pub labels: Labels,
}

impl Recordings {
    /// Number of sequences.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there are labels.
    pub fn has_labels(&self) -> bool {
        self.labels.rows != LabelRows::None
    }
}

/// What has a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LabelledBy {
    /// Each sequence: the array `labels`.
    #[default]
    Sequence,
    /// Each frame: the array `frame_labels`.
    Frame,
}

impl LabelledBy {
    fn array(self) -> &'static str {
        match self {
            LabelledBy::Sequence => "labels",
            LabelledBy::Frame => "frame_labels",
        }
    }
}

/// How to read recordings.
#[derive(Debug, Clone, Copy, Default)]
pub struct RecordingOptions {
    /// What has a label.
    pub labelled_by: LabelledBy,
    /// The features of the model that the recordings are for: labels may then be missing.
    pub model_features: Option<usize>,
    /// The precision in which values are stored.
    pub storage: Storage,
}

/// What has a label in a file, if it is an NPZ archive of recordings. A pipe is left alone.
pub fn recordings_in(path: &Path) -> Option<LabelledBy> {
    if is_pipe(path) {
        return None;
    }
    let mut archive = Archive::open(&Source::Path(path.to_path_buf())).ok()?;
    let mut length = |name: &str| {
        let header = archive.member(name, |input| ArrayHeader::read(input)).ok()?;
        header.shape.first().copied()
    };
    let (_, offsets) = (length("values")?, length("offsets")?);
    match (length("labels"), length("frame_labels")) {
        (Some(labels), _) if labels + 1 == offsets => Some(LabelledBy::Sequence),
        (_, Some(_)) => Some(LabelledBy::Frame),
        _ => None,
    }
}

/// Reads one or several files as one set of recordings.
pub fn read_recordings(
    paths: &[PathBuf],
    options: &RecordingOptions,
) -> Result<Recordings, ReadError> {
    read_sources(&Source::all(paths)?, options)
}

/// Reads a file that is already in memory; `name` stands for it in refusals.
pub fn read_recording_bytes(
    name: &str,
    bytes: &[u8],
    options: &RecordingOptions,
) -> Result<Recordings, ReadError> {
    read_sources(&[Source::Bytes { name, bytes }], options)
}

fn read_sources(
    sources: &[Source<'_>],
    options: &RecordingOptions,
) -> Result<Recordings, ReadError> {
    let Some(first) = sources.first() else {
        return Err(ReadError::whole("no files", "at least one data file", "none"));
    };
    let read_options =
        ReadOptions { for_prediction: options.model_features.is_some(), ..ReadOptions::default() };
    let mut all = Growing::new(options);
    for source in sources {
        all.add(source, &read_options)?;
    }
    all.finish(&first.name(), &read_options)
}

/// What has been read so far.
struct Growing<'o> {
    options: &'o RecordingOptions,
    cols: Option<usize>,
    values: GrowingValues,
    starts: Vec<usize>,
    table: LabelTable,
    ids: Vec<u32>,
    unlabelled: bool,
}

impl<'o> Growing<'o> {
    fn new(options: &'o RecordingOptions) -> Self {
        Growing {
            options,
            cols: options.model_features,
            values: GrowingValues::new(options.storage),
            starts: vec![0],
            table: LabelTable::default(),
            ids: Vec::new(),
            unlabelled: false,
        }
    }

    fn add(&mut self, source: &Source<'_>, read_options: &ReadOptions) -> Result<(), ReadError> {
        let name = source.name();
        if source.beginning(2)? != b"PK" {
            let expected = "an NPZ archive with the arrays values, offsets and labels";
            return Err(ReadError::whole(&name, expected, "another file"));
        }
        let mut archive = Archive::open(source)?;
        let storage = self.options.storage;
        let cells =
            archive.member("values", |input| Features::begin(input)?.read(input, storage))?;
        let Cells::Dense { rows, cols, values, .. } = cells else {
            return Err(ReadError::whole(&name, "values in rows and columns", "others"));
        };
        if let Some(known) = self.cols.filter(|known| *known != cols) {
            let expected = match self.options.model_features {
                Some(_) => format!("the model's {known} features"),
                None => format!("{known} features as before"),
            };
            return Err(ReadError::whole(&name, expected, cols.to_string()));
        }
        self.cols = Some(cols);
        let offsets = read_offsets(&mut archive, &name, rows)?;
        let before = self.starts[self.starts.len() - 1];
        let sequences = offsets.len() - 1;
        let labelled = match self.options.labelled_by {
            LabelledBy::Sequence => sequences,
            LabelledBy::Frame => rows,
        };
        let array = self.options.labelled_by.array();
        if archive.has(array) || !read_options.for_prediction {
            let mut collector = Collector::new(read_options);
            let read = archive.member(array, |input| {
                let header = ArrayHeader::read(input)?;
                read_labels(input, &header, labelled as u64, &mut collector)
            })?;
            let (Some(table), PieceRows::Single(ids)) = (read.table, read.rows) else {
                return Err(ReadError::whole(&name, "a vector of labels", "several columns"));
            };
            let translation = self.table.absorb(table);
            self.ids.extend(ids.iter().map(|&id| translation[id as usize]));
        } else {
            self.unlabelled = true;
        }
        self.starts.extend(offsets[1..].iter().map(|offset| before + offset));
        self.values.append(values);
        Ok(())
    }

    fn finish(self, name: &str, options: &ReadOptions) -> Result<Recordings, ReadError> {
        let cols = self.cols.unwrap_or(0);
        if self.starts.len() == 1 {
            return Err(ReadError::whole(name, "at least one sequence", "none"));
        }
        if cols == 0 {
            return Err(ReadError::whole(name, "at least one feature", "none"));
        }
        if self.unlabelled && !self.ids.is_empty() {
            return Err(ReadError::whole(name, "labels in all files or in none", "both"));
        }
        let rows = if self.unlabelled { PieceRows::None } else { PieceRows::Single(self.ids) };
        let labels = join_labels(name, options, rows, self.table, false)?;
        let frames = self.starts[self.starts.len() - 1];
        let frames = Matrix::dense(frames, cols, self.values.into_values())
            .map_err(|why| ReadError::whole(name, "a matrix of frames", why.to_string()))?;
        Ok(Recordings { frames, starts: self.starts, labels })
    }
}
