//! Parameters of estimators as settings of the library: every value is handed to the library's
//! option table, which knows the ranges and says what is wrong.

use crate::data::label;
use crate::model::parsed;
use crate::train::refuse;
use minorant::family::{Settings, model};
use minorant::options::{self, Kind, Need, OF_METHODS, OptionSpec, Value};
use numpy::PyReadonlyArray1;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde_json::Value as Json;

create_exception!(
    _core,
    OptionError,
    PyValueError,
    "An option and what is wrong with it; estimators say it of their parameter."
);

/// The exception that tells why an option is refused.
pub(crate) fn refused(error: options::OptionError) -> PyErr {
    OptionError::new_err((error.option.replace('-', "_"), error.what))
}

/// The options of a model (or of methods, for runs without one) by name: their meaning and default, and
/// the name in headers of model files, where files keep the value.
#[pyfunction(name = "options")]
pub(crate) fn options_of<'py>(
    py: Python<'py>,
    model_name: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let of = |spec: &OptionSpec| (spec.name.replace('-', "_"), spec.to_json());
    let table: Json = match model_name {
        Some(name) => model(name).or_else(refuse)?.options().map(|taken| of(taken.spec)).collect(),
        None => OF_METHODS.iter().map(|spec| of(spec)).collect(),
    };
    parsed(py, &table)
}

/// The settings of a model with the options of a dictionary. Estimators hand over all their parameters
/// at once, so a parameter that is of no use with the values of the others is left out.
pub(crate) fn settings(model_name: &str, options: &Bound<'_, PyDict>) -> PyResult<Settings> {
    let mut settings = Settings::new(model_name).or_else(refuse)?;
    let entry = settings.entry();
    let mut dependent = Vec::new();
    for (name, object) in options {
        let name = name.extract::<String>()?.replace('_', "-");
        let spec = entry.option(&name);
        let Some(value) = value(&object, spec.map(|spec| spec.kind))? else { continue };
        if spec.is_some_and(|spec| spec.needs.iter().any(|need| matches!(need, Need::Is(..)))) {
            dependent.push((name, value));
        } else {
            settings.set(&name, value).map_err(refused)?;
        }
    }
    for (name, value) in dependent {
        let mut with = settings.clone();
        with.set(&name, value).map_err(refused)?;
        if with.check().is_ok() {
            settings = with;
        }
    }
    Ok(settings)
}

/// A Python object as the value of an option of methods; nothing for None.
pub(crate) fn value_of_method(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    let spec = OF_METHODS.iter().find(|spec| spec.name == name);
    value(object, spec.map(|spec| spec.kind))
}

/// A Python object as the value of an option; nothing for None.
fn value(object: &Bound<'_, PyAny>, kind: Option<Kind>) -> PyResult<Option<Value>> {
    let is_word = |kind: Kind| matches!(kind, Kind::Choice(_) | Kind::Solver);
    Ok(Some(if object.is_none() {
        return Ok(None);
    } else if let Ok(text) = object.cast::<PyString>() {
        let text = text.to_string();
        // Python's words have underscores where those of the command have dashes.
        Value::Word(if kind.is_some_and(is_word) { text.replace('_', "-") } else { text })
    } else if let Ok(numbers) = object.extract::<PyReadonlyArray1<'_, f64>>() {
        Value::Numbers(numbers.as_slice()?.to_vec())
    } else if let Ok(is_set) = object.extract::<bool>() {
        Value::Flag(is_set)
    } else if let Ok(whole) = object.extract::<u64>() {
        Value::Whole(whole)
    } else if let Ok(number) = object.extract::<f64>() {
        Value::Number(number)
    } else if let Ok(wholes) = object.extract::<Vec<u64>>() {
        Value::Wholes(wholes)
    } else if let Ok(numbers) = object.extract::<Vec<f64>>() {
        Value::Numbers(numbers)
    } else if let Ok(pairs) = object.extract::<Vec<(Bound<'_, PyAny>, f64)>>() {
        let pair = |(name, x): (Bound<'_, PyAny>, f64)| Ok((label(&name)?, x));
        Value::Pairs(pairs.into_iter().map(pair).collect::<PyResult<_>>()?)
    } else {
        // No option has such values: the table says what it expects instead.
        Value::Word(object.repr()?.to_string())
    }))
}
