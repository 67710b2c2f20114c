//! Files of lines, one after the other, as text.

use crate::error::{ReadError, Refusal, quoted};
use crate::source::Source;
use std::io::{BufRead, BufReader, Read};

/// No line may be longer.
const LONGEST_LINE: u64 = 1 << 28;

/// Calls `each` with every line, without its end; refusals get the line's number.
pub(super) fn for_each_line(
    source: &Source<'_>,
    mut each: impl FnMut(&str) -> Result<(), Refusal>,
) -> Result<(), ReadError> {
    let name = source.name();
    let mut input = BufReader::with_capacity(1 << 18, source.open()?);
    let mut line = Vec::new();
    for number in 0.. {
        line.clear();
        let read = input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
        if read.map_err(|why| ReadError::io(&name, why))? == 0 {
            break;
        }
        let here = |why: Refusal| match why.line {
            None => why.at_line(number).in_file(&name),
            Some(_) => why.in_file(&name),
        };
        if line.len() as u64 == LONGEST_LINE {
            let expected = format!("lines of at most {LONGEST_LINE} bytes");
            return Err(here(Refusal::new(expected, "a longer one")));
        }
        let bytes = line.strip_suffix(b"\n").unwrap_or(&line);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let bytes =
            if number == 0 { bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes) } else { bytes };
        let text = match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => text,
            _ => return Err(here(Refusal::new("text in UTF-8 without NUL", quoted(bytes)))),
        };
        each(text).map_err(here)?;
    }
    Ok(())
}
