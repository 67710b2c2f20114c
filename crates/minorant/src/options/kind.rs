//! What values an option can have: how a typed word becomes a value, and which values are in range.
//! A word that cannot be parsed is a mistake of the command line; a value out of range is a
//! sentence of the library, whoever hands it over.

use super::Value;
use minorant_data::{Label, read_bounds, read_numbers};
use std::path::Path;

/// The numbers that an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// Any finite number.
    Finite,
    /// Numbers above 0.
    Positive,
    /// Numbers of 0 or more.
    NotNegative,
    /// Numbers of 0 or more, infinity included.
    NotNegativeOrInfinite,
    /// Finite numbers below 1.
    BelowOne,
    /// Numbers above 0 and up to 1.
    Fraction,
    /// Numbers from 0 to below 1.
    Share,
    /// Numbers above 0 and below 1.
    Inside,
    /// Numbers from 0 to 1, both included.
    Ratio,
}

impl Range {
    /// Whether a number is in it, and what such numbers are called.
    fn look(self, x: f64) -> (bool, &'static str) {
        match self {
            Range::Finite => (x.is_finite(), "a finite number"),
            Range::Positive => (x > 0.0 && x.is_finite(), "a positive number"),
            Range::NotNegative => (x >= 0.0 && x.is_finite(), "a number of 0 or more"),
            Range::NotNegativeOrInfinite => (x >= 0.0, "a number of 0 or more"),
            Range::BelowOne => (x < 1.0 && x.is_finite(), "a finite number below 1"),
            Range::Fraction => (x > 0.0 && x <= 1.0, "a number above 0 and up to 1"),
            Range::Share => ((0.0..1.0).contains(&x), "a number from 0 to below 1"),
            Range::Inside => (x > 0.0 && x < 1.0, "a number above 0 and below 1"),
            Range::Ratio => ((0.0..=1.0).contains(&x), "a number from 0 to 1"),
        }
    }

    fn holds(self, x: f64) -> bool {
        self.look(x).0
    }

    fn in_words(self) -> &'static str {
        self.look(0.0).1
    }
}

/// What values an option has.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Given or not given.
    Flag,
    /// A whole number from the first to the second.
    Whole(u64, u64),
    /// A number.
    Number(Range),
    /// A number of bytes, such as 500M or 4G.
    Bytes,
    /// One of several words, each with its meaning.
    Choice(&'static [(&'static str, &'static str)]),
    /// One of the model's solvers.
    Solver,
    /// Numbers, separated by commas, in ascending order.
    Ascending(Range),
    /// Whole numbers of 1 or more, separated by commas.
    Wholes,
    /// Whole numbers and ranges of them, such as 0-7 or 8,9.
    Ranges,
    /// A label or name with a number of the given range behind an equals sign; several may be given.
    Pairs(Range),
    /// A word that the function accepts; of any other word the function says what it expected.
    Text(fn(&str) -> Result<(), String>),
    /// The numbers of a text file.
    NumbersOfFile,
    /// The bounds of a text file: for each column that has some its number, its least and its greatest
    /// value, as three numbers.
    BoundsOfFile,
    /// A file.
    File,
}

impl Kind {
    /// The value as this kind holds it: whole numbers serve where numbers are asked for.
    pub(crate) fn adapt(self, value: Value) -> Value {
        match (self, value) {
            (Kind::Number(_), Value::Whole(n)) => Value::Number(n as f64),
            (Kind::Whole(..), Value::Number(x)) if x >= 0.0 && x.fract() == 0.0 && x < 1e15 => {
                Value::Whole(x as u64)
            }
            (Kind::Wholes | Kind::Ranges, Value::Whole(n)) => Value::Wholes(vec![n]),
            (Kind::Ascending(_), Value::Number(x)) => Value::Numbers(vec![x]),
            (Kind::Ascending(_), Value::Whole(n)) => Value::Numbers(vec![n as f64]),
            (Kind::NumbersOfFile | Kind::BoundsOfFile | Kind::Ascending(_), Value::Wholes(all)) => {
                Value::Numbers(all.into_iter().map(|n| n as f64).collect())
            }
            (Kind::File, Value::Word(word)) => Value::File(word.into()),
            (_, value) => value,
        }
    }

