//! Puts sequences together token by token, whatever format they come from, and makes the final
//! order of labels and attributes. Where somebody takes them, tokens are handed on instead, some whole
//! sequences at a time.

use super::attributes::Numbering;
use super::{Attributes, SequenceOptions, Sequences, Template};
use crate::cache::TokenFacts;
use crate::dataset::Label;
use crate::error::{ReadError, Refusal, quoted};
use crate::piece::{Cells, PieceRows};
use crate::values::GrowingValues;
use minorant_linalg::Matrix;
use std::collections::HashMap;
use std::sync::Arc;

/// Labels are 16-bit numbers.
const MOST_LABELS: usize = 1 << 16;

/// Bytes of tokens that are handed on at a time.
const PIECE: usize = 1 << 20;

/// Where tokens go that are not kept in memory.
pub(crate) trait SequenceOutlet {
    /// Takes the tokens of whole sequences, which have these lengths; labels are numbers of `names`.
    fn take(
        &mut self,
        tokens: Cells,
        names: &[Label],
        labels: PieceRows,
        lengths: Vec<u32>,
    ) -> Result<(), Refusal>;
}

/// Sequences that are being read.
pub(super) struct Builder<'o> {
    pub(super) options: &'o SequenceOptions,
    pub(super) numbering: Numbering,
    /// Columns without names, where the files have such.
    pub(super) width: Option<usize>,
    pub(super) template: Option<Template>,
    row_starts: Vec<u64>,
    columns: Vec<u32>,
    values: GrowingValues,
    pub(super) starts: Vec<usize>,
    pub(super) labels: Vec<u16>,
    label_ids: HashMap<Box<str>, u16>,
    lines: Vec<String>,
    pub(super) unknown: usize,
    outlet: Option<&'o mut dyn SequenceOutlet>,
    /// Tokens that were handed on.
    handed_on: usize,
    sequences_handed_on: u64,
    /// Whether the sequences so far are handed on before the next begins.
    is_full: bool,
}

