//! `minorant evaluate`.

use super::predict::note_ignored;
use crate::args::EvaluateArgs;
use crate::output::{self, maybe, number, percent};
use anyhow::ensure;
use minorant::data::{Label, LabelRows};
use minorant::model::{AnyModel, TaskName, metrics::Evaluation};
use serde_json::json;
use std::process::ExitCode;

pub(crate) fn run(args: &EvaluateArgs) -> anyhow::Result<ExitCode> {
    let model = match AnyModel::load(&args.model)? {
        AnyModel::Linear(model) => model,
        AnyModel::Chain(model) => return super::chain::evaluate(&model, args),
        AnyModel::Kernel(model) => return super::kernel::evaluate(&model, args),
        AnyModel::Hmm(model) => return super::hmm::evaluate(&model, args),
        AnyModel::Image(model) => return super::image::evaluate(&model, args),
        AnyModel::Neuro(model) => return super::chain::evaluate(&model, args),
    };
    args.threads.install(|| -> anyhow::Result<ExitCode> {
        let is_multilabel = model.task == TaskName::Multilabel;
        let (data, dropped) = args.data.read_for(model.features, is_multilabel)?;
        ensure!(data.labels.rows != LabelRows::None, "the data has no labels to compare with");
        let scores = model.scores(&data.features);
        note_ignored(dropped + scores.ignored);
        show(args, &model.classes, &model.evaluate(&data.labels, &scores))
    })?
}

/// Tells how good a model of these classes is.
pub(super) fn show(
    args: &EvaluateArgs,
    classes: &[Label],
    evaluation: &Evaluation,
) -> anyhow::Result<ExitCode> {
    if evaluation.unknown > 0 {
        output::tell(&format!(
            "note: {} rows have a label that the model was not trained on; they count as wrong",
            evaluation.unknown
        ));
    }
    if evaluation.unlabelled > 0 {
        output::tell(&format!(
            "note: {} rows have the label 0, which means unlabelled, and are left out",
            evaluation.unlabelled
        ));
    }
    output::print(&shown(classes, evaluation, args.json))?;
    Ok(ExitCode::SUCCESS)
}

/// The quality of predictions of these classes.
pub(super) fn shown(classes: &[Label], evaluation: &Evaluation, as_json: bool) -> String {
    if as_json { json(classes, evaluation) } else { text(classes, evaluation) }
}

fn json(classes: &[Label], evaluation: &Evaluation) -> String {
    let classes = classes.iter().zip(&evaluation.classes).map(|(label, counts)| {
        json!({
            "label": output::label(label),
            "examples": counts.actual,
            "precision": maybe(counts.precision()),
            "recall": maybe(counts.recall()),
            "f1": maybe(counts.f1()),
        })
    });
    json!({
        "examples": evaluation.examples,
        "error": number(evaluation.error),
        "subset_error": maybe(evaluation.subset_error),
        "ranking_loss": maybe(evaluation.ranking_loss),
        "unknown_labels": evaluation.unknown,
        "classes": classes.collect::<Vec<_>>(),
    })
    .to_string()
}

fn text(classes: &[Label], evaluation: &Evaluation) -> String {
    let kind = if evaluation.subset_error.is_some() { "Hamming error" } else { "error" };
    let mut lines =
        vec![format!("{kind} {} on {} examples", percent(evaluation.error), evaluation.examples)];
    if let Some(error) = evaluation.subset_error {
        lines.push(format!("subset error {}", percent(error)));
    }
    if let Some(loss) = evaluation.ranking_loss {
        lines.push(format!("ranking loss {loss:.4}"));
    }
    lines.push(String::new());
    lines.push(class_table(classes, evaluation));
    lines.join("\n")
}

/// Precision, recall and F1 of each class.
fn class_table(classes: &[Label], evaluation: &Evaluation) -> String {
    let cell = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.4}"));
    let mut rows =
        vec![["class", "examples", "precision", "recall", "F1"].map(String::from).to_vec()];
    for (label, counts) in classes.iter().zip(&evaluation.classes) {
        rows.push(vec![
            label.to_string(),
            counts.actual.to_string(),
            cell(counts.precision()),
            cell(counts.recall()),
            cell(counts.f1()),
        ]);
    }
    output::table(&rows)
}
