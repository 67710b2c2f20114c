//! Data files on the command line, and how to read them.

use clap::{Args, ValueEnum};
use minorant::data::{Dataset, Format, LabelKind, ReadOptions};
use minorant::linalg::Storage;
use minorant::model::{FittedModel, TaskName};
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
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum StorageArg {
    F32,
    F64,
}

impl DataArgs {
    /// The library's options for reading.
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions {
            label_kind: self.labels.map(LabelsArg::kind),
            storage: match self.storage {
                None => Storage::Exact,
                Some(StorageArg::F32) => Storage::F32,
                Some(StorageArg::F64) => Storage::F64,
            },
            features: self.features,
            zero_based: self.zero_based,
            label_column: self.label_column.clone(),
            label_xml: self.label_xml.clone(),
            format: self.format.map(|format| match format {
                FormatArg::Libsvm => Format::Libsvm,
                FormatArg::Csv => Format::Csv,
                FormatArg::Npy => Format::Npy,
                FormatArg::Npz => Format::Npz,
                FormatArg::Arff => Format::Arff,
                FormatArg::Idx => Format::Idx,
            }),
            for_prediction: false,
            model_features: None,
        }
    }

    /// Reads the files.
    pub(crate) fn read(&self) -> anyhow::Result<Dataset<'static>> {
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

    /// Reads the files for a model to predict; the number is that of the entries which were left
    /// out because the model does not know their columns.
    pub(crate) fn read_for(
        &self,
        model: &FittedModel,
    ) -> anyhow::Result<(Dataset<'static>, usize)> {
        let mut options = ReadOptions {
            for_prediction: true,
            model_features: Some(model.features),
            ..self.options()
        };
        if model.task == TaskName::Multilabel {
            options.label_kind = Some(LabelKind::Multilabel);
        }
        Ok(minorant::data::read_for_model(&self.files, &options)?)
    }
}
