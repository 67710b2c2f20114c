//! Damaged files of sequences and recordings, and damaged templates.

use crate::common::{f64s, i32s, npy, zip};
use crate::harness::{Allowance, Borrowed, Files, PLAIN, Reader, Seal, archive, files};
use crate::{sometimes_resealed, unsealed};
use minorant_data::{
    Attributes, LabelledBy, ReadError, RecordingOptions, SequenceFormat, SequenceOptions, Template,
    read_recording_bytes, read_sequence_bytes, write_sequence_cache,
};
use minorant_linalg::Storage;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

const TEMPLATE: &str = "U0:%x[0,0]\n# words\nU1:%x[-1,0]/%x[1,1]\nB\n__BOS__\n__EOS__\n";

fn pick<T: Clone>(choices: &[T], rng: &mut Pcg64Mcg) -> T {
    choices[rng.random_range(0..choices.len())].clone()
}

fn random_options(format: SequenceFormat, rng: &mut Pcg64Mcg) -> SequenceOptions {
    let template = (rng.random_range(0..2) == 0).then(|| Template::parse("t", TEMPLATE));
    let names = vec!["w=a".to_owned(), "U0:the".to_owned()];
    let known = [
        None,
        None,
        None,
        Some(Attributes::Named(names.into())),
        Some(Attributes::Hashed(4)),
        Some(Attributes::Columns(2)),
    ];
    SequenceOptions {
        // The right format mostly, so that damage to the beginning does not only test detection.
        format: if rng.random_range(0..4) == 0 { None } else { Some(format) },
        template: template.map(|template| template.expect("a template")),
        min_count: pick(&[0, 0, 1, 2], rng),
        hash_bits: pick(&[None, None, Some(3), Some(20)], rng),
        folds: pick(&[None, None, Some(vec![0, 7])], rng),
        known: pick(&known, rng),
        keep_lines: rng.random(),
        storage: pick(&[Storage::Exact, Storage::F32, Storage::F64], rng),
        rows_in_memory: None,
    }
}

fn fuzz(
    name: &str,
    format: SequenceFormat,
    seeds: &[Files],
    allowance: &Allowance,
    seal: Seal<'_>,
) {
    let options = |rng: Option<&mut Pcg64Mcg>| match rng {
        Some(rng) => random_options(format, rng),
        None => SequenceOptions { format: Some(format), ..SequenceOptions::default() },
    };
    let read = |files: &Borrowed<'_>, options: &SequenceOptions| {
        let (name, bytes) = files[0];
        let data = read_sequence_bytes(name, bytes, options)?;
        let tokens = data.tokens.rows();
        assert_eq!(data.starts.last(), Some(&tokens), "tokens outside sequences");
        assert!(data.labels.is_empty() || data.labels.len() == tokens, "tokens without labels");
        let known = |label: &u16| (*label as usize) < data.classes.len();
        assert!(data.labels.iter().all(known), "a label that is none of the classes");
        Ok::<(), ReadError>(())
    };
    Reader { name, allowance, seal, options: &options, read }.fuzz(seeds);
}

#[test]
fn conll() {
    // Each of a template's attributes is a text of its own, made of several cells.
    let allowance = Allowance { times: 600, ..PLAIN };
    let seeds = [
        files(&[("a", b"the DT B\ncat NN I\n\n\nsat VB O\n")]),
        files(&[("a", b"a\tx\r\nb\ty\r\n \nc\tx\n")]),
        files(&[("a", "é NN B-NP\nb 1:2 O\n".as_bytes())]),
    ];
    fuzz("conll", SequenceFormat::Conll, &seeds, &allowance, &unsealed);
}

#[test]
fn crfsuite() {
    // An attribute of one letter and a tab is a name, its number and its count.
    let allowance = Allowance { times: 60, ..PLAIN };
    let seeds = [
        files(&[("a", b"B\tw=a\\:b\tlen:2.5\nI\tw=c\\\\\n\nO\tx\n")]),
        files(&[("a", b"1\tw[0]=a\tw[1]=b:1e-3\r\n2\tw[0]=b\t\n\n\n1\tx:0\n")]),
    ];
    fuzz("crfsuite", SequenceFormat::Crfsuite, &seeds, &allowance, &unsealed);
}

#[test]
fn ocr() {
    let letters =
        b"1\tb\t2\t1\t1\t0\t0\t1\t0\n2\ta\t-1\t1\t2\t0\t1\t1\t0\t\n3\ta\t-1\t2\t1\t7\t0\t0\t1\n";
    let one = b"1\ta\t-1\t1\t1\t0\t0.5\n2\tb\t-1\t2\t1\t7\t1\n";
    let seeds = [files(&[("a", letters)]), files(&[("a", one)])];
    fuzz("ocr", SequenceFormat::Ocr, &seeds, &PLAIN, &unsealed);
}

