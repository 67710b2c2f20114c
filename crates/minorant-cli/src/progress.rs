//! Progress while a run goes on: a bar on a terminal, a plain line now and then elsewhere, both on
//! standard error; and the records of the run, for the trace file and reports.

use crate::number::{objective, scientific};
use crate::output::tell;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use minorant::trace::{Observer, TraceRecord};
use serde_json::json;
use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

/// Everybody who watches a run of the command.
pub(crate) struct Watchers {
    view: View,
    tol: f64,
    start_gap: Option<f64>,
    /// All records so far, where somebody will read them.
    pub(crate) records: Vec<TraceRecord>,
    keeps_records: bool,
    /// The best weights of each iteration, where they are wanted.
    weights: Option<Vec<Vec<f64>>>,
}

enum View {
    Silent,
    Bar(ProgressBar),
    Lines { name: String, last: Option<Instant> },
}

/// Steps of the bar: the way from the first gap to the tolerance, on a logarithmic scale.
const STEPS: u64 = 1000;
const LINE_EVERY: Duration = Duration::from_secs(2);

impl Watchers {
    /// Shows the progress of the run `name` towards the tolerance, unless it is to be quiet.
    pub(crate) fn new(name: &str, tol: f64, quiet: bool) -> Self {
        let view = if quiet {
            View::Silent
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{prefix} {wide_bar} {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_prefix(name.to_string());
            View::Bar(bar)
        } else {
            View::Lines { name: name.into(), last: None }
        };
        Watchers {
            view,
            tol,
            start_gap: None,
            records: Vec::new(),
            keeps_records: true,
            weights: None,
        }
    }

    /// Forgets records at once unless they are `wanted`: a run may have millions of iterations.
    pub(crate) fn with_records_if(self, wanted: bool) -> Self {
        Watchers { keeps_records: wanted, ..self }
    }

    /// Keeps the best weights of each iteration too, if they are `wanted`.
    pub(crate) fn keep_weights(&mut self, wanted: bool) {
        self.weights = wanted.then(Vec::new);
    }

    pub(crate) fn finish(&mut self) {
        if let View::Bar(bar) = &self.view {
            bar.finish_and_clear();
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
        let message = || told(record.best_objective, gap, record.evaluations);
        match &mut self.view {
            View::Silent => {}
            View::Bar(bar) => {
                if let Some(gap) = gap.filter(|gap| *gap > 0.0) {
                    let start = *self.start_gap.get_or_insert(gap.max(2.0 * self.tol));
                    let done = (start / gap).ln() / (start / self.tol.max(1e-15)).ln();
                    bar.set_position((done.clamp(0.0, 1.0) * STEPS as f64) as u64);
                }
                bar.set_message(message());
            }
            View::Lines { name, last } => {
                // The start is told at once, so that everybody sees that the run has begun.
                if last.is_none_or(|last| last.elapsed() >= LINE_EVERY) {
                    *last = Some(Instant::now());
                    tell(&format!("{name}: {}", message()));
                }
            }
        }
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
        let mut line = json!({
            "iteration": record.iteration,
            "evaluations": record.evaluations,
            "seconds": record.seconds,
            "objective": record.objective,
            "best_objective": record.best_objective,
            "lower_bound": record.lower_bound,
            "gap": record.gap(),
            "step": record.step,
            "step_length": record.step_length,
            "planes": record.planes,
            "master_seconds": record.master_seconds,
        });
        if let Some(locality) = record.locality {
            line["locality"] = json!(locality);
        }
        if let Some(weights) = &watchers.weights {
            line["weights"] = json!(weights.get(at));
        }
        format!("{line}\n")
    };
    let lines: String = watchers.records.iter().enumerate().map(line).collect();
    Ok(minorant::write_atomically(path, lines.as_bytes())?)
}

/// How far a conversion of data is: a counter on a terminal, plain lines elsewhere.
pub(crate) struct Conversion {
    view: View,
}

impl Conversion {
    /// Shows how far it is, unless it is to be quiet.
    pub(crate) fn new(quiet: bool) -> Self {
        let view = if quiet {
            View::Silent
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("cache {spinner} {msg}");
            View::Bar(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner())))
        } else {
            View::Lines { name: "cache".into(), last: Some(Instant::now()) }
        };
        Conversion { view }
    }

    /// Tells of rows that were read and bytes that were written.
    pub(crate) fn tell(&mut self, rows: u64, bytes: u64) {
        let words = || format!("{rows} rows, {} MB", bytes / 1_000_000);
        match &mut self.view {
            View::Silent => {}
            View::Bar(bar) => bar.set_message(words()),
            View::Lines { name, last } => {
                if last.is_none_or(|last| last.elapsed() >= LINE_EVERY) {
                    tell(&format!("{name}: {}", words()));
                    *last = Some(Instant::now());
                }
            }
        }
    }

    pub(crate) fn finish(&mut self) {
        if let View::Bar(bar) = &self.view {
            bar.finish_and_clear();
        }
    }
}
