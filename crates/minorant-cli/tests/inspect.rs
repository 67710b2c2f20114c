//! What `inspect` shows of data files of every kind.

mod common;

use common::{Bench, Called};
use minorant::data::{NamedArray, npz_bytes};
use serde_json::{Value, json};

fn write(bench: &Bench, name: &str, arrays: &[NamedArray]) {
    std::fs::write(bench.path(name), npz_bytes(arrays).unwrap()).unwrap();
}

/// Some keys of an object.
fn keys(object: &Value, keys: &[&str]) -> Value {
    keys.iter().map(|key| ((*key).to_string(), object[key].clone())).collect()
}

#[test]
fn sequences_of_every_format() {
    let bench = Bench::new();
    bench.write("co.txt", "a x N\nb y V\n\nc x N\n");
    bench.write("t", "U:%x[0,0]\n");
    bench.write("crf.txt", "N\tw=a\nV\tw=b\tn:2\n\nN\tw=c\n");
    let letter = |id, letter, next, word, place, fold| {
        format!("{id}\t{letter}\t{next}\t{word}\t{place}\t{fold}\t1\t0\t1\t\n")
    };
    let letters = [
        letter(1, "N", 2, 1, 1, 0),
        letter(2, "V", -1, 1, 2, 0),
        letter(3, "N", -1, 2, 1, 0),
        letter(4, "N", -1, 3, 1, 1),
    ];
    bench.write("letters.data", &letters.concat());
    write(
        &bench,
        "s.npz",
        &[
            NamedArray::reals("values", &[3, 2], vec![1.0, 0.0, 0.5, 2.0, 0.0, 1.0]),
            NamedArray::whole("offsets", &[3], vec![0, 2, 3]),
            NamedArray::whole("labels", &[3], vec![5, 7, 5]),
        ],
    );
    for (line, features, labels) in [
        ("co.txt --format conll --template t", 3, ["N", "V"]),
        ("co.txt --template t", 3, ["N", "V"]),
        ("crf.txt --format crfsuite", 4, ["N", "V"]),
        ("crf.txt", 4, ["N", "V"]),
        ("letters.data --format ocr --folds 0", 3, ["N", "V"]),
        ("letters.data --folds 0", 3, ["N", "V"]),
        ("s.npz", 2, ["5", "7"]),
    ] {
        let object = bench.call(&format!("inspect {line} --json")).json();
        let expected = json!({
            "kind": "sequences", "examples": 2, "tokens": 3, "features": features, "shortest": 1,
            "longest": 2, "labels": "tokens",
            "classes": [{"label": labels[0], "tokens": 2}, {"label": labels[1], "tokens": 1}],
        });
        let names: Vec<&str> = expected.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys(&object, &names), expected, "{line}");
        let text = bench.call(&format!("inspect {line}")).text();
        for part in ["sequences     2", "tokens        3, 1 to 2 a sequence", "2 classes"] {
            assert!(text.contains(part), "{line}: {text}");
        }
    }
    assert_eq!(bench.call("inspect letters.data --format ocr --json").json()["examples"], 3);
    bench.write("bad.txt", "a x N\nb V\n");
    let called = bench.call("inspect bad.txt --format conll");
    assert!(called.refused().starts_with("bad.txt:2: expected 3 columns"), "{}", called.stderr);
    let called = bench.call("inspect crf.txt --format crfsuite --template t");
    assert!(called.refused().contains("which a template goes with"), "{}", called.stderr);
}

#[test]
fn files_of_crfsuite_are_known_by_their_content() {
    let bench = Bench::new();
    // Tables and rows with tabs and blank lines stay what they are.
    bench.write("table.tsv", "1\t2.5\n\n0\t3.5\n");
    bench.write("rows.svm", "1\t1:2\t2:3\n\n-1\t2:1\n");
    for (file, features) in [("table.tsv", 1), ("rows.svm", 2)] {
        let object = bench.call(&format!("inspect {file} --json")).json();
        let expected = json!({"kind": "data", "examples": 2, "features": features});
        assert_eq!(keys(&object, &["kind", "examples", "features"]), expected, "{file}");
    }
    bench.write("m.crfsuite", "lCRF\x10\x20\0\0FOMC\x64\0\0\0");
    bench.write("crf.txt", "N\tw=a\nV\tw=b\tn:2\n\nN\tw=c\n");
    for line in [
        "inspect m.crfsuite",
        "train svm m.crfsuite",
        "train chain-crf m.crfsuite",
        "train chain-crf m.crfsuite --format crfsuite",
        "predict m.crfsuite crf.txt",
    ] {
        let called = bench.call(line);
        assert!(called.refused().contains("found a model file of CRFsuite"), "{}", called.stderr);
    }
}

