//! Values for options where there is no model that takes them: for the test problems of the command,
//! and for functions of users. What such runs take is listed once, in [`OF_METHODS`].

use super::common::{
    ABS_TOL, CURVATURE_FLOOR, DIRECTION_LIMIT, DIRECTION_TOL, LOCALITY, MAX_EVALS, MAX_SECONDS,
    MEMORY, PROX_DISTANCE, PROX_ITERATIONS, SEARCH, SEED, STOP_CHANGE, STOP_GRADIENT, STOP_IDLE,
    TOL, WOLFE_CURVATURE, WOLFE_DECREASE,
};
use super::{Key, OptionError, OptionSpec, Setting, Value};
use std::collections::BTreeMap;

/// The options of methods, and of when they stop, that a run without a model takes.
pub static OF_METHODS: &[&OptionSpec] = &[
    &MEMORY.spec,
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
    &TOL.spec,
    &ABS_TOL.spec,
    &MAX_EVALS.spec,
    &MAX_SECONDS.spec,
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
        self.0.insert(spec.name, spec.accept(value)?);
        Ok(())
    }
}

impl Asked for Given {
    fn value_of<T: Setting>(&self, key: &Key<T>) -> T {
        key.read(self.0.get(key.spec.name))
    }
}
