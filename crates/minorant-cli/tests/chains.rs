//! Models of sequences on the command line: from columns to a certified model, its predictions,
//! its evaluation and its audit; and what is refused.

mod common;

use common::Bench;
use std::fmt::Write;

/// Sentences of a made-up language: the label follows from the word and the label before.
fn sentences(count: usize, seed: u64) -> String {
    let mut state = seed;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let mut text = String::new();
    for _ in 0..count {
        let mut inside = false;
        for _ in 0..3 + next(6) {
            let word = next(8);
            let label = match (word, inside) {
                (0..=2, _) => "B-X",
                (3..=4, true) => "I-X",
                _ => "O",
            };
            inside = label != "O";
            let noisy = if next(12) == 0 { "O" } else { label };
            writeln!(text, "w{word} p{} {noisy}", word % 3).unwrap();
        }
        text.push('\n');
    }
    text
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("train.txt", &sentences(60, 1));
    bench.write("test.txt", &sentences(20, 2));
    bench
}

#[test]
fn chains_train_predict_evaluate_and_hold() {
    let bench = bench();
    for (model, extra) in [
        ("chain-svm", "--pairs all"),
        ("chain-svm", "--pairs observed --boundary --bias 1 --solver bmrm"),
        ("chain-crf", "--pairs observed --per token --solver bmrm"),
        ("chain-crf", "--boundary --bias 1"),
    ] {
        let line =
            format!("train {model} train.txt --lambda 0.1 --tol 1e-2 --json --out m.st {extra}");
        let report = bench.call(&line).json();
        assert_eq!(report["certified"], true, "{line}: {report}");
        assert_eq!(report["examples"], 60);
        let evaluation = bench.call("evaluate m.st test.txt --json").json();
        assert!(evaluation["error"].as_f64().unwrap() < 0.3, "{evaluation}");
        assert!(evaluation["chunk_f1"].as_f64().unwrap() > 0.5, "{evaluation}");
        let audit = bench.call("audit m.st train.txt --json").json();
        assert_eq!(audit["holds"], true, "{line}: {audit}");
        assert!(bench.call("audit m.st test.txt").refused().contains("not the data"));
        let inspected = bench.call("inspect m.st --json").json();
        assert_eq!((&inspected["model"], &inspected["auditable"]), (&model.into(), &true.into()));
    }
}

