//! Networks under a chain on the command line: training, its report, predictions, checkpoints, and
//! what is refused with which exit code.

mod common;

use common::Bench;
use std::fmt::Write;

/// Sentences whose label is an exclusive or of two words.
fn sentences(count: usize, seed: u64) -> String {
    let mut state = seed;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let mut text = String::new();
    for _ in 0..count {
        for _ in 0..2 + next(5) {
            let (a, b) = (next(2), next(2));
            let label = if a ^ b == 1 { "B-X" } else { "O" };
            writeln!(text, "{label}\ta={a}\tb={b}").unwrap();
        }
        text.push('\n');
    }
    text
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("train.txt", &sentences(80, 1));
    bench.write("test.txt", &sentences(30, 2));
    bench
}

const TRAIN: &str = "train neuro-crf train.txt --format crfsuite --lambda 1e-4 --seed 3";

#[test]
fn a_network_trains_predicts_evaluates_and_shows_itself() {
    let bench = bench();
    let report = bench
        .call(&format!("{TRAIN} --hidden 6,5 --max-evals 400 --activation tanh --pretrain none --out m.st --json"))
        .json();
    assert_eq!(report["model"], "neuro-crf");
    assert_eq!((report["examples"].as_u64(), report["features"].as_u64()), (Some(80), Some(4)));
    // 4 inputs, 6 and 5 units with biases, 2 labels with biases, 2 x 2 pairs.
    assert_eq!(report["dim"], 5 * 6 + 7 * 5 + 6 * 2 + 4);
    assert!(report["lower_bound"].is_null() && report["gap"].is_null());
    assert!(report["local_gap"].is_number() && report["certified"] == false);
    let (omega, risk) = (report["regularizer"].as_f64().unwrap(), report["risk"].as_f64().unwrap());
    assert!((omega + risk - report["objective"].as_f64().unwrap()).abs() < 1e-12);
    assert!(report["evaluations"].as_u64().unwrap() <= 400);
    let evaluation = bench.call("evaluate m.st test.txt --format crfsuite --json").json();
    assert!(evaluation["error"].as_f64().unwrap() < 0.05, "{evaluation}");
    assert!(evaluation["chunk_f1"].is_number());
    let labels = bench.call("predict m.st test.txt --format crfsuite --json").json();
    assert_eq!(labels["labels"].as_array().unwrap().len(), 30);
    let line = bench.call("predict m.st test.txt --format crfsuite --marginals").stdout;
    let first: Vec<&str> = line.lines().next().unwrap().split('\t').collect();
    let sum: f64 = first[1..].iter().map(|p| p.parse::<f64>().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9 && first.len() == 3, "{first:?}");
    let shown = bench.call("inspect m.st --json").json();
    assert_eq!(shown["hidden"], serde_json::json!([6, 5]));
    assert!(bench.call("inspect m.st").stdout.contains("tanh"));
    let audit = bench.call("audit m.st train.txt --format crfsuite");
    assert!(audit.unchecked().contains("not convex"), "{}", audit.stderr);
}

#[test]
fn held_out_sequences_choose_the_weights() {
    let bench = bench();
    let line = format!("{TRAIN} --hidden 5 --validation-fraction 0.25 --max-evals 60");
    let report = bench.call(&format!("{line} --out m.st --json")).json();
    assert_eq!(report["examples"], 80);
    let (error, at) = (report["validation_error"].as_f64(), report["chosen_at"].as_u64());
    assert!(error.is_some_and(|e| e <= 1.0) && at.is_some_and(|at| at <= 60), "{report}");
    let shown = bench.call("inspect m.st --json").json();
    assert_eq!(shown["validation_error"], report["validation_error"]);
    let short = format!("{TRAIN} --hidden 5 --validation-fraction 0.25 --max-evals 20");
    assert_eq!(bench.call(&format!("{short} --checkpoint run.ckpt")).code, 0);
    assert_eq!(bench.call(&format!("{line} --resume run.ckpt --out again.st")).code, 0);
    assert!(bench.read("m.st") == bench.read("again.st"));
}

#[test]
fn a_resumed_run_writes_the_same_file() {
    let bench = bench();
    let run = |rest: &str| bench.call(&format!("{TRAIN} {rest}"));
    assert_eq!(run("--hidden 6,5 --max-evals 30 --out whole.st").code, 0);
    assert_eq!(run("--hidden 6,5 --max-evals 12 --checkpoint run.ckpt").code, 0);
    let rest = "--hidden 6,5 --max-evals 30 --resume run.ckpt --out resumed.st";
    assert_eq!(run(rest).code, 0);
    assert!(bench.read("whole.st") == bench.read("resumed.st"));
    let other = run("--hidden 6,4 --resume run.ckpt");
    assert!(other.refused().contains("settings"), "{}", other.stderr);
}

#[test]
fn what_cannot_be_is_refused_in_a_sentence() {
    let bench = bench();
    let train = "train neuro-crf train.txt --format crfsuite --max-evals 5";
    bench.write("few", "1 2 3");
    bench.write("eighty", &"2 0\n".repeat(40));
    let weighted = format!("{train} --hidden 3 --pretrain none --weights eighty --json");
    assert_eq!(bench.call(&weighted).json()["lambda"], 1.0 / 80.0);
    for (line, code, word) in [
        (format!("{train} --hidden 3,x"), 2, "whole numbers"),
        (format!("{train} --hidden ,"), 2, "whole numbers"),
        (format!("{train} --hidden -3"), 2, "-3"),
        (format!("{train} --activation step"), 2, "sigmoid or tanh or relu"),
        (format!("{train} --pretrain dbn"), 2, "rbm"),
        (format!("{train} --hidden 5,0"), 1, "--hidden must be whole numbers of 1 or more"),
        (format!("{train} --hidden 99999999999,99999999999"), 1, "weights"),
        (format!("{train} --validation-fraction 1"), 1, "fraction"),
        (format!("{train} --lambda 0"), 1, "lambda"),
        (format!("{train} --bias 1"), 1, "--bias"),
        (format!("{train} --weights few"), 1, "expected 80 example weights, one a sequence"),
        (format!("{train} --pairs observed"), 1, "--pairs"),
        (format!("{train} --solver bmrm"), 2, "its solvers are: auto, lbfgs"),
        ("train chain-crf train.txt --format crfsuite --hidden 3".into(), 1, "--hidden"),
        ("train svm train.txt --activation tanh".into(), 1, "--activation"),
    ] {
        let called = bench.call(&line);
        assert_eq!(called.code, code, "{line}: {}", called.stderr);
        assert!(called.stderr.contains(word), "{line}: {}", called.stderr);
        if code == 1 {
            called.refused();
        }
    }
}

/// Where time is over before the layers are pretrained there is an answer all the same, and a checkpoint
/// from which the run begins anew.
#[test]
fn pretraining_that_is_cut_short_is_done_anew() {
    let bench = bench();
    let train = format!("{TRAIN} --hidden 6,5 --max-evals 8");
    let cut =
        bench.call(&format!("{train} --max-seconds 1e-9 --checkpoint run.ckpt --json")).json();
    assert_eq!(cut["status"], "max-seconds");
    for rest in ["--out whole.st", "--resume run.ckpt --out resumed.st"] {
        assert_eq!(bench.call(&format!("{train} {rest}")).code, 0);
    }
    assert!(bench.read("whole.st") == bench.read("resumed.st"));
}
