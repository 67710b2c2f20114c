//! The options of hidden Markov models as typed.

use super::train::{ModelArg, ProblemArgs};
use anyhow::ensure;
use clap::Args;
use minorant::data::{LabelledBy, RecordingOptions, Recordings};
use minorant::hmm::{Group, Task, Topology};
use minorant::model::HmmModel;
use minorant::solver::Method;
use minorant::train::HmmOptions;

/// Hidden Markov models.
#[derive(Debug, Args)]
pub(crate) struct HmmArgs {
    /// What to tell: classify (the class of a sequence, by `labels`) or label (the label of each
    /// frame, by `frame_labels`) (default: classify)
    #[arg(long, value_name = "TASK", value_parser = parse_task, help_heading = "Hidden Markov models")]
    task: Option<Task>,
    /// States of each class or label (default: 3)
    #[arg(long, value_name = "Q", help_heading = "Hidden Markov models")]
    states: Option<usize>,
    /// Gaussians of each state (default: 1)
    #[arg(long, value_name = "M", help_heading = "Hidden Markov models")]
    mixtures: Option<usize>,
    /// left-right (stay or go on) or ergodic (any state after any) (default: left-right)
    #[arg(long, value_name = "TOPOLOGY", value_parser = parse_topology, help_heading = "Hidden Markov models")]
    topology: Option<Topology>,
    /// Regularize transitions, means, variances or mixtures with this weight θ instead of 1; may
    /// be given several times
    #[arg(long, value_name = "GROUP=T", value_parser = parse_group_weight, help_heading = "Hidden Markov models")]
    group_weight: Vec<(Group, f64)>,
    /// hmm and neuro-crf: hold out this share of the sequences, and keep the weights that do best on them
    #[arg(
        long,
        value_name = "F",
        allow_negative_numbers = true,
        help_heading = "Hidden Markov models"
    )]
    pub(super) validation_fraction: Option<f64>,
}

fn parse_task(name: &str) -> Result<Task, String> {
    let task = Task::ALL.into_iter().find(|task| task.as_str() == name);
    task.ok_or_else(|| format!("expected classify or label, found '{name}'"))
}

fn parse_topology(name: &str) -> Result<Topology, String> {
    let topology = Topology::ALL.into_iter().find(|topology| topology.as_str() == name);
    topology.ok_or_else(|| format!("expected left-right or ergodic, found '{name}'"))
}

fn parse_group_weight(text: &str) -> Result<(Group, f64), String> {
    let names = || Group::ALL.map(Group::as_str).join(", ");
    let (name, weight) = text.split_once('=').ok_or("expected GROUP=T, such as means=2")?;
    let group = Group::ALL.into_iter().find(|group| group.as_str() == name);
    let group =
        group.ok_or_else(|| format!("there is no group '{name}'; use one of: {}", names()))?;
    let weight =
        weight.parse().map_err(|_| format!("expected a number after =, found '{weight}'"))?;
    Ok((group, weight))
}

impl HmmArgs {
    /// Refuses what goes with hidden Markov models, and what networks share with them.
    pub(super) fn refuse(&self) -> anyhow::Result<()> {
        ensure!(
            self.validation_fraction.is_none(),
            "--validation-fraction goes with hmm and neuro-crf"
        );
        self.refuse_own()
    }

    /// Refuses what goes with hidden Markov models only.
    pub(super) fn refuse_own(&self) -> anyhow::Result<()> {
        let given = self.task.is_some()
            || self.states.is_some()
            || self.mixtures.is_some()
            || self.topology.is_some()
            || !self.group_weight.is_empty();
        ensure!(!given, "--task, --states, --mixtures, --topology and --group-weight go with hmm");
        Ok(())
    }
}

impl ProblemArgs {
    /// The library's options for a hidden Markov model, but for the method.
    pub(crate) fn hmm_options(&self, method: Method) -> anyhow::Result<HmmOptions> {
        self.refuse_all_but(ModelArg::Hmm)?;
        let (hmm, defaults) = (&self.hmm, HmmOptions::default());
        Ok(HmmOptions {
            task: hmm.task.unwrap_or(defaults.task),
            topology: hmm.topology.unwrap_or(defaults.topology),
            states: hmm.states.unwrap_or(defaults.states),
            mixtures: hmm.mixtures.unwrap_or(defaults.mixtures),
            group_weights: hmm.group_weight.clone(),
            validation_fraction: hmm.validation_fraction.unwrap_or(0.0),
            example_weights: self.example_weights()?,
            lambda: self.lambda(),
            method,
            method_options: self.method_options(defaults.method_options),
            rules: self.stopping.rules()?,
        })
    }

    /// Reads recordings for a task and says how long it took.
    pub(crate) fn read_recordings(&self, task: Task) -> anyhow::Result<(Recordings, f64)> {
        let start = std::time::Instant::now();
        let data = self.data.read_recordings(task, None)?;
        Ok((data, start.elapsed().as_secs_f64()))
    }
}

impl super::DataArgs {
    /// Reads recordings for a task, or for a model that was trained for it.
    fn read_recordings(&self, task: Task, features: Option<usize>) -> anyhow::Result<Recordings> {
        self.refuse_all_but_npz("recordings")?;
        let options = RecordingOptions {
            labelled_by: match task {
                Task::Classify => LabelledBy::Sequence,
                Task::Label => LabelledBy::Frame,
            },
            model_features: features,
            storage: self.stored(),
        };
        Ok(minorant::data::read_recordings(&self.files, &options)?)
    }

    /// Reads recordings that are labelled this way.
    pub(crate) fn recordings(&self, labelled_by: LabelledBy) -> anyhow::Result<Recordings> {
        let task = match labelled_by {
            LabelledBy::Sequence => Task::Classify,
            LabelledBy::Frame => Task::Label,
        };
        self.read_recordings(task, None)
    }

    /// Reads recordings for a model.
    pub(crate) fn read_recordings_for(&self, model: &HmmModel) -> anyhow::Result<Recordings> {
        self.read_recordings(model.shape.task, Some(model.shape.features))
    }
}
