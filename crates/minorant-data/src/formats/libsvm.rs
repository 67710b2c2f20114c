//! LIBSVM and SVMlight text: `label index:value index:value …`, one example a line, indices
//! ascending; `a,b,c` as the label of multilabel data. `qid:` and comments are skipped.

use crate::collect::{Collector, MOST_COLUMNS};
use crate::dataset::LabelKind;
use crate::error::{Refusal, quoted};
use crate::label_table::LabelTable;
use crate::number::{NotANumber, parse_prefix, take_digits};
use crate::piece::{Cells, Piece, PieceLabels, PieceRows};
use crate::read::ReadOptions;
use crate::text::{Head, LineFormat};
use crate::values::GrowingValues;
use minorant_linalg::Storage;

/// The reader, as the options set it up.
#[derive(Debug)]
pub(crate) struct Libsvm {
    storage: Storage,
    zero_based: bool,
    label_kind: Option<LabelKind>,
    /// Columns must be below this; with a model any will do, for it ignores those beyond its own.
    most_columns: u64,
}

impl Libsvm {
    pub(crate) fn new(options: &ReadOptions) -> Libsvm {
        Libsvm {
            storage: options.storage,
            zero_based: options.zero_based,
            label_kind: options.label_kind,
            most_columns: match options.model_columns() {
                Some(_) => u64::MAX - 1,
                None => MOST_COLUMNS as u64,
            },
        }
    }
}

impl LineFormat for Libsvm {
    fn head(&mut self, _line: &[u8], _: &mut Collector<'_>) -> Result<Head, Refusal> {
        Ok(Head::NoneHere)
    }

    fn head_over(&mut self, _reached_rows: bool) -> Result<(), Refusal> {
        Ok(())
    }

    fn rows(&self, text: &[u8]) -> Result<Piece, Refusal> {
        let mut parser = Parser::new(self, text);
        while parser.at < text.len() {
            parser.line().map_err(|why| why.at_line(parser.lines))?;
            parser.lines += 1;
        }
        Ok(parser.finish())
    }
}

/// Parses one piece of text; `at` is where it has got to.
struct Parser<'t> {
    format: &'t Libsvm,
    text: &'t [u8],
    at: usize,
    lines: u64,
    lengths: Vec<u32>,
    columns: Vec<u32>,
    values: GrowingValues,
    highest: Option<(u32, u64)>,
    table: LabelTable,
    labels: PieceRows,
    label_set: Vec<f64>,
}

