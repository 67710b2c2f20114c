//! The `minorant` command: trains models with a certificate, predicts, evaluates, compares,
//! audits. This crate parses arguments, calls the library and shows what it says; it computes
//! nothing itself and knows no model by name.

mod args;
mod number;
mod output;
mod progress;
mod report;
mod verbs;

use args::{Cli, FlagError, UsageError, Verb, with_dashes};
use clap::FromArgMatches;
use clap::error::ErrorKind;
use minorant::family::TrainError;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let matches = Cli::command_for(&words).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let result = match &cli.verb {
        Verb::Train(args) => verbs::train::run(args),
        Verb::Predict(args) => verbs::predict::run(args),
        Verb::Evaluate(args) => verbs::evaluate::run(args),
        Verb::Inspect(args) => verbs::inspect::run(&args.data),
        Verb::Cache(args) => verbs::cache::run(args),
        Verb::Compare(args) => verbs::compare::run(args),
        Verb::Path(args) => verbs::path::run(args),
        Verb::Tune(args) => verbs::tune::run(args),
        Verb::Audit(args) => verbs::audit::run(args),
        Verb::Generate(args) => verbs::generate::run(args),
        Verb::Minimize(args) => verbs::minimize::run(args),
        Verb::Demo { dir, threads } => verbs::demo::run(dir, *threads),
        Verb::Completions { shell } => verbs::completions::run(*shell),
        Verb::Man { dir } => verbs::man::run(dir.as_deref()),
    };
    // Where whoever read our output has gone away, there is nobody to tell.
    let Some(error) = result.err().filter(|error| !output::is_broken_pipe(error)) else {
        return ExitCode::SUCCESS;
    };
    if let Some(nothing) = error.downcast_ref::<verbs::audit::NothingToCheck>() {
        output::tell(&nothing.to_string());
        return ExitCode::from(3);
    }
    if let Some(UsageError(why)) = error.downcast_ref() {
        clap::Error::raw(ErrorKind::ValueValidation, format!("{why}\n")).exit();
    }
    output::tell(&format!("error: {}", sentence(error)));
    ExitCode::from(1)
}

/// The error and its causes, but for those whose words it already has.
fn sentence(error: anyhow::Error) -> String {
    // What has been put before the words of an option's mistake must not be lost.
    let told = error.to_string();
    let is_bare = |inner: &TrainError| inner.to_string() == told;
    let error = match error.downcast_ref::<TrainError>().filter(|inner| is_bare(inner)) {
        Some(TrainError::Option(mistake)) => with_dashes(mistake.clone()),
        _ => error,
    };
    let mut text = error.to_string();
    let is_flag = error.is::<FlagError>();
    for cause in error.chain().skip(1).map(ToString::to_string).filter(|_| !is_flag) {
        if !text.contains(&cause) {
            text += &format!(": {cause}");
        }
    }
    text
}
