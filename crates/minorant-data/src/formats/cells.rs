//! Cuts a line of a text table into cells: at commas, semicolons, tabs or runs of blanks, with
//! quotes around cells that contain the separator.

use crate::error::{Refusal, quoted};
use crate::number::parse_prefix;
use std::borrow::Cow;

/// What stands between cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Separator {
    /// This byte, once.
    Byte(u8),
    /// Any run of blanks and tabs.
    Blanks,
}

impl Separator {
    /// The separator of this line. A semicolon wins over commas, which may then be decimal ones.
    pub(crate) fn of_line(line: &[u8]) -> Separator {
        let separators = [b';', b'\t', b','];
        let found = separators.into_iter().find(|separator| line.contains(separator));
        found.map_or(Separator::Blanks, Separator::Byte)
    }
}

/// The cells of one line, from left to right.
#[derive(Debug)]
pub(crate) struct Cells<'l> {
    /// What has not been cut yet; nothing after the last cell.
    pub(super) rest: Option<&'l [u8]>,
    separator: Separator,
    /// Weka's quoting: single quotes too, and backslashes before what stands for itself.
    weka: bool,
    /// Number of cells given so far.
    pub(crate) given: usize,
}

impl<'l> Cells<'l> {
    pub(crate) fn new(line: &'l [u8], separator: Separator) -> Cells<'l> {
        Cells { rest: Some(line), separator, weka: false, given: 0 }
    }

    /// The same with the quoting of ARFF files.
    pub(crate) fn weka(line: &'l [u8], separator: Separator) -> Cells<'l> {
        Cells { weka: true, ..Cells::new(line, separator) }
    }

    /// The next cell, if it plainly is a number; otherwise nothing happens. Saves most cells the
    /// way through text.
    #[inline]
    pub(crate) fn next_number(&mut self) -> Option<f64> {
        let mut rest = self.rest?;
        while let [b' ', after @ ..] = rest {
            rest = after;
        }
        let ends_at = |length: usize| match (rest.get(length), self.separator) {
            (None, _) => true,
            (Some(byte), Separator::Byte(separator)) => *byte == separator,
            (Some(byte), Separator::Blanks) => matches!(byte, b' ' | b'\t'),
        };
        let (number, length) = match rest {
            [digit @ b'0'..=b'9', ..] if ends_at(1) => (f64::from(digit - b'0'), 1),
            _ => parse_prefix(rest).ok().filter(|&(_, length)| ends_at(length))?,
        };
        self.rest = rest.get(length + 1..);
        self.given += 1;
        Some(number)
    }

    /// The next cell without the blanks around it; nothing after the last.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Result<Cow<'l, [u8]>, Refusal>> {
        let mut rest = self.rest?;
        while let [b' ' | b'\t', after @ ..] = rest
            && self.separator != Separator::Byte(rest[0])
        {
            rest = after;
        }
        if rest.is_empty() && (self.separator == Separator::Blanks || self.given == 0) {
            return None;
        }
        self.given += 1;
        if let [quote @ (b'"' | b'\''), inner @ ..] = rest
            && (*quote == b'"' || self.weka)
        {
            return Some(
                self.quoted_cell(*quote, inner).map_err(|why| why.at_cell(self.given - 1)),
            );
        }
        let end = match self.separator {
            Separator::Byte(separator) => rest.iter().position(|&b| b == separator),
            Separator::Blanks => rest.iter().position(|&b| b == b' ' || b == b'\t'),
        };
        let (cell, after) = match end {
            Some(end) => (&rest[..end], Some(&rest[end + 1..])),
            None => (rest, None),
        };
        self.rest = after;
        Some(Ok(Cow::Borrowed(cell.trim_ascii_end())))
    }

    /// A cell whose opening quote has been read; a doubled quote inside stands for one.
    fn quoted_cell(&mut self, quote: u8, inner: &'l [u8]) -> Result<Cow<'l, [u8]>, Refusal> {
        let mut text = Cow::Borrowed(&inner[..0]);
        let mut at = 0;
        loop {
            let is_special = |&b: &u8| b == quote || (b == b'\\' && self.weka);
            let special = inner[at..].iter().position(is_special);
            let Some(length) = special else {
                return Err(Refusal::new("a closing quote in the same line", quoted(inner)));
            };
            let end = at + length;
            let doubled = inner.get(end + 1) == Some(&quote);
            if doubled || inner[end] == b'\\' {
                // The quote, or whatever the backslash precedes, stands for itself.
                let kept = text.to_mut();
                kept.extend_from_slice(&inner[at..end]);
                kept.extend(inner.get(end + 1));
                at = (end + 2).min(inner.len());
                continue;
            }
            match &mut text {
                Cow::Borrowed(borrowed) => *borrowed = &inner[..end],
                Cow::Owned(kept) => kept.extend_from_slice(&inner[at..end]),
            }
            self.rest = self.after_quote(&inner[end + 1..])?;
            return Ok(text);
        }
    }

    fn after_quote(&self, mut rest: &'l [u8]) -> Result<Option<&'l [u8]>, Refusal> {
        if self.separator == Separator::Blanks {
            return match rest {
                [] => Ok(None),
                [b' ' | b'\t', after @ ..] => Ok(Some(after)),
                _ => Err(Refusal::new("a blank after the closing quote", quoted(rest))),
            };
        }
        while let [b' ' | b'\t', after @ ..] = rest
            && self.separator != Separator::Byte(rest[0])
        {
            rest = after;
        }
        match rest {
            [] => Ok(None),
            [byte, after @ ..] if self.separator == Separator::Byte(*byte) => Ok(Some(after)),
            _ => Err(Refusal::new("a separator after the closing quote", quoted(rest))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(line: &str) -> Result<Vec<String>, String> {
        let mut cells = Cells::weka(line.as_bytes(), Separator::of_line(line.as_bytes()));
        let mut all = Vec::new();
        while let Some(cell) = cells.next() {
            let cell = cell.map_err(|why| why.expected)?;
            all.push(String::from_utf8_lossy(&cell).into_owned());
        }
        Ok(all)
    }

    #[test]
    fn plain_numbers() {
        let mut cells = Cells::new(b" 1, 2.5,x,3", Separator::Byte(b','));
        assert_eq!((cells.next_number(), cells.next_number()), (Some(1.0), Some(2.5)));
        assert_eq!((cells.next_number(), cells.given), (None, 2));
        assert_eq!(cells.next().unwrap().unwrap(), &b"x"[..]);
        assert_eq!((cells.next_number(), cells.next_number()), (Some(3.0), None));
        assert!(cells.next().is_none());
        let mut cells = Cells::new(b"1,", Separator::Byte(b','));
        assert_eq!((cells.next_number(), cells.next_number()), (Some(1.0), None));
        assert!(cells.next().unwrap().unwrap().is_empty());
        let mut cells = Cells::new(b"  1 -2\t", Separator::Blanks);
        assert_eq!((cells.next_number(), cells.next_number()), (Some(1.0), Some(-2.0)));
        assert!(cells.next().is_none());
    }

    #[test]
    fn separators_and_quotes() {
        assert_eq!(cut("a,b ,,c").unwrap(), ["a", "b", "", "c"]);
        assert_eq!(cut("a,b,").unwrap(), ["a", "b", ""]);
        assert_eq!(cut("  a \t b  ").unwrap(), ["a", "b"]);
        assert_eq!(cut("a  b").unwrap(), ["a", "b"]);
        assert_eq!(cut("1,5;2").unwrap(), ["1,5", "2"]);
        assert_eq!(cut("a\t\tb").unwrap(), ["a", "", "b"]);
        assert_eq!(cut(r#""a,b" , "c""d",'e\'f'"#).unwrap(), ["a,b", "c\"d", "e'f"]);
        assert_eq!(cut(r#""a"b,c"#).unwrap_err(), "a separator after the closing quote");
        assert_eq!(cut(r#"1,"b"#).unwrap_err(), "a closing quote in the same line");
        assert_eq!(cut("").unwrap(), [""; 0]);
    }
}
