//! CRFsuite's attribute lists: a label, then attributes with optional values, separated by tabs;
//! `name:2.5` has the value 2.5, `\:` and `\\` stand for themselves, a blank line ends a sequence.

use super::builder::Builder;
use super::lines::for_each_line;
use crate::error::{ReadError, Refusal, quoted};
use crate::number;
use crate::source::Source;

pub(super) fn read(source: &Source<'_>, builder: &mut Builder<'_>) -> Result<(), ReadError> {
    let mut name = String::new();
    let for_prediction = builder.options.known.is_some();
    for_each_line(source, |line| {
        if line.trim().is_empty() {
            builder.end_sequence();
            return Ok(());
        }
        let mut cells = line.split('\t');
        let label = cells.next().unwrap_or_default();
        if label.is_empty() && !for_prediction {
            return Err(Refusal::new("a label before the first tab", "none"));
        }
        for (at, cell) in cells.enumerate().filter(|(_, cell)| !cell.is_empty()) {
            let value = split(cell, &mut name).map_err(|why| why.at_cell(at + 1))?;
            builder.attribute(&name, value)?;
        }
        builder.end_token((!label.is_empty()).then_some(label), line)
    })?;
    builder.end_sequence();
    Ok(())
}

/// The name of an attribute, unescaped, and its value.
fn split(cell: &str, name: &mut String) -> Result<f64, Refusal> {
    name.clear();
    let mut characters = cell.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some((_, escaped @ (':' | '\\'))) => name.push(escaped),
                Some((_, other)) => name.extend(['\\', other]),
                None => name.push('\\'),
            },
            ':' => {
                let value = &cell[at + 1..];
                return number::parse(value.as_bytes()).map_err(|_| {
                    Refusal::new(
                        "a number after the colon (\\: stands for a colon in a name)",
                        quoted(cell.as_bytes()),
                    )
                });
            }
            other => name.push(other),
        }
    }
    Ok(1.0)
}
