//! `minorant inspect`: a model file or data files, whichever it is given. What it shows of linear
//! models is here, what it shows of data in `inspect_data.rs`.

use crate::args::InspectArgs;
use crate::output::{self, maybe, number};
use minorant::certificate::Certificate;
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
        _ => super::inspect_data::shown(args)?,
    };
    output::print(&shown)?;
    Ok(ExitCode::SUCCESS)
}

/// Safetensors begin with the length of a JSON header, eight bytes, and the header's brace. What a
/// pipe begins with could not be read again.
fn looks_like_a_model(path: &Path) -> bool {
    let mut start = [0; 9];
    if !path.is_file() {
        return false;
    }
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
    let gap = output::gap_in_words(certificate, local_gap);
    let bound = certificate.lower_bound.map_or("none".into(), crate::number::bound);
    let objective = crate::number::objective(certificate.objective);
    format!("objective     {objective}\nlower bound   {bound}\ngap           {gap}")
}

/// The lines about the proof, and about the data that it is of.
pub(super) fn proof_and_data(is_auditable: bool, sha256: &str) -> String {
    let place = if is_auditable { "in the file" } else { "not in the file" };
    format!("proof         {place}\ndata          sha256 {sha256}")
}
