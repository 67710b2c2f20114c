//! The same data in every format, compressed in every way, whole or in several files, is the same
//! data set.

mod common;

use common::{Case, bzip2, deflated_zip, f64s, gzip, i32s, idx, npy, zip, zstd};
use minorant_data::{
    Dataset, Label, LabelKind, LabelRows, ReadOptions, read, read_bytes, read_bytes_of_files,
    read_for_model,
};
use minorant_linalg::Storage;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// Values by row, and the labels by name.
type Plain = (Vec<Vec<f64>>, Vec<Vec<String>>);

fn plain(data: &Dataset<'_>) -> Plain {
    let rows = (0..data.features.rows()).map(|row| {
        let mut values = vec![0.0; data.features.cols()];
        data.features.row(row).for_each(|(column, value)| values[column] = value);
        values
    });
    let labels = (0..data.labels.len()).map(|row| {
        let names = data.labels.row(row).iter();
        names.map(|&class| data.labels.classes[class as usize].to_string()).collect()
    });
    (rows.collect(), labels.collect())
}

/// Small integers (so that every format can hold them), with a label in 0..3.
fn example(rows: usize, cols: usize) -> (Vec<Vec<u8>>, Vec<u8>) {
    let mut rng = Pcg64Mcg::new(5);
    let values = (0..rows)
        .map(|_| (0..cols).map(|_| rng.random_range(0..4) * rng.random_range(0..40)).collect())
        .collect();
    let labels = (0..rows).map(|row| (row % 3) as u8).collect();
    (values, labels)
}

fn as_libsvm(values: &[Vec<u8>], labels: &[u8]) -> String {
    let mut text = String::new();
    for (row, label) in values.iter().zip(labels) {
        text.push_str(&label.to_string());
        for (column, value) in row.iter().enumerate().filter(|(_, value)| **value != 0) {
            text.push_str(&format!(" {}:{value}", column + 1));
        }
        text.push('\n');
    }
    text
}

fn as_csv(values: &[Vec<u8>], labels: &[u8], separator: &str, line_end: &str) -> String {
    let mut text = String::new();
    for (row, label) in values.iter().zip(labels) {
        for value in row {
            text.push_str(&format!("{value}{separator}"));
        }
        text.push_str(&format!("{label}{line_end}"));
    }
    text
}

fn as_arff(values: &[Vec<u8>], labels: &[u8], sparse: bool) -> String {
    let cols = values[0].len();
    let mut text = "% made by a test\n@relation 'a test'\n".to_owned();
    for column in 0..cols {
        text.push_str(&format!("@attribute 'x {column}' numeric\n"));
    }
    text.push_str("@attribute class {0, 1, 2}\n\n@DATA\n");
    for (row, label) in values.iter().zip(labels) {
        if !sparse {
            let cells: Vec<String> = row.iter().map(u8::to_string).collect();
            text.push_str(&format!("{}, {label}\n", cells.join(",")));
            continue;
        }
        let nonzero = row.iter().chain([label]).enumerate().filter(|(_, value)| **value != 0);
        let pairs: Vec<String> =
            nonzero.map(|(column, value)| format!("{column} {value}")).collect();
        text.push_str(&format!("{{{}}}\n", pairs.join(", ")));
    }
    text
}

/// Row starts, columns and values of a sparse matrix; of its columns where `turned`.
fn compressed(values: &[Vec<u8>], turned: bool) -> (Vec<i32>, Vec<i32>, Vec<f64>) {
    let (outer, inner) = (values.len(), values[0].len());
    let (outer, inner) = if turned { (inner, outer) } else { (outer, inner) };
    let (mut starts, mut indices, mut data) = (vec![0], Vec::new(), Vec::new());
    for i in 0..outer {
        // Backwards: the order within a row does not matter.
        for j in (0..inner).rev() {
            let value = if turned { values[j][i] } else { values[i][j] };
            if value != 0 {
                indices.push(j as i32);
                data.push(f64::from(value));
            }
        }
        starts.push(indices.len() as i32);
    }
    (starts, indices, data)
}

