//! The invariants of ARCHITECTURE.md that can be read off the source: which room may touch what,
//! where `unsafe` may stand, how long a file may get.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    files(folder, "rs")
}

fn files(folder: &Path, ending: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() && entry.file_name().is_some_and(|name| name != "target") {
                folders.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == ending) {
                let text = fs::read_to_string(&entry).unwrap();
                found.push((entry, text));
            }
        }
    }
    assert!(!found.is_empty(), "no sources in {}", folder.display());
    found
}

/// Code without comments and without test modules.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]").next().unwrap_or(text);
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn forbid(folder: &str, words: &[&str]) {
    let path = root().join(folder);
    let files = if path.is_dir() {
        sources(&path)
    } else {
        vec![(path.clone(), fs::read_to_string(&path).unwrap())]
    };
    for (file, text) in files {
        let code = code(&text);
        for word in words {
            assert!(!code.contains(word), "{} must not mention {word}", file.display());
        }
    }
}

#[test]
fn the_mathematics_does_no_input_or_output() {
    let outside = [
        "std::fs",
        "std::io",
        "std::net",
        "serde",
        "minorant_data",
        "println!",
        "crate::family",
        "crate::options",
        "crate::path",
        "crate::checkpoint",
        "crate::audit",
    ];
    for room in [
        "risk",
        "structured",
        "kernel",
        "s3vm",
        "latent",
        "hmm",
        "neural",
        "line",
        "bundle",
        "intercept",
        "master",
        "problems",
        "solver",
        "certificate.rs",
        "proof.rs",
        "regularizer",
        "trace.rs",
        "archive.rs",
    ] {
        forbid(&format!("crates/minorant/src/{room}"), &outside);
    }
}

#[test]
fn rooms_depend_downwards() {
    forbid(
        "crates/minorant/src/risk",
        &["crate::bundle", "crate::master", "crate::solver", "crate::certificate"],
    );
    forbid(
        "crates/minorant/src/structured",
        &["crate::bundle", "crate::master", "crate::solver", "crate::certificate"],
    );
    forbid(
        "crates/minorant/src/neural",
        &["crate::bundle", "crate::master", "crate::solver", "crate::certificate"],
    );
    // The best intercept of several outputs is found by planes.
    forbid("crates/minorant/src/intercept", &["crate::solver"]);
    forbid("crates/minorant/src/bundle", &["crate::intercept"]);
    forbid(
        "crates/minorant/src/line",
        &["crate::bundle", "crate::master", "crate::solver", "crate::regularizer"],
    );
    forbid(
        "crates/minorant/src/master",
        &["crate::risk", "crate::bundle", "crate::solver", "crate::line"],
    );
    forbid("crates/minorant/src/bundle", &["crate::solver", "crate::line"]);
    forbid("crates/minorant/src/kernel", &["crate::s3vm", "crate::latent", "crate::solver"]);
    forbid("crates/minorant/src/s3vm", &["crate::latent", "crate::bundle", "crate::master"]);
    forbid("crates/minorant/src/problems", &["crate::bundle", "crate::master", "crate::solver"]);
    forbid(
        "crates/minorant/src/hmm",
        &["crate::bundle", "crate::master", "crate::solver", "crate::certificate"],
    );
    forbid("crates/minorant-data/src", &["minorant::", "serde"]);
    let words = ["minorant_data", "minorant::", "hinge", "bundle", "loss"];
    forbid("crates/minorant-linalg/src", &words);
}

/// A system's library has exponentials and logarithms of its own, and other bits than the next one.
#[test]
fn elementary_functions_are_our_own() {
    let of_the_system = [
        ".exp()",
        ".exp2()",
        ".exp_m1()",
        ".ln()",
        ".ln_1p()",
        ".log(",
        ".log2()",
        ".log10()",
        ".powf(",
        ".sin()",
        ".cos()",
        ".tan()",
        ".sin_cos()",
        ".asin()",
        ".acos()",
        ".atan()",
        ".atan2(",
        ".sinh()",
        ".cosh()",
        ".tanh()",
        ".cbrt()",
        ".hypot(",
        "f64::exp",
        "f64::ln",
        "f64::powf",
        "f64::tanh",
    ];
    for room in ["minorant", "minorant-data", "minorant-linalg"] {
        forbid(&format!("crates/{room}/src"), &of_the_system);
    }
}

