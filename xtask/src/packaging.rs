//! Checks that the packages install (the command by `cargo install`, the Python package from its sdist and
//! from its wheel, in fresh environments of every CPython on the machine) and that `cargo deny`
//! has nothing against what comes in. What the packages do is the tests' business.

use super::python::{interpreter, pip};
use super::{Step, answers, call, cargo, has_tool, remove, root, say};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a fresh installation must be able to do.
const TRY: &str = "\
import minorant
model = minorant.LinearSVC().fit([[0.0], [1.0]], ['no', 'yes'])
assert model.predict([[2.0]])[0] == 'yes' and model.certificate_.certified
print('minorant', minorant.__version__, 'works')";

pub(crate) fn steps() -> Vec<Step> {
    vec![
        Step::new("packaging: the command", command),
        Step::new("packaging: sdist and wheel", python),
        Step::new("packaging: licences and sources of dependencies", || {
            cargo(&["deny", "--all-features", "check", "licenses", "bans", "sources"], &[])
        })
        .unless(|| deny().err().map(|why| format!("{why:#}"))),
    ]
}

fn folder() -> PathBuf {
    root().join("target/packaging")
}

fn command() -> Result<()> {
    let place = folder().join("command");
    remove(&place)?;
    let shown = place.to_str().context("the project's folder has a name that is not UTF-8")?;
    cargo(&["install", "--path", "crates/minorant-cli", "--locked", "--root", shown], &[])?;
    run(Command::new(place.join("bin/minorant")).args(["demo", "--dir"]).arg(place.join("demo")))
}

fn python() -> Result<()> {
    let dist = folder().join("dist");
    remove(&dist)?;
    let builder = environment(&interpreter(), "builder")?;
    run(pip(&builder).args(["install", "build"]))?;
    // The wheel is built from the sdist: what is missing there shows.
    run(Command::new(&builder).args(["-m", "build", "--outdir"]).arg(&dist).arg("."))?;
    let interpreters = interpreters();
    // The wheel is for every CPython; what the sdist builds is the same for each, and takes minutes.
    for interpreter in &interpreters {
        installs(interpreter, &packages(&dist, "whl")?)?;
    }
    let newest = interpreters.last().context("there is no CPython from 3.11 on")?;
    installs(newest, &packages(&dist, "tar.gz")?)
}

/// A package installs in a fresh environment, and works there.
fn installs(interpreter: &str, package: &Path) -> Result<()> {
    say(&format!("{} with {interpreter}", package.display()));
    let fresh = environment(interpreter, "fresh")?;
    run(pip(&fresh).arg("install").arg(package))?;
    run(Command::new(&fresh).args(["-c", TRY]).current_dir(folder()))
}

/// Every CPython from 3.11 on that can be called by name, or that pyenv has installed.
fn interpreters() -> Vec<String> {
    let named = |minor| {
        let name = format!("python3.{minor}");
        if answers(&name) { Some(name) } else { from_pyenv(minor) }
    };
    let found: Vec<String> = (11..20).filter_map(named).collect();
    if found.is_empty() { vec![interpreter()] } else { found }
}

/// The interpreter of this version that pyenv has, though it does not answer to its name.
fn from_pyenv(minor: u32) -> Option<String> {
    let told = Command::new("pyenv").arg("root").output().ok()?;
    let versions = Path::new(String::from_utf8(told.stdout).ok()?.trim()).join("versions");
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(versions).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.sort();
    let places = folders.iter().rev().map(|folder| folder.join(format!("bin/python3.{minor}")));
    let names = places.map(|place| place.to_string_lossy().into_owned());
    names.into_iter().find(|name| answers(name))
}

fn environment(interpreter: &str, name: &str) -> Result<PathBuf> {
    let place = folder().join(name);
    remove(&place)?;
    run(Command::new(interpreter).args(["-m", "venv"]).arg(&place))?;
    Ok(place.join("bin/python"))
}

/// The one package of a kind.
fn packages(dist: &Path, ending: &str) -> Result<PathBuf> {
    let files = std::fs::read_dir(dist)?.filter_map(|entry| entry.ok().map(|e| e.path()));
    let mut found = files.filter(|path| path.to_string_lossy().ends_with(ending));
    found.next().with_context(|| format!("no {ending} was built"))
}

/// Sees to it that cargo-deny is there.
fn deny() -> Result<()> {
    if has_tool("deny") {
        return Ok(());
    }
    cargo(&["install", "cargo-deny", "--locked", "--quiet"], &[])
}

/// What is compiled once serves the wheel and every installation of the sdist.
fn run(command: &mut Command) -> Result<()> {
    call(command.env("CARGO_TARGET_DIR", folder().join("build")))
}
