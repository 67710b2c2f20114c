//! How good the labels of sequences are: by tokens, by sequences, and by chunks where labels are
//! of the kind B-x, I-x and O.

use super::ChainModel;
use super::metrics::ClassCounts;
use minorant_data::Sequences;
use rayon::prelude::*;

/// The quality of predicted labels.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenEvaluation {
    /// Sequences.
    pub sequences: usize,
    /// Tokens.
    pub tokens: usize,
    /// The share of wrong tokens.
    pub token_error: f64,
    /// The share of sequences with a wrong token.
    pub sequence_error: f64,
    /// Chunks, where labels name such.
    pub chunks: Option<ClassCounts>,
    /// Counts for each label of the model.
    pub classes: Vec<ClassCounts>,
    /// Tokens with a label that the model does not know; they count as wrong.
    pub unknown: usize,
}

impl ChainModel {
    /// Compares predictions with the labels of the same sequences.
    pub fn evaluate(&self, data: &Sequences) -> TokenEvaluation {
        let labels = (&data.classes[..], &data.labels[..]);
        compare((&self.classes, &self.predict(data)), labels, &data.starts)
    }

    /// The score of each label at each token, transitions left out.
    pub fn scores(&self, data: &Sequences) -> Vec<f64> {
        let of = |span: &[usize]| self.shape.best(&data.tokens, span[0]..span[1], &self.weights).1;
        data.starts.par_windows(2).map(of).collect::<Vec<_>>().concat()
    }
}

/// Compares the labels said of tokens with the true ones, each with the names that its numbers
/// stand for.
pub(super) fn compare(
    (own, predicted): (&[String], &[u16]),
    (names, labels): (&[String], &[u16]),
    starts: &[usize],
) -> TokenEvaluation {
    let known: Vec<Option<u16>> = names
        .iter()
        .map(|class| own.iter().position(|own| own == class).map(|at| at as u16))
        .collect();
    let mut classes = vec![ClassCounts::default(); own.len()];
    let (mut wrong, mut unknown) = (0usize, 0);
    for (&guess, &label) in predicted.iter().zip(labels) {
        classes[guess as usize].predicted += 1;
        match known[label as usize] {
            Some(actual) => {
                classes[actual as usize].actual += 1;
                classes[actual as usize].hits += usize::from(actual == guess);
                wrong += usize::from(actual != guess);
            }
            None => {
                unknown += 1;
                wrong += 1;
            }
        }
    }
    let spans = || starts.windows(2).map(|span| span[0]..span[1]);
    let is_wrong = |span: &std::ops::Range<usize>| {
        span.clone().any(|t| known[labels[t] as usize] != Some(predicted[t]))
    };
    let wrong_sequences = spans().filter(is_wrong).count();
    let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
    let names_chunks = |names: &[String]| names.iter().all(|name| tag(name).is_some());
    let has_chunks = names_chunks(own) && names_chunks(names) && own.iter().any(|name| name != "O");
    let chunks = has_chunks.then(|| {
        let mut counts = ClassCounts::default();
        for span in spans() {
            let name = |names: &[String], z: u16| names[z as usize].clone();
            let said: Vec<String> = predicted[span.clone()].iter().map(|&z| name(own, z)).collect();
            let actual: Vec<String> = labels[span].iter().map(|&z| name(names, z)).collect();
            let (said, actual) = (chunks(&said), chunks(&actual));
            counts.predicted += said.len();
            counts.actual += actual.len();
            counts.hits += said.iter().filter(|chunk| actual.contains(chunk)).count();
        }
        counts
    });
    TokenEvaluation {
        sequences: starts.len() - 1,
        tokens: predicted.len(),
        token_error: share(wrong, predicted.len()),
        sequence_error: share(wrong_sequences, starts.len() - 1),
        chunks,
        classes,
        unknown,
    }
}

/// Whether a label begins a chunk for sure, and the chunk's kind; for O, no kind.
fn tag(label: &str) -> Option<(bool, Option<&str>)> {
    match label.split_once('-') {
        Some(("B", kind)) => Some((true, Some(kind))),
        Some(("I", kind)) => Some((false, Some(kind))),
        _ if label == "O" => Some((false, None)),
        _ => None,
    }
}

/// Chunks as (first token, token after the last, kind). A chunk begins with a B, and with an I
/// that does not go on with one of its kind.
fn chunks(labels: &[String]) -> Vec<(usize, usize, &str)> {
    let mut found: Vec<(usize, usize, &str)> = Vec::new();
    let mut open: Option<&str> = None;
    for (token, label) in labels.iter().enumerate() {
        let (begins, kind) = tag(label).unwrap_or((false, None));
        match kind {
            Some(kind) if begins || open != Some(kind) => found.push((token, token + 1, kind)),
            Some(_) => {
                if let Some(last) = found.last_mut() {
                    last.1 = token + 1;
                }
            }
            None => {}
        }
        open = kind;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_as_conlleval_counts_them() {
        let labels = ["B-NP", "I-NP", "O", "I-VP", "I-NP", "B-NP", "I-NP"];
        let labels = labels.map(String::from);
        let found = chunks(&labels);
        assert_eq!(found, [(0, 2, "NP"), (3, 4, "VP"), (4, 5, "NP"), (5, 7, "NP")]);
    }
}
