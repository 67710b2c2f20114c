//! Real faults: a process killed in the middle of a checkpointed run, an interrupt signal, a full
//! or missing output folder. Nothing may be lost or half written.
#![cfg(unix)]

mod common;

use common::{Bench, Called};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const RUN: &str = "train svm big.svm --lambda 1e-5 --tol 1e-7 --quiet --json";
/// A run that would go on for a long time.
const LONG: &str =
    "train svm big.svm --lambda 1e-8 --tol 0 --abs-tol 0 --solver bmrm --quiet --json";

fn bench() -> Bench {
    let bench = Bench::new();
    let data = minorant::generate::noisy_plane(6000, 60, 11, 0);
    bench.write("big.svm", &minorant::generate::to_libsvm(&data));
    bench
}

fn spawn(bench: &Bench, args: &str) -> Child {
    bench.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn wait_for_file(bench: &Bench, name: &str, child: &mut Child) {
    let start = Instant::now();
    while !bench.path(name).exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "no {name}");
        assert!(child.try_wait().unwrap().is_none(), "the run ended before {name} appeared");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn signal(child: &Child, name: &str) {
    let status = std::process::Command::new("kill").arg(name).arg(child.id().to_string()).status();
    assert!(status.unwrap().success());
}

#[test]
fn a_killed_run_resumes_to_the_same_file_byte_for_byte() {
    let bench = bench();
    for solver in ["bmrm", "lm-bmrm --memory 20 --max-evals 120", "ls-bmrm", "ls-p-bmrm"] {
        let run = format!("{RUN} --solver {solver}");
        bench.call(&format!("{run} --out whole")).json();
        for pause in [0, 60, 200] {
            let _ = std::fs::remove_file(bench.path("c"));
            let mut child = spawn(&bench, &format!("{run} --checkpoint c --out never"));
            wait_for_file(&bench, "c", &mut child);
            std::thread::sleep(Duration::from_millis(pause));
            signal(&child, "-KILL");
            child.wait().unwrap();
            bench.call(&format!("{run} --resume c --out resumed")).json();
            assert!(bench.read("whole") == bench.read("resumed"), "{solver} after {pause} ms");
        }
    }
}

#[test]
fn a_killed_one_vs_rest_run_resumes_too() {
    let bench = Bench::new();
    let run = "train svm multiclass.svm --multiclass ovr --lambda 1e-4 --tol 1e-8 --solver bmrm --quiet --json";
    bench.call(&format!("{run} --out whole")).json();
    for most in [5, 60, 200, 500] {
        bench.call(&format!("{run} --checkpoint c --max-evals {most}")).json();
        bench.call(&format!("{run} --resume c --out resumed")).json();
        assert!(bench.read("whole") == bench.read("resumed"), "{most}");
    }
}

/// Points around four centres: classes 1 to 4 of a few rows, the others without label, or two
/// classes of two centres each.
fn centres(bench: &Bench) {
    let mut rng = minorant::generate::Lcg::new(4);
    let (mut few, mut two) = (String::new(), String::new());
    for i in 0..100 {
        let centre = [(-2.0, 0.0), (2.0, 0.0), (0.0, 2.0), (0.0, -2.0)][i % 4];
        let (x, y) = (centre.0 + 1.2 * rng.signed(), centre.1 + 1.2 * rng.signed());
        let label = if i < 8 { i % 4 + 1 } else { 0 };
        few += &format!("{label} 1:{x} 2:{y}\n");
        let wrong = i % 11 == 0;
        two += &format!("{} 1:{x} 2:{y}\n", if (i % 4 < 2) != wrong { 1 } else { -1 });
    }
    bench.write("few.svm", &few);
    bench.write("two.svm", &two);
}

#[test]
fn a_killed_run_of_a_kernel_machine_resumes_to_the_same_file() {
    let bench = Bench::new();
    centres(&bench);
    bench.call("generate moons --examples 44 --labeled 2 --seed 3 --out moons.svm").text();
    let runs = [
        "s3vm few.svm --sigma 0.5",
        "s3vm few.svm --sigma 0.5 --solver da",
        "s3vm moons.svm --sigma 0.35 --solver bb",
        "latent-svm two.svm --sigma 0.5 --components 3",
        "robust-svm two.svm --sigma 0.5",
    ];
    for run in runs {
        let run = format!("train {run} --quiet --json");
        let whole = bench.call(&format!("{run} --out whole")).json();
        for pause in [0, 80, 240] {
            let _ = std::fs::remove_file(bench.path("c"));
            let mut child = spawn(&bench, &format!("{run} --checkpoint c --out never"));
            wait_for_file(&bench, "c", &mut child);
            std::thread::sleep(Duration::from_millis(pause));
            signal(&child, "-KILL");
            child.wait().unwrap();
            let resumed = bench.call(&format!("{run} --resume c --out resumed")).json();
            assert!(bench.read("whole") == bench.read("resumed"), "{run} after {pause} ms");
            for key in ["objective", "evaluations", "iterations", "status"] {
                assert_eq!(whole[key], resumed[key], "{run} after {pause} ms");
            }
        }
    }
}

#[test]
fn checkpoints_of_other_kernel_machines_are_refused() {
    let bench = Bench::new();
    centres(&bench);
    bench.call("train s3vm few.svm --sigma 0.5 --max-evals 300 --checkpoint c --json").json();
    // How far to go is not a setting; less than what is used up already cannot be.
    bench.call("train s3vm few.svm --sigma 0.5 --max-evals 900 --resume c --json").json();
    let few = bench.call("train s3vm few.svm --sigma 0.5 --max-evals 12 --resume c --quiet");
    assert!(few.refused().contains("at most"), "{}", few.stderr);
    let others = [
        ("s3vm train.svm --sigma 0.5", "other data"),
        ("s3vm few.svm --sigma 0.6", "one with the settings"),
        ("s3vm few.svm", "one with the settings"),
        ("s3vm few.svm --sigma 0.5 --seed 1", "one with the settings"),
        ("s3vm few.svm --sigma 0.5 --solver ao", "one with the settings"),
        ("s3vm few.svm --sigma 0.5 --balance none", "one with the settings"),
        ("s3vm few.svm --sigma 0.5 --tol 1e-4", "one with the settings"),
        ("latent-svm two.svm", "other data"),
        ("svm few.svm", "one with the settings"),
    ];
    for (other, expected) in others {
        let called = bench.call(&format!("train {other} --resume c"));
        assert!(called.refused().contains(expected), "{other}: {}", called.stderr);
    }
    let whole = bench.read("c");
    for at in (0..whole.len()).step_by(whole.len() / 12 + 1) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        std::fs::write(bench.path("flipped"), &flipped).unwrap();
        std::fs::write(bench.path("cut"), &whole[..at]).unwrap();
        for name in ["flipped", "cut", "nowhere"] {
            bench.call(&format!("train s3vm few.svm --sigma 0.5 --resume {name}")).refused();
        }
    }
}

