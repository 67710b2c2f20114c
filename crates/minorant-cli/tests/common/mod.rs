//! What the tests of the command share: a folder of data files, and a way to call the command.
#![allow(dead_code)]

pub(crate) mod situations;

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The keys of `train --json`.
pub(crate) const TRAIN_KEYS: [&str; 20] = [
    "certified",
    "dim",
    "evaluations",
    "examples",
    "features",
    "gap",
    "iterations",
    "lambda",
    "load_seconds",
    "local_gap",
    "lower_bound",
    "model",
    "objective",
    "peak_rss_bytes",
    "regularizer",
    "relative_gap",
    "risk",
    "seconds",
    "solver",
    "status",
];
/// Solvers with a certificate from planes.
pub(crate) const SOLVERS: [&str; 7] =
    ["bmrm", "lm-bmrm", "p-bmrm", "prox-bmrm", "prox-p-bmrm", "ls-bmrm", "ls-p-bmrm"];
/// Solvers that search for directions of descent, and tell how many steps that took.
pub(crate) const DIRECTIONS: [&str; 3] = ["subbfgs", "sublbfgs", "hybrid"];
/// Those with planes for which Theorem 1 of Do and Artières holds: they tell its bound as well.
pub(crate) const WITH_ITERATION_BOUND: [&str; 3] = ["bmrm", "lm-bmrm", "p-bmrm"];

/// The keys of an object in order.
pub(crate) fn keys(object: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// Keys with one more, in order.
pub(crate) fn with_key(
    keys: impl IntoIterator<Item = &'static str>,
    key: &'static str,
) -> Vec<&'static str> {
    let mut keys: Vec<&str> = keys.into_iter().chain([key]).collect();
    keys.sort_unstable();
    keys
}

/// A number of an object.
pub(crate) fn real(object: &Value, key: &str) -> f64 {
    object[key].as_f64().unwrap_or_else(|| panic!("{key} in {object}"))
}

/// A folder that goes away with the test, holding files that the tests use.
pub(crate) struct Bench {
    dir: tempfile::TempDir,
}

/// What a call printed and how it ended.
pub(crate) struct Called {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Called {
    pub(crate) fn from(output: Output) -> Self {
        Called {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The one JSON object on standard output.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{}", self.stderr);
        serde_json::from_str(&self.stdout).unwrap_or_else(|why| panic!("{why}: {}", self.stdout))
    }

    /// What is on standard output after a call that went well.
    pub(crate) fn text(&self) -> String {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self.stdout.trim_end().to_string()
    }

    /// One clear sentence on standard error, exit code 1, nothing on standard output.
    pub(crate) fn refused(&self) -> &str {
        assert_eq!((self.code, self.stdout.as_str()), (1, ""), "{}", self.stderr);
        let lines: Vec<&str> = self.stderr.trim_end().lines().collect();
        assert_eq!(lines.len(), 1, "one sentence: {}", self.stderr);
        lines[0].strip_prefix("error: ").expect("an error")
    }
}

impl Called {
    /// One clear sentence on standard error about what cannot be parsed, exit code 2.
    pub(crate) fn unparsed(&self) -> &str {
        assert_eq!((self.code, self.stdout.as_str()), (2, ""), "{}", self.stderr);
        let lines: Vec<&str> = self.stderr.trim_end().lines().collect();
        assert_eq!(lines.len(), 1, "one sentence: {}", self.stderr);
        lines[0].strip_prefix("error: ").expect("an error")
    }
}

impl Called {
    /// An audit that finds nothing to check: exit code 3 and one sentence on standard error.
    pub(crate) fn unchecked(&self) -> &str {
        assert_eq!((self.code, self.stdout.as_str()), (3, ""), "{}", self.stderr);
        self.stderr.trim_end().strip_prefix("there is nothing to check: ").expect("a sentence")
    }
}

impl Bench {
    pub(crate) fn new() -> Self {
        let bench = Bench { dir: tempfile::tempdir().unwrap() };
        let data = |rows, part| {
            minorant::generate::to_libsvm(&minorant::generate::noisy_plane(rows, 12, 3, part))
        };
        bench.write("train.svm", &data(400, 0));
        bench.write("test.svm", &data(100, 1));
        let mut multiclass = String::new();
        let mut multilabel = String::new();
        for (i, line) in data(300, 2).lines().enumerate() {
            let (_, features) = line.split_once(' ').unwrap_or((line, "1:0.5"));
            multiclass += &format!("{} {features}\n", i % 4 + 1);
            let set = ["1", "2,3", "1,3", "2"][i % 4];
            multilabel += &format!("{set} {features}\n");
        }
        bench.write("multiclass.svm", &multiclass);
        bench.write("multilabel.svm", &multilabel);
        bench
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
    }

    pub(crate) fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_minorant"));
        command.args(args.split_whitespace()).current_dir(self.dir.path()).stdin(Stdio::null());
        command
    }

    /// Calls the command with arguments separated by blanks, in the folder.
    pub(crate) fn call(&self, args: &str) -> Called {
        Called::from(self.command(args).output().unwrap())
    }

    /// Refuses each of these calls with a sentence that has its words in it; what is not as
    /// expected is told all at once.
    pub(crate) fn refuses(&self, verb: &str, cases: &[(&str, &str)]) {
        let mut wrong = Vec::new();
        for (args, words) in cases {
            let called = self.call(&format!("{verb}{args}"));
            let is_one = called.stderr.starts_with("error: ") && called.stderr.lines().count() == 1;
            let is_refused = called.code == 1 && called.stdout.is_empty() && is_one;
            if !is_refused || !called.stderr.contains(words) {
                wrong.push(format!("{verb}{args}: {} {}", called.code, called.stderr.trim_end()));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
