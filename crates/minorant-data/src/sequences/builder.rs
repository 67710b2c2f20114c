//! Puts sequences together token by token, whatever format they come from, and makes the final
//! order of labels and attributes.

use super::attributes::Numbering;
use super::{Attributes, SequenceOptions, Sequences, Template};
use crate::dataset::Label;
use crate::error::{ReadError, Refusal, quoted};
use crate::values::GrowingValues;
use minorant_linalg::Matrix;
use std::collections::HashMap;
use std::sync::Arc;

/// Labels are 16-bit numbers.
const MOST_LABELS: usize = 1 << 16;

/// Sequences that are being read.
#[derive(Debug)]
pub(super) struct Builder<'o> {
    pub(super) options: &'o SequenceOptions,
    numbering: Numbering,
    /// Columns without names, where the files have such.
    width: Option<usize>,
    pub(super) template: Option<Template>,
    row_starts: Vec<u64>,
    columns: Vec<u32>,
    values: GrowingValues,
    starts: Vec<usize>,
    labels: Vec<u16>,
    label_ids: HashMap<Box<str>, u16>,
    lines: Vec<String>,
    unknown: usize,
}

impl<'o> Builder<'o> {
    pub(super) fn new(options: &'o SequenceOptions) -> Self {
        let numbering = match (&options.known, options.hash_bits) {
            (Some(Attributes::Named(names)), _) => Numbering::Known(
                names
                    .iter()
                    .enumerate()
                    .map(|(at, name)| (name.as_str().into(), at as u32))
                    .collect(),
            ),
            (Some(Attributes::Hashed(bits)), _) => Numbering::Hashed(*bits),
            (None, Some(bits)) => Numbering::Hashed(bits),
            _ => Numbering::Growing { ids: HashMap::new(), counts: Vec::new() },
        };
        Builder {
            options,
            numbering,
            width: None,
            template: None,
            row_starts: vec![0],
            columns: Vec::new(),
            values: GrowingValues::new(options.storage),
            starts: vec![0],
            labels: Vec::new(),
            label_ids: HashMap::new(),
            lines: Vec::new(),
            unknown: 0,
        }
    }

    pub(super) fn tokens(&self) -> usize {
        self.row_starts.len() - 1
    }

    /// Adds a named attribute to the token at hand.
    pub(super) fn attribute(&mut self, name: &str, value: f64) -> Result<(), Refusal> {
        match self.numbering.column(name) {
            Some(column) => self.push(column, value),
            None if matches!(self.numbering, Numbering::Known(_)) => {
                self.unknown += 1;
                Ok(())
            }
            None => Err(Refusal::new("fewer than 2^31 attributes", "more")),
        }
    }

    /// Adds a value in a column without a name, of `width` such columns.
    pub(super) fn cell(&mut self, column: usize, value: f64) -> Result<(), Refusal> {
        if value == 0.0 {
            return Ok(());
        }
        let known = match &self.options.known {
            Some(Attributes::Columns(known)) => *known,
            _ => usize::MAX,
        };
        if column >= known {
            self.unknown += 1;
            return Ok(());
        }
        self.push(column as u32, value)
    }

    /// Tells that tokens have this many columns without names.
    pub(super) fn set_width(&mut self, width: usize) -> Result<(), Refusal> {
        if width >= 1 << 31 {
            return Err(Refusal::new("fewer than 2^31 columns", width.to_string()));
        }
        if !matches!(self.options.known, None | Some(Attributes::Columns(_))) {
            return Err(Refusal::new("named attributes, as the model has them", "columns"));
        }
        match self.width {
            Some(known) if known != width => {
                Err(Refusal::new(format!("{known} columns as before"), width.to_string()))
            }
            _ => {
                self.width = Some(width);
                Ok(())
            }
        }
    }

    fn push(&mut self, column: u32, value: f64) -> Result<(), Refusal> {
        self.columns.push(column);
        if self.values.push(value) {
            return Ok(());
        }
        Err(Refusal::new("values within the range of f32", value.to_string()))
    }

    /// Ends the token at hand.
    pub(super) fn end_token(&mut self, label: Option<&str>, line: &str) -> Result<(), Refusal> {
        self.row_starts.push(self.columns.len() as u64);
        if let Some(label) = label {
            let next = self.label_ids.len();
            let id = match self.label_ids.get(label) {
                Some(&id) => id,
                None if next >= MOST_LABELS => {
                    return Err(Refusal::new("at most 65536 labels", quoted(label.as_bytes())));
                }
                None => *self.label_ids.entry(label.into()).or_insert(next as u16),
            };
            self.labels.push(id);
        }
        // A file has labels or it has none.
        if !self.labels.is_empty() && self.labels.len() != self.tokens() {
            let found = if label.is_some() { "a label after tokens without" } else { "no label" };
            return Err(Refusal::new("labels for all tokens or for none", found));
        }
        if self.options.keep_lines {
            self.lines.push(line.to_owned());
        }
        Ok(())
    }

