//! `minorant tune`: λ by cross-validation over paths or by data of its own, then a model of the best λ on all data.

use super::path::read_judges;
use super::train::{in_words, save};
use super::{Job, watched, with_data};
use crate::args::TuneArgs;
use crate::number::setting;
use crate::output::{self, dash, train_json};
use anyhow::bail;
use minorant::family::{Data, Lambda};
use minorant::options::common::SEED;
use minorant::path::{FoldError, TunedPoint, geometric, tune, validate};
use serde_json::json;

pub(crate) fn run(args: &TuneArgs) -> anyhow::Result<()> {
    let (from, to, count) = args.lambdas;
    let lambdas = geometric(from, to, count)?;
    with_data(
        &args.problem,
        |Job { mut settings, data, data_name, load_seconds, cancel, is_quiet }| {
            let data = data.view();
            let mut tell = |FoldError { fold, lambda, error }: FoldError| {
                if !is_quiet {
                    let (fold, folds) = (fold + 1, args.folds);
                    let (lambda, error) = (setting(lambda), output::error(&settings, error));
                    output::tell(&match args.validation.is_empty() {
                        true => format!("fold {fold} of {folds}: lambda {lambda}: error {error}"),
                        false => format!("lambda {lambda}: error {error}"),
                    });
                }
            };
            let seed = settings.get(&SEED);
            let judges = read_judges(&args.validation, &settings, data)?;
            let tuned = match (&judges, data) {
                (Some(judges), _) => {
                    validate(data, &settings, &lambdas, judges.view(), &cancel, &mut tell)?
                }
                (None, Data::Rows(rows)) => {
                    tune(rows, &settings, &lambdas, args.folds, seed, &cancel, &mut tell)?
                }
                (None, _) => bail!(
                    "cross-validation deals rows into folds; this data needs --validation FILE to \
                     choose lambda by"
                ),
            };
            settings.set_lambda(Lambda::Lambda(tuned.best_lambda));
            let trained = watched("training", data, &settings, &cancel)?;
            let (model, report) = (&trained.model, &trained.report);
            let saved = save(&settings, model)?;
            if settings.is_given("json") {
                let point = |point: &TunedPoint| {
                    json!({
                        "lambda": point.lambda,
                        "validation_error": point.error,
                        "standard_error": point.standard_error,
                        "fold_errors": point.errors,
                    })
                };
                let object = json!({
                    "points": tuned.points.iter().map(point).collect::<Vec<_>>(),
                    "best_lambda": tuned.best_lambda,
                    "fold_evaluations": tuned.evaluations,
                    "model": train_json(model, report, load_seconds),
                });
                return output::print(&object.to_string());
            }
            let row = |point: &TunedPoint| {
                let in_words = |x: f64| output::error(&settings, x);
                let deviation = Some(point.standard_error).filter(|error| error.is_finite());
                let (error, deviation) = (in_words(point.error), dash(deviation, in_words));
                let mark = if point.lambda == tuned.best_lambda { "best" } else { "" };
                vec![setting(point.lambda), error, deviation, mark.into()]
            };
            let head = ["lambda", "validation error", "± standard error", ""];
            output::print(&(output::table(head, tuned.points.iter().map(row)) + "\n"))?;
            output::print(&in_words(model, report, &data_name))?;
            saved.iter().try_for_each(|line| output::print(line))
        },
    )
}
