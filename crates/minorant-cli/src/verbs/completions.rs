//! `minorant completions`: prints what a shell needs to complete the command line.

use crate::args::Cli;

pub(crate) fn run(shell: clap_complete::Shell) -> anyhow::Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command_for(&[]), "minorant", &mut text);
    crate::output::print(String::from_utf8_lossy(&text).trim_end())
}
