//! Data of any kind: what a family is trained on and predicts, how it is read from files, and its
//! fingerprint. The readers themselves are `minorant-data`'s.

use super::Settings;
use super::streaming::rows_in_memory;
use crate::fingerprint::{Fingerprint, Version};
use crate::options::common::WEIGHTS;
use crate::options::reading::{
    FEATURES, FOLDS, FORMAT_OF_ROWS, FORMAT_OF_SEQUENCES, HASH_BITS, LABEL_COLUMN, LABEL_XML,
    LABELS, MIN_COUNT, STORAGE, TEMPLATE, ZERO_BASED,
};
use minorant_data::{
    Attributes, Cache, Dataset, Images, LabelKind, LabelledBy, ReadError, ReadOptions,
    RecordingOptions, Recordings, SequenceOptions, Sequences, Template,
};
use minorant_linalg::Storage;
use std::path::PathBuf;

/// A kind of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataKind {
    /// Rows of features.
    Rows,
    /// Sequences of tokens.
    Sequences,
    /// Sequences of frames.
    Recordings(LabelledBy),
    /// Images to cut into characters.
    Plates,
    /// Images to find parts of objects in.
    Parts,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident($type:ty, $owned:ty): $get:ident, $words:literal;)+) => {
        /// Data to train on or to predict.
        #[derive(Debug, Clone, Copy)]
        pub enum Data<'a> {
            $($(#[$doc])* $kind(&'a $type)),+
        }

        /// Data that was read.
        #[derive(Debug, Clone)]
        pub enum OwnedData {
            $($(#[$doc])* $kind($owned)),+
        }

        impl OwnedData {
            /// The data, borrowed.
            pub fn view(&self) -> Data<'_> {
                match self {
                    $(OwnedData::$kind(data) => Data::$kind(data)),+
                }
            }
        }

        impl<'a> Data<'a> {
            $(
                #[doc = concat!("The ", $words, ", or a sentence that other data was found.")]
                pub fn $get(self) -> Result<&'a $type, String> {
                    match self {
                        Data::$kind(data) => Ok(data),
                        other => Err(format!("expected {}, found {}", $words, other.in_words())),
                    }
                }
            )+

            fn in_words(self) -> &'static str {
                match self {
                    $(Data::$kind(_) => $words),+
                }
            }
        }

        impl Fingerprint for Data<'_> {
            fn sha256_of(&self, version: Version, example_weights: Option<&[f64]>) -> String {
                match self {
                    $(Data::$kind(data) => data.sha256_of(version, example_weights)),+
                }
            }
        }

        $(
            impl<'a> From<&'a $type> for Data<'a> {
                fn from(data: &'a $type) -> Self {
                    Data::$kind(data)
                }
            }
        )+
    };
}

kinds! {
    /// Rows of features.
    Rows(Dataset<'a>, Dataset<'static>): rows, "rows of features";
    /// Sequences of tokens.
    Sequences(Sequences, Sequences): sequences, "sequences of tokens";
    /// Sequences of frames.
    Recordings(Recordings, Recordings): recordings, "recordings";
    /// Images.
    Images(Images, Images): images, "images";
}

impl Data<'_> {
    /// Labels of rows or tokens.
    pub(super) fn classes(self) -> usize {
        match self {
            Data::Rows(data) => data.labels.classes.len(),
            Data::Sequences(data) => data.classes.len(),
            Data::Recordings(data) => data.labels.classes.len(),
            Data::Images(_) => 0,
        }
    }

    /// Products that one plain look at the losses of all examples takes, roughly: outputs of a row, and
    /// what leads from each label of a sequence to the next.
    pub(super) fn products(self) -> usize {
        match self {
            Data::Rows(data) => {
                let classes = data.labels.classes.len();
                data.features.entries() * if classes > 2 { classes } else { 1 }
            }
            Data::Sequences(data) => {
                let classes = data.classes.len().max(1);
                (data.tokens.entries() + data.tokens.rows() * classes) * classes
            }
            Data::Recordings(data) => data.frames.entries(),
            Data::Images(data) => data.pixels(),
        }
    }

    /// Number of examples: rows, sequences or images.
    pub fn examples(self) -> usize {
        match self {
            Data::Rows(data) => data.features.rows(),
            Data::Sequences(data) => data.len(),
            Data::Recordings(data) => data.len(),
            Data::Images(data) => data.len(),
        }
    }
}

