//! The value of an option, free of where it came from: a command line, a Python call, a Rust
//! builder or a model file.

use super::Named;
use minorant_data::Label;
use serde_json::{Value as Json, json};
use std::fmt;
use std::path::PathBuf;

/// The value of an option.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Given or not.
    Flag(bool),
    /// A whole number.
    Whole(u64),
    /// A number.
    Number(f64),
    /// A word.
    Word(String),
    /// Whole numbers.
    Wholes(Vec<u64>),
    /// Numbers, such as example weights.
    Numbers(Vec<f64>),
    /// Labels or names with a number each.
    Pairs(Vec<(Label, f64)>),
    /// A file.
    File(PathBuf),
}

/// A word, as it would be typed.
impl From<&str> for Value {
    fn from(word: &str) -> Self {
        Value::Word(word.into())
    }
}

impl From<String> for Value {
    fn from(word: String) -> Self {
        Value::Word(word)
    }
}

/// The name of a value that has one.
impl<T: Named> From<T> for Value {
    fn from(value: T) -> Self {
        value.name().into()
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, words: Vec<String>| f.write_str(&words.join(","));
        match self {
            Value::Flag(is_set) => write!(f, "{is_set}"),
            Value::Whole(n) => write!(f, "{n}"),
            Value::Number(x) => write!(f, "{x}"),
            Value::Word(word) => write!(f, "'{word}'"),
            Value::Wholes(all) => list(f, all.iter().map(u64::to_string).collect()),
            Value::Numbers(all) if all.len() <= 31 => {
                list(f, all.iter().map(f64::to_string).collect())
            }
            Value::Numbers(all) => write!(f, "{} numbers", all.len()),
            Value::Pairs(all) => list(f, all.iter().map(|(l, x)| format!("{l}={x}")).collect()),
            Value::File(path) => write!(f, "{}", path.display()),
        }
    }
}

impl Value {
    /// The value as model files hold it; nothing for values that a header does not hold.
    pub(crate) fn to_json(&self) -> Option<Json> {
        Some(match self {
            Value::Flag(is_set) => json!(is_set),
            Value::Whole(n) => json!(n),
            Value::Number(x) => json!(x),
            Value::Word(word) => json!(word),
            Value::Wholes(all) => json!(all),
            Value::Numbers(all) => json!(all),
            Value::Pairs(all) => {
                all.iter().map(|(label, x)| json!([label_json(label), x])).collect()
            }
            Value::File(_) => return None,
        })
    }

    /// The value that a model file holds.
    pub(crate) fn from_json(value: &Json) -> Option<Value> {
        Some(match value {
            Json::Bool(is_set) => Value::Flag(*is_set),
            Json::Number(n) => match n.as_u64() {
                Some(whole) => Value::Whole(whole),
                None => Value::Number(n.as_f64()?),
            },
            Json::String(word) => Value::Word(word.clone()),
            Json::Array(items) => {
                let wholes = items.iter().map(Json::as_u64).collect::<Option<Vec<u64>>>();
                let numbers = items.iter().map(Json::as_f64).collect::<Option<Vec<f64>>>();
                // An empty list is one of pairs: lists of numbers are never empty.
                match (wholes, numbers) {
                    (Some(wholes), _) if !wholes.is_empty() => Value::Wholes(wholes),
                    (_, Some(numbers)) if !numbers.is_empty() => Value::Numbers(numbers),
                    _ => Value::Pairs(items.iter().map(pair).collect::<Option<_>>()?),
                }
            }
            Json::Null | Json::Object(_) => return None,
        })
    }
}

fn pair(item: &Json) -> Option<(Label, f64)> {
    let [label, number] = &item.as_array()?[..] else { return None };
    Some((label_of_json(label)?, number.as_f64()?))
}

/// A label as JSON: a number or a text.
pub(crate) fn label_json(label: &Label) -> Json {
    match label {
        Label::Number(number) => json!(number),
        Label::Text(text) => json!(text),
    }
}

/// The label that JSON holds.
pub(crate) fn label_of_json(value: &Json) -> Option<Label> {
    match value {
        Json::Number(number) => number.as_f64().map(Label::Number),
        Json::String(text) => Some(Label::Text(text.clone())),
        _ => None,
    }
}
