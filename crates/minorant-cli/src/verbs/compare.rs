//! `minorant compare`: several solvers on one problem, a table, and a report.

use super::train::{facts, report_run};
use super::{cancel_on_interrupt, check_writable};
use crate::args::{CompareArgs, KernelOptions, ModelArg};
use crate::number;
use crate::output::{self, report_json};
use crate::progress::Watchers;
use crate::report::Report;
use minorant::data::Dataset;
use minorant::hmm::Task;
use minorant::model::FittedModel;
use minorant::risk::Cancel;
use minorant::solver::Method;
use minorant::trace::TraceRecord;
use minorant::train::{
    ChainOptions, HmmOptions, ImageOptions, NeuroOptions, TrainError, TrainOptions, TrainReport,
    train, train_chain, train_hmm, train_images, train_neuro,
};
use serde_json::{Value, json};
use std::process::ExitCode;

/// One solver's run.
pub(super) struct Compared<M> {
    pub(super) model: M,
    pub(super) report: TrainReport,
    pub(super) records: Vec<TraceRecord>,
}

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let problem = &args.problem;
    check_writable(&[&args.report])?;
    let cancel = cancel_on_interrupt();
    let quiet = args.output.quiet;
    problem.threads.install(|| -> anyhow::Result<ExitCode> {
        match problem.model {
            ModelArg::Linear(name) => {
                let all = each(args, |solver| problem.options(name, solver))?;
                let (data, seconds) = problem.read()?;
                let one = |options: &TrainOptions| compare_one(&data, options, &cancel, quiet);
                show(args, &run_all(&all, &cancel, one)?, seconds)
            }
            ModelArg::Chain(name) => {
                let all = each(args, |solver| problem.chain_options(name, solver))?;
                let (data, seconds) = problem.read_sequences()?;
                let one = |options: &ChainOptions| {
                    watched(options.method.name(), options.rules.tol, quiet, |watchers| {
                        train_chain(&data, options, &cancel, watchers, &mut ())
                    })
                };
                show(args, &run_all(&all, &cancel, one)?, seconds)
            }
            ModelArg::Neuro => {
                let all = each(args, |solver| problem.neuro_options(solver))?;
                let (data, seconds) = problem.read_sequences()?;
                let one = |options: &NeuroOptions| {
                    watched(options.method.name(), options.rules.tol, quiet, |watchers| {
                        train_neuro(&data, options, &cancel, watchers, &mut ())
                    })
                };
                show(args, &run_all(&all, &cancel, one)?, seconds)
            }
            ModelArg::Hmm => {
                let all = each(args, |solver| problem.hmm_options(solver))?;
                let task = all.first().map_or(Task::Classify, |options| options.task);
                let (data, seconds) = problem.read_recordings(task)?;
                let one = |options: &HmmOptions| {
                    watched(options.method.name(), options.rules.tol, quiet, |watchers| {
                        train_hmm(&data, options, &cancel, watchers, &mut ())
                    })
                };
                show(args, &run_all(&all, &cancel, one)?, seconds)
            }
            ModelArg::Image(name) => {
                let all = each(args, |solver| problem.image_options(name, solver))?;
                let (data, seconds) = super::image::read_for_training(name, problem)?;
                let one = |options: &ImageOptions| {
                    watched(options.method.name(), options.rules.tol, quiet, |watchers| {
                        train_images(&data, options, &cancel, watchers, &mut ())
                    })
                };
                show(args, &run_all(&all, &cancel, one)?, seconds)
            }
            ModelArg::Kernel(name) => {
                let of = |solver| problem.kernel_options(name, solver);
                let all = args.solvers.iter().map(of).collect::<anyhow::Result<Vec<_>>>()?;
                let (data, seconds) = problem.read()?;
                let tol = all.first().map_or(0.0, KernelOptions::tol);
                let one = |options: &KernelOptions| {
                    watched(options.solver(), tol, quiet, |watchers| {
                        let trained =
                            super::kernel::trained(&data, options, &cancel, watchers, &mut ())?;
                        Ok((trained.0, trained.1))
                    })
                };
                let runs = run_all(&all, &cancel, one)?;
                let first = &runs[0];
                let facts = super::kernel::facts(&first.model, &first.report, &problem.data_name());
                show_with(args, &runs, seconds, tol, facts)
            }
        }
    })?
}

