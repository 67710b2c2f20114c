//! Hidden Markov models on the command line: from recordings to a model, its predictions and its
//! evaluation; checkpoints; and what is refused.

mod common;

use common::Bench;
use minorant::data::{NamedArray, npz_bytes};

/// Phone-like recordings for both tasks: a sequence's class is its first frame's label.
fn bench() -> Bench {
    let bench = Bench::new();
    for (draw, name) in [(0, "train.npz"), (1, "test.npz")] {
        let line = format!("generate phones --seed 3 --draw {draw} --sequences 60 --labels 3");
        assert_eq!(bench.call(&format!("{line} --noise 0.7 --out {name}")).code, 0);
    }
    bench
}

fn write(bench: &Bench, name: &str, values: &[f64], offsets: &[u64], labels: &[u64]) {
    let arrays = [
        NamedArray::reals("values", &[values.len() / 2, 2], values.to_vec()),
        NamedArray::whole("offsets", &[offsets.len()], offsets.iter().copied()),
        NamedArray::whole("labels", &[labels.len()], labels.iter().copied()),
    ];
    std::fs::write(bench.path(name), npz_bytes(&arrays).unwrap()).unwrap();
}

/// Twelve sequences of two classes.
fn classes(bench: &Bench, name: &str) {
    let lengths: Vec<usize> = (0..12).map(|i| 4 + i % 3).collect();
    let mut offsets = vec![0u64];
    let mut values = Vec::new();
    for (i, &length) in lengths.iter().enumerate() {
        for t in 0..length {
            let way = (t as f64 - 2.0) * if i % 2 == 0 { 1.0 } else { -1.0 };
            let wobble = ((7 * i + 3 * t) % 5) as f64 / 2.0 - 1.0;
            values.extend([0.3 * way + wobble, 0.5 * way - wobble]);
        }
        offsets.push(offsets[i] + length as u64);
    }
    let labels: Vec<u64> = (0..12).map(|i| 5 + i % 2).collect();
    write(bench, name, &values, &offsets, &labels);
}

#[test]
fn recordings_show_themselves() {
    let bench = bench();
    classes(&bench, "classes.npz");
    let shown = bench.call("inspect classes.npz --json").json();
    assert_eq!((&shown["kind"], &shown["labels"]), (&"recordings".into(), &"sequences".into()));
    assert_eq!((&shown["examples"], &shown["frames"]), (&12.into(), &60.into()));
    assert_eq!((&shown["shortest"], &shown["longest"]), (&4.into(), &6.into()));
    assert_eq!(shown["classes"][1], serde_json::json!({"label": 6, "sequences": 6}));
    // Phones have labels of frames besides.
    let shown = bench.call("inspect train.npz");
    assert_eq!(shown.code, 0);
    assert!(shown.stdout.contains("sequences     60"), "{}", shown.stdout);
}

#[test]
fn frames_are_labelled() {
    let bench = bench();
    let line = "train hmm train.npz --task label --states 2 --lambda 1 --max-evals 12 --json";
    let report = bench.call(&format!("{line} --out m.st --trace t.jsonl")).json();
    assert_eq!((&report["model"], &report["solver"]), (&"hmm".into(), &"nrbm-ls".into()));
    assert!(report["lower_bound"].is_null() && report["relative_gap"].is_null());
    assert_eq!((&report["certified"], &report["examples"]), (&false.into(), &60.into()));
    assert!(report["local_gap"].is_number() || report["status"] == "max-evals", "{report}");
    let (objective, sum) = (
        report["objective"].as_f64().unwrap(),
        report["regularizer"].as_f64().unwrap() + report["risk"].as_f64().unwrap(),
    );
    assert!((objective - sum).abs() <= 1e-9 * objective);
    let evaluation = bench.call("evaluate m.st test.npz --json").json();
    assert!(evaluation["error"].as_f64().unwrap() < 0.5, "{evaluation}");
    let labels = bench.call("predict m.st test.npz");
    assert_eq!(labels.stdout.split("\n\n").count(), 60);
    let json = bench.call("predict m.st test.npz --json").json();
    assert_eq!(json["labels"].as_array().unwrap().len(), 60);
    let inspected = bench.call("inspect m.st --json").json();
    assert_eq!((&inspected["task"], &inspected["states"]), (&"label".into(), &2.into()));
    assert!(bench.call("inspect m.st").stdout.contains("hmm (label, left-right)"));
    let why = bench.call("audit m.st train.npz");
    assert!(why.unchecked().contains("no global bound"));
    assert!(bench.call("predict m.st test.npz --scores").refused().contains("labels frames"));
}