    /// Whether the value is read from a text file whose name is typed.
    pub fn is_of_file(&self) -> bool {
        matches!(self, Kind::NumbersOfFile | Kind::BoundsOfFile)
    }

    /// Reads the value from the file that was typed, where it is read from one.
    pub fn read(&self, path: &Path) -> Result<Value, String> {
        match self {
            Kind::BoundsOfFile => read_bounds(path).map(Value::Numbers),
            _ => read_numbers(path).map(Value::Numbers),
        }
    }

    /// Whether the option stands alone, without a value.
    pub fn is_flag(&self) -> bool {
        matches!(self, Kind::Flag)
    }

    /// The value that a typed word spells.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let number = |text: &str| {
            text.parse::<f64>().map_err(|_| format!("expected a number, found '{text}'"))
        };
        match self {
            // A flag stands alone; its default is spelled out.
            Kind::Flag => Ok(Value::Flag(text != "false")),
            Kind::Whole(..) => text
                .parse()
                .map(Value::Whole)
                .map_err(|_| format!("expected a whole number of 0 or more, found '{text}'")),
            Kind::Number(_) => number(text).map(Value::Number),
            Kind::Bytes => parse_bytes(text).map(Value::Whole),
            Kind::Choice(choices) => {
                let (is_known, names) = among(choices, text);
                if is_known {
                    Ok(text.into())
                } else {
                    Err(format!("expected {names}, found '{text}'"))
                }
            }
            Kind::Solver | Kind::NumbersOfFile | Kind::BoundsOfFile => Ok(Value::Word(text.into())),
            Kind::Ascending(_) => {
                let each = text.split(',').map(|word| number(word.trim()));
                each.collect::<Result<_, _>>().map(Value::Numbers)
            }
            Kind::Wholes => {
                let wrong = || format!("expected whole numbers such as 300,300, found '{text}'");
                let each = text.split(',').map(|word| word.trim().parse().map_err(|_| wrong()));
                each.collect::<Result<_, _>>().map(Value::Wholes)
            }
            Kind::Ranges => parse_ranges(text).map(Value::Wholes),
            Kind::Pairs(_) => {
                let (name, value) = text.rsplit_once('=').ok_or_else(|| {
                    format!("expected NAME=NUMBER, such as -1=2.5, found '{text}'")
                })?;
                Ok(Value::Pairs(vec![(Label::parse(name), number(value)?)]))
            }
            Kind::Text(understands) => {
                understands(text)?;
                Ok(Value::Word(text.into()))
            }
            Kind::File => Ok(Value::File(text.into())),
        }
    }

    /// The end of the sentence "NAME must be …, not …" where a value is out of range.
    pub(crate) fn refusal(&self, value: &Value) -> Option<String> {
        let must =
            |be: &str, found: &dyn std::fmt::Display| Some(format!("must be {be}, not {found}"));
        match (self, value) {
            (Kind::Whole(least, most), Value::Whole(n)) if !(least..=most).contains(&n) => {
                match *most {
                    u64::MAX => must(&format!("at least {least}"), n),
                    most => must(&format!("from {least} to {most}"), n),
                }
            }
            (Kind::Bytes, Value::Whole(0)) => must("at least 1 byte", &0),
            (Kind::Number(range), Value::Number(x)) if !range.holds(*x) => {
                must(range.in_words(), x)
            }
            (Kind::Pairs(range), Value::Pairs(pairs)) => {
                let (name, x) = pairs.iter().find(|(_, x)| !range.holds(*x))?;
                Some(format!("of {name} must be {}, not {x}", range.in_words()))
            }
            (Kind::Ascending(range), Value::Numbers(all)) => {
                match all.iter().find(|x| !range.holds(**x)) {
                    Some(x) => must(range.in_words(), x),
                    None if all.is_empty() => Some("must be one number at least".into()),
                    None => {
                        let two = all.windows(2).find(|two| two[0] >= two[1])?;
                        let found = format!("{} before {}", two[0], two[1]);
                        must("numbers in ascending order", &found)
                    }
                }
            }
            (Kind::Wholes, Value::Wholes(each)) if each.is_empty() || each.contains(&0) => {
                Some("must be whole numbers of 1 or more".into())
            }
            (Kind::Choice(choices), Value::Word(word)) => {
                let (is_known, names) = among(choices, word);
                (!is_known).then(|| format!("must be {names}, not '{word}'"))
            }
            (Kind::Text(understands), Value::Word(word)) => {
                understands(word).err().map(|why| format!("cannot be understood: {why}"))
            }
            (Kind::BoundsOfFile, Value::Numbers(all)) => refusal_of_bounds(all),
            (Kind::Flag, Value::Flag(_))
            | (Kind::Whole(..) | Kind::Bytes, Value::Whole(_))
            | (Kind::Number(_), Value::Number(_))
            | (Kind::Wholes | Kind::Ranges, Value::Wholes(_))
            | (Kind::Solver, Value::Word(_))
            | (Kind::NumbersOfFile, Value::Numbers(_))
            | (Kind::File, Value::File(_)) => None,
            (kind, value) => must(kind.in_words(), value),
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Kind::Flag => "true or false",
            Kind::Whole(..) => "a whole number",
            Kind::Number(range) => range.in_words(),
            Kind::Bytes => "a number of bytes",
            Kind::Choice(_) | Kind::Solver | Kind::Text(_) => "a word",
            Kind::Ascending(_) => "numbers in ascending order",
            Kind::Wholes | Kind::Ranges => "whole numbers",
            Kind::Pairs(_) => "names with numbers",
            Kind::NumbersOfFile => "numbers",
            Kind::BoundsOfFile => "columns with their least and greatest values",
            Kind::File => "a file",
        }
    }
}