impl<'t> Parser<'t> {
    fn new(format: &'t Libsvm, text: &'t [u8]) -> Parser<'t> {
        // Exact sizes, by counting; but never more than valid text of this length could need.
        let rows = count(text, b'\n').min(text.len() / 2) + 1;
        let entries = count(text, b':').min(text.len() / 4) + 1;
        let labels = match format.label_kind {
            Some(LabelKind::Multilabel) => {
                PieceRows::Sets { lengths: Vec::with_capacity(rows), items: Vec::new() }
            }
            Some(LabelKind::Targets) => PieceRows::targets(),
            _ => PieceRows::Single(Vec::with_capacity(rows)),
        };
        Parser {
            format,
            text,
            at: 0,
            lines: 0,
            lengths: Vec::with_capacity(rows),
            columns: Vec::with_capacity(entries),
            values: GrowingValues::with_capacity(format.storage, entries),
            highest: None,
            table: LabelTable::default(),
            labels,
            label_set: Vec::new(),
        }
    }

    fn finish(mut self) -> Piece {
        self.lengths.shrink_to_fit();
        self.columns.shrink_to_fit();
        self.values.shrink();
        Piece {
            cells: Cells::Sparse {
                cols: self.highest.map_or(0, |(column, _)| column as usize + 1),
                lengths: self.lengths,
                columns: self.columns,
                values: self.values,
            },
            labels: PieceLabels { table: Some(self.table), rows: self.labels },
            lines: self.lines,
            highest: self.highest,
        }
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    #[inline]
    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Whether the line has nothing more to say; if so, goes past its end.
    #[inline]
    fn line_is_over(&mut self) -> Result<bool, Refusal> {
        match self.peek() {
            None => Ok(true),
            Some(b'\n') => {
                self.at += 1;
                Ok(true)
            }
            Some(b'#') => {
                while let Some(byte) = self.peek() {
                    self.at += 1;
                    match byte {
                        b'\n' => break,
                        0 => return Err(Refusal::new("text without NUL", "one in a comment")),
                        _ => {}
                    }
                }
                Ok(true)
            }
            Some(_) => Ok(false),
        }
    }

    fn line(&mut self) -> Result<(), Refusal> {
        let start = self.at;
        self.skip_blanks();
        let begins_with_blank = self.at > start;
        if self.line_is_over()? {
            return Ok(());
        }
        if begins_with_blank && self.format.label_kind == Some(LabelKind::Multilabel) {
            self.push_labels();
        } else {
            self.labels(begins_with_blank)?;
        }
        let from = self.columns.len();
        self.features()?;
        self.lengths.push((self.columns.len() - from) as u32);
        Ok(())
    }

    fn labels(&mut self, begins_with_blank: bool) -> Result<(), Refusal> {
        let start = self.at;
        self.label_set.clear();
        loop {
            match parse_prefix(&self.text[self.at..]) {
                Ok((number, length)) => {
                    self.at += length;
                    self.label_set.push(number + 0.0);
                }
                Err(why) => return Err(self.bad_label(start, why, begins_with_blank)),
            }
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b' ' | b'\t' | b'\r' | b'\n' | b'#') | None => break,
                Some(_) => return Err(self.bad_label(start, NotANumber::Form, begins_with_blank)),
            }
        }
        self.push_labels_of(start)
    }

    #[cold]
    fn bad_label(&self, start: usize, why: NotANumber, begins_with_blank: bool) -> Refusal {
        let token = self.token(start);
        let expected = match why {
            NotANumber::Overflow => "a finite number as label",
            NotANumber::Form if self.format.label_kind == Some(LabelKind::Targets) => {
                "a number as target"
            }
            NotANumber::Form if begins_with_blank && token.contains(&b':') => {
                "a label (--labels multilabel reads a line without one as the empty set)"
            }
            NotANumber::Form if token.contains(&b':') => "a label before the features",
            NotANumber::Form => "a number as label",
        };
        Refusal::new(expected, quoted(token))
    }

    fn push_labels_of(&mut self, start: usize) -> Result<(), Refusal> {
        if let PieceRows::Numbers { .. } = self.labels {
            return self.labels.push_targets(&self.label_set);
        }
        if let [only] = self.label_set[..]
            && let PieceRows::Single(ids) = &mut self.labels
        {
            ids.push(self.table.insert_number(only));
            return Ok(());
        }
        if matches!(self.format.label_kind, Some(LabelKind::Binary | LabelKind::Multiclass)) {
            return Err(Refusal::new("one label", quoted(self.token(start))));
        }
        self.label_set.sort_unstable_by(f64::total_cmp);
        if let Some(pair) = self.label_set.windows(2).find(|pair| pair[0] == pair[1]) {
            let found = format!("{} twice", crate::Label::Number(pair[0]));
            return Err(Refusal::new("each label once", found));
        }
        if let PieceRows::Single(_) = self.labels {
            let singles = std::mem::replace(&mut self.labels, PieceRows::None);
            self.labels = singles.into_sets();
        }
        self.push_labels();
        Ok(())
    }

    /// Appends the current set of labels as a row of sets, and clears it.
    fn push_labels(&mut self) {
        if let PieceRows::Sets { lengths, items } = &mut self.labels {
            lengths.push(self.label_set.len() as u32);
            items.extend(self.label_set.drain(..).map(|n| self.table.insert_number(n)));
        }
    }

    fn features(&mut self) -> Result<(), Refusal> {
        let (text, base) = (self.text, u64::from(!self.format.zero_based));
        // What is left is kept in a local variable: this loop is where the time goes.
        let mut rest = &text[self.at..];
        // The least column that may come.
        let mut next = 0;
        loop {
            let start = text.len() - rest.len();
            match rest {
                [b' ' | b'\t' | b'\r', behind @ ..] => {
                    rest = behind;
                    continue;
                }
                [b'\n', behind @ ..] => {
                    rest = behind;
                    break;
                }
                [b'0'..=b'9', ..] => {}
                _ => {
                    self.at = start;
                    if self.line_is_over()? {
                        rest = &text[self.at..];
                        break;
                    }
                    if next == 0 && rest.starts_with(b"qid:") {
                        rest = &rest[self.token(start).len()..];
                        continue;
                    }
                    return Err(self.not_a_pair(start));
                }
            }
            let mut index = 0;
            let behind = take_digits(rest, &mut index);
            let digits = &rest[..rest.len() - behind.len()];
            if digits.len() > 18 {
                // It may have wrapped around.
                let digits = std::str::from_utf8(digits).ok();
                index = digits.and_then(|digits| digits.parse().ok()).unwrap_or(u64::MAX);
            }
            let [b':', behind @ ..] = behind else { return Err(self.not_a_pair(start)) };
            // An index of 0 where they begin with 1 is beyond all columns.
            let column = index.wrapping_sub(base);
            if column >= self.format.most_columns {
                return Err(self.no_column(index, start));
            }
            if column < next {
                return Err(self.not_ascending(index, next - 1));
            }
            next = column + 1;
            let (value, length) = match behind {
                // Counts and indicators, mostly.
                [digit @ b'0'..=b'9', b' ' | b'\n', ..] => (f64::from(digit - b'0'), 1),
                _ => self.value(behind, start)?,
            };
            rest = &behind[length..];
            if value != 0.0 {
                self.columns.push(narrow(column));
                if !self.values.push(value) {
                    let found = quoted(self.token(start));
                    return Err(Refusal::new("values within the range of f32", found));
                }
            }
        }
        self.at = text.len() - rest.len();
        if let Some(column) = next.checked_sub(1).map(narrow)
            && self.highest.is_none_or(|(highest, _)| column > highest)
        {
            self.highest = Some((column, self.lines));
        }
        Ok(())
    }

    #[cold]
    fn not_a_pair(&self, start: usize) -> Refusal {
        Refusal::new("index:value", quoted(self.token(start)))
    }

    /// Why an index, at `start`, stands for no column.
    #[cold]
    fn no_column(&self, index: u64, start: usize) -> Refusal {
        if index == 0 {
            let expected = "feature indices from 1 on (--zero-based counts from 0)";
            return Refusal::new(expected, "0");
        }
        let most = self.format.most_columns - u64::from(self.format.zero_based);
        let token = self.token(start);
        let digits = token.iter().position(|&b| b == b':').unwrap_or(token.len());
        Refusal::new(format!("a feature index of at most {most}"), quoted(&token[..digits]))
    }

    /// The value that `text` begins with, and its length; `start` is where its index begins.
    #[inline]
    fn value(&self, text: &[u8], start: usize) -> Result<(f64, usize), Refusal> {
        if let Ok((value, length)) = parse_prefix(text)
            && let Some(b' ' | b'\n' | b'\t' | b'\r' | b'#') | None = text.get(length)
        {
            return Ok((value, length));
        }
        Err(Refusal::new("a finite number after the colon", quoted(self.token(start))))
    }

    #[cold]
    fn not_ascending(&self, index: u64, last: u64) -> Refusal {
        let last = last + u64::from(!self.format.zero_based);
        let found =
            if index == last { format!("{index} twice") } else { format!("{index} after {last}") };
        Refusal::new("feature indices in ascending order", found)
    }

    /// The text from `start` to the next blank or line end.
    #[cold]
    fn token(&self, start: usize) -> &'t [u8] {
        let rest = &self.text[start..];
        let end = rest.iter().position(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n'));
        &rest[..end.unwrap_or(rest.len())]
    }
}

