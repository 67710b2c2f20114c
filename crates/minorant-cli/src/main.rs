//! The `minorant` command: trains models with a certificate, predicts, evaluates, compares,
//! audits. This crate parses arguments, calls the library and shows what it says; it computes
//! nothing itself.

mod args;
mod number;
mod output;
mod progress;
mod report;
mod verbs;

use args::{Cli, Verb};
use clap::Parser;
use clap::error::ErrorKind;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Err(why) = cli.verb.check_solvers() {
        clap::Error::raw(ErrorKind::ValueValidation, why + "\n").exit();
    }
    let result = match &cli.verb {
        Verb::Train(args) => verbs::train::run(args),
        Verb::Predict(args) => verbs::predict::run(args),
        Verb::Evaluate(args) => verbs::evaluate::run(args),
        Verb::Inspect(args) => verbs::inspect::run(args),
        Verb::Compare(args) => verbs::compare::run(args),
        Verb::Path(args) => verbs::path::run(args),
        Verb::Tune(args) => verbs::tune::run(args),
        Verb::Audit(args) => verbs::audit::run(args),
        Verb::Generate(args) => verbs::generate::run(args),
        Verb::Minimize(args) => verbs::minimize::run(args),
        Verb::Demo(args) => verbs::demo::run(args),
        Verb::Completions(args) => verbs::completions::run(args),
        Verb::Man(args) => verbs::man::run(args),
    };
    match result {
        Ok(code) => code,
        // Whoever read our output has gone away; there is nobody to tell.
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::tell(&format!("error: {}", sentence(&error)));
            ExitCode::from(1)
        }
    }
}

/// The error and its causes, but for those whose words it already has.
fn sentence(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text += &format!(": {cause}");
        }
    }
    text
}
