//! The certificate in plain words: what the runs together prove, and what they do not. All runs
//! are on one problem, so that the best objective and the best bound may come from different ones.

use super::{Report, ReportRun};
use crate::number::{
    above, above_best, below, digits_to_show, percent, percent_above, significant,
};

/// How strong the page's claim is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    /// A bound proves the tolerance.
    Certified,
    /// There is a bound, and it proves less.
    Bounded,
    /// There is no bound, or there is no answer.
    Nothing,
}

/// The claim, as text that is not yet HTML.
#[derive(Debug, Clone)]
pub(super) struct Verdict {
    pub(super) strength: Strength,
    pub(super) headline: String,
    pub(super) sentences: Vec<String>,
}

/// How far below the bound an objective may seem to lie by rounding alone.
const ROUNDING: f64 = 1e-9;

/// What the runs prove.
pub(super) fn verdict(report: &Report<'_>) -> Verdict {
    let answers = report.runs.iter().filter(|run| run.objective.is_finite());
    let Some(answer) = answers.min_by(|a, b| a.objective.total_cmp(&b.objective)) else {
        return nothing("No answer", vec!["There is no run here with a finite objective.".into()]);
    };
    let bound = |run: &ReportRun<'_>| run.lower_bound.filter(|bound| bound.is_finite());
    let proofs = report.runs.iter().filter_map(|run| Some((run, bound(run)?)));
    let Some((prover, bound)) = proofs.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return nothing("Nothing is certified", unbounded(report, answer));
    };
    if bound - answer.objective > ROUNDING * answer.objective.abs().max(bound.abs()) {
        let sentence = format!(
            "The lower bound {} ({}) lies above the objective {} ({}). One of them must be wrong: \
             please take nothing on this page as proven, and report it.",
            significant(bound, 12),
            prover.solver,
            significant(answer.objective, 12),
            answer.solver
        );
        return nothing("These numbers contradict each other", vec![sentence]);
    }
    bounded(report, answer, prover, bound)
}

fn nothing(headline: &str, sentences: Vec<String>) -> Verdict {
    Verdict { strength: Strength::Nothing, headline: headline.into(), sentences }
}

fn unbounded(report: &Report<'_>, answer: &ReportRun<'_>) -> Vec<String> {
    let whose = whose(report, answer, "These weights reach", "reach");
    let mut sentences = vec![
        format!("{whose} an objective of {}.", significant(answer.objective, 7)),
        "No lower bound is proven: other weights may reach less, and nothing here says how much."
            .into(),
    ];
    if let Some(gap) = answer.local_gap {
        sentences.push(format!(
            "The local model gap is {}: so much the model around the answer still promises. It \
             tells how near the answer is to a stationary point, not how near to the best one.",
            significant(gap, 3)
        ));
    }
    if answer.status == "converged" {
        sentences.push(
            "The run converged, but only by its own stop rule, which looks at the neighbourhood of \
             the answer and not at all weights."
                .into(),
        );
    } else {
        sentences.push(ending(answer));
    }
    sentences
}

fn bounded(
    report: &Report<'_>,
    answer: &ReportRun<'_>,
    prover: &ReportRun<'_>,
    bound: f64,
) -> Verdict {
    let objective = answer.objective;
    let gap = (objective - bound).max(0.0);
    let relative = if gap == 0.0 { 0.0 } else { gap / objective.abs() };
    let certified = relative <= report.tol;
    let mut sentences = Vec::new();
    let distance = if gap == 0.0 {
        let whose = whose(report, answer, "These weights reach", "reach");
        sentences.push(format!("{whose} {}, and no weights whatsoever can reach an objective below that, up to rounding.", significant(objective, 7)));
        "the best possible, up to rounding".to_owned()
    } else {
        let digits = digits_to_show(gap, objective);
        let proof = if report.runs.len() > 1 && prover.solver != answer.solver {
            format!(" (proved by {})", prover.solver)
        } else {
            String::new()
        };
        let distance = format!("at most {} above the best possible", above_best(gap, bound));
        sentences.push(format!(
            "No weights whatsoever can reach an objective below {}{proof}; {} {}.",
            below(bound, digits),
            whose(report, answer, "these reach", "reach"),
            above(objective, digits)
        ));
        sentences.push(format!("So the answer is {distance}."));
        distance
    };
    let tol = percent(report.tol);
    if certified {
        sentences.push(format!("That meets the tolerance asked for, {tol}."));
    } else if relative.is_finite() {
        sentences.push(format!(
            "That is a relative gap of {}, more than the tolerance asked for, {tol}.",
            percent_above(relative)
        ));
        sentences.push(ending(answer));
    } else {
        sentences.push(format!(
            "The objective is 0, so that no relative gap exists to compare with the tolerance, {tol}."
        ));
    }
    if let Some(sentence) = tally(report) {
        sentences.push(sentence);
    }
    let headline = format!("{}: {distance}", if certified { "Certified" } else { "Not certified" });
    let strength = if certified { Strength::Certified } else { Strength::Bounded };
    Verdict { strength, headline, sentences }
}

/// A run is only worth naming where there are several.
fn whose(report: &Report<'_>, run: &ReportRun<'_>, alone: &str, verb: &str) -> String {
    if report.runs.len() == 1 {
        alone.into()
    } else if alone.starts_with('T') {
        format!("The weights of {} {verb}", run.solver)
    } else {
        format!("the weights of {} {verb}", run.solver)
    }
}

fn ending(run: &ReportRun<'_>) -> String {
    let why = match run.status {
        "converged" => "when its own stop rule held",
        "max-evals" => "because the evaluations ran out",
        "max-seconds" => "because the time ran out",
        "interrupted" => "because it was interrupted",
        "stalled" => "because rounding allowed no more progress",
        other => return format!("The run of {} ended with the status {other}.", run.solver),
    };
    format!("The run of {} ended {why}.", run.solver)
}

fn tally(report: &Report<'_>) -> Option<String> {
    let (all, certified) = (report.runs.len(), report.runs.iter().filter(|r| r.certified).count());
    match (all, certified) {
        (0 | 1, _) => None,
        (_, 0) => Some("None of the runs is certified by its own bound.".into()),
        (2, 2) => Some("Both runs are certified by their own bounds.".into()),
        _ if all == certified => Some(format!("All {all} runs are certified by their own bounds.")),
        (_, 1) => Some(format!("One of the {all} runs is certified by its own bound.")),
        _ => Some(format!("{certified} of the {all} runs are certified by their own bounds.")),
    }
}
