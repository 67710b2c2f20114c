//! The option table as command-line arguments: what is declared in the library becomes flags, their
//! help, and the settings of a model. A word that cannot be parsed is a mistake of the command line
//! (exit code 2); the library says whatever else is wrong with a value.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use minorant::family::{self, Entry, Settings};
use minorant::options::{Group, Kind, OptionError, OptionSpec, Value, read_numbers};
use std::marker::PhantomData;
use std::path::Path;
use std::sync::LazyLock;

/// Which options of the table a verb takes.
pub(crate) trait Taking: std::fmt::Debug + Clone + Send + Sync + 'static {
    /// Whether the verb takes this option.
    fn takes(spec: &OptionSpec) -> bool;
}

macro_rules! takings {
    ($($(#[$doc:meta])* $name:ident: |$spec:ident| $takes:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub(crate) struct $name;

        impl Taking for $name {
            fn takes($spec: &OptionSpec) -> bool {
                $takes
            }
        }
    )+};
}

/// What only a single training run leaves behind or starts from.
const OF_ONE_RUN: [&str; 6] = ["proof", "trace", "start", "checkpoint", "resume", "out"];

takings! {
    /// `train` takes every option.
    Training: |_spec| true;
    /// `compare` names its solvers itself and leaves only a report.
    Comparing: |spec| spec.name != "solver" && !OF_ONE_RUN.contains(&spec.name);
    /// `path` names its λ itself and leaves a report and a folder of models.
    Walking: |spec| !["lambda", "c"].contains(&spec.name) && !OF_ONE_RUN.contains(&spec.name);
    /// `tune` names its λ itself and leaves one model.
    Tuning: |spec| {
        spec.name == "out"
            || (!["lambda", "c", "report"].contains(&spec.name) && !OF_ONE_RUN.contains(&spec.name))
    };
    /// The verbs on fitted models take the options for reading data.
    Reading: |spec| spec.group == Group::Reading;
}

/// Options of the table as they were typed.
#[derive(Debug, Clone)]
pub(crate) struct TableArgs<T> {
    given: Vec<(&'static str, Vec<String>)>,
    of: PhantomData<T>,
}

/// A mistake of the command line, as opposed to a value out of range.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// A sentence of the library about an option, with the dashes that users type.
#[derive(Debug, thiserror::Error)]
#[error("--{0}")]
pub(crate) struct FlagError(OptionError);

/// Puts dashes before the option that an error of the library begins with.
pub(crate) fn with_dashes(error: OptionError) -> anyhow::Error {
    if error.is_usage {
        return UsageError(format!("--{error}")).into();
    }
    FlagError(error).into()
}

impl<T: Taking> TableArgs<T> {
    /// The settings of a model with what was typed.
    pub(crate) fn settings(&self, entry: Entry) -> anyhow::Result<Settings> {
        let mut settings = Settings::of(entry);
        for (name, words) in &self.given {
            for word in words {
                let kind = kind_for(entry, name);
                let value = kind.parse(word).map_err(|why| {
                    UsageError(format!("invalid value '{word}' for --{name}: {why}"))
                });
                // A file of numbers is only read for a model that takes it.
                let value = match (kind, value?) {
                    (Kind::NumbersOfFile, _) if entry.option(name).is_some() => {
                        Value::Numbers(read_numbers(Path::new(word)).map_err(anyhow::Error::msg)?)
                    }
                    (_, value) => value,
                };
                settings.set(name, value).map_err(with_dashes)?;
            }
        }
        settings.check().map_err(with_dashes)?;
        Ok(settings)
    }

    /// The last word that was typed for an option.
    pub(crate) fn word(&self, name: &str) -> Option<&str> {
        let (_, words) = self.given.iter().find(|(known, _)| *known == name)?;
        words.last().map(String::as_str)
    }

    /// The same options but for one.
    pub(crate) fn without(&self, name: &str) -> Self {
        let others = self.given.iter().filter(|(known, _)| *known != name);
        TableArgs { given: others.cloned().collect(), of: PhantomData }
    }
}

/// The kind of the model's option, or of another model's that has the name.
fn kind_for(entry: Entry, name: &str) -> Kind {
    let own = entry.option(name);
    let other = || family::models().iter().find_map(|entry| entry.option(name));
    own.or_else(other).map_or(Kind::Flag, |spec| spec.kind)
}

/// The name of an option with its declarations.
type Declared = (&'static str, Vec<&'static OptionSpec>);

/// All options by name, in the order of the help. Every verb asks for them, so they are put together
/// once.
static BY_NAME: LazyLock<Vec<Declared>> = LazyLock::new(|| {
    let mut found: Vec<Declared> = Vec::new();
    let groups = [Group::Problem, Group::Method, Group::Stopping, Group::Reading, Group::Output];
    for group in groups {
        for spec in family::options().iter().filter(|spec| spec.group == group) {
            match found.iter_mut().find(|(name, _)| *name == spec.name) {
                Some((_, specs)) => specs.push(spec),
                None => found.push((spec.name, vec![spec])),
            }
        }
    }
    found
});

/// The options that a verb takes.
fn by_name<T: Taking>() -> impl Iterator<Item = &'static Declared> {
    BY_NAME.iter().filter(|(_, specs)| T::takes(specs[0]))
}

/// The help of one declaration: its sentence, its choices, its default.
fn help(spec: &OptionSpec) -> String {
    let mut text = spec.help.to_string();
    if let Kind::Choice(choices) = spec.kind {
        let choices: Vec<String> =
            choices.iter().map(|(name, about)| format!("{name} ({about})")).collect();
        text += &format!(": {}", choices.join(", "));
    }
    if let Some(default) = spec.default_in_words().filter(|_| !spec.kind.is_flag()) {
        text += &format!(" [default: {default}]");
    }
    text
}

fn argument(name: &'static str, specs: &[&'static OptionSpec]) -> Arg {
    let spec = specs[0];
    // The help comes with `described` and `shown_for`, where somebody asks for it.
    let arg = Arg::new(name).long(name).help_heading(spec.group.heading());
    let arg = if name == "quiet" { arg.short('q') } else { arg };
    match spec.kind {
        Kind::Flag => arg.action(ArgAction::SetTrue),
        Kind::Pairs(_) => {
            arg.value_name(spec.value_name).action(ArgAction::Append).allow_hyphen_values(true)
        }
        Kind::Number(_) => arg.value_name(spec.value_name).allow_negative_numbers(true),
        _ => arg.value_name(spec.value_name),
    }
}

