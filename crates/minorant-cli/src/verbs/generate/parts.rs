//! Images with parts.

use crate::args::PartsArgs;
use anyhow::ensure;
use minorant::data::Images;
use minorant::generate::{parts, parts_shape};

pub(super) fn run(args: &PartsArgs) -> anyhow::Result<()> {
    ensure!(args.images > 0, "--images must be at least 1");
    let shape = parts_shape();
    let images = args.images.saturating_add(args.skip);
    super::check_size(images.checked_mul(shape.width * shape.height * shape.channels))?;
    let mut images = parts(args.seed, images);
    images.drain(..args.skip);
    let images = Images::Parts { shape, images, labelled: true };
    super::write(&args.out, &images.arrays(), &format!("{} images with parts", images.len()))
}
