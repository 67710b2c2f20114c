//! The verbs on hidden Markov models.

use super::train::{facts, report_in_words};
use super::{cancel_on_interrupt, check_writable, leave};
use crate::args::{AuditArgs, EvaluateArgs, PredictArgs, TrainArgs};
use crate::output::{self, maybe, number};
use crate::progress::Watchers;
use minorant::audit::Audit;
use minorant::checkpoint::FileCheckpoints;
use minorant::hmm::Task;
use minorant::model::{HMM, HmmModel};
use minorant::train::train_hmm;
use serde_json::json;
use std::fmt::Write;
use std::process::ExitCode;

pub(super) fn train(args: &TrainArgs) -> anyhow::Result<ExitCode> {
    let problem = &args.problem;
    let options = problem.hmm_options(args.solver.method()?)?;
    anyhow::ensure!(
        args.start.is_none() && args.proof.is_none(),
        "--start and --proof do not go with hmm: it starts from maximum likelihood and has no bound to prove"
    );
    check_writable(&[&args.out, &args.trace, &args.report, &args.checkpoint])?;
    let cancel = cancel_on_interrupt();
    problem.threads.install(|| -> anyhow::Result<ExitCode> {
        let (data, load_seconds) = problem.read_recordings(options.task)?;
        let mut watchers = Watchers::new("training", problem.stopping.tol(), args.output.quiet);
        let (write, resume) = (args.checkpoint.as_deref(), args.resume.as_deref());
        let (weights, settings) = (options.example_weights.as_deref(), options.settings());
        let mut checkpoints = FileCheckpoints::of_run(write, resume, &data, weights, settings)?;
        let trained = train_hmm(&data, &options, &cancel, &mut watchers, &mut checkpoints);
        watchers.finish();
        let (model, report) = trained?;
        leave::trace(args, &watchers, &mut checkpoints)?;
        let saved = leave::model(args, |path| model.save(path))?;
        let data_name = problem.data_name();
        let facts = facts(&report, &data_name);
        leave::page(args, facts, problem.stopping.tol(), &report, &watchers, Vec::new())?;
        if args.output.json {
            let mut object = output::report_json(HMM, model.tol, &report, load_seconds);
            object["task"] = json!(model.shape.task.as_str());
            object["validation_error"] = maybe(model.validation_error);
            object["chosen_at"] = json!(model.chosen_at);
            output::print(&object.to_string())?;
            return Ok(ExitCode::SUCCESS);
        }
        output::print(&report_in_words(HMM, model.tol, &report, &data_name, None))?;
        let held_out = leave::held_out(model.validation_error, model.chosen_at);
        held_out.iter().chain(&saved).try_for_each(|line| output::print(line))?;
        Ok(ExitCode::SUCCESS)
    })?
}

pub(super) fn predict(model: &HmmModel, args: &PredictArgs) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(!args.columns && !args.marginals, "--columns and --marginals go with chains");
    let is_labelling = model.shape.task == Task::Label;
    anyhow::ensure!(
        !(args.scores && is_labelling),
        "--scores goes with classes of sequences; this model labels frames"
    );
    args.threads.install(|| -> anyhow::Result<ExitCode> {
        let data = args.data.read_recordings_for(model)?;
        let labels = model.predict(&data);
        let scores = args.scores.then(|| model.scores(&data));
        let k = model.classes.len();
        let spans = || data.starts.windows(2).map(|span| span[0]..span[1]);
        if args.json {
            let label = |z: &u32| output::label(&model.classes[*z as usize]);
            let mut object = if is_labelling {
                let of = |span| labels[std::ops::Range::<usize>::clone(&span)].iter().map(label);
                json!({ "labels": spans().map(|span| of(span).collect()).collect::<Vec<Vec<_>>>() })
            } else {
                json!({ "labels": labels.iter().map(label).collect::<Vec<_>>() })
            };
            if let Some(scores) = &scores {
                let row = |row: &[f64]| row.iter().map(|&x| number(x)).collect::<Vec<_>>();
                object["scores"] = json!(scores.chunks(k).map(row).collect::<Vec<_>>());
            }
            output::print(&object.to_string())?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut text = String::new();
        if is_labelling {
            for (at, span) in spans().enumerate() {
                if at > 0 {
                    text.push('\n');
                }
                for &z in &labels[span] {
                    writeln!(text, "{}", model.classes[z as usize])?;
                }
            }
        } else {
            for (i, &z) in labels.iter().enumerate() {
                write!(text, "{}", model.classes[z as usize])?;
                let row = scores.as_ref().map_or(&[][..], |scores| &scores[i * k..(i + 1) * k]);
                row.iter().try_for_each(|score| write!(text, "\t{score}"))?;
                text.push('\n');
            }
        }
        output::print(text.strip_suffix('\n').unwrap_or(&text))?;
        Ok(ExitCode::SUCCESS)
    })?
}

