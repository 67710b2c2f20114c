//! Data of any kind: what a family is trained on and predicts, how it is read from files, and its
//! fingerprint. The readers themselves are `minorant-data`'s.

use super::{Form, Settings};
use crate::fingerprint::Fingerprint;
use crate::options::reading::{
    FEATURES, FOLDS, FORMAT_OF_ROWS, FORMAT_OF_SEQUENCES, HASH_BITS, LABEL_COLUMN, LABEL_XML,
    LABELS, MIN_COUNT, STORAGE, TEMPLATE, ZERO_BASED,
};
use minorant_data::{
    Attributes, Dataset, Format, Images, LabelKind, LabelledBy, ReadError, ReadOptions,
    RecordingOptions, Recordings, SequenceFormat, SequenceOptions, Sequences, Template,
};
use minorant_linalg::Storage;
use std::path::{Path, PathBuf};

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

/// Data to train on or to predict.
#[derive(Debug, Clone, Copy)]
pub enum Data<'a> {
    /// Rows of features.
    Rows(&'a Dataset<'a>),
    /// Sequences of tokens.
    Sequences(&'a Sequences),
    /// Sequences of frames.
    Recordings(&'a Recordings),
    /// Images.
    Images(&'a Images),
}

/// Data that was read.
#[derive(Debug, Clone)]
pub enum OwnedData {
    /// Rows of features.
    Rows(Dataset<'static>),
    /// Sequences of tokens.
    Sequences(Sequences),
    /// Sequences of frames.
    Recordings(Recordings),
    /// Images.
    Images(Images),
}

impl OwnedData {
    /// The data, borrowed.
    pub fn view(&self) -> Data<'_> {
        match self {
            OwnedData::Rows(data) => Data::Rows(data),
            OwnedData::Sequences(data) => Data::Sequences(data),
            OwnedData::Recordings(data) => Data::Recordings(data),
            OwnedData::Images(data) => Data::Images(data),
        }
    }
}

macro_rules! borrowed {
    ($($name:ident: $type:ty),+) => {$(
        impl<'a> From<&'a $type> for Data<'a> {
            fn from(data: &'a $type) -> Self {
                Data::$name(data)
            }
        }
    )+};
}

borrowed!(Rows: Dataset<'_>, Sequences: Sequences, Recordings: Recordings, Images: Images);

impl<'a> Data<'a> {
    /// Number of examples: rows, sequences or images.
    pub fn examples(self) -> usize {
        match self {
            Data::Rows(data) => data.features.rows(),
            Data::Sequences(data) => data.len(),
            Data::Recordings(data) => data.len(),
            Data::Images(data) => data.len(),
        }
    }

    /// What one example is called.
    pub fn example(self) -> &'static str {
        match self {
            Data::Rows(_) => "row",
            Data::Sequences(_) | Data::Recordings(_) => "sequence",
            Data::Images(_) => "image",
        }
    }

    /// The rows, or a sentence that tells what was expected instead of other data.
    pub fn rows(self) -> Result<&'a Dataset<'a>, String> {
        match self {
            Data::Rows(data) => Ok(data),
            other => Err(other.instead_of("rows of features")),
        }
    }

    /// The sequences of tokens.
    pub fn sequences(self) -> Result<&'a Sequences, String> {
        match self {
            Data::Sequences(data) => Ok(data),
            other => Err(other.instead_of("sequences of tokens")),
        }
    }

    /// The recordings.
    pub fn recordings(self) -> Result<&'a Recordings, String> {
        match self {
            Data::Recordings(data) => Ok(data),
            other => Err(other.instead_of("recordings")),
        }
    }

    /// The images.
    pub fn images(self) -> Result<&'a Images, String> {
        match self {
            Data::Images(data) => Ok(data),
            other => Err(other.instead_of("images")),
        }
    }

    fn instead_of(self, expected: &str) -> String {
        let found = match self {
            Data::Rows(_) => "rows of features",
            Data::Sequences(_) => "sequences of tokens",
            Data::Recordings(_) => "recordings",
            Data::Images(_) => "images",
        };
        format!("expected {expected}, found {found}")
    }
}

