//! What the command promises of solvers: that each runs with every model within the limits that it is
//! given, or is refused in one sentence; which keys they add to JSON; and what runs on test problems
//! tell. The lists of solvers and models are the library's own, so that a new one is tried without being
//! named here.

mod common;

use common::situations::Data;
use common::{Bench, DIRECTIONS, SOLVERS, TRAIN_KEYS, keys, real, with_key};
use minorant::family;
use minorant::solver::Method;
use serde_json::Value;

const MOST: u64 = 12;
/// What a run on a test problem has no use for.
const DATA_KEYS: [&str; 3] = ["examples", "features", "load_seconds"];

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

#[test]
fn solvers_that_find_directions_tell_their_steps() {
    let bench = Bench::new();
    for data in ["train.svm", "multiclass.svm", "multilabel.svm"] {
        for solver in DIRECTIONS {
            let args = format!("train svm {data} --lambda 1e-2 --solver {solver} --json");
            let json = bench.call(&args).json();
            assert_eq!(keys(&json), with_key(TRAIN_KEYS, "direction_steps"));
            assert_eq!((&json["certified"], &json["status"]), (&true.into(), &"converged".into()));
        }
    }
    let smooth = bench.call("train logistic train.svm --lambda 1e-2 --solver lbfgs --json").json();
    assert_eq!((keys(&smooth), &smooth["certified"]), (TRAIN_KEYS.to_vec(), &true.into()));
    let refused = bench.call("train svm train.svm --solver lbfgs");
    let sentence = refused.refused();
    assert!(sentence.contains("without kinks") && sentence.contains("sublbfgs"), "{sentence}");
    let memory = "train svm train.svm --solver sublbfgs --memory 0";
    assert!(bench.call(memory).refused().contains("--memory must be at least 1, not 0"));
}

#[test]
fn test_problems_are_minimised() {
    let bench = Bench::new();
    let plain = TRAIN_KEYS.into_iter().filter(|key| !DATA_KEYS.contains(key));
    let json = bench.call("minimize abs-toy --solver subbfgs --trace t.jsonl --json").json();
    assert_eq!(keys(&json), with_key(plain.clone(), "direction_steps"));
    assert_eq!((&json["model"], &json["dim"]), (&"abs-toy".into(), &2.into()));
    assert_eq!((real(&json, "objective"), real(&json, "lambda")), (0.0, 0.0));
    assert!(json["lower_bound"].is_null() && json["certified"] == false);
    assert!(bench.read("t.jsonl").starts_with(b"{"));
    let json = bench.call("minimize abs-toy --solver lbfgs --json").json();
    assert_eq!(keys(&json), plain.collect::<Vec<_>>());
    assert_eq!(json["status"], "stalled");
    let args = "minimize chained-mifflin2 --dim 100 --lambda 0.5 --convex --solver bmrm --json";
    let json = bench.call(args).json();
    assert_eq!((&json["certified"], &json["dim"]), (&true.into(), &100.into()));
    assert!(real(&json, "lower_bound") <= -8.166666 && real(&json, "objective") >= -8.166667);
    assert!(bench.call("minimize hul --lambda 1").stdout.contains("certified: no weights"));
    bench.refuses(
        "",
        &[
            ("minimize chained-mifflin2 --lambda 0.5 --solver bmrm", "counts as non-convex"),
            ("minimize chained-crescent2 --lambda 0.5 --convex", "is not convex"),
            ("minimize wolfe --dim 3", "wolfe has two dimensions, not 3"),
            ("minimize chained-mifflin2 --dim 1", "at least 2"),
            ("minimize abs-toy --lambda -1", "lambda must be a positive number"),
            ("minimize abs-toy --solver bmrm", "lambda above 0"),
            ("minimize abs-toy --tol -1", "--tol must be a number of 0 or more, not -1"),
        ],
    );
    assert_eq!(bench.call("minimize rosenbrock").code, 2);
}

#[test]
fn evaluations_never_exceed_their_limit() {
    let bench = Bench::new();
    for solver in SOLVERS.into_iter().chain(DIRECTIONS) {
        for most in [1, 2, 3, 4, 7] {
            let args = format!(
                "train svm train.svm --lambda 1e-4 --tol 1e-9 --solver {solver} --max-evals {most} --json"
            );
            let json = bench.call(&args).json();
            assert!(json["evaluations"].as_u64().unwrap() <= most, "{json}");
            assert_eq!(json["status"], "max-evals");
            assert_eq!(json["certified"], false);
        }
    }
    let json = bench
        .call("train svm multiclass.svm --multiclass ovr --tol 1e-9 --max-evals 9 --json")
        .json();
    assert!(json["evaluations"].as_u64().unwrap() <= 9, "{json}");
}

