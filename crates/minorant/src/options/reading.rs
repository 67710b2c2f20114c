//! The options for reading data files, by the kind of data that a family is trained on. They are
//! the same for every verb that reads data.

use super::Kind::{Choice, File, Flag, Ranges, Text, Whole};
use super::{Effect, Group, Kind, Need, Probe, Taken, options};
use std::path::PathBuf;

const LABEL_KINDS: Kind = Choice(&[
    ("binary", "two classes"),
    ("multiclass", "one of several classes a row"),
    ("multilabel", "a set of classes a row"),
]);
const FORMATS_OF_ROWS: Kind = Choice(&[
    ("libsvm", "LIBSVM or SVMlight text"),
    ("csv", "text tables"),
    ("npy", "a NumPy array"),
    ("npz", "NumPy archives, also of SciPy sparse matrices"),
    ("arff", "Weka's format, with Mulan's label file"),
    ("idx", "the MNIST files' format"),
    ("mnt", "a cache, as `minorant cache` writes it"),
]);
const FORMATS_OF_SEQUENCES: Kind = Choice(&[
    ("conll", "columns, one token a line"),
    ("crfsuite", "a label and attributes, separated by tabs"),
    ("ocr", "the OCR letters"),
    ("npz", "NumPy archives with values, offsets and labels"),
    ("mnt", "a cache, as `minorant cache` writes it"),
]);
const PRECISIONS: Kind = Choice(&[("f32", "single precision"), ("f64", "double precision")]);

options! {
    /// What the labels are
    // Two classes may be one binary problem or two outputs, which changes the iterates as well.
    pub LABELS: Option<String> = ("labels", "KIND", LABEL_KINDS)
        .otherwise("by their look").group(Group::Reading).effect(Effect::Iterates)
        .probe("multiclass");
    /// The files' format
    pub FORMAT_OF_ROWS: Option<String> = ("format", "FORMAT", FORMATS_OF_ROWS)
        .otherwise("by content").of_reading().probe_on("table.svm", "csv");
    /// The files' format
    pub FORMAT_OF_SEQUENCES: Option<String> = ("format", "FORMAT", FORMATS_OF_SEQUENCES)
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
    pub STORAGE: Option<String> = ("storage", "TYPE", PRECISIONS)
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
