//! `cargo xtask`: runs everything that must hold before a change goes in, and the long campaigns.
//! It only starts other commands and counts how they end; what is tested stands in the tests.

mod budgets;
mod docs;
mod newcomer;
mod packaging;
mod python;

use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

const HELP: &str = "\
Everything that is tested, in one command.

  cargo xtask test                 formatting, lints, tests, documentation, the demo, Python
  cargo xtask python [TEST]...     the Python package alone, or some of its tests
  cargo xtask docs                 the documentation: links, and the book in target/book
  cargo xtask campaign [NAME]      long runs: fuzz, certificates, referee, faults, speed, packaging,
                                   newcomer (a clean clone, used as the pages say), or all (the default)
  cargo xtask help                 this text

MINORANT_FUZZ and MINORANT_CAMPAIGN are the numbers of damaged inputs of each reader and of problems
of each model, MINORANT_AUDITS that of problems that are audited without a referee, MINORANT_REFEREE
that of problems that every solver is judged on in exact arithmetic. It stops at the first failure. A
step whose tool is not there (rustfmt, clippy, mdBook, a Python of version 3.11 or later) is skipped
with a note. MINORANT_DATA names the folder with real data; tests that need it are skipped without.";

/// Damaged inputs of each reader that a fuzz campaign tries, unless MINORANT_FUZZ says otherwise.
const FUZZ_RUNS: &str = "2000000";

/// Problems of each model that a certificate campaign solves, unless MINORANT_CAMPAIGN says
/// otherwise.
const CERTIFIED_PROBLEMS: &str = "2000";

/// Problems that the referee judges in a campaign, unless MINORANT_REFEREE says otherwise.
const REFEREED_PROBLEMS: &str = "100000";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let steps = match args[..] {
        ["test"] => test_steps(),
        ["python", ref tests @ ..] => Some(vec![python::step(tests)]),
        ["docs"] => Some(vec![docs::pages(), docs::book()]),
        ["campaign"] => campaign_steps("all"),
        ["campaign", name] => campaign_steps(name),
        ["help" | "--help" | "-h"] | [] => {
            say(HELP);
            return ExitCode::SUCCESS;
        }
        _ => None,
    };
    let Some(steps) = steps else {
        say(&format!("xtask cannot do '{}'.\n\n{HELP}", args.join(" ")));
        return ExitCode::from(2);
    };
    run(steps)
}

#[allow(clippy::print_stdout)]
fn say(text: &str) {
    println!("{text}");
}

/// One step: a heading, why it cannot be done on this machine (if it cannot), and what it does.
struct Step {
    heading: &'static str,
    obstacle: Box<dyn Fn() -> Option<String>>,
    work: Box<dyn Fn() -> Result<()>>,
}

impl Step {
    fn new(heading: &'static str, work: impl Fn() -> Result<()> + 'static) -> Step {
        Step { heading, obstacle: Box::new(|| None), work: Box::new(work) }
    }

    /// The step is skipped where there is an obstacle.
    fn unless(mut self, obstacle: impl Fn() -> Option<String> + 'static) -> Step {
        self.obstacle = Box::new(obstacle);
        self
    }

    /// The step is skipped where `cargo <tool>` is not installed.
    fn needing(self, tool: &'static str) -> Step {
        self.unless(move || {
            (!has_tool(tool)).then(|| format!("cargo {tool} is not installed on this machine"))
        })
    }
}

fn run(steps: Vec<Step>) -> ExitCode {
    let (mut passed, mut skipped, all) = (0, 0, steps.len());
    for (at, step) in steps.iter().enumerate() {
        say(&format!("\n=== {}/{all} {}", at + 1, step.heading));
        if let Some(why) = (step.obstacle)() {
            say(&format!("--- skipped: {why}"));
            skipped += 1;
            continue;
        }
        let start = Instant::now();
        if let Err(why) = (step.work)() {
            say(&format!("--- failed: {}: {why:#}", step.heading));
            say(&format!("\n{passed} passed, 1 failed{}", note(skipped, all - at - 1)));
            return ExitCode::from(1);
        }
        say(&format!("--- passed in {:.0} s", start.elapsed().as_secs_f64()));
        passed += 1;
    }
    say(&format!("\n{passed} passed, 0 failed{}", note(skipped, 0)));
    ExitCode::SUCCESS
}

fn note(skipped: usize, not_run: usize) -> String {
    let mut note = String::new();
    if skipped > 0 {
        note += &format!(", {skipped} skipped");
    }
    if not_run > 0 {
        note += &format!(", {not_run} not run");
    }
    note
}