#[test]
fn an_interrupt_gives_the_best_answer_so_far() {
    let bench = bench();
    let mut child = spawn(&bench, &format!("{LONG} --checkpoint c --out m"));
    wait_for_file(&bench, "c", &mut child);
    signal(&child, "-INT");
    let ended = Called::from(child.wait_with_output().unwrap());
    let json = ended.json();
    assert_eq!((&json["status"], &json["certified"]), (&"interrupted".into(), &false.into()));
    assert_eq!(bench.call("audit m big.svm --json").json()["holds"], true);
}

#[test]
fn an_interrupt_keeps_the_incumbent_of_a_kernel_machine() {
    let bench = Bench::new();
    bench.call("generate moons --examples 120 --labeled 2 --seed 1 --out moons.svm").text();
    let run = "train s3vm moons.svm --sigma 0.35 --balance count=59 --json";
    let found = bench.call(run).json()["objective"].as_f64().unwrap();
    // Branch and bound goes on long after it has the answer; a line of progress that tells a gap says
    // that it runs.
    let mut child = spawn(&bench, &format!("{run} --solver bb --out m"));
    let mut lines = BufReader::new(child.stderr.as_mut().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| !line.contains("gap unknown")));
    signal(&child, "-INT");
    let json = Called::from(child.wait_with_output().unwrap()).json();
    assert_eq!((&json["status"], &json["certified"]), (&"interrupted".into(), &false.into()));
    let objective = json["objective"].as_f64().unwrap();
    assert!(objective <= found * (1.0 + 1e-6), "{objective} {found}");
    assert!(json["lower_bound"].as_f64().unwrap() <= objective);
    assert_eq!(bench.call("inspect m --json").json()["objective"], json["objective"]);
}

