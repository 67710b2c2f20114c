//! `minorant path`: models for a range of λ, with what is proven in between.

use super::train::facts;
use super::{LOST_ORIGINS, cancel_on_interrupt, check_writable};
use crate::args::{PathArgs, on_threads};
use crate::number;
use crate::output::{self, maybe, percent, train_json};
use crate::report::{PathReport, PathRow};
use anyhow::{Context, ensure};
use minorant::data::{Dataset, LabelRows};
use minorant::family::{PROOF_BYTES, Settings, options_of_rows, read_training};
use minorant::options::common::THREADS;
use minorant::path::{Between, Path, PathOptions, PathPoint, path};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Instant;

pub(crate) fn run(args: &PathArgs) -> anyhow::Result<ExitCode> {
    let problem = &args.problem;
    let lambdas = args.lambdas.lambdas()?;
    let settings = problem.settings()?;
    check_writable(&settings)?;
    if let Some(dir) = &args.out_dir {
        std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    }
    let cancel = cancel_on_interrupt();
    on_threads(settings.get(&THREADS), || -> anyhow::Result<ExitCode> {
        let begin = Instant::now();
        let data = read_training(&settings, &problem.files)?;
        let load_seconds = begin.elapsed().as_secs_f64();
        let data = data
            .view()
            .rows()
            .map_err(|_| anyhow::anyhow!("path takes linear models, not {}", problem.model()))?;
        let validation = read_validation(args, &settings, data)?;
        let wanted = PathOptions {
            lambdas: &lambdas,
            validation: validation.as_ref(),
            start: None,
            fill: !args.grid_only,
        };
        let mut tell = |point: &PathPoint| {
            if !settings.is_given("quiet") {
                output::tell(&progress(point));
            }
        };
        let found = path(data, &settings, wanted, &cancel, &mut tell)?;
        if !found.is_whole {
            output::tell(
                "note: the path ends before its last lambda, because it reached a limit of evaluations or time",
            );
        }
        found.points.iter().for_each(|p| output::hint_if_stalled(&p.report, settings.tol()));
        save(args, &found)?;
        if let Some(file) = settings.file("report") {
            let page = page(args, settings.tol(), &found);
            minorant::write_atomically(&file, page.to_html().as_bytes())?;
        }
        if settings.is_given("json") {
            output::print(&json(&found, load_seconds).to_string())?;
        } else {
            output::print(&text(&found))?;
        }
        Ok(ExitCode::SUCCESS)
    })?
}

/// The validation data, with the columns and the kind of labels that the training data has.
fn read_validation(
    args: &PathArgs,
    settings: &Settings,
    data: &Dataset<'_>,
) -> anyhow::Result<Option<Dataset<'static>>> {
    if args.validation.is_empty() {
        return Ok(None);
    }
    let mut options = options_of_rows(settings);
    options.label_kind = data.labels.kind();
    (options.for_prediction, options.model_features) = (true, Some(data.features.cols()));
    let (validation, dropped) = minorant::data::read_for_model(&args.validation, &options)?;
    super::predict::note_dropped(dropped);
    let name = args.validation[0].display();
    ensure!(validation.labels.rows != LabelRows::None, "{name}: the data has no labels");
    Ok(Some(validation))
}

/// λ of a point.
fn lambda_of(point: &PathPoint) -> f64 {
    point.report.lambda.unwrap_or_default()
}

