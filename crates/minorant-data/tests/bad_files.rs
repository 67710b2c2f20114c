//! What the readers say about bad files. Each message is one sentence: the place, what was
//! expected, what was found.

mod common;

use common::{bzip2, f64s, gzip, i32s, idx, npy, zip, zstd};
use insta::assert_snapshot;
use minorant_data::{Format, LabelKind, ReadOptions, read, read_bytes, read_bytes_of_files};
use minorant_linalg::Storage;

fn refused(name: &str, bytes: impl AsRef<[u8]>, options: &ReadOptions) -> String {
    refused_files(&[(name, bytes.as_ref())], options)
}

fn refused_files(files: &[(&str, &[u8])], options: &ReadOptions) -> String {
    match read_bytes_of_files(files, options) {
        Ok(data) => panic!("expected a refusal, found {data:?}"),
        Err(why) => why.to_string(),
    }
}

fn libsvm(text: &str) -> String {
    let options = ReadOptions { format: Some(Format::Libsvm), ..ReadOptions::default() };
    refused("train.txt", text, &options)
}

fn libsvm_labels(text: &str, kind: LabelKind) -> String {
    refused("train.txt", text, &ReadOptions { label_kind: Some(kind), ..ReadOptions::default() })
}

#[test]
fn libsvm_indices() {
    assert_snapshot!(libsvm("1 1:1\n-1 9:1 5:2\n"), @"train.txt:2: expected feature indices in ascending order, found 5 after 9");
    assert_snapshot!(libsvm("1 1:1\n-1 9:1 9:2\n"), @"train.txt:2: expected feature indices in ascending order, found 9 twice");
    assert_snapshot!(libsvm("1 0:1\n"), @"train.txt:1: expected feature indices from 1 on (--zero-based counts from 0), found 0");
    assert_snapshot!(libsvm("1 2147483648:1\n-1 1:1\n"), @"train.txt:1: expected a feature index of at most 2147483647, found '2147483648'");
    assert_snapshot!(libsvm("1 99999999999999999999:1\n"), @"train.txt:1: expected a feature index of at most 2147483647, found '99999999999999999999'");
    assert_snapshot!(libsvm("1 1:1\n-1 10000001:1\n"), @"train.txt:2: expected feature indices up to 10000000 for 2 non-zeros (--features allows more), found 10000001");
    assert_snapshot!(libsvm("1 -3:1\n"), @"train.txt:1: expected index:value, found '-3:1'");
    assert_snapshot!(libsvm("1 a:b\n"), @"train.txt:1: expected index:value, found 'a:b'");
    assert_snapshot!(libsvm("1 :3\n"), @"train.txt:1: expected index:value, found ':3'");
    assert_snapshot!(libsvm("1 3\n"), @"train.txt:1: expected index:value, found '3'");
    assert_snapshot!(libsvm("1 1:1 qid:4\n"), @"train.txt:1: expected index:value, found 'qid:4'");
    let zero_based = ReadOptions { zero_based: true, ..ReadOptions::default() };
    assert_snapshot!(refused("train.txt", "1 3:1 0:1\n", &zero_based), @"train.txt:1: expected feature indices in ascending order, found 0 after 3");
    let features = ReadOptions { features: Some(1 << 40), ..ReadOptions::default() };
    assert_snapshot!(refused("train.txt", "1 1:1\n2 1:1\n", &features), @"train.txt: expected --features of at most 2147483647, found 1099511627776");
}

#[test]
fn libsvm_values() {
    assert_snapshot!(libsvm("1 1:\n"), @"train.txt:1: expected a finite number after the colon, found '1:'");
    assert_snapshot!(libsvm("1 1:nan\n"), @"train.txt:1: expected a finite number after the colon, found '1:nan'");
    assert_snapshot!(libsvm("1 1:-inf\n"), @"train.txt:1: expected a finite number after the colon, found '1:-inf'");
    assert_snapshot!(libsvm("1 1:1e400\n"), @"train.txt:1: expected a finite number after the colon, found '1:1e400'");
    assert_snapshot!(libsvm("1 1:0x10\n"), @"train.txt:1: expected a finite number after the colon, found '1:0x10'");
    assert_snapshot!(libsvm("1 1:1,5\n"), @"train.txt:1: expected a finite number after the colon, found '1:1,5'");
    assert_snapshot!(libsvm("1 1:2\x001\n"), @r"train.txt:1: expected a finite number after the colon, found '1:2\u{0}1'");
    assert_snapshot!(libsvm("1 1:2 # a\x00b\n"), @"train.txt:1: expected text without NUL, found one in a comment");
    assert_snapshot!(libsvm(&format!("1 1:{}\n", "x".repeat(100))), @"train.txt:1: expected a finite number after the colon, found '1:xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'");
    let narrow = ReadOptions { storage: Storage::F32, ..ReadOptions::default() };
    assert_snapshot!(refused("train.txt", "1 1:1\n2 1:1e300\n", &narrow), @"train.txt:2: expected values within the range of f32, found '1:1e300'");
}