#[test]
fn predictions_have_a_line_for_each_token() {
    let bench = bench();
    bench.call("train chain-crf train.txt --lambda 0.1 --tol 0.1 --quiet --out m.st");
    let plain = bench.call("predict m.st test.txt").stdout;
    let columns = bench.call("predict m.st test.txt --columns").stdout;
    let input = sentences(20, 2);
    for ((line, label), tagged) in input.trim_end().lines().zip(plain.lines()).zip(columns.lines())
    {
        assert_eq!(line.is_empty(), label.is_empty());
        if !line.is_empty() {
            assert_eq!(tagged, format!("{line}\t{label}"));
        }
    }
    let marginals = bench.call("predict m.st test.txt --marginals").stdout;
    let cells: Vec<f64> =
        marginals.lines().next().unwrap().split('\t').skip(1).map(|p| p.parse().unwrap()).collect();
    assert!((cells.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    let labels = bench.call("predict m.st test.txt --json").json();
    assert_eq!(labels["labels"].as_array().unwrap().len(), 20);
    // Words that the model has not seen, and no labels.
    bench.write("unseen.txt", "zz p9\nzz p8\n");
    assert_eq!(bench.call("predict m.st unseen.txt").stdout.lines().count(), 2);
}

#[test]
fn solvers_are_compared_on_chains_and_the_penalty_l1_is_certified() {
    let bench = bench();
    let line = "compare chain-svm train.txt --lambda 0.1 --tol 1e-2 --solvers bcfw,bmrm --json";
    let compared = bench.call(&format!("{line} --report r.html")).json();
    let runs = compared["runs"].as_array().unwrap();
    assert_eq!((&runs[0]["solver"], &runs[1]["solver"]), (&"bcfw".into(), &"bmrm".into()));
    assert!(runs.iter().all(|run| run["certified"] == true), "{compared}");
    assert!(bench.read("r.html").starts_with(b"<!"));
    let line = "train chain-crf train.txt --penalty l1 --lambda 0.02 --tol 1e-3 --json --out m.st";
    let report = bench.call(line).json();
    assert_eq!(report["certified"], true, "{report}");
    let inspected = bench.call("inspect m.st --json").json();
    assert!(inspected["nonzero_weights"].as_u64() < report["dim"].as_u64(), "{inspected}");
    assert_eq!(bench.call("audit m.st train.txt --json").json()["holds"], true);
}

#[test]
fn one_label_and_empty_sequences_are_no_trouble() {
    let bench = Bench::new();
    bench.write("one.txt", "a X\nb X\n\n\n\nc X\n");
    for model in ["chain-svm", "chain-crf"] {
        let line = format!("train {model} one.txt --lambda 0.1 --json --out m.st");
        let report = bench.call(&line).json();
        // The objective is 0, to which no gap is small.
        assert_eq!((&report["examples"], &report["status"]), (&2.into(), &"converged".into()));
        assert_eq!(bench.call("predict m.st one.txt").stdout, "X\nX\n\nX\n");
        let told = bench.call(&format!("train {model} one.txt --lambda 0.1")).text();
        let seen = bench.call("inspect m.st").text();
        for text in [told, seen] {
            let gap = text.lines().find(|line| line.starts_with("gap")).unwrap();
            assert!(!text.contains("inf") && !text.contains("NaN"), "{text}");
            assert!(gap.ends_with(|last: char| last.is_ascii_digit() || last == '%'), "{gap}");
        }
    }
}

#[test]
fn the_same_bytes_on_any_number_of_threads_and_after_a_resume() {
    let bench = bench();
    let train = |extra: &str| {
        let line = format!(
            "train chain-svm train.txt --lambda 0.01 --tol 1e-3 --quiet --out m.st {extra}"
        );
        let called = bench.call(&line);
        assert_eq!(called.code, 0, "{}", called.stderr);
        std::fs::read(bench.path("m.st")).unwrap()
    };
    let whole = train("--threads 1");
    assert!(whole == train("--threads 3"));
    train("--max-evals 6 --checkpoint run.ckpt");
    assert!(whole == train("--resume run.ckpt"));
}

#[test]
fn weights_of_sequences_equal_repetition_and_are_audited() {
    let bench = bench();
    let text = sentences(60, 1);
    let times = |i: usize| [1, 2, 3, 0][i % 4];
    let repeated = text.trim_end().split("\n\n").enumerate();
    let repeated = repeated.map(|(i, sentence)| format!("{sentence}\n\n").repeat(times(i)));
    bench.write("often.txt", &repeated.collect::<String>());
    bench.write("w", &(0..60).map(|i| format!("{}\n", times(i))).collect::<String>());
    bench.write("other", &"1\n".repeat(60));
    // Words by themselves, so that no attribute is seen in the left out sentences only.
    bench.write("t", "w=%x[0,0]\n");
    for (model, extra) in [
        ("chain-svm", "--pairs observed"),
        ("chain-crf", "--per token"),
        ("chain-crf", "--penalty l1"),
    ] {
        let line = |data: &str| {
            format!("train {model} {data} --template t --tol 1e-9 --json --out m.st {extra}")
        };
        let often = bench.call(&line("often.txt")).json();
        let once = bench.call(&line("train.txt --weights w --checkpoint run.ckpt")).json();
        assert_eq!((&once["examples"], &once["dim"]), (&60.into(), &often["dim"]));
        for key in ["lambda", "objective"] {
            let (a, b) = (once[key].as_f64().unwrap(), often[key].as_f64().unwrap());
            assert!((a - b).abs() <= 2e-9 * b, "{model} {extra} {key}: {a} is not {b}");
        }
        let audit = bench.call("audit m.st train.txt --weights w --json").json();
        assert_eq!(audit["holds"], true, "{audit}");
        for wrong in ["audit m.st train.txt", "audit m.st train.txt --weights other"] {
            assert!(bench.call(wrong).refused().contains("example weights"));
        }
        let resumed = line("train.txt --weights other --resume run.ckpt");
        assert!(bench.call(&resumed).refused().contains("with the same data"));
    }
    let compared =
        "compare chain-svm train.txt --weights w --template t --solvers bcfw,bmrm --json";
    assert_eq!(bench.call(compared).json()["runs"][0]["lambda"], 1.0 / 90.0);
}

#[test]
fn what_does_not_fit_is_refused() {
    let bench = bench();
    bench.write("broken.txt", "a b\nc d e\n");
    bench.write("short", "1\n2\n");
    bench.write("negative", &format!("1\n-2\n{}", "1\n".repeat(58)));
    bench.write("none", &"0\n".repeat(60));
    bench.write("nan", "nan\n");
    bench.write("letters.crf", "A\tw=a\tn:2\nB\tw=b\n");
    bench.write("t", "U:%x[0,0]\n");
    bench.refuses(
        "",
        &[
            ("train chain-svm broken.txt", "broken.txt:2: expected 2 columns"),
            (
                "train chain-svm train.txt --penalty l1",
                "--penalty goes with logistic and chain-crf, not with chain-svm",
            ),
            (
                "train chain-svm train.txt --loss hinge",
                "--loss goes with svm, regression and segment-svm, not with",
            ),
            (
                "train svm train.svm --boundary",
                "goes with chain-svm, chain-crf, chain-tsvm and neuro-crf, not",
            ),
            (
                "train svm train.svm --folds 0-7",
                "goes with chain-svm, chain-crf, chain-tsvm and neuro-crf, not",
            ),
            ("train chain-crf train.txt --solver owlqn", "owlqn needs the penalty l1"),
            (
                "train chain-crf letters.crf --format crfsuite --template t",
                "which a template goes with",
            ),
            ("train chain-crf letters.crf --template t", "found the format crfsuite"),
            ("train neuro-crf train.txt --format conll --folds 0-7", "which folds go with"),
            (
                "train chain-svm train.txt --folds 8",
                "train.txt: expected letters of the format ocr",
            ),
            ("train chain-crf train.txt --hash-bits 40", "from 1 to 28"),
            (
                "train chain-svm train.txt --weights short",
                "expected 60 example weights, one a sequence",
            ),
            ("train chain-crf train.txt --weights negative", "found -2 for sequence 2"),
            ("train chain-svm train.txt --weights none", "expected some example weight above 0"),
            ("train chain-crf train.txt --weights nan", "nan:1: expected a number, found 'nan'"),
            (
                "train chain-crf train.txt --class-weight O=2",
                "ramp-svm and tsvm, not with chain-crf",
            ),
        ],
    );
    assert_eq!(bench.call("train chain-x train.txt").code, 2);
}

/// Sequences of which some have no labels: the run ends with a local gap and no bound, lowers the
/// objective of its start, and the file predicts, loads and is no claim; what is half labelled is refused.
#[test]
fn sequences_without_labels_are_learned_from() {
    let bench = bench();
    let unlabelled: String = sentences(40, 9)
        .lines()
        .map(|line| match line.rsplit_once(' ') {
            Some((token, _)) => format!("{token} ?\n"),
            None => "\n".into(),
        })
        .collect();
    bench.write("few.txt", &sentences(6, 3));
    bench.write("more.txt", &unlabelled);
    let train = "train chain-tsvm few.txt more.txt --lambda 0.05 --json --out m.st";
    for extra in ["", "--pairs observed --solver nrbm", "--per token --boundary --bias 1"] {
        let json = bench.call(&format!("{train} --gamma 0.2 {extra}")).json();
        assert_eq!((&json["status"], &json["certified"]), (&"converged".into(), &false.into()));
        assert!(json["lower_bound"].is_null() && json["local_gap"].is_number(), "{json}");
        assert_eq!(json["examples"], 46);
        let evaluation = bench.call("evaluate m.st test.txt --json").json();
        assert!(evaluation["error"].as_f64().unwrap() < 0.6, "{evaluation}");
        assert_eq!(evaluation["classes"].as_array().unwrap().len(), 3, "? is no label");
    }
    // With γ = 0 it is the machine of the sequences with labels.
    let few = bench.call("train chain-svm few.txt --lambda 0.05 --tol 1e-3 --json").json();
    let zero = bench.call(&format!("{train} --gamma 0 --tol 1e-3")).json();
    let objectives = [&few, &zero].map(|json| json["objective"].as_f64().unwrap());
    assert!((objectives[0] - objectives[1]).abs() < 2e-3 * objectives[0], "{objectives:?}");
    // The same bytes on any number of threads, and after a resume.
    let whole = |extra: &str| {
        bench.call(&format!("{train} --gamma 0.2 --quiet {extra}")).text();
        bench.read("m.st")
    };
    let bytes = whole("--threads 1");
    assert!(bytes == whole("--threads 3"));
    whole("--max-evals 12 --checkpoint run.ckpt");
    assert!(bytes == whole("--resume run.ckpt"));
    bench.write("half.txt", "a p0 O\nb p1 ?\n\nc p0 O\n");
    bench.write("none.txt", "a p0 ?\nb p1 ?\n");
    for (data, sentence) in [
        ("few.txt", "the tag ?"),
        ("none.txt", "found the tag ? only"),
        ("half.txt", "sequence 1 has labels for some of its tokens"),
    ] {
        let refused = bench.call(&format!("train chain-tsvm {data}"));
        assert!(refused.refused().contains(sentence), "{data}: {}", refused.stderr);
    }
}
