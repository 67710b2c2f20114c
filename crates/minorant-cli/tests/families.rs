//! What holds for the models of every family alike: the keys of `train` and `inspect`, the lines of a
//! trace, checkpoints that are only resumed under the same settings, and notes on values of options that
//! are taken otherwise than they were given.

mod common;

use common::situations::Data;
use minorant::family;
use minorant::options::Effect;
use serde_json::Value;
use std::collections::BTreeSet;

fn keys(object: &Value) -> BTreeSet<String> {
    object.as_object().expect("an object").keys().cloned().collect()
}

#[test]
fn every_model_tells_the_same_of_itself() {
    let data = Data::new();
    let (mut trained, mut inspected, mut traced) = (Vec::new(), Vec::new(), Vec::new());
    for entry in family::models() {
        let name = entry.model.name;
        let (files, always) = Data::usual(name);
        let args = format!("train {name} {files} {always} --json --quiet --out m --trace t");
        trained.push((name, keys(&data.bench.call(&args).json())));
        let object = data.bench.call("inspect m --json").json();
        assert_eq!(object["model"], name);
        inspected.push((name, keys(&object)));
        let text = data.bench.call("inspect m").text();
        let headings: Vec<&str> = text.lines().map(|line| line[..13].trim_end()).collect();
        let told: BTreeSet<&&str> = headings.iter().collect();
        assert_eq!(told.len(), headings.len(), "{name} tells something twice:\n{text}");
        let trace = String::from_utf8(data.bench.read("t")).expect("a trace");
        for line in trace.lines() {
            let mut line = keys(&serde_json::from_str(line).expect("a line of JSON"));
            // Only the methods that keep localities tell of them.
            line.remove("locality");
            traced.push((name, line));
        }
    }
    let common = |all: &[(&str, BTreeSet<String>)], asked: &[&str]| {
        for (name, keys) in all {
            let missing: Vec<_> = asked.iter().filter(|key| !keys.contains(**key)).collect();
            assert!(missing.is_empty(), "{name}: {missing:?}");
        }
    };
    common(
        &trained,
        &[
            "model",
            "solver",
            "examples",
            "features",
            "dim",
            "lambda",
            "objective",
            "regularizer",
            "risk",
            "lower_bound",
            "gap",
            "relative_gap",
            "local_gap",
            "certified",
            "status",
            "evaluations",
            "iterations",
            "seconds",
            "load_seconds",
            "peak_rss_bytes",
        ],
    );
    common(
        &inspected,
        &[
            "kind",
            "model",
            "lambda",
            "solver",
            "status",
            "objective",
            "lower_bound",
            "relative_gap",
            "local_gap",
            "certified",
            "auditable",
            "examples",
            "data_sha256",
            "nonzero_weights",
        ],
    );
    let first = &traced[0].1;
    traced.iter().for_each(|(name, keys)| assert_eq!(keys, first, "{name}"));
}

#[test]
fn a_checkpoint_is_resumed_under_the_same_settings_only() {
    let data = Data::new();
    for entry in family::models() {
        let name = entry.model.name;
        for taken in entry.options() {
            let spec = taken.spec;
            if !matches!(spec.effect, Effect::Model | Effect::Iterates) || spec.name == "lambda" {
                continue;
            }
            let probe = entry.probe(spec.name).expect("a probe");
            let files = Data::of_situation(name, probe);
            let with = probe.with.join(" ");
            let (_, always) = Data::usual(name);
            let always =
                if format!("{with} --{}", spec.name).contains("--hidden") { "" } else { always };
            // What is refused without the option has no checkpoint to go on from.
            let plain = format!("train {name} {files} {always} {with} --quiet");
            if data.bench.call(&plain).code != 0 {
                continue;
            }
            // A limit on evaluations is no setting of the iterates.
            data.file_for("resume", name, &files, &format!("{always} {with}"));
            let value = probe.value.replace("{FILE}", &data.file_for(spec.name, name, &files, ""));
            let value = if spec.kind.is_flag() { String::new() } else { value };
            let resume = "--resume resume --quiet";
            let same = format!("train {name} {files} {always} {with} {resume}");
            data.bench.call(&same).text();
            let other = format!("{same} --{} {value}", spec.name);
            let called = data.bench.call(&other);
            assert_eq!(called.code, 1, "{other}: {}", called.stderr);
        }
    }
}

#[test]
fn parts_are_rounded_down_to_a_power_of_two_with_a_note() {
    let data = Data::new();
    for name in ["svm", "chain-svm", "tree-svm"] {
        let (files, always) = Data::usual(name);
        let train = |parts: &str| {
            let args = format!("train {name} {files} {always} --solver p-bmrm --parts {parts}");
            let called = data.bench.call(&format!("{args} --max-evals 6 --quiet --out m{parts}"));
            assert_eq!(called.code, 0, "{}", called.stderr);
            (called.stderr, data.bench.read(&format!("m{parts}")))
        };
        let (told, model) = train("7");
        assert_eq!(told.matches("note: --parts 7 is taken as 4").count(), 1, "{name}: {told}");
        let (told, same) = train("4");
        assert!(!told.contains("--parts"), "{name}: {told}");
        assert!(model == same, "{name}");
    }
}
