//! Model families: each says once what it is called, what data it reads, which options it has,
//! which solvers fit, how it makes a problem, what its fitted form holds, how that predicts, is
//! evaluated and audited. Everything else (reading, seeds, checkpoints, hold-outs, reports, model
//! files, proofs) stands once, in the files beside this one. The command, Python and the Rust
//! façade ask [`models`] and know no family by name.

mod begin;
pub mod builder;
pub mod chain;
mod classes;
mod data;
mod evaluation;
mod facts;
mod fitted;
mod form;
pub mod hmm;
mod hold_out;
pub mod image;
pub mod kernel;
pub mod linear;
mod mean;
mod memory;
pub mod neuro;
pub(crate) mod penalty;
mod predictions;
mod proof_arrays;
mod report;
pub mod sequence;
mod settings;
mod solvers;
mod stored;
mod streaming;
mod tokens;
mod walk;

pub use classes::ClassCounts;
pub use data::{
    Data, DataKind, OwnedData, Purpose, Reading, options_of_rows, options_of_sequences, read,
    read_training, read_validation, weights_in,
};
pub use evaluation::{Evaluation, Measure, Style};
pub use facts::Facts;
pub use fitted::{FittedModel, PROOF_BYTES};
pub use form::{Audited, Description, Form, label_in_output, setting_in_words};
pub use hold_out::HeldOut;
pub use predictions::{Numbers, Outputs, Predictions, Wanted, ignored_entries};
pub use report::TrainReport;
pub use settings::{Lambda, Settings, quarter_of_memory};
pub use streaming::Streaming;
pub use walk::{Context, TrainError, method_options, stop_rules, train};

pub(crate) use memory::{check_size, left_for_planes};
pub(crate) use streaming::keep_for_training;
pub(crate) use walk::{Answer, Asked, Walk, refuse};

use crate::container::Container;
use crate::options::{OptionSpec, Probe, Taken};
use std::sync::LazyLock;

/// A model that can be trained, by the name that users type.
#[derive(Debug)]
pub struct Model {
    /// The name.
    pub name: &'static str,
    /// What it is, in a few words for lists.
    pub about: &'static str,
    /// Whether its problem is convex, so that an answer can have a proof.
    pub is_convex: bool,
    /// Whether labels are numbers to be met instead of classes.
    pub takes_targets: bool,
    /// Data and options of an example for the help.
    pub example: &'static str,
}

/// A kind of models with the same data, options, solvers and fitted form.
#[derive(Debug)]
pub struct Family {
    /// Its models.
    pub models: &'static [Model],
    /// The options of its models, as lists that families may share.
    pub options: &'static [&'static [Taken]],
    /// The names of the solvers that a model has, `auto` first.
    pub solvers: fn(&Model) -> Vec<&'static str>,
    /// What data a model is trained on.
    pub data: fn(&Settings) -> DataKind,
    /// What its models predict.
    pub offers: &'static [Wanted],
    /// Trains: from data to an answer. Settings were checked against the option table.
    pub fit: fn(Data<'_>, &mut Walk<'_>) -> Result<Answer, TrainError>,
    /// Start weights from a model that was fitted before, where the family's models take some.
    pub start_from: Option<StartFrom>,
    /// The fitted form that a model file holds beside the facts.
    pub load: fn(&mut Facts, &mut Container) -> Loaded,
}

/// Makes start weights of a fitted model, for training on the data under the settings; nothing of a
/// model of another family.
pub type StartFrom = fn(&FittedModel, Data<'_>, &Settings) -> Result<Option<Vec<f64>>, TrainError>;

/// A form that was read from a model file, or what the file should hold and does not.
pub type Loaded = Result<Box<dyn Form>, Misfit>;

/// What a model file should hold and does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit(pub String);

impl Misfit {
    /// The refusal of a file that lacks what was expected.
    pub fn without(expected: impl Into<String>) -> Self {
        Misfit(expected.into())
    }
}

/// The families, in the order in which their models are listed.
static FAMILIES: [&Family; 6] = [
    &linear::FAMILY,
    &kernel::FAMILY,
    &chain::FAMILY,
    &neuro::FAMILY,
    &image::FAMILY,
    &hmm::FAMILY,
];

/// A model with its family and everything that the option table says of it.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The model.
    pub model: &'static Model,
    /// Its family.
    pub family: &'static Family,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Entry").field(&self.model.name).finish()
    }
}

impl Entry {
    /// The options that the model takes.
    pub fn options(&self) -> impl Iterator<Item = Taken> + use<> {
        let name = self.model.name;
        let all = self.family.options.iter().flat_map(|list| list.iter().copied());
        all.filter(move |taken| taken.models.is_empty() || taken.models.contains(&name))
    }

    /// The option of this name that the model takes.
    pub fn option(&self, name: &str) -> Option<&'static OptionSpec> {
        self.options().find(|taken| taken.spec.name == name).map(|taken| taken.spec)
    }

    /// The situation in which an option matters to the model.
    pub fn probe(&self, name: &str) -> Option<Probe> {
        let taken = self.options().find(|taken| taken.spec.name == name)?;
        Some(taken.probe.unwrap_or(taken.spec.probe))
    }

    /// The names of the model's solvers.
    pub fn solvers(&self) -> Vec<&'static str> {
        (self.family.solvers)(self.model)
    }

    /// What data the model is trained on under some settings.
    pub fn data(&self, settings: &Settings) -> DataKind {
        (self.family.data)(settings)
    }

    /// Start weights from a model that was fitted before, where the model takes some.
    pub fn start_from(
        &self,
        model: &FittedModel,
        data: Data<'_>,
        settings: &Settings,
    ) -> Result<Vec<f64>, TrainError> {
        let start = match self.family.start_from {
            Some(start_from) => start_from(model, data, settings)?,
            None => None,
        };
        let (found, name) = (model.name(), self.model.name);
        let sentence = || format!("{name} does not start from weights of {found}").into();
        start.ok_or_else(sentence)
    }
}

static MODELS: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let of =
        |family: &'static Family| family.models.iter().map(move |model| Entry { model, family });
    FAMILIES.into_iter().flat_map(of).collect()
});

/// All models.
pub fn models() -> &'static [Entry] {
    &MODELS
}

/// The model of this name, or a sentence that lists the models there are.
pub fn model(name: &str) -> Result<Entry, String> {
    let found = models().iter().copied().find(|entry| entry.model.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = models().iter().map(|entry| entry.model.name).collect();
        format!("there is no model '{name}'; the models are: {}", names.join(", "))
    })
}

/// The first model that is trained on data of a kind; it reads such data as all of them do.
pub fn model_for(kind: DataKind) -> Entry {
    let takes = |entry: &&Entry| {
        let found = entry.data(&Settings::of(**entry));
        std::mem::discriminant(&found) == std::mem::discriminant(&kind)
    };
    *models().iter().find(takes).unwrap_or(&models()[0])
}

/// The names of the models that take an option.
pub fn models_with(option: &str) -> Vec<&'static str> {
    let takes = |entry: &&Entry| entry.option(option).is_some();
    models().iter().filter(takes).map(|entry| entry.model.name).collect()
}

static OPTIONS: LazyLock<Vec<&'static OptionSpec>> = LazyLock::new(|| {
    let mut found: Vec<&'static OptionSpec> = Vec::new();
    for taken in models().iter().flat_map(Entry::options) {
        if !found.iter().any(|spec| std::ptr::eq(*spec, taken.spec)) {
            found.push(taken.spec);
        }
    }
    found
});

/// All options of all models, each declaration once.
pub fn options() -> &'static [&'static OptionSpec] {
    &OPTIONS
}
