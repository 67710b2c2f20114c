//! The verbs on models of sequences.

use super::inspect::{certified, proof_and_data};
use super::train::{facts, report_in_words};
use super::{cancel_on_interrupt, check_writable, leave};
use crate::args::{AuditArgs, EvaluateArgs, PredictArgs, TrainArgs};
use crate::output::{self, maybe, number, percent};
use crate::progress::Watchers;
use minorant::checkpoint::FileCheckpoints;
use minorant::data::Sequences;
use minorant::model::{ChainModel, SequenceModel, TokenEvaluation};
use minorant::train::{ChainName, train_chain};
use serde_json::json;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

pub(super) fn train(name: ChainName, args: &TrainArgs) -> anyhow::Result<ExitCode> {
    let problem = &args.problem;
    let mut options = problem.chain_options(name, args.solver.method()?)?;
    if args.proof.is_some() {
        options.method_options.proof_bytes = u64::MAX;
    }
    check_writable(&[&args.out, &args.proof, &args.trace, &args.report, &args.checkpoint])?;
    let cancel = cancel_on_interrupt();
    problem.threads.install(|| -> anyhow::Result<ExitCode> {
        let (data, load_seconds) = problem.read_sequences()?;
        let mut watchers = Watchers::new("training", problem.stopping.tol(), args.output.quiet);
        let (write, resume) = (args.checkpoint.as_deref(), args.resume.as_deref());
        let (weights, settings) = (options.example_weights.as_deref(), options.settings());
        let mut checkpoints = FileCheckpoints::of_run(write, resume, &data, weights, settings)?;
        let trained = train_chain(&data, &options, &cancel, &mut watchers, &mut checkpoints);
        watchers.finish();
        let (model, report) = trained?;
        leave::trace(args, &watchers, &mut checkpoints)?;
        output::hint_if_stalled(&report, problem.stopping.tol());
        let save = |path: &Path, bytes| model.save(path, bytes);
        let saved = leave::model_and_proof(args, save, |path| model.save_proof(path))?;
        let facts = facts(&report, &problem.data_name());
        leave::page(args, facts, problem.stopping.tol(), &report, &watchers, Vec::new())?;
        if args.output.json {
            let object = output::report_json(name.as_str(), model.tol, &report, load_seconds);
            output::print(&object.to_string())?;
        } else {
            let data = problem.data_name();
            output::print(&report_in_words(name.as_str(), model.tol, &report, &data, None))?;
            saved.iter().try_for_each(|line| output::print(line))?;
        }
        Ok(ExitCode::SUCCESS)
    })?
}

/// Tells of attributes that the model does not know.
fn note_unknown(data: &Sequences) {
    if data.unknown > 0 {
        output::tell(&format!(
            "note: {} attributes that the model does not know were ignored",
            data.unknown
        ));
    }
}

