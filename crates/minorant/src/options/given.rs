//! Values for options where there is no model that takes them: for the test problems of the command,
//! and for functions of users. What such runs take is listed once, in [`OF_METHODS`].

use super::common::{
    CURVATURE_FLOOR, DIRECTION_LIMIT, DIRECTION_TOL, LOCALITY, PROX_DISTANCE, PROX_ITERATIONS,
    SEARCH, SEED, STOP_CHANGE, STOP_GRADIENT, STOP_IDLE, WOLFE_CURVATURE, WOLFE_DECREASE,
};
use super::{Key, OptionError, OptionSpec, Setting, Value};
use std::collections::BTreeMap;

/// The options of methods that a run without a model takes.
pub static OF_METHODS: &[&OptionSpec] = &[
    &SEED.spec,
    &LOCALITY.spec,
    &DIRECTION_TOL.spec,
    &DIRECTION_LIMIT.spec,
    &CURVATURE_FLOOR.spec,
    &SEARCH.spec,
    &WOLFE_DECREASE.spec,
    &WOLFE_CURVATURE.spec,
    &PROX_DISTANCE.spec,
    &PROX_ITERATIONS.spec,
    &STOP_GRADIENT.spec,
    &STOP_CHANGE.spec,
    &STOP_IDLE.spec,
];

/// Whoever has values for options.
pub trait Asked {
    /// The value of an option, or its default.
    fn value_of<T: Setting>(&self, key: &Key<T>) -> T;
}

/// Values for some of [`OF_METHODS`].
#[derive(Debug, Clone, Default)]
pub struct Given(BTreeMap<&'static str, Value>);

impl Given {
    /// Sets an option by its name; refuses what is out of range.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), OptionError> {
        let Some(spec) = OF_METHODS.iter().find(|spec| spec.name == name) else {
            return Err(OptionError::new(name, "is not an option of methods"));
        };
        let value = spec.kind.adapt(value);
        if let Some(what) = spec.kind.refusal(&value) {
            return Err(OptionError::new(name, what));
        }
        self.0.insert(spec.name, value);
        Ok(())
    }
}

impl Asked for Given {
    fn value_of<T: Setting>(&self, key: &Key<T>) -> T {
        let given = self.0.get(key.spec.name).and_then(|value| T::of(Some(value)));
        given.or_else(|| T::of(key.spec.default_value().as_ref())).unwrap_or_else(|| {
            unreachable!("the option {} has no value and no default", key.spec.name)
        })
    }
}
