//! A bag of named number arrays: what a solver's state turns into for a checkpoint and comes back
//! from with the same bits. It is plain data; the file that holds it is `checkpoint`'s business.

use std::collections::BTreeMap;

/// Named arrays.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Archive {
    /// Arrays of real numbers.
    pub reals: BTreeMap<String, Vec<f64>>,
    /// Arrays of whole numbers.
    pub integers: BTreeMap<String, Vec<u64>>,
}

/// An archive does not hold what was asked of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the saved state has no usable entry '{0}'")]
pub struct ArchiveError(pub String);

impl Archive {
    /// Stores an array of real numbers.
    pub fn put_reals(&mut self, name: &str, values: Vec<f64>) {
        self.reals.insert(name.into(), values);
    }

    /// Stores an array of whole numbers.
    pub fn put_integers(&mut self, name: &str, values: impl IntoIterator<Item = u64>) {
        self.integers.insert(name.into(), values.into_iter().collect());
    }

    /// Takes an array of real numbers out.
    pub fn take_reals(&mut self, name: &str) -> Result<Vec<f64>, ArchiveError> {
        self.reals.remove(name).ok_or_else(|| ArchiveError(name.into()))
    }

    /// Takes an array of whole numbers out.
    pub fn take_integers(&mut self, name: &str) -> Result<Vec<u64>, ArchiveError> {
        self.integers.remove(name).ok_or_else(|| ArchiveError(name.into()))
    }

    /// Takes a single real number out.
    pub fn take_real(&mut self, name: &str) -> Result<f64, ArchiveError> {
        match self.take_reals(name)?[..] {
            [value] => Ok(value),
            _ => Err(ArchiveError(name.into())),
        }
    }

    /// Takes a single whole number out.
    pub fn take_integer(&mut self, name: &str) -> Result<u64, ArchiveError> {
        match self.take_integers(name)?[..] {
            [value] => Ok(value),
            _ => Err(ArchiveError(name.into())),
        }
    }
}
