//! Rows that stay on disk: whatever share of them is in memory, on any number of threads, a method that was
//! named ends with the same model file as on rows in memory; predictions, errors and audits are the same;
//! and files that change, or end, while they are used are refused in a sentence.

mod common;

use common::{Case, Kind, Random, Values, cases};
use minorant::data::{
    CacheWriter, Dataset, LabelKind, Labels, ReadOptions, SequenceOptions, read, read_sequences,
    write_sequence_cache,
};
use minorant::family::chain::{PAIRS, Weighed};
use minorant::family::linear::LossName;
use minorant::family::linear::regression;
use minorant::family::{Context, FittedModel, Settings, TrainError, train};
use minorant::linalg::{Matrix, Storage};
use minorant::options::common::{BIAS, INTERCEPT, Intercept, L1_RATIO, LAMBDA, MAX_EVALS, SOLVER};
use minorant::solver::Method;
use rayon::ThreadPoolBuilder;
use std::path::Path;
use tempfile::TempDir;

/// Methods that go through all rows and ask for no others.
const PASSING: [Method; 9] = [
    Method::Bmrm,
    Method::LmBmrm,
    Method::PBmrm,
    Method::LsBmrm,
    Method::LsPBmrm,
    Method::SubLbfgs,
    Method::Hybrid,
    Method::Nrbm,
    Method::SubGd,
];
const SMOOTH: [Method; 2] = [Method::Newton, Method::Lbfgs];
const LOSSES: [LossName; 6] = [
    LossName::Squares,
    LossName::Absolute,
    LossName::Quantile,
    LossName::EpsilonInsensitive,
    LossName::SquaredEpsilonInsensitive,
    LossName::Huber,
];

/// A problem with what is to be done with its rows.
struct Tried {
    data: Dataset<'static>,
    settings: Settings,
    kind: Option<LabelKind>,
    is_smooth: bool,
}

impl Tried {
    fn random(random: &mut Random) -> Self {
        let (n, d) = match random.between(0, 6) {
            0 => (random.between(5, 12), random.between(1, 3)),
            1 => (random.between(40, 400), 1),
            2 => (random.between(6, 30), 100_000),
            _ => (random.between(40, 900), random.between(2, 40)),
        };
        let mut rows = if d > 1000 {
            let mut row = |_| (0..d).map(|_| f64::from(u8::from(random.chance(1e-3)))).collect();
            (0..n).map(&mut row).collect()
        } else {
            let values = random_values(random);
            common::rows(random, n, d, values)
        };
        for row in &mut rows {
            let is_empty = random.chance(0.1);
            row.iter_mut().for_each(|x| *x *= if is_empty { 0.0 } else { 1.0 });
        }
        let storage = random.pick(&[Storage::F64, Storage::Exact]);
        let features: Matrix<'static> = match d < 1000 && random.chance(0.5) {
            true => common::dense(&rows, d, storage),
            false => common::sparse(&rows, d, storage),
        };
        if random.chance(0.3) {
            let loss = random.pick(&LOSSES);
            let mut settings = Settings::new("regression").expect("a model");
            settings.put(&regression::LOSS, loss);
            let labels = Labels::of_targets(&random.normals(n));
            let is_smooth =
                [LossName::Squares, LossName::SquaredEpsilonInsensitive, LossName::Huber]
                    .contains(&loss);
            let data = Dataset { features, labels };
            return Tried { data, settings, kind: Some(LabelKind::Targets), is_smooth };
        }
        let kind = random.pick(&Kind::ALL);
        let classes = if kind.is_binary() { 2 } else { 4 };
        let labels = common::labels(random, kind, n, classes);
        let case = Case::new(
            kind,
            Dataset { features, labels },
            common::settings_of(kind, random, classes),
        );
        let label_kind = case.data.labels.kind();
        Tried {
            data: case.data,
            settings: case.settings,
            kind: label_kind,
            is_smooth: matches!(kind, Kind::SquaredHinge | Kind::Logistic | Kind::Softmax),
        }
    }
}

fn random_values(random: &mut Random) -> Values {
    random.pick(&[Values::Whole, Values::Tenths, Values::Normal])
}

fn write(data: &Dataset<'_>, path: &Path, block: usize) {
    let mut writer = CacheWriter::create(path).expect("a cache").with_block_bytes(block);
    writer.push(data, None).expect("rows");
    writer.finish().expect("a whole cache");
}

fn options(kind: Option<LabelKind>, rows_in_memory: Option<u64>) -> ReadOptions {
    ReadOptions { label_kind: kind, rows_in_memory, ..ReadOptions::default() }
}

fn fit(data: &Dataset<'_>, settings: &Settings) -> Result<FittedModel, TrainError> {
    Ok(train(data, settings, Context::default())?.0)
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(work)
}

