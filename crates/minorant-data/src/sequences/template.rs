//! Templates: how the columns around a token become its attributes. A line is an attribute's text,
//! in which `%x[row,column]` stands for the cell in that column of the token `row` lines further
//! on. An attribute that would reach over the end of the sequence is left out. `__BOS__` and
//! `__EOS__` are the attributes of first and last tokens.

use crate::error::{ReadError, Refusal, quoted};

/// Attributes of tokens in terms of columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    text: String,
    attributes: Vec<Attribute>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Attribute {
    First,
    Last,
    Pieces(Vec<Piece>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Cell { row: i32, column: usize },
}

/// A token among the others of its sequence.
#[derive(Clone, Copy)]
pub(super) struct Window<'w> {
    pub(super) rows: &'w [Vec<&'w str>],
    pub(super) token: usize,
}

impl Template {
    /// Parses a template; `name` stands for it in refusals.
    pub fn parse(name: &str, text: &str) -> Result<Template, ReadError> {
        let mut attributes = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            // `B` asks for label pairs in CRF++'s templates; chains always have them.
            if line.is_empty() || line.starts_with('#') || line == "B" {
                continue;
            }
            let parsed = parse_line(line).map_err(|why| why.at_line(number as u64).in_file(name));
            attributes.push(parsed?);
        }
        if attributes.is_empty() {
            return Err(ReadError::whole(name, "at least one attribute", "none"));
        }
        Ok(Template { text: text.to_owned(), attributes })
    }

    /// A common template for files of `columns` columns, the label's among them: words around the
    /// token and word pairs, and the same with triples for the second column.
    pub(super) fn common(columns: usize) -> Template {
        let mut text = String::new();
        let mut add = |letter: char, column: usize, rows: &[i32]| {
            let names: Vec<String> = rows.iter().map(|row| format!("{letter}[{row}]")).collect();
            let cells: Vec<String> = rows.iter().map(|row| format!("%x[{row},{column}]")).collect();
            text += &format!("{}={}\n", names.join("|"), cells.join("|"));
        };
        (-2..=2).for_each(|row| add('w', 0, &[row]));
        [-1, 0].into_iter().for_each(|row| add('w', 0, &[row, row + 1]));
        if columns > 2 {
            (-2..=2).for_each(|row| add('p', 1, &[row]));
            (-2..=1).for_each(|row| add('p', 1, &[row, row + 1]));
            (-2..=0).for_each(|row| add('p', 1, &[row, row + 1, row + 2]));
        }
        text += "__BOS__\n__EOS__\n";
        // The text above is a template; an error here would be one of this function.
        Template::parse("the common template", &text)
            .unwrap_or_else(|error| unreachable!("{error}"))
    }

    /// The template as text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many columns it needs.
    pub(super) fn columns(&self) -> usize {
        let of = |attribute: &Attribute| match attribute {
            Attribute::Pieces(pieces) => pieces
                .iter()
                .map(|piece| if let Piece::Cell { column, .. } = piece { column + 1 } else { 0 })
                .max(),
            _ => None,
        };
        self.attributes.iter().filter_map(of).max().unwrap_or(0)
    }

    pub(super) fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }
}

impl Attribute {
    /// Writes the attribute of a token; false where it has none.
    pub(super) fn expand(&self, window: Window<'_>, text: &mut String) -> bool {
        let pieces = match self {
            Attribute::First => {
                text.push_str("__BOS__");
                return window.token == 0;
            }
            Attribute::Last => {
                text.push_str("__EOS__");
                return window.token + 1 == window.rows.len();
            }
            Attribute::Pieces(pieces) => pieces,
        };
        for piece in pieces {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Cell { row, column } => {
                    let at = window.token as i64 + i64::from(*row);
                    let row = usize::try_from(at).ok().and_then(|at| window.rows.get(at));
                    let Some(cell) = row.and_then(|row| row.get(*column)) else { return false };
                    text.push_str(cell);
                }
            }
        }
        true
    }
}

fn parse_line(line: &str) -> Result<Attribute, Refusal> {
    match line {
        "__BOS__" => return Ok(Attribute::First),
        "__EOS__" => return Ok(Attribute::Last),
        _ => {}
    }
    let mut pieces = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find("%x[") {
        if start > 0 {
            pieces.push(Piece::Text(rest[..start].to_owned()));
        }
        let after = &rest[start + 3..];
        let cell = after.find(']').and_then(|end| {
            let (row, column) = after[..end].split_once(',')?;
            let row: i32 = row.trim().parse().ok().filter(|row| (-999..1000).contains(row))?;
            let column: usize = column.trim().parse().ok().filter(|column| *column < 1000)?;
            Some((Piece::Cell { row, column }, end))
        });
        let Some((piece, end)) = cell else {
            return Err(Refusal::new("%x[row,column]", quoted(&rest.as_bytes()[start..])));
        };
        pieces.push(piece);
        rest = &after[end + 1..];
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    Ok(Attribute::Pieces(pieces))
}
