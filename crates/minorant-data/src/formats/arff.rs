//! ARFF files, as Weka and Mulan write them: declarations, then rows, dense or sparse (`{index
//! value, …}`). With a label file the data is multilabel; otherwise the last attribute is the
//! class. Missing values, strings and dates are refused.

use super::arff_head::{Attributes, Role, declaration};
use super::cells::{Cells, Separator};
use super::csv::{bad_number, target};
use crate::collect::Collector;
use crate::error::{Refusal, quoted};
use crate::label_table::LabelTable;
use crate::number;
use crate::piece::{Cells as PieceCells, Piece, PieceLabels, PieceRows};
use crate::text::{Head, LineFormat};
use crate::values::GrowingValues;
use minorant_linalg::Storage;

/// The reader.
#[derive(Debug)]
pub(crate) struct Arff {
    storage: Storage,
    attributes: Attributes,
    head_lines: u64,
}

impl Arff {
    /// With the names of the labels, where there is a label file.
    pub(crate) fn new(
        names: Option<Vec<String>>,
        collector: &mut Collector<'_>,
    ) -> Result<Arff, Refusal> {
        let attributes = Attributes::new(names, collector)?;
        Ok(Arff { storage: collector.options.storage, attributes, head_lines: 0 })
    }
}

impl LineFormat for Arff {
    fn head(&mut self, line: &[u8], _: &mut Collector<'_>) -> Result<Head, Refusal> {
        let line = line.trim_ascii();
        let number = self.head_lines;
        self.head_lines += 1;
        if line.is_empty() || line[0] == b'%' || declaration(line, b"@relation").is_some() {
            return Ok(Head::More);
        }
        if declaration(line, b"@data").is_some() {
            return Ok(Head::Over);
        }
        let Some(attribute) = declaration(line, b"@attribute") else {
            return Err(Refusal::new("@relation, @attribute or @data", quoted(line)));
        };
        self.attributes.declare(attribute, number)?;
        Ok(Head::More)
    }

    fn head_over(&mut self, reached_rows: bool) -> Result<(), Refusal> {
        if !reached_rows {
            return Err(Refusal::new("@data before the rows", "the end of the file"));
        }
        self.attributes.finish()
    }

    fn rows(&self, text: &[u8]) -> Result<Piece, Refusal> {
        let mut rows = Rows::new(self);
        let mut lines = 0;
        for line in text.strip_suffix(b"\n").unwrap_or(text).split(|&b| b == b'\n') {
            let line = line.trim_ascii();
            if !line.is_empty() && line[0] != b'%' {
                rows.row(line).map_err(|why| why.at_line(lines))?;
            }
            lines += 1;
        }
        rows.cells.shrink();
        Ok(Piece {
            cells: rows.cells,
            labels: PieceLabels {
                table: matches!(rows.labels, PieceRows::Single(_)).then_some(rows.table),
                rows: rows.labels,
            },
            lines,
            highest: None,
        })
    }
}

/// The rows of one piece of text.
struct Rows<'f> {
    format: &'f Arff,
    attributes: &'f Attributes,
    cells: PieceCells,
    table: LabelTable,
    labels: PieceRows,
}

