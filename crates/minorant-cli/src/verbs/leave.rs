//! What a training run leaves behind: its trace, its report, its model and its proof, as files that
//! were asked for. The same for all models; what is said on the screen their verbs decide.

use super::train::report_run;
use crate::args::TrainArgs;
use crate::output::{self, percent};
use crate::progress::Watchers;
use crate::report::{Report, Section};
use minorant::FileError;
use minorant::checkpoint::FileCheckpoints;
use minorant::model::PROOF_BYTES;
use minorant::train::TrainReport;
use std::path::Path;

/// The trace, and a word about checkpoints that could not be written.
pub(super) fn trace(
    args: &TrainArgs,
    watchers: &Watchers,
    checkpoints: &mut FileCheckpoints,
) -> anyhow::Result<()> {
    if let Some(path) = &args.trace {
        watchers.write_trace(path)?;
    }
    if let Some(error) = checkpoints.failure() {
        output::tell(&format!("warning: no checkpoint could be written: {error}"));
    }
    Ok(())
}

/// The report.
pub(super) fn page(
    args: &TrainArgs,
    facts: Vec<(String, String)>,
    tol: f64,
    report: &TrainReport,
    watchers: &Watchers,
    extra: Vec<Section>,
) -> anyhow::Result<()> {
    let Some(path) = &args.report else { return Ok(()) };
    let title = format!("{} on {}", args.problem.model.as_str(), args.problem.data_name());
    let runs = vec![report_run(report, tol, &watchers.records)];
    let page = Report { title, facts, tol, runs, extra };
    Ok(minorant::write_atomically(path, page.to_html().as_bytes())?)
}

/// The model without a proof; the lines that tell where it is.
pub(super) fn model(
    args: &TrainArgs,
    save: impl FnOnce(&Path) -> Result<(), FileError>,
) -> anyhow::Result<Vec<String>> {
    let Some(path) = &args.out else { return Ok(Vec::new()) };
    save(path)?;
    Ok(vec![format!("model         {}", path.display())])
}

/// The model and its proof; the lines that tell where they are.
pub(super) fn model_and_proof(
    args: &TrainArgs,
    save: impl FnOnce(&Path, u64) -> Result<bool, FileError>,
    save_proof: impl FnOnce(&Path) -> Result<bool, FileError>,
) -> anyhow::Result<Vec<String>> {
    let mut lines = Vec::new();
    if let Some(path) = &args.proof {
        if save_proof(path)? {
            lines.push(format!("proof         {}", path.display()));
        } else {
            output::tell("note: not auditable: the run has left no proof");
        }
    }
    let mut with_proof = true;
    let within = if args.proof.is_some() { 0 } else { PROOF_BYTES };
    lines.extend(model(args, |path| {
        with_proof = save(path, within)?;
        Ok(())
    })?);
    if !with_proof && args.proof.is_none() {
        output::tell(
            "note: the model is saved without a proof; --proof FILE saves one of any size",
        );
    }
    Ok(lines)
}

/// What held-out examples said, where some were.
pub(super) fn held_out(error: Option<f64>, at: Option<u64>) -> Option<String> {
    let error = percent(error?);
    Some(format!("held out      error {error}, lowest after {} evaluations", at?))
}
