//! `minorant evaluate`: measures how good a model's predictions are on labelled data.

use super::{note, with_model};
use crate::args::FittedArgs;
use crate::output::{self, dash, percent};
use minorant::family::{Evaluation, Purpose, Style, label_in_output};
use serde_json::{Value, json};

pub(crate) fn run(fitted: &FittedArgs) -> anyhow::Result<()> {
    let purpose = Purpose { needs_labels: true, keeps_lines: false };
    with_model(fitted, purpose, |model, data| {
        let evaluation = model.evaluate(data).map_err(anyhow::Error::msg)?;
        note(&evaluation.notes);
        output::print(&match fitted.data.json {
            true => as_json(&evaluation).to_string(),
            false => as_text(&evaluation),
        })
    })
}

fn as_json(evaluation: &Evaluation) -> Value {
    let mut object = json!({});
    for (key, count) in &evaluation.counts {
        object[*key] = json!(count);
    }
    for measure in &evaluation.measures {
        object[measure.key] = json!(measure.value);
    }
    for (key, _, numbers) in &evaluation.lists {
        object[*key] = json!(numbers);
    }
    if !evaluation.unit.is_empty() {
        let classes = evaluation.classes.iter().map(|(label, counts)| {
            json!({
                "label": label_in_output(label),
                evaluation.unit: counts.actual,
                "precision": counts.precision(),
                "recall": counts.recall(),
                "f1": counts.f1(),
            })
        });
        object["classes"] = classes.collect();
    }
    object
}

fn as_text(evaluation: &Evaluation) -> String {
    let cell = |value: Option<f64>| dash(value, |value| format!("{value:.4}"));
    let mut lines = Vec::new();
    for measure in evaluation.measures.iter().filter(|measure| measure.style != Style::Hidden) {
        let value = match (measure.style, measure.value) {
            (Style::Share, Some(share)) => percent(share),
            (_, value) => cell(value),
        };
        lines.push(format!("{} {value} {}", measure.words, measure.on).trim_end().to_string());
    }
    for (_, words, numbers) in &evaluation.lists {
        let numbers: Vec<String> = numbers.iter().map(|number| cell(Some(*number))).collect();
        lines.push(format!("{words} {}", numbers.join(" ")));
    }
    if let Some(crossings) = evaluation.count("crossings") {
        lines.push(format!("rows with quantiles in the wrong order {crossings}"));
    }
    if !evaluation.classes.is_empty() {
        let rows = evaluation.classes.iter().map(|(label, counts)| {
            let measures = [counts.precision(), counts.recall(), counts.f1()].map(cell);
            [vec![label.to_string(), counts.actual.to_string()], measures.to_vec()].concat()
        });
        let head = [evaluation.class, evaluation.unit, "precision", "recall", "F1"];
        lines.extend([String::new(), output::table(head, rows)]);
    }
    lines.join("\n")
}
