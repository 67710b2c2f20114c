//! The option table as command-line arguments: what is declared in the library becomes flags, their
//! help, and the settings of a model. A word that cannot be parsed is a mistake of the command line
//! (exit code 2); the library says whatever else is wrong with a value.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use minorant::family::{self, Entry, Settings};
use minorant::options::{Group, Kind, OptionError, OptionSpec, Value, read_numbers};
use minorant::path;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::LazyLock;

/// What of the table a verb takes.
pub(crate) trait Taking: std::fmt::Debug + Clone + Send + Sync + 'static {
    /// Whether the verb takes this option.
    fn takes(spec: &OptionSpec) -> bool;

    /// The model of this name, if the verb takes it, or a sentence that lists those that it takes.
    fn model(name: &str) -> Result<Entry, String> {
        family::model(name)
    }
}

/// The verbs on fitted models take the options for reading data.
#[derive(Debug, Clone)]
pub(crate) struct Reading;

/// `train` takes every option.
#[derive(Debug, Clone)]
pub(crate) struct Training;

/// `compare` names its solvers itself and leaves only a report.
#[derive(Debug, Clone)]
pub(crate) struct Comparing;

/// `path` names its λ itself and leaves a report and a folder of models.
#[derive(Debug, Clone)]
pub(crate) struct Walking;

/// `tune` names its λ itself and leaves one model.
#[derive(Debug, Clone)]
pub(crate) struct Tuning;

/// What only a single training run leaves behind or starts from.
const OF_ONE_RUN: [&str; 6] = ["proof", "trace", "start", "checkpoint", "resume", "out"];

impl Taking for Reading {
    fn takes(spec: &OptionSpec) -> bool {
        spec.group == Group::Reading
    }
}

impl Taking for Training {
    fn takes(_spec: &OptionSpec) -> bool {
        true
    }
}

impl Taking for Comparing {
    fn takes(spec: &OptionSpec) -> bool {
        spec.name != "solver" && !OF_ONE_RUN.contains(&spec.name)
    }
}

/// The options of the models that have a path.
static OF_PATHS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    path::models().flat_map(|entry| entry.options()).map(|taken| taken.spec.name).collect()
});

impl Taking for Walking {
    fn takes(spec: &OptionSpec) -> bool {
        // The range of λ stands for λ, and planes serve every λ with the penalty l2 only.
        let is_fixed = ["lambda", "c", "penalty"].contains(&spec.name);
        !is_fixed && !OF_ONE_RUN.contains(&spec.name) && OF_PATHS.contains(&spec.name)
    }

    fn model(name: &str) -> Result<Entry, String> {
        let entry = family::model(name)?;
        let names: Vec<&str> = path::models().map(|entry| entry.model.name).collect();
        match names.contains(&name) {
            true => Ok(entry),
            false => Err(format!(
                "{name} has no path over lambda; those that have one are: {}",
                names.join(", ")
            )),
        }
    }
}

impl Taking for Tuning {
    fn takes(spec: &OptionSpec) -> bool {
        spec.name == "out" || (spec.name != "report" && Walking::takes(spec))
    }

    fn model(name: &str) -> Result<Entry, String> {
        Walking::model(name)
    }
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

/// All options in the order of the help, each name once. Every verb asks for them, so they are put
/// together once.
static BY_NAME: LazyLock<Vec<&'static OptionSpec>> = LazyLock::new(|| {
    let mut found: Vec<&'static OptionSpec> = Vec::new();
    let groups = [Group::Problem, Group::Method, Group::Stopping, Group::Reading, Group::Output];
    for group in groups {
        for spec in family::options().iter().filter(|spec| spec.group == group) {
            if !found.iter().any(|known| known.name == spec.name) {
                found.push(spec);
            }
        }
    }
    found
});

/// The options that a verb takes.
fn by_name<T: Taking>() -> impl Iterator<Item = &'static OptionSpec> {
    BY_NAME.iter().copied().filter(|spec| T::takes(spec))
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

fn argument(spec: &'static OptionSpec) -> Arg {
    // The help comes with `described` and `shown_for`, where somebody asks for it.
    let arg = Arg::new(spec.name).long(spec.name).help_heading(spec.group.heading());
    let arg = if spec.name == "quiet" { arg.short('q') } else { arg };
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
        command.args(by_name::<T>().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: Taking> FromArgMatches for TableArgs<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = by_name::<T>().map(|spec| {
            let words = match spec.kind {
                Kind::Flag => vec![String::new(); usize::from(matches.get_flag(spec.name))],
                _ => matches.get_many(spec.name).into_iter().flatten().cloned().collect(),
            };
            (spec.name, words)
        });
        let given = given.filter(|(_, words)| !words.is_empty()).collect();
        Ok(TableArgs { given, of: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// A verb's command whose options of the table have the help of what `spec` finds by their names;
/// those that it does not find are hidden.
fn with_help(
    command: Command,
    spec: impl Fn(&'static OptionSpec) -> Option<&'static OptionSpec>,
) -> Command {
    BY_NAME.iter().fold(command, |command, known| {
        if !command.get_arguments().any(|arg| arg.get_id() == known.name) {
            return command;
        }
        command.mut_arg(known.name, |arg| match spec(known) {
            Some(spec) => arg.help(help(spec)),
            None => arg.hide(true),
        })
    })
}

/// A verb's command with the help of all options of the table that it takes.
pub(crate) fn described(command: Command) -> Command {
    with_help(command, Some)
}

/// A verb's command as the help shows it for one model: only the options that it takes, with its
/// own defaults. Without a model it shows only the options that all `models` take.
pub(crate) fn shown_for(command: Command, entry: Option<Entry>, models: &[Entry]) -> Command {
    with_help(command, |spec| match entry {
        Some(entry) => entry.option(spec.name),
        None => {
            let is_common = models.iter().all(|entry| entry.option(spec.name).is_some());
            models[0].option(spec.name).filter(|_| is_common)
        }
    })
}
