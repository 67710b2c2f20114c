//! The options for reading data files, by the kind of data that a family is trained on. They are
//! the same for every verb that reads data.

use super::{Effect, Group, Key, Kind, OptionSpec, Probe, Taken, option};
use std::path::PathBuf;

const fn reading(
    name: &'static str,
    value_name: &'static str,
    kind: Kind,
    help: &'static str,
) -> OptionSpec {
    option(name, value_name, kind, help).group(Group::Reading).effect(Effect::Data)
}

/// What labels are.
pub static LABELS: Key<Option<String>> = reading(
    "labels",
    "KIND",
    Kind::Choice(&[
        ("binary", "two classes"),
        ("multiclass", "one of several classes a row"),
        ("multilabel", "a set of classes a row"),
    ]),
    "What the labels are",
)
.otherwise("by their look")
// Two classes may be one binary problem or two outputs, which changes the iterates as well.
.effect(Effect::Iterates)
.probe(Probe::value("multiclass"))
.key();

const FORMATS_OF_ROWS: Kind = Kind::Choice(&[
    ("libsvm", "LIBSVM or SVMlight text"),
    ("csv", "text tables"),
    ("npy", "a NumPy array"),
    ("npz", "NumPy archives, also of SciPy sparse matrices"),
    ("arff", "Weka's format, with Mulan's label file"),
    ("idx", "the MNIST files' format"),
]);

const FORMATS_OF_SEQUENCES: Kind = Kind::Choice(&[
    ("conll", "columns, one token a line"),
    ("crfsuite", "a label and attributes, separated by tabs"),
    ("ocr", "the OCR letters"),
    ("npz", "NumPy archives with values, offsets and labels"),
]);

const fn format(kind: Kind, probe: Probe) -> Key<Option<String>> {
    reading("format", "FORMAT", kind, "The files' format")
        .otherwise("by content")
        .probe(probe)
        .key()
}

/// The format of rows.
pub static FORMAT_OF_ROWS: Key<Option<String>> =
    format(FORMATS_OF_ROWS, Probe::on("table.svm", "csv"));
/// The format of sequences.
pub static FORMAT_OF_SEQUENCES: Key<Option<String>> =
    format(FORMATS_OF_SEQUENCES, Probe::on("tabs.txt", "crfsuite"));

/// Indices that count from 0.
pub static ZERO_BASED: Key<bool> =
    reading("zero-based", "", Kind::Flag, "LIBSVM: indices count from 0")
        .default("false")
        .probe(Probe::on("zero-based.svm", ""))
        .key();

/// The least number of columns.
pub static FEATURES: Key<Option<usize>> = reading(
    "features",
    "D",
    Kind::Whole(1, u64::MAX),
    "At least this many columns; allows indices up to it",
)
.probe(Probe::value("40"))
.key();

/// The column of a table that holds the labels.
pub static LABEL_COLUMN: Key<Option<String>> = reading(
    "label-column",
    "COLUMN",
    Kind::Text(|_| Ok(())),
    "CSV: the label column by name or number from 1, or `none`",
)
.otherwise("a column named as a label, else the last")
.probe(Probe::on("table.csv", "1"))
.key();

/// The file that names the labels.
pub static LABEL_XML: Key<Option<PathBuf>> =
    reading("label-xml", "FILE", Kind::File, "ARFF: the XML file that names the labels")
        .probe(Probe::on("sets.arff", "{FILE}"))
        .key();

/// The precision of the stored values.
pub static STORAGE: Key<Option<String>> = reading(
    "storage",
    "TYPE",
    Kind::Choice(&[("f32", "single precision"), ("f64", "double precision")]),
    "Precision of the stored values",
)
.otherwise("f32 where that is exact, else f64")
.probe(Probe::value("f32"))
.key();

/// How columns become attributes.
pub static TEMPLATE: Key<Option<PathBuf>> = reading(
    "template",
    "FILE",
    Kind::File,
    "CoNLL: how columns become attributes, one a line, with `%x[row,column]` for cells",
)
.otherwise("a common one")
.probe(Probe::on("chunks.conll", "{FILE}"))
.key();

/// How often an attribute must occur to be kept.
pub static MIN_COUNT: Key<u64> = reading(
    "min-count",
    "N",
    Kind::Whole(1, u64::MAX),
    "Leave out attributes that occur less often",
)
.default("1")
.needs(&[super::Need::NotGiven("hash-bits")])
.probe(Probe::on("chunks.conll", "3"))
.key();

/// The number of bits by which attributes are hashed.
pub static HASH_BITS: Key<Option<u32>> = reading(
    "hash-bits",
    "N",
    Kind::Whole(1, 28),
    "Number attributes by a hash of this many bits instead of a dictionary",
)
.probe(Probe::on("chunks.conll", "4"))
.key();

/// The folds of the OCR letters that are read.
pub static FOLDS: Key<Option<Vec<u64>>> =
    reading("folds", "FOLDS", Kind::Ranges, "OCR letters: only these folds, such as 0-7 or 8,9")
        .otherwise("all")
        .probe(Probe::on("letters.data", "0-1"))
        .key();

/// The file of rows without labels.
pub static UNLABELED: Key<Option<PathBuf>> = reading(
    "unlabeled",
    "FILE",
    Kind::File,
    "A file of rows without labels (labels in it are ignored); rows labelled 0 have none either",
)
.group(Group::Problem)
.probe(Probe::value("{FILE}"))
.key();

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
