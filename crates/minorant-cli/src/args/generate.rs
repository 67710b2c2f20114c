//! `minorant generate` as typed: one structure a kind of data.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Write made-up data.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  minorant generate moons --examples 120 --labeled 2 --out moons.svm
  minorant train s3vm moons.svm --sigma 0.35
  minorant generate plates --seed 4 --images 100 --out plates.npz
  minorant generate parts --images 50 --out parts.npz
  minorant generate phones --sequences 200 --out phones.npz
  minorant train segment-svm plates.npz --lambda 0.1")]
pub(crate) struct GenerateArgs {
    /// What to make
    #[command(subcommand)]
    pub(crate) kind: GenerateKind,
}

/// What to make.
#[derive(Debug, Subcommand)]
pub(crate) enum GenerateKind {
    /// Number plates for segment-svm: rows of character templates with noise
    Plates(PlatesArgs),
    /// Faces-like images for tree-svm: four parts that stand out of noise
    Parts(PartsArgs),
    /// Phone-like recordings for hmm --task label: frames of labels that are spoken in a row
    Phones(PhonesArgs),
    /// Two half circles that reach into each other, for s3vm
    #[command(after_help = "Examples:
  minorant generate moons --examples 120 --labeled 2 --out moons.svm
  minorant generate moons --examples 80 --skip 120 --out test.svm     (others)")]
    Moons(CloudsArgs),
    /// Two spirals of one and a half turns, for s3vm
    #[command(after_help = "Examples:
  minorant generate spirals --examples 200 --labeled 20 --out spirals.svm
  minorant generate spirals --examples 80 --skip 200 --out test.svm     (others)")]
    Spirals(CloudsArgs),
}

/// Number plates.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  minorant generate plates --seed 4 --images 8 --widths 2,3,4 --out plates.npz")]
pub(crate) struct PlatesArgs {
    /// Seed of templates and noise
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Number of images
    #[arg(long, value_name = "N", alias = "n", default_value_t = 100)]
    pub(crate) images: usize,
    /// Leave out so many images first: others of the same seed, for testing
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) skip: usize,
    /// Rows of an image
    #[arg(long, value_name = "H", default_value_t = 3)]
    pub(crate) height: usize,
    /// Widths of the characters
    #[arg(long, value_name = "W,W,…", value_delimiter = ',', default_value = "2,3,4,3")]
    pub(crate) widths: Vec<usize>,
    /// Size of the noise beside templates of size 1
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub(crate) noise: f64,
    /// Most characters of an image; the fewest are 2
    #[arg(long, value_name = "L", default_value_t = 4)]
    pub(crate) max_length: usize,
    /// The NPZ file to write
    #[arg(long, value_name = "FILE.npz")]
    pub(crate) out: PathBuf,
}

/// Images with parts.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  minorant generate parts --seed 6 --images 10 --out parts.npz")]
pub(crate) struct PartsArgs {
    /// Seed of places and noise
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Number of images
    #[arg(long, value_name = "N", alias = "n", default_value_t = 100)]
    pub(crate) images: usize,
    /// Leave out so many images first: others of the same seed, for testing
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) skip: usize,
    /// The NPZ file to write
    #[arg(long, value_name = "FILE.npz")]
    pub(crate) out: PathBuf,
}

/// Phone-like recordings.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  minorant generate phones --seed 1 --sequences 200 --out train.npz
  minorant generate phones --seed 1 --part 1 --sequences 200 --out test.npz")]
pub(crate) struct PhonesArgs {
    /// Seed of sounds and noise
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Other sequences of the same sounds, for testing
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) part: u64,
    /// Number of sequences
    #[arg(long, value_name = "N", alias = "n", default_value_t = 100)]
    pub(crate) sequences: usize,
    /// Number of labels
    #[arg(long, value_name = "L", default_value_t = 8)]
    pub(crate) labels: usize,
    /// Numbers in a frame
    #[arg(long, value_name = "D", default_value_t = 6)]
    pub(crate) features: usize,
    /// Size of the noise beside sounds of size 1
    #[arg(long, value_name = "X", default_value_t = 1.5)]
    pub(crate) noise: f64,
    /// The NPZ file to write
    #[arg(long, value_name = "FILE.npz")]
    pub(crate) out: PathBuf,
}

/// Two clouds in the plane: evenly along the moons, at random along the spirals.
#[derive(Debug, Args)]
pub(crate) struct CloudsArgs {
    /// Seed of the points
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Number of points, half of them of each class
    #[arg(long, value_name = "N", alias = "n", default_value_t = 200)]
    pub(crate) examples: usize,
    /// Leave out so many points first: others of the same seed, for testing
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) skip: usize,
    /// Points that keep their label; the others get 0, which means unlabelled (default: all)
    #[arg(long, value_name = "L")]
    pub(crate) labeled: Option<usize>,
    /// Standard deviation of the noise (default: 0.1 for moons, 0.02 for spirals)
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub(crate) noise: Option<f64>,
    /// The LIBSVM file to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}
