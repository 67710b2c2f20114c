//! Caches: rows of features or tokens of sequences, of any format, as blocks on disk, which are read back, whole or block by
//! block, without parsing text again. A cache keeps values and labels as they were read, so that the same
//! file serves classes and targets, and it is opened in the storage and layout that the reader would have
//! chosen for the same rows. What is trained from it is not known here.
//!
//! A file is a mark, then *frames*, then where the last frame begins. A frame is four letters, a length, as
//! many bytes and a checksum of all that ([`frame`]). Each block of rows is a frame ([`block`]); the last
//! frame ([`summary`]) lists the blocks and what only the whole can show. Numbers are little-endian.
//! Every byte is under a checksum or has one value that is right, so that no damaged byte goes unnoticed.

mod block;
mod bytes;
mod convert;
mod frame;
mod layout;
mod read;
mod resume;
mod streamed;
mod summary;
mod survey;
mod tokens;
mod writer;

pub use convert::{Converted, Progress, write_cache, write_sequence_cache};
pub(crate) use layout::Kept;
pub(crate) use read::read;
pub use read::{Cache, is_cache, is_cache_at};
pub(crate) use summary::TokenFacts;
pub(crate) use survey::leave_on_disk;
pub(crate) use tokens::{leave_tokens_on_disk, read_tokens};
pub use writer::CacheWriter;

/// What a cache begins with: a byte that no text has, the name, and the version of the format.
pub(crate) const MARK: &[u8; 16] = b"\x8fminorant-cache\x01";
