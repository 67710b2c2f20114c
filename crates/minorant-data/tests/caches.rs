//! Caches give back what readers of other formats give, whatever the rows and labels are; damage of any
//! byte is noticed; conversions that were cut off go on where they were.

mod common;

use common::{f64s, gzip, idx, npy, zip};
use minorant_data::{
    Attributes, Cache, CacheWriter, Converted, Dataset, Label, LabelKind, LabelRows, Labels,
    ReadOptions, SequenceFormat, SequenceOptions, Sequences, Template, read, read_bytes,
    read_sequence_bytes, read_sequences, write_cache, write_sequence_cache,
};
use minorant_linalg::{Matrix, Storage};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Rows, columns, layout, bytes of a value, entries, labels.
type Whole = (usize, usize, bool, usize, Vec<Vec<(usize, u64)>>, String);

/// Everything that a data set holds, to be compared.
fn whole(data: &Dataset<'_>) -> Whole {
    let x = &data.features;
    let row = |i: usize| x.row(i).map(|(j, x)| (j, x.to_bits())).collect();
    let rows = (0..x.rows()).map(row).collect();
    (x.rows(), x.cols(), x.is_sparse(), x.values().width(), rows, format!("{:?}", data.labels))
}

fn converted(folder: &TempDir, files: &[(&str, Vec<u8>)], options: &ReadOptions) -> PathBuf {
    let paths: Vec<PathBuf> = files
        .iter()
        .map(|(name, bytes)| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        })
        .collect();
    let target = folder.path().join("data.mnt");
    let done = write_cache(&paths, options, &target, &mut |_| true).unwrap();
    assert_eq!(done, Converted::Whole { resumed_at: 0 });
    target
}

#[test]
fn caches_give_what_other_formats_give() {
    let numbers = f64s(&[1.0, 2.0, 3.0, 0.1, 5.0, 6.0]);
    let sets = npy("|b1", false, &[3, 2], &[1, 0, 1, 1, 0, 0]);
    let x = npy("<f8", false, &[3, 2], &numbers);
    type Files = Vec<(&'static str, Vec<u8>)>;
    let cases: Vec<(Files, Option<LabelKind>)> = vec![
        (vec![("a.svm", b"+1 1:0.5 3:2\n-1 2:0.1\n+1\n".to_vec())], None),
        (vec![("a.svm", b"1,3 1:0.5\n2 2:0.25\n3,2 9:1\n".to_vec())], None),
        (vec![("a.svm", b" 1:1\n2 2:1\n3,2 9:1\n".to_vec())], Some(LabelKind::Multilabel)),
        (vec![("a.svm", gzip(b"5 1:1 4:1\n6 2:3 3:3\n5 4:7\n"))], None),
        (vec![("a.svm", b"0.5 1:1\n1.25 2:3\n-3 4:7\n".to_vec())], Some(LabelKind::Targets)),
        (vec![("a.csv", b"a,b,class\n1,2,x\n3,4.5,y\n".to_vec())], None),
        (vec![("a.csv", b"0,0,0,0,7,1\n0,0,0,0,0,2\n0,0,0,0,0,1\n".to_vec())], None),
        (vec![("a.npy", x.clone()), ("y.npy", npy("|i1", false, &[3], &[255, 1, 255]))], None),
        (vec![("a.npz", zip(&[("X.npy", &x), ("y.npy", &sets)]))], None),
        (
            vec![
                ("a.idx", idx(8, &[2, 2, 2], &[0, 1, 2, 3, 4, 5, 6, 255])),
                ("l.idx", idx(8, &[2], &[3, 5])),
            ],
            None,
        ),
        (vec![("a.svm", b"1 1:1 2:2\n".to_vec()), ("b.csv", b"1,2,3,2\n4,5,6,1\n".to_vec())], None),
    ];
    for (files, kind) in cases {
        for storage in [Storage::Exact, Storage::F32, Storage::F64] {
            let folder = TempDir::new().unwrap();
            // Whether labels are classes or targets is asked when a cache is read, not when it is made.
            let making = kind.filter(|kind| *kind != LabelKind::Targets);
            let making = ReadOptions { label_kind: making, ..ReadOptions::default() };
            let target = converted(&folder, &files, &making);
            let options = ReadOptions { label_kind: kind, storage, ..ReadOptions::default() };
            let paths: Vec<PathBuf> =
                files.iter().map(|(name, _)| folder.path().join(name)).collect();
            let expected = read(&paths, &options).unwrap();
            let found = read(std::slice::from_ref(&target), &options).unwrap();
            assert_eq!(whole(&found), whole(&expected), "{:?} {storage:?}", files[0].0);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), files.len() + 1);
        }
    }
}