pub(super) fn predict(model: &dyn SequenceModel, args: &PredictArgs) -> anyhow::Result<ExitCode> {
    args.threads.install(|| -> anyhow::Result<ExitCode> {
        let data = args.data.read_sequences_for(model, args.columns)?;
        note_unknown(&data);
        let labels = model.predict(&data);
        let classes = model.classes();
        let k = classes.len();
        let numbers = if args.marginals {
            Some(model.marginals(&data))
        } else {
            args.scores.then(|| model.scores(&data))
        };
        let sequences = || data.starts.windows(2).map(|span| span[0]..span[1]);
        if args.json {
            let names = |tokens: std::ops::Range<usize>| {
                labels[tokens].iter().map(|&z| &classes[z as usize]).collect::<Vec<_>>()
            };
            let mut object = json!({ "labels": sequences().map(names).collect::<Vec<_>>() });
            if let Some(numbers) = &numbers {
                let rows = |tokens: std::ops::Range<usize>| {
                    tokens.map(|t| json!(numbers[t * k..(t + 1) * k])).collect::<Vec<_>>()
                };
                let key = if args.marginals { "marginals" } else { "scores" };
                object[key] = json!(sequences().map(rows).collect::<Vec<_>>());
            }
            output::print(&object.to_string())?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut text = String::new();
        for (at, tokens) in sequences().enumerate() {
            if at > 0 {
                text.push('\n');
            }
            for token in tokens {
                if args.columns {
                    write!(text, "{}\t", data.lines[token])?;
                }
                text.push_str(&classes[labels[token] as usize]);
                if let Some(numbers) = &numbers {
                    numbers[token * k..(token + 1) * k]
                        .iter()
                        .try_for_each(|number| write!(text, "\t{number}"))?;
                }
                text.push('\n');
            }
        }
        output::print(text.strip_suffix('\n').unwrap_or(&text))?;
        Ok(ExitCode::SUCCESS)
    })?
}

pub(super) fn evaluate(model: &dyn SequenceModel, args: &EvaluateArgs) -> anyhow::Result<ExitCode> {
    args.threads.install(|| -> anyhow::Result<ExitCode> {
        let data = args.data.read_sequences_for(model, false)?;
        anyhow::ensure!(!data.labels.is_empty(), "the data has no labels to compare with");
        note_unknown(&data);
        let evaluation = model.evaluate(&data);
        if evaluation.unknown > 0 {
            output::tell(&format!(
                "note: {} tokens have a label that the model was not trained on; they count as wrong",
                evaluation.unknown
            ));
        }
        output::print(&shown(model.classes(), &evaluation, args.json))?;
        Ok(ExitCode::SUCCESS)
    })?
}

/// The quality of predictions of these labels.
pub(super) fn shown(classes: &[String], evaluation: &TokenEvaluation, json: bool) -> String {
    if json { as_json(classes, evaluation) } else { as_text(classes, evaluation) }
}

fn as_json(classes: &[String], evaluation: &TokenEvaluation) -> String {
    let classes = classes.iter().zip(&evaluation.classes).map(|(label, counts)| {
        json!({
            "label": label,
            "tokens": counts.actual,
            "precision": maybe(counts.precision()),
            "recall": maybe(counts.recall()),
            "f1": maybe(counts.f1()),
        })
    });
    json!({
        "examples": evaluation.sequences,
        "tokens": evaluation.tokens,
        "error": number(evaluation.token_error),
        "sequence_error": number(evaluation.sequence_error),
        "chunk_f1": maybe(evaluation.chunks.as_ref().and_then(|counts| counts.f1())),
        "chunk_precision": maybe(evaluation.chunks.as_ref().and_then(|counts| counts.precision())),
        "chunk_recall": maybe(evaluation.chunks.as_ref().and_then(|counts| counts.recall())),
        "unknown_labels": evaluation.unknown,
        "classes": classes.collect::<Vec<_>>(),
    })
    .to_string()
}

fn as_text(classes: &[String], evaluation: &TokenEvaluation) -> String {
    let cell = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.4}"));
    let mut lines = vec![
        format!("token error {} on {} tokens", percent(evaluation.token_error), evaluation.tokens),
        format!(
            "sequence error {} on {} sequences",
            percent(evaluation.sequence_error),
            evaluation.sequences
        ),
    ];
    if let Some(chunks) = &evaluation.chunks {
        lines.push(format!(
            "chunk F1 {}, precision {}, recall {}",
            cell(chunks.f1()),
            cell(chunks.precision()),
            cell(chunks.recall())
        ));
    }
    let mut rows =
        vec![["label", "tokens", "precision", "recall", "F1"].map(String::from).to_vec()];
    for (label, counts) in classes.iter().zip(&evaluation.classes) {
        rows.push(vec![
            label.clone(),
            counts.actual.to_string(),
            cell(counts.precision()),
            cell(counts.recall()),
            cell(counts.f1()),
        ]);
    }
    lines.extend([String::new(), output::table(&rows)]);
    lines.join("\n")
}

pub(super) fn audit(mut model: ChainModel, args: &AuditArgs) -> anyhow::Result<ExitCode> {
    if let Some(path) = &args.proof {
        model.load_proof(path)?;
    }
    let weights = args.example_weights()?;
    args.threads.install(|| -> anyhow::Result<ExitCode> {
        let data = args.data.read_sequences_for(&model, false)?;
        super::audit::show(
            &minorant::audit::audit_chain(&model, &data, weights.as_deref()),
            args.json,
        )
    })?
}

pub(super) fn inspect(model: &ChainModel, as_json: bool) -> String {
    let certificate = model.certificate;
    let nonzero = model.weights.iter().filter(|w| **w != 0.0).count();
    if as_json {
        return json!({
            "kind": "model",
            "model": model.model.as_str(),
            "classes": model.classes,
            "features": model.attributes.len(),
            "examples": model.examples,
            "tokens": model.tokens,
            "bias": maybe(model.shape.bias),
            "boundary": model.shape.boundary,
            "per": model.per,
            "lambda": number(model.lambda),
            "solver": model.solver,
            "status": model.status,
            "objective": number(certificate.objective),
            "lower_bound": maybe(certificate.lower_bound),
            "relative_gap": maybe(certificate.relative_gap()),
            "certified": certificate.certifies(model.tol),
            "auditable": model.is_auditable(),
            "nonzero_weights": nonzero,
            "data_sha256": model.data_sha256,
        })
        .to_string();
    }
    let names: Vec<&str> = model.classes.iter().take(12).map(String::as_str).collect();
    let more = if model.classes.len() > 12 { ", …" } else { "" };
    [
        format!("model         {}", model.model.as_str()),
        format!("labels        {}: {}{more}", model.classes.len(), names.join(", ")),
        format!("attributes    {}", model.attributes.len()),
        format!("weights       {} ({nonzero} not zero)", model.weights.len()),
        format!(
            "trained on    {} sequences of {} tokens, lambda {}, {} ({})",
            model.examples,
            model.tokens,
            crate::number::setting(model.lambda),
            model.solver,
            model.status
        ),
        certified(&certificate, None),
        proof_and_data(model.is_auditable(), &model.data_sha256),
    ]
    .join("\n")
}
