//! `minorant cache`: what is trained, predicted and checked from a cache has the bytes of what is from the
//! files that it was made of; what cannot be is refused in a sentence.

mod common;

use common::Bench;

/// The model file of a run and what it prints, but for times and memory.
fn trained(bench: &Bench, args: &str) -> (Vec<u8>, serde_json::Value) {
    let mut json = bench.call(&format!("train {args} --out model --json --quiet")).json();
    for key in ["seconds", "load_seconds", "peak_rss_bytes"] {
        json.as_object_mut().unwrap().remove(key);
    }
    (bench.read("model"), json)
}

#[test]
fn a_cache_stands_for_the_files_that_it_was_made_of() {
    let bench = Bench::new();
    bench.write("table.csv", "a,b,class\n1,2,x\n3,4.5,y\n-1,0.25,x\n2,2,y\n");
    for (file, model) in [
        ("train.svm", "svm --lambda 0.01"),
        ("train.svm", "logistic"),
        ("train.svm", "regression --loss absolute"),
        ("multiclass.svm", "svm"),
        ("multilabel.svm", "svm"),
        ("table.csv", "svm"),
    ] {
        let made = bench.call(&format!("cache {file} -o data.mnt --json --quiet")).json();
        let (model, rest) = model.split_once(' ').unwrap_or((model, ""));
        let expected = trained(&bench, &format!("{model} {file} {rest}"));
        assert_eq!(
            trained(&bench, &format!("{model} data.mnt {rest}")),
            expected,
            "{model} {file}"
        );
        assert_eq!(made["examples"], expected.1["examples"]);
        assert_eq!(bench.call("audit model data.mnt --json").json()["holds"], true);
        for verb in ["predict", "evaluate"] {
            let [a, b] =
                [file, "data.mnt"].map(|data| bench.call(&format!("{verb} model {data}")).text());
            assert_eq!(a, b, "{verb} {model} {file}");
        }
        let [mut a, mut b] =
            [file, "data.mnt"].map(|data| bench.call(&format!("inspect {data} --json")).json());
        for facts in [&mut a, &mut b] {
            facts.as_object_mut().unwrap().remove("blocks");
        }
        assert_eq!(a, b, "inspect {file}");
    }
    let help = bench.call("cache --help").text();
    assert!(help.contains("The cache to be written"), "{help}");
    let text = bench.call("cache train.svm test.svm -o both.mnt --quiet").text();
    assert!(text.starts_with("both.mnt: 500 rows, 12 columns, "), "{text}");
}

/// Rows of 500 numbers with two classes, as NPY files; 48 MB of them, twelve blocks.
fn write_many_rows(bench: &Bench) {
    let (rows, columns) = (12_000, 500);
    let head = |kind: &str, shape: &str| {
        let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
        let text = format!("{text:<117}\n");
        [b"\x93NUMPY\x01\x00".as_slice(), &(text.len() as u16).to_le_bytes(), text.as_bytes()]
            .concat()
    };
    let mut state = 1u64;
    let mut number = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let mut x = head("<f8", &format!("{rows}, {columns}"));
    let mut y = head("|i1", &format!("{rows},"));
    for _ in 0..rows {
        let row: Vec<f64> = (0..columns).map(|_| number()).collect();
        y.push(u8::from(row[..20].iter().sum::<f64>() + number() > 0.0));
        row.iter().for_each(|value| x.extend(value.to_le_bytes()));
    }
    std::fs::write(bench.path("x.npy"), x).unwrap();
    std::fs::write(bench.path("y.npy"), y).unwrap();
}

#[test]
fn rows_that_do_not_fit_stay_on_disk() {
    let bench = Bench::new();
    write_many_rows(&bench);
    bench.call("cache x.npy y.npy -o rows.mnt --quiet");
    let here = trained(&bench, "svm x.npy y.npy --lambda 1e-3 --solver ls-p-bmrm");
    let (expected, audited) = (bench.call("predict model x.npy").text(), "audit model x.npy y.npy");
    let audited = bench.call(&format!("{audited} --json")).json();
    let less = "--max-memory 60M --threads 2";
    let (file, mut told) =
        trained(&bench, &format!("svm rows.mnt --lambda 1e-3 --solver ls-p-bmrm {less}"));
    assert!(file == here.0, "the model is another where rows stay on disk");
    let account = told.as_object_mut().unwrap();
    let passes = account.remove("bytes_read").unwrap().as_u64().unwrap();
    let resident = account.remove("resident_bytes").unwrap().as_u64().unwrap();
    assert!(passes > 3 * 48_000_000 && resident < 48_000_000, "{passes} {resident}");
    assert_eq!(told, here.1);
    assert_eq!(bench.call(&format!("predict model rows.mnt {less}")).text(), expected);
    assert_eq!(bench.call(&format!("audit model rows.mnt {less} --json")).json(), audited);
    let run = format!("train svm rows.mnt {less} --max-evals 2 --report report.html");
    let spoken = bench.call(&run).stderr;
    let page = String::from_utf8(bench.read("report.html")).unwrap();
    assert!(page.contains("Read from disk") && page.contains("Of it kept"), "the report");
    assert!(spoken.contains("12000 rows of 48 MB are read from disk at every pass"), "{spoken}");
    assert!(spoken.contains("  evaluations 1  read 0."), "{spoken}");
    let refused = bench.call(&format!("train svm rows.mnt --solver dual-cd --quiet {less}"));
    assert!(refused.refused().contains("needs rows that are all in memory"), "{}", refused.stderr);
    let refused = bench.call("train svm rows.mnt --max-memory 20M --threads 2");
    assert!(refused.refused().contains("even where the rows stay on disk"), "{}", refused.stderr);
}

