//! Data files on the command line, and how to read them.

use anyhow::Context;
use clap::{Args, ValueEnum};
use minorant::data::{
    Arrays, Dataset, Format, LabelKind, LabelledBy, ReadOptions, SequenceFormat, SequenceOptions,
    Sequences, Template, recordings_in,
};
use minorant::linalg::Storage;
use minorant::model::SequenceModel;
use std::path::{Path, PathBuf};

/// Which files to read, and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct DataArgs {
    /// Data files; several are read as one (a label file goes right behind its features)
    #[arg(required = true, value_name = "DATA")]
    pub(crate) files: Vec<PathBuf>,
    /// What the labels are, if not by their look
    #[arg(long, value_name = "KIND", help_heading = "Reading data")]
    pub(crate) labels: Option<LabelsArg>,
    /// The files' format, if not by their content
    #[arg(long, value_name = "FORMAT", help_heading = "Reading data")]
    format: Option<FormatArg>,
    /// LIBSVM: indices count from 0
    #[arg(long, help_heading = "Reading data")]
    zero_based: bool,
    /// At least this many columns; allows indices up to it
    #[arg(long, value_name = "D", help_heading = "Reading data")]
    features: Option<usize>,
    /// CSV: the label column by name or number from 1, or `none`
    #[arg(long, value_name = "COLUMN", help_heading = "Reading data")]
    label_column: Option<String>,
    /// ARFF: the XML file that names the labels
    #[arg(long, value_name = "FILE", help_heading = "Reading data")]
    label_xml: Option<PathBuf>,
    /// CoNLL: how columns become attributes, one a line, with `%x[row,column]` for cells
    #[arg(long, value_name = "FILE", help_heading = "Reading sequences")]
    template: Option<PathBuf>,
    /// Leave out attributes that occur less often
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Reading sequences")]
    min_count: u64,
    /// Number attributes by a hash of this many bits instead of a dictionary
    #[arg(long, value_name = "N", help_heading = "Reading sequences")]
    hash_bits: Option<u32>,
    /// OCR letters: only these folds, such as 0-7 or 8,9
    #[arg(long, value_name = "FOLDS", value_parser = parse_folds, help_heading = "Reading sequences")]
    folds: Option<Folds>,
    /// Precision of the stored values (default: f32 where that is exact, else f64)
    #[arg(long, value_name = "TYPE", help_heading = "Reading data")]
    storage: Option<StorageArg>,
}

/// What the labels are.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LabelsArg {
    /// Two classes
    Binary,
    /// Several classes, one a row
    Multiclass,
    /// Sets of classes
    Multilabel,
}

