//! Labels of tokens compared with the true ones: errors of tokens and of sequences, and chunks where
//! labels name such.

use super::classes::share;
use super::{ClassCounts, Evaluation, Measure, Style};
use minorant_data::Label;

/// Compares the labels said of tokens with the true ones, each with the names that its numbers
/// stand for.
pub(crate) fn compare(
    (own, predicted): (&[String], &[u32]),
    (names, labels): (&[String], &[u32]),
    starts: &[usize],
) -> Evaluation {
    let known: Vec<Option<u32>> = names
        .iter()
        .map(|class| own.iter().position(|own| own == class).map(|at| at as u32))
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
    let names_chunks = |names: &[String]| names.iter().all(|name| tag(name).is_some());
    let has_chunks = names_chunks(own) && names_chunks(names) && own.iter().any(|name| name != "O");
    let chunks = has_chunks.then(|| {
        let mut counts = ClassCounts::default();
        for span in spans() {
            let name = |names: &[String], z: u32| names[z as usize].clone();
            let said: Vec<String> = predicted[span.clone()].iter().map(|&z| name(own, z)).collect();
            let actual: Vec<String> = labels[span].iter().map(|&z| name(names, z)).collect();
            let (said, actual) = (chunks(&said), chunks(&actual));
            counts.predicted += said.len();
            counts.actual += actual.len();
            counts.hits += said.iter().filter(|chunk| actual.contains(chunk)).count();
        }
        counts
    });
    let (sequences, tokens) = (starts.len() - 1, predicted.len());
    let mut evaluation = Evaluation {
        counts: vec![("examples", sequences), ("tokens", tokens), ("unknown_labels", unknown)],
        unit: "tokens",
        class: "label",
        classes: own.iter().map(|name| Label::Text(name.clone())).zip(classes).collect(),
        ..Evaluation::default()
    };
    let on = |count: usize, what: &str| format!("on {count} {what}");
    evaluation.measure("error", "token error", share(wrong as f64, tokens), on(tokens, "tokens"));
    let wrong = share(wrong_sequences as f64, sequences);
    evaluation.measure("sequence_error", "sequence error", wrong, on(sequences, "sequences"));
    let of_chunks = |of: fn(&ClassCounts) -> Option<f64>| chunks.as_ref().and_then(of);
    let (words, style) = match has_chunks {
        true => (["chunk F1", "precision", "recall"], Style::Number),
        false => ([""; 3], Style::Hidden),
    };
    let values: [fn(&ClassCounts) -> Option<f64>; 3] =
        [ClassCounts::f1, ClassCounts::precision, ClassCounts::recall];
    let keys = ["chunk_f1", "chunk_precision", "chunk_recall"];
    for ((key, words), of) in keys.into_iter().zip(words).zip(values) {
        let (value, on) = (of_chunks(of), String::new());
        evaluation.measures.push(Measure { key, words, value, on, style });
    }
    if unknown > 0 {
        evaluation.notes.push(format!(
            "{unknown} tokens have a label that the model was not trained on; they count as wrong"
        ));
    }
    evaluation
}

/// Whether a label always begins a chunk, and the chunk's kind; O has no kind, and labels of another
/// form have no tag.
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
