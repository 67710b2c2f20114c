//! The verbs, one file each: read what was asked for, call the library, show the answer.

pub(crate) mod audit;
mod chain;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod evaluate;
pub(crate) mod generate;
mod hmm;
mod image;
pub(crate) mod inspect;
mod inspect_data;
mod kernel;
mod leave;
pub(crate) mod man;
pub(crate) mod minimize;
mod neuro;
pub(crate) mod path;
pub(crate) mod predict;
pub(crate) mod train;
pub(crate) mod tune;

use crate::output;
use minorant::FileError;
use minorant::risk::Cancel;
use std::path::PathBuf;

/// Refuses files that cannot be written, before hours of work go into them.
fn check_writable(files: &[&Option<PathBuf>]) -> Result<(), FileError> {
    files.iter().copied().flatten().try_for_each(|path| FileError::check_writable(path))
}

/// A token that Ctrl-C cancels; a second Ctrl-C ends the process at once.
fn cancel_on_interrupt() -> Cancel {
    let cancel = Cancel::new();
    let token = cancel.clone();
    // Where no handler can be installed, Ctrl-C ends the process as usual.
    let _ = ctrlc::set_handler(move || {
        if token.is_cancelled() {
            std::process::exit(130);
        }
        output::tell("stopping after this evaluation; press Ctrl-C again to give up the answer");
        token.cancel();
    });
    cancel
}