#[test]
fn a_time_limit_is_kept() {
    let bench = bench();
    let json = bench.call(&format!("{LONG} --max-seconds 0.2")).json();
    assert_eq!(json["status"], "max-seconds");
}

#[test]
fn a_file_that_stands_in_the_way_is_kept_when_the_run_fails() {
    let bench = bench();
    bench.write("m", "precious");
    bench.call("train svm big.svm --lambda -1 --out m").refused();
    assert_eq!(bench.read("m"), b"precious");
    assert_no_leftovers(&bench);
}

fn assert_no_leftovers(bench: &Bench) {
    let names: Vec<_> =
        std::fs::read_dir(bench.path(".")).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with(".tmp")), "{names:?}");
}

#[test]
fn an_interrupted_run_has_a_trace_and_a_failed_one_has_none() {
    let bench = bench();
    let mut child = spawn(&bench, &format!("{LONG} --checkpoint c --trace t.jsonl"));
    wait_for_file(&bench, "c", &mut child);
    signal(&child, "-INT");
    let json = Called::from(child.wait_with_output().unwrap()).json();
    let lines = String::from_utf8(bench.read("t.jsonl")).unwrap().lines().count();
    assert_eq!(json["iterations"], lines);
    bench.write("bad.svm", "1 1:1\n-1 2:x\n");
    bench.call("train svm bad.svm --trace failed.jsonl").refused();
    assert!(!bench.path("failed.jsonl").exists());
    assert_no_leftovers(&bench);
}

#[test]
fn links_are_followed_and_modes_are_the_users() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    std::fs::create_dir(bench.path("models")).unwrap();
    for name in ["there", "dangling"] {
        std::os::unix::fs::symlink(format!("models/{name}"), bench.path(name)).unwrap();
    }
    bench.write("models/there", "old");
    for name in ["there", "dangling"] {
        bench.call(&format!("train svm train.svm --out {name} --json")).json();
        assert!(bench.path(name).is_symlink());
        assert!(!bench.path(&format!("models/{name}")).is_symlink());
        assert_eq!(bench.call(&format!("audit {name} train.svm --json")).json()["holds"], true);
    }
    for (mask, mode) in [("022", 0o644), ("077", 0o600), ("002", 0o664)] {
        let line = format!(
            "umask {mask}; exec {} train svm train.svm --out m --trace t --json",
            env!("CARGO_BIN_EXE_minorant")
        );
        let mut shell = std::process::Command::new("sh");
        let output = shell.args(["-c", &line]).current_dir(bench.path(".")).output().unwrap();
        Called::from(output).json();
        for name in ["m", "t"] {
            let found = std::fs::metadata(bench.path(name)).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, mode, "{name} with {mask}");
        }
    }
}