fn test_steps() -> Option<Vec<Step>> {
    Some(vec![
        Step::new("formatting", || cargo(&["fmt", "--all", "--check"], &[])).needing("fmt"),
        Step::new("lints", || {
            let lints =
                ["clippy", "--workspace", "--all-targets", "--release", "--", "-D", "warnings"];
            cargo(&lints, &[])
        })
        .needing("clippy"),
        Step::new("tests", || cargo(&["test", "--workspace", "--release"], &[])),
        Step::new("documentation", || {
            cargo(&["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])
        }),
        docs::pages(),
        docs::book(),
        Step::new("demo", demo),
        python::step(&[]),
    ])
}

fn campaign_steps(name: &str) -> Option<Vec<Step>> {
    Some(match name {
        "fuzz" => vec![fuzz()],
        "certificates" => vec![certificates()],
        "referee" => vec![referee()],
        "faults" => vec![faults()],
        "speed" => vec![budgets::step()],
        "packaging" => packaging::steps(),
        "newcomer" => newcomer::steps(),
        "all" => {
            let mut steps = vec![fuzz(), certificates(), referee(), faults(), budgets::step()];
            steps.extend(packaging::steps());
            steps.extend(newcomer::steps());
            steps
        }
        _ => return None,
    })
}

fn fuzz() -> Step {
    Step::new("fuzz campaign", || {
        cargo_test(&["fuzz"], ("MINORANT_FUZZ", &wanted("MINORANT_FUZZ", FUZZ_RUNS)))
    })
}

fn certificates() -> Step {
    Step::new("certificate campaign", || {
        let problems = wanted("MINORANT_CAMPAIGN", CERTIFIED_PROBLEMS);
        cargo_test(&["master", "certificates"], ("MINORANT_CAMPAIGN", &problems))
    })
}

fn referee() -> Step {
    Step::new("referee campaign", || {
        let problems = wanted("MINORANT_REFEREE", REFEREED_PROBLEMS);
        cargo_test(&["referee"], ("MINORANT_REFEREE", &problems))
    })
}

fn faults() -> Step {
    Step::new("fault campaign", || {
        cargo_test(&["checkpoint", "faults"], ("MINORANT_CAMPAIGN", "1"))
    })
}

/// What an environment variable asks for.
fn wanted(variable: &str, otherwise: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| otherwise.into())
}

/// Runs test targets by name. Always over the whole workspace, so that packages are built with
/// the same features as everywhere else.
fn cargo_test(targets: &[&str], variable: (&str, &str)) -> Result<()> {
    let mut args = vec!["test", "--workspace", "--release"];
    args.extend(targets.iter().flat_map(|target| ["--test", target]));
    args.extend(["--", "--nocapture"]);
    cargo(&args, &[variable])
}

/// The first command that a new user runs: it must end well and leave a report.
fn demo() -> Result<()> {
    let dir = std::env::temp_dir().join(format!("minorant-demo-{}", std::process::id()));
    // Whatever an earlier process with this number left behind must not pass for a report.
    remove(&dir)?;
    let result = demo_in(&dir);
    remove(&dir)?;
    result
}

fn demo_in(dir: &Path) -> Result<()> {
    let shown = dir.to_str().context("the temporary folder's name is not UTF-8")?;
    cargo(&["run", "--release", "--", "demo", "--dir", shown], &[])?;
    let report = dir.join("report.html");
    let page = std::fs::read_to_string(&report).context("the demo wrote no report.html")?;
    ensure!(page.trim_end().ends_with("</html>"), "the demo's report is not a whole page");
    Ok(())
}

fn remove(dir: &Path) -> Result<()> {
    if dir.exists() {
        std::fs::remove_dir_all(dir).with_context(|| format!("removing {}", dir.display()))?;
    }
    Ok(())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(1).map(Path::to_owned).unwrap_or_default()
}

/// The cargo that runs this program.
fn cargo_command() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

fn has_tool(tool: &str) -> bool {
    let mut command = cargo_command();
    command.args([tool, "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Whether a program is there and says so.
fn answers(program: &str) -> bool {
    let asked = Command::new(program).arg("--version").output();
    asked.is_ok_and(|output| output.status.success())
}

/// Shows a command and runs it, in the project's folder unless it has one of its own.
fn call(command: &mut Command) -> Result<()> {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default().to_owned();
    let words = command.get_args().map(|word| word.to_string_lossy()).collect::<Vec<_>>();
    let shown = format!("{} {}", name.to_string_lossy(), words.join(" "));
    say(&format!("$ {shown}"));
    if command.get_current_dir().is_none() {
        command.current_dir(root());
    }
    let status = command.status().with_context(|| format!("{shown} could not be started"))?;
    ensure!(status.success(), "{shown} ended with {status}");
    Ok(())
}

fn cargo(args: &[&str], variables: &[(&str, &str)]) -> Result<()> {
    let mut shown: Vec<String> =
        variables.iter().map(|(name, value)| format!("{name}='{value}'")).collect();
    shown.push(format!("cargo {}", args.join(" ")));
    say(&format!("$ {}", shown.join(" ")));
    let mut command = cargo_command();
    command.args(args).envs(variables.iter().copied());
    let status = command.status().context("cargo could not be started")?;
    if !status.success() {
        bail!("cargo {} ended with {status}", args[0]);
    }
    Ok(())
}