#[test]
fn libsvm_labels_missing_or_bad() {
    assert_snapshot!(libsvm(""), @"train.txt: expected at least one example, found an empty file");
    assert_snapshot!(libsvm("\n# nothing\n"), @"train.txt: expected at least one example, found none");
    assert_snapshot!(libsvm("1:1 2:1\n"), @"train.txt:1: expected a label before the features, found '1:1'");
    assert_snapshot!(libsvm("1 1:1\n 1:1 2:1\n"), @"train.txt:2: expected a label (--labels multilabel reads a line without one as the empty set), found '1:1'");
    assert_snapshot!(libsvm("cat 1:1\n"), @"train.txt:1: expected a number as label, found 'cat'");
    assert_snapshot!(libsvm("nan 1:1\n"), @"train.txt:1: expected a number as label, found 'nan'");
    assert_snapshot!(libsvm("1e999 1:1\n"), @"train.txt:1: expected a finite number as label, found '1e999'");
    assert_snapshot!(libsvm("1,,2 1:1\n"), @"train.txt:1: expected a number as label, found '1,,2'");
    assert_snapshot!(libsvm("1,2,1 1:1\n"), @"train.txt:1: expected each label once, found 1 twice");
    assert_snapshot!(libsvm("1 1:1\n1 2:1\n"), @"train.txt: expected at least two distinct labels, found only 1");
    assert_snapshot!(libsvm("1\n2\n"), @"train.txt: expected at least one feature, found none");
    assert_snapshot!(libsvm_labels("1 1:1\n2 1:1\n3 1:1\n4 1:1\n", LabelKind::Binary), @"train.txt: expected two distinct labels, found 4 (1, 2, 3, …)");
    assert_snapshot!(libsvm_labels("1 1:1\n1,2 1:1\n", LabelKind::Multiclass), @"train.txt:2: expected one label, found '1,2'");
    assert_snapshot!(libsvm_labels(" 1:1\n 1:2\n", LabelKind::Multilabel), @"train.txt: expected at least one label, found empty label sets only");
    assert_snapshot!(libsvm_labels(" 1,2 1:1\n", LabelKind::Multilabel), @"train.txt:1: expected index:value, found '1,2'");
}

#[test]
fn the_first_bad_line_of_many_is_named() {
    let mut text = "1 1:1 2:2\n-1 2:0.5\n".repeat(100_000);
    text.push_str("1 2:1 1:1\n");
    text.push_str(&"1 0:1\n".repeat(100_000));
    assert_snapshot!(libsvm(&text), @"train.txt:200001: expected feature indices in ascending order, found 1 after 2");
    assert_snapshot!(refused("train.txt.gz", gzip(text.as_bytes()), &ReadOptions::default()), @"train.txt.gz:200001: expected feature indices in ascending order, found 1 after 2");
}

fn csv(text: &str) -> String {
    refused("table.csv", text, &ReadOptions::default())
}

fn csv_column(text: &str, column: &str) -> String {
    let options = ReadOptions { label_column: Some(column.to_owned()), ..ReadOptions::default() };
    refused("table.csv", text, &options)
}