#[test]
fn pipes_and_devices_are_written_to() {
    use std::os::unix::fs::FileTypeExt;
    let bench = Bench::new();
    let made = std::process::Command::new("mkfifo").arg(bench.path("pipe")).status().unwrap();
    assert!(made.success());
    let pipe = bench.path("pipe");
    let reader = std::thread::spawn(move || std::fs::read(pipe).unwrap());
    bench.call("train svm train.svm --trace pipe --out /dev/null --json").json();
    assert!(reader.join().unwrap().starts_with(b"{"));
    assert!(std::fs::metadata(bench.path("pipe")).unwrap().file_type().is_fifo());
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let run = bench.call("train svm train.svm --trace /dev/stdout --json");
    let whole = run.stdout.lines().count();
    let file = std::fs::File::create(bench.path("both")).unwrap();
    let args = "train svm train.svm --trace /dev/stdout --json";
    assert!(bench.command(args).stdout(file).status().unwrap().success());
    let lines = String::from_utf8(bench.read("both")).unwrap();
    assert!(whole > 1 && lines.lines().count() == whole);
    assert!(lines.lines().all(|line| line.starts_with('{') && line.ends_with('}')), "{lines}");
}

#[test]
fn notes_that_nobody_can_read_are_no_failure() {
    let bench = Bench::new();
    bench.call("train svm train.svm --out m --json").json();
    bench.write("wide.svm", "1 1:1 99:5\n");
    for (args, code) in [("predict m wide.svm", 0), ("train svm nowhere.svm", 1)] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = bench.command(args).stderr(full).stdout(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{args}");
    }
}

#[test]
fn nothing_is_overwritten_by_mistake() {
    let bench = Bench::new();
    bench.write("w.txt", &"1\n".repeat(400));
    std::os::unix::fs::symlink(bench.path("train.svm"), bench.path("link")).unwrap();
    bench.call("train svm train.svm --out m.st --checkpoint c.ck --quiet").text();
    let before = ["train.svm", "test.svm", "w.txt", "m.st", "c.ck"].map(|name| bench.read(name));
    let data = "which is a data file: it would be overwritten";
    bench.refuses(
        "",
        &[
            ("train svm train.svm --out train.svm", data),
            ("train svm train.svm --out ./link", data),
            ("train svm train.svm --trace train.svm", data),
            ("train svm train.svm --report train.svm", data),
            ("train svm train.svm --proof train.svm", data),
            ("train svm train.svm --checkpoint train.svm", data),
            ("train svm train.svm test.svm --out test.svm", data),
            ("train svm train.svm --weights w.txt --out w.txt", "which --weights reads"),
            ("train svm train.svm --start m.st --out m.st", "which --start reads"),
            ("train svm train.svm --resume c.ck --out c.ck", "which --resume reads"),
            ("train svm train.svm --out a --report ./a", "--out and --report name the same file"),
            ("train svm train.svm --trace a --checkpoint a", "name the same file, a"),
            ("train svm train.svm --start m.st --resume c.ck", "--start and --resume exclude"),
            ("path svm train.svm --lambdas 1:0.1:2 --report train.svm", data),
            ("path svm train.svm --lambdas 1:0.1:2 --validation test.svm --report test.svm", data),
            ("path svm train.svm --lambdas 1e-5:1:100000000", "at most 100000 points"),
            ("tune svm train.svm --lambdas 1:0.1:2 --out train.svm", data),
            ("compare svm train.svm --solvers bmrm,nrbm --report train.svm", data),
        ],
    );
    let after = ["train.svm", "test.svm", "w.txt", "m.st", "c.ck"].map(|name| bench.read(name));
    assert!(before == after);
    // States are kept where they came from, and devices take everything.
    bench.call("train svm train.svm --resume c.ck --checkpoint c.ck --quiet").text();
    bench.call("train svm train.svm --out /dev/null --report /dev/null --quiet").text();
}

#[test]
fn what_a_killed_run_left_behind_is_removed() {
    let bench = Bench::new();
    // No process has a number as large as this.
    let mine = ".m.st.tmp-4294967294-abcdef";
    let others = [".other.st.tmp-4294967294-abcdef", ".m.st.tmp-notes", "m.st.tmp-1"];
    for name in others.into_iter().chain([mine]) {
        bench.write(name, "");
    }
    bench.call("train svm train.svm --out m.st --quiet").text();
    assert!(!bench.path(mine).exists());
    assert!(others.iter().all(|name| bench.path(name).exists()));
}

