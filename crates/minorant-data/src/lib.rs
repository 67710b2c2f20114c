//! Data sets and the readers of tabular files: LIBSVM, CSV, NPY, NPZ, ARFF and IDX, plain or
//! compressed, and caches of them. Every file is treated as hostile: whatever its bytes are, a reader either gives a
//! data set or one sentence that says what is wrong and where, and asks for memory in proportion
//! to what it has read. Sequences have a room of their own. Models and the command line live
//! elsewhere.

mod arrays;
mod cache;
mod collect;
mod compress;
mod dataset;
mod detect;
mod error;
mod formats;
mod images;
mod in_memory;
mod label_table;
mod lists;
mod number;
mod pairing;
mod piece;
mod read;
mod sequences;
mod source;
mod text;
mod values;

pub use arrays::{Array, Arrays, NamedArray, npz_bytes};
pub use cache::{
    Cache, CacheWriter, Converted, Progress, is_cache, is_cache_at, write_cache,
    write_sequence_cache,
};
pub use dataset::{Dataset, Label, LabelKind, LabelRows, Labels};
pub use detect::Format;
pub use error::{Place, ReadError};
pub use images::{Images, PartsImage, Plate, TreeShape};
pub use in_memory::{IntoLabels, Targets};
pub use lists::{read_bounds, read_numbers};
pub use read::{ReadOptions, read, read_bytes, read_bytes_of_files, read_for_model};
pub use sequences::{
    Attributes, LabelledBy, RecordingOptions, Recordings, SequenceFormat, SequenceOptions,
    Sequences, Template, looks_like_attribute_lists, read_recording_bytes, read_recordings,
    read_sequence_bytes, read_sequences, recordings_in,
};
pub use source::CRFSUITE_MODEL;
