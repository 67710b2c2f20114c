//! Damaged archives of images, and damaged models of every kind. The fuzzer is that of the readers
//! of tables.

#[path = "../../../minorant-data/tests/common/arrays.rs"]
mod arrays;
#[path = "../../../minorant-data/tests/fuzz/counting.rs"]
mod counting;
#[path = "../../../minorant-data/tests/fuzz/harness.rs"]
mod harness;
mod models;
#[path = "../../../minorant-data/tests/fuzz/mutate.rs"]
mod mutate;

use arrays::{f64s, i32s, npy, zip};
use harness::{Allowance, Borrowed, Files, PLAIN, Reader, archive, files};
use minorant::data::{Images, ReadError};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// Bytes become numbers of eight bytes, offsets a list and an image each.
const IMAGES: Allowance = Allowance { times: 100, ..PLAIN };

fn fuzz(
    name: &str,
    seeds: &[Files],
    read: fn(&str, &[u8], bool) -> Result<Images, ReadError>,
    fits: fn(&Images) -> bool,
) {
    let labels_needed = |rng: Option<&mut Pcg64Mcg>| rng.is_some_and(|rng| rng.random());
    let read = |files: &Borrowed<'_>, labels_needed: &bool| {
        let images = read(files[0].0, files[0].1, *labels_needed)?;
        assert!(fits(&images), "images that do not fit together");
        Ok::<(), ReadError>(())
    };
    let seal: harness::Seal<'_> = &|input, rng| archive(input, rng, zip);
    Reader { name, allowance: &IMAGES, seal, options: &labels_needed, read }.fuzz(seeds);
}

fn whole(values: &[i32]) -> Vec<u8> {
    npy("<i4", false, &[values.len()], &i32s(values))
}

#[test]
fn plates() {
    let bytes: Vec<u8> = (0..14).collect();
    let mut seed = files(&[
        ("pixels.npy", &npy("|u1", false, &[7, 2], &bytes)),
        ("offsets.npy", &whole(&[0, 3, 7])),
        ("widths.npy", &whole(&[1, 2])),
    ]);
    let unlabelled = seed.clone();
    seed.push(("labels.npy".into(), whole(&[0, 1, 1, 1])));
    seed.push(("label_offsets.npy".into(), whole(&[0, 2, 4])));
    fuzz("plates", &[seed, unlabelled], Images::plates_in_bytes, |images| match images {
        Images::Plates { height, plates, .. } => {
            plates.iter().all(|plate| plate.pixels.len().is_multiple_of(*height))
        }
        Images::Parts { .. } => false,
    });
}

#[test]
fn parts() {
    let pixels: Vec<f64> = (0..24).map(f64::from).collect();
    let mut seed = files(&[
        ("pixels.npy", &npy("<f8", false, &[2, 2, 3, 2], &f64s(&pixels))),
        ("parents.npy", &whole(&[0, 0, 1])),
    ]);
    let unlabelled = seed.clone();
    let places: Vec<i32> = (0..16).map(|at| at % 2).collect();
    seed.push(("labels.npy".into(), npy("<i4", false, &[2, 4, 2], &i32s(&places))));
    seed.push(("scale.npy".into(), npy("<f8", false, &[], &f64s(&[2.0]))));
    fuzz("parts", &[seed, unlabelled], Images::parts_in_bytes, |images| match images {
        Images::Parts { shape, images, labelled } => images.iter().all(|image| {
            let parts = if *labelled { shape.parents.len() + 1 } else { 0 };
            image.places.len() == parts
                && image.pixels.len() == shape.width * shape.height * shape.channels
        }),
        Images::Plates { .. } => false,
    });
}

/// Many images and many parts, and nothing that stands for each part of each image.
#[test]
fn unlabelled_parts_take_no_memory() {
    let many = 2_000;
    let archive = zip(&[
        ("pixels.npy", &npy("|u1", false, &[many, 1, 1, 1], &vec![1; many])),
        ("parents.npy", &npy("|u1", false, &[many], &vec![0; many])),
    ]);
    let (images, peak) = counting::peak_of(|| Images::parts_in_bytes("a", &archive, false));
    assert_eq!(images.expect("images").len(), many);
    assert!(peak <= harness::MIB + IMAGES.times * archive.len(), "{peak} bytes");
}
