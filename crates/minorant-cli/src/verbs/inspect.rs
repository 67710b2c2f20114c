//! `minorant inspect`: a model file or data files, whichever it is given.

use crate::args::InspectArgs;
use crate::output::{self, maybe, number};
use minorant::certificate::Certificate;
use minorant::data::{Dataset, LabelKind, LabelRows, LabelledBy, Labels, ReadOptions, Recordings};
use minorant::linalg::Values;
use minorant::model::{AnyModel, FittedModel};
use serde_json::json;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn run(args: &InspectArgs) -> anyhow::Result<ExitCode> {
    let shown = match &args.data.files[..] {
        [path] if looks_like_a_model(path) => match AnyModel::load(path)? {
            AnyModel::Linear(model) => inspect_model(&model, args.json),
            AnyModel::Chain(model) => super::chain::inspect(&model, args.json),
            AnyModel::Kernel(model) => super::kernel::inspect(&model, args.json),
            AnyModel::Hmm(model) => super::hmm::inspect(&model, args.json),
            AnyModel::Image(model) => super::image::inspect(&model, args.json),
            AnyModel::Neuro(model) => super::neuro::inspect(&model, args.json),
        },
        files => match args.data.recordings()? {
            Some((data, labelled_by)) => inspect_recordings(&data, labelled_by, args.json),
            None => {
                let options = ReadOptions { for_prediction: true, ..args.data.options() };
                inspect_data(&minorant::data::read(files, &options)?, args.json)
            }
        },
    };
    output::print(&shown)?;
    Ok(ExitCode::SUCCESS)
}

/// Safetensors begin with the length of a JSON header, eight bytes, and the header's brace.
fn looks_like_a_model(path: &Path) -> bool {
    let mut start = [0; 9];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start[8] == b'{' && start[4..8] == [0; 4]
}

fn inspect_model(model: &FittedModel, as_json: bool) -> String {
    let certificate = model.certificate;
    let nonzero = model.nonzero_weights();
    let classes: Vec<_> = model.classes.iter().map(output::label).collect();
    if as_json {
        return json!({
            "kind": "model",
            "model": model.model.as_str(),
            "task": model.task,
            "loss": model.loss,
            "classes": classes,
            "features": model.features,
            "examples": model.examples,
            "bias": maybe(model.bias),
            "lambda": number(model.lambda),
            "penalty": model.penalty,
            "ramp": maybe(model.ramp),
            "gamma": maybe(model.gamma),
            "balance_mean": maybe(model.balance_mean),
            "solver": model.solver,
            "status": model.status,
            "objective": number(certificate.objective),
            "lower_bound": maybe(certificate.lower_bound),
            "relative_gap": maybe(certificate.relative_gap()),
            "local_gap": maybe(model.local_gap),
            "certified": certificate.certifies(model.tol),
            "auditable": model.is_auditable(),
            "nonzero_weights": nonzero,
            "data_sha256": model.data_sha256,
        })
        .to_string();
    }
    let settings: String = [("ramp", model.ramp), ("gamma", model.gamma)]
        .into_iter()
        .filter_map(|(name, value)| Some(format!(", {name} {}", value?)))
        .collect();
    let names: Vec<String> = model.classes.iter().take(12).map(ToString::to_string).collect();
    let more = if model.classes.len() > 12 { ", …" } else { "" };
    [
        format!(
            "model         {} ({})",
            model.model.as_str(),
            json!(model.task).as_str().unwrap_or("")
        ),
        format!("classes       {}: {}{more}", model.classes.len(), names.join(", ")),
        format!("features      {}", model.features),
        format!("bias          {}", model.bias.map_or("none".into(), |bias| bias.to_string())),
        format!("weights       {nonzero} not zero"),
        format!(
            "trained on    {} examples, lambda {}, penalty {}{settings}, {} ({})",
            model.examples,
            crate::number::setting(model.lambda),
            json!(model.penalty).as_str().unwrap_or(""),
            model.solver,
            model.status
        ),
        certified(&certificate, model.local_gap),
        proof_and_data(model.is_auditable(), &model.data_sha256),
    ]
    .join("\n")
}

