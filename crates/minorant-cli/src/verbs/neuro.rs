//! The verbs on networks under a chain that differ from those on chains.

use super::train::{facts, report_in_words};
use super::{cancel_on_interrupt, check_writable, leave};
use crate::args::{AuditArgs, TrainArgs};
use crate::output::{self, maybe, number};
use crate::progress::Watchers;
use minorant::audit::Audit;
use minorant::checkpoint::FileCheckpoints;
use minorant::model::{NEURO_CRF, NeuroModel};
use minorant::train::{Pretrain, train_neuro};
use serde_json::json;
use std::process::ExitCode;

pub(super) fn train(args: &TrainArgs) -> anyhow::Result<ExitCode> {
    let problem = &args.problem;
    let options = problem.neuro_options(args.solver.method()?)?;
    anyhow::ensure!(
        args.start.is_none() && args.proof.is_none(),
        "--start and --proof do not go with neuro-crf: it makes its own start and has no bound to prove"
    );
    check_writable(&[&args.out, &args.trace, &args.report, &args.checkpoint])?;
    let cancel = cancel_on_interrupt();
    problem.threads.install(|| -> anyhow::Result<ExitCode> {
        let (data, load_seconds) = problem.read_sequences()?;
        options.check(&data)?;
        let (write, resume) = (args.checkpoint.as_deref(), args.resume.as_deref());
        let (weights, settings) = (options.example_weights.as_deref(), options.settings());
        let mut checkpoints = FileCheckpoints::of_run(write, resume, &data, weights, settings)?;
        if options.pretrain == Pretrain::Rbm && resume.is_none() && !args.output.quiet {
            output::tell("pretraining the layers without labels; then the objective is minimised");
        }
        let mut watchers = Watchers::new("training", problem.stopping.tol(), args.output.quiet);
        let trained = train_neuro(&data, &options, &cancel, &mut watchers, &mut checkpoints);
        watchers.finish();
        let (model, report) = trained?;
        leave::trace(args, &watchers, &mut checkpoints)?;
        let saved = leave::model(args, |path| model.save(path))?;
        let data_name = problem.data_name();
        let facts = facts(&report, &data_name);
        leave::page(args, facts, problem.stopping.tol(), &report, &watchers, Vec::new())?;
        if args.output.json {
            let mut object = output::report_json(NEURO_CRF, model.tol, &report, load_seconds);
            object["validation_error"] = maybe(model.validation_error);
            object["chosen_at"] = json!(model.chosen_at);
            output::print(&object.to_string())?;
            return Ok(ExitCode::SUCCESS);
        }
        output::print(&report_in_words(NEURO_CRF, model.tol, &report, &data_name, None))?;
        let held_out = leave::held_out(model.validation_error, model.chosen_at);
        held_out.iter().chain(&saved).try_for_each(|line| output::print(line))?;
        Ok(ExitCode::SUCCESS)
    })?
}

/// There is nothing to check: such a model claims no bound.
pub(super) fn audit(args: &AuditArgs) -> anyhow::Result<ExitCode> {
    let audit = Audit {
        holds: false,
        objective: None,
        lower_bound: None,
        why: "a neuro-crf is not convex and has no global bound to prove".into(),
    };
    super::audit::show(&audit, args.json)
}

pub(super) fn inspect(model: &NeuroModel, as_json: bool) -> String {
    let (network, lambda) = (&model.network, model.lambda);
    if as_json {
        return json!({
            "kind": "model",
            "model": NEURO_CRF,
            "classes": model.classes,
            "features": model.attributes.len(),
            "hidden": network.hidden,
            "activation": network.activation.as_str(),
            "pretrain": model.pretrain,
            "seed": model.seed,
            "examples": model.examples,
            "tokens": model.tokens,
            "boundary": network.top.boundary,
            "per": model.per,
            "validation_error": maybe(model.validation_error),
            "chosen_at": model.chosen_at,
            "lambda": number(lambda),
            "dim": model.weights.len(),
            "solver": model.solver,
            "status": model.status,
            "objective": number(model.objective),
            "lower_bound": null,
            "relative_gap": null,
            "local_gap": maybe(model.local_gap),
            "certified": false,
            "auditable": false,
            "data_sha256": model.data_sha256,
        })
        .to_string();
    }
    let gap = model.local_gap.map_or("unknown".into(), |gap| {
        format!("local model gap {}", output::share_or_size(gap, model.objective))
    });
    let names: Vec<&str> = model.classes.iter().take(12).map(String::as_str).collect();
    let more = if model.classes.len() > 12 { ", …" } else { "" };
    let widths: Vec<String> = network.hidden.iter().map(ToString::to_string).collect();
    [
        format!("model         {NEURO_CRF}"),
        format!("labels        {}: {}{more}", model.classes.len(), names.join(", ")),
        format!("attributes    {}", model.attributes.len()),
        format!(
            "hidden        {} {} units, pretraining {}, seed {}",
            widths.join(", "),
            network.activation.as_str(),
            model.pretrain.as_str(),
            model.seed
        ),
        format!("weights       {}", model.weights.len()),
        format!(
            "trained on    {} sequences of {} tokens, lambda {}, {} ({})",
            model.examples,
            model.tokens,
            crate::number::setting(lambda),
            model.solver,
            model.status
        ),
        format!("objective     {}", crate::number::objective(model.objective)),
        "lower bound   none".into(),
        format!("gap           {gap}"),
        "proof         none: the model is not convex".into(),
        format!("data          sha256 {}", model.data_sha256),
    ]
    .join("\n")
}
