//! The options for reading data files, by the kind of data that a family is trained on. They are
//! the same for every verb that reads data.

use super::Kind::{Choice, File, Flag, Ranges, Text, Whole};
use super::{Effect, Group, Named, Need, Probe, Taken, named, options};
use minorant_data::{Format, LabelKind, SequenceFormat};
use minorant_linalg::Storage;
use std::path::PathBuf;

named!(LabelKind {
    Binary = "binary" "two classes",
    Multiclass = "multiclass" "one of several classes a row",
    Multilabel = "multilabel" "a set of classes a row",
    Targets = "targets",
});
named!(Format {
    Libsvm = "libsvm" "LIBSVM or SVMlight text",
    Csv = "csv" "text tables",
    Npy = "npy" "a NumPy array",
    Npz = "npz" "NumPy archives, also of SciPy sparse matrices",
    Arff = "arff" "Weka's format, with Mulan's label file",
    Idx = "idx" "the MNIST files' format",
    Mnt = "mnt" "a cache, as `minorant cache` writes it",
});
named!(SequenceFormat {
    Conll = "conll" "columns, one token a line",
    Crfsuite = "crfsuite" "a label and attributes, separated by tabs",
    Ocr = "ocr" "the OCR letters",
    Npz = "npz" "NumPy archives with values, offsets and labels",
    Mnt = "mnt" "a cache, as `minorant cache` writes it",
});
named!(Storage { F32 = "f32" "single precision", F64 = "f64" "double precision", Exact = "exact" });

options! {
    /// What the labels are
    // Two classes may be one binary problem or two outputs, which changes the iterates as well.
    pub LABELS: Option<LabelKind> = ("labels", "KIND", Choice(LabelKind::CHOICES))
        .otherwise("by their look").group(Group::Reading).effect(Effect::Iterates)
        .probe("multiclass");
    /// The files' format
    pub FORMAT_OF_ROWS: Option<Format> = ("format", "FORMAT", Choice(Format::CHOICES))
        .otherwise("by content").of_reading().probe_on("table.svm", "csv");
    /// The files' format
    pub FORMAT_OF_SEQUENCES: Option<SequenceFormat> =
        ("format", "FORMAT", Choice(SequenceFormat::CHOICES))
        .otherwise("by content").of_reading().probe_on("tabs.txt", "crfsuite");
    /// LIBSVM: indices count from 0
    pub ZERO_BASED: bool = ("zero-based", "", Flag)
        .default("false").of_reading().probe_on("zero-based.svm", "");
    /// At least this many columns; allows indices up to it
    pub FEATURES: Option<usize> = ("features", "D", Whole(1, u64::MAX)).of_reading().probe("40");
    /// CSV: the label column by name or number from 1, or `none`
    pub LABEL_COLUMN: Option<String> = ("label-column", "COLUMN", Text(|_| Ok(())))
        .otherwise("a column named as a label, else the last").of_reading()
        .probe_on("table.csv", "1");
    /// ARFF: the XML file that names the labels
    pub LABEL_XML: Option<PathBuf> = ("label-xml", "FILE", File)
        .of_reading().probe_on("sets.arff", "{FILE}");
    /// Precision of the stored values
    pub STORAGE: Option<Storage> = ("storage", "TYPE", Choice(Storage::CHOICES))
        .otherwise("f32 where that is exact, else f64").of_reading().probe("f32");
    /// CoNLL: how columns become attributes, one a line, with `%x[row,column]` for cells
    pub TEMPLATE: Option<PathBuf> = ("template", "FILE", File)
        .otherwise("a common one").of_reading().probe_on("chunks.conll", "{FILE}");
    /// Leave out attributes that occur less often
    pub MIN_COUNT: u64 = ("min-count", "N", Whole(1, u64::MAX))
        .default("1").of_reading().needs(&[Need::NotGiven("hash-bits")])
        .probe_on("chunks.conll", "3");
    /// Number attributes by a hash of this many bits instead of a dictionary
    pub HASH_BITS: Option<u32> = ("hash-bits", "N", Whole(1, 28))
        .of_reading().probe_on("chunks.conll", "4");
    /// OCR letters: only these folds, such as 0-7 or 8,9
    pub FOLDS: Option<Vec<u64>> = ("folds", "FOLDS", Ranges)
        .otherwise("all").of_reading().probe_on("letters.data", "0-1");
    /// A file of rows without labels (labels in it are ignored); rows labelled 0 have none either
    pub UNLABELED: Option<PathBuf> = ("unlabeled", "FILE", File)
        .effect(Effect::Data).probe("{FILE}");
}

/// The options for reading rows of features.
pub static ROWS: &[Taken] = &[
    Taken::by_all(&FORMAT_OF_ROWS.spec),
    Taken::by_all(&ZERO_BASED.spec),
    Taken::by_all(&FEATURES.spec),
    Taken::by_all(&LABEL_COLUMN.spec),
    Taken::by_all(&STORAGE.spec),
];

/// The options for reading sequences of tokens.
pub static SEQUENCES: &[Taken] = &[
    Taken::by_all(&FORMAT_OF_SEQUENCES.spec),
    Taken::by_all(&TEMPLATE.spec),
    Taken::by_all(&MIN_COUNT.spec),
    Taken::by_all(&HASH_BITS.spec),
    Taken::by_all(&FOLDS.spec),
    Taken::by_all(&STORAGE.spec).probed(Probe::on("values.npz", "f32")),
];

/// The options for reading recordings, which come in NPZ archives.
pub static RECORDINGS: &[Taken] = &[Taken::by_all(&STORAGE.spec)];
