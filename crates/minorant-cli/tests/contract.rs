//! The command's contracts: JSON keys, exit codes, files, and what it prints. What others rely on from
//! outside.

mod common;

use common::{Bench, DIRECTIONS, SOLVERS, TRAIN_KEYS, WITH_ITERATION_BOUND, keys, real, with_key};
use serde_json::Value;

#[test]
fn train_prints_the_keys_and_numbers_that_it_promises() {
    let bench = Bench::new();
    for solver in SOLVERS {
        let run =
            bench.call(&format!("train svm train.svm --lambda 1e-2 --solver {solver} --json"));
        let json = run.json();
        let has_bound = WITH_ITERATION_BOUND.contains(&solver);
        let more = with_key(TRAIN_KEYS, "iteration_bound");
        assert_eq!(keys(&json), if has_bound { more } else { TRAIN_KEYS.to_vec() });
        assert!(!has_bound || json["iteration_bound"].as_f64() >= json["iterations"].as_f64());
        assert_eq!((&json["model"], &json["solver"]), (&"svm".into(), &solver.into()));
        assert_eq!(
            (&json["examples"], &json["features"], &json["dim"]),
            (&400.into(), &12.into(), &12.into())
        );
        let (objective, bound, gap) =
            (real(&json, "objective"), real(&json, "lower_bound"), real(&json, "gap"));
        assert!(bound <= objective && (objective - bound - gap).abs() < 1e-15);
        assert!((real(&json, "relative_gap") - gap / objective).abs() < 1e-15);
        assert!((real(&json, "regularizer") + real(&json, "risk") - objective).abs() < 1e-14);
        assert_eq!(
            (&json["certified"], &json["status"], &json["local_gap"]),
            (&true.into(), &"converged".into(), &Value::Null)
        );
        assert!(real(&json, "relative_gap") <= 1e-3);
    }
}

#[test]
fn lambda_defaults_to_c_of_one_and_c_is_liblinears() {
    let bench = Bench::new();
    let default = bench.call("train svm train.svm --json").json();
    assert_eq!(real(&default, "lambda"), 1.0 / 400.0);
    let c = bench.call("train svm train.svm --c 0.5 --json").json();
    assert_eq!(real(&c, "lambda"), 1.0 / 200.0);
    bench.write("weights.txt", &"2\n".repeat(400));
    let weighted = bench.call("train svm train.svm --weights weights.txt --json").json();
    assert_eq!(real(&weighted, "lambda"), 1.0 / 800.0);
}

#[test]
fn words_that_cannot_be_parsed_exit_with_2() {
    let bench = Bench::new();
    for args in [
        "frobnicate",
        "train",
        "train svn train.svm",
        "train svm train.svm --solver gauss",
        "train svm train.svm --lambda much",
        "train svm train.svm --tolerance 1",
        "train svm train.svm --lambda 1 --c 1",
        "compare svm train.svm --solvers bmrm,gauss",
    ] {
        let run = bench.call(args);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args}: {}", run.stderr);
    }
}

#[test]
fn the_help_of_made_up_data_shows_its_own_kind() {
    let bench = Bench::new();
    for kind in ["plates", "parts", "phones", "moons", "spirals"] {
        let help = bench.call(&format!("generate {kind} --help")).text();
        let (_, examples) = help.split_once("Example").unwrap();
        let own = examples.lines().skip(1).all(|line| line.contains(&format!("generate {kind} ")));
        assert!(own, "{kind}: {examples}");
    }
}

