//! The verbs, one file each: read what was asked for, call the library, show the answer. They are
//! the same for every model.

pub(crate) mod audit;
pub(crate) mod cache;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod evaluate;
pub(crate) mod generate;
pub(crate) mod inspect;
mod inspect_data;
mod kind;
pub(crate) mod man;
pub(crate) mod minimize;
pub(crate) mod path;
pub(crate) mod predict;
pub(crate) mod train;
pub(crate) mod tune;

use crate::args::{FittedArgs, OUTPUTS, ProblemArgs, on_threads};
use crate::output;
use crate::progress::Watchers;
use minorant::FileError;
use minorant::family::{
    Context, Data, FittedModel, OwnedData, Purpose, Settings, Streaming, TrainReport,
    ignored_entries, read_training, train,
};
use minorant::options::common::THREADS;
use minorant::risk::Cancel;
use minorant::trace::TraceRecord;
use std::time::Instant;

/// Why a bound may have no proof.
const LOST_ORIGINS: &str = "an aggregate plane has lost its origins";

/// What is to be trained, with the data that was read for it.
struct Job {
    settings: Settings,
    data: OwnedData,
    /// The files in words.
    data_name: String,
    load_seconds: f64,
    cancel: Cancel,
    is_quiet: bool,
}

/// Reads what was asked for and the data, and works on it on as many threads as are wanted.
fn with_data<const VERB: u8>(
    problem: &ProblemArgs<VERB>,
    work: impl FnOnce(Job) -> anyhow::Result<()> + Send,
) -> anyhow::Result<()> {
    let mut settings = problem.settings()?;
    // Output files that cannot be written are refused before hours of work go into them.
    problem.check_files(&[])?;
    let mut files = OUTPUTS.iter().filter_map(|name| settings.file(name));
    files.try_for_each(|path| FileError::check_writable(&path))?;
    settings.take_weights(&problem.files)?;
    note(&settings.notes());
    let cancel = cancel_on_interrupt();
    on_threads(settings.get(&THREADS), || {
        let begin = Instant::now();
        let data = read_training(&settings, &problem.files)?;
        let load_seconds = begin.elapsed().as_secs_f64();
        let (data_name, is_quiet) = (problem.data_name(), settings.is_given("quiet"));
        if let Some(plan) = Streaming::plan(data.view(), &settings)?.filter(|_| !is_quiet) {
            output::tell(&plan.in_words());
        }
        work(Job { settings, data, data_name, load_seconds, cancel, is_quiet })
    })
}

/// Reads a fitted model and data for it, and works on them on as many threads as are wanted.
fn with_model(
    fitted: &FittedArgs,
    purpose: Purpose,
    work: impl FnOnce(&FittedModel, Data<'_>) -> anyhow::Result<()> + Send,
) -> anyhow::Result<()> {
    let model = FittedModel::load(&fitted.model)?;
    let settings = fitted.data.reading.settings(model.facts.settings.entry())?;
    on_threads(fitted.data.threads, || {
        let (data, dropped) = model.read(&settings, &fitted.data.files, purpose)?;
        note(&ignored_entries(dropped));
        work(&model, data.view())
    })
}

/// Tells notes on standard error.
fn note<'s>(notes: impl IntoIterator<Item = &'s String>) {
    notes.into_iter().for_each(|note| output::tell(&format!("note: {note}")));
}

/// What a run gave.
struct Trained {
    model: FittedModel,
    report: TrainReport,
    records: Vec<TraceRecord>,
}

/// Trains a model with the progress of the run `name` shown and its trace kept.
fn watched(
    name: &str,
    data: Data<'_>,
    settings: &Settings,
    cancel: &Cancel,
) -> anyhow::Result<Trained> {
    let mut watchers = Watchers::new(name, settings.tol(), settings.is_given("quiet"));
    watchers.source = data.source();
    let context = Context::default().cancelled_by(cancel).observed_by(&mut watchers);
    let trained = train(data, settings, context);
    watchers.view.finish();
    let (model, report) = trained?;
    output::hint_if_stalled(&report, settings.tol());
    Ok(Trained { model, report, records: watchers.records })
}

/// A token that Ctrl-C cancels, or a request to terminate; a second one ends the process at once.
fn cancel_on_interrupt() -> Cancel {
    let cancel = Cancel::new();
    let token = cancel.clone();
    let stop = move || {
        if token.is_cancelled() {
            std::process::exit(130);
        }
        output::tell("stopping after this evaluation; press Ctrl-C again to give up the answer");
        token.cancel();
    };
    #[cfg(unix)]
    if let Ok(mut requests) = signal_hook::iterator::Signals::new([signal_hook::consts::SIGTERM]) {
        let stop = stop.clone();
        std::thread::spawn(move || requests.forever().for_each(|_| stop()));
    }
    // Where no handler can be installed, Ctrl-C ends the process as usual.
    let _ = ctrlc::set_handler(stop);
    cancel
}
