//! How forms and model files speak with each other: keys of the header and named arrays, written
//! one by one and taken back one by one. What is missing or does not fit is a [`Misfit`],
//! before which the error puts the file's name.

use super::Misfit;
use crate::container::Container;
use crate::options::{label_json, label_of_json};
use minorant_data::Label;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

/// A model file as it is put together.
#[derive(Debug)]
pub struct Writer {
    pub(crate) header: Map<String, Json>,
    pub(super) container: Container,
}

impl Writer {
    pub(super) fn new(header: Map<String, Json>) -> Self {
        Writer { header, container: Container::new(&()) }
    }

    /// Puts a key into the header.
    pub fn key(&mut self, name: &str, value: impl Serialize) {
        // Keys are plain structures of ours; turning them into JSON cannot fail.
        let value = serde_json::to_value(value).unwrap_or_default();
        self.header.insert(name.into(), value);
    }

    /// Puts the classes into the header.
    pub fn classes(&mut self, classes: &[Label]) {
        self.key("classes", classes.iter().map(label_json).collect::<Vec<_>>());
    }

    /// Adds an array of numbers.
    pub fn reals(&mut self, name: &str, shape: &[usize], values: &[f64]) {
        self.container.put_reals(name, shape, values.to_vec());
    }

    /// Adds an array of whole numbers.
    pub fn integers(&mut self, name: &str, values: impl IntoIterator<Item = u64>) {
        self.container.put_integers(name, values.into_iter().collect());
    }

    /// The container of the file.
    pub(super) fn finish(mut self) -> Container {
        self.container.header = Json::Object(self.header);
        self.container
    }
}

/// A model file as it is taken apart.
#[derive(Debug)]
pub struct Reader<'c> {
    pub(super) container: &'c mut Container,
}

impl Reader<'_> {
    /// A key of the header; `null` and a missing one are the same.
    pub fn key<T: DeserializeOwned>(&self, name: &str) -> Result<T, Misfit> {
        let value = self.container.header.get(name).cloned().unwrap_or_default();
        serde_json::from_value(value)
            .map_err(|why| Misfit::without(format!("a complete header ({name}: {why})")))
    }

    /// The classes in the header.
    pub fn classes(&self) -> Result<Vec<Label>, Misfit> {
        let classes: Vec<Json> = self.key("classes")?;
        let labels = classes.iter().map(label_of_json).collect::<Option<Vec<Label>>>();
        labels.ok_or_else(|| Misfit::without("classes that are numbers or texts"))
    }

    /// Whether there is an array of this name.
    pub fn has(&self, name: &str) -> bool {
        self.container.arrays.contains_key(name)
    }

    /// Takes an array of numbers with its shape.
    pub fn reals(&mut self, name: &str) -> Option<(Vec<usize>, Vec<f64>)> {
        self.container.take_reals(name)
    }

    /// Takes an array of whole numbers; nothing where one is too large for its type.
    pub fn integers<T: TryFrom<u64>>(&mut self, name: &str) -> Option<Vec<T>> {
        self.container.take_integers(name)?.into_iter().map(|n| T::try_from(n).ok()).collect()
    }

    /// Takes an array of `dim` finite weights.
    pub fn weights(&mut self, name: &str, dim: Option<usize>) -> Result<Vec<f64>, Misfit> {
        let found = self.reals(name).map(|(_, values)| values);
        let found = found.filter(|w| Some(w.len()) == dim && w.iter().all(|w| w.is_finite()));
        found.ok_or_else(|| Misfit::without(format!("finite {name} that fit the model")))
    }
}
