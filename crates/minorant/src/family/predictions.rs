//! What a fitted model predicts, whatever its family: labels of rows, sets of them, labels of
//! tokens, or structures; with decision values or probabilities where they are wanted.

use super::{Entry, models};
use minorant_data::Label;
use minorant_linalg::Matrix;

/// What is wanted besides the labels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Wanted {
    /// Nothing besides the labels.
    #[default]
    Labels,
    /// Decision values.
    Scores,
    /// Probabilities of labels at tokens.
    Marginals,
}

impl Wanted {
    /// Refuses what the family of a model does not offer, and names the models that have it.
    pub(crate) fn check(self, entry: Entry) -> Result<(), String> {
        if entry.family.offers.contains(&self) {
            return Ok(());
        }
        let what = match self {
            Wanted::Labels => "labels",
            Wanted::Scores => "decision values (--scores)",
            Wanted::Marginals => "probabilities of labels (--marginals)",
        };
        let offering = models().iter().filter(|entry| entry.family.offers.contains(&self));
        let names: Vec<&str> = offering.map(|entry| entry.model.name).collect();
        Err(format!("{what} go with {}, not with {}", names.join(", "), entry.model.name))
    }
}

/// Predicted outputs, with classes as numbers in the model's order.
#[derive(Debug, Clone, PartialEq)]
pub enum Outputs {
    /// One class an example.
    Labels(Vec<u32>),
    /// A set of classes an example.
    Sets(Vec<Vec<u32>>),
    /// One class a token; sequence i has the tokens `starts[i]..starts[i + 1]`.
    Tokens {
        /// Where sequences start, and where the last one ends.
        starts: Vec<usize>,
        /// The class of each token.
        labels: Vec<u32>,
    },
    /// A list of items an example, each a number or a place.
    Structures(Vec<Vec<Vec<u32>>>),
    /// One number an example, or one for each quantile.
    Values(Numbers),
}

/// A row of numbers for each example or token.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbers {
    /// Numbers in a row.
    pub width: usize,
    /// Row by row.
    pub values: Vec<f64>,
}

impl Numbers {
    /// One of the rows.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.width..(row + 1) * self.width]
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.width.max(1)
    }
}

/// Predictions.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    /// The classes in order.
    pub classes: Vec<Label>,
    /// The outputs.
    pub outputs: Outputs,
    /// Decision values (`scores`) or probabilities (`marginals`), where they were wanted.
    pub numbers: Option<Numbers>,
    /// What was left out because the model does not know it, in one sentence.
    pub note: Option<String>,
}

impl Predictions {
    /// Outputs without numbers.
    pub fn new(classes: Vec<Label>, outputs: Outputs) -> Self {
        Predictions { classes, outputs, numbers: None, note: None }
    }

    /// The class of each example or token, where there is one of each.
    pub fn labels(&self) -> &[u32] {
        match &self.outputs {
            Outputs::Labels(labels) | Outputs::Tokens { labels, .. } => labels,
            Outputs::Sets(_) | Outputs::Structures(_) | Outputs::Values(_) => &[],
        }
    }

    /// The label of an example or token, where there is one of each.
    pub fn label(&self, at: usize) -> Option<&Label> {
        self.classes.get(*self.labels().get(at)? as usize)
    }

    /// The decision values or probabilities.
    pub fn numbers(&self) -> &[f64] {
        self.numbers.as_ref().map_or(&[], |numbers| &numbers.values)
    }
}

/// Runs something on a matrix with just the columns that a model knows, with a sentence about
/// entries in others.
pub(crate) fn on_columns<T>(
    matrix: &Matrix<'_>,
    features: usize,
    run: impl FnOnce(&Matrix<'_>) -> T,
) -> (T, Option<String>) {
    if matrix.cols() == features {
        return (run(matrix), None);
    }
    let (fitted, ignored) = matrix.with_cols(features);
    (run(&fitted), ignored_entries(ignored))
}

/// A sentence about entries in columns that a model does not know; nothing where there are none.
pub fn ignored_entries(count: usize) -> Option<String> {
    let note = || format!("{count} non-zero entries in columns beyond the model's were ignored");
    (count > 0).then(note)
}

/// The first of the classes with the highest score.
pub(crate) fn argmax(scores: &[f64]) -> u32 {
    let better = |best: usize, z: usize| if scores[z] > scores[best] { z } else { best };
    (1..scores.len()).fold(0, better) as u32
}
