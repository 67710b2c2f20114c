//! `minorant predict`: labels for data, with decision values or probabilities where they are wanted.

use crate::args::PredictArgs;
use crate::output::{self, number};
use minorant::family::{
    Data, FittedModel, Numbers, Outputs, Predictions, Purpose, Wanted, ignored_entries,
    label_in_output,
};
use serde_json::{Value, json};
use std::fmt::Write;
use std::ops::Range;
use std::process::ExitCode;

pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<ExitCode> {
    let fitted = &args.fitted;
    let model = FittedModel::load(&fitted.model)?;
    let settings = fitted.reading(model.facts.settings.entry())?;
    let wanted = match (args.scores, args.marginals) {
        (_, true) => Wanted::Marginals,
        (true, _) => Wanted::Scores,
        _ => Wanted::Labels,
    };
    fitted.threads.install(|| -> anyhow::Result<ExitCode> {
        let purpose = Purpose { needs_labels: false, keeps_lines: args.columns };
        let (data, dropped) = model.read(&settings, &fitted.files, purpose)?;
        note_dropped(dropped);
        let predictions = model.predict_with(data.view(), wanted).map_err(anyhow::Error::msg)?;
        predictions.note.iter().for_each(|note| output::tell(&format!("note: {note}")));
        let lines = match (args.columns, data.view()) {
            (false, _) => &[][..],
            (true, Data::Sequences(data)) => &data.lines[..],
            (true, _) => {
                anyhow::bail!("--columns goes with models that label the tokens of sequences")
            }
        };
        if fitted.json {
            let key = if args.marginals { "marginals" } else { "scores" };
            output::print(&as_json(&predictions, key).to_string())?;
        } else {
            let text = as_text(&predictions, lines)?;
            output::print(text.strip_suffix('\n').unwrap_or(&text))?;
        }
        Ok(ExitCode::SUCCESS)
    })?
}

/// Tells of entries in columns that the model does not know.
pub(super) fn note_dropped(dropped: usize) {
    ignored_entries(dropped).iter().for_each(|note| output::tell(&format!("note: {note}")));
}

fn spans(starts: &[usize]) -> impl Iterator<Item = Range<usize>> {
    starts.windows(2).map(|span| span[0]..span[1])
}

fn as_json(predictions: &Predictions, key: &str) -> Value {
    let label = |z: &u32| label_in_output(&predictions.classes[*z as usize]);
    let row =
        |numbers: &Numbers, i: usize| numbers.row(i).iter().map(|&x| number(x)).collect::<Vec<_>>();
    let rows = |range: Range<usize>| {
        predictions
            .numbers
            .as_ref()
            .map(|numbers| range.map(|i| row(numbers, i)).collect::<Vec<_>>())
    };
    let (labels, numbers): (Vec<Value>, Option<Value>) = match &predictions.outputs {
        Outputs::Labels(all) => {
            (all.iter().map(label).collect(), rows(0..all.len()).map(|rows| json!(rows)))
        }
        Outputs::Sets(all) => (
            all.iter().map(|set| set.iter().map(label).collect()).collect(),
            rows(0..all.len()).map(|rows| json!(rows)),
        ),
        Outputs::Tokens { starts, labels } => {
            let of = |span: Range<usize>| labels[span].iter().map(label).collect();
            let numbers = spans(starts).map(rows).collect::<Option<Vec<_>>>();
            (spans(starts).map(of).collect(), numbers.map(|numbers| json!(numbers)))
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
    if let Some(numbers) = numbers.filter(|_| predictions.numbers.is_some()) {
        object[key] = numbers;
    }
    object
}

/// One label a line; sequences with a blank line between them, and with the columns of the input
/// where those are kept.
fn as_text(predictions: &Predictions, lines: &[String]) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    let name = |z: u32| predictions.classes[z as usize].to_string();
    let numbers = |text: &mut String, at: usize| -> std::fmt::Result {
        let row = predictions.numbers.as_ref().map_or(&[][..], |numbers| numbers.row(at));
        row.iter().try_for_each(|number| write!(text, "\t{number}"))?;
        text.push('\n');
        Ok(())
    };
    match &predictions.outputs {
        Outputs::Labels(all) => {
            for (at, &z) in all.iter().enumerate() {
                text.push_str(&name(z));
                numbers(&mut text, at)?;
            }
        }
        Outputs::Sets(all) => {
            for (at, set) in all.iter().enumerate() {
                text.push_str(&set.iter().map(|&z| name(z)).collect::<Vec<_>>().join(","));
                numbers(&mut text, at)?;
            }
        }
        Outputs::Tokens { starts, labels } => {
            for (sequence, span) in spans(starts).enumerate() {
                if sequence > 0 {
                    text.push('\n');
                }
                for at in span {
                    if let Some(line) = lines.get(at) {
                        write!(text, "{line}\t")?;
                    }
                    text.push_str(&name(labels[at]));
                    numbers(&mut text, at)?;
                }
            }
        }
        Outputs::Structures(all) => {
            let word =
                |item: &Vec<u32>| item.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            for items in all {
                let words: Vec<String> = items.iter().map(word).collect();
                writeln!(text, "{}", words.join(" "))?;
            }
        }
    }
    Ok(text)
}
