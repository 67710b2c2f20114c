//! Text tables: numbers in columns, one example a line, one column of labels. A header line,
//! the separator and the label column are found out unless the options say them.

use super::cells::{Cells, Separator};
use crate::collect::Collector;
use crate::dataset::LabelKind;
use crate::error::{Refusal, quoted};
use crate::label_table::LabelTable;
use crate::number::{self, NotANumber, is_nan_or_inf};
use crate::piece::{Cells as PieceCells, Piece, PieceLabels, PieceRows};
use crate::read::ReadOptions;
use crate::text::{Head, LineFormat};
use crate::values::GrowingValues;
use minorant_linalg::Storage;

/// Header names of the label column, in any case.
const LABEL_NAMES: [&str; 4] = ["label", "class", "target", "y"];

/// The reader, as the options and the first line set it up.
#[derive(Debug)]
pub(crate) struct Csv {
    storage: Storage,
    label_kind: Option<LabelKind>,
    model_columns: Option<usize>,
    asked_column: Asked,
    separator: Separator,
    width: usize,
    label: Option<usize>,
}

/// What the options say about the label column.
#[derive(Debug)]
enum Asked {
    Nothing,
    NoLabel,
    Number(usize),
    Name(String),
}

impl Csv {
    pub(crate) fn new(options: &ReadOptions) -> Csv {
        let asked_column = match options.label_column.as_deref() {
            None => Asked::Nothing,
            Some("none") => Asked::NoLabel,
            Some(column) => match column.parse() {
                Ok(number) => Asked::Number(number),
                Err(_) => Asked::Name(column.to_owned()),
            },
        };
        Csv {
            storage: options.storage,
            label_kind: options.label_kind,
            model_columns: options.model_columns(),
            asked_column,
            separator: Separator::Blanks,
            width: 0,
            label: None,
        }
    }

    /// Learns the shape of the table from its first line; the result is whether that line is a
    /// header.
    fn first_line(&mut self, line: &[u8]) -> Result<bool, Refusal> {
        self.separator = Separator::of_line(line);
        let mut cells = Cells::new(line, self.separator);
        let mut names = FirstLine::default();
        while let Some(cell) = cells.next() {
            names.take(&cell?, &self.asked_column);
        }
        self.width = cells.given;
        let last = self.width.saturating_sub(1);
        let is_header;
        (self.label, is_header) = match &self.asked_column {
            Asked::NoLabel => (None, names.texts > 0),
            Asked::Number(number) if (1..=self.width).contains(number) => {
                (Some(number - 1), names.has_text_besides(number - 1))
            }
            Asked::Number(number) => {
                let expected = format!("a label column from 1 to {}", self.width);
                return Err(Refusal::new(expected, number.to_string()));
            }
            Asked::Name(name) if names.asked_at.is_none() => {
                let expected = format!("a column named {}", quoted(name.as_bytes()));
                return Err(Refusal::new(expected, quoted(line)));
            }
            Asked::Name(_) => (names.asked_at, true),
            // As many cells as the model has columns, and none that is a label.
            Asked::Nothing
                if self.model_columns == Some(self.width)
                    && names.label_at.is_none()
                    && !(last > 0 && names.is_only_text(last)) =>
            {
                (None, names.texts > 0)
            }
            Asked::Nothing if names.has_text_besides(last) => {
                (Some(names.label_at.unwrap_or(last)), true)
            }
            Asked::Nothing => (Some(last), false),
        };
        if self.width <= usize::from(self.label.is_some()) {
            return Err(Refusal::new("at least one column of features", quoted(line)));
        }
        Ok(is_header)
    }
}

/// What the cells of the first line are.
#[derive(Debug, Default)]
struct FirstLine {
    cells: usize,
    /// Number of cells that are text, and the place of the last of them.
    texts: usize,
    last_text: usize,
    /// The first cell with a usual name of label columns.
    label_at: Option<usize>,
    /// The first cell with the name that the options give.
    asked_at: Option<usize>,
}

impl FirstLine {
    fn take(&mut self, cell: &[u8], asked: &Asked) {
        if !cell.is_empty() && number::parse(cell) == Err(NotANumber::Form) && !is_nan_or_inf(cell)
        {
            self.texts += 1;
            self.last_text = self.cells;
        }
        let is_named = |name: &str| cell.eq_ignore_ascii_case(name.as_bytes());
        if self.label_at.is_none() && LABEL_NAMES.into_iter().any(is_named) {
            self.label_at = Some(self.cells);
        }
        if let Asked::Name(name) = asked
            && self.asked_at.is_none()
            && is_named(name)
        {
            self.asked_at = Some(self.cells);
        }
        self.cells += 1;
    }

    fn is_only_text(&self, column: usize) -> bool {
        self.texts == 1 && self.last_text == column
    }

    fn has_text_besides(&self, column: usize) -> bool {
        self.texts > 0 && !self.is_only_text(column)
    }
}

impl LineFormat for Csv {
    fn head(&mut self, line: &[u8], _: &mut Collector<'_>) -> Result<Head, Refusal> {
        if line.trim_ascii().is_empty() {
            return Ok(Head::More);
        }
        Ok(if self.first_line(line)? { Head::Over } else { Head::NoneHere })
    }

    fn head_over(&mut self, _reached_rows: bool) -> Result<(), Refusal> {
        Ok(())
    }

