//! The HTML report of one or several runs on one problem: a page that stands alone (inline style
//! and drawings, no scripts, nothing fetched), says in plain words what is proven, and draws how
//! the runs got there. It only shows what it is given: running solvers, collecting the facts and
//! writing the file are the caller's work.

mod axis;
mod chart;
mod curves;
mod page;
mod path;
pub(crate) mod plane;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use path::{PathReport, PathRow};

use minorant::trace::TraceRecord;

/// What a page tells. All runs are on the same problem, so that a lower bound that one of them
/// proved holds for all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Report<'a> {
    /// The page's title.
    pub title: String,
    /// Facts about the problem, as name and value.
    pub facts: Vec<(String, String)>,
    /// The relative gap that was asked for.
    pub tol: f64,
    /// The runs, in the order in which they are listed.
    pub runs: Vec<ReportRun<'a>>,
    /// What else there is to tell, after the runs.
    pub extra: Vec<Section>,
}

/// One run, with the numbers that `train --json` has.
#[derive(Debug, Clone)]
pub(crate) struct ReportRun<'a> {
    /// The solver, as users name it.
    pub solver: String,
    /// How the run ended.
    pub status: &'static str,
    /// The objective at the weights returned.
    pub objective: f64,
    /// A proven global lower bound. Where there is none, the trace's bounds are not shown either:
    /// those of a non-convex run bound only its model.
    pub lower_bound: Option<f64>,
    /// The gap relative to the objective.
    pub relative_gap: Option<f64>,
    /// The gap of the last local model, where the risk is not convex; it proves nothing.
    pub local_gap: Option<f64>,
    /// Whether the bound proves the tolerance.
    pub certified: bool,
    /// Evaluations.
    pub evaluations: u64,
    /// Iterations.
    pub iterations: u64,
    /// Seconds of optimisation.
    pub seconds: f64,
    /// One record per iteration.
    pub trace: &'a [TraceRecord],
}

/// A further section of the page.
#[derive(Debug, Clone, Default)]
pub(crate) struct Section {
    /// The heading.
    pub heading: String,
    /// Text, one entry per paragraph.
    pub paragraphs: Vec<String>,
    /// Rows of a table, the first of which names the columns; no table where it is empty.
    pub table: Vec<Vec<String>>,
    /// Pictures of rows with two features, side by side.
    pub planes: Vec<plane::Plane>,
}

impl Report<'_> {
    /// The whole page.
    pub(crate) fn to_html(&self) -> String {
        page::page(self)
    }
}

/// Text as HTML shows it, in elements and in attributes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // Control characters are not allowed in a page, escaped or not.
            c if c.is_control() && !c.is_ascii_whitespace() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
