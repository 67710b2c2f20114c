//! The command's contracts for models that are not convex: no bound is claimed, the local gap is
//! told, and wrong settings are refused with one sentence.

mod common;

use common::Bench;
use serde_json::Value;

const SOLVERS: [&str; 7] = ["auto", "nrbm", "nrbm-ls", "nrbm-ls-full", "prox-nrbm", "nbm", "cccp"];

/// The same rows as `train.svm`, of which most have the label 0.
fn few_labels(bench: &Bench) {
    let text = String::from_utf8(bench.read("train.svm")).unwrap();
    let (mut few, mut labelled, mut rest) = (String::new(), String::new(), String::new());
    for (i, line) in text.lines().enumerate() {
        let (label, features) = line.split_once(' ').unwrap_or((line, ""));
        let known = if i < 60 { label } else { "0" };
        few += &format!("{known} {features}\n");
        let part = if i < 60 { &mut labelled } else { &mut rest };
        *part += &format!("{label} {features}\n");
    }
    bench.write("few.svm", &few);
    bench.write("labelled.svm", &labelled);
    bench.write("rest.svm", &rest);
}

#[test]
fn no_bound_is_claimed() {
    let bench = Bench::new();
    few_labels(&bench);
    for model in ["ramp-svm train.svm", "tsvm few.svm --gamma 2"] {
        for solver in SOLVERS {
            let args = format!(
                "train {model} --lambda 0.02 --solver {solver} --out m.st --trace t.jsonl --report r.html --json"
            );
            let json = bench.call(&args).json();
            for key in ["lower_bound", "gap", "relative_gap"] {
                assert_eq!(json[key], Value::Null, "{solver}: {key}");
            }
            assert_eq!((&json["certified"], &json["status"]), (&false.into(), &"converged".into()));
            let (gap, objective) = (json["local_gap"].as_f64(), json["objective"].as_f64());
            assert!(gap.unwrap() <= 1e-3 * objective.unwrap(), "{solver}: {json}");
            let trace = String::from_utf8(bench.read("t.jsonl")).unwrap();
            let kinds = ["start", "descent", "null", "null2"];
            for line in trace.lines() {
                let line: Value = serde_json::from_str(line).unwrap();
                assert!(kinds.contains(&line["step"].as_str().unwrap()), "{line}");
                assert_eq!(line["lower_bound"], Value::Null);
                let keeps_localities = solver.contains("nrbm") && line["step"] != "start";
                assert!(!keeps_localities || line["locality"].as_f64().unwrap() >= 0.0, "{line}");
            }
            let page = String::from_utf8(bench.read("r.html")).unwrap();
            assert!(page.contains("local model gap") && page.contains("Local model gap"));
            assert!(page.contains("descent"));
        }
        let inspected = bench.call("inspect m.st --json").json();
        assert!(inspected["ramp"].is_number() != inspected["gamma"].is_number());
        assert!(bench.call("inspect m.st").stdout.contains("local model gap"));
        assert_eq!(bench.call("predict m.st test.svm").stdout.lines().count(), 100);
        assert!(
            bench.call("evaluate m.st test.svm --json").json()["error"].as_f64().unwrap() < 0.5
        );
        let data = model.split_whitespace().nth(1).unwrap();
        let refused = bench.call(&format!("audit m.st {data}"));
        assert!(refused.unchecked().contains("is not convex: it has no global bound to check"));
    }
    let compared = bench.call("evaluate m.st few.svm --json");
    assert!(compared.stderr.contains("note: 340 rows have the label 0"), "{}", compared.stderr);
    assert_eq!(compared.json()["examples"], 60);
    let said = bench.call("train tsvm few.svm --lambda 0.02").stdout;
    assert!(said.contains("local model gap") && said.contains("no bound"), "{said}");
}

#[test]
fn rows_without_labels_from_another_file() {
    let bench = Bench::new();
    few_labels(&bench);
    let of = |data: &str| {
        let json = bench.call(&format!("train tsvm {data} --lambda 0.02 --out m.st --json")).json();
        (json["objective"].clone(), json["evaluations"].clone(), bench.read("m.st"))
    };
    assert!(of("few.svm") == of("labelled.svm --unlabeled rest.svm"));
}

#[test]
fn limits_and_starts() {
    let bench = Bench::new();
    few_labels(&bench);
    let train =
        |args: &str| bench.call(&format!("train tsvm few.svm --lambda 0.02 --json {args}")).json();
    for solver in SOLVERS {
        for most in [1, 2, 3, 5, 9, 20] {
            let json =
                train(&format!("--max-evals {most} --tol 1e-9 --starts 3 --solver {solver}"));
            assert!(json["evaluations"].as_u64().unwrap() <= most, "{solver}, {most}: {json}");
        }
    }
    let (one, many) = (train("--gamma 10"), train("--gamma 10 --starts 6 --seed 3"));
    assert!(many["objective"].as_f64() <= one["objective"].as_f64());
    assert!(many["evaluations"].as_u64() > one["evaluations"].as_u64());
    let again = train("--gamma 10 --starts 6 --seed 3");
    assert_eq!(again["objective"], many["objective"]);
}

