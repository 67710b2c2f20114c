//! Damaged files of every format: no reader may panic, and none may ask for more memory than 1 MiB
//! and 20 times the input (the decompressed one, where it is compressed). The same inputs in each
//! run; `MINORANT_FUZZ` is the number of them per format.
#![allow(clippy::print_stderr)]

#[path = "../common/mod.rs"]
mod common;
mod counting;
mod large;
mod mutate;

use common::{bzip2, deflated_zip, f64s, gzip, i32s, idx, npy, zip, zstd};
use minorant_data::{Format, LabelKind, LabelRows, ReadOptions, read_bytes_of_files};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

const MIB: usize = 1 << 20;

fn runs() -> usize {
    std::env::var("MINORANT_FUZZ").ok().and_then(|runs| runs.parse().ok()).unwrap_or(20_000)
}

/// One input: files with their names.
type Files = Vec<(String, Vec<u8>)>;

fn files(list: &[(&str, &[u8])]) -> Files {
    list.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect()
}

fn random_options(format: Option<Format>, rng: &mut Pcg64Mcg) -> ReadOptions {
    let kinds = [
        None,
        None,
        None,
        Some(LabelKind::Binary),
        Some(LabelKind::Multiclass),
        Some(LabelKind::Multilabel),
    ];
    let columns = [None, None, None, Some("1"), Some("2"), Some("none"), Some("class")];
    let storages = [
        minorant_linalg::Storage::Exact,
        minorant_linalg::Storage::Exact,
        minorant_linalg::Storage::F32,
        minorant_linalg::Storage::F64,
    ];
    ReadOptions {
        label_kind: kinds[rng.random_range(0..kinds.len())],
        storage: storages[rng.random_range(0..storages.len())],
        features: [None, None, Some(3), Some(20_000_000)][rng.random_range(0..4)],
        zero_based: rng.random_range(0..4) == 0,
        label_column: columns[rng.random_range(0..columns.len())].map(str::to_owned),
        label_xml: None,
        // The right format mostly, so that damage to the beginning does not only test detection.
        format: if rng.random_range(0..4) == 0 { None } else { format },
        for_prediction: rng.random(),
        model_features: [None, None, Some(2), Some(5)][rng.random_range(0..4)],
    }
}

/// What a format needs besides: memory of decoders, and how long an input really is.
struct Allowance {
    extra: usize,
    expanded: fn(&[u8]) -> usize,
}

const PLAIN: Allowance = Allowance { extra: 0, expanded: <[u8]>::len };

/// Reads the input and checks what was promised.
fn check(input: &Files, options: &ReadOptions, allowance: &Allowance, what: &str) {
    let borrowed: Vec<(&str, &[u8])> =
        input.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let work = || match read_bytes_of_files(&borrowed, options) {
        Ok(data) => assert!(
            data.labels.len() == data.features.rows() || data.labels.rows == LabelRows::None,
            "rows and labels differ in number"
        ),
        // The parts that a reader makes always fit together.
        Err(why) => assert!(!why.to_string().contains("a feature matrix"), "{why}"),
    };
    let (result, peak) = counting::peak_of(|| catch_unwind(AssertUnwindSafe(work)));
    // Decompressing once more is slow, and needed for very few inputs only.
    let size: usize = input.iter().map(|(_, bytes)| bytes.len()).sum();
    if result.is_ok() && peak <= MIB + 20 * size {
        return;
    }
    let size: usize = input.iter().map(|(_, bytes)| (allowance.expanded)(bytes)).sum();
    let allowed = MIB + 20 * size + allowance.extra;
    if result.is_err() || peak > allowed {
        for (name, bytes) in input {
            eprintln!("{name}: {}", bytes.escape_ascii());
        }
        panic!("{what}: {peak} bytes at most (allowed {allowed}), {options:?}");
    }
}