#[test]
fn caches_of_sequences() {
    let cache = |text: &str, hash_bits: Option<u32>| {
        let folder = tempfile::TempDir::new().unwrap();
        let [file, target] = ["a", "a.mnt"].map(|name| folder.path().join(name));
        std::fs::write(&file, text).unwrap();
        let options = SequenceOptions { hash_bits, ..SequenceOptions::default() };
        write_sequence_cache(&[file], &options, &target, &mut |_| true).unwrap();
        files(&[("a.mnt", &std::fs::read(target).unwrap())])
    };
    let lists = "B\tw=a\tlen:2.5\nI\tw=c\n\nO\tx\n";
    let letters = "1\tb\t2\t1\t1\t0\t0\t1\n2\ta\t-1\t1\t2\t0\t1\t1\n3\ta\t-1\t2\t1\t7\t0\t0\n";
    let seeds = [
        cache("the DT B\ncat NN I\n\nsat VB O\n", None),
        cache(lists, None),
        cache(lists, Some(4)),
        cache(letters, None),
    ];
    // What was equal in a row stands once in a cache.
    let allowance = Allowance { times: 100, ..PLAIN };
    fuzz("sequence mnt", SequenceFormat::Mnt, &seeds, &allowance, &sometimes_resealed);
}

/// Four tokens or frames in two sequences of which one may be empty.
fn members(offsets: &[i32], labels: &str, numbers: &[u8]) -> Files {
    let values = f64s(&[1.0, 0.0, 3.0, 0.1, 5.0, 6.0, 0.0, 0.0]);
    files(&[
        ("values.npy", &npy("<f8", false, &[4, 2], &values)),
        ("offsets.npy", &npy("<i4", false, &[offsets.len()], &i32s(offsets))),
        (labels, &npy("|u1", false, &[numbers.len()], numbers)),
    ])
}

#[test]
fn sequence_npz() {
    let mut texts = members(&[0, 4], "other.npy", &[]);
    let letters: Vec<u8> = "abab".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    texts.push(("labels.npy".into(), npy("<U1", false, &[4], &letters)));
    let seeds = [members(&[0, 1, 4], "labels.npy", &[1, 2, 2, 1]), texts];
    let seal: Seal<'_> = &|input, rng| archive(input, rng, zip);
    fuzz("sequence npz", SequenceFormat::Npz, &seeds, &PLAIN, seal);
}

#[test]
fn recordings() {
    let mut by_frame = members(&[0, 4, 4], "frame_labels.npy", &[1, 2, 2, 1]);
    by_frame.push(("labels.npy".into(), npy("|i1", false, &[2], &[255, 1])));
    let seeds = [members(&[0, 1, 4], "labels.npy", &[1, 2]), by_frame];
    let options = |rng: Option<&mut Pcg64Mcg>| {
        let Some(rng) = rng else { return RecordingOptions::default() };
        RecordingOptions {
            labelled_by: pick(&[LabelledBy::Sequence, LabelledBy::Frame], rng),
            model_features: pick(&[None, None, Some(2), Some(0)], rng),
            storage: pick(&[Storage::Exact, Storage::F32, Storage::F64], rng),
        }
    };
    let read = |files: &Borrowed<'_>, options: &RecordingOptions| {
        let (name, bytes) = files[0];
        let data = read_recording_bytes(name, bytes, options)?;
        assert_eq!(data.starts.last(), Some(&data.frames.rows()), "frames outside sequences");
        Ok::<(), ReadError>(())
    };
    let seal: Seal<'_> = &|input, rng| archive(input, rng, zip);
    let name = "recordings";
    Reader { name, allowance: &PLAIN, seal, options: &options, read }.fuzz(&seeds);
}

#[test]
fn templates() {
    // A line of one letter is an attribute with a piece of text.
    let allowance = Allowance { times: 100, ..PLAIN };
    let read = |files: &Borrowed<'_>, (): &()| {
        let text = String::from_utf8_lossy(files[0].1);
        let template = Template::parse("t", &text)?;
        assert_eq!(template.text(), text);
        Ok::<(), ReadError>(())
    };
    let seeds = [
        files(&[("t", TEMPLATE.as_bytes())]),
        files(&[("t", b"w[-2]|w[0]=%x[-2,0]|%x[0,999]\r\n%x[ 1 , 2 ]%x[+0,0]\n")]),
    ];
    let name = "templates";
    Reader { name, allowance: &allowance, seal: &unsealed, options: &|_| (), read }.fuzz(&seeds);
}
