//! The verbs on models of images.

use super::inspect::{certified, proof_and_data};
use super::train::{facts, report_in_words};
use super::{cancel_on_interrupt, check_writable, leave};
use crate::args::{AuditArgs, EvaluateArgs, PredictArgs, ProblemArgs, TrainArgs};
use crate::output::{self, maybe, number, percent};
use crate::progress::Watchers;
use anyhow::{Context, ensure};
use minorant::checkpoint::FileCheckpoints;
use minorant::images::Images;
use minorant::model::{ImageModel, ImageShape};
use minorant::train::{ImageModelName, train_images};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn read(name: ImageModelName, files: &[PathBuf], labels_needed: bool) -> anyhow::Result<Images> {
    Ok(match name {
        ImageModelName::SegmentSvm => Images::read_plates(files, labels_needed)?,
        ImageModelName::TreeSvm => Images::read_parts(files, labels_needed)?,
    })
}

/// Reads labelled images and says how long it took.
pub(super) fn read_for_training(
    name: ImageModelName,
    problem: &ProblemArgs,
) -> anyhow::Result<(Images, f64)> {
    let start = std::time::Instant::now();
    let data = read(name, &problem.data.files, true)?;
    Ok((data, start.elapsed().as_secs_f64()))
}

pub(super) fn train(name: ImageModelName, args: &TrainArgs) -> anyhow::Result<ExitCode> {
    let problem = &args.problem;
    let mut options = problem.image_options(name, args.solver.method()?)?;
    ensure!(args.start.is_none(), "--start does not go with {}", name.as_str());
    if args.proof.is_some() {
        options.method_options.proof_bytes = u64::MAX;
    }
    check_writable(&[&args.out, &args.proof, &args.trace, &args.report, &args.checkpoint])?;
    let cancel = cancel_on_interrupt();
    problem.threads.install(|| -> anyhow::Result<ExitCode> {
        let (data, load_seconds) = read_for_training(name, problem)?;
        let tol = problem.stopping.tol();
        let mut watchers = Watchers::new("training", tol, args.output.quiet);
        let (write, resume) = (args.checkpoint.as_deref(), args.resume.as_deref());
        let (weights, settings) = (options.example_weights.as_deref(), options.settings());
        let mut checkpoints = FileCheckpoints::of_run(write, resume, &data, weights, settings)?;
        let trained = train_images(&data, &options, &cancel, &mut watchers, &mut checkpoints);
        watchers.finish();
        let (model, report) = trained?;
        leave::trace(args, &watchers, &mut checkpoints)?;
        output::hint_if_stalled(&report, tol);
        let save = |path: &Path, bytes| model.save(path, bytes);
        let saved = leave::model_and_proof(args, save, |path| model.save_proof(path))?;
        let data_name = problem.data_name();
        let facts = facts(&report, &data_name);
        leave::page(args, facts, tol, &report, &watchers, Vec::new())?;
        if args.output.json {
            let object = output::report_json(name.as_str(), tol, &report, load_seconds);
            output::print(&object.to_string())?;
        } else {
            output::print(&report_in_words(name.as_str(), tol, &report, &data_name, None))?;
            saved.iter().try_for_each(|line| output::print(line))?;
        }
        Ok(ExitCode::SUCCESS)
    })?
}

/// An output as JSON: characters, or places as [column, row].
fn output_json(shape: &ImageShape, output: &[u32]) -> Value {
    match shape {
        ImageShape::Plates { .. } => json!(output),
        ImageShape::Parts(shape) => {
            let height = shape.height as u32;
            output.iter().map(|&place| json!([place / height, place % height])).collect()
        }
    }
}

