//! Labels as Python hands them over: the classes in order, and for each row a class number or a set
//! of them.

use minorant::data::{Label, LabelRows, Labels};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

/// A class: a number or a text.
#[derive(FromPyObject, IntoPyObject)]
pub(crate) enum Class {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

impl From<Class> for Label {
    fn from(class: Class) -> Label {
        match class {
            Class::Number(number) => Label::Number(number),
            Class::Text(text) => Label::Text(text),
        }
    }
}

impl From<&Label> for Class {
    fn from(label: &Label) -> Class {
        match label {
            Label::Number(number) => Class::Number(*number),
            Label::Text(text) => Class::Text(text.clone()),
        }
    }
}

/// The classes of the rows.
#[derive(FromPyObject)]
pub(crate) enum Rows<'py> {
    /// One class number a row.
    Single(PyReadonlyArray1<'py, u32>),
    /// Where each row's class numbers start, and the class numbers.
    Sets(PyReadonlyArray1<'py, u64>, PyReadonlyArray1<'py, u32>),
}

/// The labels of a data set.
pub(crate) fn labels(classes: Vec<Class>, rows: Rows<'_>) -> PyResult<Labels> {
    let rows = match rows {
        Rows::Single(rows) => LabelRows::Single(rows.as_slice()?.to_vec()),
        Rows::Sets(starts, items) => LabelRows::Sets {
            starts: starts.as_slice()?.to_vec(),
            items: items.as_slice()?.to_vec(),
        },
    };
    Ok(Labels { classes: classes.into_iter().map(Label::from).collect(), rows })
}
