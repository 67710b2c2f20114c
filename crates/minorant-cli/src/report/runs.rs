//! The page of one or several runs on one problem, so that a lower bound that one of them proved
//! holds for all.

use super::words::verdict;
use super::{Column, Page, Section, curves};
use crate::number::{count, optional, scientific, significant};
use minorant::family::TrainReport;
use minorant::trace::TraceRecord;
use std::ops::Deref;

/// One run: its numbers, and one record per iteration. Where it has no lower bound, those of the
/// records are not shown either: in a non-convex run they bound only its model.
#[derive(Debug, Clone)]
pub(crate) struct Run<'a> {
    pub(crate) report: &'a TrainReport,
    pub(crate) trace: &'a [TraceRecord],
}

impl Deref for Run<'_> {
    type Target = TrainReport;

    fn deref(&self) -> &TrainReport {
        self.report
    }
}

/// The page of runs that were asked for a relative gap of `tol`.
pub(crate) fn page(
    title: String,
    facts: Vec<(&'static str, String)>,
    tol: f64,
    runs: &[Run<'_>],
) -> Page {
    let mut sections = Vec::new();
    if !runs.is_empty() {
        let figures = curves::figures(runs, tol);
        sections.push(Section { heading: "How the runs went", figures, ..Section::default() });
        let table = columns(runs, tol);
        sections.push(Section { heading: "The runs", table, ..Section::default() });
    }
    Page { title, verdict: verdict(runs, tol), facts, sections, reading: &HOW_TO_READ }
}

const HOW_TO_READ: [&str; 2] = [
    "The objective is what training makes as small as it can: the regularizer plus the mean loss over \
     the examples. The lower bound is a number that no weights can go below, and it holds whatever the \
     solver did; the gap is the distance between the two, and the relative gap divides it by the \
     objective. A run is certified when its relative gap is proven to be within the tolerance. An \
     evaluation is one pass over the data (with kernels, one inner problem solved, and losses are \
     summed), so that charts by evaluations are the same on every machine, while charts by seconds \
     tell about this one.",
    "A run on a problem that is not convex has no lower bound. Its local model gap tells how much the \
     model around the answer still promises: where it is small the answer is a stationary point, but \
     other weights may be better, and nothing here says by how much.",
];

fn columns(runs: &[Run<'_>], tol: f64) -> Vec<Column> {
    type Of<'f, T> = &'f dyn Fn(&Run<'_>) -> T;
    let plain = |name, cell: Of<'_, String>| Column::plain(name, runs.iter().map(cell));
    let ranked = |name, cell: Of<'_, String>, rank: Of<'_, Option<f64>>| {
        Column::new(name, runs.iter().map(|run| (cell(run), rank(run))))
    };
    let is_certified = |run: &Run<'_>| run.certificate.certifies(tol);
    // Stopping early is no merit: effort is compared among certified runs.
    let effort = |run: &Run<'_>, effort: f64| is_certified(run).then_some(effort);
    let locality = |run: &Run<'_>| run.trace.last().and_then(|record| record.locality);
    let is_local = runs.iter().any(|run| run.local_gap.is_some());
    let columns = [
        plain("Solver", &|r| r.solver.into()),
        plain("Status", &|r| r.status.as_str().into()),
        ranked("Objective", &|r| significant(r.certificate.objective, 7), &|r| {
            Some(r.certificate.objective)
        }),
        ranked(
            "Lower bound",
            &|r| optional(r.certificate.lower_bound, |x| significant(x, 7)),
            &|r| r.certificate.lower_bound.map(|bound| -bound),
        ),
        ranked("Relative gap", &|r| optional(r.certificate.relative_gap(), scientific), &|r| {
            r.certificate.relative_gap()
        }),
        plain("Local model gap", &|r| optional(r.local_gap, scientific)),
        plain("Locality", &|r| optional(locality(r), scientific)),
        plain("Step kinds", &step_kinds),
        plain("Certified", &|r| if is_certified(r) { "yes" } else { "no" }.into()),
        ranked("Evaluations", &|r| count(r.evaluations), &|r| effort(r, r.evaluations as f64)),
        plain("Iterations", &|r| count(r.iterations)),
        ranked("Seconds", &|r| significant(r.seconds, 3), &|r| effort(r, r.seconds)),
        plain("Read from disk", &|r| size(r, "bytes_read")),
        plain("Of it kept", &|r| size(r, "resident_bytes")),
    ];
    let is_shown = |c: &Column| !c.is_empty() && (is_local || c.name != "Step kinds");
    columns.into_iter().filter(is_shown).collect()
}

/// What a run tells of bytes under this name, where it does.
fn size(run: &Run<'_>, name: &str) -> String {
    let bytes = run.report.further(name).and_then(|bytes| bytes.as_f64());
    bytes.map_or_else(String::new, |bytes| format!("{:.0} MB", bytes / 1e6))
}

/// How many steps of each kind a run took, in the order in which they first occurred.
fn step_kinds(run: &Run<'_>) -> String {
    let mut kinds: Vec<(&str, u64)> = Vec::new();
    for record in run.trace.iter().filter(|record| record.step != "start") {
        match kinds.iter_mut().find(|(kind, _)| *kind == record.step) {
            Some((_, count)) => *count += 1,
            None => kinds.push((record.step, 1)),
        }
    }
    let words: Vec<String> = kinds.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    words.join(", ")
}