#[test]
fn values_out_of_range_and_bad_files_exit_with_1_and_one_sentence() {
    let bench = Bench::new();
    bench.write("bad.svm", "1 1:1\n-1 2:1 2:3\n");
    bench.write("short.txt", "1\n2\n");
    bench.write("words.txt", "1\nmany\n");
    bench.write("delta.txt", "0 1\n1 0\n");
    bench.refuses(
        "",
        &[
            ("train svm train.svm --lambda 0", "lambda must be a positive number"),
            ("train svm train.svm --lambda -1", "lambda must be a positive number"),
            ("train svm train.svm --lambda nan", "--lambda must be a finite number, not NaN"),
            ("train svm train.svm --c 0", "--c must be a positive number, not 0"),
            ("train svm train.svm --tol -1", "--tol must be a number of 0 or more, not -1"),
            ("train svm train.svm --max-evals 0", "--max-evals must be at least 1, not 0"),
            ("train svm train.svm --threads 0", "--threads must be from 1 to 1024, not 0"),
            ("train svm train.svm --threads 5000", "--threads must be from 1 to 1024, not 5000"),
            ("train svm train.svm --memory 2 --solver lm-bmrm", "at least 3 planes"),
            ("train svm train.svm --parts 0 --solver ls-p-bmrm", "parts must be at least 1"),
            (
                "train svm train.svm --parts 4 --solver bmrm",
                "bmrm has no use for the setting parts",
            ),
            ("train svm train.svm --bias-weight 1", "--bias-weight needs bias, which is not given"),
            (
                "train svm train.svm --bias 1 --bias-weight 0",
                "--bias-weight must be a positive number, not 0",
            ),
            ("train svm train.svm --class-weight 5=2", "label 5, which no row has"),
            ("train svm train.svm --weights short.txt", "expected 400 example weights"),
            (
                "train svm train.svm --weights words.txt",
                "words.txt:2: expected a number, found 'many'",
            ),
            (
                "train svm train.svm --labels multiclass --multiclass ovr --label-loss delta.txt",
                "label loss",
            ),
            ("train svm multiclass.svm --label-loss delta.txt", "4 x 4"),
            ("train svm multiclass.svm --labels binary", "two"),
            (
                "train svm multiclass.svm --loss squared-hinge",
                "more of them go with multiclass ovr",
            ),
            ("train logistic multilabel.svm", "train svm"),
            ("train logistic train.svm --loss squared-hinge", "--loss goes with svm"),
            ("train logistic train.svm --loss hinge", "--loss goes with svm"),
            ("train svm multiclass.svm --multiclass ovr --max-evals 3", "at least 4 evaluations"),
            ("train svm bad.svm", "bad.svm:2:"),
            ("train svm nowhere.svm", "nowhere.svm"),
            ("predict train.svm test.svm", "train.svm: expected a Minorant model file"),
            ("train svm train.svm --resume train.svm", "expected a Minorant checkpoint file"),
            (
                "train svm train.svm --out no/such/folder/model",
                "no/such/folder/model: the folder no/such/folder does not exist",
            ),
            ("train svm train.svm --trace train.svm/t", "train.svm/t: train.svm is not a folder"),
            ("train svm train.svm --checkpoint no/c", "no/c: the folder no does not exist"),
            ("train svm train.svm --proof .", ".: is a directory"),
            ("compare svm train.svm --solvers bmrm --report .", ".: is a directory"),
        ],
    );
}

#[test]
fn a_model_predicts_evaluates_audits_and_inspects() {
    let bench = Bench::new();
    for (data, model) in [
        ("train.svm", "svm"),
        ("multiclass.svm", "svm"),
        ("multilabel.svm", "svm"),
        ("multiclass.svm", "logistic"),
    ] {
        bench.call(&format!("train {model} {data} --lambda 1e-2 --bias 1 --out m --json")).json();
        let text = bench.call(&format!("predict m {data}"));
        let json = bench.call(&format!("predict m {data} --json --scores")).json();
        let labels = json["labels"].as_array().unwrap();
        assert_eq!(text.stdout.lines().count(), labels.len());
        for (line, label) in text.stdout.lines().zip(labels) {
            let named = match label {
                Value::Array(set) => set.iter().map(Value::to_string).collect::<Vec<_>>().join(","),
                label => label.to_string(),
            };
            assert_eq!(line, named);
        }
        let scores = bench.call(&format!("predict m {data} --scores"));
        let first: Vec<&str> = scores.stdout.lines().next().unwrap().split('\t').collect();
        assert_eq!(first.len() - 1, json["scores"][0].as_array().unwrap().len());
        let evaluation = bench.call(&format!("evaluate m {data} --json")).json();
        let error = real(&evaluation, "error");
        assert!((0.0..=1.0).contains(&error));
        assert_eq!(evaluation["subset_error"].is_null(), data != "multilabel.svm");
        let audit = bench.call(&format!("audit m {data} --json"));
        let audit = audit.json();
        assert_eq!(keys(&audit), ["holds", "lower_bound", "objective", "why"]);
        assert_eq!(audit["holds"], true, "{audit}");
        let inspected = bench.call("inspect m --json").json();
        assert_eq!((&inspected["kind"], &inspected["auditable"]), (&"model".into(), &true.into()));
    }
    assert_eq!(bench.call("inspect train.svm --json").json()["examples"], 400);
}