impl Fingerprint for Data<'_> {
    fn sha256_with(&self, example_weights: Option<&[f64]>) -> String {
        match self {
            Data::Rows(data) => data.sha256_with(example_weights),
            Data::Sequences(data) => data.sha256_with(example_weights),
            Data::Recordings(data) => data.sha256_with(example_weights),
            Data::Images(data) => data.sha256_with(example_weights),
        }
    }
}

/// What a fitted model asks of data that it is to predict.
#[derive(Debug, Clone, Copy)]
pub enum Reading<'m> {
    /// Rows of so many features.
    Rows {
        /// Columns that the model knows.
        features: usize,
        /// Whether labels are sets.
        is_multilabel: bool,
    },
    /// Sequences with these attributes.
    Sequences {
        /// The attributes that the model knows.
        attributes: &'m Attributes,
        /// The template that makes them of columns.
        template: Option<&'m Template>,
    },
    /// Recordings of so many features.
    Recordings {
        /// What has a label.
        labelled_by: LabelledBy,
        /// Numbers in a frame.
        features: usize,
    },
    /// Images to cut into characters.
    Plates,
    /// Images to find parts of objects in.
    Parts,
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
    let data = read(settings.entry().family.data(settings), settings, files, true)?;
    let unlabelled = settings.file("unlabeled");
    match (data, unlabelled) {
        (OwnedData::Rows(data), Some(path)) => {
            let more = read_unlabelled(settings, &path, &data)?;
            let name = path.display().to_string();
            let both = data.with_unlabelled(&more);
            let wrong = |why: minorant_linalg::MatrixError| {
                ReadError::whole(&name, "rows that fit those with labels", why.to_string())
            };
            both.map(OwnedData::Rows).map_err(wrong)
        }
        (data, _) => Ok(data),
    }
}

/// Reads data of a kind; images may come without labels where these are not needed.
pub fn read(
    kind: DataKind,
    settings: &Settings,
    files: &[PathBuf],
    needs_labels: bool,
) -> Result<OwnedData, ReadError> {
    Ok(match kind {
        DataKind::Rows => OwnedData::Rows(minorant_data::read(files, &options_of_rows(settings))?),
        DataKind::Sequences => {
            let options = options_of_sequences(settings)?;
            OwnedData::Sequences(minorant_data::read_sequences(files, &options)?)
        }
        DataKind::Recordings(labelled_by) => {
            let storage = storage(settings);
            let options = RecordingOptions { labelled_by, model_features: None, storage };
            OwnedData::Recordings(minorant_data::read_recordings(files, &options)?)
        }
        DataKind::Plates => OwnedData::Images(Images::read_plates(files, needs_labels)?),
        DataKind::Parts => OwnedData::Images(Images::read_parts(files, needs_labels)?),
    })
}

/// Reads data for a fitted model, with the number of entries that were left out because the model
/// does not know their columns.
pub fn read_for(
    form: &dyn Form,
    settings: &Settings,
    files: &[PathBuf],
    purpose: Purpose,
) -> Result<(OwnedData, usize), ReadError> {
    Ok(match form.reading() {
        Reading::Rows { features, is_multilabel } => {
            let mut options = ReadOptions {
                for_prediction: true,
                model_features: Some(features),
                ..options_of_rows(settings)
            };
            if is_multilabel {
                options.label_kind = Some(LabelKind::Multilabel);
            }
            let (data, dropped) = minorant_data::read_for_model(files, &options)?;
            (OwnedData::Rows(data), dropped)
        }
        Reading::Sequences { attributes, template } => {
            let options = SequenceOptions {
                known: Some(attributes.clone()),
                template: template.cloned(),
                keep_lines: purpose.keeps_lines,
                ..options_of_sequences(settings)?
            };
            (OwnedData::Sequences(minorant_data::read_sequences(files, &options)?), 0)
        }
        Reading::Recordings { labelled_by, features } => {
            let storage = storage(settings);
            let options = RecordingOptions { labelled_by, model_features: Some(features), storage };
            (OwnedData::Recordings(minorant_data::read_recordings(files, &options)?), 0)
        }
        Reading::Plates => {
            (OwnedData::Images(Images::read_plates(files, purpose.needs_labels)?), 0)
        }
        Reading::Parts => (OwnedData::Images(Images::read_parts(files, purpose.needs_labels)?), 0),
    })
}

