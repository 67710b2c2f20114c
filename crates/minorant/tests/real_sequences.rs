//! Real sequences, where they are at hand: the OCR letters and the chunking task read as their
//! descriptions say, and risks have their known values. Without the data the tests say that they
//! were skipped.

use minorant::data::{SequenceFormat, SequenceOptions, Sequences, read_sequences};
use minorant::risk::{Cancel, ExampleWeights, Risk};
use minorant::structured::chain::{Chain, ChainShape, Pairs};
use minorant::structured::{LikelihoodRisk, MarginRisk};
use std::path::{Path, PathBuf};

fn load(file: &str, options: &SequenceOptions) -> Option<Sequences> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = std::env::var_os("MINORANT_DATA").map_or_else(beside, PathBuf::from).join(file);
    if !path.exists() {
        eprintln!("skipped: there is no {}", path.display());
        return None;
    }
    Some(read_sequences(&[path], options).unwrap())
}

#[test]
fn ocr_letters() {
    let options = SequenceOptions { folds: Some((0..8).collect()), ..SequenceOptions::default() };
    let Some(data) = load("ocr_letters/letter.data.gz", &options) else { return };
    assert_eq!((data.len(), data.tokens.rows(), data.classes.len()), (5512, 41679, 26));
    let shape = ChainShape {
        attributes: data.tokens.cols(),
        labels: 26,
        pairs: Pairs::All,
        bias: None,
        boundary: false,
    };
    assert_eq!(shape.dim(), 4004);
    let chain = || Chain::new(&shape, &data.tokens, &data.starts, &data.labels, None);
    let at_zero = |risk: &dyn Risk| risk.at(vec![0.0; 4004], &Cancel::new()).unwrap().value;
    let length = 41679.0 / 5512.0;
    let margin = MarginRisk::new(chain(), ExampleWeights::mean(5512));
    assert!((at_zero(&margin) - length).abs() < 1e-12);
    let likelihood = LikelihoodRisk::new(chain(), ExampleWeights::mean(5512));
    assert!((at_zero(&likelihood) - length * 26f64.ln()).abs() < 1e-10);
}

#[test]
fn chunking() {
    let options =
        SequenceOptions { format: Some(SequenceFormat::Conll), ..SequenceOptions::default() };
    let Some(data) = load("conll2000/train.txt.gz", &options) else { return };
    assert_eq!((data.len(), data.tokens.rows(), data.classes.len()), (8936, 211727, 22));
    assert_eq!(data.tokens.cols(), 335_674);
    let pairs = Pairs::observed(&data.tokens, &data.starts, &data.labels, 22);
    let Pairs::Observed { labels, transitions, .. } = pairs else { panic!("observed pairs") };
    assert_eq!((labels.len(), transitions.len()), (452_610, 145));
}