#[test]
fn an_audit_that_does_not_hold_exits_with_1_and_says_why() {
    let bench = Bench::new();
    bench.call("train svm train.svm --out m --json").json();
    let run = bench.call("audit m test.svm --json");
    assert_eq!(run.code, 1);
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json["holds"], false);
    assert!(run.stderr.contains("not the data that the model was trained on"));
    let mut bytes = bench.read("m");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(bench.path("m"), bytes).unwrap();
    assert!(bench.call("audit m train.svm").refused().contains("SHA-256"));
}

#[test]
fn proofs_can_stand_in_a_file_of_their_own() {
    let bench = Bench::new();
    bench.call("train svm train.svm --out m --proof p --json").json();
    assert!(bench.call("audit m train.svm").unchecked().contains("not auditable"));
    assert_eq!(bench.call("audit m train.svm --proof p --json").json()["holds"], true);
}

#[test]
fn columns_beyond_the_models_are_ignored_and_counted() {
    let bench = Bench::new();
    bench.call("train svm train.svm --out m --json").json();
    bench.write("wide.svm", "1 1:1 99:5 100:2\n-1 1:-1\n");
    let run = bench.call("predict m wide.svm");
    assert_eq!((run.code, run.stdout.lines().count()), (0, 2));
    assert!(run.stderr.contains("2 non-zero entries"), "{}", run.stderr);
}

#[test]
fn indices_however_high_are_ignored_at_prediction() {
    let bench = Bench::new();
    bench.call("train svm train.svm --out m --json").json();
    bench.write("high.svm", "1 1:1 99:5 2000000000:1 9000000000:2\n-1 1:-1\n");
    let run = bench.call("predict m high.svm");
    assert_eq!((run.code, run.stdout.lines().count()), (0, 2));
    assert!(run.stderr.contains("3 non-zero entries"), "{}", run.stderr);
}

#[test]
fn tables_without_labels_keep_their_last_feature() {
    let bench = Bench::new();
    bench.write("train.csv", "1,2,0\n2,1,1\n0,3,0\n3,0,1\n");
    bench.call("train svm train.csv --out m --json").json();
    bench.write("bare.csv", "1,2\n2,1\n");
    bench.write("whole.csv", "1,2,0\n2,1,1\n");
    bench.write("named.csv", "a,b\n1,2\n2,1\n");
    bench.write("short.csv", "a,label\n1,0\n");
    let expected = bench.call("predict m whole.csv --scores").stdout;
    assert_eq!(expected.lines().count(), 2);
    for file in ["bare.csv", "named.csv"] {
        let run = bench.call(&format!("predict m {file} --scores"));
        assert_eq!((run.code, &run.stdout, run.stderr.as_str()), (0, &expected, ""), "{file}");
    }
    assert!(bench.call("evaluate m bare.csv").refused().contains("no labels"));
    let run = bench.call("predict m short.csv");
    assert!(run.refused().contains("short.csv: expected the model's 2 feature columns"));
}

