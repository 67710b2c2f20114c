//! Damaged files of every format that this crate reads: tables here, sequences next door.

#[path = "../common/mod.rs"]
mod common;
mod counting;
mod harness;
mod large;
mod mutate;
mod sequences;

use common::{bzip2, deflated_zip, f64s, gzip, i32s, idx, npy, zip, zstd};
use harness::{Allowance, Borrowed, Files, MIB, PLAIN, Reader, Seal, archive, files};
use minorant_data::{
    Format, LabelKind, LabelRows, ReadError, ReadOptions, read_bytes_of_files, write_cache,
};
use mutate::mutate;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use std::io::Read;

fn random_options(format: Format, rng: &mut Pcg64Mcg) -> ReadOptions {
    let kinds = [
        None,
        None,
        None,
        Some(LabelKind::Binary),
        Some(LabelKind::Multiclass),
        Some(LabelKind::Multilabel),
        Some(LabelKind::Targets),
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
        format: if rng.random_range(0..4) == 0 { None } else { Some(format) },
        for_prediction: rng.random(),
        model_features: [None, None, Some(2), Some(5)][rng.random_range(0..4)],
        rows_in_memory: None,
    }
}

fn fuzz(name: &str, format: Format, seeds: &[Files], allowance: &Allowance, seal: Seal<'_>) {
    let options = |rng: Option<&mut Pcg64Mcg>| match rng {
        Some(rng) => random_options(format, rng),
        None => {
            let format = Some(format);
            ReadOptions { for_prediction: true, format, ..ReadOptions::default() }
        }
    };
    let read = |files: &Borrowed<'_>, options: &ReadOptions| {
        let data = read_bytes_of_files(files, options)?;
        let labelled = data.labels.rows != LabelRows::None;
        assert!(!labelled || data.labels.len() == data.features.rows(), "rows without labels");
        Ok::<(), ReadError>(())
    };
    Reader { name, allowance, seal, options: &options, read }.fuzz(seeds);
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
    fuzz("libsvm", Format::Libsvm, &seeds, &PLAIN, &unsealed);
}

#[test]
fn csv() {
    let seeds = [
        files(&[("a.csv", b"a,class,b\n1,x,2.5\n3,\"y\"\"z\",4\n")]),
        files(&[("a.csv", b"1;2;3\n4;5;6\r\n0;0;1\n")]),
        files(&[("a.csv", b"1\t2\tu\n3\t4\tv\n"), ("b.csv", b" 1  2 u\n 3 0.1 w\n")]),
    ];
    fuzz("csv", Format::Csv, &seeds, &PLAIN, &unsealed);
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
    fuzz("arff", Format::Arff, &seeds, &PLAIN, &unsealed);
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
    fuzz("npy", Format::Npy, &seeds, &PLAIN, &unsealed);
}

/// Archives made of damaged members, and damaged archives.
#[test]
fn npz_files() {
    let (x, y, sets, texts) = arrays();
    let shape = npy("<i8", false, &[2], &[3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]);
    let sparse = |format: &[u8]| {
        let starts: &[i32] = if format == b"csr" { &[0, 2, 2, 3] } else { &[0, 1, 1, 1, 3] };
        let columns: &[i32] = if format == b"csr" { &[3, 0, 1] } else { &[0, 1, 2] };
        files(&[
            ("format.npy", &npy("|S3", false, &[], format)),
            ("shape.npy", &shape),
            ("indptr.npy", &npy("<i4", false, &[starts.len()], &i32s(starts))),
            ("indices.npy", &npy("<i4", false, &[3], &i32s(columns))),
            ("data.npy", &npy("<f8", false, &[3], &f64s(&[1.0, 2.0, 0.5]))),
            ("y.npy", &y),
        ])
    };
    let coordinates = files(&[
        ("format.npy", &npy("|S3", false, &[], b"coo")),
        ("shape.npy", &shape),
        ("row.npy", &npy("<i4", false, &[3], &i32s(&[2, 0, 0]))),
        ("col.npy", &npy("<i4", false, &[3], &i32s(&[1, 3, 0]))),
        ("data.npy", &npy("<f8", false, &[3], &f64s(&[0.5, 1.0, 2.0]))),
        ("y.npy", &y),
    ]);
    let seeds = [
        files(&[("X.npy", &x), ("y.npy", &y)]),
        files(&[("features.npy", &x), ("labels.npy", &sets)]),
        files(&[("X.npy", &x), ("y.npy", &texts), ("other.npy", &y)]),
        sparse(b"csr"),
        sparse(b"csc"),
        coordinates,
    ];
    fuzz("npz", Format::Npz, &seeds, &PLAIN, &|input, mut rng| {
        let deflated = rng.as_mut().is_some_and(|rng| rng.random_range(0..8) == 0);
        archive(input, rng, if deflated { deflated_zip } else { zip })
    });
}

