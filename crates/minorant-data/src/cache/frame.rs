//! Frames: four letters that say what comes, a length, as many bytes, and a checksum of all that. What the
//! bytes mean stands elsewhere.

use crate::error::Refusal;
use crate::formats::binary::{Trouble, read_up_to};
use std::io::{Read, Write};

/// What a frame holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// A block of rows.
    Rows,
    /// The summary of the whole.
    Summary,
}

impl Holds {
    fn letters(self) -> &'static [u8; 4] {
        match self {
            Holds::Rows => b"rows",
            Holds::Summary => b"tail",
        }
    }
}

/// Bytes of a frame besides what it holds: letters and length before, checksum behind.
pub(super) const AROUND: u64 = 4 + 8 + 4;
const HEAD: usize = 12;
/// Bytes that memory is asked for at a time.
const STEP: usize = 1 << 20;

/// Writes a frame; the result is how many bytes it takes.
pub(super) fn write(out: &mut dyn Write, holds: Holds, body: &[u8]) -> std::io::Result<u64> {
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(holds.letters());
    head[4..].copy_from_slice(&(body.len() as u64).to_le_bytes());
    out.write_all(&head)?;
    out.write_all(body)?;
    out.write_all(&checksum(&head, body).to_le_bytes())?;
    Ok(AROUND + body.len() as u64)
}

/// A frame that was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Framed {
    /// Bytes that it takes.
    pub(super) length: u64,
    pub(super) checksum: u32,
}

/// Reads the frame that begins here into `body`; it must take no more than `most` bytes.
pub(super) fn read(
    input: &mut dyn Read,
    holds: Holds,
    most: u64,
    body: &mut Vec<u8>,
) -> Result<Framed, Trouble> {
    let mut head = [0; HEAD];
    if most < AROUND || read_up_to(input, &mut head)? < HEAD {
        return Err(damaged("the file ends within it"));
    }
    let mut length = [0; 8];
    length.copy_from_slice(&head[4..]);
    let length = u64::from_le_bytes(length);
    if &head[..4] != holds.letters() || length > most - AROUND {
        return Err(damaged("it begins otherwise"));
    }
    let length = usize::try_from(length).map_err(|_| damaged("it is longer than memory"))?;
    let mut at = 0;
    while at < length {
        // Only as much is asked for as the file holds: what was there before, then step by step.
        let end = length.min(body.len().max(at + STEP));
        if body.len() < end {
            body.resize(end, 0);
        }
        if read_up_to(input, &mut body[at..end])? < end - at {
            return Err(damaged("the file ends within it"));
        }
        at = end;
    }
    body.truncate(length);
    let mut sum = [0; 4];
    if read_up_to(input, &mut sum)? < 4 {
        return Err(damaged("the file ends within it"));
    }
    let checksum = checksum(&head, body);
    if u32::from_le_bytes(sum) != checksum {
        return Err(damaged("its checksum is not that of its bytes"));
    }
    Ok(Framed { length: AROUND + length as u64, checksum })
}

fn damaged(why: &str) -> Trouble {
    Refusal::new("an intact block of a cache", format!("a damaged one: {why}")).into()
}

fn checksum(head: &[u8], body: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(head);
    sum.update(body);
    sum.finalize()
}