/// Rows of LIBSVM text, more than a block of them.
fn many_rows(rows: usize, rng: &mut Pcg64Mcg) -> String {
    let mut text = String::new();
    for _ in 0..rows {
        write!(text, "{}", ["-1", "+1", "7.5"][rng.random_range(0..3)]).unwrap();
        let mut column = 0;
        for _ in 0..rng.random_range(0..40) {
            column += rng.random_range(1..30);
            let value: f64 = rng.random_range(-4.0..4.0);
            write!(text, " {column}:{}", if rng.random() { value } else { value.round() + 0.5 })
                .unwrap();
        }
        text.push('\n');
    }
    text
}

#[test]
fn conversions_that_were_cut_off_go_on() {
    let mut rng = Pcg64Mcg::new(3);
    let text = many_rows(60_000, &mut rng);
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("a.svm");
    std::fs::write(&file, &text).unwrap();
    let (options, paths) = (ReadOptions::default(), [file]);
    let straight = folder.path().join("straight.mnt");
    write_cache(&paths, &options, &straight, &mut |_| true).unwrap();
    let target = folder.path().join("data.mnt");
    let mut stops = 0;
    let resumed_at = loop {
        stops += 1;
        let most = 9_000 * stops;
        match write_cache(&paths, &options, &target, &mut |done| done.rows < most).unwrap() {
            Converted::Stopped => assert!(!target.exists()),
            Converted::Whole { resumed_at } => break resumed_at,
        }
    };
    assert!(stops > 2 && resumed_at > 0, "stopped {stops} times, resumed at {resumed_at}");
    let [a, b] =
        [&straight, &target].map(|path| read(std::slice::from_ref(path), &options).unwrap());
    assert_eq!(whole(&a), whole(&b));
    assert_eq!(whole(&a), whole(&read(&paths, &options).unwrap()));
    assert!(Cache::open(&target).unwrap().blocks() > 2);
    // A part of other rows is not taken up.
    let part = folder.path().join("other.mnt");
    write_cache(&paths, &options, &part, &mut |done| done.rows < 40_000).unwrap();
    std::fs::write(&paths[0], "1 1:1\n2 1:2\n").unwrap();
    let done = write_cache(&paths, &options, &part, &mut |_| true).unwrap();
    assert_eq!(done, Converted::Whole { resumed_at: 0 });
    assert_eq!(Cache::open(&part).unwrap().rows(), 2);
}

#[test]
fn any_damaged_byte_is_refused() {
    let mut rng = Pcg64Mcg::new(8);
    let folder = TempDir::new().unwrap();
    let text = many_rows(200, &mut rng).into_bytes();
    let target = converted(&folder, &[("a.svm", text)], &ReadOptions::default());
    let bytes = std::fs::read(&target).unwrap();
    let options = ReadOptions::default();
    assert!(read_bytes("data.mnt", &bytes, &options).is_ok());
    for run in 0..2000 {
        let mut damaged = bytes.clone();
        let at = if run < 60 { run } else { rng.random_range(0..bytes.len()) };
        damaged[at] ^= 1 << rng.random_range(0..8);
        let options = ReadOptions { format: Some(minorant_data::Format::Mnt), ..options.clone() };
        let why = read_bytes("data.mnt", &damaged, &options);
        assert!(why.is_err(), "byte {at} of {}", bytes.len());
        let cut = rng.random_range(0..bytes.len());
        assert!(read_bytes("data.mnt", &bytes[..cut], &options).is_err(), "cut at {cut}");
    }
}