pub(super) fn evaluate(model: &HmmModel, args: &EvaluateArgs) -> anyhow::Result<ExitCode> {
    args.threads.install(|| -> anyhow::Result<ExitCode> {
        let data = args.data.read_recordings_for(model)?;
        anyhow::ensure!(data.has_labels(), "the data has no labels to compare with");
        let (shown, unknown) = match model.shape.task {
            Task::Classify => {
                let evaluation = model.evaluate_classes(&data);
                (super::evaluate::shown(&model.classes, &evaluation, args.json), evaluation.unknown)
            }
            Task::Label => {
                let evaluation = model.evaluate_labels(&data);
                let names: Vec<String> = model.classes.iter().map(ToString::to_string).collect();
                (super::chain::shown(&names, &evaluation, args.json), evaluation.unknown)
            }
        };
        if unknown > 0 {
            output::tell(&format!(
                "note: {unknown} labels are none that the model was trained on; they count as wrong"
            ));
        }
        output::print(&shown)?;
        Ok(ExitCode::SUCCESS)
    })?
}

pub(super) fn audit(args: &AuditArgs) -> anyhow::Result<ExitCode> {
    let audit = Audit {
        holds: false,
        objective: None,
        lower_bound: None,
        why: "a non-convex model has no global bound to check".into(),
    };
    super::audit::show(&audit, args.json)
}

pub(super) fn inspect(model: &HmmModel, as_json: bool) -> String {
    let shape = model.shape;
    let (least, most) = model.variances();
    if as_json {
        let groups = model.group_weights.iter().map(|(g, t)| (g.as_str().to_string(), number(*t)));
        return json!({
            "kind": "model",
            "model": HMM,
            "task": shape.task.as_str(),
            "topology": shape.topology.as_str(),
            "classes": model.classes.iter().map(output::label).collect::<Vec<_>>(),
            "states": shape.states,
            "mixtures": shape.mixtures,
            "features": shape.features,
            "dim": model.weights.len(),
            "examples": model.examples,
            "frames": model.frames,
            "group_weights": groups.collect::<serde_json::Map<_, _>>(),
            "validation_fraction": number(model.validation_fraction),
            "validation_error": maybe(model.validation_error),
            "lambda": number(model.lambda),
            "solver": model.solver,
            "status": model.status,
            "objective": number(model.objective),
            "lower_bound": null,
            "local_gap": maybe(model.local_gap),
            "certified": false,
            "auditable": false,
            "variances": [number(least), number(most)],
            "data_sha256": model.data_sha256,
        })
        .to_string();
    }
    let names: Vec<String> = model.classes.iter().take(12).map(ToString::to_string).collect();
    let more = if model.classes.len() > 12 { ", …" } else { "" };
    let gap = model.local_gap.map_or("unknown".into(), |gap| {
        format!("local model gap {}", output::share_or_size(gap, model.objective))
    });
    [
        format!("model         {HMM} ({}, {})", shape.task.as_str(), shape.topology.as_str()),
        format!("classes       {}: {}{more}", model.classes.len(), names.join(", ")),
        format!("features      {}", shape.features),
        format!("states        {} a class, {} Gaussians a state", shape.states, shape.mixtures),
        format!("weights       {}", model.weights.len()),
        format!("variances     {least:.3} to {most:.3} of the features' own"),
        format!(
            "trained on    {} sequences of {} frames, lambda {}, {} ({})",
            model.examples,
            model.frames,
            crate::number::setting(model.lambda),
            model.solver,
            model.status
        ),
        format!("objective     {}", crate::number::objective(model.objective)),
        "lower bound   none".into(),
        format!("gap           {gap}"),
        format!("data          sha256 {}", model.data_sha256),
    ]
    .join("\n")
}
