//! What only the whole of a cache can show: where its blocks are, how many rows, columns and entries there
//! are, and which storage and layout a reader would choose for them. Written at the end, read first.

use super::bytes::{Bytes, Put};
use crate::collect::MOST_COLUMNS;
use crate::dataset::Label;
use crate::error::Refusal;
use crate::sequences::Attributes;
use std::sync::Arc;

/// Where a block is, and its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockPlace {
    /// Where its frame begins.
    pub(super) offset: u64,
    /// Bytes of its frame.
    pub(super) length: u64,
    /// Its rows.
    pub(super) rows: u64,
}

/// A cache as a whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Summary {
    pub(super) blocks: Vec<BlockPlace>,
    pub(super) rows: u64,
    /// The highest column that a row has, and one.
    pub(super) columns: u64,
    /// Values that are stored, zeros of dense rows included.
    pub(super) entries: u64,
    /// Values other than 0.
    pub(super) nonzeros: u64,
    /// Whether every value is exactly an f32.
    pub(super) is_single: bool,
    /// Whether all rows came as dense ones of the same width.
    pub(super) is_dense: bool,
    /// Whether all dense rows came from text, so that few values other than 0 make them sparse.
    pub(super) is_text: bool,
    /// Classes that exist even where no row has them.
    pub(super) declared: Vec<Label>,
    /// Names of the columns, where they have some.
    pub(super) names: Vec<String>,
    /// Whether the examples have weights, which are in the blocks.
    pub(super) has_weights: bool,
    /// What the tokens are, where rows are tokens of sequences.
    pub(super) tokens: Option<TokenFacts>,
}

/// What is known of tokens in whole sequences.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TokenFacts {
    /// Number of sequences.
    pub(crate) sequences: u64,
    /// What their columns are.
    pub(crate) attributes: Attributes,
    /// How many tokens each named attribute has: rare ones may be left out by whoever reads.
    pub(crate) counts: Vec<u64>,
    /// The template that made the attributes, where one did.
    pub(crate) template: Option<String>,
}

impl Summary {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let flags = [self.is_single, self.is_dense, self.is_text, self.has_weights];
        out.extend(flags.map(u8::from));
        for count in [self.rows, self.columns, self.entries, self.nonzeros] {
            out.put_u64(count as usize);
        }
        out.put_u64(self.blocks.len());
        for block in &self.blocks {
            for number in [block.offset, block.length, block.rows] {
                out.put_u64(number as usize);
            }
        }
        out.put_u64(self.declared.len());
        self.declared.iter().for_each(|label| put_label(&mut out, label));
        out.put_u64(self.names.len());
        self.names.iter().for_each(|name| out.put_text(name));
        out.push(u8::from(self.tokens.is_some()));
        if let Some(tokens) = &self.tokens {
            tokens.encode(&mut out);
        }
        out
    }

    pub(super) fn decode(body: &[u8]) -> Result<Self, Refusal> {
        let mut from = Bytes::new(body);
        let mut flag = || from.u8().map(|flag| flag != 0);
        let [is_single, is_dense, is_text, has_weights] = [flag()?, flag()?, flag()?, flag()?];
        let (rows, columns) = (from.u64()?, from.u64()?);
        let (entries, nonzeros) = (from.u64()?, from.u64()?);
        let count = from.count()?;
        let numbers = from.items(count.saturating_mul(3), u64::from_le_bytes)?;
        let place = |[offset, length, rows]: &[u64; 3]| BlockPlace {
            offset: *offset,
            length: *length,
            rows: *rows,
        };
        let blocks = numbers.as_chunks::<3>().0.iter().map(place).collect();
        let declared = (0..from.count()?).map(|_| label(&mut from)).collect::<Result<_, _>>()?;
        let names = (0..from.count()?).map(|_| from.text()).collect::<Result<_, _>>()?;
        let tokens = match from.u8()? {
            0 => None,
            _ => Some(TokenFacts::decode(&mut from, columns)?),
        };
        from.end()?;
        Ok(Summary {
            blocks,
            rows,
            columns,
            entries,
            nonzeros,
            is_single,
            is_dense,
            is_text,
            declared,
            names,
            has_weights,
            tokens,
        })
    }

    /// Refuses blocks that do not lie one behind the other from `start` to `end`, and sums that are not
    /// theirs.
    pub(super) fn check(&self, start: u64, end: u64) -> Result<(), Refusal> {
        let (mut at, mut rows) = (start, 0u64);
        for block in &self.blocks {
            let fits = block.offset == at && block.rows > 0;
            let next = at.checked_add(block.length).filter(|&next| fits && next <= end);
            at = next.ok_or_else(misfit)?;
            rows = rows.checked_add(block.rows).ok_or_else(misfit)?;
        }
        if at != end || rows != self.rows || self.nonzeros > self.entries {
            return Err(misfit());
        }
        Ok(())
    }
}

