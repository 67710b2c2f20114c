//! Progress while a run goes on: a bar on a terminal, a plain line now and then elsewhere, both on
//! standard error; and the records of the run, for the trace file and reports.

use crate::number::{objective, scientific};
use crate::output::tell;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use minorant::linalg::RowBlocks;
use minorant::trace::{Cell, Observer, TraceRecord};
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Everybody who watches a run of the command.
pub(crate) struct Watchers {
    pub(crate) view: View,
    tol: f64,
    start_gap: Option<f64>,
    /// All records so far, where somebody will read them.
    pub(crate) records: Vec<TraceRecord>,
    /// Whether to keep them: a run may have millions of iterations.
    pub(crate) keeps_records: bool,
    /// The best weights of each iteration, where they are wanted.
    pub(crate) weights: Option<Vec<Vec<f64>>>,
    /// The labels of rows without one at each iteration, where they are wanted.
    pub(crate) labels: Option<Vec<Vec<f64>>>,
    /// Who fetches rows from disk, where they are there.
    pub(crate) source: Option<Arc<dyn RowBlocks>>,
}

/// What is seen of work that takes its time.
pub(crate) enum View {
    Silent,
    Bar(ProgressBar),
    Lines { name: String, last: Option<Instant> },
}

/// Steps of the bar: the way from the first gap to the tolerance, on a logarithmic scale.
const STEPS: u64 = 1000;
const LINE_EVERY: Duration = Duration::from_secs(2);

impl View {
    /// Shows the work `name`: on a terminal as a bar of so many steps, or as a counter where nobody knows
    /// how many there are, elsewhere by lines; not at all if it is to be quiet.
    pub(crate) fn new(name: &str, steps: Option<u64>, quiet: bool) -> Self {
        if quiet {
            return View::Silent;
        } else if !std::io::stderr().is_terminal() {
            // A bar's start is told at once, so that everybody sees that the work has begun.
            let last = steps.is_none().then(Instant::now);
            return View::Lines { name: name.into(), last };
        }
        let shape = if steps.is_some() { "{wide_bar}" } else { "{spinner}" };
        let style = ProgressStyle::with_template(&format!("{{prefix}} {shape} {{msg}}"));
        let bar = ProgressBar::with_draw_target(steps, ProgressDrawTarget::stderr());
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        View::Bar(bar.with_prefix(name.to_string()))
    }

    /// Tells how far the work is.
    pub(crate) fn tell(&mut self, words: impl FnOnce() -> String) {
        match self {
            View::Silent => {}
            View::Bar(bar) => bar.set_message(words()),
            View::Lines { name, last } => {
                if last.is_none_or(|last| last.elapsed() >= LINE_EVERY) {
                    *last = Some(Instant::now());
                    tell(&format!("{name}: {}", words()));
                }
            }
        }
    }

    pub(crate) fn finish(&self) {
        if let View::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

impl Watchers {
    /// Shows the progress of the run `name` towards the tolerance, unless it is to be quiet.
    pub(crate) fn new(name: &str, tol: f64, quiet: bool) -> Self {
        let view = View::new(name, Some(STEPS), quiet);
        Watchers {
            view,
            tol,
            start_gap: None,
            records: Vec::new(),
            keeps_records: true,
            weights: None,
            labels: None,
            source: None,
        }
    }
}

impl Observer for Watchers {
    fn best(&mut self, w: &[f64]) {
        if let Some(weights) = &mut self.weights {
            weights.push(w.to_vec());
        }
    }

    fn wants_best(&self) -> bool {
        self.weights.is_some()
    }

    fn labels(&mut self, p: &[f64]) {
        if let Some(labels) = &mut self.labels {
            labels.push(p.to_vec());
        }
    }

    fn wants_labels(&self) -> bool {
        self.labels.is_some()
    }

    fn preparing(&mut self, what: &str) {
        if !matches!(self.view, View::Silent) {
            tell(what);
        }
    }

    fn iteration(&mut self, record: &TraceRecord) {
        if self.keeps_records {
            self.records.push(record.clone());
        }
        let gap = record.gap().map(|gap| gap / record.best_objective.abs());
        if let (View::Bar(bar), Some(gap)) = (&self.view, gap.filter(|gap| *gap > 0.0)) {
            let start = *self.start_gap.get_or_insert(gap.max(2.0 * self.tol));
            let done = (start / gap).ln() / (start / self.tol.max(1e-15)).ln();
            bar.set_position((done.clamp(0.0, 1.0) * STEPS as f64) as u64);
        }
        let source = &self.source;
        self.view.tell(|| {
            let read = source.as_ref().map(|source| source.traffic().bytes_read as f64 / 1e9);
            let read = read.map_or_else(String::new, |read| format!("  read {read:.1} GB"));
            told(record.best_objective, gap, record.evaluations) + &read
        });
    }
}

/// How far a run is, in words.
pub(crate) fn told(best: f64, relative_gap: Option<f64>, evaluations: u64) -> String {
    let gap = relative_gap.map_or("unknown".into(), scientific);
    format!("objective {}  gap {gap}  evaluations {evaluations}", objective(best))
}

/// Writes records to a file, one JSON object a line. It appears when the run is over, so that a failed
/// one leaves nothing behind.
pub(crate) fn write_trace(watchers: &Watchers, path: &Path) -> anyhow::Result<()> {
    let line = |(at, record): (usize, &TraceRecord)| {
        // Most methods keep no localities, and most models learn from labelled rows.
        let without = ["locality", "accuracy"].map(|name| (name, Cell::Number(None)));
        let cells = record.cells().into_iter().filter(|cell| !without.contains(cell));
        let value = |cell| match cell {
            Cell::Whole(count) => json!(count),
            Cell::Number(number) => json!(number),
            Cell::Word(name) => json!(name),
        };
        let mut line: Value = cells.map(|(name, cell)| (name, value(cell))).collect();
        if let Some(weights) = &watchers.weights {
            line["weights"] = json!(weights.get(at));
        }
        if let Some(labels) = &watchers.labels {
            line["p"] = json!(labels.get(at));
        }
        format!("{line}\n")
    };
    let lines: String = watchers.records.iter().enumerate().map(line).collect();
    Ok(minorant::write_atomically(path, lines.as_bytes())?)
}
