//! Damaged models of every kind: header, list of arrays and arrays are damaged one by one and
//! sealed again, since a file whose seal is broken is read no further.

use crate::harness::{Borrowed, Files, PLAIN, Reader, files};
use crate::mutate::mutate;
use minorant::data::{
    Dataset, Images, ReadOptions, SequenceOptions, Sequences, Template, read_bytes,
    read_sequence_bytes,
};
use minorant::family::FittedModel;
use minorant::generate::{
    Clouds, CloudsOptions, Phones, PlatesOptions, clouds, parts, parts_shape, phones, plates,
};
use minorant::prelude::{
    ChainCrf, ChainSvm, LargeMarginHmm, LatentSvm, Logistic, NeuroCrf, RampSvm, RobustSvm, S3vm,
    SegmentSvm, Svm, TreeSvm, Tsvm,
};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::path::Path;

const KEY: &str = "minorant";
const METADATA: &str = "__metadata__";
/// In the file the header is a JSON string inside JSON.
const SEAL: &[u8] = br#"\"sha256\":\""#;
const DIGITS: usize = 64;
const PROOF_BYTES: u64 = 1 << 20;

/// A model file in its parts, the seal's digits zeroed.
fn take_apart(file: &[u8]) -> Files {
    let length = u64::from_le_bytes(*file.first_chunk().expect("a length")) as usize;
    let (header, data) = file[8..].split_at(length);
    let mut arrays: Map<String, Value> = serde_json::from_slice(header).expect("a JSON header");
    let metadata = arrays.remove(METADATA).expect("metadata");
    let mut envelope: Value =
        serde_json::from_str(metadata[KEY].as_str().expect("a string")).expect("an envelope");
    let object = envelope.as_object_mut().expect("an object");
    // The seal is the last entry, whatever order the others have.
    object.remove("sha256");
    let text = serde_json::to_string(object).expect("JSON");
    let text = format!("{},\"sha256\":\"{}\"}}", &text[..text.len() - 1], "0".repeat(DIGITS));
    let arrays = serde_json::to_string(&arrays).expect("JSON");
    files(&[
        ("envelope", text.as_bytes()),
        ("arrays", &arrays.as_bytes()[1..arrays.len() - 1]),
        ("data", data),
    ])
}

/// The model file of these parts, sealed.
fn put_together(parts: &Files) -> Vec<u8> {
    let envelope = String::from_utf8_lossy(&parts[0].1);
    let envelope = serde_json::to_string(&*envelope).expect("JSON");
    let mut header = format!("{{\"{METADATA}\":{{\"{KEY}\":{envelope}}}").into_bytes();
    if !parts[1].1.is_empty() {
        header.push(b',');
        header.extend(&parts[1].1);
    }
    header.push(b'}');
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(&header);
    let seal = header.windows(SEAL.len()).rposition(|window| window == SEAL);
    let seal = seal.map(|at| 8 + at + SEAL.len()..8 + at + SEAL.len() + DIGITS);
    file.extend(&parts[2].1);
    if let Some(digits) = seal.filter(|digits| digits.end <= 8 + header.len()) {
        let digest = Sha256::digest(&file);
        let text: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        file[digits].copy_from_slice(text.as_bytes());
    }
    file
}

fn seal(parts: Files, rng: Option<&mut Pcg64Mcg>) -> Files {
    let mut file = put_together(&parts);
    if let Some(rng) = rng
        && rng.random_range(0..16) == 0
    {
        mutate(&mut file, &[], rng);
    }
    files(&[("model", &file)])
}

fn fuzz(name: &str, models: &[Vec<u8>]) {
    let seeds: Vec<Files> = models.iter().map(|model| take_apart(model)).collect();
    let read = |files: &Borrowed<'_>, (): &()| {
        FittedModel::from_bytes(Path::new("model"), files[0].1.to_vec()).map(|_| ())
    };
    Reader { name, allowance: &PLAIN, seal: &seal, options: &|_| (), read }.fuzz(&seeds);
}

fn table(text: &str) -> Dataset<'static> {
    read_bytes("table", text.as_bytes(), &ReadOptions::default()).expect("a table")
}