impl<T: Taking> Args for TableArgs<T> {
    fn augment_args(command: Command) -> Command {
        by_name::<T>().fold(command, |command, (name, specs)| command.arg(argument(name, specs)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: Taking> FromArgMatches for TableArgs<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Vec::new();
        for &(name, ref specs) in by_name::<T>() {
            let words: Vec<String> = match specs[0].kind {
                Kind::Flag if matches.get_flag(name) => vec![String::new()],
                Kind::Flag => Vec::new(),
                _ => matches.get_many::<String>(name).into_iter().flatten().cloned().collect(),
            };
            if !words.is_empty() {
                given.push((name, words));
            }
        }
        Ok(TableArgs { given, of: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// A verb's command with the help of all options of the table that it takes.
pub(crate) fn described(command: Command) -> Command {
    BY_NAME.iter().fold(command, |command, (name, specs)| {
        let takes = command.get_arguments().any(|arg| arg.get_id() == *name);
        if takes { command.mut_arg(name, |arg| arg.help(help(specs[0]))) } else { command }
    })
}

/// A verb's command as the help shows it for one model: only the options that it takes, with its
/// own defaults. Without a model it shows only the options that all models take.
pub(crate) fn shown_for(command: Command, entry: Option<Entry>) -> Command {
    let mut command = command;
    for &(name, _) in by_name::<Training>() {
        if !command.get_arguments().any(|arg| arg.get_id() == name) {
            continue;
        }
        let own = match entry {
            Some(entry) => entry.option(name),
            None => {
                let all = family::models().iter();
                let is_common = all.clone().all(|entry| entry.option(name).is_some());
                family::models()[0].option(name).filter(|_| is_common)
            }
        };
        command = command.mut_arg(name, |arg| match own {
            Some(spec) => arg.help(help(spec)),
            None => arg.hide(true),
        });
    }
    command
}