#[test]
fn solvers_are_looked_up_in_the_models_own_table() {
    let bench = Bench::new();
    bench.call("generate moons --examples 24 --labeled 4 --out moons.svm").text();
    bench.call("generate plates --images 4 --out plates.npz").text();
    bench.call("generate parts --images 3 --out parts.npz").text();
    bench.call("generate phones --sequences 12 --out phones.npz").text();
    bench.write("words.txt", &"a x A\nb y B\nc x A\n\nb x B\na y A\n\n".repeat(3));
    // For each model options with which, one or the other, every solver of its table runs.
    let models: [(&str, &[&str], &[&str]); 13] = [
        (
            "svm train.svm",
            &["", "--loss squared-hinge", "--loss squared-hinge --nonnegative"],
            &["pdm", "cccp", "bcfw", "owlqn"],
        ),
        ("logistic train.svm", &["", "--penalty l1"], &["dual-cd", "cccp", "bb"]),
        ("ramp-svm train.svm", &[""], &["bmrm", "lbfgs", "pdm"]),
        ("tsvm moons.svm", &[""], &["ls-bmrm", "sgd", "ao"]),
        ("chain-svm words.txt --format conll", &[""], &["ls-bmrm", "lbfgs", "dual-cd"]),
        ("chain-crf words.txt --format conll", &["", "--penalty l1"], &["bcfw", "newton-cd"]),
        ("neuro-crf words.txt --hidden 2 --pretrain none", &[""], &["bmrm", "bcfw"]),
        ("segment-svm plates.npz", &[""], &["lbfgs", "hybrid"]),
        ("tree-svm parts.npz", &[""], &["lbfgs", "subgd"]),
        ("hmm phones.npz --task label", &[""], &["bmrm", "lbfgs"]),
        ("s3vm moons.svm", &[""], &["bmrm", "subgd"]),
        ("latent-svm train.svm --kernel linear", &[""], &["bb", "bmrm"]),
        ("robust-svm train.svm --kernel linear", &[""], &["bb", "gd"]),
    ];
    for (model, options, others) in models {
        let name = model.split(' ').next().unwrap();
        let run = bench.call(&format!("train {model} --solver nosuch"));
        let expected =
            format!("--solver 'nosuch' does not exist for {name}; its solvers are: auto, ");
        let table = run.unparsed().strip_prefix(&expected).unwrap_or_else(|| panic!("{model}"));
        for solver in std::iter::once("auto").chain(table.split(", ")) {
            let runs = |options: &&str| {
                let line =
                    format!("train {model} {options} --solver {solver} --max-evals 9 --json");
                bench.call(&line).code == 0
            };
            assert!(options.iter().any(runs), "{name} lists {solver}");
        }
        for other in others {
            let run = bench.call(&format!("train {model} --solver {other}"));
            assert!(run.unparsed().ends_with(table), "{name}, {other}: {}", run.stderr);
        }
        let run = bench.call(&format!("compare {model} --solvers auto,{}", others[0]));
        assert!(run.unparsed().ends_with(table), "{name}: {}", run.stderr);
    }
    for verb in ["path", "tune"] {
        let run = bench.call(&format!("{verb} svm train.svm --lambdas 1:0.1:2 --solver pdm"));
        assert!(
            run.unparsed().contains("'pdm' does not exist for svm; its solvers are: auto, bmrm")
        );
    }
    // What the table has but this problem cannot run is another matter.
    let run = bench.call("train svm train.svm --solver lbfgs");
    assert!(run.refused().contains("use one of: auto, bmrm"), "{}", run.stderr);
    let run = bench.call("compare logistic train.svm --solvers bmrm,owlqn --quiet");
    assert!(run.refused().contains("owlqn needs the penalty l1"), "{}", run.stderr);
}

#[test]
fn logistic_regression_with_the_l1_penalty() {
    let bench = Bench::new();
    let train = "train logistic train.svm --penalty l1 --lambda 0.02";
    for solver in ["auto", "newton-cd", "owlqn", "owlqn-star"] {
        let json = bench.call(&format!("{train} --solver {solver} --out m --json")).json();
        let more = with_key(TRAIN_KEYS, "direction_steps");
        assert_eq!(keys(&json), if solver == "owlqn-star" { more } else { TRAIN_KEYS.to_vec() });
        assert_eq!((&json["certified"], &json["status"]), (&true.into(), &"converged".into()));
        assert!(
            (real(&json, "regularizer") + real(&json, "risk") - real(&json, "objective")).abs()
                < 1e-14
        );
        assert_eq!(bench.call("audit m train.svm --json").json()["holds"], true);
        let seen = bench.call("inspect m --json").json();
        assert_eq!(seen["penalty"], "l1");
        let nonzero = seen["nonzero_weights"].as_u64().unwrap();
        assert!(0 < nonzero && nonzero < 12, "{nonzero} weights");
        let text = bench.call(&format!("{train} --solver {solver}")).stdout;
        assert!(text.contains(&format!("non-zeros     {nonzero} of 12 weights")), "{text}");
        for most in [1, 2, 3, 5] {
            let args = format!("{train} --solver {solver} --tol 1e-12 --max-evals {most} --json");
            assert!(bench.call(&args).json()["evaluations"].as_u64().unwrap() <= most);
        }
    }
    let sentence = bench.call(&format!("{train} --solver bmrm")).refused().to_string();
    assert!(sentence.contains("quadratic regularizer") && sentence.contains("newton-cd"));
    let sentence = bench.call("train logistic train.svm --solver owlqn").refused().to_string();
    assert!(sentence.contains("the penalty l1") && sentence.contains("ls-p-bmrm"));
}
