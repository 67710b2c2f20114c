//! `minorant compare`: several solvers on one problem, a table, and a report.

use super::train::facts;
use super::{Job, Trained, watched, with_data};
use crate::args::{CompareArgs, with_dashes};
use crate::number;
use crate::output::{self, dash, train_json};
use crate::report::{Page, runs};
use minorant::family::Settings;
use minorant::options::Value;
use serde_json::json;

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<()> {
    let settings = args.problem.settings()?;
    let all = args.solvers.iter().map(|solver| {
        let mut settings = settings.clone();
        settings.set("solver", Value::Word(solver.clone())).map_err(with_dashes)?;
        settings.check().map_err(with_dashes)?;
        Ok(settings)
    });
    let all = all.collect::<anyhow::Result<Vec<Settings>>>()?;
    with_data(&args.problem, |job: Job| {
        let mut runs = Vec::new();
        for settings in &all {
            runs.push(watched(&settings.solver(), job.data.view(), settings, &job.cancel)?);
            if job.cancel.is_cancelled() {
                break;
            }
        }
        let tol = job.settings.tol();
        let report = job.settings.file("report");
        if let Some(path) = &report {
            let title = format!("{} on {}", job.settings.model(), job.data_name);
            let page = page(title, &job.data_name, tol, &runs);
            minorant::write_atomically(path, page.to_html().as_bytes())?;
        }
        if job.settings.is_given("json") {
            let object = |run: &Trained| train_json(&run.model, &run.report, job.load_seconds);
            let objects: Vec<_> = runs.iter().map(object).collect();
            return output::print(&json!({ "runs": objects }).to_string());
        }
        output::print(&table(&runs, tol))?;
        report.map_or(Ok(()), |path| output::print(&format!("\nreport  {}", path.display())))
    })
}

/// The report of a comparison.
pub(super) fn page(title: String, data: &str, tol: f64, all: &[Trained]) -> Page {
    let facts = all.first().map_or(Vec::new(), |run| facts(&run.model, &run.report, data));
    let runs =
        all.iter().map(|Trained { report, records, .. }| runs::Run { report, trace: records });
    runs::page(title, facts, tol, &runs.collect::<Vec<_>>())
}

/// The comparison as a table.
pub(super) fn table(runs: &[Trained], tol: f64) -> String {
    let head = "solver|objective|lower bound|rel. gap|certified|evals|seconds|status".split('|');
    let row = |run: &Trained| {
        let (report, certificate) = (&run.report, run.report.certificate);
        vec![
            report.solver.to_string(),
            number::objective(certificate.objective),
            dash(certificate.lower_bound, number::bound),
            dash(certificate.relative_gap(), number::scientific),
            if certificate.certifies(tol) { "yes" } else { "no" }.into(),
            report.evaluations.to_string(),
            format!("{:.3}", report.seconds),
            report.status.as_str().into(),
        ]
    };
    output::table(head, runs.iter().map(row))
}
