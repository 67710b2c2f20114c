//! `minorant compare`: several solvers on one problem, a table, and a report.

use super::train::{facts, report_run};
use super::{cancel_on_interrupt, check_writable};
use crate::args::{CompareArgs, on_threads, with_dashes};
use crate::number;
use crate::output::{self, train_json};
use crate::progress::Watchers;
use crate::report::Report;
use minorant::family::{Context, Data, FittedModel, Settings, TrainReport, read_training, train};
use minorant::options::Value;
use minorant::options::common::THREADS;
use minorant::risk::Cancel;
use minorant::trace::TraceRecord;
use serde_json::json;
use std::process::ExitCode;
use std::time::Instant;

/// One solver's run.
pub(super) struct Compared {
    pub(super) model: FittedModel,
    pub(super) report: TrainReport,
    pub(super) records: Vec<TraceRecord>,
}

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let problem = &args.problem;
    let settings = problem.settings()?;
    check_writable(&settings)?;
    let all = args.solvers.iter().map(|solver| {
        let mut settings = settings.clone();
        settings.set("solver", Value::Word(solver.clone())).map_err(with_dashes)?;
        settings.check().map_err(with_dashes)?;
        Ok(settings)
    });
    let all = all.collect::<anyhow::Result<Vec<Settings>>>()?;
    let cancel = cancel_on_interrupt();
    on_threads(settings.get(&THREADS), || -> anyhow::Result<ExitCode> {
        let begin = Instant::now();
        let data = read_training(&settings, &problem.files)?;
        let load_seconds = begin.elapsed().as_secs_f64();
        let mut runs = Vec::new();
        for settings in &all {
            runs.push(compare_one(data.view(), settings, &cancel, settings.is_given("quiet"))?);
            if cancel.is_cancelled() {
                break;
            }
        }
        let report = settings.file("report");
        if let Some(path) = &report {
            let title = format!("{} on {}", problem.model(), problem.data_name());
            let page = page(title, &problem.data_name(), settings.tol(), &runs);
            minorant::write_atomically(path, page.to_html().as_bytes())?;
        }
        if settings.is_given("json") {
            let object = |run: &Compared| train_json(&run.model, &run.report, load_seconds);
            let objects: Vec<_> = runs.iter().map(object).collect();
            output::print(&json!({ "runs": objects }).to_string())?;
            return Ok(ExitCode::SUCCESS);
        }
        output::print(&table(&runs, settings.tol()))?;
        if let Some(path) = &report {
            output::print(&format!("\nreport  {}", path.display()))?;
        }
        Ok(ExitCode::SUCCESS)
    })?
}

/// Runs one solver with its progress shown and its trace kept.
pub(super) fn compare_one(
    data: Data<'_>,
    settings: &Settings,
    cancel: &Cancel,
    quiet: bool,
) -> anyhow::Result<Compared> {
    let mut watchers = Watchers::new(&settings.solver(), settings.tol(), quiet);
    let context = Context::default().cancelled_by(cancel).observed_by(&mut watchers);
    let trained = train(data, settings, context);
    watchers.finish();
    let (model, report) = trained?;
    output::hint_if_stalled(&report, settings.tol());
    Ok(Compared { model, report, records: watchers.records })
}

/// The report of a comparison.
pub(super) fn page<'r>(title: String, data: &str, tol: f64, runs: &'r [Compared]) -> Report<'r> {
    let facts = runs.first().map_or(Vec::new(), |run| facts(&run.model, &run.report, data));
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
            certificate.relative_gap().map_or("-".into(), number::scientific),
            if certificate.certifies(tol) { "yes" } else { "no" }.into(),
            run.report.evaluations.to_string(),
            format!("{:.3}", run.report.seconds),
            run.report.status.as_str().into(),
        ]);
    }
    output::table(&rows)
}
