//! `minorant tune`: λ by cross-validation over paths, then a model of the best λ on all data.

use super::train::in_words;
use super::{cancel_on_interrupt, check_writable};
use crate::args::{TuneArgs, on_threads};
use crate::number;
use crate::output::{self, percent, train_json};
use crate::progress::Watchers;
use minorant::family::{
    Context, FittedModel, Lambda, PROOF_BYTES, TrainReport, read_training, train,
};
use minorant::options::common::{SEED, THREADS};
use minorant::path::{FoldError, Tuned, tune};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Instant;

pub(crate) fn run(args: &TuneArgs) -> anyhow::Result<ExitCode> {
    let problem = &args.problem;
    let lambdas = args.lambdas.lambdas()?;
    let mut settings = problem.settings()?;
    check_writable(&settings)?;
    let cancel = cancel_on_interrupt();
    on_threads(settings.get(&THREADS), || -> anyhow::Result<ExitCode> {
        let begin = Instant::now();
        let data = read_training(&settings, &problem.files)?;
        let load_seconds = begin.elapsed().as_secs_f64();
        let is_quiet = settings.is_given("quiet");
        let data = data
            .view()
            .rows()
            .map_err(|_| anyhow::anyhow!("tune takes linear models, not {}", problem.model()))?;
        let mut tell = |measured: FoldError| {
            if !is_quiet {
                output::tell(&format!(
                    "fold {} of {}: lambda {}: error {}",
                    measured.fold + 1,
                    args.folds,
                    number::setting(measured.lambda),
                    percent(measured.error)
                ));
            }
        };
        let seed = settings.get(&SEED);
        let tuned = tune(data, &settings, &lambdas, args.folds, seed, &cancel, &mut tell)?;
        settings.set_lambda(Lambda::Lambda(tuned.best_lambda));
        let mut watchers = Watchers::new("training", settings.tol(), is_quiet);
        let context = Context::default().cancelled_by(&cancel).observed_by(&mut watchers);
        let trained = train(data, &settings, context);
        watchers.finish();
        let (model, report) = trained?;
        output::hint_if_stalled(&report, settings.tol());
        let out = settings.file("out");
        if let Some(file) = &out
            && !model.save(file, PROOF_BYTES)?
        {
            output::tell("note: the model is saved without a proof");
        }
        if settings.is_given("json") {
            output::print(&json(&tuned, &model, &report, load_seconds).to_string())?;
        } else {
            output::print(&text(&tuned))?;
            output::print(&in_words(&model, &report, &problem.data_name()))?;
            if let Some(file) = &out {
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