/// The bytes of a model that a builder fits.
macro_rules! bytes {
    ($builder:expr, $data:expr) => {
        $builder.fit($data).expect("a model").to_bytes(PROOF_BYTES)
    };
}

const TWO: &str = "+1 1:1 2:0.5\n-1 1:-1\n+1 2:2\n-1 1:-0.5 2:-1\n";
const THREE: &str = "1 1:1 2:0.5\n2 1:-1\n3 2:2\n1 1:0.5 2:-1\n";

#[test]
fn linear_models() {
    let costs = [0.0, 1.0, 2.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0];
    let few = "+1 1:1 2:0.5\n-1 1:-1\n0 2:2\n0 1:-0.5 2:-1\n";
    fuzz(
        "linear models",
        &[
            bytes!(Svm::new(), &table(TWO)),
            bytes!(Logistic::new().bias(1.0), &table(TWO)),
            bytes!(Svm::new().multiclass("ovr"), &table(THREE)),
            bytes!(Svm::new().label_loss(costs), &table(THREE)),
            bytes!(Svm::new(), &table("1,2 1:1 2:0.5\n2 1:-1\n1 2:2\n")),
            bytes!(RampSvm::new(), &table(TWO)),
            bytes!(Tsvm::new().balance_mean(0.1), &table(few)),
        ],
    );
}

const TOKENS: &str = "the DT B\ncat NN I\n\nsat VB O\ndown RB O\n";

fn sequences(options: &SequenceOptions) -> Sequences {
    read_sequence_bytes("tokens", TOKENS.as_bytes(), options).expect("sequences")
}

#[test]
fn chain_models() {
    let template = Template::parse("t", "w=%x[0,0]\n__BOS__\n").expect("a template");
    let named = SequenceOptions { template: Some(template), ..SequenceOptions::default() };
    let hashed = SequenceOptions { hash_bits: Some(3), ..named.clone() };
    let observed = ChainCrf::new().pairs("observed").boundary(true).bias(1.0);
    fuzz(
        "chain models",
        &[
            bytes!(ChainSvm::new(), &sequences(&named)),
            bytes!(observed, &sequences(&named)),
            bytes!(ChainSvm::new(), &sequences(&hashed)),
        ],
    );
}

#[test]
fn neuro_models() {
    let hashed = SequenceOptions { hash_bits: Some(3), ..SequenceOptions::default() };
    let network = NeuroCrf::new().hidden([2, 3]).max_evals(5);
    fuzz("neuro models", &[bytes!(network, &sequences(&hashed))]);
}

#[test]
fn hidden_markov_models() {
    let size = Phones { sequences: 4, labels: 2, features: 2, ..Phones::default() };
    let model = LargeMarginHmm::new().task("label").states(1).max_evals(5);
    fuzz("hidden Markov models", &[bytes!(model, &phones(size, 1, 0))]);
}

#[test]
fn kernel_models() {
    let points = |labeled: Option<usize>| {
        let (clouds_of, noise) = (Clouds::Moons, 0.1);
        let options =
            CloudsOptions { clouds: clouds_of, examples: 8, noise, labeled, seed: 1, skip: 0 };
        clouds(&options)
    };
    let (all, some) = (points(None), points(Some(4)));
    let latent = LatentSvm::new().kernel("poly").power(2).offset(1.0);
    fuzz(
        "kernel models",
        &[bytes!(S3vm::new(), &some), bytes!(latent, &all), bytes!(RobustSvm::new(), &all)],
    );
}

#[test]
fn image_models() {
    let (height, widths) = (2, vec![1, 2]);
    let of_plates = PlatesOptions {
        seed: 1,
        images: 3,
        height,
        widths: widths.clone(),
        noise: 0.1,
        longest: 3,
    };
    let of_plates = Images::Plates { height, widths, plates: plates(&of_plates), labelled: true };
    let of_parts = Images::Parts { shape: parts_shape(), images: parts(1, 2), labelled: true };
    let models = [bytes!(SegmentSvm::new(), &of_plates), bytes!(TreeSvm::new(), &of_parts)];
    fuzz("image models", &models);
}
