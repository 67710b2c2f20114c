//! The option table as command-line arguments: what is declared in the library becomes flags, their
//! help, and the settings of a model. A word that cannot be parsed is a mistake of the command line
//! (exit code 2); the library says whatever else is wrong with a value.

use super::generate;
use anyhow::ensure;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use minorant::family::{self, Entry, Settings};
use minorant::options::{Given, Group, Kind, OF_METHODS, OptionError, OptionSpec};
use minorant::path;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The verbs that take options of the table.
pub(crate) const TRAIN: u8 = 0;
pub(crate) const COMPARE: u8 = 1;
pub(crate) const PATH: u8 = 2;
pub(crate) const TUNE: u8 = 3;
/// The verbs on fitted models, which take the options for reading data.
pub(crate) const READ: u8 = 4;
/// The verb that makes data up has a table of its own.
pub(crate) const GENERATE: u8 = 5;
/// The verb on test problems, which have no model.
pub(crate) const MINIMIZE: u8 = 6;

/// What only a single training run leaves behind or starts from.
const OF_ONE_RUN: [&str; 6] = ["proof", "trace", "start", "checkpoint", "resume", "out"];

/// Whether a verb takes an option.
fn takes(verb: u8, spec: &OptionSpec) -> bool {
    let name = spec.name;
    match verb {
        TRAIN => true,
        READ => spec.group == Group::Reading || name == "max-memory",
        MINIMIZE => OF_METHODS.iter().any(|known| known.name == name),
        // The solvers are named apart, and only a report is left behind.
        COMPARE => name != "solver" && !OF_ONE_RUN.contains(&name),
        // The range of λ stands for λ, and planes serve every λ with the penalty l2 only.
        PATH => {
            let is_fixed = ["lambda", "c", "penalty"].contains(&name);
            !is_fixed && OF_PATHS.contains(name) && !OF_ONE_RUN.contains(&name)
        }
        _ => name == "out" || (name != "report" && takes(PATH, spec)),
    }
}

/// The options of the models that have a path.
static OF_PATHS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    path::models().flat_map(|entry| entry.options()).map(|taken| taken.spec.name).collect()
});

/// The models that a verb takes.
pub(crate) fn models_of(verb: u8) -> Vec<Entry> {
    match verb {
        PATH | TUNE => path::models().collect(),
        _ => family::models().to_vec(),
    }
}

/// The model of this name, if the verb takes it, or a sentence that lists those that it takes.
pub(crate) fn parse_model<const VERB: u8>(name: &str) -> Result<Entry, String> {
    let entry = family::model(name)?;
    let names: Vec<&str> = models_of(VERB).iter().map(|entry| entry.model.name).collect();
    let fits = names.contains(&name).then_some(entry);
    let names = names.join(", ");
    fits.ok_or(format!("{name} has no path over lambda; those that have one are: {names}"))
}

/// Options that a table declares, as they were typed.
#[derive(Debug, Clone)]
pub(crate) struct TableArgs<const VERB: u8>(pub(super) ArgMatches);

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
    if error.is_usage { UsageError(format!("--{error}")).into() } else { FlagError(error).into() }
}

impl<const VERB: u8> TableArgs<VERB> {
    /// The settings of a model with what was typed.
    pub(crate) fn settings(&self, entry: Entry) -> anyhow::Result<Settings> {
        let mut settings = Settings::of(entry);
        for OptionSpec { name, kind, .. } in options_of(VERB) {
            let words: Vec<&str> = match kind {
                Kind::Flag => vec![""; usize::from(self.0.get_flag(name))],
                _ => self.0.get_many(name).into_iter().flatten().map(String::as_str).collect(),
            };
            for word in words {
                // Data that comes in one format only may be said to have that format all the same.
                if VERB == READ && *name == "format" && entry.option(name).is_none() {
                    ensure!(word == "npz", "data of this kind has the format npz, not {word}");
                    continue;
                }
                // Another model's option of the name tells how the word of a wrong one is read.
                let other = || family::models().iter().find_map(|entry| entry.option(name));
                let own = entry.option(name);
                let kind = own.or_else(other).map_or(Kind::Flag, |spec| spec.kind);
                let value = kind.parse(word).map_err(|why| {
                    UsageError(format!("invalid value '{word}' for --{name}: {why}"))
                });
                // A file of numbers is only read for a model that takes it.
                let value = match (kind, value?) {
                    (kind, _) if kind.is_of_file() && own.is_some() => {
                        kind.read(Path::new(word)).map_err(anyhow::Error::msg)?
                    }
                    (_, value) => value,
                };
                settings.set(name, value).map_err(with_dashes)?;
            }
        }
        settings.check().map_err(with_dashes)?;
        Ok(settings)
    }

    /// The files that options name, each with its option.
    pub(super) fn files(&self) -> Vec<(&'static str, PathBuf)> {
        let names_files =
            |spec: &&OptionSpec| matches!(spec.kind, Kind::File) || spec.kind.is_of_file();
        let words = |name: &'static str| {
            let words = self.0.get_many::<String>(name).into_iter().flatten();
            words.map(move |word| (name, PathBuf::from(word)))
        };
        options_of(VERB).filter(names_files).flat_map(|spec| words(spec.name)).collect()
    }
}

impl TableArgs<MINIMIZE> {
    /// What was typed, for a run without a model.
    pub(crate) fn given(&self) -> anyhow::Result<Given> {
        let mut given = Given::default();
        for OptionSpec { name, kind, .. } in options_of(MINIMIZE) {
            for word in self.0.get_many::<String>(name).into_iter().flatten() {
                let wrong = |why| UsageError(format!("invalid value '{word}' for --{name}: {why}"));
                given.set(name, kind.parse(word).map_err(wrong)?).map_err(with_dashes)?;
            }
        }
        Ok(given)
    }
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
fn options_of(verb: u8) -> impl Iterator<Item = &'static OptionSpec> {
    BY_NAME.iter().copied().filter(move |spec| takes(verb, spec))
}

/// The help of one declaration: its sentence, its choices, its default.
fn help(spec: &OptionSpec) -> String {
    match spec.default_in_words().filter(|_| !spec.kind.is_flag()) {
        Some(default) => format!("{} [default: {default}]", spec.meaning()),
        None => spec.meaning(),
    }
}

fn argument(spec: &'static OptionSpec) -> Arg {
    // The help comes with `shown_for`, where somebody asks for it.
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

impl<const VERB: u8> Args for TableArgs<VERB> {
    fn augment_args(command: Command) -> Command {
        match VERB {
            GENERATE => generate::declare(command),
            _ => command.args(options_of(VERB).map(argument)),
        }
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const VERB: u8> FromArgMatches for TableArgs<VERB> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(TableArgs(matches.clone()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0 = matches.clone();
        Ok(())
    }
}

/// A verb's command as the help shows it for some models: the options that all of them take, with the
/// defaults of the first, while the others are hidden. Without models it shows all options.
pub(crate) fn shown_for(command: Command, models: &[Entry]) -> Command {
    BY_NAME.iter().fold(command, |command, spec| {
        if !command.get_arguments().any(|arg| arg.get_id() == spec.name) {
            return command;
        }
        let mut own = models.iter().map(|entry| entry.option(spec.name));
        let is_common = own.clone().all(|own| own.is_some());
        let shown = own.next().unwrap_or(Some(spec)).filter(|_| is_common);
        command.mut_arg(spec.name, |arg| match shown {
            Some(spec) => arg.help(help(spec)),
            None => arg.hide(true),
        })
    })
}