#[test]
fn batches_from_memory() {
    let folder = TempDir::new().unwrap();
    let target = folder.path().join("data.mnt");
    let mut writer = CacheWriter::create(&target).unwrap();
    for start in 0..3 {
        let values: Vec<f64> = (0..20).map(|i| f64::from(i + 20 * start) / 3.0).collect();
        let features = Matrix::dense(10, 2, values.into()).unwrap();
        let classes: Vec<Label> =
            (0..10).map(|i| Label::from(["b", "a", "c"][(i + start as usize) % 3])).collect();
        writer.push(&Dataset { features, labels: Labels::of(&classes) }, None).unwrap();
    }
    writer.finish().unwrap();
    let data = read(&[target], &ReadOptions::default()).unwrap();
    assert_eq!(
        (data.features.rows(), data.features.cols(), data.features.is_sparse()),
        (30, 2, false)
    );
    assert_eq!(data.labels.classes.len(), 3);
    let LabelRows::Single(rows) = &data.labels.rows else { panic!("one label a row") };
    assert_eq!(rows[..4], [1, 0, 2, 1]);
    assert_eq!(rows[10..12], [0, 2]);
}

#[test]
fn what_cannot_be_is_said() {
    let folder = TempDir::new().unwrap();
    let target =
        converted(&folder, &[("a.csv", b"1,0,cat\n0,1,dog\n".to_vec())], &ReadOptions::default());
    let refused = |options: &ReadOptions, path: &Path| {
        let name = format!("{}/", folder.path().display());
        read(&[path.to_owned()], options).unwrap_err().to_string().replace(&name, "")
    };
    let targets = ReadOptions { label_kind: Some(LabelKind::Targets), ..ReadOptions::default() };
    assert_eq!(
        refused(&targets, &target),
        "data.mnt: expected numbers as targets, found words from row 1 on"
    );
    let short = folder.path().join("short.mnt");
    let bytes = std::fs::read(&target).unwrap();
    std::fs::write(&short, &bytes[..bytes.len() - 9]).unwrap();
    assert_eq!(
        refused(&ReadOptions::default(), &short),
        "short.mnt: expected a whole cache, found one that was cut off"
    );
    let empty = folder.path().join("empty.svm");
    std::fs::write(&empty, "\n").unwrap();
    let why = write_cache(&[empty], &ReadOptions::default(), &target, &mut |_| true).unwrap_err();
    assert!(why.to_string().contains("expected at least one example"), "{why}");
}

/// Everything that sequences hold, to be compared.
fn all_of(data: &Sequences) -> String {
    let x = &data.tokens;
    let row = |i: usize| x.row(i).map(|(j, x)| (j, x.to_bits())).collect::<Vec<_>>();
    let rows: Vec<_> = (0..x.rows()).map(row).collect();
    let Sequences { starts, labels, classes, attributes, template, unknown, .. } = data;
    let template = template.as_ref().map(Template::text);
    let facts = (rows, starts, labels, classes, attributes, template, unknown);
    format!("{facts:?}")
}

/// A conversion of these files, and how they are read from the cache.
fn cached_sequences(folder: &TempDir, paths: &[PathBuf], options: &SequenceOptions) -> PathBuf {
    let target = folder.path().join("data.mnt");
    let done = write_sequence_cache(paths, options, &target, &mut |_| true).unwrap();
    assert_eq!(done, Converted::Whole { resumed_at: 0 });
    target
}

