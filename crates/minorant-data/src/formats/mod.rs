//! One file per format. A format turns bytes into pieces of rows, or refuses them; joining pieces
//! is `collect`'s work, and finding out which format a file has is `detect`'s.

pub(crate) mod libsvm;
