//! Phone-like recordings.

use crate::args::PhonesArgs;
use anyhow::ensure;
use minorant::data::{LabelRows, NamedArray};
use minorant::generate::{Phones, phones};

/// More frames than the longest sequence is ever likely to have.
const FRAMES: usize = 1000;

pub(super) fn run(args: &PhonesArgs) -> anyhow::Result<()> {
    ensure!(args.sequences > 0, "--sequences must be at least 1");
    ensure!(args.labels > 1, "--labels must be at least 2");
    ensure!(args.features > 0, "--features must be at least 1");
    let noise = args.noise;
    super::check_noise(noise)?;
    let numbers = args.sequences.checked_mul(FRAMES).and_then(|n| n.checked_mul(args.features));
    super::check_size(numbers)?;
    super::check_size(args.labels.checked_mul(args.labels.max(3 * args.features)))?;
    let (sequences, labels, features) = (args.sequences, args.labels, args.features);
    let data = phones(Phones { sequences, labels, features, noise }, args.seed, args.part);
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
    super::write(&args.out, &arrays, &format!("{sequences} recordings of {rows} frames"))
}