#[test]
fn what_cannot_be_is_refused() {
    let bench = Bench::new();
    bench.write("words.csv", "1,2,x\n3,4,y\n");
    bench.call("cache words.csv -o words.mnt").text();
    let whole = bench.read("words.mnt");
    std::fs::write(bench.path("short.mnt"), &whole[..whole.len() - 3]).unwrap();
    let mut damaged = whole;
    damaged[40] ^= 4;
    std::fs::write(bench.path("damaged.mnt"), damaged).unwrap();
    bench.refuses(
        "",
        &[
            ("cache train.svm -o train.svm", "which is a data file: it would be overwritten"),
            ("cache nothing.svm -o a.mnt", "nothing.svm"),
            ("cache train.svm -o /dev/null", "expected a file that can be replaced"),
            ("cache train.svm -o nowhere/a.mnt", "nowhere/a.mnt"),
            (
                "train regression words.mnt",
                "expected numbers as targets, found words from row 1 on",
            ),
            ("train svm short.mnt", "expected a whole cache, found one that was cut off"),
            ("train svm damaged.mnt", "expected an intact block of a cache"),
            (
                "train svm train.svm --format mnt",
                "expected a cache of this version, found another file",
            ),
            ("inspect short.mnt", "expected a whole cache, found one that was cut off"),
        ],
    );
    let left = std::fs::read_dir(bench.path("")).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().contains(".part")
    });
    assert_eq!(left.count(), 0, "unfinished files");
}

#[test]
fn a_cache_stands_for_sequences() {
    let bench = Bench::new();
    let lines = |label: &str, word: &str| format!("{word} X{} {label}\n", word.len());
    let mut text = String::new();
    for sentence in 0..12 {
        for (label, word) in [("O", "the"), ("B-A", "red"), ("I-A", "fox"), ("O", "ran")] {
            text += &lines(label, if sentence % 3 == 0 { word } else { label });
        }
        text += "\n";
    }
    bench.write("tokens.txt", &text);
    for (model, options) in
        [("chain-crf", ""), ("chain-svm", "--min-count 5"), ("neuro-crf", "--hidden 3")]
    {
        let made = bench.call("cache tokens.txt --format conll -o data.mnt --json --quiet").json();
        let run =
            format!("{model} tokens.txt --format conll --lambda 0.05 --max-evals 20 {options}");
        let expected = trained(&bench, &run);
        let run = format!("{model} data.mnt --lambda 0.05 --max-evals 20 {options}");
        assert_eq!(trained(&bench, &run), expected, "{model}");
        assert_eq!(made["examples"], expected.1["examples"]);
        for verb in ["predict", "evaluate"] {
            let [a, b] = ["tokens.txt --format conll", "data.mnt"]
                .map(|data| bench.call(&format!("{verb} model {data}")).text());
            assert_eq!(a, b, "{verb} {model}");
        }
    }
    let [a, mut b] = ["tokens.txt --format conll", "data.mnt"]
        .map(|data| bench.call(&format!("inspect {data} --json")).json());
    b.as_object_mut().unwrap().remove("blocks");
    assert_eq!(a, b);
    let text = bench.call("cache tokens.txt --format conll -o data.mnt --quiet").text();
    assert!(text.starts_with("data.mnt: 12 sequences of 48 tokens, "), "{text}");
    bench.call("generate plates --images 4 --out plates.npz");
    bench.refuses(
        "",
        &[
            ("cache tokens.txt -o a.mnt", "for sequences of tokens give --format conll"),
            ("cache plates.npz -o a.mnt", "found recordings or images, which no cache holds"),
            ("train svm data.mnt", "expected rows of features, found a cache of sequences"),
            ("predict model data.mnt --columns", "a cache, which has no lines of tokens"),
        ],
    );
}