impl<'o> Builder<'o> {
    /// A builder that hands everything on.
    pub(super) fn with_outlet(
        options: &'o SequenceOptions,
        outlet: &'o mut dyn SequenceOutlet,
    ) -> Self {
        Builder { outlet: Some(outlet), ..Builder::new(options) }
    }

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
            outlet: None,
            handed_on: 0,
            sequences_handed_on: 0,
            is_full: false,
        }
    }

    /// Tokens that are here.
    fn tokens(&self) -> usize {
        self.row_starts.len() - 1
    }

    /// Tokens that were read.
    pub(super) fn tokens_in_all(&self) -> usize {
        self.handed_on + self.tokens()
    }

    /// Adds a named attribute to the token at hand.
    pub(super) fn attribute(&mut self, name: &str, value: f64) -> Result<(), Refusal> {
        match self.numbering.column(name, 1) {
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

    pub(super) fn push(&mut self, column: u32, value: f64) -> Result<(), Refusal> {
        self.make_room()?;
        self.columns.push(column);
        if self.values.push(value) {
            return Ok(());
        }
        Err(Refusal::new("values within the range of f32", value.to_string()))
    }

    /// Ends the token at hand.
    pub(super) fn end_token(&mut self, label: Option<&str>, line: &str) -> Result<(), Refusal> {
        self.make_room()?;
        self.row_starts.push(self.columns.len() as u64);
        if let Some(label) = label {
            let id = self.label(label)?;
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

    /// The number of a label, new or known.
    pub(super) fn label(&mut self, label: &str) -> Result<u16, Refusal> {
        let next = self.label_ids.len();
        match self.label_ids.get(label) {
            Some(&id) => Ok(id),
            None if next >= MOST_LABELS => {
                Err(Refusal::new("at most 65536 labels", quoted(label.as_bytes())))
            }
            None => Ok(*self.label_ids.entry(label.into()).or_insert(next as u16)),
        }
    }

    /// Ends the sequence at hand, if it has tokens.
    pub(super) fn end_sequence(&mut self) {
        if self.starts.last() != Some(&self.tokens()) {
            self.end_even_empty_sequence();
        }
    }

    /// Ends a sequence that may be empty.
    pub(super) fn end_even_empty_sequence(&mut self) {
        self.starts.push(self.tokens());
        let bytes = 4 * self.tokens() + 8 * self.values.len();
        self.is_full = self.outlet.is_some() && bytes >= PIECE;
    }

    /// Hands on the sequences that are here, if they are enough, before another begins. Empty ones behind
    /// them go with them.
    fn make_room(&mut self) -> Result<(), Refusal> {
        if self.is_full { self.hand_on() } else { Ok(()) }
    }

    fn hand_on(&mut self) -> Result<(), Refusal> {
        let Some(outlet) = &mut self.outlet else { return Ok(()) };
        let cols = match (&self.numbering, self.width) {
            (_, Some(width)) => width,
            (Numbering::Growing { ids, .. }, None) => ids.len(),
            (Numbering::Hashed(bits), None) => 1 << bits,
            (Numbering::Known(ids), None) => ids.len(),
        };
        let mut names = vec![Label::Number(0.0); self.label_ids.len()];
        for (name, &id) in &self.label_ids {
            names[usize::from(id)] = Label::Text(name.to_string());
        }
        self.handed_on += self.row_starts.len() - 1;
        self.sequences_handed_on += self.starts.len() as u64 - 1;
        let lengths = self.row_starts.windows(2).map(|row| (row[1] - row[0]) as u32).collect();
        let columns = std::mem::take(&mut self.columns);
        let values = std::mem::replace(&mut self.values, GrowingValues::new(self.options.storage));
        let labels = match self.labels.is_empty() {
            true => PieceRows::None,
            false => PieceRows::Single(self.labels.drain(..).map(u32::from).collect()),
        };
        let sequences = self.starts.windows(2).map(|span| (span[1] - span[0]) as u32).collect();
        (self.row_starts, self.starts, self.is_full) = (vec![0], vec![0], false);
        outlet.take(Cells::Sparse { cols, lengths, columns, values }, &names, labels, sequences)
    }

    /// Hands on what is left; what the tokens are.
    pub(super) fn hand_on_the_rest(mut self, name: &str) -> Result<TokenFacts, ReadError> {
        if self.tokens() > 0 {
            self.hand_on().map_err(|why| why.in_file(name))?;
        }
        let (attributes, _) = self.attributes(name)?;
        let counts = match (self.numbering, &attributes) {
            (Numbering::Growing { counts, .. }, Attributes::Named(_)) => counts,
            _ => Vec::new(),
        };
        let template = self.template.map(|template| template.text().to_string());
        let sequences = self.sequences_handed_on;
        Ok(TokenFacts { sequences, attributes, counts, template })
    }

    pub(super) fn finish(mut self, name: &str) -> Result<Sequences, ReadError> {
        let (attributes, renumbered) = self.attributes(name)?;
        let values = GrowingValues::new(self.options.storage);
        let (row_starts, columns, values) = (
            std::mem::take(&mut self.row_starts),
            std::mem::take(&mut self.columns),
            std::mem::replace(&mut self.values, values),
        );
        let (row_starts, columns, values) = match renumbered {
            None => (row_starts, columns, values),
            Some(new) => keep_columns(&row_starts, &columns, &values, &new, self.options),
        };
        let tokens = Matrix::csr(attributes.len(), row_starts, columns, values.into_values());
        let tokens = tokens
            .map_err(|why| ReadError::whole(name, "tokens that fit together", why.to_string()))?;
        Ok(self.sequences(attributes, tokens))
    }

    /// The sequences with these tokens.
    pub(super) fn sequences(self, attributes: Attributes, tokens: Matrix<'static>) -> Sequences {
        let (classes, order) = ordered(self.label_ids);
        let labels = self.labels.iter().map(|&id| order[id as usize]).collect();
        Sequences {
            tokens,
            starts: self.starts,
            labels,
            classes,
            attributes,
            template: self.template,
            lines: self.lines,
            unknown: self.unknown,
        }
    }

    /// What the columns are, and their new numbers where rare ones are left out.
    pub(super) fn attributes(
        &self,
        name: &str,
    ) -> Result<(Attributes, Option<NewColumns>), ReadError> {
        if let Some(known) = &self.options.known {
            return Ok((known.clone(), None));
        }
        let (ids, counts) = match &self.numbering {
            Numbering::Growing { ids, counts } => (ids, counts),
            Numbering::Hashed(bits) => return Ok((Attributes::Hashed(*bits), None)),
            Numbering::Known(_) => unreachable!("what is known was given"),
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
