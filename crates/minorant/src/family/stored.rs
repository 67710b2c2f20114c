//! How forms and model files speak with each other: keys of the header and named arrays, put in one by
//! one and taken out one by one. What is missing or does not fit is a [`Misfit`], before which the error
//! puts the file's name.

use super::Misfit;
use crate::container::Container;
use crate::options::{label_json, label_of_json};
use minorant_data::Label;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

impl Container {
    /// Puts a key into the header.
    pub fn put_key(&mut self, name: &str, value: impl Serialize) {
        if let Json::Object(header) = &mut self.header {
            // Keys are plain structures of ours; turning them into JSON cannot fail.
            header.insert(name.into(), serde_json::to_value(value).unwrap_or_default());
        }
    }

    /// Puts the classes into the header.
    pub fn put_classes(&mut self, classes: &[Label]) {
        self.put_key("classes", classes.iter().map(label_json).collect::<Vec<_>>());
    }

    /// Puts in a list of numbers.
    pub fn put_list(&mut self, name: &str, values: &[f64]) {
        self.put_reals(name, &[values.len()], values.to_vec());
    }

    /// A key of the header; `null` and a missing one are the same.
    pub fn key<T: DeserializeOwned>(&self, name: &str) -> Result<T, Misfit> {
        let value = self.header.get(name).cloned().unwrap_or_default();
        serde_json::from_value(value)
            .map_err(|why| Misfit::without(format!("a complete header ({name}: {why})")))
    }

    /// The classes in the header.
    pub fn classes(&self) -> Result<Vec<Label>, Misfit> {
        let classes: Vec<Json> = self.key("classes")?;
        let labels = classes.iter().map(label_of_json).collect::<Option<Vec<Label>>>();
        labels.ok_or_else(|| Misfit::without("classes that are numbers or texts"))
    }

    /// Takes an array of whole numbers; nothing where one is too large for its type.
    pub fn integers<T: TryFrom<u64>>(&mut self, name: &str) -> Option<Vec<T>> {
        self.take_integers(name)?.into_iter().map(|n| T::try_from(n).ok()).collect()
    }

    /// Takes an array of `dim` finite weights.
    pub fn weights(&mut self, name: &str, dim: Option<usize>) -> Result<Vec<f64>, Misfit> {
        let found = self.take_reals(name).map(|(_, values)| values);
        let found = found.filter(|w| Some(w.len()) == dim && w.iter().all(|w| w.is_finite()));
        found.ok_or_else(|| Misfit::without(format!("finite {name} that fit the model")))
    }
}