fn as_scipy(values: &[Vec<u8>], labels: &[u8], turned: bool) -> Vec<u8> {
    let (starts, indices, data) = compressed(values, turned);
    let format: &[u8] = if turned { b"csc" } else { b"csr" };
    let shape = i32s(&[values.len() as i32, values[0].len() as i32]);
    zip(&[
        ("indices.npy", &npy("<i4", false, &[indices.len()], &i32s(&indices))),
        ("indptr.npy", &npy("<i4", false, &[starts.len()], &i32s(&starts))),
        ("format.npy", &npy("|S3", false, &[], format)),
        ("shape.npy", &npy("<i4", false, &[2], &shape)),
        ("data.npy", &npy("<f8", false, &[data.len()], &f64s(&data))),
        ("y.npy", &npy("|u1", false, &[labels.len()], labels)),
    ])
}

/// Coordinates in the order of columns, backwards.
fn as_coordinates(values: &[Vec<u8>], labels: &[u8]) -> Vec<u8> {
    let (starts, rows, data) = compressed(values, true);
    let columns: Vec<i32> = starts
        .windows(2)
        .enumerate()
        .flat_map(|(column, range)| (range[0]..range[1]).map(move |_| column as i32))
        .collect();
    let shape = i32s(&[values.len() as i32, values[0].len() as i32]);
    zip(&[
        ("row.npy", &npy("<i4", false, &[rows.len()], &i32s(&rows))),
        ("col.npy", &npy("<i4", false, &[columns.len()], &i32s(&columns))),
        ("format.npy", &npy("|S3", false, &[], b"coo")),
        ("shape.npy", &npy("<i4", false, &[2], &shape)),
        ("data.npy", &npy("<f8", false, &[data.len()], &f64s(&data))),
        ("y.npy", &npy("|u1", false, &[labels.len()], labels)),
    ])
}

