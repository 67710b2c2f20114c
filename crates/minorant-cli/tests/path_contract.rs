//! The contracts of `path` and `tune`, and of start weights: JSON keys, files, refusals.

mod common;

use common::situations::Data;
use common::{Bench, keys, real};
use serde_json::Value;

#[test]
fn a_path_has_trains_keys_and_errors_and_gaps_in_between() {
    let bench = Bench::new();
    let trained = bench.call("train svm train.svm --json").json();
    let mut expected: Vec<&str> = keys(&trained);
    expected.extend(["train_error", "validation_error"]);
    expected.sort_unstable();
    for (data, validation) in
        [("train.svm", "test.svm"), ("multiclass.svm", "multiclass.svm"), ("multilabel.svm", "")]
    {
        let option = if validation.is_empty() {
            String::new()
        } else {
            format!("--validation {validation}")
        };
        let args = format!("path svm {data} --lambdas 1e-1:1e-3:3 {option} --json --quiet");
        let json = bench.call(&args).json();
        assert_eq!(keys(&json), ["between", "points"]);
        let points = json["points"].as_array().unwrap();
        let between = json["between"].as_array().unwrap();
        // The labels of the other files are all but random: hardly anything changes along their path.
        assert!(data != "train.svm" || points.len() > 3, "points are put in between");
        assert_eq!(between.len() + 1, points.len());
        assert_eq!(real(&points[0], "lambda"), 1e-1);
        assert_eq!(real(&points[points.len() - 1], "lambda"), 1e-3);
        for point in points {
            assert_eq!(keys(point), expected);
            assert_eq!(point["certified"], true, "{point}");
            assert!((0.0..=1.0).contains(&real(point, "train_error")));
            assert_eq!(point["validation_error"].is_null(), validation.is_empty());
        }
        for (at, between) in between.iter().enumerate() {
            assert_eq!(keys(between), ["hi", "lo", "relative_gap"]);
            assert_eq!(between["hi"], points[at]["lambda"]);
            assert_eq!(between["lo"], points[at + 1]["lambda"]);
            assert!(real(between, "relative_gap") <= 3e-3, "{between}");
        }
    }
}

/// Chains, plates and trees of parts keep their planes along λ as rows do.
#[test]
fn structured_models_have_paths() {
    let data = Data::new();
    let bench = &data.bench;
    for model in ["chain-svm", "chain-crf", "segment-svm", "tree-svm"] {
        let (file, _) = Data::usual(model);
        let args = format!("{model} {file} --lambdas 1:0.01:3 --validation {file}");
        let json = bench.call(&format!("path {args} --out-dir {model} --json --quiet")).json();
        let points = json["points"].as_array().unwrap();
        for point in points {
            assert_eq!(point["certified"], true, "{point}");
            assert_eq!(point["train_error"], point["validation_error"]);
            let file_of = format!("{model}/lambda-{:e}.safetensors", real(point, "lambda"));
            let audit = bench.call(&format!("audit {file_of} {file} --json")).json();
            assert_eq!(audit["holds"], true, "{model}");
        }
        for between in json["between"].as_array().unwrap() {
            // The field is smooth: its method keeps no planes, and has no bound over λ.
            let is_known = !between["relative_gap"].is_null();
            assert_eq!(is_known, model != "chain-crf", "{between}");
            assert!(!is_known || real(between, "relative_gap") <= 3e-3, "{model}: {between}");
        }
        let last = &points[points.len() - 1];
        let solver = last["solver"].as_str().unwrap();
        let alone = format!("train {model} {file} --lambda 0.01 --solver {solver} --json");
        let alone = bench.call(&alone).json();
        assert!(real(last, "evaluations") < real(&alone, "evaluations"), "{model}");
        let tuned = bench.call(&format!("tune {args} --json --quiet")).json();
        let least = tuned["points"].as_array().unwrap().iter().map(|p| real(p, "validation_error"));
        let least = least.fold(f64::INFINITY, f64::min);
        let chosen = tuned["points"].as_array().unwrap().iter();
        let chosen = chosen.clone().find(|p| real(p, "validation_error") == least).unwrap();
        assert_eq!(chosen["lambda"], tuned["best_lambda"], "{model}");
        let text = bench.call(&format!("tune {args} --quiet")).text();
        assert!(text.contains("best"), "{text}");
        bench.refuses(
            "",
            &[(&format!("tune {model} {file} --lambdas 1:0.1:2"), "--validation FILE")],
        );
    }
}