    /// Ends the sequence at hand, if it has tokens.
    pub(super) fn end_sequence(&mut self) {
        if self.starts.last() != Some(&self.tokens()) {
            self.starts.push(self.tokens());
        }
    }

    /// Ends a sequence that may be empty.
    pub(super) fn end_even_empty_sequence(&mut self) {
        self.starts.push(self.tokens());
    }

    pub(super) fn finish(self, name: &str) -> Result<Sequences, ReadError> {
        let (attributes, renumbered) = self.attributes(name)?;
        let (row_starts, columns, values) = match renumbered {
            None => (self.row_starts, self.columns, self.values),
            Some(new) => {
                keep_columns(&self.row_starts, &self.columns, &self.values, &new, self.options)
            }
        };
        let tokens = Matrix::csr(attributes.len(), row_starts, columns, values.into_values());
        let tokens = tokens
            .map_err(|why| ReadError::whole(name, "tokens that fit together", why.to_string()))?;
        let (classes, order) = ordered(self.label_ids);
        let labels = self.labels.iter().map(|&id| order[id as usize]).collect();
        Ok(Sequences {
            tokens,
            starts: self.starts,
            labels,
            classes,
            attributes,
            template: self.template,
            lines: self.lines,
            unknown: self.unknown,
        })
    }

    /// What the columns are, and their new numbers where rare ones are left out.
    fn attributes(&self, name: &str) -> Result<(Attributes, Option<NewColumns>), ReadError> {
        if let Some(known) = &self.options.known {
            return Ok((known.clone(), None));
        }
        let Numbering::Growing { ids, counts } = &self.numbering else {
            return Ok((Attributes::Hashed(self.options.hash_bits.unwrap_or(0)), None));
        };
        if let Some(width) = self.width {
            if !ids.is_empty() {
                let expected = "files with names for attributes, or files without";
                return Err(ReadError::whole(name, expected, "both"));
            }
            return Ok((Attributes::Columns(width), None));
        }
        let mut names: Vec<(&str, u32)> = ids.iter().map(|(name, &id)| (&**name, id)).collect();
        names.sort_unstable_by_key(|&(_, id)| id);
        let least = self.options.min_count;
        if least <= 1 {
            let names = names.into_iter().map(|(name, _)| name.to_owned()).collect();
            return Ok((Attributes::Named(Arc::new(names)), None));
        }
        let mut kept = Vec::new();
        let mut new = Vec::with_capacity(names.len());
        for (name, id) in names {
            new.push((counts[id as usize] >= least).then(|| {
                kept.push(name.to_owned());
                kept.len() as u32 - 1
            }));
        }
        Ok((Attributes::Named(Arc::new(kept)), Some(new)))
    }
}

/// For each column its new number, or none where it is left out.
type NewColumns = Vec<Option<u32>>;

fn keep_columns(
    row_starts: &[u64],
    columns: &[u32],
    values: &GrowingValues,
    new: &[Option<u32>],
    options: &SequenceOptions,
) -> (Vec<u64>, Vec<u32>, GrowingValues) {
    let mut kept = (vec![0], Vec::new(), GrowingValues::new(options.storage));
    for row in row_starts.windows(2) {
        for at in row[0] as usize..row[1] as usize {
            if let Some(column) = new[columns[at] as usize] {
                kept.1.push(column);
                // It was stored once already, so it fits the storage.
                let _ = kept.2.push(values.get(at));
            }
        }
        kept.0.push(kept.1.len() as u64);
    }
    kept
}

/// Labels in order, and for each number the place of its label.
fn ordered(ids: HashMap<Box<str>, u16>) -> (Vec<String>, Vec<u16>) {
    let mut labels: Vec<(Label, String, u16)> =
        ids.into_iter().map(|(name, id)| (Label::parse(&name), name.into(), id)).collect();
    let numbers = labels.iter().all(|(label, ..)| matches!(label, Label::Number(_)));
    labels.sort_by(|a, b| {
        let by_number = || a.0.in_order(&b.0).then_with(|| a.1.cmp(&b.1));
        if numbers { by_number() } else { a.1.cmp(&b.1) }
    });
    let mut order = vec![0; labels.len()];
    for (at, (_, _, id)) in labels.iter().enumerate() {
        order[*id as usize] = at as u16;
    }
    (labels.into_iter().map(|(_, name, _)| name).collect(), order)
}