/// The options for each solver.
fn each<O>(
    args: &CompareArgs,
    options: impl Fn(Method) -> anyhow::Result<O>,
) -> anyhow::Result<Vec<O>> {
    args.solvers.iter().map(|solver| options(solver.method()?)).collect()
}

fn run_all<O, M>(
    all: &[O],
    cancel: &Cancel,
    one: impl Fn(&O) -> anyhow::Result<Compared<M>>,
) -> anyhow::Result<Vec<Compared<M>>> {
    let mut runs = Vec::new();
    for options in all {
        runs.push(one(options)?);
        if cancel.is_cancelled() {
            break;
        }
    }
    Ok(runs)
}

/// Runs one solver.
pub(super) fn compare_one(
    data: &Dataset<'_>,
    options: &TrainOptions,
    cancel: &Cancel,
    quiet: bool,
) -> anyhow::Result<Compared<FittedModel>> {
    watched(options.method.name(), options.rules.tol, quiet, |watchers| {
        train(data, options, cancel, watchers, &mut ())
    })
}

/// One run with its progress shown and its trace kept.
fn watched<M>(
    name: &'static str,
    tol: f64,
    quiet: bool,
    train: impl FnOnce(&mut Watchers) -> Result<(M, TrainReport), TrainError>,
) -> anyhow::Result<Compared<M>> {
    let mut watchers = Watchers::new(name, tol, quiet);
    let trained = train(&mut watchers);
    watchers.finish();
    let (model, report) = trained?;
    output::hint_if_stalled(&report, tol);
    Ok(Compared { model, report, records: watchers.records })
}

/// Shows what the runs gave, as asked for.
fn show<M>(
    args: &CompareArgs,
    runs: &[Compared<M>],
    load_seconds: f64,
) -> anyhow::Result<ExitCode> {
    let tol = args.problem.stopping.tol();
    let facts = facts(&runs[0].report, &args.problem.data_name());
    show_with(args, runs, load_seconds, tol, facts)
}

/// The same, with what the report says of the problem.
fn show_with<M>(
    args: &CompareArgs,
    runs: &[Compared<M>],
    load_seconds: f64,
    tol: f64,
    facts: Vec<(String, String)>,
) -> anyhow::Result<ExitCode> {
    let problem = &args.problem;
    let name = problem.model.as_str();
    if let Some(path) = &args.report {
        let title = format!("{name} on {}", problem.data_name());
        let page = page(title, facts, tol, runs);
        minorant::write_atomically(path, page.to_html().as_bytes())?;
    }
    if args.output.json {
        let object = |run: &Compared<M>| report_json(name, tol, &run.report, load_seconds);
        let objects: Vec<Value> = runs.iter().map(object).collect();
        output::print(&json!({ "runs": objects }).to_string())?;
    } else {
        output::print(&table(runs, tol))?;
        if let Some(path) = &args.report {
            output::print(&format!("\nreport  {}", path.display()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The report of a comparison.
pub(super) fn page<M>(
    title: String,
    facts: Vec<(String, String)>,
    tol: f64,
    runs: &[Compared<M>],
) -> Report<'_> {
    let runs = runs.iter().map(|run| report_run(&run.report, tol, &run.records)).collect();
    Report { title, facts, tol, runs, extra: Vec::new() }
}

/// The comparison as a table.
pub(super) fn table<M>(runs: &[Compared<M>], tol: f64) -> String {
    let head = [
        "solver",
        "objective",
        "lower bound",
        "rel. gap",
        "certified",
        "evals",
        "seconds",
        "status",
    ];
    let mut rows = vec![head.map(String::from).to_vec()];
    for run in runs {
        let certificate = run.report.certificate;
        rows.push(vec![
            run.report.solver.to_string(),
            number::objective(certificate.objective),
            certificate.lower_bound.map_or("-".into(), number::bound),
            certificate.relative_gap().map_or("-".into(), number::scientific),
            if certificate.certifies(tol) { "yes" } else { "no" }.into(),
            run.report.evaluations.to_string(),
            format!("{:.3}", run.report.seconds),
            run.report.status.as_str().into(),
        ]);
    }
    output::table(&rows)
}
