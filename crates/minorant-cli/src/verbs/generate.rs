//! `minorant generate`: data that the library makes, written as files.

use crate::args::GenerateArgs;
use crate::output;
use anyhow::ensure;
use minorant::FileError;
use minorant::data::{Images, LabelRows, NamedArray, npz_bytes};
use minorant::generate::{
    Clouds, CloudsOptions, Phones, PlatesOptions, clouds, parts, parts_shape, phones, plates,
    to_libsvm,
};
use std::path::PathBuf;

/// The most numbers that made-up data may have.
const MOST: usize = 100_000_000;
/// More frames than the longest sequence is ever likely to have.
const FRAMES: usize = 1000;

pub(crate) fn run(args: &GenerateArgs) -> anyhow::Result<()> {
    let (bytes, what) = match args.kind().0 {
        "moons" => of_clouds(args, Clouds::Moons)?,
        "spirals" => of_clouds(args, Clouds::Spirals)?,
        "plates" => of_plates(args)?,
        "parts" => of_parts(args)?,
        _ => of_phones(args)?,
    };
    let out: PathBuf = args.all("out").pop().unwrap_or_default();
    FileError::check_writable(&out)?;
    minorant::write_atomically(&out, &bytes)?;
    output::print(&format!("{what} in {}", out.display()))
}

/// The content of a file, and what it is in words.
type Made = anyhow::Result<(Vec<u8>, String)>;

/// Whole numbers of which there must be some.
fn some<const N: usize>(args: &GenerateArgs, names: [&str; N]) -> anyhow::Result<[usize; N]> {
    for name in names {
        ensure!(args.whole(name) > 0, "--{name} must be at least 1");
    }
    Ok(names.map(|name| args.whole(name)))
}

/// Refuses sizes that would fill the memory: the product of some numbers.
fn check_size<const N: usize>(factors: [usize; N]) -> anyhow::Result<()> {
    let numbers = factors.into_iter().try_fold(1, usize::checked_mul);
    ensure!(
        numbers.is_some_and(|numbers| numbers <= MOST),
        "this data would have more than {MOST} numbers; ask for less"
    );
    Ok(())
}

/// The noise, where it is given or has a default; one that is negative or not finite is refused.
fn noise(args: &GenerateArgs) -> anyhow::Result<Option<f64>> {
    let noise: Option<f64> = args.all("noise").pop();
    if let Some(noise) = noise.filter(|noise| !(*noise >= 0.0 && noise.is_finite())) {
        anyhow::bail!("--noise must be a number of 0 or more, not {noise}");
    }
    Ok(noise)
}

fn of_clouds(args: &GenerateArgs, clouds_of: Clouds) -> Made {
    let [examples] = some(args, ["examples"])?;
    let noise = noise(args)?.unwrap_or(clouds_of.usual_noise());
    let (labeled, skip): (Option<usize>, usize) = (args.all("labeled").pop(), args.whole("skip"));
    if let Some(labeled) = labeled.filter(|labeled| *labeled > examples) {
        anyhow::bail!("--labeled must be at most the {examples} examples, not {labeled}");
    }
    check_size([examples.saturating_add(skip), 2])?;
    let seed = args.whole("seed") as u64;
    let options = CloudsOptions { clouds: clouds_of, examples, noise, labeled, seed, skip };
    let labels = labeled.map_or(String::new(), |labeled| format!(", {labeled} with a label"));
    Ok((to_libsvm(&clouds(&options)).into_bytes(), format!("{examples} points{labels}")))
}

fn of_plates(args: &GenerateArgs) -> Made {
    let [images, height] = some(args, ["images", "height"])?;
    let (widths, longest, skip): (Vec<usize>, usize, usize) =
        (args.all("widths"), args.whole("max-length"), args.whole("skip"));
    ensure!(
        (1..=1 << 16).contains(&widths.len()) && !widths.contains(&0),
        "--widths must be from 1 to 65536 numbers of at least 1"
    );
    ensure!(longest >= 2, "--max-length must be at least 2, not {longest}");
    let (noise, seed) = (noise(args)?.unwrap_or_default(), args.whole("seed") as u64);
    let images = images.saturating_add(skip);
    check_size([images, widths.iter().max().copied().unwrap_or(0), height, longest])?;
    let options = PlatesOptions { seed, images, height, widths, noise, longest };
    let plates = plates(&options).split_off(skip);
    let what = format!("{} plates", plates.len());
    let images = Images::Plates { height, widths: options.widths, plates, labelled: true };
    Ok((npz_bytes(&images.arrays())?, what))
}

fn of_parts(args: &GenerateArgs) -> Made {
    let [images] = some(args, ["images"])?;
    let (shape, skip) = (parts_shape(), args.whole("skip"));
    let images = images.saturating_add(skip);
    check_size([images, shape.width, shape.height, shape.channels])?;
    let images = parts(args.whole("seed") as u64, images).split_off(skip);
    let what = format!("{} images with parts", images.len());
    Ok((npz_bytes(&Images::Parts { shape, images, labelled: true }.arrays())?, what))
}

fn of_phones(args: &GenerateArgs) -> Made {
    let [sequences, labels, features] = some(args, ["sequences", "labels", "features"])?;
    ensure!(labels > 1, "--labels must be at least 2");
    let noise = noise(args)?.unwrap_or_default();
    check_size([sequences, FRAMES, features])?;
    check_size([labels, labels.max(3 * features)])?;
    let size = Phones { sequences, labels, features, noise };
    let data = phones(size, args.whole("seed") as u64, args.whole("draw") as u64);
    let LabelRows::Single(frame_labels) = &data.labels.rows else {
        unreachable!("made with labels")
    };
    let values = (0..data.frames.values().len()).map(|at| data.frames.values().get(at)).collect();
    let rows = data.frames.rows();
    let arrays = [
        NamedArray::reals("values", &[rows, features], values),
        NamedArray::whole("offsets", &[sequences + 1], data.starts.iter().map(|&at| at as u64)),
        NamedArray::whole("frame_labels", &[rows], frame_labels.iter().map(|&z| u64::from(z))),
    ];
    Ok((npz_bytes(&arrays)?, format!("{sequences} recordings of {rows} frames")))
}