/// How data is read: its kind, and what a fitted model that is to predict it knows of it.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'m> {
    /// The kind of data.
    pub kind: DataKind,
    /// Columns of rows or frames that the model knows.
    pub features: Option<usize>,
    /// What the labels of rows are, where the model knows that.
    pub label_kind: Option<LabelKind>,
    /// The attributes of tokens that the model knows.
    pub attributes: Option<&'m Attributes>,
    /// The template that makes them of columns.
    pub template: Option<&'m Template>,
}

impl From<DataKind> for Reading<'_> {
    fn from(kind: DataKind) -> Self {
        Reading { kind, features: None, label_kind: None, attributes: None, template: None }
    }
}

/// What data for a fitted model is read for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Purpose {
    /// Whether predictions are compared with labels, so that images must have some.
    pub needs_labels: bool,
    /// Whether the lines of tokens are kept.
    pub keeps_lines: bool,
}

/// Reads data to train a model on: the files, and rows without labels where a file of such is
/// among the settings.
pub fn read_training(settings: &Settings, files: &[PathBuf]) -> Result<OwnedData, ReadError> {
    let data = read(settings.entry().data(settings), settings, files, true)?;
    let (OwnedData::Rows(rows), Some(path)) = (&data, settings.file("unlabeled")) else {
        return Ok(data);
    };
    // A dense table must have the same columns; sparse rows may have others.
    let options = ReadOptions {
        for_prediction: true,
        model_features: (!rows.features.is_sparse()).then_some(rows.features.cols()),
        ..options_of_rows(settings)
    };
    let name = path.display().to_string();
    let more = minorant_data::read(&[path], &options)?;
    rows.with_unlabelled(&more)
        .map(OwnedData::Rows)
        .map_err(|why| ReadError::whole(&name, "rows that fit those with labels", why.to_string()))
}

/// The weights of the examples in files, which caches may have: of all of them, or of none.
pub fn weights_in(files: &[PathBuf]) -> Result<Option<Vec<f64>>, ReadError> {
    let mut weights: Vec<f64> = Vec::new();
    let mut lacking = None;
    for path in files {
        // A pipe gives its bytes only once, and is no cache.
        let found = match path.is_file() && minorant_data::is_cache_at(path)? {
            true => Cache::open(path)?.weights()?,
            false => None,
        };
        match found {
            Some(found) => weights.extend(found),
            None => lacking = Some(path),
        }
    }
    match lacking {
        Some(path) if !weights.is_empty() => {
            let name = path.display().to_string();
            Err(ReadError::whole(&name, "weights of examples, as other files have them", "none"))
        }
        Some(_) => Ok(None),
        None => Ok(Some(weights)),
    }
}

impl Settings {
    /// Takes the weights of the examples from files that have some, unless others are given.
    pub fn take_weights(&mut self, files: &[PathBuf]) -> Result<(), ReadError> {
        let is_taken = self.entry().option(WEIGHTS.spec.name).is_some();
        if is_taken
            && !self.is_given(WEIGHTS.spec.name)
            && let Some(weights) = weights_in(files)?
        {
            self.put(&WEIGHTS, Some(weights));
        }
        Ok(())
    }
}

/// Reads data that models trained on `data` are judged by: with its columns, its kind of labels and its
/// attributes. The number of entries that were left out because the models do not know their columns
/// comes along.
pub fn read_validation(
    data: Data<'_>,
    settings: &Settings,
    files: &[PathBuf],
) -> Result<(OwnedData, usize), ReadError> {
    let kind = settings.entry().data(settings);
    let purpose = Purpose { needs_labels: true, keeps_lines: false };
    let reading = match data {
        Data::Rows(rows) => {
            let (features, label_kind) = (Some(rows.features.cols()), rows.labels.kind());
            Reading { features, label_kind, ..kind.into() }
        }
        Data::Sequences(known) => {
            let (attributes, template) = (Some(&known.attributes), known.template.as_ref());
            Reading { attributes, template, ..kind.into() }
        }
        Data::Recordings(_) | Data::Images(_) => kind.into(),
    };
    read_for(reading, settings, files, purpose)
}

