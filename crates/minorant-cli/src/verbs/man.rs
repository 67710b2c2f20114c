//! `minorant man`: manual pages, made from the same definitions as the help.

use crate::args::{Cli, of_model};
use crate::output;
use anyhow::Context;
use minorant::family;
use std::path::Path;

pub(crate) fn run(dir: Option<&Path>) -> anyhow::Result<()> {
    let command = Cli::command_for(&[]);
    let Some(dir) = dir else {
        let mut text = Vec::new();
        clap_mangen::Man::new(command).render(&mut text)?;
        return output::print(String::from_utf8_lossy(&text).trim_end());
    };
    let pages = || -> std::io::Result<()> {
        std::fs::create_dir_all(dir)?;
        clap_mangen::generate_to(command.clone(), dir)?;
        // Each model has a page of its own, with just its options.
        let train = command.find_subcommand("train").cloned().unwrap_or_default();
        for entry in family::models() {
            let name: &str = format!("minorant-train-{}", entry.model.name).leak();
            let page = of_model(train.clone(), Some(*entry)).name(name).bin_name(name);
            clap_mangen::Man::new(page).generate_to(dir)?;
        }
        Ok(())
    };
    pages().with_context(|| format!("writing manual pages to {}", dir.display()))?;
    output::tell(&format!("manual pages are in {}", dir.display()));
    Ok(())
}
