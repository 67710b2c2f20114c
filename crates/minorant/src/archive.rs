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
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.reals.is_empty() && self.integers.is_empty()
    }

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

    /// Stores all that `save` stores, under names of their own.
    pub fn put_all(&mut self, name: &str, save: impl FnOnce(&mut Archive)) {
        let mut own = Archive::default();
        save(&mut own);
        let full = |inner: String| format!("{name}/{inner}");
        self.reals.extend(own.reals.into_iter().map(|(inner, values)| (full(inner), values)));
        self.integers.extend(own.integers.into_iter().map(|(inner, values)| (full(inner), values)));
    }

    /// Takes out all that was stored under names of their own.
    pub fn take_all(&mut self, name: &str) -> Archive {
        fn own<T>(from: &mut BTreeMap<String, T>, name: &str) -> BTreeMap<String, T> {
            let inner = |full: &str| Some(full.strip_prefix(name)?.strip_prefix('/')?.to_owned());
            let (own, rest) = std::mem::take(from)
                .into_iter()
                .partition::<Vec<_>, _>(|(full, _)| inner(full).is_some());
            *from = rest.into_iter().collect();
            own.into_iter().filter_map(|(full, values)| Some((inner(&full)?, values))).collect()
        }
        Archive { reals: own(&mut self.reals, name), integers: own(&mut self.integers, name) }
    }

    /// Takes out as many real numbers as there must be, all of them finite.
    pub fn take_finite(&mut self, name: &str, length: usize) -> Result<Vec<f64>, ArchiveError> {
        let values = self.take_reals(name)?;
        let is_usable = values.len() == length && values.iter().all(|value| value.is_finite());
        if is_usable { Ok(values) } else { Err(ArchiveError(name.into())) }
    }

    /// Takes out as many whole numbers as there must be, none of them above `most`.
    pub fn take_up_to(
        &mut self,
        name: &str,
        length: usize,
        most: u64,
    ) -> Result<Vec<u64>, ArchiveError> {
        let values = self.take_integers(name)?;
        let is_usable = values.len() == length && values.iter().all(|value| *value <= most);
        if is_usable { Ok(values) } else { Err(ArchiveError(name.into())) }
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
