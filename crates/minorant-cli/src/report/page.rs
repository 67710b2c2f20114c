//! The page around the charts: headings, the certificate, facts, tables, and how to read it all.

use super::chart::Chart;
use super::words::{Strength, Verdict, verdict};
use super::{Report, ReportRun, Section, curves, escape};
use crate::number::{NONE, count, scientific, significant};
use std::fmt::Write;

/// The whole page.
pub(super) fn page(report: &Report<'_>) -> String {
    let mut html = certificate(report);
    html += &facts(&report.facts);
    if !report.runs.is_empty() {
        html += &charts("How the runs went", &curves::charts(report));
        html += &runs(report);
    }
    for section in &report.extra {
        html += &extra(section);
    }
    html += HOW_TO_READ;
    frame(&report.title, &html)
}

/// What stands around every page.
pub(super) fn frame(title: &str, content: &str) -> String {
    let (version, title) = (env!("CARGO_PKG_VERSION"), escape(title));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"Minorant {version}\">\n\
         <title>{title}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<p class=\"kicker\">Minorant report</p>\n<h1>{title}</h1>\n</header>\n\
         {content}</main>\n<footer>Written by Minorant {version}.</footer>\n</body>\n</html>\n",
        include_str!("style.css")
    )
}

/// A section of charts.
pub(super) fn charts(heading: &str, charts: &[Chart]) -> String {
    let mut html = format!("<section>\n<h2>{}</h2>\n<div class=\"charts\">\n", escape(heading));
    charts.iter().for_each(|chart| html += &chart.to_html());
    html + "</div>\n</section>\n"
}

const HOW_TO_READ: &str = "<section>\n<h2>How to read this page</h2>\n<p>The objective is what \
training makes as small as it can: the regularizer plus the mean loss over the examples. The lower \
bound is a number that no weights can go below, and it holds whatever the solver did; the gap is \
the distance between the two, and the relative gap divides it by the objective. A run is certified \
when its relative gap is proven to be within the tolerance. An evaluation is one pass over the \
data (with kernels, one inner problem solved, and losses are summed), so that charts by \
evaluations are the same on every machine, while charts by seconds tell about this one.</p>\n<p>A run on a \
problem that is not convex has no lower bound. Its local model gap tells how much the model around \
the answer still promises: where it is small the answer is a stationary point, but other weights \
may be better, and nothing here says by how much.</p>\n</section>\n";

fn certificate(report: &Report<'_>) -> String {
    verdict_box(&verdict(report))
}

/// The claim of a page, at its top.
pub(super) fn verdict_box(verdict: &Verdict) -> String {
    let class = match verdict.strength {
        Strength::Certified => "certified",
        Strength::Bounded => "bounded",
        Strength::Nothing => "nothing",
    };
    format!(
        "<section class=\"verdict {class}\">\n<h2>{}</h2>\n<p>{}</p>\n</section>\n",
        escape(&verdict.headline),
        escape(&verdict.sentences.join(" "))
    )
}

pub(super) fn facts(facts: &[(String, String)]) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let mut html = String::from("<section>\n<h2>The problem</h2>\n<dl class=\"facts\">\n");
    for (name, value) in facts {
        let _ = writeln!(html, "<div><dt>{}</dt><dd>{}</dd></div>", escape(name), escape(value));
    }
    html + "</dl>\n</section>\n"
}

type Rank<'r> = dyn Fn(&ReportRun<'_>) -> Option<f64> + 'r;

/// A column of the table of runs.
struct Column<'r> {
    name: &'static str,
    cell: &'r dyn Fn(&ReportRun<'_>) -> String,
    /// The number by which the best run is found, the least being best; a run for which there is none
    /// is left out.
    rank: Option<&'r Rank<'r>>,
    is_number: bool,
}

