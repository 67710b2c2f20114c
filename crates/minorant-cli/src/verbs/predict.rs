//! `minorant predict`: labels for data, with decision values or probabilities where they are wanted.

use super::{note, with_model};
use crate::args::PredictArgs;
use crate::output;
use minorant::family::{Data, Outputs, Predictions, Purpose, Wanted, label_in_output};
use serde_json::{Value, json};
use std::ops::Range;

pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<()> {
    let (wanted, key) = match (args.scores, args.marginals) {
        (_, true) => (Wanted::Marginals, "marginals"),
        (true, _) => (Wanted::Scores, "scores"),
        _ => (Wanted::Labels, ""),
    };
    let purpose = Purpose { needs_labels: false, keeps_lines: args.columns };
    with_model(&args.fitted, purpose, |model, data| {
        let predictions = model.predict_with(data, wanted).map_err(anyhow::Error::msg)?;
        note(&predictions.note);
        let lines = match (args.columns, data) {
            (false, _) => &[][..],
            (true, Data::Sequences(data)) => &data.lines[..],
            (true, _) => {
                anyhow::bail!("--columns goes with models that label the tokens of sequences")
            }
        };
        output::print(&match args.fitted.data.json {
            true => as_json(&predictions, key).to_string(),
            false => as_text(&predictions, lines),
        })
    })
}

fn spans(starts: &[usize]) -> impl Iterator<Item = Range<usize>> {
    starts.windows(2).map(|span| span[0]..span[1])
}

fn as_json(predictions: &Predictions, key: &str) -> Value {
    let label = |z: &u32| label_in_output(&predictions.classes[*z as usize]);
    let rows = |range: Range<usize>| {
        let numbers = predictions.numbers.as_ref()?;
        Some(range.map(|i| json!(numbers.row(i))).collect::<Value>())
    };
    let (labels, numbers): (Vec<Value>, Option<Value>) = match &predictions.outputs {
        Outputs::Values(all) => {
            let value = |i: usize| match all.row(i) {
                [one] => json!(one),
                several => json!(several),
            };
            return json!({ "values": (0..all.rows()).map(value).collect::<Vec<Value>>() });
        }
        Outputs::Labels(all) => (all.iter().map(label).collect(), rows(0..all.len())),
        Outputs::Sets(all) => {
            (all.iter().map(|set| set.iter().map(label).collect()).collect(), rows(0..all.len()))
        }
        Outputs::Tokens { starts, labels } => {
            let of = |span: Range<usize>| labels[span].iter().map(label).collect();
            (spans(starts).map(of).collect(), rows(0..0).and(spans(starts).map(rows).collect()))
        }
        Outputs::Structures(all) => {
            let item = |item: &Vec<u32>| match &item[..] {
                [one] => json!(one),
                several => json!(several),
            };
            (all.iter().map(|items| items.iter().map(item).collect()).collect(), None)
        }
    };
    let mut object = json!({ "labels": labels });
    if let Some(numbers) = numbers {
        object[key] = numbers;
    }
    object
}

/// One label a line, or numbers with tabs between them; sequences with a blank line between them, and
/// with the columns of the input where those are kept.
fn as_text(predictions: &Predictions, columns: &[String]) -> String {
    let name = |z: &u32| predictions.classes[*z as usize].to_string();
    let joined = |words: &mut dyn Iterator<Item = String>, by| words.collect::<Vec<_>>().join(by);
    let line = |(at, label): (usize, String)| {
        let row = predictions.numbers.as_ref().map_or(&[][..], |numbers| numbers.row(at));
        let numbers = row.iter().map(|number| format!("\t{number}"));
        label + &numbers.collect::<String>() + "\n"
    };
    let mut text: String = match &predictions.outputs {
        Outputs::Labels(all) => all.iter().map(name).enumerate().map(line).collect(),
        Outputs::Values(all) => {
            let row = |i: usize| joined(&mut all.row(i).iter().map(f64::to_string), "\t") + "\n";
            (0..all.rows()).map(row).collect()
        }
        Outputs::Sets(all) => {
            let sets = all.iter().map(|set| joined(&mut set.iter().map(name), ","));
            sets.enumerate().map(line).collect()
        }
        Outputs::Tokens { starts, labels } => {
            let token = |at: usize| {
                let before = columns.get(at).map(|line| format!("{line}\t")).unwrap_or_default();
                line((at, before + &name(&labels[at])))
            };
            joined(&mut spans(starts).map(|span| span.map(token).collect()), "\n")
        }
        Outputs::Structures(all) => {
            let word = |item: &Vec<u32>| joined(&mut item.iter().map(u32::to_string), ",");
            all.iter().map(|items| joined(&mut items.iter().map(word), " ") + "\n").collect()
        }
    };
    // The line break at the end comes with printing.
    text.pop();
    text
}
