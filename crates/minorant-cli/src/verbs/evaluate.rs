//! `minorant evaluate`: measures how good a model's predictions are on labelled data.

use super::predict::note_dropped;
use crate::args::EvaluateArgs;
use crate::output::{self, maybe, percent};
use minorant::family::{Evaluation, FittedModel, Purpose, Style, label_in_output};
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) fn run(args: &EvaluateArgs) -> anyhow::Result<ExitCode> {
    let fitted = &args.fitted;
    let model = FittedModel::load(&fitted.model)?;
    let settings = fitted.reading(model.facts.settings.entry())?;
    fitted.threads.install(|| -> anyhow::Result<ExitCode> {
        let purpose = Purpose { needs_labels: true, keeps_lines: false };
        let (data, dropped) = model.read(&settings, &fitted.files, purpose)?;
        note_dropped(dropped);
        let evaluation = model.evaluate(data.view()).map_err(anyhow::Error::msg)?;
        evaluation.notes.iter().for_each(|note| output::tell(&format!("note: {note}")));
        output::print(&if fitted.json {
            as_json(&evaluation).to_string()
        } else {
            as_text(&evaluation)
        })?;
        Ok(ExitCode::SUCCESS)
    })?
}

fn as_json(evaluation: &Evaluation) -> Value {
    let mut object = json!({});
    for (key, count) in &evaluation.counts {
        object[*key] = json!(count);
    }
    for measure in &evaluation.measures {
        object[measure.key] = maybe(measure.value);
    }
    if !evaluation.unit.is_empty() {
        let classes = evaluation.classes.iter().map(|(label, counts)| {
            json!({
                "label": label_in_output(label),
                evaluation.unit: counts.actual,
                "precision": maybe(counts.precision()),
                "recall": maybe(counts.recall()),
                "f1": maybe(counts.f1()),
            })
        });
        object["classes"] = classes.collect();
    }
    object
}

fn as_text(evaluation: &Evaluation) -> String {
    let cell = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.4}"));
    let mut lines = Vec::new();
    for measure in evaluation.measures.iter().filter(|measure| measure.style != Style::Hidden) {
        let value = match (measure.style, measure.value) {
            (Style::Share, Some(share)) => percent(share),
            (_, value) => cell(value),
        };
        lines.push(format!("{} {value} {}", measure.words, measure.on).trim_end().to_string());
    }
    if !evaluation.classes.is_empty() {
        let head = [evaluation.class, evaluation.unit, "precision", "recall", "F1"];
        let mut rows = vec![head.map(String::from).to_vec()];
        for (label, counts) in &evaluation.classes {
            rows.push(vec![
                label.to_string(),
                counts.actual.to_string(),
                cell(counts.precision()),
                cell(counts.recall()),
                cell(counts.f1()),
            ]);
        }
        lines.extend([String::new(), output::table(&rows)]);
    }
    lines.join("\n")
}
