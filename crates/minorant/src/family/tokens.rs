//! Labels of tokens compared with the true ones: errors of tokens, of sequences, and of chunks where
//! labels name chunks.

use super::classes::{Tally, share};
use super::{ClassCounts, Evaluation, Style};
use minorant_data::Label;
use std::ops::Range;

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
    let truth = |token: usize| known[labels[token] as usize];
    let pairs = predicted.iter().enumerate().map(|(token, &guess)| (guess, truth(token)));
    let Tally { classes, compared: tokens, wrong, unknown } = Tally::of(own.len(), pairs);
    let spans = || starts.windows(2).map(|span| span[0]..span[1]);
    let is_wrong = |span: &Range<usize>| span.clone().any(|t| truth(t) != Some(predicted[t]));
    let wrong_sequences = spans().filter(is_wrong).count();
    let names_chunks = |names: &[String]| names.iter().all(|name| tag(name).is_some());
    let has_chunks = names_chunks(own) && names_chunks(names) && own.iter().any(|name| name != "O");
    let of_chunks = has_chunks.then(|| {
        let mut counts = ClassCounts::default();
        for span in spans() {
            let said = chunks(own, &predicted[span.clone()]);
            let actual = chunks(names, &labels[span]);
            counts.predicted += said.len();
            counts.actual += actual.len();
            counts.hits += said.iter().filter(|chunk| actual.contains(chunk)).count();
        }
        counts
    });
    let sequences = starts.len() - 1;
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
    let style = if has_chunks { Style::Number } else { Style::Hidden };
    let counts = of_chunks.as_ref();
    for (key, words, value) in [
        ("chunk_f1", "chunk F1", counts.and_then(ClassCounts::f1)),
        ("chunk_precision", "precision", counts.and_then(ClassCounts::precision)),
        ("chunk_recall", "recall", counts.and_then(ClassCounts::recall)),
    ] {
        evaluation.number(key, words, value, style);
    }
    evaluation.note_unknown(unknown, "tokens");
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
fn chunks<'n>(names: &'n [String], labels: &[u32]) -> Vec<(usize, usize, &'n str)> {
    let mut found: Vec<(usize, usize, &str)> = Vec::new();
    let mut open = None;
    for (token, &label) in labels.iter().enumerate() {
        let (begins, kind) = tag(&names[label as usize]).unwrap_or((false, None));
        match (kind, found.last_mut()) {
            (Some(_), Some(last)) if !begins && open == kind => last.1 = token + 1,
            (Some(kind), _) => found.push((token, token + 1, kind)),
            (None, _) => {}
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
        let names = ["B-NP", "I-NP", "O", "I-VP"].map(String::from);
        let found = chunks(&names, &[0, 1, 2, 3, 1, 0, 1]);
        assert_eq!(found, [(0, 2, "NP"), (3, 4, "VP"), (4, 5, "NP"), (5, 7, "NP")]);
    }
}