#[test]
fn sequences_are_what_the_files_give() {
    let template = || Template::parse("t", "U0:%x[0,0]\nU1:%x[-1,0]/%x[1,1]\n").unwrap();
    let values = f64s(&[1.0, 0.0, 3.0, 0.1, 5.0, 6.0, 0.0, 0.0]);
    let offsets = f64s(&[0.0, 1.0, 1.0, 4.0, 4.0]);
    let arrays = zip(&[
        ("values.npy", &npy("<f8", false, &[4, 2], &values)),
        ("offsets.npy", &npy("<f8", false, &[5], &offsets)),
        ("labels.npy", &npy("|u1", false, &[4], &[10, 2, 2, 10])),
    ]);
    let letters =
        b"1\tb\t2\t1\t1\t0\t0\t1\t0\n2\ta\t-1\t1\t2\t0\t1\t1\t0\t\n3\ta\t-1\t2\t1\t7\t0\t0\t1\n";
    let conll = b"the DT B\ncat NN I\n\n\nthe DT O\nsat VB 01\n".to_vec();
    let crfsuite = b"B\tw=a\\:b\tlen:2.5\tlen:0.1\nI\tw=c\n\nO\tx\tw=c\n".to_vec();
    let plain = SequenceOptions::default;
    let hashed = SequenceOptions { hash_bits: Some(5), ..plain() };
    let cases: [(&[u8], SequenceOptions); 6] = [
        (&conll, plain()),
        (&conll, SequenceOptions { template: Some(template()), ..plain() }),
        (&crfsuite, plain()),
        (&crfsuite, hashed.clone()),
        (letters, plain()),
        (&arrays, plain()),
    ];
    for (bytes, making) in cases {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("a");
        std::fs::write(&file, bytes).unwrap();
        let target = cached_sequences(&folder, std::slice::from_ref(&file), &making);
        let has_names = making.hash_bits.is_none()
            && ![b"1\t", b"PK"].contains(&&bytes[..2].try_into().unwrap());
        let known = match has_names {
            true => vec!["w=c".to_string(), "U0:the".to_string(), "none".to_string()],
            false => Vec::new(),
        };
        let known = (!known.is_empty()).then(|| Attributes::Named(known.into()));
        let readings = [
            making.clone(),
            SequenceOptions { storage: Storage::F64, ..making.clone() },
            SequenceOptions { min_count: if has_names { 2 } else { 0 }, ..making.clone() },
            SequenceOptions { known, ..making.clone() },
        ];
        for options in readings {
            let expected = read_sequences(std::slice::from_ref(&file), &options).unwrap();
            // What made the attributes, the cache says.
            let options = SequenceOptions { template: None, hash_bits: None, ..options };
            for most in [None, Some(0)] {
                let options = SequenceOptions { rows_in_memory: most, ..options.clone() };
                let found = read_sequences(std::slice::from_ref(&target), &options).unwrap();
                assert_eq!(found.tokens.blocks().is_some(), most.is_some());
                if most.is_none() {
                    assert_eq!(found.tokens.width(), expected.tokens.width());
                }
                assert_eq!(all_of(&found), all_of(&expected), "{options:?}");
            }
        }
        let cache = Cache::open(&target).unwrap();
        assert!(cache.holds_sequences() && cache.examples() > 1);
        let why = read(&[target], &ReadOptions::default()).unwrap_err().to_string();
        assert!(why.contains("expected rows of features, found a cache of sequences"), "{why}");
    }
}

/// Attribute lists that do not look like such.
fn lists() -> SequenceOptions {
    SequenceOptions { format: Some(SequenceFormat::Crfsuite), ..SequenceOptions::default() }
}

#[test]
fn several_caches_of_sequences_are_one() {
    let folder = TempDir::new().unwrap();
    let texts = ["B\ta\tb\n\nO\tb\tc\n", "I\tc\td\nB\ta\n"];
    let mut paths = [Vec::new(), Vec::new()];
    for (at, text) in texts.iter().enumerate() {
        let file = folder.path().join(format!("{at}.txt"));
        std::fs::write(&file, text).unwrap();
        let target = folder.path().join(format!("{at}.mnt"));
        let options = lists();
        write_sequence_cache(std::slice::from_ref(&file), &options, &target, &mut |_| true)
            .unwrap();
        paths[0].push(file);
        paths[1].push(target);
    }
    for min_count in [0, 2] {
        let options = SequenceOptions { min_count, ..SequenceOptions::default() };
        let of_text = SequenceOptions { format: lists().format, ..options.clone() };
        let a = read_sequences(&paths[0], &of_text).unwrap();
        assert_eq!(all_of(&a), all_of(&read_sequences(&paths[1], &options).unwrap()));
    }
}

