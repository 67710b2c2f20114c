//! `minorant train`: one run, and the files that it leaves behind.

use super::{LOST_ORIGINS, cancel_on_interrupt, check_writable};
use crate::args::{TrainArgs, on_threads};
use crate::number;
use crate::output::{self, percent};
use crate::progress::Watchers;
use crate::report::{Report, ReportRun, plane};
use anyhow::Context as _;
use minorant::checkpoint::FileCheckpoints;
use minorant::family::{
    Context, FittedModel, PROOF_BYTES, Settings, TrainReport, read_training, train,
};
use minorant::options::common::THREADS;
use minorant::trace::TraceRecord;
use std::process::ExitCode;
use std::time::Instant;

pub(crate) fn run(args: &TrainArgs) -> anyhow::Result<ExitCode> {
    let problem = &args.problem;
    let settings = problem.settings()?;
    check_writable(&settings)?;
    let cancel = cancel_on_interrupt();
    on_threads(settings.get(&THREADS), || -> anyhow::Result<ExitCode> {
        let begin = Instant::now();
        let data = read_training(&settings, &problem.files)?;
        let load_seconds = begin.elapsed().as_secs_f64();
        let (family, is_quiet) = (settings.entry().family, settings.is_given("quiet"));
        let start = match settings.file("start") {
            Some(file) => {
                let model = FittedModel::load(&file)?;
                let weights = family.start_from(&model, data.view(), &settings);
                Some(weights.with_context(|| file.display().to_string())?)
            }
            None => None,
        };
        let wants_records = settings.is_given("trace") || settings.is_given("report");
        let mut watchers =
            Watchers::new("training", settings.tol(), is_quiet).with_records_if(wants_records);
        let (write, resume) = (settings.file("checkpoint"), settings.file("resume"));
        let mut checkpoints =
            FileCheckpoints::new(write.as_deref(), resume.as_deref(), data.view(), &settings)?;
        if let Some(file) = resume.filter(|_| !is_quiet) {
            output::tell(&format!("going on from {}", file.display()));
        }
        let mut context = Context::default()
            .cancelled_by(&cancel)
            .observed_by(&mut watchers)
            .kept_by(&mut checkpoints);
        context.start = start;
        if settings.is_given("proof") {
            context.proof_bytes = u64::MAX;
        }
        let trained = train(data.view(), &settings, context);
        watchers.finish();
        let (model, report) = trained?;
        if let Some(path) = settings.file("trace") {
            watchers.write_trace(&path)?;
        }
        if let Some(error) = checkpoints.failure() {
            output::tell(&format!("warning: no checkpoint could be written: {error}"));
        }
        output::hint_if_stalled(&report, settings.tol());
        let saved = save(&settings, &model)?;
        let data_name = problem.data_name();
        if let Some(path) = settings.file("report") {
            let before = model.form().before(&model, data.view())?;
            let picture = before.map(|before| plane::section(&before, &model, data.view()));
            let page = Report {
                title: format!("{} on {data_name}", problem.model()),
                facts: facts(&model, &report, &data_name),
                tol: settings.tol(),
                runs: vec![report_run(&report, settings.tol(), &watchers.records)],
                extra: picture.transpose()?.into_iter().collect(),
            };
            minorant::write_atomically(&path, page.to_html().as_bytes())?;
        }
        if settings.is_given("json") {
            output::print(&output::train_json(&model, &report, load_seconds).to_string())?;
            return Ok(ExitCode::SUCCESS);
        }
        output::print(&in_words(&model, &report, &data_name))?;
        saved.iter().try_for_each(|line| output::print(line))?;
        Ok(ExitCode::SUCCESS)
    })?
}

/// Writes model and proof; the lines that tell where they are.
fn save(settings: &Settings, model: &FittedModel) -> anyhow::Result<Vec<String>> {
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
) -> Vec<(String, String)> {
    let mut facts = vec![
        ("Data", data.to_string()),
        ("Examples", report.examples.to_string()),
        ("Features", report.features.to_string()),
        ("Weights", report.dim.to_string()),
    ];
    facts.extend(report.lambda.map(|lambda| ("λ", number::setting(lambda))));
    let settings = model.form().describe().settings_with_kernel();
    facts.extend(Some(("Settings", settings)).filter(|(_, settings)| !settings.is_empty()));
    facts.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

/// A run for a report.
pub(super) fn report_run<'a>(
    report: &TrainReport,
    tol: f64,
    trace: &'a [TraceRecord],
) -> ReportRun<'a> {
    let certificate = report.certificate;
    ReportRun {
        solver: report.solver.into(),
        status: report.status.as_str(),
        objective: certificate.objective,
        lower_bound: certificate.lower_bound,
        relative_gap: certificate.relative_gap(),
        local_gap: report.local_gap,
        certified: certificate.certifies(tol),
        evaluations: report.evaluations,
        iterations: report.iterations,
        seconds: report.seconds,
        trace,
    }
}

/// The answer for people.
pub(super) fn in_words(model: &FittedModel, report: &TrainReport, data: &str) -> String {
    let certificate = report.certificate;
    let about = model.form().describe();
    let bound = certificate.lower_bound.map_or("none".into(), number::bound);
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
    let mut lines = vec![head];
    if model.is_sparse() {
        lines.push(format!("non-zeros     {} of {} weights", model.nonzero_weights(), report.dim));
    }
    lines.push(format!("objective     {}", number::objective(certificate.objective)));
    lines.push(format!("lower bound   {bound}"));
    lines.push(format!("gap           {}", output::gap_in_words(&certificate, report.local_gap)));
    lines.push(format!(
        "status        {}, {} evaluations in {:.2} s",
        report.status.as_str(),
        report.evaluations,
        report.seconds
    ));
    for (name, value) in &report.further {
        let value = match (value.as_f64(), value.as_str()) {
            (_, Some(text)) => text.to_string(),
            (Some(share), _) if name.ends_with("error") => percent(share),
            (Some(_), _) => value.to_string(),
            _ => continue,
        };
        lines.push(format!("{:<13} {value}", name.replace('_', " ")));
    }
    lines.push(match about.unproven.filter(|_| certificate.lower_bound.is_none()) {
        Some(sentence) => sentence.into(),
        None => output::certificate_in_words(report, model.facts.tol),
    });
    lines.join("\n")
}
