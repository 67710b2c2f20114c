//! How good predictions are on labelled data.

use super::{FittedModel, Predictions, Scores};
use crate::train::ModelName;
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

/// The quality of predictions.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// Rows that were compared.
    pub examples: usize,
    /// The share of wrong rows; of wrong memberships for multilabel models (Hamming loss).
    pub error: f64,
    /// Multilabel: the share of rows whose set is not exactly right.
    pub subset_error: Option<f64>,
    /// Multilabel: the mean share of (label, non-label) pairs in the wrong order; ties count half.
    pub ranking_loss: Option<f64>,
    /// Counts for each class of the model.
    pub classes: Vec<ClassCounts>,
    /// Rows with a label that the model does not know; they count as wrong.
    pub unknown: usize,
    /// Rows without a label, in the way of transductive data; they are left out.
    pub unlabelled: usize,
}

impl FittedModel {
    /// Compares predictions with the labels of the same rows.
    pub fn evaluate(&self, labels: &Labels, scores: &Scores) -> Evaluation {
        // A class of the file as a class of the model, if it has it.
        let known = labels.remap(&self.classes);
        let truth = |row: usize| labels.row(row).iter().map(|&z| known[z as usize]);
        let rows = scores.rows();
        // For a transductive model the label 0 says that there is none.
        let has_label = |row: usize| {
            let is_zero = |z: &u32| labels.classes[*z as usize] == Label::Number(0.0);
            self.model != ModelName::Tsvm || !labels.row(row).iter().any(is_zero)
        };
        let unlabelled = (0..rows).filter(|&i| !has_label(i)).count();
        match self.classify(scores) {
            Predictions::Single(predicted) => {
                let rows = predicted.iter().enumerate().filter(|(i, _)| has_label(*i));
                let pairs = rows.map(|(i, &guess)| (guess, truth(i).next().flatten()));
                Evaluation { unlabelled, ..compare(pairs, self.classes.len()) }
            }
            Predictions::Sets(predicted) => {
                let mut counts = vec![ClassCounts::default(); self.classes.len()];
                let unknown = (0..rows).filter(|&i| truth(i).any(|z| z.is_none())).count();
                let (mut wrong, mut wrong_sets, mut misranked) = (0usize, 0usize, 0.0);
                for (i, guess) in predicted.iter().enumerate() {
                    let mut has = vec![false; self.classes.len()];
                    let mut outside = 0;
                    for z in truth(i) {
                        match z {
                            Some(z) => has[z as usize] = true,
                            None => outside += 1,
                        }
                    }
                    let mut misses = outside;
                    for (z, &actual) in has.iter().enumerate() {
                        let said = guess.contains(&(z as u32));
                        counts[z].predicted += usize::from(said);
                        counts[z].actual += usize::from(actual);
                        counts[z].hits += usize::from(said && actual);
                        misses += usize::from(said != actual);
                    }
                    wrong += misses;
                    wrong_sets += usize::from(misses > 0);
                    misranked += misranked_pairs(&has, scores.row(i));
                }
                Evaluation {
                    examples: rows,
                    error: share(wrong as f64, rows * self.classes.len()),
                    subset_error: Some(share(wrong_sets as f64, rows)),
                    ranking_loss: Some(share(misranked, rows)),
                    classes: counts,
                    unknown,
                    unlabelled,
                }
            }
        }
    }
}

/// Compares one class a row with the true one, both as the model numbers them (none for one that
/// it does not know); `classes` are its own.
pub(super) fn compare(
    rows: impl Iterator<Item = (u32, Option<u32>)>,
    classes: usize,
) -> Evaluation {
    let mut counts = vec![ClassCounts::default(); classes];
    let (mut examples, mut wrong, mut unknown) = (0, 0usize, 0);
    for (guess, actual) in rows {
        examples += 1;
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
    Evaluation {
        examples,
        error: share(wrong as f64, examples),
        subset_error: None,
        ranking_loss: None,
        classes: counts,
        unknown,
        unlabelled: 0,
    }
}

fn share(part: f64, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part / whole as f64 }
}

/// The share of pairs of a label and a non-label whose scores are in the wrong order.
fn misranked_pairs(has: &[bool], scores: &[f64]) -> f64 {
    let (mut pairs, mut wrong) = (0usize, 0.0);
    for z in (0..has.len()).filter(|&z| has[z]) {
        for other in (0..has.len()).filter(|&z| !has[z]) {
            pairs += 1;
            wrong += match scores[z].total_cmp(&scores[other]) {
                std::cmp::Ordering::Less => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Greater => 0.0,
            };
        }
    }
    share(wrong, pairs)
}