impl TokenFacts {
    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u64(self.sequences as usize);
        match &self.attributes {
            Attributes::Named(names) => {
                out.push(0);
                out.put_u64(names.len());
                names.iter().for_each(|name| out.put_text(name));
                self.counts.iter().for_each(|&count| out.put_u64(count as usize));
            }
            Attributes::Hashed(bits) => {
                out.push(1);
                out.put_u64(*bits as usize);
            }
            Attributes::Columns(columns) => {
                out.push(2);
                out.put_u64(*columns);
            }
        }
        out.push(u8::from(self.template.is_some()));
        self.template.iter().for_each(|text| out.put_text(text));
    }

    /// The facts of tokens with so many columns at least.
    fn decode(from: &mut Bytes<'_>, columns: u64) -> Result<Self, Refusal> {
        let (sequences, mut counts) = (from.u64()?, Vec::new());
        let attributes = match from.u8()? {
            0 => {
                let count = from.count()?;
                let names = (0..count).map(|_| from.text()).collect::<Result<Vec<_>, _>>()?;
                // Model files keep one name a line.
                if names.iter().any(|name| name.contains(['\n', '\0'])) {
                    return Err(Refusal::new("names of attributes on one line", "others"));
                }
                counts = from.items(count, u64::from_le_bytes)?;
                Attributes::Named(Arc::new(names))
            }
            1 => match from.u64()? {
                bits @ 1..=MOST_BITS => Attributes::Hashed(bits as u32),
                other => {
                    let expected = format!("attributes hashed to 1 to {MOST_BITS} bits");
                    return Err(Refusal::new(expected, other.to_string()));
                }
            },
            2 => Attributes::Columns(from.count()?),
            other => return Err(Refusal::new("attributes of tokens", format!("kind {other}"))),
        };
        if columns > attributes.len() as u64 || attributes.len() > MOST_COLUMNS {
            let expected = format!("{columns} attributes or a few more");
            return Err(Refusal::new(expected, attributes.len().to_string()));
        }
        let template = match from.u8()? {
            0 => None,
            _ => Some(from.text()?),
        };
        Ok(TokenFacts { sequences, attributes, counts, template })
    }
}

/// The most bits that names are hashed to.
const MOST_BITS: u64 = 30;

fn misfit() -> Refusal {
    Refusal::new("blocks that fit together", "a summary of others")
}

/// A label: a number, or a text.
pub(super) fn put_label(out: &mut Vec<u8>, label: &Label) {
    match label {
        Label::Number(number) => {
            out.push(0);
            out.put_f64s(&[*number]);
        }
        Label::Text(text) => {
            out.push(1);
            out.put_text(text);
        }
    }
}

pub(super) fn label(from: &mut Bytes<'_>) -> Result<Label, Refusal> {
    match from.u8()? {
        0 => finite(from.f64s(1)?[0]).map(Label::Number),
        1 => from.text().map(Label::Text),
        other => Err(Refusal::new("a number or a text as label", format!("kind {other}"))),
    }
}

/// A number that readers would have let pass.
pub(super) fn finite(number: f64) -> Result<f64, Refusal> {
    if number.is_finite() {
        return Ok(number);
    }
    Err(Refusal::new("finite values", number.to_string()))
}
