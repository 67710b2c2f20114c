//! The documentation: the Python reference, made from docstrings, and that of the command's options,
//! made from its help; that links between pages hold,
//! that every page is listed, that files which pages name exist, that Rust in pages is tested; and
//! the book itself, built with mdBook, which is installed once into `target/tools`. That the code in
//! the pages runs is checked by the tests.

use super::python::interpreter;
use super::{Step, cargo_command, root, say};
use anyhow::{Context, Result, bail, ensure};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version that the book is built with.
const MDBOOK: &str = "0.5.4";
/// Pages outside the book.
const OUTSIDE: [&str; 3] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];
/// Folders whose files pages name between backticks.
const FOLDERS: [&str; 5] = ["crates/", "python/", "examples/", "docs/", "xtask/"];

/// The step that checks all pages; it needs no tool.
pub(crate) fn pages() -> Step {
    Step::new("pages", check)
}

/// The step that builds the book.
pub(crate) fn book() -> Step {
    Step::new("book", build).unless(|| install().err().map(|why| format!("{why:#}")))
}

fn check() -> Result<()> {
    let book = root().join("docs/src");
    python_reference(&book.join("reference/python.md"))?;
    option_reference(&book.join("reference/options.md"))?;
    let mut paths = Vec::new();
    markdown(&book, &mut paths)?;
    let summary = read(&book.join("SUMMARY.md"))?;
    let rust = read(&root().join("crates/minorant/src/book.rs"))?;
    let mut wrong = Vec::new();
    for path in &paths {
        let name = path.strip_prefix(&book)?.to_string_lossy().into_owned();
        if name != "SUMMARY.md" && !summary.contains(&format!("]({name})")) {
            wrong.push(format!("docs/src/{name} is not listed in SUMMARY.md"));
        }
        let has_rust = read(path)?.lines().any(|line| line.starts_with("```rust"));
        if has_rust && !rust.contains(&format!("\"{name}\"")) {
            wrong.push(format!("docs/src/{name} has Rust in it, but book.rs does not have it"));
        }
    }
    paths.extend(OUTSIDE.map(|name| root().join(name)));
    let mut links = 0;
    for path in &paths {
        links += check_page(path, &mut wrong)?;
    }
    ensure!(wrong.is_empty(), "\n  {}", wrong.join("\n  "));
    say(&format!("{} pages, {links} links", paths.len()));
    Ok(())
}

/// Checks the links of a page and the files that it names; gives the number of links.
fn check_page(path: &Path, wrong: &mut Vec<String>) -> Result<usize> {
    let text = without_code(&read(path)?);
    let shown = path.strip_prefix(root())?.display().to_string();
    let targets = links(&text);
    for target in &targets {
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        let place = match file {
            "" => path.to_path_buf(),
            file => path.parent().map(|folder| folder.join(file)).unwrap_or_default(),
        };
        if !place.exists() {
            wrong.push(format!("{shown}: there is no {target}"));
        } else if !anchor.is_empty() && !anchors(&read(&place)?).iter().any(|a| a == anchor) {
            wrong.push(format!("{shown}: {target} has no such heading"));
        }
    }
    for name in text.split('`').skip(1).step_by(2) {
        let is_path = FOLDERS.iter().any(|folder| name.starts_with(folder))
            && !name.contains(['<', '*', ' ']);
        if is_path && !root().join(name).exists() {
            wrong.push(format!("{shown}: there is no {name}"));
        }
    }
    Ok(targets.len())
}

/// The page without its blocks of code.
fn without_code(page: &str) -> String {
    let mut inside = false;
    let mut text = String::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if !inside {
            text += line;
            text.push('\n');
        }
    }
    text
}

/// The targets of links to files and headings; addresses are left out, for there is no network.
fn links(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let targets = targets.map(|(target, _)| target.split(' ').next().unwrap_or_default());
    targets.filter(|target| !target.contains("://")).map(Into::into).collect()
}

/// The anchors of a page's headings, as mdBook and others make them.
fn anchors(page: &str) -> Vec<String> {
    let page = without_code(page);
    let headings = page.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let text = line.trim_start_matches('#').trim().to_lowercase();
            let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

/// Writes the page on the Python package from its docstrings and the option table; without Python it
/// says so.
fn python_reference(page: &Path) -> Result<()> {
    let script = root().join("docs/python_reference.py");
    let table = root().join("target/options.json");
    let written = cargo_command()
        .args(["run", "--release", "--quiet", "--package", "minorant", "--example", "options"])
        .stdout(File::create(&table)?)
        .status()?;
    ensure!(written.success(), "the option table could not be written: {written}");
    match Command::new(interpreter()).arg(script).arg(page).stdin(File::open(&table)?).status() {
        Ok(status) => ensure!(status.success(), "python_reference.py ended with {status}"),
        Err(why) => {
            std::fs::create_dir_all(page.parent().unwrap_or(page))?;
            std::fs::write(page, format!("# Python reference\n\nPython could not run: {why}.\n"))?;
        }
    }
    Ok(())
}

/// Writes the page on the options of every model, as the command's help shows them.
fn option_reference(page: &Path) -> Result<()> {
    let help = |args: &[&str]| -> Result<String> {
        let mut command = cargo_command();
        command.args(["run", "--release", "--quiet", "--package", "minorant-cli", "--", "train"]);
        let output = command.args(args).arg("--help").env("COLUMNS", "100").output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    };
    let common = help(&[])?;
    // The models stand at the end of the help, two blanks in, each with a few words.
    let models = common.lines().skip_while(|line| !line.starts_with("Models ")).skip(1);
    let mut text = String::from(
        "# Options of every model\n\nWhat `minorant train MODEL --help` prints. Python's parameters and the \
         Rust builders have the same options under the same names.\n",
    );
    for model in models.filter_map(|line| line.split_whitespace().next()) {
        text += &format!("\n## `{model}`\n\n```text\n{}```\n", help(&[model])?);
    }
    std::fs::create_dir_all(page.parent().unwrap_or(page))?;
    std::fs::write(page, text).context("writing the options' page")
}

fn mdbook() -> PathBuf {
    root().join("target/tools/bin/mdbook")
}

/// Installs mdBook where it is not there yet; that needs the registry.
fn install() -> Result<()> {
    if mdbook().exists() {
        return Ok(());
    }
    say("$ cargo install mdbook (once, into target/tools)");
    let tools = root().join("target/tools");
    let mut command = cargo_command();
    // Without optimisation: a book is built in a second anyway, and mdBook in a third of the time.
    command.args(["install", "mdbook", "--version", MDBOOK, "--locked", "--debug", "--quiet"]);
    command.args(["--no-default-features", "--features", "search", "--root"]).arg(&tools);
    let status = command.env("CARGO_TARGET_DIR", tools.join("build")).status();
    let status = status.context("cargo could not be started")?;
    ensure!(status.success(), "mdBook could not be installed: cargo install ended with {status}");
    std::fs::remove_dir_all(tools.join("build")).context("removing mdBook's build folder")
}

fn build() -> Result<()> {
    let output = Command::new(mdbook()).args(["build", "docs"]).current_dir(root()).output();
    let output = output.context("mdBook could not be started")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || said.contains("WARN") || said.contains("ERROR") {
        bail!("mdbook build docs:\n{}", said.trim());
    }
    ensure!(root().join("target/book/index.html").exists(), "mdBook wrote no index.html");
    say("the book is in target/book");
    Ok(())
}

/// The Markdown files below a folder.
fn markdown(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            markdown(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found.sort();
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}
