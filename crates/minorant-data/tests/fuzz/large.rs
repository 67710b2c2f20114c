//! Files made to cost memory: long, and of the shape that needs most memory for a byte. The pool
//! of threads has one, the test's own, whose memory is counted.

use crate::common::{Case, i32s, idx, npy, zip};
use crate::counting::peak_of;
use minorant_data::{LabelKind, ReadOptions, read_bytes_of_files};

const LENGTH: usize = 1 << 20;

fn repeated(text: &str) -> Vec<u8> {
    text.repeat(LENGTH / text.len()).into_bytes()
}

/// Text parts that are all different.
fn numbered(line: impl Fn(usize) -> String) -> Vec<u8> {
    let mut text = String::new();
    for number in 0.. {
        text.push_str(&line(number));
        if text.len() > LENGTH {
            break;
        }
    }
    text.into_bytes()
}

#[test]
fn memory_follows_the_input() {
    let many_bytes = vec![1; LENGTH];
    let rows = LENGTH / 2;
    let entries = LENGTH / 16;
    let indices: Vec<i32> = (0..entries as i32).collect();
    let cases: Vec<Case> = vec![
        ("bare labels", vec![("a", repeated("1\n2\n"))]),
        ("label sets", vec![("a", [b"1 1:1\n", &*repeated("1,2\n1\n")].concat())]),
        ("one long set", vec![("a", [b"0", &*numbered(|n| format!(",{n}")), b" 1:1\n"].concat())]),
        ("different labels", vec![("a", numbered(|n| format!("{n}\n")))]),
        ("short entries", vec![("a", repeated("1 1:1\n2 2:3\n"))]),
        ("inexact entries", vec![("a", repeated("1 1:.1\n2\n"))]),
        (
            "one long row",
            vec![("a", [b"1", &*numbered(|n| format!(" {}:1", n + 1)), b"\n2\n"].concat())],
        ),
        ("colons in a comment", vec![("a", [b"1 1:1\n2 #", &*repeated(":"), b"\n"].concat())]),
        ("blank lines", vec![("a", [b"1 1:1\n2\n", &*repeated("\n")].concat())]),
        ("short cells", vec![("a.csv", repeated("1,2\n0,1\n"))]),
        ("short names", vec![("a.csv", numbered(|n| format!("1,x{n:x}\n")))]),
        (
            "wide table",
            vec![("a.csv", [&*repeated("1,"), b"1\n", &*repeated("1,"), b"2\n"].concat())],
        ),
        ("inexact cells", vec![("a.csv", [b"1,1\n", &*repeated(".1,2\n")].concat())]),
        (
            "attributes",
            vec![(
                "a.arff",
                [
                    &*numbered(|n| format!("@attribute {n} real\n")),
                    b"@attribute c {0,1}\n@data\n{}\n{}\n",
                ]
                .concat(),
            )],
        ),
        (
            "nominal values",
            vec![(
                "a.arff",
                [
                    b"@relation r\n@attribute a real\n@attribute c {0",
                    &*numbered(|n| format!(",x{n:x}")),
                    b"}\n@data\n1,0\n2,1\n",
                ]
                .concat(),
            )],
        ),
        (
            "empty sparse rows",
            vec![(
                "a.arff",
                [
                    b"@relation r\n@attribute a real\n@attribute c {0,1}\n@data\n{1 1}\n",
                    &*repeated("{}\n"),
                ]
                .concat(),
            )],
        ),
        (
            "labels in XML",
            vec![
                (
                    "a.arff",
                    b"@relation r\n@attribute a real\n@attribute c {0,1}\n@data\n1,0\n2,1\n"
                        .to_vec(),
                ),
                ("a.xml", numbered(|n| format!("<label name='{n}'/>"))),
            ],
        ),
        (
            "bytes",
            vec![
                ("x.npy", npy("|u1", false, &[rows, 2], &many_bytes)),
                ("y.npy", npy("|u1", false, &[rows], &many_bytes[..rows])),
            ],
        ),
        (
            "bytes by columns",
            vec![(
                "x.npz",
                zip(&[
                    ("X.npy", &npy("|u1", true, &[rows, 2], &many_bytes)),
                    ("y.npy", &npy("|b1", false, &[rows, 2], &many_bytes)),
                ]),
            )],
        ),
        (
            "empty rows by columns",
            vec![(
                "x.npz",
                zip(&[
                    ("format.npy", &npy("|S3", false, &[], b"csc")),
                    ("shape.npy", &npy("<i4", false, &[2], &i32s(&[LENGTH as i32, 1]))),
                    ("indptr.npy", &npy("<i4", false, &[2], &i32s(&[0, entries as i32]))),
                    ("indices.npy", &npy("<i4", false, &[entries], &i32s(&indices))),
                    ("data.npy", &npy("|u1", false, &[entries], &many_bytes[..entries])),
                    ("y.npy", &npy("|u1", false, &[LENGTH], &many_bytes)),
                ]),
            )],
        ),
        (
            "empty rows of coordinates",
            vec![(
                "x.npz",
                zip(&[
                    ("format.npy", &npy("|S3", false, &[], b"coo")),
                    ("shape.npy", &npy("<i4", false, &[2], &i32s(&[LENGTH as i32, 1]))),
                    ("row.npy", &npy("<i4", false, &[entries], &i32s(&indices))),
                    ("col.npy", &npy("<i4", false, &[entries], &i32s(&vec![0; entries]))),
                    ("data.npy", &npy("|u1", false, &[entries], &many_bytes[..entries])),
                    ("y.npy", &npy("|u1", false, &[LENGTH], &many_bytes)),
                ]),
            )],
        ),
        ("integers", vec![("x.npy", npy("<i4", true, &[LENGTH / 8, 2], &many_bytes))]),
        (
            "images",
            vec![
                ("x", idx(8, &[rows as u32, 2, 1], &many_bytes)),
                ("y", idx(8, &[rows as u32], &many_bytes[..rows])),
            ],
        ),
    ];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
    for (what, files) in &cases {
        let borrowed: Vec<(&str, &[u8])> = files.iter().map(|(name, b)| (*name, &b[..])).collect();
        let size: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
        for label_kind in [None, Some(LabelKind::Multilabel)] {
            let options =
                ReadOptions { label_kind, for_prediction: true, ..ReadOptions::default() };
            let (_, peak) =
                peak_of(|| pool.install(|| read_bytes_of_files(&borrowed, &options).is_ok()));
            let share = peak.saturating_sub(1 << 20) as f64 / size as f64;
            assert!(share <= 20.0, "{what} ({label_kind:?}): {share:.1} times the input");
        }
    }
}