/// Runs the fuzzer over `seeds`; `seal` packs the files after the damage, and damages
/// the packed ones too where it is given random numbers.
fn fuzz(
    name: &str,
    format: Option<Format>,
    seeds: &[Files],
    allowance: &Allowance,
    seal: impl Fn(Files, Option<&mut Pcg64Mcg>) -> Files,
) {
    let seed = name.bytes().fold(7u128, |seed, byte| seed * 31 + u128::from(byte));
    let mut rng = Pcg64Mcg::new(seed);
    for seed in seeds {
        let input = seal(seed.clone(), None);
        let options = ReadOptions { for_prediction: true, format, ..ReadOptions::default() };
        let borrowed: Vec<(&str, &[u8])> =
            input.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
        let read = read_bytes_of_files(&borrowed, &options);
        assert!(read.is_ok(), "{name}: an undamaged seed is refused: {}", read.unwrap_err());
    }
    for run in 0..runs() {
        let mut input = seeds[rng.random_range(0..seeds.len())].clone();
        let other = &seeds[rng.random_range(0..seeds.len())];
        let which = rng.random_range(0..input.len());
        let splice = &other[rng.random_range(0..other.len())].1;
        mutate::mutate(&mut input[which].1, splice, &mut rng);
        let input = seal(input, Some(&mut rng));
        let options = random_options(format, &mut rng);
        check(&input, &options, allowance, &format!("{name} run {run}"));
    }
}

fn unsealed(input: Files, _: Option<&mut Pcg64Mcg>) -> Files {
    input
}

const LIBSVM: &[u8] = b"+1 1:0.5 3:2 # note\n-1 qid:4 2:-1.5e3 7:0\r\n\n+1\n-1 1:1\n";
const SETS: &[u8] = b"1,3 1:0.5 3:2\n2 2:0.25\n3,2,1 1:1 9:0.1\n";

#[test]
fn libsvm() {
    let seeds =
        [files(&[("a", LIBSVM)]), files(&[("a", SETS)]), files(&[("a", LIBSVM), ("b", SETS)])];
    fuzz("libsvm", Some(Format::Libsvm), &seeds, &PLAIN, unsealed);
}

#[test]
fn csv() {
    let seeds = [
        files(&[("a.csv", b"a,class,b\n1,x,2.5\n3,\"y\"\"z\",4\n")]),
        files(&[("a.csv", b"1;2;3\n4;5;6\r\n0;0;1\n")]),
        files(&[("a.csv", b"1\t2\tu\n3\t4\tv\n"), ("b.csv", b" 1  2 u\n 3 0.1 w\n")]),
    ];
    fuzz("csv", Some(Format::Csv), &seeds, &PLAIN, unsealed);
}

const XML: &[u8] =
    b"<?xml version=\"1.0\"?><labels><label name=\"b\"/><label name=\"c\"></label></labels>";

#[test]
fn arff() {
    let dense = b"% note\n@relation r\n@attribute a numeric\n@attribute 'b' {0,1}\n\
        @attribute c {0,1}\n@data\n1.5,0,1\n2,1,1\n";
    let sparse = b"@RELATION 'r s'\n@ATTRIBUTE x real\n@attribute b {0,1}\n@attribute y {0,1}\n\
        @attribute c {0, 1}\n@data\n{0 2,1 1}\n{}\n{2 1, 3 1}\n";
    let class = b"@relation r\n@attribute a integer\n@attribute k {red,'dark blue',3}\n@data\n\
        0,red\n2,'dark blue'\n0,3\n{0 4}\n0,red\n{}\n";
    let seeds = [
        files(&[("a.arff", dense), ("a.xml", XML)]),
        files(&[("a.arff", sparse), ("a.xml", XML)]),
        files(&[("a.arff", class)]),
    ];
    fuzz("arff", Some(Format::Arff), &seeds, &PLAIN, unsealed);
}

fn arrays() -> (Vec<u8>, Vec<u8>, Vec<u8>, Vec<u8>) {
    let x = npy("<f8", false, &[3, 2], &f64s(&[1.0, 2.0, 3.0, 0.1, 5.0, 6.0]));
    let y = npy("|i1", false, &[3], &[255, 1, 255]);
    let sets = npy("|b1", true, &[3, 2], &[1, 0, 1, 1, 0, 0]);
    let texts: Vec<u8> = "a\0bcb\0".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    (x, y, sets, npy("<U2", false, &[3], &texts))
}

#[test]
fn npy_files() {
    let (x, y, sets, texts) = arrays();
    let big = npy(">i2", true, &[3, 2], &[0, 1, 0, 2, 255, 255, 0, 4, 0, 5, 0, 6]);
    let seeds = [
        files(&[("x.npy", &x), ("y.npy", &y)]),
        files(&[("x.npy", &big), ("y.npy", &texts)]),
        files(&[("x.npy", &x), ("y.npz", &zip(&[("y.npy", &sets)]))]),
        files(&[("x.npy", &big)]),
    ];
    fuzz("npy", Some(Format::Npy), &seeds, &PLAIN, unsealed);
}

