//! Writers of small files in all formats, for the tests of the readers.
#![allow(dead_code, unused_imports, reason = "each test binary uses its own part")]

mod arrays;

pub(crate) use arrays::{f64s, i32s, npy, zip};
use std::io::Write;

/// A named case with its files.
pub(crate) type Case = (&'static str, Vec<(&'static str, Vec<u8>)>);

/// A zip archive whose members are deflated.
pub(crate) fn deflated_zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for (name, bytes) in members {
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// An IDX file with this type code and these axes.
pub(crate) fn idx(kind: u8, axes: &[u32], data: &[u8]) -> Vec<u8> {
    let mut file = vec![0, 0, kind, axes.len() as u8];
    file.extend(axes.iter().flat_map(|axis| axis.to_be_bytes()));
    file.extend(data);
    file
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}
