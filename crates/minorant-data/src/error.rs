//! What readers say when they refuse a file: one sentence with the place, what was expected and
//! what was found. The quoting of found text is here too, so that all readers speak alike.

use std::fmt;

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be opened or read, or its compression is damaged.
    #[error("{file}: {source}")]
    Io {
        /// The file as it was named.
        file: String,
        /// What the system, or the decompressor, said.
        source: std::io::Error,
    },
    /// The file's content is not what its format asks for.
    #[error("{place}: expected {expected}, found {found}")]
    Content {
        /// Where in which file.
        place: Place,
        /// What should have stood there.
        expected: String,
        /// What stands there.
        found: String,
    },
}

/// A place in a file, as `FILE`, `FILE:LINE` or `FILE:LINE:COLUMN`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as it was named.
    pub file: String,
    /// The line, from 1, where the format has lines.
    pub line: Option<u64>,
    /// The cell in the line, from 1, where lines have cells.
    pub column: Option<u64>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        Ok(())
    }
}

impl ReadError {
    /// A refusal that concerns a file as a whole.
    pub fn whole(file: &str, expected: impl Into<String>, found: impl Into<String>) -> ReadError {
        Refusal::new(expected, found).in_file(file)
    }

    /// A failure of the system or of a decompressor.
    pub(crate) fn io(file: &str, source: std::io::Error) -> ReadError {
        ReadError::Io { file: file.to_owned(), source }
    }
}

/// A refusal whose place is not yet fully known: parsers of a piece count lines from the piece's
/// own beginning and do not know the file's name.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) line: Option<u64>,
    pub(crate) column: Option<u64>,
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl Refusal {
    pub(crate) fn new(expected: impl Into<String>, found: impl Into<String>) -> Refusal {
        Refusal { line: None, column: None, expected: expected.into(), found: found.into() }
    }

    /// The same, at this line (counted from 0 within the piece).
    pub(crate) fn at_line(mut self, line: u64) -> Refusal {
        self.line = Some(line);
        self
    }

    /// The same, at this cell (counted from 0).
    pub(crate) fn at_cell(mut self, cell: usize) -> Refusal {
        self.column = Some(cell as u64 + 1);
        self
    }

    /// The same, with `lines` lines before the piece.
    pub(crate) fn after_lines(mut self, lines: u64) -> Refusal {
        self.line = self.line.map(|line| line + lines);
        self
    }

    /// The refusal as users see it; lines then count from 1.
    pub(crate) fn in_file(self, file: &str) -> ReadError {
        ReadError::Content {
            place: Place {
                file: file.to_owned(),
                line: self.line.map(|line| line + 1),
                column: self.column,
            },
            expected: self.expected,
            found: self.found,
        }
    }
}

const SHOWN_CHARACTERS: usize = 40;

/// Found text in quotes: cut to 40 characters, control characters escaped.
pub(crate) fn quoted(text: &[u8]) -> String {
    // Four bytes a character at most, and one character more to see whether the text goes on.
    let start = &text[..text.len().min(4 * (SHOWN_CHARACTERS + 1))];
    let readable = String::from_utf8_lossy(start);
    let mut shown = String::from("'");
    for (at, character) in readable.chars().enumerate() {
        if at == SHOWN_CHARACTERS {
            shown.push('…');
            break;
        }
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown.push('\'');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_text_is_cut_and_escaped() {
        assert_eq!(quoted(b"abc"), "'abc'");
        assert_eq!(quoted(b"a\x00b\x1b"), "'a\\u{0}b\\u{1b}'");
        assert_eq!(quoted(&[b'x'; 40]), format!("'{}'", "x".repeat(40)));
        assert_eq!(quoted(&[b'x'; 41]), format!("'{}…'", "x".repeat(40)));
        assert_eq!(quoted(b"\xff"), "'\u{fffd}'");
    }

    #[test]
    fn places_grow_by_what_is_known() {
        let refusal = Refusal::new("a", "b").at_line(2).after_lines(10).at_cell(0);
        assert_eq!(refusal.in_file("f").to_string(), "f:13:1: expected a, found b");
        assert_eq!(ReadError::whole("f", "a", "b").to_string(), "f: expected a, found b");
    }
}
