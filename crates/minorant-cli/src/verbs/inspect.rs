//! `minorant inspect`: shows what is in a model file; `inspect_data` shows data files.

use super::{inspect_data, kind};
use crate::args::{DataArgs, on_threads};
use crate::number;
use crate::output::{self, aligned};
use minorant::family::FittedModel;
use serde_json::{Value, json};
use std::path::Path;

pub(crate) fn run(args: &DataArgs) -> anyhow::Result<()> {
    on_threads(args.threads, || {
        output::print(&match &args.files[..] {
            [file] if looks_like_a_model(file) => {
                let model = FittedModel::load(file)?;
                if args.json { as_json(&model).to_string() } else { as_text(&model) }
            }
            _ => inspect_data::shown(args)?,
        })
    })
}

/// Whether a file begins like a safetensors file: with the length of a JSON header in eight bytes,
/// and the header's brace.
fn looks_like_a_model(path: &Path) -> bool {
    kind::beginning(path, 9).get(4..) == Some(b"\0\0\0\0{")
}

fn as_json(model: &FittedModel) -> Value {
    let facts = &model.facts;
    let mut object: Value = model.settings_in_header().into();
    let certificate = facts.certificate;
    let common = json!({
        "kind": "model",
        "model": model.name(),
        "lambda": facts.lambda,
        "solver": facts.solver,
        "status": facts.status,
        "objective": certificate.objective,
        "lower_bound": certificate.lower_bound,
        "relative_gap": certificate.relative_gap(),
        "local_gap": facts.local_gap,
        "certified": facts.is_certified(),
        "auditable": model.is_auditable(),
        "examples": facts.examples,
        "nonzero_weights": model.nonzero_weights(),
        "data_sha256": facts.data_sha256,
    });
    for more in [common, Value::Object(model.form().describe().json)] {
        for (key, value) in more.as_object().into_iter().flatten() {
            object[key] = value.clone();
        }
    }
    object
}

fn as_text(model: &FittedModel) -> String {
    let (facts, about) = (&model.facts, model.form().describe());
    let variant = Some(format!(" ({})", about.variant)).filter(|_| !about.variant.is_empty());
    let mut lines = vec![("model", format!("{}{}", model.name(), variant.unwrap_or_default()))];
    lines.extend(about.lines);
    let weights: usize = model.form().weights().iter().map(|w| w.len()).sum();
    if weights > 0 {
        lines.push(("weights", format!("{weights} ({} not zero)", model.nonzero_weights())));
    }
    let lambda = facts.lambda.map(|lambda| format!(", lambda {}", number::setting(lambda)));
    let settings = Some(about.settings).filter(|settings| !settings.is_empty());
    let examples = if about.trained_on.is_empty() { "examples" } else { &about.trained_on };
    let trained_on = format!(
        "{} {}{}{}, {} ({})",
        facts.examples,
        examples,
        lambda.unwrap_or_default(),
        settings.map(|settings| format!(", {settings}")).unwrap_or_default(),
        facts.solver,
        facts.status
    );
    lines.push(("trained on", trained_on));
    lines.extend(output::certificate_lines(facts.certificate, facts.local_gap));
    let proof = match (model.is_convex(), model.is_auditable()) {
        (false, _) => "none: the model is not convex",
        (true, true) => "in the file",
        (true, false) => "not in the file",
    };
    lines.push(("proof", proof.into()));
    lines.push(("data", format!("sha256 {}", facts.data_sha256)));
    aligned(lines)
}
