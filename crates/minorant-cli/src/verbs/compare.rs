//! `minorant compare`: several solvers on one problem, a table, and a report.

use super::train::{facts, report_run};
use super::{cancel_on_interrupt, check_writable};
use crate::args::{CompareArgs, ModelArg};
use crate::number;
use crate::output::{self, train_json};
use crate::progress::Watchers;
use crate::report::Report;
use minorant::data::Dataset;
use minorant::model::FittedModel;
use minorant::risk::Cancel;
use minorant::trace::TraceRecord;
use minorant::train::{TrainOptions, TrainReport, train};
use serde_json::json;
use std::process::ExitCode;

/// One solver's run.
pub(super) struct Compared {
    pub(super) model: FittedModel,
    pub(super) report: TrainReport,
    pub(super) records: Vec<TraceRecord>,
}

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let problem = &args.problem;
    let ModelArg::Linear(name) = problem.model else {
        anyhow::bail!(
            "compare takes linear models; train {} with one solver after the other",
            problem.model.as_str()
        );
    };
    check_writable(&[&args.report])?;
    let cancel = cancel_on_interrupt();
    let all = args.solvers.iter().map(|&solver| problem.options(name, solver));
    let all = all.collect::<anyhow::Result<Vec<_>>>()?;
    problem.threads.install(|| -> anyhow::Result<ExitCode> {
        let (data, load_seconds) = problem.read()?;
        let mut runs = Vec::new();
        for options in &all {
            runs.push(compare_one(&data, options, &cancel, args.output.quiet)?);
            if cancel.is_cancelled() {
                break;
            }
        }
        if let Some(path) = &args.report {
            let title = format!("{} on {}", problem.model.as_str(), problem.data_name());
            let page = page(
                title,
                facts(&runs[0].report, &problem.data_name()),
                problem.stopping.tol(),
                &runs,
            );
            minorant::write_atomically(path, page.to_html().as_bytes())?;
        }
        if args.output.json {
            let objects = runs.iter().map(|run| train_json(&run.model, &run.report, load_seconds));
            output::print(&json!({ "runs": objects.collect::<Vec<_>>() }).to_string())?;
        } else {
            output::print(&table(&runs, problem.stopping.tol()))?;
            if let Some(path) = &args.report {
                output::print(&format!("\nreport  {}", path.display()))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    })?
}

/// Runs one solver.
pub(super) fn compare_one(
    data: &Dataset<'_>,
    options: &TrainOptions,
    cancel: &Cancel,
    quiet: bool,
) -> anyhow::Result<Compared> {
    let mut watchers = Watchers::new(options.method.name(), options.rules.tol, quiet);
    let trained = train(data, options, cancel, &mut watchers, &mut ());
    watchers.finish();
    let (model, report) = trained?;
    output::hint_if_stalled(&report, options.rules.tol);
    Ok(Compared { model, report, records: watchers.records })
}

/// The report of a comparison.
pub(super) fn page(
    title: String,
    facts: Vec<(String, String)>,
    tol: f64,
    runs: &[Compared],
) -> Report<'_> {
    let runs = runs.iter().map(|run| report_run(&run.report, tol, &run.records)).collect();
    Report { title, facts, tol, runs, extra: Vec::new() }
}

/// The comparison as a table.
pub(super) fn table(runs: &[Compared], tol: f64) -> String {
    let head = [
        "solver",
        "objective",
        "lower bound",
        "rel. gap",
        "certified",
        "evals",
        "seconds",
        "status",
    ];
    let mut rows = vec![head.map(String::from).to_vec()];
    for run in runs {
        let certificate = run.report.certificate;
        rows.push(vec![
            run.report.solver.to_string(),
            number::objective(certificate.objective),
            certificate.lower_bound.map_or("-".into(), number::bound),
            certificate.relative_gap().map_or("-".into(), |gap| format!("{gap:.1e}")),
            if certificate.certifies(tol) { "yes" } else { "no" }.into(),
            run.report.evaluations.to_string(),
            format!("{:.3}", run.report.seconds),
            run.report.status.as_str().into(),
        ]);
    }
    output::table(&rows)
}