#[test]
fn csv_tables() {
    assert_snapshot!(csv("a,b,y\n1,2,0\n1,2\n"), @"table.csv:3: expected 3 cells, found 2");
    assert_snapshot!(csv("a,b,y\n1,2,0\n1,2,3,4\n"), @"table.csv:3: expected 3 cells, found more");
    assert_snapshot!(csv("1,2,0\n1,,1\n"), @"table.csv:2:2: expected a number, found an empty cell");
    assert_snapshot!(csv("1,2,0\n1,two,1\n"), @"table.csv:2:2: expected a number, found 'two'");
    assert_snapshot!(csv("1;2;0\n1;2,5;1\n"), @"table.csv:2:2: expected a number, found '2,5'");
    assert_snapshot!(csv("1,2,0\n1,NaN,1\n"), @"table.csv:2:2: expected a finite number, found 'NaN'");
    assert_snapshot!(csv("1,2,0\n1,2,\n"), @"table.csv:2:3: expected a label, found an empty cell");
    assert_snapshot!(csv("1,2,0\n1,2,inf\n"), @"table.csv:2:3: expected a finite label, found 'inf'");
    assert_snapshot!(csv("1,2,a\n1,2,\"b\n"), @"table.csv:2:3: expected a closing quote in the same line, found 'b'");
    assert_snapshot!(csv("1,2,a\n1,2,\"b\"c\n"), @"table.csv:2:3: expected a separator after the closing quote, found 'c'");
    assert_snapshot!(csv("1\n2\n"), @"table.csv:1: expected at least one column of features, found '1'");
    assert_snapshot!(csv("a,b,y\n"), @"table.csv: expected at least one example, found none");
    assert_snapshot!(csv_column("1,2,0\n1,2,1\n", "4"), @"table.csv:1: expected a label column from 1 to 3, found 4");
    assert_snapshot!(csv_column("a,b\n1,2\n", "colour"), @"table.csv:1: expected a column named 'colour', found 'a,b'");
    assert_snapshot!(csv_column("1,2\n3,4\n", "none"), @"table.csv: expected labels for all rows, found rows without labels");
}

fn array(descr: &str, shape: &[usize], data: &[u8]) -> String {
    refused("x.npy", npy(descr, false, shape, data), &ReadOptions::default())
}

#[test]
fn npy_arrays() {
    let values = f64s(&[1.0, 2.0, 3.0, 4.0]);
    assert_snapshot!(array("<f8", &[2, 2], &values), @"x.npy: expected labels in the next file, found none");
    assert_snapshot!(array("<f8", &[2, 2], &values[..20]), @"x.npy: expected 4 values, found only 2");
    assert_snapshot!(array("<f8", &[2, 1], &values), @"x.npy: expected the end of the file after the values, found more bytes");
    assert_snapshot!(array("<f8", &[1_000_000_000, 1_000_000], &values), @"x.npy: expected 1000000000000000 values, found only 4");
    assert_snapshot!(array("<f8", &[4], &values), @"x.npy: expected numbers in rows and columns, found shape 4");
    assert_snapshot!(array("<f8", &[0, 2], &[]), @"x.npy: expected at least one row and one column, found 0 x 2");
    assert_snapshot!(array("|O", &[2, 2], &values), @"x.npy: expected an array of numbers or text, found type '|O'");
    assert_snapshot!(array("<c16", &[1, 2], &values), @"x.npy: expected an array of numbers or text, found type '<c16'");
    assert_snapshot!(array("<f8", &[1, 2], &f64s(&[1.0, f64::NAN])), @"x.npy: expected finite values, found NaN as value 2 of 2");
    assert_snapshot!(array("<u8", &[1, 1], &[255; 8]), @"x.npy: expected integers of at most 2^53, found 18446744073709551615 as value 1 of 1");
    assert_snapshot!(refused("x.npy", b"\x93NUMPY\x07\x00", &ReadOptions::default()), @"x.npy: expected version 1, 2 or 3 of the NPY format, found version 7");
    assert_snapshot!(refused("x.npy", b"\x93NUMPY\x01\x00\x20\x00{'descr': ", &ReadOptions::default()), @"x.npy: expected an NPY header of 32 bytes, found 10");
    assert_snapshot!(refused("x.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff", &ReadOptions::default()), @"x.npy: expected an NPY header of at most 65536 bytes, found 4294967295");
    assert_snapshot!(refused("x.npy", b"\x93NUMPY\x01\x00\x0c\x00{'shape': 3}", &ReadOptions::default()), @"x.npy: expected '(' in the NPY header, found '3}'");
    let x = npy("<f8", false, &[2, 2], &values);
    let y = npy("|u1", false, &[3], &[0, 1, 1]);
    assert_snapshot!(refused_files(&[("x.npy", &x), ("y.npy", &y)], &ReadOptions::default()), @"y.npy: expected one label, or one row of 0 and 1, for each of 2 rows, found shape 3");
}

