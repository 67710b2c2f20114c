//! The verbs, one file each: read what was asked for, call the library, show the answer. They are
//! the same for every model.

pub(crate) mod audit;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod evaluate;
pub(crate) mod generate;
pub(crate) mod inspect;
mod inspect_data;
pub(crate) mod man;
pub(crate) mod minimize;
pub(crate) mod path;
pub(crate) mod predict;
pub(crate) mod train;
pub(crate) mod tune;

use crate::output;
use minorant::FileError;
use minorant::family::Settings;
use minorant::risk::Cancel;

/// Why a bound may have no proof.
const LOST_ORIGINS: &str = "an aggregate plane has lost its origins";

/// Refuses output files that cannot be written, before hours of work go into them.
fn check_writable(settings: &Settings) -> Result<(), FileError> {
    let files = ["out", "proof", "trace", "report", "checkpoint"];
    files
        .iter()
        .filter_map(|name| settings.file(name))
        .try_for_each(|path| FileError::check_writable(&path))
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
