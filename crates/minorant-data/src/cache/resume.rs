//! Conversions that were cut off: the blocks that got to the disk are kept under the file's temporary name,
//! beside a note of what they were made of, and a conversion of the same files under the same options goes
//! on behind them.

use super::MARK;
use super::block::Block;
use super::frame::{self, Holds};
use super::writer::{CacheWriter, at_file};
use crate::error::ReadError;
use minorant_linalg::Storage;
use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The temporary name.
pub(super) fn part_of(target: &Path) -> PathBuf {
    with_ending(target, ".part")
}

/// The note of what the part was made of.
fn note_of(target: &Path) -> PathBuf {
    with_ending(target, ".part.from")
}

fn with_ending(target: &Path, ending: &str) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Forgets an unfinished conversion.
pub(super) fn clear(target: &Path) {
    drop(std::fs::remove_file(part_of(target)));
    drop(std::fs::remove_file(note_of(target)));
}

/// What a conversion reads: the files with their sizes and dates, and how they are read.
fn inputs(paths: &[PathBuf], options: &dyn Debug) -> Option<String> {
    let mut note = format!("{options:?}\n");
    for path in paths {
        let about = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        let path = std::fs::canonicalize(path).ok()?;
        note += &format!("{} {} {:?}\n", path.display(), about.len(), about.modified().ok()?);
    }
    Some(note)
}

/// A writer that goes on behind what an earlier conversion of the same files left, or begins anew.
pub(super) fn writer_for(
    target: &Path,
    paths: &[PathBuf],
    options: &dyn Debug,
) -> Result<CacheWriter, ReadError> {
    let (part, note) = (part_of(target), note_of(target));
    let inputs = inputs(paths, options);
    let is_same = inputs.is_some() && std::fs::read_to_string(&note).ok() == inputs;
    if is_same && let Some(writer) = taken_up(target).map_err(|why| at_file(&part, why))? {
        return Ok(writer);
    }
    clear(target);
    let writer = CacheWriter::create(target)?;
    if let Some(inputs) = inputs {
        std::fs::write(&note, inputs).map_err(|why| at_file(&note, why))?;
    }
    Ok(writer)
}

/// A writer behind the last whole block of the part.
fn taken_up(target: &Path) -> std::io::Result<Option<CacheWriter>> {
    let part = part_of(target);
    let Ok(file) = OpenOptions::new().read(true).write(true).open(&part) else { return Ok(None) };
    let all = file.metadata()?.len();
    let mut input = BufReader::new(File::open(&part)?);
    let mut mark = [0; MARK.len()];
    if input.read_exact(&mut mark).is_err() || &mark != MARK {
        return Ok(None);
    }
    let start = MARK.len() as u64;
    let mut writer = CacheWriter::of(target, file.try_clone()?, start);
    let mut body = Vec::new();
    while let Ok(frame::Framed { length, .. }) =
        frame::read(&mut input, Holds::Rows, all - writer.bytes(), &mut body)
    {
        let Ok(block) = Block::decode(&body, Storage::Exact) else { break };
        writer.take_up(&block, length);
    }
    file.set_len(writer.bytes())?;
    (&file).seek(SeekFrom::Start(writer.bytes()))?;
    Ok(Some(writer))
}
