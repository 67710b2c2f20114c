//! What a user asks of a training run: a model, and values for some of its options. A value is
//! checked when it is set; what options ask of each other is checked before the run.

use super::{Entry, model, models_with, stop_rules};
use crate::options::common::{C, LAMBDA, MAX_MEMORY, PARTS, SOLVER, WEIGHTS};
use crate::options::{
    Asked, Effect, Key, Kind, Need, OptionError, OptionSpec, Setting, Taken, Value, in_words,
};
use crate::risk::cut::power_of_two;
use crate::solver::StopRules;
use crate::system::bytes_of;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A model with values for its options.
#[derive(Debug, Clone)]
pub struct Settings {
    entry: Entry,
    values: BTreeMap<&'static str, Value>,
    /// The first mistake that a builder made, which is told when the settings are used.
    mistake: Option<OptionError>,
}

/// How strong the regularizer is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lambda {
    /// λ itself.
    Lambda(f64),
    /// LIBLINEAR's C = 1/(λ Σ sᵢ).
    C(f64),
}

impl Asked for Settings {
    fn value_of<T: Setting>(&self, key: &Key<T>) -> T {
        self.get(key)
    }
}

impl Settings {
    /// The defaults of a model, by its name.
    pub fn new(name: &str) -> Result<Self, String> {
        Ok(Settings::of(model(name)?))
    }

    /// The defaults of a model.
    pub fn of(entry: Entry) -> Self {
        Settings { entry, values: BTreeMap::new(), mistake: None }
    }

    /// The model and its family.
    pub fn entry(&self) -> Entry {
        self.entry
    }

