//! Predicted classes compared with the true ones: counts for each class, and the share that is
//! wrong.

use super::{Evaluation, Measure, Style, TrainError};
use minorant_data::{Label, Labels};

/// Counts for one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// Rows of the class that were predicted so.
    pub hits: usize,
    /// Rows predicted so.
    pub predicted: usize,
    /// Rows of the class.
    pub actual: usize,
}

impl ClassCounts {
    /// Hits among the predicted; nothing if none was predicted.
    pub fn precision(&self) -> Option<f64> {
        (self.predicted > 0).then(|| self.hits as f64 / self.predicted as f64)
    }

    /// Hits among the actual; nothing if there were none.
    pub fn recall(&self) -> Option<f64> {
        (self.actual > 0).then(|| self.hits as f64 / self.actual as f64)
    }

    /// The harmonic mean of precision and recall.
    pub fn f1(&self) -> Option<f64> {
        let both = self.predicted + self.actual;
        (both > 0).then(|| 2.0 * self.hits as f64 / both as f64)
    }
}

/// Compares one class an example with the true one, both as the model numbers them (none for one
/// that the model does not know).
pub(crate) fn compare(
    classes: &[Label],
    examples: impl Iterator<Item = (u32, Option<u32>)>,
) -> Evaluation {
    let mut counts = vec![ClassCounts::default(); classes.len()];
    let (mut compared, mut wrong, mut unknown) = (0, 0usize, 0);
    for (guess, actual) in examples {
        compared += 1;
        counts[guess as usize].predicted += 1;
        match actual {
            Some(z) => counts[z as usize].actual += 1,
            None => unknown += 1,
        }
        if actual == Some(guess) {
            counts[guess as usize].hits += 1;
        } else {
            wrong += 1;
        }
    }
    let mut evaluation = of_counts(classes, counts, compared, unknown);
    evaluation.measure("error", "error", share(wrong as f64, compared), on(compared));
    for key in ["subset_error", "ranking_loss"] {
        let (words, on) = ("", String::new());
        evaluation.measures.push(Measure { key, words, value: None, on, style: Style::Hidden });
    }
    evaluation
}

/// An evaluation of classes that has no measure yet.
pub(crate) fn of_counts(
    classes: &[Label],
    counts: Vec<ClassCounts>,
    examples: usize,
    unknown: usize,
) -> Evaluation {
    let mut notes = Vec::new();
    if unknown > 0 {
        notes.push(format!(
            "{unknown} rows have a label that the model was not trained on; they count as wrong"
        ));
    }
    Evaluation {
        counts: vec![("examples", examples), ("unknown_labels", unknown)],
        measures: Vec::new(),
        unit: "examples",
        class: "class",
        classes: classes.iter().cloned().zip(counts).collect(),
        notes,
    }
}

/// What a measure of so many examples was measured on.
pub(crate) fn on(examples: usize) -> String {
    format!("on {examples} examples")
}

/// The share that a count is of the whole; 0 where the whole is empty.
pub(crate) fn share(count: f64, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { count / whole as f64 }
}

/// The label that marks a row without label, for models that learn from such rows.
pub(crate) const UNLABELLED: Label = Label::Number(0.0);

/// The classes besides 0, which means unlabelled, and which of them each row has.
pub(crate) fn labelled_classes(labels: &Labels, rows: &[u32]) -> (Vec<Label>, Vec<Option<u32>>) {
    let mut classes = Vec::new();
    let mut numbers = Vec::new();
    for label in &labels.classes {
        let is_class = *label != UNLABELLED;
        numbers.push(is_class.then_some(classes.len() as u32));
        classes.extend(is_class.then(|| label.clone()));
    }
    (classes, rows.iter().map(|&z| numbers[z as usize]).collect())
}

/// Refuses costs that are not one number of 0 or more for each pair of classes, 0 on the diagonal.
pub(crate) fn check_costs(delta: &[f64], classes: usize) -> Result<(), TrainError> {
    if delta.len() != classes * classes {
        return Err(TrainError::Setting(format!(
            "expected a label loss of {classes} x {classes} numbers, found {}",
            delta.len()
        )));
    }
    for (at, &loss) in delta.iter().enumerate() {
        let (truth, other) = (at / classes, at % classes);
        if !(loss >= 0.0 && loss.is_finite()) || (truth == other && loss != 0.0) {
            return Err(TrainError::Setting(format!(
                "expected a label loss that is 0 on the diagonal and nowhere negative, found {loss} in row {}, column {}",
                truth + 1,
                other + 1
            )));
        }
    }
    Ok(())
}
