//! How good predictions are on labelled data, whatever the family: measures with their names for
//! programs and for people, and a table of classes.

use super::ClassCounts;
use minorant_data::Label;

/// How a measure is shown to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// As a percentage.
    Share,
    /// As a number with four digits.
    Number,
    /// Not at all: it is for programs only, or another measure tells people the same.
    Hidden,
}

/// One number that tells how good predictions are.
#[derive(Debug, Clone, PartialEq)]
pub struct Measure {
    /// The name that programs know.
    pub key: &'static str,
    /// Its name in words.
    pub words: &'static str,
    /// The value, if it is known.
    pub value: Option<f64>,
    /// What it was measured on, in words.
    pub on: String,
    /// How it is shown.
    pub style: Style,
}

/// The quality of predictions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evaluation {
    /// How many examples, tokens and the like there were, by the names that programs know.
    pub counts: Vec<(&'static str, usize)>,
    /// The measures; the first one is the error, unless one has that name.
    pub measures: Vec<Measure>,
    /// Measures with a number for each of several outputs: the name that programs know, in words, and
    /// the numbers.
    pub lists: Vec<(&'static str, &'static str, Vec<f64>)>,
    /// What the examples of a class are called.
    pub unit: &'static str,
    /// What the classes are called.
    pub class: &'static str,
    /// Each class with its counts.
    pub classes: Vec<(Label, ClassCounts)>,
    /// Sentences about what was left out or counts as wrong.
    pub notes: Vec<String>,
}

impl Evaluation {
    /// Adds a measure.
    pub fn measure(&mut self, key: &'static str, words: &'static str, value: f64, on: String) {
        self.measures.push(Measure { key, words, value: Some(value), on, style: Style::Share });
    }

    /// Adds a number that is no share.
    pub(crate) fn number(
        &mut self,
        key: &'static str,
        words: &'static str,
        value: Option<f64>,
        style: Style,
    ) {
        self.measures.push(Measure { key, words, value, on: String::new(), style });
    }

    /// Tells of examples whose labels the model does not know.
    pub(crate) fn note_unknown(&mut self, unknown: usize, what: &str) {
        if unknown > 0 {
            self.notes.push(format!(
                "{unknown} {what} have a label that the model was not trained on; they count as wrong"
            ));
        }
    }

    /// The measure of this name; nothing where it is not known.
    pub fn get(&self, key: &str) -> Option<f64> {
        self.measures.iter().find(|measure| measure.key == key).and_then(|measure| measure.value)
    }

    /// The count of this name.
    pub fn count(&self, key: &str) -> Option<usize> {
        self.counts.iter().find(|(name, _)| *name == key).map(|(_, count)| *count)
    }

    /// The share of what is wrong; of numbers, how far they are off.
    pub fn error(&self) -> f64 {
        let first = || self.measures.first().and_then(|measure| measure.value);
        self.get("error").or_else(first).unwrap_or(f64::INFINITY)
    }
}