/// Reads data of a kind; images may come without labels where these are not needed.
pub fn read(
    kind: DataKind,
    settings: &Settings,
    files: &[PathBuf],
    needs_labels: bool,
) -> Result<OwnedData, ReadError> {
    let purpose = Purpose { needs_labels, keeps_lines: false };
    Ok(read_for(kind.into(), settings, files, purpose)?.0)
}

/// Reads data, with the number of entries that were left out because the model that it is for does
/// not know their columns.
pub(super) fn read_for(
    reading: Reading<'_>,
    settings: &Settings,
    files: &[PathBuf],
    purpose: Purpose,
) -> Result<(OwnedData, usize), ReadError> {
    let data = match reading.kind {
        DataKind::Rows => {
            let options = ReadOptions {
                for_prediction: reading.features.is_some(),
                model_features: reading.features,
                label_kind: reading.label_kind.or_else(|| label_kind(settings)),
                ..options_of_rows(settings)
            };
            let (data, dropped) = minorant_data::read_for_model(files, &options)?;
            return Ok((OwnedData::Rows(data), dropped));
        }
        DataKind::Sequences => {
            let mut options = options_of_sequences(settings)?;
            if let Some(attributes) = reading.attributes {
                options.known = Some(attributes.clone());
                options.template = reading.template.cloned();
            }
            options.keep_lines = purpose.keeps_lines;
            OwnedData::Sequences(minorant_data::read_sequences(files, &options)?)
        }
        DataKind::Recordings(labelled_by) => {
            let (model_features, storage) = (reading.features, storage(settings));
            let options = RecordingOptions { labelled_by, model_features, storage };
            OwnedData::Recordings(minorant_data::read_recordings(files, &options)?)
        }
        DataKind::Plates => OwnedData::Images(Images::read_plates(files, purpose.needs_labels)?),
        DataKind::Parts => OwnedData::Images(Images::read_parts(files, purpose.needs_labels)?),
    };
    Ok((data, 0))
}

/// Reads the data of an audit: rows just as training read them, so that nothing is left out, and
/// everything else as for predictions that are compared with labels.
pub(super) fn read_for_audit(
    reading: Reading<'_>,
    settings: &Settings,
    files: &[PathBuf],
) -> Result<OwnedData, ReadError> {
    let features = reading.features.filter(|_| reading.kind != DataKind::Rows);
    let purpose = Purpose { needs_labels: true, keeps_lines: false };
    Ok(read_for(Reading { features, ..reading }, settings, files, purpose)?.0)
}

/// What the labels are, where the settings say so.
pub(crate) fn label_kind(settings: &Settings) -> Option<LabelKind> {
    if settings.entry().model.takes_targets {
        return Some(LabelKind::Targets);
    }
    settings.get(&LABELS)
}

fn storage(settings: &Settings) -> Storage {
    settings.get(&STORAGE).unwrap_or_default()
}

/// How rows are read.
pub fn options_of_rows(settings: &Settings) -> ReadOptions {
    ReadOptions {
        label_kind: label_kind(settings),
        storage: storage(settings),
        features: settings.get(&FEATURES),
        zero_based: settings.get(&ZERO_BASED),
        label_column: settings.get(&LABEL_COLUMN),
        label_xml: settings.get(&LABEL_XML),
        format: settings.get(&FORMAT_OF_ROWS),
        for_prediction: false,
        model_features: None,
        rows_in_memory: rows_in_memory(settings),
    }
}

/// How sequences are read.
pub fn options_of_sequences(settings: &Settings) -> Result<SequenceOptions, ReadError> {
    let template = settings.get(&TEMPLATE).map(|path| {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(&path)
            .map_err(|why| ReadError::whole(&name, "a template", why.to_string()))?;
        Template::parse(&name, &text)
    });
    let folds = settings.get(&FOLDS);
    Ok(SequenceOptions {
        format: settings.get(&FORMAT_OF_SEQUENCES),
        template: template.transpose()?,
        min_count: settings.get(&MIN_COUNT),
        hash_bits: settings.get(&HASH_BITS),
        folds: folds.map(|folds| folds.into_iter().map(|fold| fold as u32).collect()),
        known: None,
        keep_lines: false,
        storage: storage(settings),
        rows_in_memory: rows_in_memory(settings),
    })
}