/// A cache of these files.
fn cache(files: &[(&str, &[u8])]) -> Vec<u8> {
    let folder = tempfile::TempDir::new().unwrap();
    let put = |(name, bytes): &(&str, &[u8])| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let paths: Vec<_> = files.iter().map(put).collect();
    let target = folder.path().join("data.mnt");
    write_cache(&paths, &ReadOptions::default(), &target, &mut |_| true).unwrap();
    std::fs::read(target).unwrap()
}

/// The cache with the checksums that its frames would have, as far as they can be followed: damage gets
/// behind what notices it.
fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let mut at = 16;
    while let Some(length) = bytes.get(at + 4..at + 12) {
        let length = u64::from_le_bytes(length.try_into().unwrap());
        let end = usize::try_from(length).ok().and_then(|length| length.checked_add(at + 12));
        let Some(end) = end.filter(|&end| end < bytes.len() && end + 4 <= bytes.len()) else {
            break;
        };
        let sum = crc32fast::hash(&bytes[at..end]);
        bytes[end..end + 4].copy_from_slice(&sum.to_le_bytes());
        at = end + 4;
    }
    bytes
}

/// A cache that mostly gets the checksums of its damaged frames.
fn sometimes_resealed(input: Files, rng: Option<&mut Pcg64Mcg>) -> Files {
    let seals = rng.is_some_and(|rng| rng.random_range(0..8) > 0);
    let sealed = |bytes| if seals { resealed(bytes) } else { bytes };
    input.into_iter().map(|(name, bytes)| (name, sealed(bytes))).collect()
}

#[test]
fn caches() {
    let (x, y, sets, texts) = arrays();
    let seed = |inputs: &[(&str, &[u8])]| files(&[("a.mnt", &cache(inputs))]);
    let seeds = [
        seed(&[("a", LIBSVM)]),
        seed(&[("a", SETS)]),
        seed(&[("a", b"1 1:1 3:1\n2 2:1\n1 1:2 2:2 5:2\n")]),
        seed(&[("a.csv", b"a,class,b\n1,x,2.5\n3,y,4\n0,x,0\n"), ("b", LIBSVM)]),
        seed(&[("a.npy", &x), ("y.npy", &y)]),
        seed(&[("a.npz", &zip(&[("X.npy", &x), ("y.npy", &sets)]))]),
        seed(&[("a.npz", &zip(&[("X.npy", &x), ("y.npy", &texts)]))]),
    ];
    // What was equal in a row stands once in a cache.
    let allowance = Allowance { times: 60, ..PLAIN };
    fuzz("mnt", Format::Mnt, &seeds, &allowance, &sometimes_resealed);
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
    fuzz("idx", Format::Idx, &seeds, &PLAIN, &unsealed);
}

/// Damages before and after compression.
fn fuzz_compressed(name: &str, allowance: &Allowance, compress: impl Fn(&[u8]) -> Vec<u8>) {
    let seeds = [files(&[("a", LIBSVM)]), files(&[("a", &SETS.repeat(20))])];
    fuzz(name, Format::Libsvm, &seeds, allowance, &|input, rng| {
        let mut packed = compress(&input[0].1);
        if let Some(rng) = rng {
            match rng.random_range(0..8) {
                0 => {}
                1 => packed.extend(compress(LIBSVM)),
                _ => mutate(&mut packed, &[], rng),
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
        times: 20,
        extra: 0,
        expanded: |bytes| expanded(flate2::bufread::MultiGzDecoder::new(bytes)),
    };
    fuzz_compressed("gzip", &allowance, gzip);
}

#[test]
fn bzip2_files() {
    // The format's blocks of up to 900 kB need four bytes each while they are decoded.
    let allowance = Allowance {
        times: 20,
        extra: 4 * MIB,
        expanded: |bytes| expanded(bzip2::bufread::MultiBzDecoder::new(bytes)),
    };
    fuzz_compressed("bzip2", &allowance, bzip2);
}

#[test]
fn zstd_files() {
    // A block's header may claim 65 536 sequences, and 128 KiB of literals.
    let allowance = Allowance {
        times: 20,
        extra: 2 * MIB,
        expanded: |bytes| {
            // The first frame, with what it may have in common with a second one.
            ruzstd::decoding::StreamingDecoder::new(bytes).map_or(0, |frame| 2 * expanded(frame))
        },
    };
    fuzz_compressed("zstd", &allowance, zstd);
}
