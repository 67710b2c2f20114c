//! Runs of the library on a problem: every solver that its model has, each with a model that went
//! through a file, and an audit of it. Nothing is judged here.

use super::problem::Problem;
use minorant::audit::Audit;
use minorant::certificate::Certificate;
use minorant::family::linear::{LinearForm, SubProblem};
use minorant::family::{Context, FittedModel, TrainError, TrainReport, train};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;

/// How a run ended.
pub(crate) enum Ended {
    /// With a model, as it was read back.
    Fitted(Box<Fitted>),
    /// The solver is not for this problem.
    NotFor,
    /// With an error.
    Refused(String),
    /// It panicked.
    Panicked(String),
}

/// A model that went through a file, with the report of its run and what an audit found.
pub(crate) struct Fitted {
    pub(crate) model: FittedModel,
    pub(crate) report: TrainReport,
    pub(crate) audit: Audit,
}

/// One run.
pub(crate) struct Ran {
    pub(crate) solver: &'static str,
    pub(crate) seconds: f64,
    pub(crate) ended: Ended,
}

/// The runs of all solvers.
pub(crate) fn all(problem: &Problem) -> Vec<Ran> {
    problem.settings.entry().solvers().into_iter().map(|solver| run(problem, solver)).collect()
}

fn run(problem: &Problem, solver: &'static str) -> Ran {
    let start = Instant::now();
    let settings = problem.settings_of(solver);
    let trained = quietly(|| train(problem.data.view(), &settings, Context::default()));
    let seconds = start.elapsed().as_secs_f64();
    let ended = match trained {
        Err(why) => Ended::Panicked(why),
        Ok(Err(TrainError::Method(_))) => Ended::NotFor,
        Ok(Err(why)) => Ended::Refused(why.to_string()),
        Ok(Ok((model, report))) => match quietly(|| through_file(problem, &model)) {
            Ok(Ok((model, audit))) => Ended::Fitted(Box::new(Fitted { model, report, audit })),
            Ok(Err(why)) => Ended::Refused(why),
            Err(why) => Ended::Panicked(why),
        },
    };
    Ran { solver, seconds, ended }
}

/// The model as somebody gets it who has its file, with the verdict of its audit.
pub(crate) fn through_file(
    problem: &Problem,
    model: &FittedModel,
) -> Result<(FittedModel, Audit), String> {
    let bytes = model.to_bytes(u64::MAX);
    let read = FittedModel::from_bytes(Path::new("model"), bytes).map_err(|why| why.to_string())?;
    let audit = read.audit(problem.data.view(), problem.example_weights().as_deref());
    Ok((read, audit))
}

/// Does something that may panic.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let told = |why: Box<dyn Any + Send>| {
        let words = why.downcast_ref::<String>().cloned();
        words.or_else(|| why.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
    };
    catch_unwind(AssertUnwindSafe(work)).map_err(told)
}

/// The claims of each problem that was solved for a model.
pub(crate) fn claims(model: &FittedModel) -> Vec<Certificate> {
    match model.form_as::<LinearForm>() {
        Some(form) => form.problems.iter().map(|problem| problem.certificate).collect(),
        None => vec![model.facts.certificate],
    }
}

/// The weights of each problem that was solved for a model, behind them what is free.
pub(crate) fn weights(model: &FittedModel) -> Vec<Vec<f64>> {
    match model.form_as::<LinearForm>() {
        Some(form) => {
            let free = |problem: &SubProblem| problem.intercept.clone().unwrap_or_default();
            form.problems
                .iter()
                .map(|problem| [problem.weights.clone(), free(problem)].concat())
                .collect()
        }
        None => model.form().weights().into_iter().map(<[f64]>::to_vec).collect(),
    }
}
