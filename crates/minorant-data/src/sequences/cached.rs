//! Sequences from caches: their blocks are put together token by token like those of any other format, or the
//! tokens stay where they are and are fetched when they are used. Columns of a cache get the numbers that the
//! attributes of all files have together, or that a model has for them.

use super::attributes::Numbering;
use super::builder::Builder;
use super::{Attributes, Sequences, Template};
use crate::cache::{Cache, Kept, TokenFacts, leave_tokens_on_disk, read_tokens};
use crate::error::{ReadError, Refusal};
use crate::piece::Cells;
use crate::source::Source;

impl Builder<'_> {
    /// The columns of a cache that are kept, under the numbers that they have here.
    fn columns_of(&mut self, facts: &TokenFacts) -> Result<Kept, Refusal> {
        if let (None, Some(text)) = (&self.template, &facts.template) {
            let template = Template::parse("the template of a cache", text);
            let damaged = |_| Refusal::new("a template that can be read", "another");
            self.template = Some(template.map_err(damaged)?);
        }
        match &facts.attributes {
            Attributes::Named(_) if matches!(self.options.known, Some(Attributes::Columns(_))) => {
                Err(Refusal::new("columns without names, as the model has them", "names"))
            }
            Attributes::Named(names) => {
                let number = |(name, &tokens): (&String, &u64)| {
                    let column = self.numbering.column(name, tokens);
                    match (column, &self.numbering) {
                        (None, Numbering::Growing { .. } | Numbering::Hashed(_)) => {
                            Err(Refusal::new("fewer than 2^31 attributes", "more"))
                        }
                        (column, _) => Ok(column),
                    }
                };
                let numbers = names.iter().zip(&facts.counts).map(number);
                Ok(Kept::Numbered(numbers.collect::<Result<_, _>>()?))
            }
            Attributes::Hashed(bits) => {
                let is_new =
                    matches!(&self.numbering, Numbering::Growing { ids, .. } if ids.is_empty());
                if is_new && self.width.is_none() && self.options.known.is_none() {
                    self.numbering = Numbering::Hashed(*bits);
                }
                match &self.numbering {
                    Numbering::Hashed(known) if known == bits => Ok(Kept::All),
                    _ => {
                        let expected = match &self.numbering {
                            Numbering::Hashed(known) => {
                                format!("attributes hashed to {known} bits")
                            }
                            _ => "attributes with names".into(),
                        };
                        Err(Refusal::new(expected, format!("attributes hashed to {bits} bits")))
                    }
                }
            }
            Attributes::Columns(width) => {
                self.set_width(*width)?;
                match &self.options.known {
                    Some(Attributes::Columns(known)) if known < width => Ok(Kept::Below(*known)),
                    _ => Ok(Kept::All),
                }
            }
        }
    }

    /// Reads the tokens of a cache.
    pub(super) fn read_cache(&mut self, source: &Source<'_>) -> Result<(), ReadError> {
        let mut cache = Cache::of(source)?;
        let facts = cache.tokens()?.clone();
        let at_file = |why: Refusal| why.in_file(&source.name());
        if self.options.keep_lines {
            let found = "a cache, which has no lines of tokens";
            return Err(at_file(Refusal::new("the files that the cache was made of", found)));
        }
        let kept = self.columns_of(&facts).map_err(at_file)?;
        read_tokens(&mut cache, self.options.storage, |block| {
            let Some(Cells::Sparse { lengths, columns, values, .. }) = &block.cells else {
                return Err(Refusal::new("sparse rows of tokens", "dense ones"));
            };
            let (mut token, mut entry) = (0, 0);
            for length in &block.sequences {
                for _ in 0..*length {
                    for at in entry..entry + lengths[token] as usize {
                        match kept.number(columns[at]) {
                            Some(column) => self.push(column, values.get(at))?,
                            None => self.unknown += 1,
                        }
                    }
                    entry += lengths[token] as usize;
                    let label = block.labels.as_ref().map(|ids| block.word(ids[token]));
                    self.end_token(label.transpose()?, "")?;
                    token += 1;
                }
                self.end_even_empty_sequence();
            }
            Ok(())
        })
    }

    /// The sequences of a cache whose tokens stay where they are; nothing where they would take no more than
    /// `most` bytes.
    pub(super) fn leave_on_disk(
        mut self,
        source: &Source<'_>,
        most: u64,
    ) -> Result<Option<Sequences>, ReadError> {
        let (name, storage) = (source.name(), self.options.storage);
        let cache = Cache::of(source)?;
        let facts = cache.tokens()?.clone();
        if self.options.keep_lines || cache.bytes_of_tokens(storage) <= most {
            return Ok(None);
        }
        let mut kept = self.columns_of(&facts).map_err(|why| why.in_file(&name))?;
        let (attributes, renumbered) = self.attributes(&name)?;
        if let (Kept::Numbered(numbers), Some(new)) = (&mut kept, renumbered) {
            for number in numbers {
                *number = number.and_then(|number| new[number as usize]);
            }
        }
        let columns = (attributes.len(), kept);
        let left = leave_tokens_on_disk(source, cache, storage, columns, most, |block| {
            for length in &block.sequences {
                let before = self.starts.last().copied().unwrap_or(0);
                self.starts.push(before + *length as usize);
            }
            for &id in block.labels.iter().flatten() {
                let label = self.label(block.word(id)?)?;
                self.labels.push(label);
            }
            Ok(())
        })?;
        let Some((tokens, left_out)) = left else { return Ok(None) };
        if !self.labels.is_empty() && self.labels.len() != tokens.rows() {
            let expected = "labels for all tokens or for none";
            return Err(ReadError::whole(&name, expected, "some without"));
        }
        // Attributes that are too rare are not told of.
        self.unknown = if self.options.known.is_some() { left_out } else { 0 };
        Ok(Some(self.sequences(attributes, tokens)))
    }
}
