//! `minorant man`: manual pages, made from the same definitions as the help.

use crate::args::{Cli, ManArgs};
use crate::output;
use anyhow::Context;
use clap::CommandFactory;
use std::process::ExitCode;

pub(crate) fn run(args: &ManArgs) -> anyhow::Result<ExitCode> {
    let command = Cli::command();
    if let Some(dir) = &args.dir {
        let pages = || -> std::io::Result<()> {
            std::fs::create_dir_all(dir)?;
            clap_mangen::generate_to(command, dir)
        };
        pages().with_context(|| format!("writing manual pages to {}", dir.display()))?;
        output::tell(&format!("manual pages are in {}", dir.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    output::print(String::from_utf8_lossy(&text).trim_end())?;
    Ok(ExitCode::SUCCESS)
}