#[test]
fn a_run_that_ends_at_once_leaves_a_checkpoint() {
    let bench = Bench::new();
    for rest in ["--max-seconds 1e-9", "--tol 1e9", "--max-evals 1", "--solver dual-cd --tol 1e9"] {
        let train = format!("train svm train.svm --quiet {rest}");
        bench.call(&format!("{train} --checkpoint c.ck")).text();
        let resumed = bench.call("train svm train.svm --quiet --resume c.ck --json");
        if !rest.contains("solver") {
            assert_eq!(resumed.json()["status"], "converged", "{rest}");
        }
        std::fs::remove_file(bench.path("c.ck")).unwrap();
    }
}

#[test]
fn memory_that_cannot_be_had_is_refused_in_a_sentence() {
    let bench = Bench::new();
    let rows: String = (0..5000).map(|i| format!("{i} 1:{} 2:1\n", i % 7)).collect();
    bench.write("classes.svm", &rows);
    bench.refuses(
        "",
        &[
            (
                "train svm classes.svm --max-memory 100M",
                "5000 rows with 2 features and 5000 classes need 801 MB of memory for weights and \
                 outputs, of 105 MB that may be used; --multiclass ovr needs",
            ),
            ("path logistic classes.svm --lambdas 1:0.1:2 --max-memory 100M", "--multiclass ovr"),
            ("train svm train.svm --features 2147483647 --max-memory 1G", "fewer features"),
            ("train robust-svm train.svm --features 2147483647 --max-memory 1G", "fewer features"),
        ],
    );
    let sequences: String = (0..1200).map(|i| format!("T{i}\ta{i}\n\n")).collect();
    bench.write("tags.crf", &sequences);
    bench.refuses(
        "train chain-crf tags.crf --format crfsuite --max-memory 1M",
        &[(
            "",
            "weights of 1200 attributes and pairs of 1200 labels need 116 MB of memory, of 68 MB",
        )],
    );
    // What is little in any case is not refused.
    bench.call("train svm train.svm --max-memory 8 --quiet").text();
}

#[test]
fn files_of_other_kinds_are_told_apart() {
    let bench = Bench::new();
    bench.write("t.conll", "a x B\nb y I\n\na y I\n\n");
    bench.write("one.conll", "a\nb\n\n");
    bench.write("d.arff", "@relation r\n@attribute x numeric\n@attribute a {0,1}\n@data\n1,1\n");
    bench.write("open.xml", "<labels>\n<label name=\"a\"></label>\n");
    bench.write("cut.xml", "<labels><label name=\"a\"></label");
    bench.call("train chain-crf t.conll --format conll --out chain.st --quiet").text();
    bench.refuses(
        "",
        &[
            (
                "train svm train.svm --format npz",
                "train.svm: expected an NPZ archive as it is, found a file that begins with",
            ),
            (
                "train chain-crf one.conll --format conll",
                "one.conll:1: expected a token and its label, separated by a blank or tab, found 1 \
                 column",
            ),
            ("predict chain.st train.svm", "train.svm:1: expected columns of a token"),
            (
                "train svm train.svm --start chain.st",
                "chain.st: expected start weights for a linear model, found those of chain-crf",
            ),
            ("inspect t.conll", "for sequences of tokens give --format conll or --format crfsuite"),
            (
                "inspect d.arff --label-xml open.xml",
                "open.xml: expected the end of the list (</labels>), found the end of the file in \
                 line 2",
            ),
            ("inspect d.arff --label-xml cut.xml", "expected the end of a tag (>), found the end"),
        ],
    );
    assert!(bench.call("inspect t.conll --format conll").text().contains("tokens"));
}
