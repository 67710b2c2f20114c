//! `minorant predict`.

use crate::args::PredictArgs;
use crate::output;
use minorant::data::Label;
use minorant::model::{AnyModel, Predictions, Scores, TaskName};
use serde_json::json;
use std::fmt::Write;
use std::process::ExitCode;

pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<ExitCode> {
    let model = match AnyModel::load(&args.model)? {
        AnyModel::Linear(model) => model,
        AnyModel::Chain(model) => return super::chain::predict(&model, args),
        AnyModel::Kernel(model) => {
            refuse_sequences(args)?;
            return super::kernel::predict(&model, args);
        }
        AnyModel::Hmm(model) => return super::hmm::predict(&model, args),
        AnyModel::Image(model) => return super::image::predict(&model, args),
        AnyModel::Neuro(model) => return super::chain::predict(&model, args),
    };
    refuse_sequences(args)?;
    args.threads.install(|| -> anyhow::Result<ExitCode> {
        let is_multilabel = model.task == TaskName::Multilabel;
        let (data, dropped) = args.data.read_for(model.features, is_multilabel)?;
        let scores = model.scores(&data.features);
        note_ignored(dropped + scores.ignored);
        show(args, &model.classes, &scores, &model.classify(&scores))
    })?
}

fn refuse_sequences(args: &PredictArgs) -> anyhow::Result<()> {
    anyhow::ensure!(
        !args.columns && !args.marginals,
        "--columns and --marginals go with models of sequences"
    );
    Ok(())
}

/// Prints the labels, with their decision values where those are asked for.
pub(super) fn show(
    args: &PredictArgs,
    classes: &[Label],
    scores: &Scores,
    predictions: &Predictions,
) -> anyhow::Result<ExitCode> {
    if args.json {
        let label = |z: &u32| output::label(&classes[*z as usize]);
        let labels: Vec<serde_json::Value> = match predictions {
            Predictions::Single(rows) => rows.iter().map(label).collect(),
            Predictions::Sets(rows) => {
                rows.iter().map(|set| set.iter().map(label).collect()).collect()
            }
        };
        let mut object = json!({ "labels": labels });
        if args.scores {
            let rows = (0..scores.rows()).map(|i| json!(scores.row(i)));
            object["scores"] = rows.collect();
        }
        output::print(&object.to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for i in 0..scores.rows() {
        let name = |z: u32| classes[z as usize].to_string();
        match predictions {
            Predictions::Single(rows) => text.push_str(&name(rows[i])),
            Predictions::Sets(rows) => {
                let names: Vec<String> = rows[i].iter().map(|&z| name(z)).collect();
                text.push_str(&names.join(","));
            }
        }
        if args.scores {
            scores.row(i).iter().try_for_each(|score| write!(text, "\t{score}"))?;
        }
        text.push('\n');
    }
    output::print(text.strip_suffix('\n').unwrap_or(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// Tells of entries in columns that the model does not know.
pub(super) fn note_ignored(ignored: usize) {
    if ignored > 0 {
        output::tell(&format!(
            "note: {ignored} non-zero entries in columns beyond the model's were ignored"
        ));
    }
}
