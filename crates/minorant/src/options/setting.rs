//! Rust types that the value of an option can be read as.

use super::{Named, Value};
use minorant_data::Label;
use std::path::PathBuf;

/// A type that an option's value can be read as and made of.
pub trait Setting: Sized {
    /// Reads a value, or the lack of one; nothing where the value is of another kind.
    fn of(value: Option<&Value>) -> Option<Self>;

    /// The value; nothing where none is given.
    fn value(self) -> Option<Value>;
}

impl<T: Named> Setting for T {
    fn of(value: Option<&Value>) -> Option<Self> {
        match value? {
            Value::Word(word) => T::named(word),
            _ => None,
        }
    }

    fn value(self) -> Option<Value> {
        Some(self.into())
    }
}

impl<T: Setting> Setting for Option<T> {
    fn of(value: Option<&Value>) -> Option<Self> {
        match value {
            None => Some(None),
            value => T::of(value).map(Some),
        }
    }

    fn value(self) -> Option<Value> {
        self.and_then(Setting::value)
    }
}

macro_rules! settings {
    ($($type:ty: $pattern:pat => $read:expr, $given:ident => $made:expr;)+) => {$(
        impl Setting for $type {
            fn of(value: Option<&Value>) -> Option<Self> {
                match value? {
                    $pattern => $read,
                    _ => None,
                }
            }

            fn value(self) -> Option<Value> {
                let $given = self;
                Some($made)
            }
        }
    )+};
}

settings! {
    bool: Value::Flag(is_set) => Some(*is_set), is_set => Value::Flag(is_set);
    f64: Value::Number(x) => Some(*x), x => Value::Number(x);
    u64: Value::Whole(n) => Some(*n), n => Value::Whole(n);
    usize: Value::Whole(n) => usize::try_from(*n).ok(), n => Value::Whole(n as u64);
    u32: Value::Whole(n) => u32::try_from(*n).ok(), n => Value::Whole(u64::from(n));
    String: Value::Word(word) => Some(word.clone()), word => Value::Word(word);
    PathBuf: Value::File(path) => Some(path.clone()), path => Value::File(path);
    Vec<f64>: Value::Numbers(all) => Some(all.clone()), all => Value::Numbers(all);
    Vec<u64>: Value::Wholes(all) => Some(all.clone()), all => Value::Wholes(all);
}

/// Makes a type that is written and read as a word, such as `count=5`, the value of an option.
macro_rules! spelled {
    ($type:ty) => {
        impl $crate::options::Setting for $type {
            fn of(value: Option<&$crate::options::Value>) -> Option<Self> {
                match value? {
                    $crate::options::Value::Word(word) => word.parse().ok(),
                    _ => None,
                }
            }

            fn value(self) -> Option<$crate::options::Value> {
                Some(self.into())
            }
        }

        impl From<$type> for $crate::options::Value {
            fn from(given: $type) -> Self {
                $crate::options::Value::Word(given.to_string())
            }
        }
    };
}

pub(crate) use spelled;

/// Pairs that are not given are an empty list.
impl Setting for Vec<(Label, f64)> {
    fn of(value: Option<&Value>) -> Option<Self> {
        match value {
            None => Some(Vec::new()),
            Some(Value::Pairs(pairs)) => Some(pairs.clone()),
            Some(_) => None,
        }
    }

    fn value(self) -> Option<Value> {
        Some(Value::Pairs(self)).filter(|value| *value != Value::Pairs(Vec::new()))
    }
}