fn check(seed: u64) {
    let mut random = Random::new(seed);
    let tried = Tried::random(&mut random);
    let mut settings = tried.settings;
    let mut methods = PASSING.to_vec();
    if tried.is_smooth {
        methods.extend([SMOOTH, SMOOTH].concat());
    }
    let is_plain = random.chance(0.6);
    let method = random.pick(&methods);
    settings.put(&LAMBDA, Some(random.scale(1e-4, 1.0)));
    settings.put(&SOLVER, method.name().into());
    settings.put(&MAX_EVALS, Some(25));
    match random.between(0, 4) {
        _ if is_plain => settings.put(&BIAS, random.chance(0.5).then_some(1.0)),
        0 | 1 => settings.put(&INTERCEPT, Some(Intercept::Free)),
        _ => {
            settings.put(&L1_RATIO, Some(0.3));
            settings.put(&SOLVER, Method::LsPBmrm.name().into());
        }
    }
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("rows.mnt");
    write(&tried.data, &path, random.between(16, 3000));
    let files = std::slice::from_ref(&path);
    let here = read(files, &options(tried.kind, None)).expect("rows in memory");
    assert!(here.features.blocks().is_none());
    // What the method cannot do at all is none of streaming's business.
    let Ok(expected) = fit(&here, &settings) else { return };
    let bytes = expected.to_bytes(u64::MAX);
    let audited = expected.audit(&here, None);
    for share in [0.05, 0.3, 1.0] {
        let threads = random.pick(&[1, 2, 3, 8]);
        let most = (share * here.features.bytes() as f64) as u64 - u64::from(share == 1.0);
        let found = on_threads(threads, || {
            let there = read(files, &options(tried.kind, Some(most))).expect("rows on disk");
            let source = there.features.blocks().expect("rows that are fetched").clone();
            assert_eq!(there.features.bytes(), here.features.bytes());
            assert_eq!(there.labels, here.labels);
            let model = fit(&there, &settings).expect("a fitted model");
            let traffic = source.traffic();
            // Each block of sparse rows has a start more than it has rows.
            let starts = 8 * source.shape().starts.len() as u64;
            assert!(traffic.resident_bytes <= here.features.bytes() as u64 + starts);
            assert!(traffic.bytes_read > 0);
            assert_eq!(model.predict(&there), expected.predict(&here));
            assert_eq!(
                format!("{:?}", model.evaluate(&there)),
                format!("{:?}", expected.evaluate(&here))
            );
            assert_eq!(model.audit(&there, None), audited);
            model.to_bytes(u64::MAX)
        });
        assert!(found == bytes, "seed {seed}: {share} of the rows in memory, {threads} threads");
    }
}

#[test]
fn streamed_rows_give_the_same_files() {
    for seed in 0..cases(25, 600) {
        check(seed);
    }
}

/// 2000 rows in blocks of a few, and settings that take some passes.
fn some_rows(folder: &TempDir) -> (std::path::PathBuf, Settings) {
    let mut random = Random::new(7);
    let rows = common::rows(&mut random, 2000, 10, Values::Normal);
    let labels = common::labels(&mut random, Kind::Hinge, 2000, 2);
    let data = Dataset { features: common::dense(&rows, 10, Storage::F64), labels };
    let path = folder.path().join("rows.mnt");
    write(&data, &path, 4096);
    let mut settings = Settings::new("svm").expect("a model");
    settings.put(&LAMBDA, Some(1e-3));
    (path, settings)
}

#[test]
fn what_needs_rows_at_hand_says_so() {
    let folder = TempDir::new().expect("a folder");
    let (path, mut settings) = some_rows(&folder);
    let data = read(&[path], &options(None, Some(0))).expect("rows on disk");
    for method in [Method::DualCd, Method::Sgd, Method::ProxBmrm] {
        settings.put(&SOLVER, method.name().into());
        let told = fit(&data, &settings).expect_err("a refusal").to_string();
        assert!(told.contains("rows that are all in memory (--max-memory allows more)"), "{told}");
    }
    settings.put(&SOLVER, Method::Auto.name().into());
    assert!(fit(&data, &settings).is_ok());
}

