//! Models of images on the command line: made-up plates and parts, certified models at the known
//! optima, predictions, evaluations, audits; and what is refused.

mod common;

use common::Bench;
use minorant::data::{NamedArray, npz_bytes};

fn plates(bench: &Bench) {
    let small = "generate plates --seed 4 --images 8 --height 3 --widths 2,3,4,3 --noise 1 \
                 --max-length 4 --out small.npz";
    assert_eq!(bench.call(small).code, 0);
    let large = "generate plates --seed 5 --images 30 --height 4 --widths 2,3,3,4,5,2 --noise 1.5 \
                 --max-length 5 --out large.npz";
    assert_eq!(bench.call(large).code, 0);
}

fn write(bench: &Bench, name: &str, arrays: &[NamedArray]) {
    std::fs::write(bench.path(name), npz_bytes(arrays).unwrap()).unwrap();
}

#[test]
fn the_known_optima_are_reached_with_a_proof() {
    let bench = Bench::new();
    plates(&bench);
    assert_eq!(bench.call("generate parts --seed 6 --images 10 --out parts.npz").code, 0);
    for (model, data, extra, optimum) in [
        ("segment-svm", "small.npz", "--lambda 0.1", 1.48694936593),
        ("segment-svm", "small.npz", "--lambda 0.1 --loss label", 1.23254952312),
        ("segment-svm", "large.npz", "--lambda 0.01 --loss ak", 1.39009393069),
        ("segment-svm", "large.npz", "--lambda 0.01 --loss label", 1.37480569852),
        ("segment-svm", "small.npz", "--lambda 0.1 --solver bmrm", 1.48694936593),
        ("tree-svm", "parts.npz", "--lambda 0.1", 2.38299617380),
        ("tree-svm", "parts.npz", "--lambda 0.01", 1.95942284678),
        ("tree-svm", "parts.npz", "--lambda 0.1 --solver p-bmrm --parts 5", 2.38299617380),
    ] {
        let line = format!("train {model} {data} {extra} --tol 1e-7 --json --out m.st");
        let report = bench.call(&line).json();
        let objective = report["objective"].as_f64().unwrap();
        let bound = report["lower_bound"].as_f64().unwrap();
        assert_eq!(report["certified"], true, "{line}: {report}");
        assert!((objective - optimum).abs() <= 1e-6 * optimum, "{line}: {objective}");
        assert!(bound <= optimum * (1.0 + 1e-10), "{line}: {bound}");
        let audit = bench.call(&format!("audit m.st {data} --json")).json();
        assert_eq!(audit["holds"], true, "{line}: {audit}");
    }
    assert!(bench.call("audit m.st small.npz").refused().contains("expected numbers by images"));
    assert_eq!(bench.call("generate parts --seed 7 --images 10 --out other.npz").code, 0);
    assert!(bench.call("audit m.st other.npz").refused().contains("not the data"));
}

#[test]
fn plates_are_cut_and_parts_are_found() {
    let bench = Bench::new();
    let of = "generate plates --seed 1 --noise 0.2 --images 40";
    assert_eq!(bench.call(&format!("{of} --out train.npz")).code, 0);
    assert_eq!(bench.call(&format!("{of} --skip 40 --out test.npz")).code, 0);
    bench.call("train segment-svm train.npz --lambda 0.01 --quiet --out m.st --proof p.st");
    assert!(bench.call("audit m.st train.npz").unchecked().contains("no proof"));
    assert_eq!(bench.call("audit m.st train.npz --proof p.st").code, 0);
    let found = bench.call("evaluate m.st test.npz --json").json();
    assert!(found["error"].as_f64().unwrap() < 0.05, "{found}");
    assert_eq!(found["examples"], 40);
    let lines = bench.call("predict m.st test.npz").stdout;
    let labels = bench.call("predict m.st test.npz --json").json();
    assert_eq!(lines.lines().count(), 40);
    let words: Vec<String> = lines.lines().next().unwrap().split(' ').map(String::from).collect();
    let first = labels["labels"][0].as_array().unwrap();
    assert_eq!(words, first.iter().map(ToString::to_string).collect::<Vec<_>>());
    let inspected = bench.call("inspect m.st --json").json();
    assert_eq!((&inspected["model"], &inspected["loss"]), (&"segment-svm".into(), &"ak".into()));

    assert_eq!(bench.call("generate parts --seed 2 --images 60 --out parts.npz").code, 0);
    let args = "train tree-svm parts.npz --lambda 0.01 --quiet --out t.st";
    assert!(bench.call(args).stdout.contains("certified"));
    let found = bench.call("evaluate t.st parts.npz --json").json();
    assert!(found["loss"].as_f64().unwrap() < 1.5 && found["parts"] == 240, "{found}");
    let places = bench.call("predict t.st parts.npz --json").json();
    assert_eq!(places["labels"][0].as_array().unwrap().len(), 4);
    assert!(bench.call("predict t.st train.npz").refused().contains("pixels"));
}

