//! `minorant path`: models for a range of λ, with what is proven in between.

use super::train::facts;
use super::{Job, LOST_ORIGINS, note, with_data};
use crate::args::PathArgs;
use crate::number::{self, setting};
use crate::output::{self, dash, train_json};
use crate::progress::told;
use crate::report::path::{lambda_of, largest_gap, page};
use anyhow::{Context, ensure};
use minorant::data::LabelRows;
use minorant::family::{Data, OwnedData, PROOF_BYTES, Settings, ignored_entries, read_validation};
use minorant::path::{Between, Path, PathOptions, PathPoint, geometric, path};
use serde_json::{Value, json};
use std::path::PathBuf;

pub(crate) fn run(args: &PathArgs) -> anyhow::Result<()> {
    let (from, to, count) = args.lambdas;
    let lambdas = geometric(from, to, count)?;
    args.problem.check_files(&args.validation)?;
    let inputs = args.problem.files.iter().chain(&args.validation);
    if let Some(file) = args.out_dir.as_deref().and_then(|dir| overwritten_in(dir, inputs)) {
        anyhow::bail!(
            "--out-dir: the data file {} could be overwritten by a model",
            file.display()
        );
    }
    with_data(&args.problem, |job: Job| {
        if let Some(dir) = &args.out_dir {
            std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
        }
        let settings = &job.settings;
        let data = job.data.view();
        let validation = read_judges(&args.validation, settings, data)?;
        let (validation, fill) = (validation.as_ref().map(OwnedData::view), !args.grid_only);
        let wanted = PathOptions { lambdas: &lambdas, validation, start: None, fill };
        let mut tell = |point: &PathPoint| {
            if !job.is_quiet {
                let certificate = point.report.certificate;
                let (best, gap) = (certificate.objective, certificate.relative_gap());
                let told = told(best, gap, point.report.evaluations);
                output::tell(&format!("lambda {}: {told}", setting(lambda_of(point))));
            }
        };
        let found = path(data, settings, wanted, &job.cancel, &mut tell)?;
        if !found.is_whole {
            output::tell(
                "note: the path ends before its last lambda, because it reached a limit of \
                 evaluations or time",
            );
        }
        found.points.iter().for_each(|p| output::hint_if_stalled(&p.report, settings.tol()));
        save(args, &found)?;
        let sentences: Vec<String> =
            between_in_words(&found).into_iter().chain(best_in_words(settings, &found)).collect();
        if let Some(file) = settings.file("report") {
            let mut told = Vec::new();
            if let Some(PathPoint { model, report, .. }) = found.points.first() {
                told.extend(facts(model, report, &job.data_name));
                told.retain(|(name, _)| *name != "λ");
                told.push(("Solver", report.solver.into()));
            }
            let title = format!("{} on {}: a path over λ", settings.model(), job.data_name);
            let page = page(title, told, settings.tol(), &found, &sentences);
            minorant::write_atomically(&file, page.to_html().as_bytes())?;
        }
        output::print(&match settings.is_given("json") {
            true => json(&found, job.load_seconds).to_string(),
            false => text(settings, &found, sentences),
        })
    })
}

/// The validation data, which must have labels.
pub(super) fn read_judges(
    files: &[PathBuf],
    settings: &Settings,
    data: Data<'_>,
) -> anyhow::Result<Option<OwnedData>> {
    let Some(first) = files.first() else { return Ok(None) };
    let (validation, dropped) = read_validation(data, settings, files)?;
    note(&ignored_entries(dropped));
    let has_labels = match validation.view() {
        Data::Rows(rows) => rows.labels.rows != LabelRows::None,
        Data::Sequences(sequences) => !sequences.labels.is_empty(),
        Data::Recordings(recordings) => recordings.labels.rows != LabelRows::None,
        Data::Images(images) => images.are_labelled(),
    };
    ensure!(has_labels, "{}: the data has no labels", first.display());
    Ok(Some(validation))
}

