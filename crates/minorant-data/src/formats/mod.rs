//! One file per format, and a few shared by several. A format turns bytes into pieces of rows, or
//! refuses them; joining pieces is `collect`'s work, and finding out which format a file has is
//! `detect`'s.

pub(crate) mod arff;
mod arff_head;
pub(crate) mod array_labels;
pub(crate) mod binary;
mod cells;
pub(crate) mod csv;
pub(crate) mod idx;
pub(crate) mod label_xml;
pub(crate) mod libsvm;
pub(crate) mod npy;
pub(crate) mod npy_header;
pub(crate) mod npz;
mod scipy;
