//! Numbers as targets, in every tabular format: read to the last bit, and refused by file and line where
//! they are none.

mod common;

use common::{f64s, gzip, npy};
use minorant_data::{LabelKind, LabelRows, ReadOptions, read_bytes_of_files};

fn options(label_column: Option<&str>) -> ReadOptions {
    ReadOptions {
        label_kind: Some(LabelKind::Targets),
        label_column: label_column.map(str::to_owned),
        ..ReadOptions::default()
    }
}

/// The targets of some files, and how many a row has.
fn targets(files: &[(&str, &[u8])], label_column: Option<&str>) -> (Vec<f64>, usize) {
    let data = read_bytes_of_files(files, &options(label_column)).expect("data");
    assert!(data.labels.classes.is_empty(), "targets are no classes");
    match data.labels.rows {
        LabelRows::Numbers { width, values } => (values, width),
        other => panic!("expected targets, found {other:?}"),
    }
}

fn refused(name: &str, bytes: &[u8], label_column: Option<&str>) -> String {
    let read = read_bytes_of_files(&[(name, bytes)], &options(label_column));
    read.expect_err("a refusal").to_string()
}

const NUMBERS: [f64; 4] = [0.1, -2.5e-300, 1e17, 3.0];

#[test]
fn every_format_reads_them_to_the_last_bit() {
    let lines = |row: &dyn Fn(f64) -> String| NUMBERS.map(row).concat();
    let libsvm = lines(&|y| format!("{y:e} 1:1 3:2.5\n"));
    assert_eq!(targets(&[("a.svm", libsvm.as_bytes())], None), (NUMBERS.to_vec(), 1));
    assert_eq!(targets(&[("a.svm.gz", &gzip(libsvm.as_bytes()))], None).0, NUMBERS);
    let csv = format!("x,price,z\n{}", lines(&|y| format!("1,{y:e},2\n")));
    assert_eq!(targets(&[("a.csv", csv.as_bytes())], Some("price")).0, NUMBERS);
    let last = lines(&|y| format!("1;2;{y:e}\n"));
    assert_eq!(targets(&[("a.csv", last.as_bytes())], Some("3")).0, NUMBERS);
    let arff = format!(
        "@relation r\n@attribute x numeric\n@attribute y real\n@data\n{}",
        lines(&|y| format!("7,{y:e}\n"))
    );
    assert_eq!(targets(&[("a.arff", arff.as_bytes())], None).0, NUMBERS);
    let rows = npy("<f8", false, &[4, 2], &f64s(&[1.0; 8]));
    let labels = npy("<f8", false, &[4], &f64s(&NUMBERS));
    assert_eq!(targets(&[("a.npy", &rows), ("b.npy", &labels)], None).0, NUMBERS);
    // Files are read one after the other.
    let both: &[(&str, &[u8])] = &[("a.svm", libsvm.as_bytes()), ("b.svm", b"7 1:1\n")];
    assert_eq!(targets(both, None).0[4], 7.0);
}

#[test]
fn several_targets_a_row() {
    let text = "1.5,2 1:1\n-3,4 2:1\n";
    assert_eq!(targets(&[("a.svm", text.as_bytes())], None), (vec![1.5, 2.0, -3.0, 4.0], 2));
    let why = refused("a.svm", b"1.5,2 1:1\n-3 2:1\n", None);
    assert!(why.starts_with("a.svm:2: expected 2 targets"), "{why}");
}

#[test]
fn what_is_no_number_is_refused_by_file_and_line() {
    for (name, text, column, at, found) in [
        ("a.svm", "1 1:1\nhigh 1:2\n", None, "a.svm:2: ", "'high'"),
        ("a.svm", "1 1:1\nnan 1:2\n", None, "a.svm:2: ", "'nan'"),
        ("a.svm", "1 1:1\n1e999 1:2\n", None, "a.svm:2: ", "'1e999'"),
        ("a.csv", "x,y\n1,2\n2,3\n3,cheap\n", Some("y"), "a.csv:4:2: ", "'cheap'"),
        ("a.csv", "x,y\n1,2\n2,\n", Some("y"), "a.csv:3:2: ", ""),
        ("a.csv", "x,y\n1,2\n2,inf\n", Some("y"), "a.csv:3:2: ", "'inf'"),
        (
            "a.arff",
            "@relation r\n@attribute x numeric\n@attribute y numeric\n@data\n1,2\n1,?\n",
            None,
            "a.arff:6:",
            "'?'",
        ),
    ] {
        let why = refused(name, text.as_bytes(), column);
        assert!(why.starts_with(at), "{why}");
        assert!(why.contains("number") || why.contains("value"), "{why}");
        assert!(why.contains(found), "{why}");
        assert_eq!(why.lines().count(), 1, "{why}");
    }
}
