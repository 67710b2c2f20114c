//! `minorant tune`: λ by cross-validation over paths, then a model of the best λ on all data.

use super::train::summary;
use super::{cancel_on_interrupt, check_writable};
use crate::args::TuneArgs;
use crate::number;
use crate::output::{self, percent, train_json};
use crate::progress::Watchers;
use minorant::model::{FittedModel, PROOF_BYTES};
use minorant::path::{FoldError, Tuned, tune};
use minorant::train::{Lambda, TrainReport, train};
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) fn run(args: &TuneArgs) -> anyhow::Result<ExitCode> {
    let problem = &args.problem;
    let lambdas = args.lambdas.lambdas()?;
    let mut options = problem.options(problem.linear_model("tune")?, args.solver.method()?)?;
    check_writable(&[&args.out])?;
    let cancel = cancel_on_interrupt();
    problem.threads.install(|| -> anyhow::Result<ExitCode> {
        let (data, load_seconds) = problem.read()?;
        let mut tell = |measured: FoldError| {
            if !args.output.quiet {
                output::tell(&format!(
                    "fold {} of {}: lambda {}: error {}",
                    measured.fold + 1,
                    args.folds,
                    number::setting(measured.lambda),
                    percent(measured.error)
                ));
            }
        };
        let tuned = tune(&data, &options, &lambdas, args.folds, problem.seed, &cancel, &mut tell)?;
        options.lambda = Some(Lambda::Lambda(tuned.best_lambda));
        let mut watchers = Watchers::new("training", problem.stopping.tol(), args.output.quiet);
        let trained = train(&data, &options, &cancel, &mut watchers, &mut ());
        watchers.finish();
        let (model, report) = trained?;
        output::hint_if_stalled(&report, problem.stopping.tol());
        if let Some(file) = &args.out
            && !model.save(file, PROOF_BYTES)?
        {
            output::tell("note: the model is saved without a proof");
        }
        if args.output.json {
            output::print(&json(&tuned, &model, &report, load_seconds).to_string())?;
        } else {
            output::print(&text(&tuned))?;
            output::print(&summary(&model, &report, &problem.data_name()))?;
            if let Some(file) = &args.out {
                output::print(&format!("model         {}", file.display()))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    })?
}

fn json(tuned: &Tuned, model: &FittedModel, report: &TrainReport, load_seconds: f64) -> Value {
    let points = tuned.points.iter().map(|point| {
        json!({
            "lambda": output::number(point.lambda),
            "validation_error": output::number(point.error),
            "standard_error": output::number(point.standard_error),
            "fold_errors": point.errors,
        })
    });
    json!({
        "points": points.collect::<Vec<_>>(),
        "best_lambda": output::number(tuned.best_lambda),
        "fold_evaluations": tuned.evaluations,
        "model": train_json(model, report, load_seconds),
    })
}

fn text(tuned: &Tuned) -> String {
    let mut rows =
        vec![["lambda", "validation error", "± standard error", ""].map(String::from).to_vec()];
    for point in &tuned.points {
        rows.push(vec![
            number::setting(point.lambda),
            percent(point.error),
            percent(point.standard_error),
            if point.lambda == tuned.best_lambda { "best" } else { "" }.into(),
        ]);
    }
    output::table(&rows) + "\n"
}
