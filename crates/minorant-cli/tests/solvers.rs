//! Every solver with every model: it runs within the limits that it is given, or it is refused in one
//! sentence. Both lists are the library's own, so that a new solver or model is tried without being
//! named here.

mod common;

use common::situations::Data;
use minorant::family;
use minorant::solver::Method;
use serde_json::Value;

const MOST: u64 = 12;

#[test]
fn every_solver_runs_or_is_refused() {
    let data = Data::new();
    let mut wrong = Vec::new();
    let mut ran = 0;
    for entry in family::models() {
        let model = entry.model.name;
        let (files, with) = Data::usual(model);
        let own = entry.solvers();
        let foreign = Method::ALL.into_iter().map(Method::name).filter(|name| !own.contains(name));
        for solver in own.iter().copied().chain(foreign) {
            let limits = format!("--max-evals {MOST} --max-seconds 60");
            let args = format!("train {model} {files} {with} --solver {solver} {limits} --json");
            let called = data.bench.call(&args);
            let json: Value = serde_json::from_str(&called.stdout).unwrap_or(Value::Null);
            let lines = called.stderr.lines().filter(|line| line.starts_with("error: ")).count();
            match called.code {
                0 if !own.contains(&solver) => wrong.push(format!("{args}: not in the list")),
                0 if json["evaluations"].as_u64().is_none_or(|count| count > MOST) => {
                    wrong.push(format!("{args}: {} evaluations", json["evaluations"]));
                }
                0 => ran += 1,
                1 | 2 if lines == 1 && called.stdout.is_empty() => {}
                code => wrong.push(format!("{args}: code {code}, {}", called.stderr)),
            }
        }
    }
    assert!(wrong.is_empty(), "{} pairs:\n{}", wrong.len(), wrong.join("\n"));
    assert!(ran > 150, "only {ran} pairs ran");
}