/// Reads the data of an audit: rows just as training read them, so that nothing is left out, and
/// everything else as for predictions that are compared with labels.
pub(super) fn read_for_audit(
    form: &dyn Form,
    settings: &Settings,
    files: &[PathBuf],
) -> Result<OwnedData, ReadError> {
    if let Reading::Rows { is_multilabel, .. } = form.reading() {
        let mut options = options_of_rows(settings);
        if is_multilabel {
            options.label_kind = Some(LabelKind::Multilabel);
        }
        return minorant_data::read(files, &options).map(OwnedData::Rows);
    }
    Ok(read_for(form, settings, files, Purpose { needs_labels: true, keeps_lines: false })?.0)
}

/// Reads a file whose labels, if any, do not count, to go with data that is read already.
fn read_unlabelled(
    settings: &Settings,
    path: &Path,
    data: &Dataset<'_>,
) -> Result<Dataset<'static>, ReadError> {
    // A dense table must have the same columns; sparse rows may have others.
    let columns = data.features.cols();
    let options = ReadOptions {
        for_prediction: true,
        model_features: (!data.features.is_sparse()).then_some(columns),
        ..options_of_rows(settings)
    };
    minorant_data::read(&[path.to_path_buf()], &options)
}

/// What the labels are, where the settings say so.
pub(crate) fn label_kind(settings: &Settings) -> Option<LabelKind> {
    settings.get(&LABELS).map(|kind| match kind.as_str() {
        "binary" => LabelKind::Binary,
        "multiclass" => LabelKind::Multiclass,
        _ => LabelKind::Multilabel,
    })
}

fn storage(settings: &Settings) -> Storage {
    match settings.get(&STORAGE).as_deref() {
        None => Storage::Exact,
        Some("f32") => Storage::F32,
        Some(_) => Storage::F64,
    }
}

/// How rows are read.
pub fn options_of_rows(settings: &Settings) -> ReadOptions {
    let format = settings.get(&FORMAT_OF_ROWS);
    ReadOptions {
        label_kind: label_kind(settings),
        storage: storage(settings),
        features: settings.get(&FEATURES),
        zero_based: settings.get(&ZERO_BASED),
        label_column: settings.get(&LABEL_COLUMN),
        label_xml: settings.get(&LABEL_XML),
        format: format.and_then(|name| Format::from_name(&name)),
        for_prediction: false,
        model_features: None,
    }
}

/// How sequences are read.
pub fn options_of_sequences(settings: &Settings) -> Result<SequenceOptions, ReadError> {
    let template = match settings.get(&TEMPLATE) {
        None => None,
        Some(path) => {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(&path)
                .map_err(|why| ReadError::whole(&name, "a template", why.to_string()))?;
            Some(Template::parse(&name, &text)?)
        }
    };
    let folds = settings.get(&FOLDS);
    let format = settings.get(&FORMAT_OF_SEQUENCES);
    Ok(SequenceOptions {
        format: format.and_then(|name| SequenceFormat::from_name(&name)),
        template,
        min_count: settings.get(&MIN_COUNT),
        hash_bits: settings.get(&HASH_BITS),
        folds: folds.map(|folds| folds.into_iter().map(|fold| fold as u32).collect()),
        known: None,
        keep_lines: false,
        storage: storage(settings),
    })
}