pub(super) fn predict(model: &ImageModel, args: &PredictArgs) -> anyhow::Result<ExitCode> {
    let name = model.shape.name();
    ensure!(
        !args.columns && !args.marginals && !args.scores,
        "--columns, --marginals and --scores do not go with {}",
        name.as_str()
    );
    args.threads.install(|| -> anyhow::Result<ExitCode> {
        let data = read(name, &args.data.files, false)?;
        let outputs = model.predict(&data).map_err(anyhow::Error::msg)?;
        if args.json {
            let labels = outputs.iter().map(|output| output_json(&model.shape, output));
            let object = json!({ "labels": labels.collect::<Vec<_>>() });
            output::print(&object.to_string())?;
            return Ok(ExitCode::SUCCESS);
        }
        let word = |&item: &u32| match &model.shape {
            ImageShape::Plates { .. } => item.to_string(),
            ImageShape::Parts(shape) => {
                format!("{},{}", item / shape.height as u32, item % shape.height as u32)
            }
        };
        let line = |output: &Vec<u32>| output.iter().map(word).collect::<Vec<_>>().join(" ");
        output::print(&outputs.iter().map(line).collect::<Vec<_>>().join("\n"))?;
        Ok(ExitCode::SUCCESS)
    })?
}

pub(super) fn evaluate(model: &ImageModel, args: &EvaluateArgs) -> anyhow::Result<ExitCode> {
    args.threads.install(|| -> anyhow::Result<ExitCode> {
        let data = read(model.shape.name(), &args.data.files, true)?;
        let found = model.evaluate(&data).map_err(anyhow::Error::msg)?;
        let (units, loss) = match model.shape {
            ImageShape::Plates { .. } => ("columns", "wrong columns an image"),
            ImageShape::Parts(_) => ("parts", "mean deviation"),
        };
        output::print(&if args.json {
            json!({
                "examples": found.images,
                units: found.units,
                "error": number(found.error),
                "image_error": number(found.image_error),
                "loss": number(found.loss),
            })
            .to_string()
        } else {
            [
                format!("error {} on {} {units}", percent(found.error), found.units),
                format!("image error {} on {} images", percent(found.image_error), found.images),
                format!("{loss} {:.4}", found.loss),
            ]
            .join("\n")
        })?;
        Ok(ExitCode::SUCCESS)
    })?
}

pub(super) fn audit(mut model: ImageModel, args: &AuditArgs) -> anyhow::Result<ExitCode> {
    if let Some(path) = &args.proof {
        model.load_proof(path)?;
    }
    let (name, weights) = (model.shape.name(), args.example_weights()?);
    args.threads.install(|| -> anyhow::Result<ExitCode> {
        let data = read(name, &args.data.files, true).context("the data to audit with")?;
        super::audit::show(
            &minorant::audit::audit_images(&model, &data, weights.as_deref()),
            args.json,
        )
    })?
}

pub(super) fn inspect(model: &ImageModel, as_json: bool) -> String {
    let certificate = model.certificate;
    let name = model.shape.name().as_str();
    if as_json {
        let mut object = json!({
            "kind": "model",
            "model": name,
            "features": model.weights.len(),
            "examples": model.examples,
            "lambda": number(model.lambda),
            "solver": model.solver,
            "status": model.status,
            "objective": number(certificate.objective),
            "lower_bound": maybe(certificate.lower_bound),
            "relative_gap": maybe(certificate.relative_gap()),
            "certified": certificate.certifies(model.tol),
            "auditable": model.is_auditable(),
            "data_sha256": model.data_sha256,
        });
        match &model.shape {
            ImageShape::Plates { height, widths, loss } => {
                object["height"] = json!(height);
                object["widths"] = json!(widths);
                object["loss"] = json!(loss.as_str());
            }
            ImageShape::Parts(shape) => {
                object["grid"] = json!([shape.width, shape.height]);
                object["channels"] = json!(shape.channels);
                object["parents"] = json!(shape.parents);
            }
        }
        return object.to_string();
    }
    let shape = match &model.shape {
        ImageShape::Plates { height, widths, loss } => {
            format!("{} characters on {height} rows, loss {}", widths.len(), loss.as_str())
        }
        ImageShape::Parts(shape) => format!(
            "{} parts on {} x {} places with {} channels",
            shape.parents.len() + 1,
            shape.width,
            shape.height,
            shape.channels
        ),
    };
    [
        format!("model         {name}"),
        format!("images        {shape}"),
        format!("weights       {}", model.weights.len()),
        format!(
            "trained on    {} images, lambda {}, {} ({})",
            model.examples,
            crate::number::setting(model.lambda),
            model.solver,
            model.status
        ),
        certified(&certificate, None),
        proof_and_data(model.is_auditable(), &model.data_sha256),
    ]
    .join("\n")
}