/// A model of a structure is a start for another λ, and for no other structure.
#[test]
fn structured_models_start_from_others() {
    let data = Data::new();
    let bench = &data.bench;
    let count = |json: &Value| json["evaluations"].as_u64().unwrap();
    bench.call("generate plates --seed 3 --images 4 --widths 2,3 --out other.npz").text();
    for (model, other, words) in [
        ("chain-svm", "chain-svm letters.data", "expected start weights for these attributes"),
        ("segment-svm", "segment-svm other.npz", "expected start weights for images"),
        ("tree-svm", "segment-svm other.npz", "expected start weights for images"),
    ] {
        let (file, _) = Data::usual(model);
        let train = format!("train {model} {file} --lambda 0.01 --solver prox-bmrm");
        let cold = bench.call(&format!("{train} --out m --json")).json();
        let again = bench.call(&format!("{train} --start m --json")).json();
        assert!(count(&again) < count(&cold), "{model}: {again} {cold}");
        let refused = bench.call(&format!("train {other} --start m"));
        assert!(refused.refused().contains(words), "{}", refused.stderr);
    }
}

#[test]
fn grids_can_be_had_alone_and_models_saved() {
    let bench = Bench::new();
    let json = bench
        .call("path svm train.svm --lambdas 1e-3:1e-1:3 --grid-only --out-dir models --report p.html --validation test.svm --json")
        .json();
    let points = json["points"].as_array().unwrap();
    let lambdas: Vec<f64> = points.iter().map(|point| real(point, "lambda")).collect();
    assert_eq!((lambdas.len(), lambdas[0], lambdas[2]), (3, 1e-1, 1e-3));
    for (point, lambda) in points.iter().zip(lambdas) {
        let file = format!("models/lambda-{lambda:e}.safetensors");
        assert_eq!(bench.call(&format!("audit {file} train.svm --json")).json()["holds"], true);
        for (data, key) in [("train.svm", "train_error"), ("test.svm", "validation_error")] {
            let evaluated = bench.call(&format!("evaluate {file} {data} --json")).json();
            assert_eq!(real(&evaluated, "error"), real(point, key));
        }
    }
    let page = String::from_utf8(bench.read("p.html")).unwrap();
    assert_eq!(page.matches("class=\"chart\"").count(), 3);
    assert!(page.contains("validation") && page.contains("(log scale)"));
    let told = bench.call("path svm train.svm --lambdas 1e-1:1e-3:3 --validation test.svm").stdout;
    assert!(told.contains("the better of the two neighbouring models"), "{told}");
    assert!(told.contains("least validation error"), "{told}");
}

#[test]
fn every_bundle_method_walks_the_path() {
    let bench = Bench::new();
    for solver in ["bmrm", "p-bmrm", "prox-p-bmrm", "ls-bmrm"] {
        let args = format!(
            "path svm multiclass.svm --multiclass ovr --lambdas 1e-1:1e-2:2 --solver {solver} --json"
        );
        let json = bench.call(&args).json();
        assert_eq!(json["points"][0]["solver"], solver);
        assert!(json["between"][0]["relative_gap"].is_number());
    }
}

#[test]
fn the_same_path_with_any_number_of_threads() {
    let bench = Bench::new();
    for threads in [1, 3] {
        bench.call(&format!("path svm multiclass.svm --lambdas 1e-1:1e-3:3 --threads {threads} --out-dir t{threads} --json")).json();
    }
    let names = |dir: &str| {
        let files = std::fs::read_dir(bench.path(dir)).unwrap();
        let mut names: Vec<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names("t1"), names("t3"));
    for name in names("t1") {
        let [one, three] = ["t1", "t3"].map(|dir| bench.read(&format!("{dir}/{name}")));
        assert!(one == three, "{name}");
    }
}

