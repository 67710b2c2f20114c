//! Values for options where there is no model that takes them: for the test problems of the command,
//! and for functions of users. What such runs take is listed once, in [`OF_METHODS`].

use super::common as of;
use super::{Key, OptionError, OptionSpec, Setting, Value};
use std::collections::BTreeMap;

/// The options of methods, and of when they stop, that a run without a model takes.
pub static OF_METHODS: &[&OptionSpec] = &[
    &of::MEMORY.spec,
    &of::SEED.spec,
    &of::LOCALITY.spec,
    &of::DIRECTION_TOL.spec,
    &of::DIRECTION_LIMIT.spec,
    &of::CURVATURE_FLOOR.spec,
    &of::SEARCH.spec,
    &of::WOLFE_DECREASE.spec,
    &of::WOLFE_CURVATURE.spec,
    &of::PROX_DISTANCE.spec,
    &of::PROX_ITERATIONS.spec,
    &of::TOL.spec,
    &of::ABS_TOL.spec,
    &of::MAX_EVALS.spec,
    &of::MAX_SECONDS.spec,
    &of::STOP_GRADIENT.spec,
    &of::STOP_CHANGE.spec,
    &of::STOP_IDLE.spec,
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