#[test]
fn the_same_bytes_on_any_number_of_threads_and_after_a_resume() {
    let bench = Bench::new();
    plates(&bench);
    let train = |extra: &str| {
        let line = format!("train segment-svm large.npz --lambda 1e-3 --quiet --out m.st {extra}");
        let called = bench.call(&line);
        assert_eq!(called.code, 0, "{}", called.stderr);
        bench.read("m.st")
    };
    let whole = train("--threads 1");
    assert!(whole == train("--threads 3"));
    train("--max-evals 4 --checkpoint run.ckpt");
    assert!(whole == train("--resume run.ckpt"));
}

#[test]
fn images_have_weights() {
    let bench = Bench::new();
    plates(&bench);
    assert_eq!(bench.call("generate parts --seed 6 --images 8 --out parts.npz").code, 0);
    bench.write("two", &"2\n".repeat(8));
    bench.write("first", "1 0 0 0 0 0 0 0");
    bench.write("short", "1 2");
    for (model, data) in [("segment-svm", "small.npz"), ("tree-svm", "parts.npz")] {
        let train = |extra: &str| bench.call(&format!("train {model} {data} --tol 1e-7 {extra}"));
        let plain = train("--lambda 0.0625 --json").json();
        let even = train("--weights two --json").json();
        // The mean is the same, λ half of what it is by default.
        assert_eq!((&even["lambda"], &even["objective"]), (&0.0625.into(), &plain["objective"]));
        let first = train("--weights first --json --out m.st").json();
        assert_eq!((&first["lambda"], &first["certified"]), (&1.0.into(), &true.into()));
        assert_eq!(bench.call(&format!("audit m.st {data} --weights first")).code, 0);
        for wrong in ["", "--weights two", "--weights short"] {
            let called = bench.call(&format!("audit m.st {data} {wrong}"));
            assert!(called.refused().contains("example weights"), "{}", called.stderr);
        }
        let short = "expected 8 example weights, one an image, found 2";
        assert!(train("--weights short").refused().contains(short));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let bench = Bench::new();
    let pixels = |columns: usize| NamedArray::reals("pixels", &[columns, 1], vec![0.5; columns]);
    let whole = |name, values: &[u64]| NamedArray::whole(name, &[values.len()], values.to_vec());
    let plates = |columns: usize, offsets: &[u64], labels: &[u64], widths: &[u64]| {
        vec![
            pixels(columns),
            whole("offsets", offsets),
            whole("widths", widths),
            whole("labels", labels),
            whole("label_offsets", &[0, labels.len() as u64]),
        ]
    };
    write(&bench, "uncovered.npz", &plates(5, &[0, 5], &[0, 1], &[2, 2]));
    write(&bench, "unknown.npz", &plates(4, &[0, 4], &[0, 2], &[2, 2]));
    write(&bench, "short.npz", &plates(4, &[0, 3], &[0, 1], &[2, 2]));
    write(&bench, "flat.npz", &plates(4, &[0, 4], &[0, 1], &[2, 0]));
    write(&bench, "unlabelled.npz", &plates(3, &[0, 3], &[], &[2, 2])[..3]);
    write(&bench, "good.npz", &plates(4, &[0, 4], &[0, 1], &[2, 2]));
    write(&bench, "none.npz", &[pixels(4)]);
    bench.write("text.npz", "no archive");
    assert_eq!(bench.call("train segment-svm good.npz --quiet --out m.st").code, 0);
    bench.refuses(
        "",
        &[
            (
                "train segment-svm uncovered.npz",
                "cover the 5 columns of image 0, found segments of 4",
            ),
            ("train segment-svm unknown.npz", "whole numbers below 2 in labels, found 2"),
            ("train segment-svm short.npz", "offsets from 0 to 4"),
            ("train segment-svm flat.npz", "widths of 1 or more, found a width of 0"),
            ("train segment-svm unlabelled.npz", "an array named labels"),
            ("train segment-svm none.npz", "an array named offsets"),
            ("train segment-svm text.npz", "expected an NPZ archive"),
            ("train segment-svm missing.npz", "missing.npz"),
            (
                "train segment-svm good.npz --bias 1",
                "chain-svm, chain-crf and chain-tsvm, not with segment-svm",
            ),
            ("train segment-svm good.npz --lambda 0", "lambda"),
            ("train tree-svm good.npz", "images x columns x rows x channels"),
            ("predict m.st unlabelled.npz", "can cover, found 3 columns in image 0"),
            ("evaluate m.st unlabelled.npz", "an array named labels"),
            ("predict m.st good.npz --scores", "decision values (--scores) go with svm, "),
            ("generate plates --noise nan --out x.npz", "--noise must be"),
            ("generate plates --images 0 --out x.npz", "--images must be"),
            ("generate plates --images 999999999 --out x.npz", "ask for less"),
        ],
    );
    for (line, losses) in [
        ("train segment-svm good.npz --loss hinge", "expected ak or label, found 'hinge'"),
        ("train svm train.svm --loss ak", "expected hinge or squared-hinge or huber-hinge"),
    ] {
        let called = bench.call(line);
        assert!(called.unparsed().contains(losses), "{}", called.stderr);
    }
    assert_eq!(bench.call("generate plates --widths 2,x --out x.npz").code, 2);
    assert_eq!(bench.call("generate what --out x.npz").code, 2);
}

/// The loss may scale the slack instead of the margin: proven, audited and kept in the file.
#[test]
fn plates_by_slack_rescaling() {
    let bench = Bench::new();
    bench.call("generate plates --seed 5 --images 12 --noise 1 --out plates.npz").text();
    for loss in ["ak", "label"] {
        let train = format!("train segment-svm plates.npz --lambda 0.05 --loss {loss} --tol 1e-5");
        let margin = bench.call(&format!("{train} --json")).json();
        let mut found = Vec::new();
        for solver in ["auto", "bmrm"] {
            let args = format!("{train} --rescaling slack --solver {solver} --out m --json");
            let json = bench.call(&args).json();
            assert_eq!(json["certified"], true, "{json}");
            assert_eq!(bench.call("audit m plates.npz --json").json()["holds"], true, "{solver}");
            found.push(json["objective"].as_f64().unwrap());
        }
        assert!((found[0] - found[1]).abs() <= 2e-5 * found[0], "{found:?}");
        let margin = margin["objective"].as_f64().unwrap();
        assert!((found[0] - margin).abs() > 1e-3 * margin, "{found:?} {margin}");
        assert_eq!(bench.call("inspect m --json").json()["rescaling"], "slack");
    }
    let refused = bench.call("train tree-svm plates.npz --rescaling slack");
    assert!(
        refused.refused().starts_with("--rescaling goes with segment-svm"),
        "{}",
        refused.stderr
    );
}

/// The loss of a face in units of its own size: another problem, proven and audited, whose unit the file
/// keeps; parts that coincide are no unit.
#[test]
fn faces_in_units_of_their_size() {
    let bench = Bench::new();
    bench.call("generate parts --seed 5 --images 14 --out parts.npz").text();
    let train = "train tree-svm parts.npz --lambda 0.02 --tol 1e-5";
    let plain = bench.call(&format!("{train} --json")).json();
    let sized = bench.call(&format!("{train} --normalise 2,4 --out m --json")).json();
    assert_eq!(sized["certified"], true, "{sized}");
    assert_ne!(sized["objective"], plain["objective"]);
    assert_eq!(bench.call("audit m parts.npz --json").json()["holds"], true);
    let evaluated = bench.call("evaluate m parts.npz --json").json();
    assert!(evaluated["loss"].as_f64().unwrap() < 1.0, "{evaluated}");
    bench.call("generate parts --seed 5 --images 80 --out many.npz").text();
    let together = bench.call("train tree-svm many.npz --normalise 1,2");
    assert!(together.refused().contains("at one place"), "{}", together.stderr);
    bench.refuses(
        "train tree-svm parts.npz ",
        &[
            ("--normalise 2,2", "expected two of the parts 1 to 4"),
            ("--normalise 2,5", "expected two of the parts 1 to 4"),
            ("--normalise 1,2,3", "two parts"),
        ],
    );
}

/// Templates and descriptors of each part: other problems, proven, audited and predicted with what the
/// file keeps of them.
#[test]
fn parts_look_at_windows() {
    let bench = Bench::new();
    bench.call("generate parts --seed 5 --images 14 --out parts.npz").text();
    let train = "train tree-svm parts.npz --lambda 0.02 --tol 1e-4";
    let mut objectives = vec![bench.call(&format!("{train} --json")).json()["objective"].clone()];
    for (templates, features) in [
        ("3x3", 4 * 27 + 12),
        ("1x1:lbp", 4 * 3 * 256 + 12),
        ("3x3:lbp,1x1,2x1,5x5", (9 * 256 + 1 + 2 + 25) * 3 + 12),
    ] {
        for solver in ["auto", "bcfw", "prox-p-bmrm"] {
            let args = format!("{train} --templates {templates} --solver {solver} --out m --json");
            let json = bench.call(&args).json();
            assert_eq!(json["certified"], true, "{templates} {solver}: {json}");
            assert_eq!(json["dim"], features, "{templates}");
            assert_eq!(bench.call("audit m parts.npz --json").json()["holds"], true, "{templates}");
            if solver == "auto" {
                objectives.push(json["objective"].clone());
            }
        }
        let seen = bench.call("inspect m --json").json();
        assert_eq!(
            (&seen["templates"], seen["part_templates"].as_array().unwrap().len()),
            (&templates.into(), 4)
        );
        assert!(bench.call("inspect m").text().contains("templates"));
        assert_eq!(bench.call("evaluate m parts.npz --json").json()["parts"], 56);
    }
    for (at, objective) in objectives.iter().enumerate() {
        assert!(!objectives[..at].contains(objective), "{objectives:?}");
    }
    for (templates, sentence) in [
        ("3", "expected columns x rows"),
        ("3x3:sift", "expected columns x rows"),
        ("3x3,1x1", "templates of 4 parts"),
    ] {
        let refused = bench.call(&format!("train tree-svm parts.npz --templates {templates}"));
        assert!(refused.code != 0 && refused.stderr.contains(sentence), "{}", refused.stderr);
    }
}