#[test]
fn tune_reports_errors_and_trains_the_best() {
    let bench = Bench::new();
    let args = "tune svm train.svm --lambdas 1:1e-4:5 --cv 4 --out m --json --quiet";
    let json = bench.call(args).json();
    assert_eq!(keys(&json), ["best_lambda", "fold_evaluations", "model", "points"]);
    let points = json["points"].as_array().unwrap();
    assert_eq!(points.len(), 5);
    let least = points.iter().map(|p| real(p, "validation_error")).fold(f64::INFINITY, f64::min);
    let best = points.iter().find(|p| real(p, "validation_error") == least).unwrap();
    assert_eq!(json["best_lambda"], best["lambda"]);
    assert_eq!(json["model"]["lambda"], best["lambda"]);
    assert_eq!(json["model"]["certified"], true);
    for point in points {
        assert_eq!(keys(point), ["fold_errors", "lambda", "standard_error", "validation_error"]);
        assert_eq!(point["fold_errors"].as_array().unwrap().len(), 4);
    }
    let again = bench.call(args).json();
    assert_eq!(again["points"], json["points"], "folds are seeded");
    assert_eq!(bench.call("audit m train.svm --json").json()["holds"], true);
    let told = bench.call("tune svm train.svm --lambdas 1:1e-2:3 --quiet").stdout;
    assert!(told.contains("standard error") && told.contains("best"), "{told}");
}

#[test]
fn wrong_ranges_are_refused() {
    let bench = Bench::new();
    for args in [
        "path svm train.svm",
        "path svm train.svm --lambdas 1:2",
        "path svm train.svm --lambdas a:b:3",
        "path svm train.svm --lambdas 1:2:x",
        "path svm train.svm --lambdas 1:0.1:3 --lambda 1",
        "tune svm train.svm --lambdas 1:0.1:3 --c 1",
        "tune svm train.svm",
        "path logistic train.svm --lambdas 1:0.1:2 --penalty l1",
        "path svm train.svm --lambdas 1:0.1:2 --hidden 3",
    ] {
        assert_eq!(bench.call(args).code, 2, "{args}");
    }
    for (verb, model) in [("path", "ramp-svm"), ("tune", "hmm"), ("path", "neuro-crf")] {
        let refused = bench.call(&format!("{verb} {model} train.svm --lambdas 1:0.1:3"));
        let why =
            format!("{model} has no path over lambda; those that have one are: svm, logistic");
        assert!(refused.code == 2 && refused.stderr.contains(&why), "{}", refused.stderr);
    }
    bench.refuses(
        "",
        &[
            ("path svm train.svm --lambdas 0:1:3", "positive numbers, not 0 and 1"),
            ("path svm train.svm --lambdas 1:0.1:1", "at least 2 points, not 1"),
            ("path svm train.svm --lambdas 1:0.1:2 --validation none.svm", "none.svm"),
            (
                "path svm train.svm --lambdas 1:0.1:2 --report no/r.html",
                "the folder no does not exist",
            ),
            ("tune svm train.svm --lambdas 1:0.1:3 --cv 1 --quiet", "2 to 400 folds"),
            ("tune svm train.svm --lambdas 1:0.1:3 --cv 500 --quiet", "found 500"),
        ],
    );
}

#[test]
fn a_model_can_be_the_start_of_another() {
    let bench = Bench::new();
    let first = bench.call("train svm train.svm --lambda 1e-2 --out m --json").json();
    let again =
        bench.call("train svm train.svm --lambda 1e-2 --solver prox-bmrm --start m --json").json();
    assert!(real(&again, "objective") <= real(&first, "objective"));
    let cold = bench.call("train svm train.svm --lambda 1e-2 --solver prox-bmrm --json").json();
    let count = |json: &Value| json["evaluations"].as_u64().unwrap();
    assert!(count(&again) < count(&cold), "{again} {cold}");
    bench.write("narrow.svm", "1 1:1\n-1 1:-1\n");
    bench.refuses(
        "",
        &[
            (
                "train svm narrow.svm --start m",
                "m: expected start weights for 1 features, found some for 12",
            ),
            ("train svm train.svm --bias 1 --start m", "with a bias, found one with no bias"),
            ("train svm multiclass.svm --start m", "4 classes (1, 2, 3, 4), found 2 classes"),
            ("train svm train.svm --labels multiclass --start m", "2 outputs trained together"),
            ("train svm train.svm --start train.svm", "expected a Minorant model file"),
        ],
    );
}