impl LabelsArg {
    pub(crate) fn kind(self) -> LabelKind {
        match self {
            LabelsArg::Binary => LabelKind::Binary,
            LabelsArg::Multiclass => LabelKind::Multiclass,
            LabelsArg::Multilabel => LabelKind::Multilabel,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormatArg {
    Libsvm,
    Csv,
    Npy,
    Npz,
    Arff,
    Idx,
    Conll,
    Crfsuite,
    Ocr,
}

/// Folds of the OCR letters.
#[derive(Debug, Clone)]
struct Folds(Vec<u32>);

fn parse_folds(text: &str) -> Result<Folds, String> {
    let wrong = || format!("expected folds such as 0-7 or 8,9, found '{text}'");
    let mut folds = Vec::new();
    for range in text.split(',') {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
        let (from, to) = (number(from)?, number(to)?);
        if from > to || to - from > 10_000 {
            return Err(wrong());
        }
        folds.extend(from..=to);
    }
    Ok(Folds(folds))
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum StorageArg {
    F32,
    F64,
}

/// What files hold.
pub(crate) enum DataKind {
    Rows,
    Sequences,
    Recordings(LabelledBy),
    Plates,
    Parts,
}

impl DataArgs {
    /// Whether anything was typed that has to do with sequences only.
    fn asks_for_sequences(&self) -> bool {
        matches!(self.format, Some(FormatArg::Conll | FormatArg::Crfsuite | FormatArg::Ocr))
            || self.template.is_some()
            || self.hash_bits.is_some()
            || self.folds.is_some()
            || self.min_count != 1
    }

    /// Refuses what has to do with sequences only.
    pub(crate) fn refuse_sequences(&self) -> anyhow::Result<()> {
        let given = self.asks_for_sequences();
        anyhow::ensure!(!given, "options for reading sequences go with chain-svm and chain-crf");
        Ok(())
    }

    /// What the files hold, by what was typed and by the arrays of the first file.
    pub(crate) fn kind(&self) -> DataKind {
        if self.asks_for_sequences() {
            return DataKind::Sequences;
        }
        // A pipe gives its bytes only once.
        let archive = self.files.first().filter(|path| path.is_file());
        let Some((path, arrays)) = archive.and_then(|path| Some((path, Arrays::open(path).ok()?)))
        else {
            return DataKind::Rows;
        };
        match (arrays.has("pixels"), arrays.has("values") && arrays.has("offsets")) {
            (true, _) if arrays.has("widths") => DataKind::Plates,
            (true, _) if arrays.has("parents") => DataKind::Parts,
            (_, true) => recordings_in(path).map_or(DataKind::Sequences, DataKind::Recordings),
            _ => DataKind::Rows,
        }
    }

    /// The library's options for reading sequences.
    pub(crate) fn sequence_options(&self) -> anyhow::Result<SequenceOptions> {
        let format = match self.format {
            None => None,
            Some(FormatArg::Conll) => Some(SequenceFormat::Conll),
            Some(FormatArg::Crfsuite) => Some(SequenceFormat::Crfsuite),
            Some(FormatArg::Ocr) => Some(SequenceFormat::Ocr),
            Some(FormatArg::Npz) => Some(SequenceFormat::Npz),
            Some(_) => anyhow::bail!("sequences have the format conll, crfsuite, ocr or npz"),
        };
        if let Some(bits) = self.hash_bits {
            anyhow::ensure!(
                (1..=28).contains(&bits),
                "--hash-bits must be from 1 to 28, not {bits}"
            );
            anyhow::ensure!(
                self.min_count == 1,
                "--min-count goes with a dictionary, not with --hash-bits"
            );
        }
        let template = match &self.template {
            None => None,
            Some(path) => {
                let name = path.display().to_string();
                let text = std::fs::read_to_string(path).with_context(|| name.clone())?;
                Some(Template::parse(&name, &text)?)
            }
        };
        Ok(SequenceOptions {
            format,
            template,
            min_count: self.min_count,
            hash_bits: self.hash_bits,
            folds: self.folds.as_ref().map(|folds| folds.0.clone()),
            known: None,
            keep_lines: false,
            storage: self.stored(),
        })
    }

    /// Reads sequences for a model that knows its attributes.
    pub(crate) fn read_sequences_for(
        &self,
        model: &dyn SequenceModel,
        keep_lines: bool,
    ) -> anyhow::Result<Sequences> {
        let options = SequenceOptions {
            known: Some(model.attributes().clone()),
            template: model.template().cloned(),
            keep_lines,
            ..self.sequence_options()?
        };
        Ok(minorant::data::read_sequences(&self.files, &options)?)
    }

    /// Refuses other formats than NPZ, and what has to do with reading them.
    pub(crate) fn refuse_all_but_npz(&self, what: &str) -> anyhow::Result<()> {
        anyhow::ensure!(
            matches!(self.format, None | Some(FormatArg::Npz)),
            "{what} have the format npz"
        );
        let given = self.template.is_some()
            || self.hash_bits.is_some()
            || self.folds.is_some()
            || self.min_count != 1
            || self.zero_based
            || self.features.is_some()
            || self.label_column.is_some()
            || self.label_xml.is_some();
        anyhow::ensure!(!given, "{what} are read from NPZ files, which need none of these options");
        Ok(())
    }

    pub(super) fn stored(&self) -> Storage {
        match self.storage {
            None => Storage::Exact,
            Some(StorageArg::F32) => Storage::F32,
            Some(StorageArg::F64) => Storage::F64,
        }
    }

    /// The library's options for reading.
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions {
            label_kind: self.labels.map(LabelsArg::kind),
            storage: self.stored(),
            features: self.features,
            zero_based: self.zero_based,
            label_column: self.label_column.clone(),
            label_xml: self.label_xml.clone(),
            format: self.format.and_then(|format| match format {
                FormatArg::Libsvm => Some(Format::Libsvm),
                FormatArg::Csv => Some(Format::Csv),
                FormatArg::Npy => Some(Format::Npy),
                FormatArg::Npz => Some(Format::Npz),
                FormatArg::Arff => Some(Format::Arff),
                FormatArg::Idx => Some(Format::Idx),
                FormatArg::Conll | FormatArg::Crfsuite | FormatArg::Ocr => None,
            }),
            for_prediction: false,
            model_features: None,
        }
    }

    /// Reads the files.
    pub(crate) fn read(&self) -> anyhow::Result<Dataset<'static>> {
        self.refuse_sequences()?;
        Ok(minorant::data::read(&self.files, &self.options())?)
    }

    /// Reads a file whose labels, if any, do not count, to go with data that is read already.
    pub(crate) fn read_unlabelled(
        &self,
        path: &Path,
        data: &Dataset<'_>,
    ) -> anyhow::Result<Dataset<'static>> {
        // A dense table must have the same columns; sparse rows may have others.
        let columns = data.features.cols();
        let options = ReadOptions {
            for_prediction: true,
            model_features: (!data.features.is_sparse()).then_some(columns),
            ..self.options()
        };
        Ok(minorant::data::read(&[path.to_path_buf()], &options)?)
    }

    /// Reads the files for a model of so many columns to predict; the number is that of the entries which were left
    /// out because the model does not know their columns.
    pub(crate) fn read_for(
        &self,
        features: usize,
        is_multilabel: bool,
    ) -> anyhow::Result<(Dataset<'static>, usize)> {
        self.refuse_sequences()?;
        let mut options =
            ReadOptions { for_prediction: true, model_features: Some(features), ..self.options() };
        if is_multilabel {
            options.label_kind = Some(LabelKind::Multilabel);
        }
        Ok(minorant::data::read_for_model(&self.files, &options)?)
    }
}