    fn rows(&self, text: &[u8]) -> Result<Piece, Refusal> {
        let mut rows = Rows {
            format: self,
            count: 0,
            values: GrowingValues::new(self.storage),
            table: LabelTable::default(),
            labels: match (self.label, self.label_kind) {
                (None, _) => PieceRows::None,
                (_, Some(LabelKind::Multilabel)) => {
                    PieceRows::Sets { lengths: Vec::new(), items: Vec::new() }
                }
                (_, Some(LabelKind::Targets)) => PieceRows::targets(),
                _ => PieceRows::Single(Vec::new()),
            },
        };
        let mut lines = 0;
        for line in text.strip_suffix(b"\n").unwrap_or(text).split(|&b| b == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !line.trim_ascii().is_empty() {
                rows.row(line).map_err(|why| why.at_line(lines))?;
            }
            lines += 1;
        }
        let cols = self.width - usize::from(self.label.is_some());
        rows.values.shrink();
        Ok(Piece {
            cells: PieceCells::Dense {
                cols,
                rows: rows.count,
                values: rows.values,
                from_text: true,
            },
            labels: PieceLabels { table: Some(rows.table), rows: rows.labels },
            lines,
            highest: None,
        })
    }
}

/// The rows of one piece of text.
struct Rows<'f> {
    format: &'f Csv,
    count: usize,
    values: GrowingValues,
    table: LabelTable,
    labels: PieceRows,
}

impl Rows<'_> {
    fn row(&mut self, line: &[u8]) -> Result<(), Refusal> {
        let mut cells = Cells::new(line, self.format.separator);
        loop {
            let at = cells.given;
            if at < self.format.width
                && Some(at) != self.format.label
                && let Some(value) = cells.next_number()
            {
                self.value(value, line).map_err(|why| why.at_cell(at))?;
                continue;
            }
            let Some(cell) = cells.next() else { break };
            let cell = cell?;
            if at >= self.format.width {
                break;
            }
            if Some(at) == self.format.label {
                self.label(&cell).map_err(|why| why.at_cell(at))?;
            } else {
                let value =
                    number::parse(&cell).map_err(|why| bad_number(&cell, why).at_cell(at))?;
                self.value(value, &cell).map_err(|why| why.at_cell(at))?;
            }
        }
        if cells.given != self.format.width {
            let found = if cells.given > self.format.width {
                "more".to_owned()
            } else {
                cells.given.to_string()
            };
            return Err(Refusal::new(format!("{} cells", self.format.width), found));
        }
        self.count += 1;
        Ok(())
    }

    #[inline]
    fn value(&mut self, value: f64, found: &[u8]) -> Result<(), Refusal> {
        if self.values.push(value) {
            return Ok(());
        }
        Err(Refusal::new("values within the range of f32", quoted(found)))
    }

    fn label(&mut self, cell: &[u8]) -> Result<(), Refusal> {
        match &mut self.labels {
            PieceRows::None => {}
            PieceRows::Numbers { .. } => self.labels.push_targets(&[target(cell)?])?,
            PieceRows::Single(ids) => ids.push(self.table.insert_spelled(cell)?),
            PieceRows::Sets { lengths, items } => {
                let from = items.len();
                if !cell.is_empty() {
                    for label in cell.split(|&b| b == b',') {
                        items.push(self.table.insert_spelled(label.trim_ascii())?);
                    }
                }
                let set = &mut items[from..];
                set.sort_unstable();
                if set.windows(2).any(|pair| pair[0] == pair[1]) {
                    return Err(Refusal::new("each label once", quoted(cell)));
                }
                lengths.push(set.len() as u32);
            }
        }
        Ok(())
    }
}

/// The target that a cell spells.
pub(crate) fn target(cell: &[u8]) -> Result<f64, Refusal> {
    number::parse(cell).map(|number| number + 0.0).map_err(|why| match why {
        NotANumber::Form if !cell.is_empty() && !is_nan_or_inf(cell) => {
            Refusal::new("a number as target", quoted(cell))
        }
        why => bad_number(cell, why),
    })
}

#[cold]
pub(crate) fn bad_number(cell: &[u8], why: NotANumber) -> Refusal {
    if cell.is_empty() {
        return Refusal::new("a number", "an empty cell");
    }
    let expected = match why {
        NotANumber::Overflow => "a finite number",
        NotANumber::Form if is_nan_or_inf(cell) => "a finite number",
        NotANumber::Form => "a number",
    };
    Refusal::new(expected, quoted(cell))
}

#[cfg(test)]
mod tests {
    use crate::{Dataset, Label, ReadOptions, read_bytes};

    fn table(text: &str, label_column: Option<&str>) -> Dataset<'static> {
        let options = ReadOptions {
            label_column: label_column.map(str::to_owned),
            for_prediction: true,
            ..ReadOptions::default()
        };
        read_bytes("t.csv", text.as_bytes(), &options).unwrap()
    }

    #[test]
    fn label_columns() {
        let text = |s: &str| Label::Text(s.to_owned());
        let data = table("a,Class,b\n1,x,2\n3,y,4\n", None);
        assert_eq!(data.labels.classes, [text("x"), text("y")]);
        assert_eq!(data.features.row(1).collect::<Vec<_>>(), [(0, 3.0), (1, 4.0)]);
        assert_eq!(table("1;2;x\n3;4;y\n", None).labels.classes, [text("x"), text("y")]);
        assert_eq!(table("x 2 3\n y  4 5\n", Some("1")).labels.classes, [text("x"), text("y")]);
        assert_eq!(table("1,2\n3,4\n", Some("none")).features.cols(), 2);
        let data = table("k,l\n5,2\n6,4\n", Some("K"));
        assert_eq!(data.labels.classes, [Label::Number(5.0), Label::Number(6.0)]);
    }

    #[test]
    fn thin_tables_become_sparse() {
        assert!(table("0,0,0,0,1\n1,0,0,0,2\n", None).features.is_sparse());
        assert!(!table("0,0,1,1,1\n1,0,0,0,2\n", None).features.is_sparse());
    }
}
