//! Number plates.

use crate::args::PlatesArgs;
use anyhow::ensure;
use minorant::data::Images;
use minorant::generate::{PlatesOptions, plates};

pub(super) fn run(args: &PlatesArgs) -> anyhow::Result<()> {
    ensure!(args.images > 0, "--images must be at least 1");
    ensure!(args.height > 0, "--height must be at least 1");
    ensure!(
        (1..=1 << 16).contains(&args.widths.len()) && !args.widths.contains(&0),
        "--widths must be from 1 to 65536 numbers of at least 1"
    );
    ensure!(args.max_length >= 2, "--max-length must be at least 2, not {}", args.max_length);
    super::check_noise(args.noise)?;
    let widest = args.widths.iter().max().copied().unwrap_or(0);
    let images = args.images.saturating_add(args.skip);
    let of_image = widest.saturating_mul(args.height).saturating_mul(args.max_length);
    super::check_size(images.checked_mul(of_image))?;
    let mut plates = plates(&PlatesOptions {
        seed: args.seed,
        images,
        height: args.height,
        widths: args.widths.clone(),
        noise: args.noise,
        longest: args.max_length,
    });
    plates.drain(..args.skip);
    let images =
        Images::Plates { height: args.height, widths: args.widths.clone(), plates, labelled: true };
    super::write(&args.out, &images.arrays(), &format!("{} plates", images.len()))
}
