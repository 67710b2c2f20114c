//! Values of options that are words: what users type, or the value that the word names.

use crate::options::Named;
use crate::s3vm::Balance;

/// A word, or a value that is named by one.
pub trait Word {
    /// The word.
    fn word(self) -> String;
}

impl Word for &str {
    fn word(self) -> String {
        self.into()
    }
}

impl Word for String {
    fn word(self) -> String {
        self
    }
}

impl Word for Balance {
    fn word(self) -> String {
        self.to_string()
    }
}

impl<T: Named> Word for T {
    fn word(self) -> String {
        self.name().into()
    }
}
