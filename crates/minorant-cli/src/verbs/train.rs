//! `minorant train`: one run, and the files that it leaves behind.

use super::{Job, LOST_ORIGINS, with_data};
use crate::args::{ProblemArgs, TRAIN};
use crate::number;
use crate::output::{self, aligned, percent};
use crate::progress::{Watchers, write_trace};
use crate::report::{plane, residuals, runs};
use anyhow::Context as _;
use minorant::checkpoint::FileCheckpoints;
use minorant::family::{Context, FittedModel, PROOF_BYTES, Settings, TrainReport, train};

pub(crate) fn run(problem: &ProblemArgs<TRAIN>) -> anyhow::Result<()> {
    with_data(problem, |Job { settings, data, data_name, load_seconds, cancel, is_quiet }| {
        let tol = settings.tol();
        let start = settings.file("start").map(|file| -> anyhow::Result<Vec<f64>> {
            let model = FittedModel::load(&file)?;
            let weights = settings.entry().start_from(&model, data.view(), &settings);
            weights.with_context(|| file.display().to_string())
        });
        let start = start.transpose()?;
        let wants_records = settings.is_given("trace") || settings.is_given("report");
        let mut watchers = Watchers::new("training", tol, is_quiet);
        watchers.keeps_records = wants_records;
        watchers.source = data.view().source();
        watchers.labels = settings.is_given("trace-labels").then(Vec::new);
        let (write, resume) = (settings.file("checkpoint"), settings.file("resume"));
        let mut checkpoints =
            FileCheckpoints::new(write.as_deref(), resume.as_deref(), data.view(), &settings)?;
        if let Some(file) = resume.filter(|_| !is_quiet) {
            output::tell(&format!("going on from {}", file.display()));
        }
        let context = Context::default().cancelled_by(&cancel);
        let context = context.observed_by(&mut watchers).kept_by(&mut checkpoints);
        let proof_bytes = if settings.is_given("proof") { u64::MAX } else { PROOF_BYTES };
        let trained = train(data.view(), &settings, Context { start, proof_bytes, ..context });
        watchers.view.finish();
        let (model, report) = trained?;
        checkpoints.finish();
        if let Some(path) = settings.file("trace") {
            write_trace(&watchers, &path)?;
        }
        if let Some(error) = checkpoints.failure() {
            output::tell(&format!("warning: no checkpoint could be written: {error}"));
        }
        output::hint_if_stalled(&report, tol);
        let saved = save(&settings, &model)?;
        if let Some(path) = settings.file("report") {
            let run = runs::Run { report: &report, trace: &watchers.records };
            let title = format!("{} on {data_name}", model.name());
            let mut page = runs::page(title, facts(&model, &report, &data_name), tol, &[run]);
            if let Some(before) = model.form().before(&model, data.view())? {
                page.sections.push(plane::section(&before, &model, data.view())?);
            }
            if settings.entry().model.takes_targets {
                page.sections.push(residuals::section(&model, data.view())?);
            }
            minorant::write_atomically(&path, page.to_html().as_bytes())?;
        }
        if settings.is_given("json") {
            return output::print(&output::train_json(&model, &report, load_seconds).to_string());
        }
        output::print(&in_words(&model, &report, &data_name))?;
        saved.iter().try_for_each(|line| output::print(line))
    })
}

/// Writes model and proof; the lines that tell where they are.
pub(super) fn save(settings: &Settings, model: &FittedModel) -> anyhow::Result<Vec<String>> {
    let mut lines = Vec::new();
    let proof = settings.file("proof");
    if let Some(path) = &proof {
        if model.save_proof(path)? {
            lines.push(format!("proof         {}", path.display()));
        } else {
            output::tell(&format!("note: not auditable: {LOST_ORIGINS}"));
        }
    }
    if let Some(path) = settings.file("out") {
        let with_proof = model.save(&path, if proof.is_some() { 0 } else { PROOF_BYTES })?;
        lines.push(format!("model         {}", path.display()));
        if !with_proof && proof.is_none() && model.is_convex() {
            let why = match model.is_auditable() {
                true => "its proof is over 64 MiB; --proof FILE saves it apart",
                false => LOST_ORIGINS,
            };
            output::tell(&format!("note: the model is saved without a proof: {why}"));
        }
    }
    Ok(lines)
}

/// What the problem was, for reports.
pub(super) fn facts(
    model: &FittedModel,
    report: &TrainReport,
    data: &str,
) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("Data", data.to_string()),
        ("Examples", report.examples.to_string()),
        ("Features", report.features.to_string()),
        ("Weights", report.dim.to_string()),
    ];
    facts.extend(report.lambda.map(|lambda| ("λ", number::setting(lambda))));
    let settings = model.form().describe().settings_with_kernel();
    facts.extend(Some(("Settings", settings)).filter(|(_, settings)| !settings.is_empty()));
    facts
}

/// The answer for people.
pub(super) fn in_words(model: &FittedModel, report: &TrainReport, data: &str) -> String {
    let about = model.form().describe();
    let mut head = format!(
        "{} by {} on {data}: {} examples, {} features, {} weights",
        model.name(),
        report.solver,
        report.examples,
        report.features,
        report.dim,
    );
    head.extend(report.lambda.map(|lambda| format!(", lambda {}", number::setting(lambda))));
    let settings = about.settings_with_kernel();
    head.extend(Some(settings).filter(|s| !s.is_empty()).map(|s| format!(", {s}")));
    let mut lines = output::answer(report);
    if model.is_sparse() {
        let nonzero = format!("{} of {} weights", model.nonzero_weights(), report.dim);
        lines.insert(0, ("non-zeros", nonzero));
    }
    let further = report.further.iter().filter_map(|(name, value)| {
        let value = match (value.as_f64(), value.as_str()) {
            (_, Some(text)) => text.to_string(),
            (Some(share), _) if name.ends_with("error") => percent(share),
            (Some(bytes), _) if name.contains("bytes") => format!("{:.0} MB", bytes / 1e6),
            (Some(_), _) => value.to_string(),
            _ => return None,
        };
        Some((name.replace('_', " "), value))
    });
    let further: Vec<(String, String)> = further.collect();
    lines.extend(further.iter().map(|(name, value)| (name.as_str(), value.clone())));
    let proven = match about.unproven.filter(|_| report.certificate.lower_bound.is_none()) {
        Some(sentence) => sentence.into(),
        None => output::certificate_in_words(report, model.facts.tol),
    };
    format!("{head}\n{}\n{proven}", aligned(lines))
}