#[test]
fn images() {
    let bench = Bench::new();
    bench.call("generate plates --images 5 --height 3 --widths 2,4 --out plates.npz").text();
    let plates = bench.call("inspect plates.npz --json").json();
    let expected = json!({"kind": "plates", "examples": 5, "features": 3, "widths": [2, 4]});
    assert_eq!(keys(&plates, &["kind", "examples", "features", "widths"]), expected);
    let counts: Vec<u64> =
        (0..2).map(|c| plates["classes"][c]["characters"].as_u64().unwrap()).collect();
    assert_eq!(json!(2 * counts[0] + 4 * counts[1]), plates["columns"]);
    assert!(plates["shortest"].as_u64() <= plates["longest"].as_u64());
    assert!(bench.call("inspect plates.npz").text().contains("5 plates of 3 rows"));
    bench.call("generate parts --images 4 --out parts.npz").text();
    let parts = bench.call("inspect parts.npz --format npz --json").json();
    assert_eq!(keys(&parts, &["kind", "examples"]), json!({"kind": "parts", "examples": 4}));
    let places = parts["features"].as_u64().unwrap()
        * parts["grid"][0].as_u64().unwrap()
        * parts["grid"][1].as_u64().unwrap();
    assert_eq!(parts["pixels"].as_u64().unwrap(), 4 * places);
    assert_eq!(parts["classes"][3], json!({"label": 3, "places": 4}));
    assert!(bench.call("inspect parts.npz").text().contains("4 with 4 parts"));
    let pixels = NamedArray::reals("pixels", &[3, 1], vec![1.0, 2.0, 3.0]);
    let offsets = NamedArray::whole("offsets", &[2], vec![0, 3]);
    let widths = NamedArray::whole("widths", &[1], vec![3]);
    write(&bench, "bare.npz", &[pixels, offsets, widths]);
    assert_eq!(bench.call("inspect bare.npz --json").json()["labels"], "none");
    let called = bench.call("inspect plates.npz --format csv");
    assert!(called.refused().contains("has the format npz, not csv"), "{}", called.stderr);
}

#[test]
fn recordings_stay_recordings() {
    let bench = Bench::new();
    bench.call("generate phones --sequences 6 --out phones.npz").text();
    let object = bench.call("inspect phones.npz --json").json();
    assert_eq!(keys(&object, &["kind", "examples"]), json!({"kind": "recordings", "examples": 6}));
}

#[cfg(unix)]
#[test]
fn pipes_are_read_to_their_end() {
    let bench = Bench::new();
    bench.write("co.txt", "a x N\nb y V\n\nc x N\n");
    let shell = |line: &str| {
        let minorant = env!("CARGO_BIN_EXE_minorant");
        let line = line.replace("minorant", minorant);
        let mut shell = std::process::Command::new("sh");
        Called::from(shell.args(["-c", &line]).current_dir(bench.path(".")).output().unwrap())
    };
    let mut file = bench.call("train svm train.svm --json").json();
    for line in [
        "cat train.svm | minorant train svm /dev/stdin --json",
        "gzip -c train.svm | minorant train svm /dev/stdin --json",
        "mkfifo p; cat train.svm > p & minorant train svm p --json",
    ] {
        let mut piped = shell(line).json();
        for key in ["seconds", "load_seconds", "peak_rss_bytes"] {
            (file[key], piped[key]) = (Value::Null, Value::Null);
        }
        assert_eq!(piped, file, "{line}");
    }
    let rows = shell("cat train.svm | minorant inspect /dev/stdin --json").json();
    assert_eq!(rows["examples"], 400);
    let tokens = shell("cat co.txt | minorant inspect /dev/stdin --format conll --json").json();
    assert_eq!(tokens["tokens"], 3);
    let plates = "minorant generate plates --images 5 --out q.npz && cat q.npz";
    let line = format!("{{ {plates} | tail -c +18 ; }} | minorant train segment-svm /dev/stdin");
    assert_eq!(shell(&line).code, 1);
    let called = shell("true | minorant train svm /dev/stdin");
    assert!(called.refused().contains("an empty file"), "{}", called.stderr);
}