/// The first floor: a table of options, families on it, paths on top.
#[test]
fn the_first_floor_depends_downwards() {
    let above = ["crate::family", "crate::path", "crate::audit"];
    forbid("crates/minorant/src/options", &above);
    // The table names values of methods, and calls none.
    for (file, text) in sources(&root().join("crates/minorant/src/options")) {
        let is_common = file.file_name().is_some_and(|name| name == "common.rs");
        let mentions = code(&text).contains("crate::solver");
        assert!(is_common || !mentions, "{} must not mention crate::solver", file.display());
    }
    forbid("crates/minorant/src/family", &["crate::prelude", "crate::path"]);
    forbid("crates/minorant/src/path", &["crate::prelude"]);
}

#[test]
fn the_audit_shares_nothing_with_training() {
    let shared = [
        "crate::family",
        "crate::risk",
        "crate::line",
        "crate::solver",
        "crate::master",
        "crate::bundle",
        "crate::regularizer",
        "crate::certificate",
        "Design",
        "PackedWeights",
        "DualPoint",
    ];
    forbid("crates/minorant/src/audit", &shared);
}

#[test]
fn unsafe_code_stands_in_the_linear_algebra_alone() {
    for (file, text) in sources(&root().join("crates")) {
        let is_in = |name: &str| file.components().any(|part| part.as_os_str() == name);
        if is_in("src") && !is_in("minorant-linalg") {
            assert!(!code(&text).contains("unsafe "), "{}", file.display());
        }
    }
}

#[test]
fn every_file_opens_with_a_paragraph_and_stays_short() {
    let rust = ["crates", "xtask"].map(|name| files(&root().join(name), "rs")).concat();
    let python =
        ["python", "docs", "examples"].map(|name| files(&root().join(name), "py")).concat();
    let mut lengths = Vec::new();
    for (file, text) in rust.into_iter().chain(python) {
        let opens = ["//!", "#![doc", "\"\"\""].iter().any(|opening| text.starts_with(opening));
        assert!(opens, "{} must say what it is for", file.display());
        lengths.push(text.lines().count());
        assert!(lengths.last() <= Some(&600), "{} is too long", file.display());
    }
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!(median <= 160, "half of the files have {median} lines or more: some hold two things");
}

#[test]
fn a_loss_and_a_structure_of_ones_own_stay_small() {
    for (name, most) in [("quantile.rs", 80), ("assignment.rs", 150)] {
        let path = root().join("crates/minorant/examples").join(name);
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= most, "{name} has {lines} lines");
    }
}

/// ARCHITECTURE.md lists every record of a decision by its title, in order, and names no file or room that
/// does not exist.
#[test]
fn the_map_is_that_of_the_house() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut records = files(&root().join("docs/decisions"), "md");
    records.sort();
    let line = |(path, text): &(PathBuf, String)| {
        let title = text.lines().next().unwrap_or_default().trim_start_matches("# ");
        let name = path.file_name().unwrap().to_string_lossy();
        format!("- [{title}](docs/decisions/{name})")
    };
    let listed: Vec<&str> = map.lines().filter(|line| line.contains("docs/decisions/")).collect();
    assert_eq!(listed, records.iter().map(line).collect::<Vec<_>>());
    let rust = ["crates", "xtask"].map(|folder| files(&root().join(folder), "rs"));
    let python = files(&root().join("python"), "py");
    let all = rust.iter().flatten().chain(&python);
    let all: Vec<String> = all.map(|(path, _)| path.to_string_lossy().into_owned()).collect();
    for name in map.split('`').skip(1).step_by(2) {
        let is_path = name.ends_with(".rs") || name.ends_with(".py") || name.ends_with('/');
        let folder = format!("/{}", name.trim_end_matches('/'));
        let exists = |path: &String| match name.ends_with('/') {
            true => path.contains(&format!("{folder}/")),
            false => path.ends_with(&folder),
        };
        let is_there = !is_path || all.iter().any(exists);
        assert!(is_there, "ARCHITECTURE.md names {name}, which does not exist");
    }
}