#[test]
fn every_format_gives_the_same_data() {
    let (values, labels) = example(23, 7);
    let bytes: Vec<u8> = values.concat();
    let by_columns: Vec<u8> =
        (0..7).flat_map(|column| values.iter().map(move |row| row[column])).collect();
    let big: Vec<u8> =
        by_columns.iter().flat_map(|&value| f32::from(value).to_be_bytes()).collect();
    let texts: Vec<u8> =
        labels.iter().flat_map(|&label| u32::from(b'0' + label).to_le_bytes()).collect();
    let x = npy("|u1", false, &[23, 7], &bytes);
    let y = npy("<U1", false, &[23], &texts);
    let long = npy(
        "<i8",
        false,
        &[23],
        &labels.iter().flat_map(|&l| i64::from(l).to_le_bytes()).collect::<Vec<u8>>(),
    );
    let turned = npy(">f4", true, &[23, 7], &big);
    let libsvm = as_libsvm(&values, &labels);
    let table = as_csv(&values, &labels, ",", "\n");
    let header = format!("a,b,c,d,e,f,g,\"Class\"\r\n{}", as_csv(&values, &labels, ",", "\r\n"));
    let (first, second) = libsvm.split_at(libsvm.match_indices('\n').nth(9).unwrap().0 + 1);
    let cases: Vec<Case> = vec![
        ("libsvm", vec![("a", libsvm.clone().into())]),
        ("two files", vec![("a", first.into()), ("b", second.into())]),
        ("comma", vec![("a.csv", table.clone().into())]),
        ("header", vec![("a.csv", header.into())]),
        ("mark", vec![("a.csv", format!("\u{feff}{table}").into())]),
        ("semicolon", vec![("a", as_csv(&values, &labels, ";", "\n").into())]),
        ("tab", vec![("a", as_csv(&values, &labels, "\t", "\n").into())]),
        ("blanks", vec![("a", as_csv(&values, &labels, "  ", " \n").into())]),
        ("arff", vec![("a.arff", as_arff(&values, &labels, false).into())]),
        ("sparse arff", vec![("a.arff", as_arff(&values, &labels, true).into())]),
        ("npy", vec![("x.npy", x.clone()), ("y.npy", y.clone())]),
        ("turned npy", vec![("x.npy", turned.clone()), ("y.npy", long.clone())]),
        ("npy, npz", vec![("x.npy", x.clone()), ("y.npz", zip(&[("y.npy", &y)]))]),
        ("npz", vec![("a.npz", deflated_zip(&[("features.npy", &x), ("labels.npy", &y)]))]),
        ("npz, npy", vec![("a.npz", zip(&[("X.npy", &turned)])), ("y.npy", long)]),
        (
            "a column of labels",
            vec![(
                "a.npz",
                zip(&[("X.npy", &x), ("y.npy", &npy("|u1", false, &[23, 1], &labels))]),
            )],
        ),
        ("csr", vec![("a.npz", as_scipy(&values, &labels, false))]),
        ("csc", vec![("a.npz", as_scipy(&values, &labels, true))]),
        ("coo", vec![("a.npz", as_coordinates(&values, &labels))]),
        ("idx", vec![("x", idx(8, &[23, 7], &bytes)), ("y", idx(8, &[23], &labels))]),
        (
            "mixed",
            vec![
                ("a", first.into()),
                ("b.csv", as_csv(&values[10..], &labels[10..], ",", "\n").into()),
            ],
        ),
        ("gzip", vec![("a", gzip(libsvm.as_bytes()))]),
        ("bzip2", vec![("a", bzip2(libsvm.as_bytes()))]),
        ("zstd", vec![("a", zstd(libsvm.as_bytes()))]),
        ("gzip members", vec![("a", [gzip(first.as_bytes()), gzip(second.as_bytes())].concat())]),
        (
            "bzip2 members",
            vec![("a", [bzip2(first.as_bytes()), bzip2(second.as_bytes())].concat())],
        ),
        (
            "zstd frames",
            vec![(
                "a",
                [
                    &zstd(first.as_bytes())[..],
                    b"\x50\x2a\x4d\x18\x02\0\0\0ab",
                    &zstd(second.as_bytes()),
                ]
                .concat(),
            )],
        ),
        ("gzip of npy", vec![("x", gzip(&x)), ("y", gzip(&y))]),
    ];
    let expected_values: Vec<Vec<f64>> =
        values.iter().map(|row| row.iter().map(|&value| f64::from(value)).collect()).collect();
    let expected_labels: Vec<Vec<String>> = labels.iter().map(|l| vec![l.to_string()]).collect();
    for (what, files) in &cases {
        let borrowed: Vec<(&str, &[u8])> = files.iter().map(|(name, b)| (*name, &b[..])).collect();
        let data = read_bytes_of_files(&borrowed, &ReadOptions::default())
            .unwrap_or_else(|why| panic!("{what}: {why}"));
        assert_eq!(plain(&data), (expected_values.clone(), expected_labels.clone()), "{what}");
        assert_eq!(data.labels.classes, [0.0, 1.0, 2.0].map(Label::Number), "{what}");
        assert_eq!(data.features.values().width(), 4, "{what}");
    }
}

#[test]
fn multilabel_formats_agree() {
    let arff = b"@relation r\n@attribute a real\n@attribute '1' {0,1}\n@attribute b real\n\
        @attribute 0 {0,1}\n@data\n0.5,1,0,0\n{}\n{0 2,1 1,2 4,3 1}\n";
    let xml = br#"<labels><label name="0"/><label name="1"></label></labels>"#;
    let x = npy("<f8", false, &[3, 2], &f64s(&[0.5, 0.0, 0.0, 0.0, 2.0, 4.0]));
    let y = npy("|b1", true, &[3, 2], &[0, 0, 1, 1, 0, 1]);
    let text = b"1 1:0.5\n 2:0\n0,1 1:2 2:4\n";
    let options = ReadOptions { label_kind: Some(LabelKind::Multilabel), ..ReadOptions::default() };
    let first = read_bytes("a", text, &options).unwrap();
    assert_eq!(
        first.labels.rows,
        LabelRows::Sets { starts: vec![0, 1, 1, 3], items: vec![1, 0, 1] }
    );
    let others: [&[(&str, &[u8])]; 3] = [
        &[("a.arff", arff), ("a.xml", xml)],
        &[("x.npy", &x), ("y.npz", &zip(&[("y.npy", &y)]))],
        &[("d.csv", b"0.5;0;1\n0;0;\n2;4;1,0\n")],
    ];
    for files in others {
        let data = read_bytes_of_files(files, &options).unwrap();
        assert_eq!(plain(&data), plain(&first), "{}", files[0].0);
        assert_eq!(data.labels, first.labels, "{}", files[0].0);
    }
}

