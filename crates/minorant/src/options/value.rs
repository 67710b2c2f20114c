//! The value of an option, free of where it came from: a command line, a Python call, a Rust
//! builder or a model file.

use minorant_data::Label;
use serde_json::{Value as Json, json};
use std::fmt;
use std::path::{Path, PathBuf};

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

/// The finite numbers of a text file, separated by blanks, commas, semicolons or line ends.
pub fn read_numbers(path: &Path) -> Result<Vec<f64>, String> {
    let name = path.display();
    let text = std::fs::read_to_string(path).map_err(|why| format!("{name}: {why}"))?;
    let mut numbers = Vec::new();
    for (line, content) in text.lines().enumerate() {
        let words = content.split(|c: char| c.is_whitespace() || c == ',' || c == ';');
        for word in words.filter(|word| !word.is_empty()) {
            let number = word.parse().ok().filter(|number: &f64| number.is_finite());
            let wrong = || format!("{name}:{}: expected a number, found '{word}'", line + 1);
            numbers.push(number.ok_or_else(wrong)?);
        }
    }
    Ok(numbers)
}

/// The bounds of columns in a CSV file: on each line the number of a column, its least and its greatest
/// value, as three numbers; an empty cell is no bound. A first line that does not begin with a number is
/// a heading.
pub(super) fn read_bounds(path: &Path) -> Result<Vec<f64>, String> {
    let name = path.display();
    let text = std::fs::read_to_string(path).map_err(|why| format!("{name}: {why}"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut bounds = Vec::new();
    for (line, content) in text.lines().enumerate() {
        let cells: Vec<&str> = content.split(',').map(str::trim).collect();
        let is_heading = line == 0 && cells[0].parse::<f64>().is_err() && !cells[0].is_empty();
        if content.trim().is_empty() || is_heading {
            continue;
        }
        let wrong = |found: &str| {
            let line = line + 1;
            format!(
                "{name}:{line}: expected a column, its least and its greatest value, found '{found}'"
            )
        };
        let [column, least, greatest] = cells[..] else { return Err(wrong(content.trim())) };
        let number = |cell: &str, none: Option<f64>| match (cell, none) {
            ("", Some(none)) => Ok(none),
            _ => cell.parse::<f64>().ok().filter(|x| !x.is_nan()).ok_or_else(|| wrong(cell)),
        };
        bounds.push(number(column, None)?);
        bounds.push(number(least, Some(f64::NEG_INFINITY))?);
        bounds.push(number(greatest, Some(f64::INFINITY))?);
    }
    Ok(bounds)
}
