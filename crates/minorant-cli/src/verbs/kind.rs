//! Which kind of data files hold, where no model says so: by the options that are given, by what an archive or
//! a cache has, or by the look of the text.

use crate::args::{READ, TableArgs};
use anyhow::anyhow;
use minorant::data::{Arrays, Cache, is_cache, looks_like_attribute_lists, recordings_in};
use minorant::family::{self, DataKind, Settings};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The kind of data in these files, and how it is read: as the first model that takes such data would.
pub(super) fn of_files(
    files: &[PathBuf],
    reading: &TableArgs<READ>,
) -> anyhow::Result<(DataKind, Settings)> {
    let settings = |kind: DataKind| reading.settings(family::model_for(kind));
    let kind = match of_file(&files[0])? {
        // An option that only sequences have says that the files hold sequences.
        DataKind::Rows if settings(DataKind::Rows).is_err() => DataKind::Sequences,
        DataKind::Rows
            if !settings(DataKind::Rows)?.is_given("format")
                && looks_like_attribute_lists(&files[0]) =>
        {
            DataKind::Sequences
        }
        kind => kind,
    };
    Ok((kind, settings(kind)?))
}

/// The kind of data that a file holds, by the names of its arrays; rows where the file is no archive
/// of another kind.
fn of_file(path: &Path) -> anyhow::Result<DataKind> {
    // A pipe gives its bytes only once, so nothing is read from it here.
    if let Some(cache) = cache_at(path)? {
        return Ok(if cache.holds_sequences() { DataKind::Sequences } else { DataKind::Rows });
    }
    let Some(arrays) = path.is_file().then(|| Arrays::open(path).ok()).flatten() else {
        return Ok(DataKind::Rows);
    };
    Ok(match (arrays.has("pixels"), arrays.has("values") && arrays.has("offsets")) {
        (true, _) if arrays.has("widths") => DataKind::Plates,
        (true, _) if arrays.has("parents") => DataKind::Parts,
        (_, true) => recordings_in(path).map_or(DataKind::Sequences, DataKind::Recordings),
        _ => DataKind::Rows,
    })
}

/// The cache in this file, if it is one.
pub(super) fn cache_at(path: &Path) -> anyhow::Result<Option<Cache<'static>>> {
    let cache = is_cache(&beginning(path, 16)).then(|| Cache::open(path));
    Ok(cache.transpose()?)
}

/// Why rows could not be read, with what to do where the file looks like sequences: columns of tokens have
/// no mark of their own by which they could be known.
pub(super) fn with_advice(
    why: anyhow::Error,
    settings: &Settings,
    files: &[PathBuf],
) -> anyhow::Error {
    if settings.is_given("format") || !is_sequence_like(&files[0]) {
        return why;
    }
    anyhow!("{why}; for sequences of tokens give --format conll or --format crfsuite")
}

/// Whether a text file has a blank line between others, as sequences have and rows have not.
fn is_sequence_like(path: &Path) -> bool {
    let start = beginning(path, 1 << 16);
    start.windows(2).any(|two| two == b"\n\n") || start.windows(3).any(|three| three == b"\n\r\n")
}

/// The first bytes of a file. A pipe is not looked at, for they could not be read again.
pub(super) fn beginning(path: &Path, most: u64) -> Vec<u8> {
    let mut start = Vec::new();
    if let Some(file) = path.is_file().then(|| File::open(path).ok()).flatten() {
        let _ = file.take(most).read_to_end(&mut start);
    }
    start
}
