//! CoNLL columns: one token a line, columns separated by blanks or tabs, the label in the last
//! one, a blank line between sequences. A template makes attributes of the columns.

use super::builder::Builder;
use super::lines::for_each_line;
use super::template::{Template, Window};
use crate::error::{ReadError, Refusal, quoted};
use crate::source::Source;

/// The lines of a sequence that is being read.
#[derive(Default)]
struct Pending {
    lines: Vec<String>,
    first_line: u64,
}

pub(super) fn read(source: &Source<'_>, builder: &mut Builder<'_>) -> Result<(), ReadError> {
    let mut pending = Pending::default();
    let (mut line_number, mut width) = (0, None);
    for_each_line(source, |line| {
        line_number += 1;
        if line.trim().is_empty() {
            return pending.flush(builder);
        }
        let columns = line.split_ascii_whitespace().count();
        if width.is_none() && is_libsvm(line) {
            let expected = "columns of a token, with its label in the last";
            return Err(Refusal::new(
                expected,
                format!("a LIBSVM row, {}", quoted(line.as_bytes())),
            ));
        }
        let expected = *width.get_or_insert(columns);
        if columns != expected {
            return Err(Refusal::new(
                format!("{expected} columns as in the lines before"),
                columns.to_string(),
            ));
        }
        if builder.template.is_none() {
            let template = builder.options.template.clone();
            // With a model, a file may lack the last column, the label's.
            builder.template = Some(template.unwrap_or_else(|| Template::common(columns)));
        }
        if pending.lines.is_empty() {
            pending.first_line = line_number - 1;
        }
        pending.lines.push(line.to_owned());
        Ok(())
    })?;
    pending.flush(builder).map_err(|why| why.in_file(&source.name()))
}

/// Whether a line looks like a row of features: a number, and then `index:value` throughout.
fn is_libsvm(line: &str) -> bool {
    let mut columns = line.split_ascii_whitespace();
    let is_entry = |column: &str| {
        column.split_once(':').is_some_and(|(index, value)| {
            index.parse::<u64>().is_ok() && value.parse::<f64>().is_ok()
        })
    };
    let is_label = columns.next().is_some_and(|label| label.parse::<f64>().is_ok());
    let mut entries = columns.peekable();
    is_label && entries.peek().is_some() && entries.all(is_entry)
}

impl Pending {
    fn flush(&mut self, builder: &mut Builder<'_>) -> Result<(), Refusal> {
        let rows: Vec<Vec<&str>> =
            self.lines.iter().map(|line| line.split_ascii_whitespace().collect()).collect();
        let Some(columns) = rows.first().map(Vec::len) else { return Ok(()) };
        let at = |token: usize| self.first_line + token as u64;
        let Some(template) = builder.template.clone() else { return Ok(()) };
        let needed = template.columns();
        let for_prediction = builder.options.known.is_some();
        let has_labels = columns > needed || (columns > 1 && !for_prediction);
        if columns < needed + usize::from(!for_prediction) {
            let label = if for_prediction { "" } else { " and a label" };
            let s = if needed == 1 { "" } else { "s" };
            let expected = match columns {
                1 if !for_prediction => "a token and its label, separated by a blank or tab".into(),
                _ => format!("{needed} column{s} for the template{label}"),
            };
            let columns = match columns {
                1 => "1 column".to_string(),
                _ => format!("{columns} columns"),
            };
            return Err(Refusal::new(expected, columns).at_line(at(0)));
        }
        let mut text = String::new();
        for (token, row) in rows.iter().enumerate() {
            let window = Window { rows: &rows, token };
            for attribute in template.attributes() {
                text.clear();
                if attribute.expand(window, &mut text) {
                    builder.attribute(&text, 1.0).map_err(|why| why.at_line(at(token)))?;
                }
            }
            let label = row.last().copied().filter(|_| has_labels);
            builder.end_token(label, &self.lines[token]).map_err(|why| why.at_line(at(token)))?;
        }
        builder.end_sequence();
        self.lines.clear();
        Ok(())
    }
}
