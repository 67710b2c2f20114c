//! What goes to standard output: JSON objects with the contract's keys (a number that is not finite is
//! null there), and tables for people; and how notes get to standard error.

use minorant::certificate::Certificate;
use minorant::family::{FittedModel, Settings, TrainReport};
use minorant::solver::{Method, Status};
use minorant::system::bytes_of;
use serde_json::{Value, json};
use std::io::Write;

/// Prints a line of text on standard output.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// Prints a line on standard error; where nobody listens there is nobody to tell.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Tells what to do about a run that rounding brought to a halt above the tolerance.
pub(crate) fn hint_if_stalled(report: &TrainReport, tol: f64) {
    if report.status == Status::Stalled && !report.certificate.certifies(tol) {
        let why = if [Method::Gd, Method::SubGd].map(Method::name).contains(&report.solver) {
            "it may come to a halt at kinks; sublbfgs and hybrid do not"
        } else {
            "rounding allows no more progress; scale the features or raise lambda"
        };
        tell(&format!("hint: {}: {why}", report.solver));
    }
}

/// Whether an error says that nobody reads our output any more.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// The keys of `train --json`.
pub(crate) fn train_json(model: &FittedModel, report: &TrainReport, load_seconds: f64) -> Value {
    let mut object = run_json(model.name(), report, model.facts.tol);
    object["examples"] = json!(report.examples);
    object["features"] = json!(report.features);
    object["load_seconds"] = json!(load_seconds);
    for (key, value) in &report.further {
        object[*key] = value.clone();
    }
    object
}

/// The keys of a run on whatever problem.
pub(crate) fn run_json(problem: &str, report: &TrainReport, tol: f64) -> Value {
    let certificate = report.certificate;
    let mut object = json!({
        "model": problem,
        "solver": report.solver,
        "dim": report.dim,
        "lambda": report.lambda,
        "objective": certificate.objective,
        "regularizer": report.regularizer,
        "risk": report.risk,
        "lower_bound": certificate.lower_bound,
        "gap": certificate.gap(),
        "relative_gap": certificate.relative_gap(),
        "local_gap": report.local_gap,
        "certified": certificate.certifies(tol),
        "status": report.status.as_str(),
        "evaluations": report.evaluations,
        "iterations": report.iterations,
        "seconds": report.seconds,
        "peak_rss_bytes": bytes_of("/proc/self/status", "VmHWM"),
    });
    let method = Method::from_name(report.solver).ok();
    if method.is_some_and(Method::tells_direction_steps) {
        object["direction_steps"] = json!(report.direction_steps);
    }
    let has_bound = method.is_some_and(Method::has_iteration_bound);
    if let Some(bound) = report.iteration_bound.filter(|_| has_bound) {
        object["iteration_bound"] = json!(bound);
    }
    object
}

/// The certificate in words.
pub(crate) fn certificate_in_words(report: &TrainReport, tol: f64) -> String {
    let certificate = report.certificate;
    match (certificate.lower_bound, certificate.gap()) {
        (Some(bound), Some(gap)) => {
            let verdict = match report.status {
                _ if certificate.certifies(tol) => "certified",
                Status::Converged => "within the absolute tolerance",
                _ => "not yet within the tolerance",
            };
            format!(
                "{verdict}: no weights reach an objective below {}; these reach {}, at most {} above the best",
                crate::number::bound(bound),
                crate::number::objective(certificate.objective),
                crate::number::above_best(gap, bound)
            )
        }
        _ => {
            let Some(gap) = report.local_gap else { return "no lower bound is known yet".into() };
            let verdict = match gap <= tol * certificate.objective.abs() {
                true => "stationary within the tolerance",
                false => "not yet stationary",
            };
            format!(
                "{verdict}: the local model around these weights promises no more than {} below \
                 them; it is no bound, and other weights may be better",
                share_or_size(gap, certificate.objective)
            )
        }
    }
}

/// A gap as a share of the objective, or by its size where the objective is 0.
pub(crate) fn share_or_size(gap: f64, objective: f64) -> String {
    match gap / objective.abs() {
        _ if gap == 0.0 => percent(0.0),
        share if share.is_finite() => percent(share),
        _ => crate::number::above(gap, 3),
    }
}

/// The gap of a certificate, or of a local model where there is no bound.
pub(crate) fn gap_in_words(certificate: &Certificate, local_gap: Option<f64>) -> String {
    match (certificate.gap(), local_gap) {
        (Some(gap), _) => share_or_size(gap, certificate.objective),
        (_, Some(gap)) => format!("local model gap {}", share_or_size(gap, certificate.objective)),
        (None, None) => "unknown".into(),
    }
}

/// An error of predictions: a share of them that is wrong, or how far targets are missed.
pub(crate) fn error(settings: &Settings, error: f64) -> String {
    match settings.entry().model.takes_targets {
        true => crate::number::significant(error, 4),
        false => percent(error),
    }
}

/// A share as a percentage with two or more significant digits.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent == 0.0 {
        return "0 %".into();
    }
    let decimals = 1 - percent.abs().log10().floor() as i32;
    match decimals {
        ..=2 => format!("{percent:.2} %"),
        3..=7 => format!("{percent:.*} %", decimals as usize),
        _ => format!("{percent:.1e} %"),
    }
}

/// A number as `shown` writes it, or a hyphen where there is none.
pub(crate) fn dash(value: Option<f64>, shown: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".into(), shown)
}

/// Lines that begin with a heading each.
pub(crate) fn aligned<'h>(lines: impl IntoIterator<Item = (&'h str, String)>) -> String {
    let lines = lines.into_iter().map(|(heading, text)| format!("{heading:<13} {text}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// A certificate, by headings.
pub(crate) fn certificate_lines(
    certificate: Certificate,
    local_gap: Option<f64>,
) -> [(&'static str, String); 3] {
    let bound = certificate.lower_bound.map_or("none".into(), crate::number::bound);
    let objective = crate::number::objective(certificate.objective);
    let gap = gap_in_words(&certificate, local_gap);
    [("objective", objective), ("lower bound", bound), ("gap", gap)]
}

/// What a run found, by headings.
pub(crate) fn answer(report: &TrainReport) -> Vec<(&str, String)> {
    let (status, evaluations) = (report.status.as_str(), report.evaluations);
    let effort = format!("{status}, {evaluations} evaluations in {:.2} s", report.seconds);
    let lines = certificate_lines(report.certificate, report.local_gap);
    lines.into_iter().chain([("status", effort)]).collect()
}

/// A table: columns as wide as their widest cell, the first left-aligned, the others right.
pub(crate) fn table<'h>(
    head: impl IntoIterator<Item = &'h str>,
    rows: impl Iterator<Item = Vec<String>>,
) -> String {
    let head = head.into_iter().map(String::from).collect();
    let rows: Vec<Vec<String>> = [head].into_iter().chain(rows).collect();
    let width = |c: usize| rows.iter().map(|row| row[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(c, (cell, &width))| {
            if c == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_of_objectives_that_are_zero_are_told_by_their_size() {
        let of = |objective, lower_bound, local| {
            gap_in_words(&Certificate { objective, lower_bound }, local)
        };
        assert_eq!(of(2.0, Some(1.0), None), "50.00 %");
        assert_eq!(of(0.0, Some(-0.25), None), "0.250");
        assert_eq!(of(0.0, Some(0.0), None), "0 %");
        assert_eq!(of(0.0, None, Some(0.0)), "local model gap 0 %");
        assert_eq!(of(0.0, None, Some(0.5)), "local model gap 0.500");
        assert_eq!(of(1.0, None, None), "unknown");
    }
}