#[test]
fn npz_archives() {
    let values = f64s(&[1.0, 2.0, 3.0, 4.0]);
    let x = npy("<f8", false, &[2, 2], &values);
    let sets = npy("|u1", false, &[2, 2], &[0, 1, 2, 0]);
    let archive =
        |members: &[(&str, &[u8])]| refused("d.npz", zip(members), &ReadOptions::default());
    assert_snapshot!(archive(&[("X.npy", &x)]), @"d.npz: expected labels in the archive (y or labels) or in the next file, found none");
    assert_snapshot!(archive(&[("Z.npy", &x)]), @"d.npz: expected an array named X or features, or a SciPy sparse matrix, found none");
    assert_snapshot!(archive(&[("X.npy", &x), ("y.npy", &sets)]), @"d.npz/y.npy: expected 0 or 1 for each label, found 2");
    let mut broken = zip(&[("X.npy", &x), ("y.npy", &sets)]);
    broken[120] ^= 1;
    broken[160] ^= 1;
    assert_snapshot!(refused("d.npz", &broken, &ReadOptions::default()), @"d.npz/X.npy: expected an intact NPZ archive, found a broken one (Invalid checksum)");
    assert_snapshot!(refused("d.npz", &broken[..50], &ReadOptions::default()), @"d.npz: expected an intact NPZ archive, found a broken one (invalid Zip archive: Could not find EOCD)");
    assert_snapshot!(refused("d.npz.gz", gzip(&broken), &ReadOptions::default()), @"d.npz.gz: expected an NPZ archive as it is, found one inside a compressed file");
    let sparse = |format: &[u8], starts: &[i32], columns: &[i32]| {
        archive(&[
            ("format.npy", &npy("|S3", false, &[], format)),
            ("shape.npy", &npy("<i4", false, &[2], &i32s(&[2, 3]))),
            ("indptr.npy", &npy("<i4", false, &[starts.len()], &i32s(starts))),
            ("indices.npy", &npy("<i4", false, &[columns.len()], &i32s(columns))),
            ("data.npy", &npy("<f8", false, &[2], &values[..16])),
            ("y.npy", &npy("|u1", false, &[2], &[0, 1])),
        ])
    };
    assert_snapshot!(sparse(b"bsr", &[0, 1, 2], &[0, 1]), @"d.npz/format.npy: expected csr, csc or coo, found 'bsr'");
    assert_snapshot!(sparse(b"coo", &[0, 1, 2], &[0, 1]), @"d.npz: expected an array named row, found none");
    assert_snapshot!(sparse(b"csr", &[0, 2, 1], &[0, 1]), @"d.npz/indptr.npy: expected starts that begin at 0 and never descend, found 1 after 2");
    assert_snapshot!(sparse(b"csr", &[0, 2], &[0, 1]), @"d.npz/indptr.npy: expected 3 starts, found 2");
    assert_snapshot!(sparse(b"csr", &[0, 1, 2], &[0, 3]), @"d.npz/indices.npy: expected indices below 3, found 3");
    assert_snapshot!(sparse(b"csr", &[0, 2, 2], &[1, 1]), @"d.npz/shape.npy: expected each column once in a row, found column 1 twice in row 0");
    assert_snapshot!(sparse(b"csr", &[0, 1, 2], &[0]), @"d.npz/indices.npy: expected 2 indices, found 1");
    assert_snapshot!(sparse(b"csr", &[0, 1, 2], &[0, -1]), @"d.npz/indices.npy: expected integers from 0 on, found -1");
    let coordinates = |shape: &[i32], rows: &[i32], columns: &[i32]| {
        archive(&[
            ("format.npy", &npy("|S3", false, &[], b"coo")),
            ("shape.npy", &npy("<i4", false, &[2], &i32s(shape))),
            ("row.npy", &npy("<i4", false, &[rows.len()], &i32s(rows))),
            ("col.npy", &npy("<i4", false, &[columns.len()], &i32s(columns))),
            ("data.npy", &npy("<f8", false, &[2], &values[..16])),
            ("y.npy", &npy("|u1", false, &[2], &[0, 1])),
        ])
    };
    assert_snapshot!(coordinates(&[2, 3], &[0, 2], &[0, 1]), @"d.npz/row.npy: expected indices below 2, found 2");
    assert_snapshot!(coordinates(&[2, 3], &[0, 1], &[0, 3]), @"d.npz/col.npy: expected indices below 3, found 3");
    assert_snapshot!(coordinates(&[2, 3], &[0, -1], &[0, 1]), @"d.npz/row.npy: expected integers from 0 on, found -1");
    assert_snapshot!(coordinates(&[2, 3], &[0, 1], &[0]), @"d.npz/col.npy: expected 2 indices, found 1");
    assert_snapshot!(coordinates(&[2, 3], &[1], &[0]), @"d.npz/data.npy: expected 1 values, found 2");
    assert_snapshot!(coordinates(&[2, 3], &[1, 1], &[2, 2]), @"d.npz/shape.npy: expected each column once in a row, found column 2 twice in row 1");
    assert_snapshot!(coordinates(&[2, i32::MAX], &[0, 1], &[0, 1]), @"d.npz/shape.npy: expected at most 10000000 columns for 2 non-zeros (--features allows more), found 2147483647");
}