/// Attribute lists, more than two blocks of them.
fn many_tokens(rng: &mut Pcg64Mcg) -> String {
    let mut text = String::new();
    for token in 0..150_000 {
        write!(text, "{}", ["B", "I", "O"][rng.random_range(0..3)]).unwrap();
        for _ in 0..rng.random_range(0..16) {
            write!(text, "\ta{}", rng.random_range(0..500)).unwrap();
        }
        text.push_str(if token % 9 == 0 { "\n\n" } else { "\n" });
    }
    text
}

#[test]
fn conversions_of_sequences_go_on() {
    let mut rng = Pcg64Mcg::new(4);
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("a.txt");
    std::fs::write(&file, many_tokens(&mut rng)).unwrap();
    let options = lists();
    let (paths, target) = ([file], folder.path().join("data.mnt"));
    let mut stops = 0;
    let resumed_at = loop {
        stops += 1;
        let most = 60_000 * stops;
        let goes_on = &mut |done: minorant_data::Progress| done.rows < most;
        match write_sequence_cache(&paths, &options, &target, goes_on).unwrap() {
            Converted::Stopped => assert!(!target.exists()),
            Converted::Whole { resumed_at } => break resumed_at,
        }
    };
    assert!(stops > 2 && resumed_at > 0, "stopped {stops} times, resumed at {resumed_at}");
    assert!(Cache::open(&target).unwrap().blocks() > 1);
    let a = all_of(&read_sequences(&paths, &options).unwrap());
    let b = all_of(&read_sequences(&[target], &SequenceOptions::default()).unwrap());
    assert!(a == b, "the cache holds something else");
}

#[test]
fn damaged_sequences_are_refused() {
    let mut rng = Pcg64Mcg::new(5);
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("a.txt");
    std::fs::write(&file, "B\tw=a\tlen:2.5\nI\tw=c\n\nO\tx\tw=c\n").unwrap();
    let options = SequenceOptions::default();
    let target = cached_sequences(&folder, std::slice::from_ref(&file), &options);
    let bytes = std::fs::read(target).unwrap();
    let options = SequenceOptions { format: Some(SequenceFormat::Mnt), ..options };
    assert!(read_sequence_bytes("data.mnt", &bytes, &options).is_ok());
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << rng.random_range(0..8);
        assert!(read_sequence_bytes("data.mnt", &damaged, &options).is_err(), "byte {at}");
        assert!(read_sequence_bytes("data.mnt", &bytes[..at], &options).is_err(), "cut at {at}");
    }
    let refused = |options: &SequenceOptions| {
        read_sequence_bytes("data.mnt", &bytes, options).unwrap_err().to_string()
    };
    let lines = SequenceOptions { keep_lines: true, ..options.clone() };
    assert!(refused(&lines).contains("a cache, which has no lines of tokens"));
    let known = Some(Attributes::Columns(2));
    let columns = SequenceOptions { known, ..options.clone() };
    assert!(refused(&columns).contains("expected columns without names, as the model has them"));
    let rows =
        converted(&folder, &[("a.svm", b"1 1:1\n2 2:1\n".to_vec())], &ReadOptions::default());
    let why = read_sequences(&[rows], &SequenceOptions::default()).unwrap_err().to_string();
    assert!(why.contains("expected sequences of tokens, found a cache of rows"), "{why}");
    let rare = SequenceOptions { min_count: 2, format: None, ..options };
    let target = folder.path().join("other.mnt");
    let why = write_sequence_cache(&[file], &rare, &target, &mut |_| true).unwrap_err().to_string();
    assert!(why.contains("--min-count where the cache is read"), "{why}");
}