impl<'f> Rows<'f> {
    fn new(format: &'f Arff) -> Rows<'f> {
        let attributes = &format.attributes;
        Rows {
            format,
            attributes,
            cells: PieceCells::Dense {
                cols: attributes.features,
                rows: 0,
                values: GrowingValues::new(format.storage),
                from_text: true,
            },
            table: LabelTable::default(),
            labels: if attributes.multilabel {
                PieceRows::Sets { lengths: Vec::new(), items: Vec::new() }
            } else if attributes.has_target {
                PieceRows::targets()
            } else {
                PieceRows::Single(Vec::new())
            },
        }
    }

    fn row(&mut self, line: &[u8]) -> Result<(), Refusal> {
        let sparse = line.strip_prefix(b"{");
        if sparse.is_some() {
            self.become_sparse();
        }
        let labels_before = self.labels.items_mut().len();
        let entries_before = self.cells.entries();
        match sparse {
            Some(inner) => self.sparse_row(inner)?,
            None => self.dense_row(line)?,
        }
        match &mut self.cells {
            PieceCells::Dense { rows, .. } => *rows += 1,
            PieceCells::Sparse { lengths, values, .. } => {
                lengths.push((values.len() - entries_before) as u32);
            }
        }
        if let PieceRows::Sets { lengths, items } = &mut self.labels {
            lengths.push((items.len() - labels_before) as u32);
        }
        Ok(())
    }

    fn dense_row(&mut self, line: &[u8]) -> Result<(), Refusal> {
        let comma = line.contains(&b',');
        let separator = if comma { Separator::Byte(b',') } else { Separator::Blanks };
        let mut cells = Cells::weka(line, separator);
        let expected = self.attributes.roles.len();
        loop {
            let at = cells.given;
            if let Some(&Role::Feature(column)) = self.attributes.roles.get(at)
                && let Some(value) = cells.next_number()
            {
                self.feature(column, value, line).map_err(|why| why.at_cell(at))?;
                continue;
            }
            let Some(cell) = cells.next() else { break };
            let cell = cell?;
            let Some(&role) = self.attributes.roles.get(at) else {
                return Err(Refusal::new(format!("{expected} values"), "more"));
            };
            self.cell(role, &cell).map_err(|why| why.at_cell(at))?;
        }
        if cells.given < expected {
            return Err(Refusal::new(format!("{expected} values"), cells.given.to_string()));
        }
        Ok(())
    }

    /// A row whose opening brace has been read.
    fn sparse_row(&mut self, inner: &[u8]) -> Result<(), Refusal> {
        if let Some(name) = &self.attributes.not_sparse {
            // Weka leaves out an attribute's first value, whatever it is.
            let expected = format!("0 as the first value of {} in", quoted(name.as_bytes()));
            return Err(Refusal::new(format!("{expected} a file with sparse rows"), "another"));
        }
        let Some(inner) = inner.strip_suffix(b"}") else {
            return Err(Refusal::new("a row that ends with a brace", quoted(inner)));
        };
        let mut cells = Cells::weka(inner, Separator::Byte(b','));
        let mut last: Option<usize> = None;
        let mut has_class = self.attributes.multilabel;
        let mut has_target = !self.attributes.has_target;
        while let Some(rest) = cells.rest {
            let rest = rest.trim_ascii_start();
            if rest.is_empty() && last.is_none() {
                break;
            }
            let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
            let after = &rest[digits..];
            let index = std::str::from_utf8(&rest[..digits]).ok().and_then(|i| i.parse().ok());
            let (Some(index), Some(b' ' | b'\t')) = (index, after.first()) else {
                return Err(Refusal::new("an index and a value", quoted(rest)));
            };
            let Some(&role) = self.attributes.roles.get(index) else {
                let expected = format!("an index below {}", self.attributes.roles.len());
                return Err(Refusal::new(expected, quoted(&rest[..digits])));
            };
            if let Some(last) = last.filter(|&last| last >= index) {
                let found = format!("{index} after {last}");
                return Err(Refusal::new("indices in ascending order", found));
            }
            last = Some(index);
            cells.rest = Some(after);
            let value = cells.next().transpose()?.unwrap_or_default();
            has_class |= matches!(role, Role::Class);
            has_target |= matches!(role, Role::Target);
            self.cell(role, &value)?;
        }
        if !has_target {
            self.cell(Role::Target, b"0")?;
        }
        if !has_class && let Some(first) = &self.attributes.first_class {
            self.cell(Role::Class, first.as_bytes())?;
        }
        Ok(())
    }

    /// Sparse rows in a dense table would let three bytes stand for any number of zeros.
    fn become_sparse(&mut self) {
        if let PieceCells::Dense { cols, .. } = self.cells {
            let none = PieceCells::Dense {
                cols,
                rows: 0,
                values: GrowingValues::new(self.format.storage),
                from_text: true,
            };
            let dense = std::mem::replace(&mut self.cells, none);
            self.cells = dense.into_sparse(self.format.storage);
        }
    }

    fn cell(&mut self, role: Role, cell: &[u8]) -> Result<(), Refusal> {
        if cell == b"?" {
            return Err(Refusal::new("a value", "'?' (a missing one)"));
        }
        match role {
            Role::Class => {
                let known = self.table.len();
                let id = self.table.insert_spelled(cell)?;
                // Each class has to be looked up among the declared ones only once.
                if id as usize == known && !self.attributes.classes.has_spelled(cell) {
                    return Err(Refusal::new("one of the declared classes", quoted(cell)));
                }
                if let PieceRows::Single(ids) = &mut self.labels {
                    ids.push(id);
                }
                Ok(())
            }
            Role::Target => self.labels.push_targets(&[target(cell)?]),
            Role::Label(id) => {
                let has_label = zero_or_one(cell)?;
                if let PieceRows::Sets { items, .. } = &mut self.labels
                    && has_label
                {
                    items.push(id);
                }
                Ok(())
            }
            Role::Binary(column) => {
                let value = f64::from(u8::from(zero_or_one(cell)?));
                self.feature(column, value, cell)
            }
            Role::Feature(column) => {
                let value = number::parse(cell).map_err(|why| bad_number(cell, why))?;
                self.feature(column, value, cell)
            }
        }
    }

    fn feature(&mut self, column: u32, value: f64, cell: &[u8]) -> Result<(), Refusal> {
        let fits = match &mut self.cells {
            PieceCells::Dense { values, .. } => values.push(value),
            PieceCells::Sparse { columns, values, .. } => {
                if value == 0.0 {
                    return Ok(());
                }
                columns.push(column);
                values.push(value)
            }
        };
        if fits {
            return Ok(());
        }
        Err(Refusal::new("values within the range of f32", quoted(cell)))
    }
}

fn zero_or_one(cell: &[u8]) -> Result<bool, Refusal> {
    match number::parse(cell) {
        Ok(0.0) => Ok(false),
        Ok(1.0) => Ok(true),
        _ => Err(Refusal::new("0 or 1", quoted(cell))),
    }
}