fn progress(point: &PathPoint) -> String {
    let certificate = point.report.certificate;
    let gap = certificate.relative_gap().map_or("unknown".into(), number::scientific);
    format!(
        "lambda {}: objective {}  gap {gap}  evaluations {}",
        number::setting(lambda_of(point)),
        number::objective(certificate.objective),
        point.report.evaluations
    )
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

fn json(found: &Path, load_seconds: f64) -> Value {
    let point = |point: &PathPoint| {
        let mut object = train_json(&point.model, &point.report, load_seconds);
        object["train_error"] = output::number(point.train_error);
        object["validation_error"] = maybe(point.validation_error);
        object
    };
    let between = |between: &Between| {
        json!({
            "lo": output::number(between.lo),
            "hi": output::number(between.hi),
            "relative_gap": maybe(between.relative_gap),
        })
    };
    json!({
        "points": found.points.iter().map(point).collect::<Vec<_>>(),
        "between": found.between.iter().map(between).collect::<Vec<_>>(),
    })
}

/// The path for people.
fn text(found: &Path) -> String {
    let head =
        ["lambda", "objective", "rel. gap", "until next", "train error", "validation", "evals"];
    let mut rows = vec![head.map(String::from).to_vec()];
    let scientific = |gap: Option<f64>| gap.map_or("-".into(), number::scientific);
    for (at, point) in found.points.iter().enumerate() {
        let next = found.between.get(at).and_then(|between| between.relative_gap);
        rows.push(vec![
            number::setting(lambda_of(point)),
            number::objective(point.report.certificate.objective),
            scientific(point.report.certificate.relative_gap()),
            scientific(next),
            percent(point.train_error),
            point.validation_error.map_or("-".into(), percent),
            point.report.evaluations.to_string(),
        ]);
    }
    let mut lines = vec![output::table(&rows), String::new()];
    lines.extend(largest_gap(found).map(|gap| between_in_words(found, gap)));
    lines.extend(best_in_words(found));
    let evaluations: u64 = found.points.iter().map(|point| point.report.evaluations).sum();
    let seconds: f64 = found.points.iter().map(|point| point.report.seconds).sum();
    lines.push(format!("{evaluations} evaluations in {seconds:.2} s"));
    lines.join("\n")
}

/// The largest gap in between, if all of them are known.
fn largest_gap(found: &Path) -> Option<f64> {
    let gaps = found.between.iter().map(|between| between.relative_gap);
    gaps.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
}

fn between_in_words(found: &Path, gap: f64) -> String {
    let lambda = |point: Option<&PathPoint>| {
        point.map_or(number::NONE.into(), |point| number::setting(lambda_of(point)))
    };
    format!(
        "at every lambda from {} to {} the better of the two neighbouring models is at most {} above the best objective, by proof",
        lambda(found.points.first()),
        lambda(found.points.last()),
        // Relative to the best, which lies below the model's own objective.
        number::percent_above(gap / (1.0 - gap).max(f64::MIN_POSITIVE))
    )
}

/// The λ of least validation error; of several the largest.
fn best_in_words(found: &Path) -> Option<String> {
    let errors = found.points.iter().filter_map(|p| Some((p.validation_error?, p)));
    let best = errors.reduce(|best, other| if other.0 < best.0 { other } else { best })?;
    Some(format!(
        "least validation error: {} at lambda {}",
        percent(best.0),
        number::setting(lambda_of(best.1))
    ))
}

fn page(args: &PathArgs, tol: f64, found: &Path) -> PathReport {
    let problem = &args.problem;
    let data = problem.data_name();
    let mut facts =
        found.points.first().map_or(Vec::new(), |point| facts(&point.model, &point.report, &data));
    facts.retain(|(name, _)| name != "λ");
    if let Some(point) = found.points.first() {
        facts.push(("Solver".into(), point.report.solver.into()));
    }
    let row = |point: &PathPoint| PathRow {
        lambda: lambda_of(point),
        objective: point.report.certificate.objective,
        lower_bound: point.report.certificate.lower_bound,
        relative_gap: point.report.certificate.relative_gap(),
        train_error: point.train_error,
        validation_error: point.validation_error,
        evaluations: point.report.evaluations,
        status: point.report.status.as_str(),
    };
    let mut sentences = Vec::new();
    sentences.extend(largest_gap(found).map(|gap| between_in_words(found, gap)));
    sentences.extend(best_in_words(found));
    PathReport {
        title: format!("{} on {data}: a path over λ", problem.model()),
        facts,
        tol,
        sentences,
        rows: found.points.iter().map(row).collect(),
        between: found.between.clone(),
    }
}
