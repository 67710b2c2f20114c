//! `minorant completions`: prints what a shell needs to complete the command line.

use crate::args::{Cli, CompletionsArgs};

pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command_for(&[]), "minorant", &mut text);
    crate::output::print(String::from_utf8_lossy(&text).trim_end())
}