fn arff(text: &str) -> String {
    refused("d.arff", format!("@relation r\n{text}"), &ReadOptions::default())
}

fn arff_labels(text: &str, xml: &str) -> String {
    let text = format!("@relation r\n@attribute a real\n@attribute b {{0,1}}\n{text}");
    refused_files(
        &[("d.arff", text.as_bytes()), ("d.xml", xml.as_bytes())],
        &ReadOptions::default(),
    )
}

#[test]
fn arff_files() {
    let head = "@attribute a real\n@attribute c {x,y}\n@data\n";
    assert_snapshot!(arff(&format!("{head}1,x\n?,y\n")), @"d.arff:6:1: expected a value, found '?' (a missing one)");
    assert_snapshot!(arff(&format!("{head}1,x\n2,z\n")), @"d.arff:6:2: expected one of the declared classes, found 'z'");
    assert_snapshot!(arff(&format!("{head}1,x\n2\n")), @"d.arff:6: expected 2 values, found 1");
    assert_snapshot!(arff(&format!("{head}1,x\n2,y,3\n")), @"d.arff:6: expected 2 values, found more");
    assert_snapshot!(arff(&format!("{head}1,x\nabc,y\n")), @"d.arff:6:1: expected a number, found 'abc'");
    assert_snapshot!(arff(&format!("{head}1,x\n{{0 1,5 x}}\n")), @"d.arff:6: expected an index below 2, found '5'");
    assert_snapshot!(arff(&format!("{head}{{1 x,0 1}}\n")), @"d.arff:5: expected indices in ascending order, found 0 after 1");
    assert_snapshot!(arff(&format!("{head}{{0 1\n")), @"d.arff:5: expected a row that ends with a brace, found '0 1'");
    assert_snapshot!(arff(&format!("{head}{{0}}\n")), @"d.arff:5: expected an index and a value, found '0'");
    assert_snapshot!(arff("@attribute a real\n"), @"d.arff: expected @data before the rows, found the end of the file");
    assert_snapshot!(arff("@attribute a real\n1,2\n"), @"d.arff:3: expected @relation, @attribute or @data, found '1,2'");
    assert_snapshot!(arff("@attribute a string\n@data\n"), @"d.arff:2: expected numeric or a list of values in braces, found 'string'");
    assert_snapshot!(arff("@attribute 'a real\n@data\n"), @"d.arff:2:1: expected a closing quote in the same line, found 'a real'");
    assert_snapshot!(arff("@attribute k {u,v}\n@attribute a real\n@attribute c {x,y}\n@data\n"), @"d.arff:2: expected numbers as values of 'k', found 'u'");
    assert_snapshot!(arff("@attribute a real\n@attribute b real\n@data\n1,2\n"), @"d.arff:3: expected a nominal class as the last attribute, or a label file, found 'b' as numbers");
    assert_snapshot!(arff("@attribute b {1,0}\n@attribute c {x,y}\n@data\n{}\n"), @"d.arff:5: expected 0 as the first value of 'b' in a file with sparse rows, found another");
    assert_snapshot!(arff(head), @"d.arff: expected at least one example, found none");
    assert_snapshot!(arff_labels("@data\n1,2\n", "<label name='b'/>"), @"d.arff:5:2: expected 0 or 1, found '2'");
    assert_snapshot!(arff_labels("@data\n1,1\n", "<label name='b'/><label name='z'/>"), @"d.arff:4: expected an attribute for the label 'z', found none");
    assert_snapshot!(arff_labels("@data\n1,1\n", "<labels></labels>"), @r#"d.xml: expected labels (<label name="…">), found none"#);
    assert_snapshot!(arff_labels("@data\n1,1\n", "<label name='b'/><label name='b'/>"), @"d.xml: expected each label once in the label file, found 'b' twice");
    assert_snapshot!(arff_labels("@data\n1,1\n", "<label name='a'/>"), @"d.arff:2: expected {0,1} for the label 'a', found 'real'");
    assert_snapshot!(refused("d.xml", "<labels/>", &ReadOptions::default()), @"d.xml: expected a data file, found an XML file without an ARFF file before it");
}

#[test]
fn idx_files() {
    let images = idx(8, &[2, 2], &[1, 2, 3, 4]);
    let labels = idx(8, &[3], &[0, 1, 2]);
    let defaults = ReadOptions::default();
    assert_snapshot!(refused("images", &images, &defaults), @"images: expected labels in the next file, or beside the images under their name, found none");
    assert_snapshot!(refused("images", &images[..11], &defaults), @"images: expected the sizes of 2 axes, found 1");
    assert_snapshot!(refused("images", idx(8, &[2, 2], &[1, 2, 3, 4, 5]), &defaults), @"images: expected the end of the file after the values, found more bytes");
    assert_snapshot!(refused("images", idx(8, &[2, 70000, 70000], &[1]), &defaults), @"images: expected fewer than 2^31 columns, found 2 x 4900000000");
    assert_snapshot!(refused("images", idx(8, &[2, u32::MAX, u32::MAX, u32::MAX], &[1]), &defaults), @"images: expected fewer than 2^31 values per example, found more");
    assert_snapshot!(refused("images", &images[..7], &defaults), @"images: expected the sizes of 2 axes, found 0");
    assert_snapshot!(refused("labels", &labels, &defaults), @"labels: expected images (two axes or more), found one axis, as label files have");
    assert_snapshot!(refused_files(&[("images", &images), ("labels", &labels)], &defaults), @"labels: expected 2 labels, found shape 3");
    let forced = ReadOptions { format: Some(Format::Idx), ..ReadOptions::default() };
    assert_snapshot!(refused("images", b"\x00\x00\x0a\x02", &forced), @"images: expected an IDX number type, found 0x0a");
    assert_snapshot!(refused("images", b"hello", &forced), @"images: expected an IDX file, found 'hell'");
}

#[test]
fn compressed_and_missing_files() {
    let text = "1 1:1\n2 2:2\n".repeat(50);
    let defaults = ReadOptions::default();
    let packed = gzip(text.as_bytes());
    assert_snapshot!(refused("train.gz", &packed[..packed.len() - 12], &defaults), @"train.gz: expected intact gzip data, found damage (incomplete deflate stream)");
    let mut packed = bzip2(text.as_bytes());
    packed[20] ^= 1;
    assert_snapshot!(refused("train.bz2", &packed, &defaults), @"train.bz2: expected intact bzip2 data, found damage (bzip2: invalid data)");
    let mut packed = zstd(text.as_bytes());
    let last = packed.len() - 1;
    packed[last] ^= 1;
    assert_snapshot!(refused("train.zst", &packed, &defaults), @"train.zst: expected intact zstd data, found damage (a checksum that does not match)");
    assert_snapshot!(refused("train.zst", &packed[..last - 10], &defaults), @"train.zst: expected intact zstd data, found damage (an unreadable or incomplete block)");
    assert_snapshot!(read(&["no/such/file".into()], &defaults).unwrap_err(), @"no/such/file: No such file or directory (os error 2)");
    assert_snapshot!(read(&[], &defaults).unwrap_err(), @"no files: expected at least one data file, found none");
    assert_snapshot!(read(&[env!("CARGO_MANIFEST_DIR").into()], &defaults).unwrap_err().to_string().replace(env!("CARGO_MANIFEST_DIR"), "FOLDER"), @"FOLDER: is a directory");
    let unlabelled =
        ReadOptions { label_column: Some("none".to_owned()), ..ReadOptions::default() };
    assert_snapshot!(read_bytes("t.csv", b"1,2\n", &unlabelled).unwrap_err(), @"t.csv: expected labels for all rows, found rows without labels");
}