#[test]
fn traces_have_a_line_per_iteration() {
    let bench = Bench::new();
    let json = bench
        .call("train svm train.svm --solver ls-bmrm --trace t.jsonl --report r.html --json")
        .json();
    let text = String::from_utf8(bench.read("t.jsonl")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len() as u64, json["iterations"].as_u64().unwrap());
    let expected = [
        "best_objective",
        "evaluations",
        "gap",
        "iteration",
        "lower_bound",
        "master_seconds",
        "objective",
        "planes",
        "seconds",
        "step",
        "step_length",
    ];
    for (i, line) in lines.iter().enumerate() {
        assert_eq!(keys(line), expected);
        assert_eq!(line["iteration"], i);
    }
    let page = String::from_utf8(bench.read("r.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("ls-bmrm"));
}

#[test]
fn comparisons_give_one_run_per_solver_and_a_page() {
    let bench = Bench::new();
    let json =
        bench.call("compare svm train.svm --solvers bmrm,ls-p-bmrm --report r.html --json").json();
    let runs = json["runs"].as_array().unwrap();
    assert_eq!(
        runs.iter().map(|run| run["solver"].as_str().unwrap()).collect::<Vec<_>>(),
        ["bmrm", "ls-p-bmrm"]
    );
    assert_eq!(keys(&runs[0]), with_key(TRAIN_KEYS, "iteration_bound"));
    assert_eq!(keys(&runs[1]), TRAIN_KEYS);
    assert!(!bench.read("r.html").is_empty());
}

#[test]
fn the_same_file_byte_for_byte_with_any_number_of_threads() {
    let bench = Bench::new();
    for data in ["train.svm", "multiclass.svm", "multilabel.svm"] {
        for solver in SOLVERS.into_iter().chain(DIRECTIONS) {
            for threads in [1, 2, 3, 8] {
                bench.call(&format!("train svm {data} --solver {solver} --threads {threads} --out m{threads} --json")).json();
            }
            let first = bench.read("m1");
            assert!(
                [2, 3, 8].iter().all(|t| bench.read(&format!("m{t}")) == first),
                "{data} {solver}"
            );
        }
    }
}

#[test]
fn output_paths_are_checked_before_the_data_is_read() {
    let bench = Bench::new();
    for flag in ["--out", "--proof", "--trace", "--report", "--checkpoint"] {
        let run = bench.call(&format!("train svm nowhere.svm {flag} no/file"));
        assert_eq!(run.refused(), "no/file: the folder no does not exist", "{flag}");
    }
}

#[test]
fn a_cause_is_told_once() {
    let bench = Bench::new();
    for args in
        ["train svm nowhere", "predict nowhere train.svm", "train svm train.svm --weights nowhere"]
    {
        let run = bench.call(args);
        assert_eq!(run.refused(), "nowhere: No such file or directory (os error 2)", "{args}");
    }
}

#[test]
fn help_says_what_it_is_for_and_models_know_their_penalty() {
    let bench = Bench::new();
    let help = bench.call("--help").stdout;
    let opening = "Trains models whose objective has kinks, and proves how good the answer is";
    assert!(help.starts_with(opening), "{help}");
    bench.call("train logistic train.svm --penalty l2 --json").json();
    assert_eq!(bench.call("train logistic train.svm --penalty l3").code, 2);
    let why = "--penalty goes with logistic and chain-crf, not with svm";
    assert_eq!(bench.call("train svm train.svm --penalty l2").refused(), why);
}

#[test]
fn manual_pages_and_completions_know_every_command() {
    let bench = Bench::new();
    let page = bench.call("man").text();
    assert!(page.contains(".SH SYNOPSIS"), "{page}");
    assert_eq!(bench.call("man --dir pages").code, 0);
    for shell in ["bash", "zsh", "fish"] {
        let completions = bench.call(&format!("completions {shell}")).text();
        for verb in ["train", "predict", "audit", "path"] {
            assert!(completions.contains(verb), "{shell}: {verb}");
            let page = bench.read(&format!("pages/minorant-{verb}.1"));
            let page = String::from_utf8_lossy(&page);
            // The verbs that name a model list them; each model has its examples on its own page.
            let expected = if ["train", "path"].contains(&verb) { "Models" } else { "Example" };
            assert!(page.contains(expected), "{verb}: {page}");
        }
    }
    for entry in minorant::family::models() {
        let page = bench.read(&format!("pages/minorant-train-{}.1", entry.model.name));
        assert!(String::from_utf8_lossy(&page).contains("Example"), "{}", entry.model.name);
    }
    bench.write("taken", "");
    let run = bench.call("man --dir taken");
    assert!(run.refused().starts_with("writing manual pages to taken: "), "{}", run.stderr);
}

#[test]
fn tiny_objectives_keep_their_digits() {
    let bench = Bench::new();
    bench.write("apart.svm", "1 1:1\n-1 1:-1\n");
    let run = bench.call("train svm apart.svm --lambda 1e-12 --tol 1e-6 --out m");
    for text in [run.stdout, bench.call("inspect m").stdout] {
        assert!(text.contains("objective     5.0000000") && text.contains("e-13"), "{text}");
        assert!(text.contains("lambda 1e-12") && !text.contains("0.000000000"), "{text}");
    }
    let table = bench.call("compare svm apart.svm --lambda 1e-12 --solvers ls-bmrm").stdout;
    assert!(table.contains("5.00000"), "{table}");
}

#[test]
fn a_run_that_rounding_stops_hints_at_a_remedy() {
    let bench = Bench::new();
    let run = bench.call("train svm train.svm --tol 0 --abs-tol 0 --quiet --json");
    assert_eq!(run.json()["status"], "stalled");
    assert!(run.stderr.contains("scale the features or raise lambda"), "{}", run.stderr);
}

#[test]
fn one_class_is_called_that() {
    let bench = Bench::new();
    bench.write("one.svm", "1 1:1\n1 2:1\n");
    assert!(bench.call("inspect one.svm").stdout.contains("labels        one class\n"));
    assert_eq!(bench.call("inspect one.svm --json").json()["labels"], "one class");
}

#[test]
fn several_files_are_one_data_set() {
    let bench = Bench::new();
    let json = bench.call("train svm train.svm test.svm --json").json();
    assert_eq!(json["examples"], 500);
}
