//! The Python package: built with `pip install .` in a virtual environment of its own, then tested
//! there. The environment is made anew whenever the interpreter or the requirements change.

use super::{Step, answers, call, remove, root, say};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Prints what the package needs to be built, to run and to be tested, one requirement a line.
const REQUIREMENTS: &str = "\
import tomllib
project = tomllib.load(open('pyproject.toml', 'rb'))
needed = project['build-system']['requires'] + project['project']['dependencies']
print('\\n'.join(needed + project['project']['optional-dependencies']['test']))";

/// The step that builds the package and runs its tests, or those that are named.
pub(crate) fn step(tests: &[&str]) -> Step {
    let tests: Vec<String> = tests.iter().map(|test| (*test).into()).collect();
    Step::new("Python package", move || check(&tests)).unless(|| {
        let new_enough = "import sys; sys.exit(sys.version_info < (3, 11))";
        let found = Command::new(interpreter()).args(["-c", new_enough]).output();
        let usable = found.is_ok_and(|output| output.status.success());
        (!usable).then(|| {
            "there is no Python of version 3.11 or later; MINORANT_PYTHON names one".into()
        })
    })
}

pub(crate) fn interpreter() -> String {
    std::env::var("MINORANT_PYTHON").unwrap_or_else(|_| "python3".into())
}

fn check(tests: &[String]) -> Result<()> {
    let folder = root().join("target/python");
    let python = environment(&folder)?;
    // A build folder of its own: the build for Python and the one for everything else would undo
    // each other's.
    let mut install = pip(&python);
    install.args(["install", "--no-deps", "--no-build-isolation", "--force-reinstall", "."]);
    // The build back end looks for its own program by name.
    let places = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&places);
    let path = std::env::join_paths(python.parent().map(Path::to_owned).into_iter().chain(places))?;
    call(install.env("CARGO_TARGET_DIR", folder.join("build")).env("PATH", path))?;
    if let Err(why) = browser() {
        say(&format!("pages are not looked at in a browser: {why:#}"));
    }
    let command = root().join("target/release/minorant");
    let mut pytest = Command::new(&python);
    pytest.args(["-m", "pytest", "-p", "no:cacheprovider"]).args(tests);
    if command.exists() {
        pytest.env("MINORANT_COMMAND", command);
    }
    call(&mut pytest)
}

/// Sees to it that there is a Chromium for the tests that look at pages.
fn browser() -> Result<()> {
    if answers("chromium") || answers("chromium-browser") {
        return Ok(());
    }
    say("$ apt-get install chromium (once)");
    for arguments in [&["update", "-qq"][..], &["install", "-y", "-qq", "chromium"]] {
        let mut apt = Command::new("apt-get");
        let done = apt.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").output();
        let done = done.context("there is no Chromium, and no apt-get to install it with")?;
        let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        ensure!(done.status.success(), "Chromium could not be installed: {said}");
    }
    Ok(())
}

/// The interpreter of an environment that has all requirements.
fn environment(folder: &Path) -> Result<PathBuf> {
    let requirements = read(Command::new(interpreter()).args(["-c", REQUIREMENTS]))?;
    let version = read(Command::new(interpreter()).arg("-VV"))?;
    let wanted = format!("{version}{requirements}");
    let (env, stamp) = (folder.join("env"), folder.join("requirements"));
    let python = env.join("bin/python");
    if std::fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) {
        return Ok(python);
    }
    remove(&env)?;
    std::fs::create_dir_all(folder)?;
    call(Command::new(interpreter()).args(["-m", "venv"]).arg(&env))?;
    call(pip(&python).arg("install").args(requirements.lines()))?;
    std::fs::write(&stamp, wanted).context("noting what is installed")?;
    Ok(python)
}

pub(crate) fn pip(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "--disable-pip-version-check", "--quiet"]);
    command
}

fn read(command: &mut Command) -> Result<String> {
    let output = command.current_dir(root()).output().context("Python could not be started")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8(output.stdout)?)
}