fn runs(report: &Report<'_>) -> String {
    let optional =
        |value: Option<f64>, digits| value.map_or(NONE.into(), |v| significant(v, digits));
    // Stopping early is no merit: effort is compared among certified runs.
    let among_certified = |run: &ReportRun<'_>, effort: f64| run.certified.then_some(effort);
    let is_local = report.runs.iter().any(|run| run.local_gap.is_some());
    let columns = [
        Column { name: "Solver", cell: &|r| r.solver.clone(), rank: None, is_number: false },
        Column { name: "Status", cell: &|r| r.status.into(), rank: None, is_number: false },
        Column {
            name: "Objective",
            cell: &|r| significant(r.objective, 7),
            rank: Some(&|r| Some(r.objective)),
            is_number: true,
        },
        Column {
            name: "Lower bound",
            cell: &|r| optional(r.lower_bound, 7),
            rank: Some(&|r| r.lower_bound.map(|bound| -bound)),
            is_number: true,
        },
        Column {
            name: "Relative gap",
            cell: &|r| r.relative_gap.map_or(NONE.into(), scientific),
            rank: Some(&|r| r.relative_gap),
            is_number: true,
        },
        Column {
            name: "Local model gap",
            cell: &|r| r.local_gap.map_or(NONE.into(), scientific),
            rank: None,
            is_number: true,
        },
        Column {
            name: "Locality",
            cell: &|r| {
                let last = r.trace.last().and_then(|record| record.locality);
                last.map_or(NONE.into(), scientific)
            },
            rank: None,
            is_number: true,
        },
        Column { name: "Step kinds", cell: &|r| step_kinds(r), rank: None, is_number: false },
        Column {
            name: "Certified",
            cell: &|r| if r.certified { "yes" } else { "no" }.into(),
            rank: None,
            is_number: false,
        },
        Column {
            name: "Evaluations",
            cell: &|r| count(r.evaluations),
            rank: Some(&|r| among_certified(r, r.evaluations as f64)),
            is_number: true,
        },
        Column { name: "Iterations", cell: &|r| count(r.iterations), rank: None, is_number: true },
        Column {
            name: "Seconds",
            cell: &|r| significant(r.seconds, 3),
            rank: Some(&|r| among_certified(r, r.seconds)),
            is_number: true,
        },
    ];
    let is_shown = |c: &&Column<'_>| {
        let is_empty = report.runs.iter().all(|run| (c.cell)(run) == NONE);
        !is_empty && (is_local || c.name != "Step kinds")
    };
    let columns: Vec<&Column<'_>> = columns.iter().filter(is_shown).collect();
    let mut html = String::from("<section>\n<h2>The runs</h2>\n");
    html += SCROLLING;
    html += "<table>\n<thead>\n<tr>";
    for column in &columns {
        let class = if column.is_number { " class=\"number\"" } else { "" };
        let _ = write!(html, "<th scope=\"col\"{class}>{}</th>", column.name);
    }
    html += "</tr>\n</thead>\n<tbody>\n";
    let best: Vec<Option<String>> = columns.iter().map(|c| best(report, c)).collect();
    for run in &report.runs {
        html += "<tr>";
        for (at, (column, best)) in columns.iter().zip(&best).enumerate() {
            let text = (column.cell)(run);
            let ranked = column.rank.is_some_and(|rank| rank(run).is_some());
            let is_best = ranked && best.as_ref() == Some(&text);
            let mut class = String::from(if column.is_number { "number" } else { "word" });
            if is_best {
                class += " best";
            }
            let mark = if is_best { "<span class=\"unseen\"> (best)</span>" } else { "" };
            let (open, close) = if at == 0 { ("th scope=\"row\"", "th") } else { ("td", "td") };
            let _ = write!(html, "<{open} class=\"{class}\">{}{mark}</{close}>", escape(&text));
        }
        html += "</tr>\n";
    }
    html += "</tbody>\n</table>\n</div>\n";
    if best.iter().any(Option::is_some) {
        html += "<p class=\"note\">Bold and underlined: the best of its column. Evaluations and \
                 seconds are compared among certified runs only.</p>\n";
    }
    html + "</section>\n"
}

/// How many steps of each kind a run took, in the order in which they first occurred.
fn step_kinds(run: &ReportRun<'_>) -> String {
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

/// Wide tables scroll by themselves, also by keyboard.
const SCROLLING: &str =
    "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\">\n";

/// What the best cell of a column says. Equal texts are equally good.
fn best(report: &Report<'_>, column: &Column<'_>) -> Option<String> {
    let rank = column.rank.filter(|_| report.runs.len() > 1)?;
    let ranked = report.runs.iter().filter_map(|run| Some((rank(run)?, run)));
    let finite = ranked.filter(|(rank, _)| rank.is_finite());
    finite.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, run)| (column.cell)(run))
}

pub(super) fn extra(section: &Section) -> String {
    let mut html = format!("<section>\n<h2>{}</h2>\n", escape(&section.heading));
    for paragraph in &section.paragraphs {
        let _ = writeln!(html, "<p>{}</p>", escape(paragraph));
    }
    if !section.planes.is_empty() {
        html += "<div class=\"charts\">\n";
        section.planes.iter().for_each(|plane| html += &plane.to_html());
        html += "</div>\n";
    }
    if let Some((head, rows)) = section.table.split_first() {
        let is_number = |at: usize| {
            let mut cells = rows.iter().filter_map(|row| row.get(at)).peekable();
            cells.peek().is_some() && cells.all(|cell| looks_numeric(cell))
        };
        // The first column names the rows.
        let class = |at: usize| if at > 0 && is_number(at) { "number" } else { "word" };
        let classes: Vec<&str> = (0..head.len()).map(class).collect();
        html += SCROLLING;
        html += "<table>\n<thead>\n<tr>";
        for (name, class) in head.iter().zip(&classes) {
            let _ = write!(html, "<th scope=\"col\" class=\"{class}\">{}</th>", escape(name));
        }
        html += "</tr>\n</thead>\n<tbody>\n";
        for row in rows {
            html += "<tr>";
            for (at, cell) in row.iter().enumerate() {
                let class = classes.get(at).unwrap_or(&"word");
                let (open, close) = if at == 0 { ("th scope=\"row\"", "th") } else { ("td", "td") };
                let _ = write!(html, "<{open} class=\"{class}\">{}</{close}>", escape(cell));
            }
            html += "</tr>\n";
        }
        html += "</tbody>\n</table>\n</div>\n";
    }
    html + "</section>\n"
}

fn looks_numeric(cell: &str) -> bool {
    let cell = cell.trim();
    let number = cell.trim_end_matches(['%', '\u{a0}', ' ']).replace(['\u{202f}', ','], "");
    cell.is_empty() || cell == NONE || number.parse::<f64>().is_ok()
}