/// A column as it is stored; those that no matrix could have become one.
#[inline]
fn narrow(column: u64) -> u32 {
    column.min(u64::from(u32::MAX)) as u32
}

/// How often `byte` occurs.
fn count(text: &[u8], byte: u8) -> usize {
    // Runs that are too short for their sums to overflow a byte stay in vector registers.
    let in_run = |run: &[u8]| run.iter().fold(0u8, |n, &b| n.wrapping_add(u8::from(b == byte)));
    text.chunks(255).map(|run| usize::from(in_run(run))).sum()
}

#[cfg(test)]
mod tests {
    use crate::{Label, LabelKind, LabelRows, ReadOptions, read_bytes};

    #[test]
    fn one_line_after_the_other() {
        let text = b"+1 qid:3 1:0.5 3:2 # note\r\n\n# only a note\n-1 2:1e-3\n-1";
        let data = read_bytes("t", text, &ReadOptions::default()).unwrap();
        assert_eq!((data.features.rows(), data.features.cols()), (3, 3));
        assert_eq!(data.labels.classes, [Label::Number(-1.0), Label::Number(1.0)]);
        assert_eq!(data.labels.rows, LabelRows::Single(vec![1, 0, 0]));
        assert_eq!(data.features.row(0).collect::<Vec<_>>(), [(0, 0.5), (2, 2.0)]);
        assert_eq!(data.features.row(1).collect::<Vec<_>>(), [(1, 1e-3)]);
        assert_eq!(data.features.values().width(), 8);
    }

    #[test]
    fn sets_of_labels() {
        let options =
            ReadOptions { label_kind: Some(LabelKind::Multilabel), ..ReadOptions::default() };
        let data = read_bytes("t", b"3,1 1:1\n 2:1\n2 1:1\n   \n", &options).unwrap();
        let rows = LabelRows::Sets { starts: vec![0, 2, 2, 3], items: vec![0, 2, 1] };
        assert_eq!(data.labels.rows, rows);
        let data = read_bytes("t", b"3 1:1\n3,1 1:1\n", &ReadOptions::default()).unwrap();
        let rows = LabelRows::Sets { starts: vec![0, 1, 3], items: vec![1, 0, 1] };
        assert_eq!(data.labels.rows, rows);
    }

    #[test]
    fn zeros_are_columns_but_not_entries() {
        let data = read_bytes("t", b"1 1:1\n2 7:0\n", &ReadOptions::default()).unwrap();
        assert_eq!((data.features.cols(), data.features.entries()), (7, 1));
    }
}
