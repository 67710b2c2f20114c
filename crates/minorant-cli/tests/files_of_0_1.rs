//! Files that Minorant 0.1 wrote, of every model: they load, predict, evaluate and audit as 0.1 did.
//! `files-0.1/README.md` says how they were made. They are never written anew.

mod common;

use common::{Bench, Called};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// How far a number may lie from what 0.1 printed: mathematics libraries differ in the last digits.
const NEAR: f64 = 1e-9;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files-0.1")
}

fn words(case: &Value, key: &str) -> String {
    let words: Vec<&str> = case[key].as_array().unwrap().iter().flat_map(Value::as_str).collect();
    words.join(" ")
}

/// The call of a verb on the case's model and data, in the folder of the files.
fn call(verb: &str, case: &Value, more: &str) -> Called {
    let (model, data) = (case["model"].as_str().unwrap(), words(case, "data"));
    let line = format!("{verb} {model} {data} {} {more} --json", words(case, "read"));
    Called::from(Bench::new().command(&line).current_dir(folder()).output().unwrap())
}

fn json(called: &Called) -> Value {
    let wrong = |why| panic!("{why}: {} {}", called.stdout, called.stderr);
    serde_json::from_str(&called.stdout).unwrap_or_else(wrong)
}

/// The same JSON, with numbers that are near; keys that 0.1 did not have are no difference.
fn same(told: &str, found: &Value, expected: &Value) {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            for (key, value) in expected {
                let told = format!("{told}.{key}");
                same(&told, found.get(key).unwrap_or_else(|| panic!("{told} is gone")), value);
            }
        }
        (Value::Array(found), Value::Array(expected)) => {
            assert_eq!(found.len(), expected.len(), "{told}");
            for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
                same(&format!("{told}[{at}]"), found, expected);
            }
        }
        (Value::Number(found), Value::Number(expected)) => {
            let (found, expected) = (found.as_f64().unwrap(), expected.as_f64().unwrap());
            let near = (found - expected).abs() <= NEAR * (1e-3 + expected.abs());
            assert!(near, "{told}: {found}, not {expected}");
        }
        (found, expected) => assert_eq!(found, expected, "{told}"),
    }
}

#[test]
fn files_of_every_model_predict_evaluate_and_audit_as_they_did() {
    let cases = std::fs::read_to_string(folder().join("expected.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&cases).unwrap();
    assert_eq!(cases.len(), 28);
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        let told = |what: &str| format!("{name}: {what}");
        let found = call("predict", case, &words(case, "predict"));
        assert_eq!(found.code, 0, "{name}: {}", found.stderr);
        same(&told("predictions"), &json(&found), &case["expected_predictions"]);
        let found = call("evaluate", case, "");
        assert_eq!(found.code, 0, "{name}: {}", found.stderr);
        same(&told("evaluation"), &json(&found), &case["expected_evaluation"]);
        let found = call("audit", case, &words(case, "audit"));
        let (code, audit) = (found.code, json(&found));
        if case["convex"] == true {
            assert_eq!((code, &audit["holds"]), (0, &Value::Bool(true)), "{name}: {audit}");
            for key in ["objective", "lower_bound"] {
                same(&told(key), &audit[key], &case["expected_audit"][key]);
            }
        } else {
            // There is nothing to check: 0.1 said that the audit does not hold.
            assert_eq!((code, &audit["holds"]), (3, &Value::Null), "{name}: {audit}");
        }
    }
}
