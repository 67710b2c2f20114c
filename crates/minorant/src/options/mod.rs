//! The option table: every setting that a user can give to a training run is declared once, with
//! its name, meaning, default, range, and the models it belongs to. The command line, its help and
//! manual pages, Python's parameters and the Rust façade are drawn from these declarations. What an
//! option does to a model is the business of the model's family, which declares its own options;
//! the options that all families share stand in [`common`] and [`reading`].

pub mod common;
mod given;
mod kind;
mod named;
pub mod reading;
mod setting;
mod value;

pub use given::{Asked, Given, OF_METHODS};
pub use kind::{Kind, Range};
pub use named::Named;
pub(crate) use named::named;
pub use setting::Setting;
pub(crate) use setting::spelled;
pub use value::Value;
pub(crate) use value::{label_json, label_of_json};

use std::marker::PhantomData;

/// The heading under which the help lists an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// What is minimised.
    Problem,
    /// How it is minimised.
    Method,
    /// When a run ends.
    Stopping,
    /// How files become data.
    Reading,
    /// What a run leaves behind, and how it is watched.
    Output,
}

impl Group {
    /// The words of the heading.
    pub fn heading(self) -> &'static str {
        match self {
            Group::Problem => "Problem",
            Group::Method => "Method",
            Group::Stopping => "Stopping",
            Group::Reading => "Reading data",
            Group::Output => "Output",
        }
    }
}

/// What an option changes, which decides where its value is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The objective or the fitted model: the value is kept in the model file, and a checkpoint is
    /// only resumed under the same value.
    Model,
    /// The way to the answer: a checkpoint is only resumed under the same value.
    Iterates,
    /// How far a run goes; a resumed run may go further than the one before it.
    Extent,
    /// The data that is read, which its fingerprint stands for.
    Data,
    /// Threads and memory: how fast the answer comes, never which answer it is.
    Resources,
    /// Files and lines that are written, and where a run starts from.
    Files,
}