    /// The name of the model.
    pub fn model(&self) -> &'static str {
        self.entry.model.name
    }

    /// Sets an option by its name; refuses one that the model does not take, and a value out of
    /// range.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), OptionError> {
        let Some(spec) = self.entry.option(name) else { return Err(self.foreign(name)) };
        let value = spec.accept(value)?;
        if matches!(spec.kind, Kind::Solver) {
            self.check_solver(&value)?;
        }
        match (self.values.get_mut(spec.name), value) {
            (Some(Value::Pairs(all)), Value::Pairs(more)) => all.extend(more),
            (_, value) => {
                self.values.insert(spec.name, value);
            }
        }
        Ok(())
    }

    /// The same settings with an option set; a mistake is told when they are used.
    pub fn with<T: Setting>(mut self, key: &Key<T>, value: T) -> Self {
        self.put(key, value);
        self
    }

    /// Sets an option, or takes it back; a mistake is told when the settings are used.
    pub fn put<T: Setting>(&mut self, key: &Key<T>, value: T) {
        self.values.remove(key.spec.name);
        if let Some(value) = value.value() {
            self.put_value(key.spec.name, value);
        }
    }

    /// Sets an option by its name; a mistake is told when the settings are used.
    pub(crate) fn put_value(&mut self, name: &str, value: Value) {
        if let Err(mistake) = self.set(name, value) {
            self.mistake.get_or_insert(mistake);
        }
    }

    /// Whether a value was given.
    pub fn is_given(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// The value of an option, or its default.
    pub fn get<T: Setting>(&self, key: &Key<T>) -> T {
        key.read(self.values.get(key.spec.name))
    }

    /// The value of an option as it would be typed: given or by default.
    fn word(&self, name: &str) -> Option<String> {
        let given = self.values.get(name).map(|value| match value {
            Value::Word(word) => word.clone(),
            other => other.to_string(),
        });
        given.or_else(|| self.entry.option(name)?.default.map(String::from))
    }

    /// Refuses mistakes of a builder, and options that are of no use with the values of the others.
    pub fn check(&self) -> Result<(), OptionError> {
        if let Some(mistake) = &self.mistake {
            return Err(mistake.clone());
        }
        for name in self.values.keys() {
            let Some(spec) = self.entry.option(name) else { continue };
            spec.needs.iter().try_for_each(|need| self.check_need(name, need))?;
        }
        Ok(())
    }

    fn check_need(&self, name: &str, need: &Need) -> Result<(), OptionError> {
        let refuse = |what: String| Err(OptionError::new(name, what));
        match need {
            Need::Is(other, values) => {
                let found = self.word(other).unwrap_or_default();
                if values.contains(&found.as_str()) {
                    return Ok(());
                }
                let values: Vec<&str> = values.iter().copied().filter(|v| *v != "auto").collect();
                refuse(format!(
                    "goes with {other} {}, not with {other} {found}",
                    values.join(" or ")
                ))
            }
            Need::Given(other) if !self.is_given(other) => {
                refuse(format!("needs {other}, which is not given"))
            }
            Need::NotGiven(other) if self.is_given(other) => {
                refuse(format!("does not go together with {other}")).map_err(OptionError::of_usage)
            }
            Need::Given(_) | Need::NotGiven(_) => Ok(()),
        }
    }

    fn check_solver(&self, value: &Value) -> Result<(), OptionError> {
        let Value::Word(name) = value else { return Ok(()) };
        let solvers = self.entry.solvers();
        if solvers.contains(&name.as_str()) {
            return Ok(());
        }
        let (model, solvers) = (self.model(), solvers.join(", "));
        Err(OptionError::new(
            "solver",
            format!("'{name}' does not exist for {model}; its solvers are: {solvers}"),
        )
        .of_usage())
    }

    /// The refusal of an option that this model does not take.
    fn foreign(&self, name: &str) -> OptionError {
        let what = match &models_with(name)[..] {
            [] => "is not an option of any model".into(),
            others => format!("goes with {}, not with {}", in_words(others), self.model()),
        };
        OptionError::new(name, what)
    }

    /// λ for examples whose weights add up to `total`: as given, or that of C = 1.
    pub fn lambda(&self, total: f64) -> Result<f64, OptionError> {
        match (self.get(&LAMBDA), self.get(&C)) {
            (Some(lambda), _) => Ok(lambda),
            (None, Some(c)) if c > 0.0 => Ok(1.0 / (c * total)),
            (None, Some(c)) => {
                Err(OptionError::new("c", format!("must be a positive number, not {c}")))
            }
            (None, None) => Ok(1.0 / total),
        }
    }

    /// Sets λ in one of the two ways that there are.
    pub fn set_lambda(&mut self, lambda: Lambda) {
        self.put(&LAMBDA, None);
        self.put(&C, None);
        match lambda {
            Lambda::Lambda(lambda) => self.put(&LAMBDA, Some(lambda)),
            Lambda::C(c) => self.put(&C, Some(c)),
        }
    }

    /// When to stop.
    pub fn rules(&self) -> StopRules {
        StopRules { tol: self.tol(), ..stop_rules(self) }
    }

    /// The relative gap to stop at, whose default is the model's own.
    pub fn tol(&self) -> f64 {
        let default = || self.entry.option("tol")?.default_value();
        match self.values.get("tol").cloned().or_else(default) {
            Some(Value::Number(tol)) => tol,
            _ => 0.0,
        }
    }

    /// The name of the solver.
    pub fn solver(&self) -> String {
        self.get(&SOLVER)
    }

    /// Bytes for planes or kernels: as given, else a quarter of the machine's memory.
    pub fn max_bytes(&self) -> Option<u64> {
        self.get(&MAX_MEMORY).or_else(quarter_of_memory)
    }

    /// One weight for each example, where they are given.
    pub fn example_weights(&self) -> Option<Vec<f64>> {
        self.get(&WEIGHTS)
    }

    /// The file that an option names.
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        match self.values.get(name) {
            Some(Value::File(path)) => Some(path.clone()),
            _ => None,
        }
    }

    /// What is to be remarked on values that are taken otherwise than they were given.
    pub fn notes(&self) -> Vec<String> {
        let asked = self.entry.option(PARTS.spec.name).and_then(|_| self.get(&PARTS));
        let asked = asked.filter(|parts| !parts.is_power_of_two());
        let note = |parts| {
            let taken = power_of_two(parts);
            format!(
                "--parts {parts} is taken as {taken}: rows are cut into a power of two of parts"
            )
        };
        asked.map(note).into_iter().collect()
    }

    // What files and checkpoints hold.

    fn given_or_default(&self, spec: &OptionSpec) -> Option<Value> {
        self.values.get(spec.name).cloned().or_else(|| spec.default_value())
    }

    /// The values that a model file keeps, by their names there: all that the model depends on,
    /// defaults included.
    pub(crate) fn kept(&self) -> BTreeMap<String, Json> {
        let specs = self.entry.options().map(|taken| taken.spec);
        let kept = specs.filter(|spec| spec.is_kept()).map(|spec| {
            let value = self.given_or_default(spec);
            // A default that is of no use with the values of the others is no fact of the model.
            let is_of_use =
                |_: &Value| spec.needs.iter().all(|need| self.check_need(spec.name, need).is_ok());
            let value = value.filter(is_of_use);
            let none = if matches!(spec.kind, Kind::Pairs(_)) { json!([]) } else { Json::Null };
            (spec.stored_name(), value.and_then(|value| value.to_json()).unwrap_or(none))
        });
        kept.collect()
    }

    /// Takes up the values that a model file keeps, if the table has such.
    pub(super) fn take_kept(
        &mut self,
        header: &serde_json::Map<String, Json>,
    ) -> Result<(), OptionError> {
        for spec in self.entry.options().map(|taken| taken.spec) {
            let kept = header.get(&spec.stored_name()).filter(|_| spec.is_kept());
            let Some(value) = kept.and_then(Value::from_json) else { continue };
            // A default that nobody gave must not keep out what it does not go together with.
            let keeps_out = |taken: Taken| taken.spec.needs.contains(&Need::NotGiven(spec.name));
            let is_default = self.given_or_default(spec).as_ref() == Some(&value);
            if !(is_default && self.entry.options().any(keeps_out)) {
                self.set(spec.name, value)?;
            }
        }
        Ok(())
    }

    /// All that the iterates depend on besides the data, in one canonical line.
    pub(crate) fn of_iterates(&self) -> String {
        let mut words = vec![self.model().to_string()];
        for spec in self.entry.options().map(|taken| taken.spec) {
            if matches!(spec.effect, Effect::Model | Effect::Iterates) {
                let value = self.given_or_default(spec);
                words.extend(value.map(|value| format!("{} {value:?}", spec.name)));
            }
        }
        words.join("; ")
    }

    /// All values that were given, by name.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }
}

/// A quarter of the machine's memory in bytes, where the system tells it.
pub fn quarter_of_memory() -> Option<u64> {
    Some(bytes_of("/proc/meminfo", "MemTotal")? / 4)
}