#[test]
fn files_that_change_meanwhile_are_refused() {
    let folder = TempDir::new().expect("a folder");
    let (path, settings) = some_rows(&folder);
    let bytes = std::fs::read(&path).expect("a cache");
    let spoil = |change: &dyn Fn() -> Vec<u8>, why: &str| {
        std::fs::write(&path, &bytes).expect("a file");
        let data =
            read(std::slice::from_ref(&path), &options(None, Some(0))).expect("rows on disk");
        // The same file, as those who hold it open see it.
        let changed = change();
        std::fs::write(&path, &changed).expect("a file");
        let told = fit(&data, &settings).expect_err("a refusal").to_string();
        assert!(told.contains("rows.mnt") && told.contains(why), "{told}");
        let model = fit(&read_whole(&bytes), &settings).expect("a model");
        let told = model.predict(&data).expect_err("a refusal");
        assert!(told.contains(why), "{told}");
        let audit = model.audit(&data, None);
        assert_eq!(audit.holds, Some(false));
    };
    spoil(&|| bytes[..bytes.len() / 2].to_vec(), "the file ends within it");
    let flipped = || {
        let mut changed = bytes.clone();
        changed[bytes.len() / 3] ^= 4;
        changed
    };
    spoil(&flipped, "checksum");
    // Another cache of the same shape, whole and in order.
    let other = || {
        let mut random = Random::new(8);
        let rows = common::rows(&mut random, 2000, 10, Values::Normal);
        let labels = common::labels(&mut random, Kind::Hinge, 2000, 2);
        let data = Dataset { features: common::dense(&rows, 10, Storage::F64), labels };
        let target = folder.path().join("other.mnt");
        write(&data, &target, 4096);
        std::fs::read(target).expect("a cache")
    };
    spoil(&other, "rewritten meanwhile");
}

fn read_whole(bytes: &[u8]) -> Dataset<'static> {
    minorant::data::read_bytes("rows.mnt", bytes, &ReadOptions::default()).expect("rows")
}

/// Attribute lists of some sequences, which take several blocks.
fn some_sequences(folder: &TempDir) -> std::path::PathBuf {
    let mut random = Random::new(11);
    let mut text = String::new();
    for token in 0..60_000 {
        let label = random.between(0, 2);
        text += ["B", "I", "O"][label];
        for place in 0..20 {
            let informed = if random.chance(0.3) { label } else { random.between(0, 9) };
            text += &format!("\t{place}={informed}");
        }
        text += if token % 11 == 0 { "\n\n" } else { "\n" };
    }
    let [file, target] = ["tokens.txt", "tokens.mnt"].map(|name| folder.path().join(name));
    std::fs::write(&file, text).expect("a file");
    let options = SequenceOptions::default();
    write_sequence_cache(&[file], &options, &target, &mut |_| true).expect("a cache");
    target
}

#[test]
fn streamed_sequences_give_the_same_files() {
    let folder = TempDir::new().expect("a folder");
    let path = some_sequences(&folder);
    let read = |most: Option<u64>| {
        let options = SequenceOptions { rows_in_memory: most, ..SequenceOptions::default() };
        read_sequences(std::slice::from_ref(&path), &options).expect("sequences")
    };
    let here = read(None);
    for (model, method, pairs) in [
        ("chain-crf", Method::Lbfgs, Weighed::All),
        ("chain-crf", Method::Bmrm, Weighed::Observed),
        ("chain-svm", Method::PBmrm, Weighed::All),
    ] {
        let mut settings = Settings::new(model).expect("a model");
        settings.put(&LAMBDA, Some(0.1));
        settings.put(&SOLVER, method.name().into());
        settings.put(&MAX_EVALS, Some(4));
        settings.put(&PAIRS, pairs);
        let (expected, _) = train(&here, &settings, Context::default()).expect("a model");
        let bytes = expected.to_bytes(u64::MAX);
        for (share, threads) in [(0.0, 3), (0.6, 1)] {
            let found = on_threads(threads, || {
                let there = read(Some((share * here.tokens.bytes() as f64) as u64));
                let source = there.tokens.blocks().expect("tokens that are fetched").clone();
                assert!(source.shape().starts.len() > 2, "blocks");
                let (model, report) =
                    train(&there, &settings, Context::default()).expect("a model");
                let read = report.further.iter().find(|(key, _)| *key == "bytes_read");
                assert!(read.is_some(), "{:?}", report.further);
                assert_eq!(model.predict(&there), expected.predict(&here));
                assert_eq!(model.audit(&there, None), expected.audit(&here, None));
                model.to_bytes(u64::MAX)
            });
            assert!(found == bytes, "{model} {pairs:?}: {share} of the tokens in memory");
        }
    }
    let mut settings = Settings::new("chain-svm").expect("a model");
    let there = read(Some(0));
    for method in [Method::Bcfw, Method::Sgd, Method::ProxPBmrm] {
        settings.put(&SOLVER, method.name().into());
        let told = train(&there, &settings, Context::default()).expect_err("a refusal").to_string();
        assert!(told.contains("rows that are all in memory (--max-memory allows more)"), "{told}");
    }
    settings.put(&SOLVER, Method::Auto.name().into());
    settings.put(&MAX_EVALS, Some(2));
    let (_, report) = train(&there, &settings, Context::default()).expect("a model");
    assert_eq!(report.solver, "p-bmrm");
}