/// Whether a word is one of the choices, and which there are.
fn among(choices: &[(&str, &str)], word: &str) -> (bool, String) {
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    (names.contains(&word), names.join(" or "))
}

/// Why some numbers are no bounds of columns.
fn refusal_of_bounds(all: &[f64]) -> Option<String> {
    let (each, rest) = all.as_chunks::<3>();
    if !rest.is_empty() {
        return Some(format!("must be three numbers a column, not {} in all", all.len()));
    }
    let mut columns = std::collections::BTreeSet::new();
    each.iter().find_map(|&[column, least, greatest]| {
        let is_number = column >= 1.0 && column.fract() == 0.0 && column < 9e15;
        if !is_number {
            Some(format!("must have columns numbered from 1, not {column}"))
        } else if !(least <= greatest && least < f64::INFINITY && greatest > f64::NEG_INFINITY) {
            Some(format!("of column {column} must be in order, not {least} and {greatest}"))
        } else if !columns.insert(column as u64) {
            Some(format!("of column {column} must be given once, not twice"))
        } else {
            None
        }
    })
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        other => return Err(format!("expected K, M, G or T behind the number, found '{other}'")),
    };
    let number: f64 =
        digits.parse().map_err(|_| format!("expected a number of bytes, found '{text}'"))?;
    let bytes = number * (1u64 << shift) as f64;
    if bytes >= 0.0 && bytes < u64::MAX as f64 {
        Ok(bytes as u64)
    } else {
        Err(format!("expected a number of bytes that 64 bits can hold, found '{text}'"))
    }
}

fn parse_ranges(text: &str) -> Result<Vec<u64>, String> {
    let wrong = || format!("expected numbers such as 0-7 or 8,9, found '{text}'");
    let mut all = Vec::new();
    for range in text.split(',') {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
        let (from, to) = (number(from)?, number(to)?);
        if from > to || to - from > 10_000 {
            return Err(wrong());
        }
        all.extend(from..=to);
    }
    Ok(all)
}
