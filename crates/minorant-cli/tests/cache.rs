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
