//! The certificate in plain words: what the runs together prove, and what they do not. All runs
//! are on one problem, so that the best objective and the best bound may come from different ones.

use super::runs::Run;
use crate::number::{
    above, above_best, below, digits_to_show, percent, percent_above, significant,
};
use minorant::certificate::Certificate;
use minorant::solver::Status;

/// The claim of a page, as text that is not yet HTML.
#[derive(Debug, Clone, Default)]
pub(super) struct Verdict {
    /// How strong it is, by a class of the style sheet: `certified` where a bound proves the
    /// tolerance, `bounded` where it proves less, nothing where there is no bound or no answer.
    pub(super) class: &'static str,
    pub(super) headline: String,
    pub(super) sentences: Vec<String>,
}

/// How far below the bound an objective may seem to lie by rounding alone.
const ROUNDING: f64 = 1e-9;

/// What the runs prove.
pub(super) fn verdict(runs: &[Run<'_>], tol: f64) -> Verdict {
    let nothing = |headline: &str, sentences: Vec<String>| Verdict {
        headline: headline.into(),
        sentences,
        ..Verdict::default()
    };
    let of = |run: &Run<'_>| run.certificate.objective;
    let answers = runs.iter().filter(|run| of(run).is_finite());
    let Some(answer) = answers.min_by(|a, b| of(a).total_cmp(&of(b))) else {
        return nothing("No answer", vec!["There is no run here with a finite objective.".into()]);
    };
    let objective = of(answer);
    // A run is only worth naming where there are several.
    let whose = match runs.len() {
        1 => "these".into(),
        _ => format!("the weights of {}", answer.solver),
    };
    let bound = |run: &Run<'_>| run.certificate.lower_bound.filter(|bound| bound.is_finite());
    let proofs = runs.iter().filter_map(|run| Some((run, bound(run)?)));
    let Some((prover, bound)) = proofs.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return nothing("Nothing is certified", unbounded(answer, &whose));
    };
    if bound - objective > ROUNDING * objective.abs().max(bound.abs()) {
        let sentence = format!(
            "The lower bound {} ({}) lies above the objective {} ({}). One of them must be wrong: \
             please take nothing on this page as proven, and report it.",
            significant(bound, 12),
            prover.solver,
            significant(objective, 12),
            answer.solver
        );
        return nothing("These numbers contradict each other", vec![sentence]);
    }
    let proof = match runs.len() > 1 && prover.solver != answer.solver {
        true => format!(" (proved by {})", prover.solver),
        false => String::new(),
    };
    let certificate = Certificate { objective, lower_bound: Some(bound) };
    let (gap, relative) = (certificate.gap().unwrap_or(0.0), certificate.relative_gap());
    let is_certified = certificate.certifies(tol);
    let mut sentences = Vec::new();
    let distance = if gap == 0.0 {
        sentences.push(format!(
            "{} reach {}, and no weights whatsoever can reach an objective below that, up to rounding.",
            at_start(&whose),
            significant(objective, 7)
        ));
        "the best possible, up to rounding".to_owned()
    } else {
        let digits = digits_to_show(gap, objective);
        let distance = format!("at most {} above the best possible", above_best(gap, bound));
        sentences.push(format!(
            "No weights whatsoever can reach an objective below {}{proof}; {whose} reach {}.",
            below(bound, digits),
            above(objective, digits)
        ));
        sentences.push(format!("So the answer is {distance}."));
        distance
    };
    let wanted = percent(tol);
    match relative.filter(|gap| gap.is_finite()) {
        _ if is_certified => {
            sentences.push(format!("That meets the tolerance asked for, {wanted}."));
        }
        Some(gap) => {
            let gap = percent_above(gap);
            sentences.push(format!(
                "That is a relative gap of {gap}, more than the tolerance asked for, {wanted}."
            ));
            sentences.push(ending(answer));
        }
        None => sentences.push(format!(
            "The objective is 0, so that no relative gap exists to compare with the tolerance, {wanted}."
        )),
    }
    sentences.extend(tally(runs, tol));
    let (class, said) = match is_certified {
        true => ("certified", "Certified"),
        false => ("bounded", "Not certified"),
    };
    Verdict { class, headline: format!("{said}: {distance}"), sentences }
}

/// Whose weights they are, at the start of a sentence.
fn at_start(whose: &str) -> String {
    whose.replacen("these", "These weights", 1).replacen("the weights", "The weights", 1)
}

fn unbounded(answer: &Run<'_>, whose: &str) -> Vec<String> {
    let objective = significant(answer.certificate.objective, 7);
    let mut sentences = vec![
        format!("{} reach an objective of {objective}.", at_start(whose)),
        "No lower bound is proven: other weights may reach less, and nothing here says how much."
            .into(),
    ];
    sentences.extend(answer.local_gap.map(|gap| {
        format!(
            "The local model gap is {}: so much the model around the answer still promises. It \
             tells how near the answer is to a stationary point, not how near to the best one.",
            significant(gap, 3)
        )
    }));
    sentences.push(match answer.status {
        Status::Converged => {
            "The run converged, but only by its own stop rule, which looks at the \
                              neighbourhood of the answer and not at all weights."
                .into()
        }
        _ => ending(answer),
    });
    sentences
}

fn ending(run: &Run<'_>) -> String {
    let why = match run.status {
        Status::Converged => "when its own stop rule held",
        Status::MaxEvals => "because the evaluations ran out",
        Status::MaxSeconds => "because the time ran out",
        Status::Interrupted => "because it was interrupted",
        Status::Stalled => "because rounding allowed no more progress",
        Status::Unbounded => "because the objective falls for ever",
    };
    format!("The run of {} ended {why}.", run.solver)
}

fn tally(runs: &[Run<'_>], tol: f64) -> Option<String> {
    let certified = runs.iter().filter(|run| run.certificate.certifies(tol)).count();
    Some(match (runs.len(), certified) {
        (0 | 1, _) => return None,
        (_, 0) => "None of the runs is certified by its own bound.".into(),
        (2, 2) => "Both runs are certified by their own bounds.".into(),
        (all, n) if all == n => format!("All {all} runs are certified by their own bounds."),
        (all, 1) => format!("One of the {all} runs is certified by its own bound."),
        (all, n) => format!("{n} of the {all} runs are certified by their own bounds."),
    })
}