/// The lines about a model's certificate.
pub(super) fn certified(certificate: &Certificate, local_gap: Option<f64>) -> String {
    let local = local_gap.map(|gap| {
        let share = output::percent(gap / certificate.objective.abs());
        format!("local model gap {share}")
    });
    let gap = certificate.relative_gap().map(output::percent);
    let gap = gap.or(local).unwrap_or_else(|| "unknown".into());
    let bound = certificate.lower_bound.map_or("none".into(), crate::number::bound);
    let objective = crate::number::objective(certificate.objective);
    format!("objective     {objective}\nlower bound   {bound}\ngap           {gap}")
}

/// The lines about the proof, and about the data that it is of.
pub(super) fn proof_and_data(is_auditable: bool, sha256: &str) -> String {
    let place = if is_auditable { "in the file" } else { "not in the file" };
    format!("proof         {place}\ndata          sha256 {sha256}")
}

fn inspect_data(data: &Dataset<'_>, as_json: bool) -> String {
    let matrix = &data.features;
    let nonzero = match matrix.values() {
        Values::F32(values) => values.iter().filter(|x| **x != 0.0).count(),
        Values::F64(values) => values.iter().filter(|x| **x != 0.0).count(),
    };
    let cells = matrix.rows() as f64 * matrix.cols() as f64;
    let density = if cells > 0.0 { nonzero as f64 / cells } else { 0.0 };
    let storage = if matrix.is_sparse() { "sparse" } else { "dense" };
    let precision = if matrix.values().width() == 4 { "f32" } else { "f64" };
    let kind = match (&data.labels.rows, data.labels.kind()) {
        (LabelRows::None, _) | (_, None) => "none",
        (LabelRows::Single(_), _) if data.labels.classes.len() == 1 => "one class",
        (_, Some(LabelKind::Binary)) => "binary",
        (_, Some(LabelKind::Multiclass)) => "multiclass",
        (_, Some(LabelKind::Multilabel)) => "multilabel",
    };
    if as_json {
        return json!({
            "kind": "data",
            "examples": matrix.rows(),
            "features": matrix.cols(),
            "nonzero": nonzero,
            "density": number(density),
            "storage": storage,
            "precision": precision,
            "labels": kind,
            "classes": counted(&data.labels, "examples"),
        })
        .to_string();
    }
    let mut lines = vec![
        format!("examples      {}", matrix.rows()),
        format!("features      {}", matrix.cols()),
        format!("non-zeros     {nonzero} ({} of all cells)", output::percent(density)),
        format!("stored        {storage}, {precision}"),
        match data.labels.classes.len() {
            0 | 1 => format!("labels        {kind}"),
            classes => format!("labels        {kind}, {classes} classes"),
        },
    ];
    if kind != "none" {
        lines.push(table(&data.labels, "examples"));
    }
    lines.join("\n")
}

fn inspect_recordings(data: &Recordings, labelled_by: LabelledBy, as_json: bool) -> String {
    let lengths = || data.starts.windows(2).map(|span| span[1] - span[0]);
    let (shortest, longest) = (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0));
    let precision = if data.frames.values().width() == 4 { "f32" } else { "f64" };
    let counts = match labelled_by {
        LabelledBy::Sequence => "sequences",
        LabelledBy::Frame => "frames",
    };
    if as_json {
        return json!({
            "kind": "recordings",
            "examples": data.len(),
            "frames": data.frames.rows(),
            "features": data.frames.cols(),
            "shortest": shortest,
            "longest": longest,
            "precision": precision,
            "labels": counts,
            "classes": counted(&data.labels, counts),
        })
        .to_string();
    }
    [
        format!("sequences     {}", data.len()),
        format!("frames        {}, {shortest} to {longest} a sequence", data.frames.rows()),
        format!("features      {}", data.frames.cols()),
        format!("stored        dense, {precision}"),
        format!("labels        of {counts}, {} classes", data.labels.classes.len()),
        table(&data.labels, counts),
    ]
    .join("\n")
}

/// How often each class occurs.
fn counted(labels: &Labels, what: &str) -> Vec<serde_json::Value> {
    let classes = labels.classes.iter().zip(labels.counts());
    classes.map(|(label, count)| json!({"label": output::label(label), what: count})).collect()
}

/// The same for people, after a blank line.
fn table(labels: &Labels, what: &str) -> String {
    let mut rows = vec![vec!["class".to_string(), what.to_string()]];
    let classes = labels.classes.iter().zip(labels.counts());
    rows.extend(classes.map(|(label, count)| vec![label.to_string(), count.to_string()]));
    format!("\n{}", output::table(&rows))
}
