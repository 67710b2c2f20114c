//! Files of sequences: what they read as, and the one sentence with which bad ones are refused.

use minorant_data::{
    Attributes, SequenceFormat, SequenceOptions, Sequences, Template, read_sequence_bytes,
};

fn options(format: SequenceFormat) -> SequenceOptions {
    SequenceOptions { format: Some(format), ..SequenceOptions::default() }
}

fn read(text: &str, options: &SequenceOptions) -> Result<Sequences, String> {
    read_sequence_bytes("f", text.as_bytes(), options).map_err(|error| error.to_string())
}

fn names(data: &Sequences) -> Vec<String> {
    match &data.attributes {
        Attributes::Named(names) => names.to_vec(),
        _ => Vec::new(),
    }
}

/// Attributes of each token by name, with values.
fn rows(data: &Sequences) -> Vec<Vec<(String, f64)>> {
    let names = names(data);
    let row = |i| data.tokens.row(i).map(|(j, x)| (names[j].clone(), x)).collect();
    (0..data.tokens.rows()).map(row).collect()
}

#[test]
fn conll_columns_become_attributes() {
    let template = Template::parse("t", "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,1]\n# no\nB\n__BOS__\n");
    let options =
        SequenceOptions { template: Some(template.unwrap()), ..options(SequenceFormat::Conll) };
    let data = read("the DT B\ncat NN I\n\n\nsat VB O\n", &options).unwrap();
    assert_eq!(data.starts, [0, 2, 3]);
    assert_eq!(data.classes, ["B", "I", "O"]);
    assert_eq!(data.labels, [0, 1, 2]);
    let one = |name: &str| (name.to_string(), 1.0);
    assert_eq!(rows(&data)[0], [one("U0:the"), one("__BOS__")]);
    assert_eq!(rows(&data)[1], [one("U0:cat"), one("U1:the/NN")]);
    // Rare attributes go; tokens stay.
    let data = read("the DT B\ncat NN I\n", &SequenceOptions { min_count: 2, ..options.clone() });
    assert_eq!(data.unwrap().tokens.cols(), 0);
    // A model's attributes stay what they are; others are counted.
    let known = Some(Attributes::Named(vec!["U0:sat".to_string()].into()));
    let data = read("sat VB\ndown RB\n", &SequenceOptions { known, ..options }).unwrap();
    assert_eq!((data.tokens.cols(), data.unknown, data.labels.len()), (1, 3, 0));
}

#[test]
fn crfsuite_lists_and_hashes() {
    let text = "B\tw=a\\:b\tlen:2.5\nI\tw=c\\\\\n\nO\tx\n";
    let data = read(text, &options(SequenceFormat::Crfsuite)).unwrap();
    assert_eq!(data.starts, [0, 2, 3]);
    assert_eq!(rows(&data)[0], [("w=a:b".to_string(), 1.0), ("len".to_string(), 2.5)]);
    assert_eq!(rows(&data)[1][0].0, "w=c\\");
    let hashed = SequenceOptions { hash_bits: Some(10), ..options(SequenceFormat::Crfsuite) };
    let (first, second) = (read(text, &hashed).unwrap(), read(text, &hashed).unwrap());
    assert_eq!(first.tokens.cols(), 1024);
    assert!(first.tokens.row(0).eq(second.tokens.row(0)));
    // The format is found out.
    let detected = read(text, &SequenceOptions::default()).unwrap();
    assert_eq!(detected.tokens.rows(), 3);
}

#[test]
fn ocr_letters_by_folds() {
    let text =
        "1\tb\t2\t1\t1\t0\t0\t1\t0\n2\ta\t-1\t1\t2\t0\t1\t1\t0\t\n3\ta\t-1\t2\t1\t7\t0\t0\t1\n";
    let data = read(text, &options(SequenceFormat::Ocr)).unwrap();
    assert_eq!((data.starts.clone(), data.tokens.cols()), (vec![0, 2, 3], 3));
    assert_eq!(data.labels, [1, 0, 0]);
    let folds = SequenceOptions { folds: Some(vec![7]), ..SequenceOptions::default() };
    assert_eq!(read(text, &folds).unwrap().tokens.rows(), 1);
    // A word ends where it ends, even with a letter that is not wanted.
    let mixed = "1\tb\t2\t1\t1\t7\t1\t1\n2\ta\t-1\t1\t2\t0\t1\t1\n3\ta\t-1\t2\t1\t7\t1\t1\n";
    assert_eq!(read(mixed, &folds).unwrap().starts, [0, 1, 2]);
    let none = SequenceOptions { folds: Some(vec![5]), ..SequenceOptions::default() };
    assert_eq!(
        read(text, &none).unwrap_err(),
        "f: expected at least one token, found none in these folds"
    );
}

#[test]
fn bad_files_are_refused_with_their_place() {
    use SequenceFormat::{Conll, Crfsuite, Ocr};
    let word = |letter: &str| format!("1\t{letter}\t-1\t1\t1\t0\t0\t1\n");
    for (format, text, expected) in [
        (Conll, "a B\nb c I\n", "f:2: expected 2 columns as in the lines before, found 3"),
        (
            Conll,
            "a\nb\n",
            "f:1: expected a token and its label, separated by a blank or tab, found 1 column",
        ),
        (Conll, "", "f: expected at least one token, found none"),
        (Crfsuite, "B\tw:x\n", "found 'w:x'"),
        (Crfsuite, "B\ta\nB\tw:\n", "f:2:2: expected a number after the colon"),
        (Crfsuite, "\tw\n", "f:1: expected a label before the first tab, found none"),
        (Ocr, "1\ta\t2\n", "f:1: expected id, letter"),
        (Ocr, &word(""), "expected a letter"),
        (
            Ocr,
            &format!("{}{}", word("a"), "2\tb\t-1\t2\t2\t0\t0\t1\n"),
            "f:2: expected letter 1 of word 2",
        ),
        (Ocr, "1\ta\t2\t1\t1\t0\t0\t1\n", "expected letter 2 of word 1, found the end of the file"),
        (Ocr, "1\ta\t-1\t1\t1\t0\t0\tx\n", "f:1:8: expected a number, found 'x'"),
    ] {
        let error = read(text, &options(format)).unwrap_err();
        assert!(error.contains(expected), "{error}\nshould have said: {expected}");
    }
    let broken = read_sequence_bytes("f", b"a B\n\xff\xfe B\n", &options(Conll));
    assert!(broken.unwrap_err().to_string().starts_with("f:2: expected text in UTF-8"));
    // The least number has no absolute value.
    for text in ["U0:%x[0;1]", "U0:%x[-2147483648,0]", "U0:%x[0,1000]"] {
        let template = Template::parse("t", text).unwrap_err().to_string();
        assert!(template.starts_with("t:1: expected %x[row,column]"), "{template}");
    }
}