#[test]
fn several_classes() {
    let bench = Bench::new();
    for model in ["ramp-svm multiclass.svm --ramp 0", "tsvm some.svm --gamma 0.5"] {
        let text = String::from_utf8(bench.read("multiclass.svm")).unwrap();
        let some = text.lines().enumerate().map(|(i, line)| {
            let features = line.split_once(' ').map_or("", |(_, features)| features);
            if i % 3 == 0 { format!("{line}\n") } else { format!("0 {features}\n") }
        });
        bench.write("some.svm", &some.collect::<String>());
        let json = bench.call(&format!("train {model} --lambda 0.05 --out m.st --json")).json();
        assert_eq!((&json["status"], &json["dim"]), (&"converged".into(), &48.into()));
        assert_eq!(
            bench.call("inspect m.st --json").json()["classes"].as_array().unwrap().len(),
            4
        );
    }
}

#[test]
fn convex_problems_in_the_dual() {
    let bench = Bench::new();
    few_labels(&bench);
    for model in ["ramp-svm train.svm", "tsvm few.svm --gamma 2"] {
        let args = format!("train {model} --lambda 0.02 --solver cccp --tol 1e-5 --json");
        let [primal, dual] = ["primal", "dual"]
            .map(|place| bench.call(&format!("{args} --convex-problems {place}")).json());
        let objective = |json: &Value| json["objective"].as_f64().unwrap();
        assert_eq!(dual["status"], "converged");
        assert!((objective(&primal) - objective(&dual)).abs() <= 0.02 * objective(&primal));
    }
    let several = "train tsvm some.svm --solver cccp --convex-problems dual";
    bench.write("some.svm", "1 1:1\n2 1:2\n3 1:3\n0 1:4\n");
    let refused = bench.call(several);
    assert!(refused.refused().contains("convex problems in the primal"), "{}", refused.stderr);
}

/// From 0 on the ramp is flat at w = 0, which is stationary and useless.
#[test]
fn flat_ramps_start_at_the_svm() {
    let bench = Bench::new();
    let row = |i: usize| format!("{} {}:{}\n", i % 3, i % 3 + 1, 1 + i % 7);
    bench.write("blobs.svm", &(0..60).map(row).collect::<String>());
    for data in ["train.svm", "blobs.svm"] {
        for (ramp, solver) in [("0", "auto"), ("0.3", "auto"), ("0.3", "cccp"), ("0", "nbm")] {
            let args = format!("train ramp-svm {data} --ramp {ramp} --solver {solver} --json");
            let json = bench.call(&format!("{args} --lambda 0.01")).json();
            let most = 0.8 * (1.0 - ramp.parse::<f64>().unwrap());
            assert!(json["objective"].as_f64().unwrap() < most, "{data}, {ramp}, {solver}: {json}");
            let json = bench.call(&format!("{args} --max-evals 3")).json();
            assert!(json["evaluations"].as_u64().unwrap() <= 3, "{json}");
        }
    }
}

#[test]
fn wrong_settings_are_refused() {
    let bench = Bench::new();
    few_labels(&bench);
    let one_class: String = (0..9).map(|i| format!("{} 1:{i}\n", i64::from(i % 2 == 0))).collect();
    bench.write("one.svm", &one_class);
    bench.write("none.svm", "0 1:1\n0 1:2\n0 2:1\n");
    bench.refuses(
        "train ",
        &[
            ("ramp-svm train.svm --ramp 1", "below 1"),
            ("ramp-svm train.svm --ramp nan", "below 1"),
            ("ramp-svm train.svm --lambda -1", "lambda"),
            ("ramp-svm train.svm --lambda 0", "lambda"),
            ("ramp-svm train.svm --bias 1 --bias-weight 0", "positive"),
            ("ramp-svm train.svm --multiclass ovr", "together"),
            ("ramp-svm multiclass.svm --multiclass ovr", "together"),
            ("ramp-svm multilabel.svm", "one label a row"),
            ("ramp-svm train.svm --gamma 1", "goes with tsvm"),
            ("svm train.svm --ramp 0", "goes with ramp-svm"),
            ("tsvm few.svm --gamma -1", "0 or more"),
            ("tsvm few.svm --gamma inf", "0 or more"),
            ("tsvm few.svm --starts 0", "at least 1"),
            ("tsvm few.svm --balance-mean nan", "finite"),
            ("tsvm few.svm --loss hinge", "goes with svm"),
            ("tsvm train.svm", "without a label"),
            ("tsvm one.svm", "one class only"),
        ],
    );
    let called = bench.call("train tsvm none.svm");
    assert_eq!(called.code, 1, "{}", called.stderr);
}
