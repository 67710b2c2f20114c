//! What somebody does who has just found the project: a clean clone, the README's two commands, and
//! the quick starts of the book pasted as they stand, with nothing but a Rust toolchain and Python.
//! The clone has what is committed, and a folder of its own for everything that is installed.

use super::{Step, call, remove, root};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn steps() -> Vec<Step> {
    vec![
        Step::new("newcomer: a clean clone", clone),
        Step::new("newcomer: the quick start of the command", || {
            shell(&clone_folder(), &blocks("docs/src/start/command.md", "sh")?.join(""))
        }),
        Step::new("newcomer: the quick start in Python", || {
            std::fs::write(
                folder().join("quick.py"),
                blocks("docs/src/start/python.md", "python")?.join(""),
            )?;
            let install = blocks("docs/src/start/python.md", "sh")?.join("");
            shell(&clone_folder(), &format!("{install}python ../quick.py\n"))
        }),
        Step::new("newcomer: the quick start in Rust", rust),
        Step::new("newcomer: the README's commands", || {
            let commands = blocks("README.md", "sh")?;
            let first = commands.first().context("the README has no commands")?;
            shell(&clone_folder(), first)
        }),
    ]
}

/// A folder that no build of the project lies above, so that nothing is found there by chance.
fn folder() -> PathBuf {
    std::env::temp_dir().join("minorant-newcomer")
}

fn clone_folder() -> PathBuf {
    folder().join("minorant")
}

fn clone() -> Result<()> {
    remove(&folder())?;
    std::fs::create_dir_all(folder())?;
    call(
        Command::new("git")
            .args(["clone", "--quiet", "--no-hardlinks"])
            .arg(root())
            .arg(clone_folder()),
    )
}

/// Each Rust block of the page is a program of a package beside the clone.
fn rust() -> Result<()> {
    let page = "docs/src/start/rust.md";
    let manifest = format!(
        "[package]\nname = \"newcomer\"\nedition = \"2024\"\n\n{}",
        blocks(page, "toml")?.join("")
    );
    std::fs::write(folder().join("Cargo.toml"), manifest)?;
    std::fs::create_dir_all(folder().join("src"))?;
    for program in blocks(page, "rust")? {
        std::fs::write(folder().join("src/main.rs"), program)?;
        shell(&folder(), "cargo run --quiet --release\n")?;
    }
    Ok(())
}

/// Runs what was pasted, as a shell would that nothing else was said to. What is installed for the
/// user goes into the folder, not into the home of whoever runs the campaign.
fn shell(place: &Path, pasted: &str) -> Result<()> {
    ensure!(!pasted.is_empty(), "there is nothing to paste");
    let installed = folder().join("installed");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path);
    let path = std::env::join_paths(std::iter::once(installed.join("bin")).chain(places))?;
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", pasted]).current_dir(place).env("PATH", path);
    shell.env("CARGO_INSTALL_ROOT", installed);
    // Cargo tells its children things that a newcomer's shell does not know.
    for name in ["CARGO", "CARGO_MANIFEST_DIR", "CARGO_TARGET_DIR", "RUSTUP_TOOLCHAIN"] {
        shell.env_remove(name);
    }
    call(&mut shell)
}

/// The blocks of a language in a page of the clone, whether the tests run them or not.
fn blocks(page: &str, language: &str) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(clone_folder().join(page)).context(page.to_owned())?;
    let (mut found, mut inside) = (Vec::new(), None);
    for line in text.lines() {
        match (line.strip_prefix("```"), inside) {
            (Some(mark), None) => {
                inside = Some(mark.split(',').next() == Some(language));
                found.extend(inside.filter(|is| *is).map(|_| String::new()));
            }
            (Some(_), Some(_)) => inside = None,
            (None, Some(true)) => {
                if let Some(block) = found.last_mut() {
                    *block += line;
                    block.push('\n');
                }
            }
            (None, _) => {}
        }
    }
    Ok(found)
}