/// A condition without which an option is of no use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Need {
    /// Another option, given or by default, has one of these values.
    Is(&'static str, &'static [&'static str]),
    /// Another option is given.
    Given(&'static str),
    /// Another option is not given.
    NotGiven(&'static str),
}

/// The declaration of one option. Which models take it, their families say ([`Taken`]). Several
/// declarations may share a name where they belong to different models (`--loss` of the svm and of
/// segment-svm).
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    /// The name; users type it behind two dashes.
    pub name: &'static str,
    /// What stands for the value in the help.
    pub value_name: &'static str,
    /// What values there are.
    pub kind: Kind,
    /// The value where none is given, as it would be typed.
    pub default: Option<&'static str>,
    /// What happens where no value is given, if no single value stands for it.
    pub otherwise: &'static str,
    /// What the option means, in one sentence.
    pub help: &'static str,
    /// The heading of the help that it stands under.
    pub group: Group,
    /// What else must hold for it to be of use.
    pub needs: &'static [Need],
    /// What it changes.
    pub effect: Effect,
    /// The name in model files, if not the option's own with underscores.
    pub stored_as: &'static str,
    /// For the tests: a value, and a situation in which it matters.
    pub probe: Probe,
}

/// An option of the problem that the model depends on, and nothing else said of it yet.
pub const fn option(
    name: &'static str,
    value_name: &'static str,
    kind: Kind,
    help: &'static str,
) -> OptionSpec {
    OptionSpec {
        name,
        value_name,
        kind,
        help,
        default: None,
        otherwise: "",
        group: Group::Problem,
        needs: &[],
        effect: Effect::Model,
        stored_as: "",
        probe: Probe::NONE,
    }
}

/// Declares options as a table: what an option means is its documentation and its help in one; then
/// the type of its value, its name, what stands for the value in the help and which values there are;
/// then whatever else [`OptionSpec`] says of it.
macro_rules! options {
    ($($(#[doc = $help:literal])+ $vis:vis $key:ident: $type:ty =
        ($name:literal, $value_name:literal, $kind:expr) $(.$field:ident($($value:expr),*))*;)+) => {$(
        $(#[doc = $help])+
        $vis static $key: $crate::options::Key<$type> = $crate::options::option(
            $name,
            $value_name,
            $kind,
            concat!($($help),+).trim_ascii_start(),
        )$(.$field($($value),*))*.key();
    )+};
}
pub(crate) use options;

/// Methods that fill in further fields of a declaration, each named like its field.
macro_rules! further_fields {
    ($($(#[$doc:meta])* $field:ident: $type:ty;)+) => {
        impl OptionSpec {
            $(
                $(#[$doc])*
                pub const fn $field(self, $field: $type) -> Self {
                    OptionSpec { $field, ..self }
                }
            )+
        }
    };
}

further_fields! {
    /// With what happens where no value is given.
    otherwise: &'static str;
    /// Under another heading.
    group: Group;
    /// With what else must hold.
    needs: &'static [Need];
    /// With another effect.
    effect: Effect;
    /// Under another name in model files.
    stored_as: &'static str;
    /// With another sentence of help.
    help: &'static str;
}

impl OptionSpec {
    /// An option of the method, which the iterates depend on.
    pub const fn of_method(self) -> Self {
        self.group(Group::Method).effect(Effect::Iterates)
    }

    /// An option that says when a run ends.
    pub const fn of_stopping(self) -> Self {
        self.group(Group::Stopping).effect(Effect::Extent)
    }

    /// An option for reading data.
    pub const fn of_reading(self) -> Self {
        self.group(Group::Reading).effect(Effect::Data)
    }

    /// An option for what a run leaves behind.
    pub const fn of_output(self) -> Self {
        self.group(Group::Output).effect(Effect::Files)
    }

    /// With a value that matters on the model's usual data.
    pub const fn probe(self, value: &'static str) -> Self {
        OptionSpec { probe: Probe::value(value), ..self }
    }

    /// With a value that matters together with other options.
    pub const fn probe_with(self, value: &'static str, with: &'static [&'static str]) -> Self {
        OptionSpec { probe: Probe::with(value, with), ..self }
    }

    /// With a value that matters on other data.
    pub const fn probe_on(self, data: &'static str, value: &'static str) -> Self {
        OptionSpec { probe: Probe::on(data, value), ..self }
    }

    /// With a value where none is given, as it would be typed.
    pub const fn default(self, text: &'static str) -> Self {
        OptionSpec { default: Some(text), ..self }
    }

    /// The option with the Rust type of its value.
    pub const fn key<T>(self) -> Key<T> {
        Key { spec: self, of: PhantomData }
    }

    /// The name of the option in model files.
    pub fn stored_name(&self) -> String {
        match self.stored_as {
            "" => self.name.replace('-', "_"),
            name => name.into(),
        }
    }

    /// A value as the option holds it; refuses one that is out of range.
    pub(crate) fn accept(&self, value: Value) -> Result<Value, OptionError> {
        let value = self.kind.adapt(value);
        match self.kind.refusal(&value) {
            Some(what) => Err(OptionError::new(self.name, what)),
            None => Ok(value),
        }
    }

    /// The value where none is given.
    pub(crate) fn default_value(&self) -> Option<Value> {
        self.default.and_then(|text| self.kind.parse(text).ok())
    }

    /// Whether the header of a model file keeps the value. The form keeps arrays, beside its weights.
    pub(crate) fn is_kept(&self) -> bool {
        self.effect == Effect::Model && !self.kind.is_of_file()
    }

    /// What the option means, with its choices and what each of them stands for.
    pub fn meaning(&self) -> String {
        let Kind::Choice(choices) = self.kind else { return self.help.into() };
        let about = |(name, about): &(&str, &str)| format!("{name} ({about})");
        let choices: Vec<String> = choices.iter().map(about).collect();
        format!("{}: {}", self.help, choices.join(", "))
    }

    /// The option as programs read it that make documentation or checks of the table.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "value": self.value_name,
            "meaning": self.meaning(),
            "default": self.default,
            "otherwise": self.otherwise,
            "stored": (self.effect == Effect::Model).then(|| self.stored_name()),
        })
    }

    /// The default in words, for the help.
    pub fn default_in_words(&self) -> Option<&'static str> {
        self.default.or(Some(self.otherwise).filter(|words| !words.is_empty()))
    }
}

/// An option together with the Rust type of its value; an `Option` where there need not be one.
#[derive(Debug)]
pub struct Key<T: 'static> {
    /// The declaration.
    pub spec: OptionSpec,
    of: PhantomData<fn() -> T>,
}

impl<T: Setting + 'static> Key<T> {
    /// The value that was given, or the default.
    pub(crate) fn read(&self, given: Option<&Value>) -> T {
        let found = match given {
            Some(value) => T::of(Some(value)),
            None => T::of(self.spec.default_value().as_ref()),
        };
        found.unwrap_or_else(|| {
            unreachable!("the option {} has no value and no default", self.spec.name)
        })
    }
}

/// What is wrong with an option that was given: its name, and the rest of the sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{option} {what}")]
pub struct OptionError {
    /// The option's name, without dashes.
    pub option: String,
    /// The sentence that the name begins.
    pub what: String,
    /// Whether this is a mistake of the command line rather than a value out of range: a solver that
    /// the model does not have, or two options of which only one can be given.
    pub is_usage: bool,
}

impl OptionError {
    /// The sentence "`option` `what`".
    pub fn new(option: &str, what: impl Into<String>) -> Self {
        OptionError { option: option.into(), what: what.into(), is_usage: false }
    }

    /// The same error, as a mistake of the command line.
    pub fn of_usage(self) -> Self {
        OptionError { is_usage: true, ..self }
    }
}

/// An option that models of a family take.
#[derive(Debug, Clone, Copy)]
pub struct Taken {
    /// The option.
    pub spec: &'static OptionSpec,
    /// Those of the family's models that take it; all of them where the list is empty.
    pub models: &'static [&'static str],
    /// A situation in which the option matters to these models, if not the option's own.
    pub probe: Option<Probe>,
}

impl Taken {
    /// An option that all models of a family take.
    pub const fn by_all(spec: &'static OptionSpec) -> Self {
        Taken { spec, models: &[], probe: None }
    }

    /// An option that some models of a family take.
    pub const fn by(models: &'static [&'static str], spec: &'static OptionSpec) -> Self {
        Taken { spec, models, probe: None }
    }

    /// The same option, with a situation of its own in which it matters.
    pub const fn probed(self, probe: Probe) -> Self {
        Taken { probe: Some(probe), ..self }
    }
}

/// For the tests, which try every option with every model: a situation in which an option matters.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    /// The value, as typed; `{FILE}` stands for a file that the tests make for the option.
    pub value: &'static str,
    /// What else is typed, also in the run without the option that this one is compared with.
    pub with: &'static [&'static str],
    /// The data of the run, by the name that the tests know it by; the model's usual data where it
    /// is empty.
    pub data: &'static str,
}

impl Probe {
    /// Just the option, without a value, on the model's usual data.
    pub const NONE: Probe = Probe { value: "", with: &[], data: "" };

    /// A value on the model's usual data.
    pub const fn value(value: &'static str) -> Probe {
        Probe { value, ..Probe::NONE }
    }

    /// A value together with other options.
    pub const fn with(value: &'static str, with: &'static [&'static str]) -> Probe {
        Probe { value, with, ..Probe::NONE }
    }

    /// A value on other data.
    pub const fn on(data: &'static str, value: &'static str) -> Probe {
        Probe { value, data, ..Probe::NONE }
    }
}

/// A list in words: "a", "a and b", "a, b and c".
pub fn in_words<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_string(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}
