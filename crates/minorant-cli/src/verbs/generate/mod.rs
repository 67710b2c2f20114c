//! `minorant generate`: data that the library makes, written as files. One file a kind.

mod clouds;
mod parts;
mod phones;
mod plates;

use crate::args::{GenerateArgs, GenerateKind};
use crate::output;
use minorant::FileError;
use minorant::data::{NamedArray, npz_bytes};
use minorant::generate::Clouds;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn run(args: &GenerateArgs) -> anyhow::Result<ExitCode> {
    match &args.kind {
        GenerateKind::Moons(args) => clouds::run(Clouds::Moons, args)?,
        GenerateKind::Spirals(args) => clouds::run(Clouds::Spirals, args)?,
        GenerateKind::Plates(args) => plates::run(args)?,
        GenerateKind::Parts(args) => parts::run(args)?,
        GenerateKind::Phones(args) => phones::run(args)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The most numbers that made-up data may have.
const MOST: usize = 100_000_000;

/// Refuses sizes that would fill the memory.
fn check_size(numbers: Option<usize>) -> anyhow::Result<()> {
    anyhow::ensure!(
        numbers.is_some_and(|numbers| numbers <= MOST),
        "this data would have more than {MOST} numbers; ask for less"
    );
    Ok(())
}

/// Refuses noise that is negative or not finite.
fn check_noise(noise: f64) -> anyhow::Result<()> {
    anyhow::ensure!(
        noise >= 0.0 && noise.is_finite(),
        "--noise must be a number of 0 or more, not {noise}"
    );
    Ok(())
}

/// Writes arrays to a file and prints what is in it.
fn write(path: &Path, arrays: &[NamedArray], what: &str) -> anyhow::Result<()> {
    FileError::check_writable(path)?;
    minorant::write_atomically(path, &npz_bytes(arrays)?)?;
    output::print(&format!("{what} in {}", path.display()))
}