#[test]
fn sequences_are_classified() {
    let bench = bench();
    classes(&bench, "c.npz");
    for topology in ["left-right", "ergodic"] {
        let line = format!("train hmm c.npz --states 2 --mixtures 2 --topology {topology}");
        let report = bench.call(&format!("{line} --lambda 0.1 --json --out m.st")).json();
        assert_eq!(report["examples"], 12);
        assert!(report["local_gap"].is_number(), "{report}");
        let evaluation = bench.call("evaluate m.st c.npz --json").json();
        assert!(evaluation["error"].as_f64().unwrap() <= 0.25, "{evaluation}");
        let scores = bench.call("predict m.st c.npz --scores").stdout;
        assert_eq!(scores.lines().count(), 12);
        let first: Vec<&str> = scores.lines().next().unwrap().split('\t').collect();
        assert!(first.len() == 3 && ["5", "6"].contains(&first[0]), "{scores}");
    }
}

#[test]
fn a_run_resumes_to_the_same_file_on_any_number_of_threads() {
    let bench = bench();
    let line = "train hmm train.npz --task label --states 2 --lambda 0.5 --validation-fraction 0.2";
    let call = |rest: &str| {
        let called = bench.call(&format!("{line} {rest}"));
        assert_eq!(called.code, 0, "{}", called.stderr);
    };
    call("--max-evals 14 --threads 1 --out whole.st");
    call("--max-evals 5 --threads 2 --checkpoint run.ckpt");
    call("--max-evals 14 --threads 2 --resume run.ckpt --out resumed.st");
    assert_eq!(bench.read("whole.st"), bench.read("resumed.st"));
    let other = "train hmm train.npz --task label --states 3 --lambda 0.5 --resume run.ckpt";
    assert!(bench.call(other).refused().contains("a run with the settings"));
}

#[test]
fn what_cannot_be_is_refused_in_a_sentence() {
    let bench = bench();
    classes(&bench, "c.npz");
    let frames = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    write(&bench, "descending.npz", &frames, &[0, 2, 1, 3], &[1, 2, 3]);
    write(&bench, "few.npz", &frames, &[0, 2, 3], &[1, 2, 3]);
    write(&bench, "single.npz", &frames, &[0, 2, 3], &[1, 1]);
    bench.write("few", "1 2 3");
    bench.write("twelve", "1 2 3 0 1 2 3 0 1 2 3 0");
    let weighted = "train hmm c.npz --states 2 --max-evals 3 --weights twelve --json";
    assert_eq!(bench.call(weighted).json()["lambda"], 1.0 / 18.0);
    let cases = [
        ("train hmm descending.npz", "offsets from 0 to 3 that never descend"),
        ("train hmm few.npz", "for each of 2 rows"),
        ("train hmm single.npz", "at least two distinct labels"),
        ("train hmm train.npz", "an array named labels"),
        ("train hmm c.npz --task label", "an array named frame_labels"),
        ("train hmm train.svm", "an NPZ archive"),
        ("train hmm c.npz --states 9", "fewer than the 9 states"),
        ("train hmm c.npz --states 0", "--states must be at least 1, not 0"),
        ("train hmm c.npz --lambda 0", "lambda must be a positive number"),
        (
            "train hmm c.npz --validation-fraction 1",
            "--validation-fraction must be a number from 0 to below 1, not 1",
        ),
        (
            "train hmm c.npz --validation-fraction 0.01",
            "expected enough examples to hold out a share of 0.01",
        ),
        ("train hmm c.npz --group-weight means=-1", "weight of means must be a positive number"),
        ("train hmm c.npz --group-weight colours=1", "names no group 'colours'; the groups are:"),
        ("train hmm c.npz --bias 1", "chain-svm, chain-crf and chain-tsvm, not with hmm"),
        ("train hmm c.npz --weights few", "expected 12 example weights, one a sequence, found 3"),
        ("train svm train.svm --states 3", "--states goes with hmm, not with svm"),
        ("generate phones --labels 1 --out x.npz", "--labels must be at least 2"),
    ];
    bench.refuses("", &cases);
    assert_eq!(bench.call("train hmm c.npz --task guess").code, 2);
}

/// Where time is over before the start is made there is an answer all the same, and a checkpoint from which
/// the run begins anew: what comes of it is what comes of a run that was never stopped.
#[test]
fn a_start_that_is_cut_short_is_made_anew() {
    let bench = bench();
    let train = "train hmm train.npz --task label --mixtures 2 --max-evals 8";
    let cut =
        bench.call(&format!("{train} --max-seconds 1e-9 --checkpoint run.ckpt --json")).json();
    assert_eq!(cut["status"], "max-seconds");
    assert!(cut["objective"].is_number());
    for rest in ["--out whole.st", "--resume run.ckpt --out resumed.st"] {
        assert_eq!(bench.call(&format!("{train} {rest}")).code, 0);
    }
    assert!(bench.read("whole.st") == bench.read("resumed.st"));
}