#[test]
fn long_files_are_read_in_parallel_and_in_order() {
    let mut text = String::new();
    let mut inexact = String::new();
    for row in 0..600_000 {
        text.push_str(&format!("{} {}:{} 50:0.5\n", row % 7, 1 + row % 40, row));
        inexact.push_str(&format!("{},{}.5,{}\n", row, row, row % 7));
    }
    inexact.push_str("0.1,1,3\n");
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in [("a", text.clone().into_bytes()), ("a.gz", gzip(text.as_bytes()))] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let data = read(&[path], &ReadOptions::default()).unwrap();
        assert_eq!((data.features.rows(), data.features.cols()), (600_000, 50));
        assert_eq!(data.features.values().width(), 4);
        for row in (0..600_000).step_by(997) {
            let entries: Vec<(usize, f64)> = data.features.row(row).collect();
            let value = (row % 40, row as f64);
            let expected = if row == 0 { vec![(49, 0.5)] } else { vec![value, (49, 0.5)] };
            assert_eq!(entries, expected, "row {row}");
            assert_eq!(data.labels.row(row), [(row % 7) as u32]);
        }
    }
    let data = read_bytes("a.csv", inexact.as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!((data.features.rows(), data.features.values().width()), (600_001, 8));
    assert_eq!(data.features.row(599_999).collect::<Vec<_>>(), [(0, 599_999.0), (1, 599_999.5)]);
    assert_eq!(data.features.row(600_000).collect::<Vec<_>>(), [(0, 0.1), (1, 1.0)]);
}

#[test]
fn options_are_heeded() {
    let text = b"1 1:0.1\n2 3:1\n";
    let with = |options: ReadOptions| read_bytes("a", text, &options).unwrap();
    assert_eq!(with(ReadOptions::default()).features.values().width(), 8);
    let narrow = with(ReadOptions { storage: Storage::F32, ..ReadOptions::default() });
    assert_eq!(narrow.features.values().get(0), f64::from(0.1f32));
    let wide = ReadOptions { storage: Storage::F64, ..ReadOptions::default() };
    assert_eq!(read_bytes("a", b"1 1:1\n2 1:1\n", &wide).unwrap().features.values().width(), 8);
    assert_eq!(with(ReadOptions { zero_based: true, ..ReadOptions::default() }).features.cols(), 4);
    assert_eq!(
        with(ReadOptions { features: Some(9), ..ReadOptions::default() }).features.cols(),
        9
    );
    let high = ReadOptions { features: Some(20_000_000), ..ReadOptions::default() };
    assert_eq!(
        read_bytes("a", b"1 20000000:1\n2 1:1\n", &high).unwrap().features.cols(),
        20_000_000
    );
    let table = ReadOptions { features: Some(9), ..ReadOptions::default() };
    let data = read_bytes("a.csv", b"1,2,0\n3,4,1\n", &table).unwrap();
    assert!(data.features.is_sparse() && data.features.cols() == 9);
    let predict = ReadOptions { for_prediction: true, ..ReadOptions::default() };
    let x = npy("|u1", false, &[2, 1], &[1, 2]);
    assert_eq!(read_bytes("x.npy", &x, &predict).unwrap().labels.rows, LabelRows::None);
    assert_eq!(read_bytes("a", b"1 1:1\n", &predict).unwrap().labels.classes, [Label::Number(1.0)]);
}

