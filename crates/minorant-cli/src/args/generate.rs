//! `minorant generate` as typed: one structure a kind of data.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Write made-up data.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  minorant generate moons --examples 120 --labeled 2 --out moons.svm
  minorant train s3vm moons.svm --sigma 0.35")]
pub(crate) struct GenerateArgs {
    /// What to make
    #[command(subcommand)]
    pub(crate) kind: GenerateKind,
}

/// What to make.
#[derive(Debug, Subcommand)]
pub(crate) enum GenerateKind {
    /// Two half circles that reach into each other, for s3vm
    Moons(CloudsArgs),
    /// Two spirals of one and a half turns, for s3vm
    Spirals(CloudsArgs),
}

/// Two clouds in the plane.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  minorant generate moons --examples 120 --labeled 2 --out moons.svm
  minorant generate moons --examples 80 --skip 120 --out test.svm    (others of the same kind)")]
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
