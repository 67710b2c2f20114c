//! `minorant train`.

use super::{cancel_on_interrupt, check_writable, leave};
use crate::args::{ModelArg, TrainArgs};
use crate::number;
use crate::output;
use crate::progress::Watchers;
use crate::report::ReportRun;
use anyhow::Context;
use minorant::checkpoint::FileCheckpoints;
use minorant::model::{FittedModel, PROOF_BYTES, Penalty};
use minorant::trace::TraceRecord;
use minorant::train::{TrainReport, start_from, train};
use std::process::ExitCode;

pub(crate) fn run(args: &TrainArgs) -> anyhow::Result<ExitCode> {
    let problem = &args.problem;
    let name = match problem.model {
        ModelArg::Linear(name) => name,
        ModelArg::Chain(name) => return super::chain::train(name, args),
        ModelArg::Kernel(name) => return super::kernel::train(name, args),
        ModelArg::Hmm => return super::hmm::train(args),
        ModelArg::Image(name) => return super::image::train(name, args),
        ModelArg::Neuro => return super::neuro::train(args),
    };
    let mut options = problem.options(name, args.solver.method()?)?;
    if args.proof.is_some() {
        options.method_options.proof_bytes = u64::MAX;
    }
    check_writable(&[&args.out, &args.proof, &args.trace, &args.report, &args.checkpoint])?;
    let cancel = cancel_on_interrupt();
    problem.threads.install(|| -> anyhow::Result<ExitCode> {
        let (data, load_seconds) = problem.read()?;
        if let Some(file) = &args.start {
            let weights = start_from(&FittedModel::load(file)?, &data, &options);
            options.start = Some(weights.with_context(|| file.display().to_string())?);
        }
        let mut watchers = Watchers::new("training", problem.stopping.tol(), args.output.quiet)
            .with_records_if(args.trace.is_some() || args.report.is_some());
        let mut checkpoints = FileCheckpoints::new(
            args.checkpoint.as_deref(),
            args.resume.as_deref(),
            &data,
            &options,
        )?;
        let trained = train(&data, &options, &cancel, &mut watchers, &mut checkpoints);
        watchers.finish();
        let (model, report) = trained?;
        leave::trace(args, &watchers, &mut checkpoints)?;
        output::hint_if_stalled(&report, problem.stopping.tol());
        let saved = save(args, &model)?;
        let facts = facts(&report, &problem.data_name());
        leave::page(args, facts, problem.stopping.tol(), &report, &watchers, Vec::new())?;
        if args.output.json {
            output::print(&output::train_json(&model, &report, load_seconds).to_string())?;
        } else {
            output::print(&summary(&model, &report, &problem.data_name()))?;
            saved.iter().try_for_each(|line| output::print(line))?;
        }
        Ok(ExitCode::SUCCESS)
    })?
}

/// Writes model and proof; returns what to tell the user about it.
fn save(args: &TrainArgs, model: &FittedModel) -> anyhow::Result<Vec<String>> {
    let mut lines = Vec::new();
    if let Some(path) = &args.proof {
        if model.save_proof(path)? {
            lines.push(format!("proof         {}", path.display()));
        } else {
            let why = if model.loss.is_convex() {
                "an aggregate plane has lost its origins"
            } else {
                "a non-convex model has no global bound to prove"
            };
            output::tell(&format!("note: not auditable: {why}"));
        }
    }
    if let Some(path) = &args.out {
        let with_proof = model.save(path, if args.proof.is_some() { 0 } else { PROOF_BYTES })?;
        lines.push(format!("model         {}", path.display()));
        if !with_proof && args.proof.is_none() {
            let why = if !model.loss.is_convex() {
                "a non-convex model has no global bound to prove"
            } else if model.is_auditable() {
                "its proof is over 64 MiB; --proof FILE saves it apart"
            } else {
                "an aggregate plane has lost its origins"
            };
            output::tell(&format!("note: the model is saved without a proof: {why}"));
        }
    }
    Ok(lines)
}

/// What the problem was, for reports.
pub(super) fn facts(report: &TrainReport, data: &str) -> Vec<(String, String)> {
    let fact = |name: &str, value: String| (name.to_string(), value);
    vec![
        fact("Data", data.to_string()),
        fact("Examples", report.examples.to_string()),
        fact("Features", report.features.to_string()),
        fact("Weights", report.dim.to_string()),
        fact("λ", number::setting(report.lambda)),
    ]
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
pub(super) fn summary(model: &FittedModel, report: &TrainReport, data: &str) -> String {
    let nonzeros = (model.penalty == Penalty::L1).then(|| model.nonzero_weights());
    report_in_words(model.model.as_str(), model.tol, report, data, nonzeros)
}

/// The answer for people, of a model of any kind; `nonzeros` where the penalty makes weights zero.
pub(super) fn report_in_words(
    name: &str,
    tol: f64,
    report: &TrainReport,
    data: &str,
    nonzeros: Option<usize>,
) -> String {
    let certificate = report.certificate;
    let bound = certificate.lower_bound.map_or("none".into(), number::bound);
    let gap = output::gap_in_words(&certificate, report.local_gap);
    let mut lines = vec![
        format!(
            "{} by {} on {data}: {} examples, {} features, {} weights, lambda {}",
            name,
            report.solver,
            report.examples,
            report.features,
            report.dim,
            number::setting(report.lambda)
        ),
        format!("objective     {}", number::objective(certificate.objective)),
        format!("lower bound   {bound}"),
        format!("gap           {gap}"),
        format!(
            "status        {}, {} evaluations in {:.2} s",
            report.status.as_str(),
            report.evaluations,
            report.seconds
        ),
        output::certificate_in_words(report, tol),
    ];
    if let Some(nonzeros) = nonzeros {
        let sparse = format!("non-zeros     {nonzeros} of {} weights", report.dim);
        lines.insert(1, sparse);
    }
    lines.join("\n")
}
