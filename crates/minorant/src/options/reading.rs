//! The options for reading data files, by the kind of data that a family is trained on. They are
//! the same for every verb that reads data.

use super::{Effect, Group, Key, Kind, OPTION, OptionSpec, Probe, Taken};
use std::path::PathBuf;

const READING: OptionSpec = OptionSpec { group: Group::Reading, effect: Effect::Data, ..OPTION };

/// What labels are.
pub static LABELS: Key<Option<String>> = Key::new(OptionSpec {
    name: "labels",
    value_name: "KIND",
    kind: Kind::Choice(&[
        ("binary", "two classes"),
        ("multiclass", "one of several classes a row"),
        ("multilabel", "a set of classes a row"),
    ]),
    otherwise: "by their look",
    help: "What the labels are",
    // Whether two classes are one problem or two outputs is the model's business, too.
    effect: Effect::Iterates,
    probe: Probe::value("multiclass"),
    ..READING
});

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
    Key::new(OptionSpec {
        name: "format",
        value_name: "FORMAT",
        kind,
        otherwise: "by content",
        help: "The files' format",
        probe,
        ..READING
    })
}

/// The format of rows.
pub static FORMAT_OF_ROWS: Key<Option<String>> =
    format(FORMATS_OF_ROWS, Probe::on("table.svm", "csv"));
/// The format of sequences.
pub static FORMAT_OF_SEQUENCES: Key<Option<String>> =
    format(FORMATS_OF_SEQUENCES, Probe::on("tabs.txt", "crfsuite"));

/// Indices that count from 0.
pub static ZERO_BASED: Key<bool> = Key::new(OptionSpec {
    name: "zero-based",
    default: Some("false"),
    help: "LIBSVM: indices count from 0",
    probe: Probe::on("zero-based.svm", ""),
    ..READING
});

/// Columns at least.
pub static FEATURES: Key<Option<usize>> = Key::new(OptionSpec {
    name: "features",
    value_name: "D",
    kind: Kind::Whole(1, u64::MAX),
    help: "At least this many columns; allows indices up to it",
    probe: Probe::value("40"),
    ..READING
});

/// Where labels stand in a table.
pub static LABEL_COLUMN: Key<Option<String>> = Key::new(OptionSpec {
    name: "label-column",
    value_name: "COLUMN",
    kind: Kind::Text(|_| Ok(())),
    otherwise: "a column named as a label, else the last",
    help: "CSV: the label column by name or number from 1, or `none`",
    probe: Probe::on("table.csv", "1"),
    ..READING
});

/// The names of labels.
pub static LABEL_XML: Key<Option<PathBuf>> = Key::new(OptionSpec {
    name: "label-xml",
    value_name: "FILE",
    kind: Kind::File,
    help: "ARFF: the XML file that names the labels",
    probe: Probe::on("sets.arff", "{FILE}"),
    ..READING
});

/// Precision of stored values.
pub static STORAGE: Key<Option<String>> = Key::new(OptionSpec {
    name: "storage",
    value_name: "TYPE",
    kind: Kind::Choice(&[("f32", "single precision"), ("f64", "double precision")]),
    otherwise: "f32 where that is exact, else f64",
    help: "Precision of the stored values",
    probe: Probe::value("f32"),
    ..READING
});

/// How columns become attributes.
pub static TEMPLATE: Key<Option<PathBuf>> = Key::new(OptionSpec {
    name: "template",
    value_name: "FILE",
    kind: Kind::File,
    otherwise: "a common one",
    help: "CoNLL: how columns become attributes, one a line, with `%x[row,column]` for cells",
    probe: Probe::on("chunks.conll", "{FILE}"),
    ..READING
});

/// Rare attributes.
pub static MIN_COUNT: Key<u64> = Key::new(OptionSpec {
    name: "min-count",
    value_name: "N",
    kind: Kind::Whole(1, u64::MAX),
    default: Some("1"),
    help: "Leave out attributes that occur less often",
    needs: &[super::Need::NotGiven("hash-bits")],
    probe: Probe::on("chunks.conll", "3"),
    ..READING
});

/// Hashed attributes.
pub static HASH_BITS: Key<Option<u32>> = Key::new(OptionSpec {
    name: "hash-bits",
    value_name: "N",
    kind: Kind::Whole(1, 28),
    help: "Number attributes by a hash of this many bits instead of a dictionary",
    probe: Probe::on("chunks.conll", "4"),
    ..READING
});

/// Folds of the OCR letters.
pub static FOLDS: Key<Option<Vec<u64>>> = Key::new(OptionSpec {
    name: "folds",
    value_name: "FOLDS",
    kind: Kind::Ranges,
    otherwise: "all",
    help: "OCR letters: only these folds, such as 0-7 or 8,9",
    probe: Probe::on("letters.data", "0-1"),
    ..READING
});

/// Rows without labels.
pub static UNLABELED: Key<Option<PathBuf>> = Key::new(OptionSpec {
    name: "unlabeled",
    value_name: "FILE",
    kind: Kind::File,
    help: "A file of rows without labels (labels in it are ignored); rows labelled 0 have none either",
    probe: Probe::value("{FILE}"),
    group: Group::Problem,
    ..READING
});

/// For rows of features.
pub static ROWS: &[Taken] = &[
    Taken::by_all(&FORMAT_OF_ROWS.spec),
    Taken::by_all(&ZERO_BASED.spec),
    Taken::by_all(&FEATURES.spec),
    Taken::by_all(&LABEL_COLUMN.spec),
    Taken::by_all(&STORAGE.spec),
];

/// For sequences of tokens.
pub static SEQUENCES: &[Taken] = &[
    Taken::by_all(&FORMAT_OF_SEQUENCES.spec),
    Taken::by_all(&TEMPLATE.spec),
    Taken::by_all(&MIN_COUNT.spec),
    Taken::by_all(&HASH_BITS.spec),
    Taken::by_all(&FOLDS.spec),
    Taken::by_all(&STORAGE.spec).probed(Probe::on("values.npz", "f32")),
];

/// For recordings, which are read from NPZ archives.
pub static RECORDINGS: &[Taken] = &[Taken::by_all(&STORAGE.spec)];
