//! Damaged models of every kind: header, list of arrays and arrays are damaged one by one and
//! sealed again, since a file whose seal is broken is read no further.

use crate::harness::{Borrowed, Files, PLAIN, Reader, files};
use crate::mutate::mutate;
use minorant::data::{
    Dataset, ReadOptions, SequenceOptions, Sequences, read_bytes, read_sequence_bytes,
};
use minorant::generate::{
    Clouds, CloudsOptions, Phones, PlatesOptions, clouds, parts, parts_shape, phones, plates,
};
use minorant::images::Images;
use minorant::kernel::Kernel;
use minorant::model::AnyModel;
use minorant::risk::Cancel;
use minorant::train::{
    ChainName, ChainOptions, HmmOptions, ImageOptions, LatentOptions, ModelName, Multiclass,
    NeuroOptions, RobustOptions, S3vmOptions, TrainOptions, train, train_chain, train_hmm,
    train_images, train_latent, train_neuro, train_robust, train_s3vm,
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
        AnyModel::from_bytes(Path::new("model"), files[0].1.to_vec()).map(|_| ())
    };
    Reader { name, allowance: &PLAIN, seal: &seal, options: &|_| (), read }.fuzz(&seeds);
}

fn table(text: &str) -> Dataset<'static> {
    read_bytes("table", text.as_bytes(), &ReadOptions::default()).expect("a table")
}

fn linear(text: &str, options: &TrainOptions) -> Vec<u8> {
    let trained = train(&table(text), options, &Cancel::new(), &mut (), &mut ());
    trained.expect("a model").0.to_bytes(PROOF_BYTES)
}

const TWO: &str = "+1 1:1 2:0.5\n-1 1:-1\n+1 2:2\n-1 1:-0.5 2:-1\n";
const THREE: &str = "1 1:1 2:0.5\n2 1:-1\n3 2:2\n1 1:0.5 2:-1\n";

#[test]
fn linear_models() {
    let svm = || TrainOptions::new(ModelName::Svm);
    let with_bias = TrainOptions { bias: Some(1.0), ..TrainOptions::new(ModelName::Logistic) };
    let one_vs_rest = TrainOptions { multiclass: Multiclass::OneVsRest, ..svm() };
    let costs = vec![0.0, 1.0, 2.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0];
    let with_costs = TrainOptions { label_loss: Some(costs), ..svm() };
    fuzz(
        "linear models",
        &[
            linear(TWO, &svm()),
            linear(TWO, &with_bias),
            linear(THREE, &one_vs_rest),
            linear(THREE, &with_costs),
            linear("1,2 1:1 2:0.5\n2 1:-1\n1 2:2\n", &svm()),
        ],
    );
}

const TOKENS: &str = "the DT B\ncat NN I\n\nsat VB O\ndown RB O\n";

fn sequences(options: &SequenceOptions) -> Sequences {
    read_sequence_bytes("tokens", TOKENS.as_bytes(), options).expect("sequences")
}

fn chain(data: &Sequences, options: &ChainOptions) -> Vec<u8> {
    let trained = train_chain(data, options, &Cancel::new(), &mut (), &mut ());
    trained.expect("a model").0.to_bytes(PROOF_BYTES)
}

#[test]
fn chain_models() {
    let template =
        minorant::data::Template::parse("t", "w=%x[0,0]\n__BOS__\n").expect("a template");
    let named = SequenceOptions { template: Some(template), ..SequenceOptions::default() };
    let hashed = SequenceOptions { hash_bits: Some(3), ..named.clone() };
    let svm = ChainOptions::new(ChainName::ChainSvm);
    let observed = ChainOptions {
        observed_pairs: true,
        boundary: true,
        bias: Some(1.0),
        ..ChainOptions::new(ChainName::ChainCrf)
    };
    fuzz(
        "chain models",
        &[
            chain(&sequences(&named), &svm),
            chain(&sequences(&named), &observed),
            chain(&sequences(&hashed), &svm),
        ],
    );
}

#[test]
fn neuro_models() {
    let hashed = SequenceOptions { hash_bits: Some(3), ..SequenceOptions::default() };
    let mut options = NeuroOptions { hidden: vec![2, 3], ..NeuroOptions::default() };
    options.rules.max_evaluations = Some(5);
    let trained = train_neuro(&sequences(&hashed), &options, &Cancel::new(), &mut (), &mut ());
    fuzz("neuro models", &[trained.expect("a model").0.to_bytes()]);
}

#[test]
fn hidden_markov_models() {
    let size = Phones { sequences: 4, labels: 2, features: 2, ..Phones::default() };
    let mut options =
        HmmOptions { task: minorant::hmm::Task::Label, states: 1, ..HmmOptions::default() };
    options.rules.max_evaluations = Some(5);
    let trained = train_hmm(&phones(size, 1, 0), &options, &Cancel::new(), &mut (), &mut ());
    fuzz("hidden Markov models", &[trained.expect("a model").0.to_bytes()]);
}

#[test]
fn kernel_models() {
    let points = |labeled: Option<usize>| {
        let (clouds_of, noise) = (Clouds::Moons, 0.1);
        let options =
            CloudsOptions { clouds: clouds_of, examples: 8, noise, labeled, seed: 1, skip: 0 };
        clouds(&options)
    };
    let (all, some, cancel) = (points(None), points(Some(4)), Cancel::new());
    let s3vm =
        train_s3vm(&some, &S3vmOptions::default(), &cancel, &mut (), &mut ()).expect("a model").0;
    let poly = Some(Kernel::Poly { power: 2, offset: 1.0 });
    let latent = LatentOptions { kernel: poly, ..LatentOptions::default() };
    let latent = train_latent(&all, &latent, &cancel, &mut (), &mut ()).expect("a model").0;
    let robust = train_robust(&all, &RobustOptions::default(), &cancel, &mut (), &mut ())
        .expect("a model")
        .0;
    fuzz("kernel models", &[s3vm.to_bytes(), latent.to_bytes(), robust.to_bytes()]);
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
    let folder = tempfile::tempdir().expect("a folder");
    let model = |data: &Images| {
        let trained =
            train_images(data, &ImageOptions::default(), &Cancel::new(), &mut (), &mut ());
        let path = folder.path().join("model");
        trained.expect("a model").0.save(&path, PROOF_BYTES).expect("a file");
        std::fs::read(&path).expect("the file")
    };
    fuzz("image models", &[model(&of_plates), model(&of_parts)]);
}