fn save(args: &PathArgs, found: &Path) -> anyhow::Result<()> {
    let Some(dir) = &args.out_dir else { return Ok(()) };
    let mut without = 0;
    for point in &found.points {
        let file = dir.join(format!("lambda-{:e}.safetensors", lambda_of(point)));
        without += usize::from(!point.model.save(&file, PROOF_BYTES)?);
    }
    if without > 0 {
        output::tell(&format!(
            "note: {without} of the models are saved without a proof: the proof is over 64 MiB, or \
             {LOST_ORIGINS}"
        ));
    }
    Ok(())
}

/// The first of these files that has the name of a model in a folder.
fn overwritten_in<'f>(
    dir: &std::path::Path,
    mut files: impl Iterator<Item = &'f PathBuf>,
) -> Option<&'f PathBuf> {
    let dir = std::fs::canonicalize(dir).ok()?;
    files.find(|file| {
        let Some(file) = minorant::file_behind(file) else { return false };
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let is_model = name.starts_with("lambda-") && name.ends_with(".safetensors");
        is_model && file.parent() == Some(&dir)
    })
}

fn json(found: &Path, load_seconds: f64) -> Value {
    let point = |point: &PathPoint| {
        let mut object = train_json(&point.model, &point.report, load_seconds);
        object["train_error"] = json!(point.train_error);
        object["validation_error"] = json!(point.validation_error);
        object
    };
    let between = |b: &Between| json!({ "lo": b.lo, "hi": b.hi, "relative_gap": b.relative_gap });
    json!({
        "points": found.points.iter().map(point).collect::<Vec<_>>(),
        "between": found.between.iter().map(between).collect::<Vec<_>>(),
    })
}

/// The path for people.
fn text(settings: &Settings, found: &Path, sentences: Vec<String>) -> String {
    let head =
        ["lambda", "objective", "rel. gap", "until next", "train error", "validation", "evals"];
    let row = |(at, point): (usize, &PathPoint)| {
        let next = found.between.get(at).and_then(|between| between.relative_gap);
        vec![
            setting(lambda_of(point)),
            number::objective(point.report.certificate.objective),
            dash(point.report.certificate.relative_gap(), number::scientific),
            dash(next, number::scientific),
            output::error(settings, point.train_error),
            dash(point.validation_error, |error| output::error(settings, error)),
            point.report.evaluations.to_string(),
        ]
    };
    let table = output::table(head, found.points.iter().enumerate().map(row));
    let evaluations: u64 = found.points.iter().map(|point| point.report.evaluations).sum();
    let seconds: f64 = found.points.iter().map(|point| point.report.seconds).sum();
    let effort = format!("{evaluations} evaluations in {seconds:.2} s");
    [vec![table, String::new()], sentences, vec![effort]].concat().join("\n")
}

/// What is proven for every λ in between, if all gaps there are known.
fn between_in_words(found: &Path) -> Option<String> {
    let gap = largest_gap(found)?;
    let [from, to] = [found.points.first()?, found.points.last()?].map(|p| setting(lambda_of(p)));
    // Relative to the best, which lies below the model's own objective.
    let gap = number::percent_above(gap / (1.0 - gap).max(f64::MIN_POSITIVE));
    Some(format!(
        "at every lambda from {from} to {to} the better of the two neighbouring models is at most \
         {gap} above the best objective, by proof"
    ))
}

/// The λ of least validation error; of several the largest.
fn best_in_words(settings: &Settings, found: &Path) -> Option<String> {
    let errors = found.points.iter().filter_map(|p| Some((p.validation_error?, p)));
    let best = errors.reduce(|best, other| if other.0 < best.0 { other } else { best })?;
    let (error, lambda) = (output::error(settings, best.0), setting(lambda_of(best.1)));
    Some(format!("least validation error: {error} at lambda {lambda}"))
}
