//! The commands of the documentation run as they stand: the `sh` blocks of a page, one after the
//! other, are one script in a folder of their own, and the commands in its tables belong to it. Blocks
//! marked `no_run` (installing, say) are left out. That links hold and that every page is listed is checked by `cargo xtask docs`.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The Markdown files below a folder, in the order of their names.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// The lines of all `sh` blocks of a page, and the commands that stand as code in its tables.
fn script(page: &str) -> String {
    let (mut script, mut inside) = (String::new(), None);
    let command = |code: &&str| code.starts_with("minorant ") && !code.contains("MODEL");
    for line in page.lines() {
        match (line.strip_prefix("```"), inside) {
            (Some(language), None) => inside = Some(language == "sh"),
            (Some(_), Some(_)) => inside = None,
            (None, Some(true)) => script += &format!("{line}\n"),
            (None, None) if line.starts_with('|') => {
                // Code stands at every second place between backquotes.
                let codes = line.split('`').skip(1).step_by(2).filter(command);
                codes.for_each(|code| script += &format!("{code}\n"));
            }
            (None, _) => {}
        }
    }
    script
}

#[test]
fn commands_run_as_they_stand() {
    let mut found = Vec::new();
    pages(&root().join("docs/src"), &mut found);
    let command = Path::new(env!("CARGO_BIN_EXE_minorant")).parent().unwrap();
    let old = std::env::var_os("PATH").unwrap_or_default();
    let places = [command.to_path_buf()].into_iter().chain(std::env::split_paths(&old));
    let path = std::env::join_paths(places).unwrap();
    let mut scripts = 0;
    for page in &found {
        let script = script(&std::fs::read_to_string(page).unwrap());
        if script.is_empty() {
            continue;
        }
        scripts += 1;
        let folder = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", &script]).current_dir(folder.path()).env("PATH", &path);
        let output = shell.stdin(Stdio::null()).output().unwrap();
        assert!(
            output.status.success(),
            "{}: {}\n{}",
            page.display(),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    assert!(scripts >= 5, "only {scripts} pages have commands");
}

#[test]
fn blocks_are_told_apart() {
    let page = "```sh\none\n```\ntext\n```sh,no_run\ntwo\n```\n```text\nthree\n```\n```sh\nfour\n```\n\
         | what | `minorant five` and `six` |\n| `minorant train MODEL` |\n";
    assert_eq!(script(page), "one\nfour\nminorant five\n");
}