#[test]
fn a_model_says_which_columns_are_features() {
    let options = |features| ReadOptions {
        for_prediction: true,
        model_features: Some(features),
        ..ReadOptions::default()
    };
    let table = |text: &str, features| read_bytes("t.csv", text.as_bytes(), &options(features));
    for (text, has_labels) in [
        ("1,2\n3,4\n", false),
        ("a,b\n3,4\n", false),
        ("1,2,3\n3,4,5\n", true),
        ("a,b,c\n3,4,5\n", true),
        ("a,class,c\n3,4,5\n", true),
        ("1,2,x\n3,4,y\n", true),
    ] {
        let data = table(text, 2).unwrap();
        assert_eq!((data.labels.rows != LabelRows::None, data.features.cols()), (has_labels, 2));
    }
    for text in ["1,x\n3,y\n", "a,y\n3,4\n", "1\n2\n"] {
        assert!(table(text, 2).is_err(), "{text}");
    }
    let short = "expected the model's 4 feature columns (--features 4 takes missing ones as 0)";
    assert_eq!(table("1,2,3\n", 4).unwrap_err().to_string(), format!("t.csv: {short}, found 2"));
    let x = npy("|u1", false, &[2, 1], &[1, 2]);
    let why = read_bytes("x.npy", &x, &options(4)).unwrap_err().to_string();
    assert_eq!(why, format!("x.npy: {short}, found 1"));
    let padded = ReadOptions { features: Some(4), ..options(4) };
    assert_eq!(read_bytes("x.npy", &x, &padded).unwrap().features.cols(), 4);
    assert_eq!(table("a\n3\n", 1).unwrap().labels.rows, LabelRows::None);
}

#[test]
fn sparse_entries_that_a_model_does_not_know_are_dropped() {
    let options =
        ReadOptions { for_prediction: true, model_features: Some(2), ..ReadOptions::default() };
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        read_for_model(&[path], &options)
    };
    let rows = |data: &Dataset| {
        let rows = (0..data.features.rows()).map(|row| data.features.row(row).collect());
        rows.collect::<Vec<Vec<(usize, f64)>>>()
    };
    let text = b"1 1:1 3:1 99999999:1 3000000000:1 18446744073709551614:1\n-1 2:3 7:0\n1 5:1\n";
    let (data, ignored) = read("a.svm", text).unwrap();
    assert_eq!((data.features.cols(), ignored), (2, 5));
    assert_eq!(rows(&data), [vec![(0, 1.0)], vec![(1, 3.0)], vec![]]);
    let why = read("b.svm", b"1 1:1 18446744073709551616:1\n").unwrap_err().to_string();
    assert!(why.contains("a feature index of at most"), "{why}");
    assert!(read("c.svm", b"1 6000000000:1 5000000000:1\n").is_err());
    let arff = "@relation r\n@attribute a real\n@attribute b real\n@attribute c real\n\
                @attribute k {x,y}\n@data\n{0 1,2 5,3 y}\n{1 2}\n";
    let (data, ignored) = read("d.arff", arff.as_bytes()).unwrap();
    assert_eq!((rows(&data), ignored), (vec![vec![(0, 1.0)], vec![(1, 2.0)]], 1));
    let numbers = |numbers: &[i64]| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        npy("<i8", false, &[numbers.len()], &bytes)
    };
    let archive = zip(&[
        ("shape.npy", &numbers(&[2, 1 << 40])),
        ("format.npy", &npy("|S3", false, &[], b"csr")),
        ("indptr.npy", &numbers(&[0, 3, 4])),
        ("indices.npy", &numbers(&[1 << 39, 1, (1 << 39) + 1, 0])),
        ("data.npy", &numbers(&[7, 8, 9, 10])),
    ]);
    let (data, ignored) = read("e.npz", &archive).unwrap();
    assert_eq!((rows(&data), ignored), (vec![vec![(1, 8.0)], vec![(0, 10.0)]], 2));
}

#[test]
fn label_files_are_found_beside_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        folder.path().join(name)
    };
    let images = write("t-images-idx3-ubyte", &idx(8, &[2, 1, 1], &[5, 6]));
    write("t-labels-idx1-ubyte.gz", &gzip(&idx(8, &[2], &[1, 0])));
    let data = read(&[images], &ReadOptions::default()).unwrap();
    assert_eq!(data.labels.rows, LabelRows::Single(vec![1, 0]));
    let arff =
        write("d-train.arff", b"@relation r\n@attribute a real\n@attribute b {0,1}\n@data\n1,1\n");
    let data = read(
        std::slice::from_ref(&arff),
        &ReadOptions { for_prediction: true, ..ReadOptions::default() },
    );
    assert_eq!(data.unwrap().labels.kind(), Some(LabelKind::Binary));
    write("d.xml", b"<label name='b'/>");
    let data = read(&[arff], &ReadOptions::default()).unwrap();
    assert_eq!(data.labels.kind(), Some(LabelKind::Multilabel));
}
