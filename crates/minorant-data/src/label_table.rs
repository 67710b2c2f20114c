//! Numbers for labels in the order in which they are first met, for readers that do not know the
//! classes beforehand. The final order of classes is made at the end, in `collect`.

use crate::dataset::Label;
use crate::error::{Refusal, quoted};
use crate::number::{self, NotANumber, is_nan_or_inf};
use std::collections::HashMap;

/// Labels by number and numbers by label.
#[derive(Debug, Clone, Default)]
pub(crate) struct LabelTable {
    numbers: HashMap<u64, u32>,
    texts: HashMap<Box<str>, u32>,
    last_number: Option<(u64, u32)>,
}

impl LabelTable {
    pub(crate) fn len(&self) -> usize {
        self.numbers.len() + self.texts.len()
    }

    /// The number of this label, new or known.
    pub(crate) fn insert(&mut self, label: &Label) -> u32 {
        match label {
            Label::Number(number) => self.insert_number(*number),
            Label::Text(text) => self.insert_text(text),
        }
    }

    pub(crate) fn insert_number(&mut self, number: f64) -> u32 {
        let bits = bits(number);
        // Rows of one class often follow each other.
        if let Some((last, id)) = self.last_number
            && last == bits
        {
            return id;
        }
        let next = self.len() as u32;
        let id = *self.numbers.entry(bits).or_insert(next);
        self.last_number = Some((bits, id));
        id
    }

    pub(crate) fn insert_text(&mut self, text: &str) -> u32 {
        if let Some(&id) = self.texts.get(text) {
            return id;
        }
        let id = self.len() as u32;
        self.texts.insert(text.into(), id);
        id
    }

    /// The number of the label that a cell spells: a number where it reads as one, else text.
    pub(crate) fn insert_spelled(&mut self, cell: &[u8]) -> Result<u32, Refusal> {
        match number::parse(cell) {
            Ok(number) => Ok(self.insert_number(number)),
            Err(NotANumber::Overflow) => Err(Refusal::new("a finite label", quoted(cell))),
            Err(NotANumber::Form) if is_nan_or_inf(cell) => {
                Err(Refusal::new("a finite label", quoted(cell)))
            }
            Err(NotANumber::Form) if cell.is_empty() => {
                Err(Refusal::new("a label", "an empty cell"))
            }
            Err(NotANumber::Form) => match std::str::from_utf8(cell) {
                Ok(text) if !text.contains('\0') => Ok(self.insert_text(text)),
                _ => Err(Refusal::new("a label in UTF-8 without NUL", quoted(cell))),
            },
        }
    }

    /// Whether a cell spells a known label.
    pub(crate) fn has_spelled(&self, cell: &[u8]) -> bool {
        match number::parse(cell) {
            Ok(number) => self.numbers.contains_key(&bits(number)),
            Err(_) => std::str::from_utf8(cell).is_ok_and(|text| self.texts.contains_key(text)),
        }
    }

    pub(crate) fn get(&self, label: &Label) -> Option<u32> {
        match label {
            Label::Number(number) => self.numbers.get(&bits(*number)),
            Label::Text(text) => self.texts.get(text.as_str()),
        }
        .copied()
    }

    /// All labels in the order of their numbers.
    pub(crate) fn labels(&self) -> Vec<Label> {
        let mut all = vec![Label::Number(0.0); self.len()];
        for (bits, &id) in &self.numbers {
            all[id as usize] = Label::Number(f64::from_bits(*bits));
        }
        for (text, &id) in &self.texts {
            all[id as usize] = Label::Text(text.as_ref().into());
        }
        all
    }

    /// All labels with their numbers, in no particular order.
    pub(crate) fn into_labels(self) -> Vec<(Label, u32)> {
        let mut all = Vec::with_capacity(self.len());
        all.extend(self.numbers.into_iter().map(|(b, id)| (Label::Number(f64::from_bits(b)), id)));
        all.extend(self.texts.into_iter().map(|(t, id)| (Label::Text(t.into()), id)));
        all
    }

    /// Takes over the labels of `other`; the result translates its numbers to this table's.
    pub(crate) fn absorb(&mut self, other: LabelTable) -> Vec<u32> {
        let mut translation = vec![0; other.len()];
        // By number, so that labels keep the order in which the file has them.
        let mut labels = other.into_labels();
        labels.sort_unstable_by_key(|&(_, id)| id);
        for (label, id) in labels {
            translation[id as usize] = self.insert(&label);
        }
        translation
    }
}

/// Equal numbers have equal bits once both zeros are one.
fn bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_labels_have_equal_numbers() {
        let mut table = LabelTable::default();
        assert_eq!(table.insert_number(1.0), 0);
        assert_eq!(table.insert_number(0.0), 1);
        assert_eq!(table.insert_number(-0.0), 1);
        assert_eq!(table.insert_text("a"), 2);
        assert_eq!(table.insert_number(1.0), 0);
        let mut whole = LabelTable::default();
        whole.insert_text("a");
        assert_eq!(whole.absorb(table), [1, 2, 0]);
    }
}
