//! Predicted classes compared with the true ones: counts for each class, and the share that is
//! wrong.

use super::{Evaluation, Style, TrainError, refuse};
use minorant_data::{Label, LabelRows, Labels};

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
    /// Counts a row by whether it was predicted so and whether it is.
    pub(crate) fn add(&mut self, said: bool, actual: bool) {
        self.predicted += usize::from(said);
        self.actual += usize::from(actual);
        self.hits += usize::from(said && actual);
    }

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

/// Predictions compared with what is true, one class each.
pub(crate) struct Tally {
    pub(crate) classes: Vec<ClassCounts>,
    pub(crate) compared: usize,
    pub(crate) wrong: usize,
    /// Those whose true class the model does not know; they count as wrong.
    pub(crate) unknown: usize,
}

impl Tally {
    /// Counts classes as the model numbers them; the true one is none where it does not know it.
    pub(crate) fn of(classes: usize, pairs: impl Iterator<Item = (u32, Option<u32>)>) -> Self {
        let classes = vec![ClassCounts::default(); classes];
        let mut tally = Tally { classes, compared: 0, wrong: 0, unknown: 0 };
        for (guess, actual) in pairs {
            let is_hit = actual == Some(guess);
            tally.classes[guess as usize].add(true, is_hit);
            if let Some(z) = actual.filter(|_| !is_hit) {
                tally.classes[z as usize].add(false, true);
            }
            tally.compared += 1;
            tally.unknown += usize::from(actual.is_none());
            tally.wrong += usize::from(!is_hit);
        }
        tally
    }
}

/// Compares one class an example with its first label. Where a model learns from rows without a label,
/// those are left out.
pub(crate) fn compare(
    classes: &[Label],
    predicted: &[u32],
    labels: &Labels,
    knows_unlabelled: bool,
) -> Evaluation {
    let known = labels.remap(classes);
    let is_none = |z: &u32| knows_unlabelled && labels.classes[*z as usize] == UNLABELLED;
    let rows = predicted.iter().enumerate().map(|(row, guess)| (guess, labels.row(row)));
    let rows = rows.filter(|(_, labels)| !labels.iter().any(is_none));
    let truth = |labels: &[u32]| labels.first().and_then(|&z| known[z as usize]);
    let tally = Tally::of(classes.len(), rows.map(|(&guess, labels)| (guess, truth(labels))));
    let Tally { compared, wrong, unknown, .. } = tally;
    let mut evaluation = of_counts(classes, tally.classes, compared, unknown);
    evaluation.measure("error", "error", share(wrong as f64, compared), on(compared));
    for key in ["subset_error", "ranking_loss"] {
        evaluation.number(key, "", None, Style::Hidden);
    }
    if compared < predicted.len() {
        let unlabelled = predicted.len() - compared;
        evaluation.notes.push(format!(
            "{unlabelled} rows have the label 0, which means unlabelled, and are left out"
        ));
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
    let mut evaluation = Evaluation {
        counts: vec![("examples", examples), ("unknown_labels", unknown)],
        unit: "examples",
        class: "class",
        classes: classes.iter().cloned().zip(counts).collect(),
        ..Evaluation::default()
    };
    evaluation.note_unknown(unknown, "rows");
    evaluation
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

/// The class of each row; refuses other labels. What else a model reads in labels is said along.
pub(crate) fn one_class_a_row<'l>(
    labels: &'l Labels,
    model: &str,
    besides: &str,
) -> Result<&'l [u32], TrainError> {
    match &labels.rows {
        LabelRows::Single(rows) => Ok(rows),
        LabelRows::None if besides.is_empty() => refuse("the data has no labels to train on"),
        LabelRows::None => refuse(format!("the data has no labels; {model} needs some{besides}")),
        LabelRows::Numbers { .. } => refuse(format!(
            "{model} takes classes as labels, not targets; for those train regression"
        )),
        LabelRows::Sets { .. } => refuse(format!("{model} takes one label a row{besides}")),
    }
}

/// The classes besides 0, which means unlabelled, and which of them each row has; refuses labels that a
/// model of such rows cannot be trained on.
pub(crate) fn labelled_classes(
    labels: &Labels,
    model: &str,
) -> Result<(Vec<Label>, Vec<Option<u32>>), TrainError> {
    let rows = one_class_a_row(labels, model, ", and 0 for rows without one")?;
    let mut classes = Vec::new();
    let mut numbers = Vec::new();
    for label in &labels.classes {
        let is_class = *label != UNLABELLED;
        numbers.push(is_class.then_some(classes.len() as u32));
        classes.extend(is_class.then(|| label.clone()));
    }
    match &classes[..] {
        [] => refuse("expected some rows with a label other than 0, found none"),
        [only] => refuse(format!(
            "expected labelled rows of two or more classes, found one class only, {only}: 0 means \
             unlabelled, so a file with the classes 0 and {only} needs other labels, such as -1 and {only}"
        )),
        _ => Ok((classes, rows.iter().map(|&z| numbers[z as usize]).collect())),
    }
}

/// Refuses costs that are not one number of 0 or more for each pair of classes, 0 on the diagonal.
pub(crate) fn check_costs(delta: &[f64], classes: usize) -> Result<(), TrainError> {
    if delta.len() != classes * classes {
        return refuse(format!(
            "expected a label loss of {classes} x {classes} numbers, found {}",
            delta.len()
        ));
    }
    for (at, &loss) in delta.iter().enumerate() {
        let (truth, other) = (at / classes, at % classes);
        if !(loss >= 0.0 && loss.is_finite()) || (truth == other && loss != 0.0) {
            return refuse(format!(
                "expected a label loss that is 0 on the diagonal and nowhere negative, found {loss} in row {}, column {}",
                truth + 1,
                other + 1
            ));
        }
    }
    Ok(())
}
