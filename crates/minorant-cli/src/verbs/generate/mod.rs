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

/// More than anybody wants to make, and little enough to be made.
const MOST: usize = 100_000_000;

/// Refuses sizes that would fill the memory.
fn check_size(numbers: Option<usize>) -> anyhow::Result<()> {
    anyhow::ensure!(
        numbers.is_some_and(|numbers| numbers <= MOST),
        "so much data would have over {MOST} numbers; ask for less"
    );
    Ok(())
}

/// Writes arrays and says so.
fn write(path: &Path, arrays: &[NamedArray], what: &str) -> anyhow::Result<()> {
    FileError::check_writable(path)?;
    minorant::write_atomically(path, &npz_bytes(arrays)?)?;
    output::print(&format!("{what} in {}", path.display()))
}