/// Archives made of damaged members, and damaged archives.
#[test]
fn npz_files() {
    let (x, y, sets, texts) = arrays();
    let sparse = |format: &[u8]| {
        let starts: &[i32] = if format == b"csr" { &[0, 2, 2, 3] } else { &[0, 1, 1, 1, 3] };
        let columns: &[i32] = if format == b"csr" { &[3, 0, 1] } else { &[0, 1, 2] };
        files(&[
            ("format.npy", &npy("|S3", false, &[], format)),
            (
                "shape.npy",
                &npy("<i8", false, &[2], &[3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]),
            ),
            ("indptr.npy", &npy("<i4", false, &[starts.len()], &i32s(starts))),
            ("indices.npy", &npy("<i4", false, &[3], &i32s(columns))),
            ("data.npy", &npy("<f8", false, &[3], &f64s(&[1.0, 2.0, 0.5]))),
            ("y.npy", &y),
        ])
    };
    let seeds = [
        files(&[("X.npy", &x), ("y.npy", &y)]),
        files(&[("features.npy", &x), ("labels.npy", &sets)]),
        files(&[("X.npy", &x), ("y.npy", &texts), ("other.npy", &y)]),
        sparse(b"csr"),
        sparse(b"csc"),
    ];
    fuzz("npz", Some(Format::Npz), &seeds, &PLAIN, |input, rng| {
        let members: Vec<(&str, &[u8])> =
            input.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
        let Some(rng) = rng else { return files(&[("a.npz", &zip(&members))]) };
        let deflated = rng.random_range(0..8) == 0;
        let mut archive = if deflated { deflated_zip(&members) } else { zip(&members) };
        if rng.random_range(0..3) == 0 {
            mutate::mutate(&mut archive, &[], rng);
        }
        files(&[("a.npz", &archive)])
    });
}

#[test]
fn idx_files() {
    let bytes = idx(8, &[3, 2, 2], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255]);
    let shorts = idx(0x0b, &[3, 1], &[0, 1, 255, 255, 0, 3]);
    let labels = idx(8, &[3], &[1, 0, 1]);
    let seeds = [
        files(&[("images", &bytes), ("labels", &labels)]),
        files(&[("images", &shorts), ("labels", &labels)]),
        files(&[("images", &bytes)]),
    ];
    fuzz("idx", Some(Format::Idx), &seeds, &PLAIN, unsealed);
}

/// Damages before and after compression.
fn fuzz_compressed(name: &str, allowance: &Allowance, compress: impl Fn(&[u8]) -> Vec<u8>) {
    let seeds = [files(&[("a", LIBSVM)]), files(&[("a", &SETS.repeat(20))])];
    fuzz(name, Some(Format::Libsvm), &seeds, allowance, |input, rng| {
        let mut packed = compress(&input[0].1);
        if let Some(rng) = rng {
            match rng.random_range(0..8) {
                0 => {}
                1 => packed.extend(compress(LIBSVM)),
                _ => mutate::mutate(&mut packed, &[], rng),
            }
        }
        files(&[("a", &packed)])
    });
}

/// How much comes out before the end, or before the damage is noticed.
fn expanded(mut decoder: impl Read) -> usize {
    let mut buffer = [0; 4096];
    let mut size = 0;
    while let Ok(read @ 1..) = decoder.read(&mut buffer) {
        size += read;
    }
    size
}

#[test]
fn gzip_files() {
    let allowance = Allowance {
        extra: 0,
        expanded: |bytes| expanded(flate2::bufread::MultiGzDecoder::new(bytes)),
    };
    fuzz_compressed("gzip", &allowance, gzip);
}

#[test]
fn bzip2_files() {
    // The format's blocks of up to 900 kB need four bytes each while they are decoded.
    let allowance = Allowance {
        extra: 4 * MIB,
        expanded: |bytes| expanded(bzip2::bufread::MultiBzDecoder::new(bytes)),
    };
    fuzz_compressed("bzip2", &allowance, bzip2);
}

#[test]
fn zstd_files() {
    // A block's header may claim 65 536 sequences, and 128 KiB of literals.
    let allowance = Allowance {
        extra: 2 * MIB,
        expanded: |bytes| {
            // The first frame, with what it may have in common with a second one.
            ruzstd::decoding::StreamingDecoder::new(bytes).map_or(0, |frame| 2 * expanded(frame))
        },
    };
    fuzz_compressed("zstd", &allowance, zstd);
}
