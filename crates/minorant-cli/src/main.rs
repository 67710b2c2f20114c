//! The `minorant` command: trains models with a certificate, predicts, evaluates, compares,
//! audits. This crate parses arguments, calls the library and shows what it says; it computes
//! nothing itself.

mod args;
mod output;
mod progress;
mod report;
mod verbs;

use args::{Cli, Verb};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match &cli.verb {
        Verb::Train(args) => verbs::train::run(args),
        Verb::Predict(args) => verbs::predict::run(args),
        Verb::Evaluate(args) => verbs::evaluate::run(args),
        Verb::Inspect(args) => verbs::inspect::run(args),
        Verb::Compare(args) => verbs::compare::run(args),
        Verb::Audit(args) => verbs::audit::run(args),
        Verb::Demo(args) => verbs::demo::run(args),
        Verb::Completions(args) => verbs::completions::run(args),
    };
    match result {
        Ok(code) => code,
        // Whoever read our output has gone away; there is nobody to tell.
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(1)
        }
    }
}
