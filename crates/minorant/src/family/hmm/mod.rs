//! Hidden Markov models of recordings: `hmm` tells the class of a sequence or the label of each of
//! its frames. Frames are standardised, a maximum-likelihood model is the start that the
//! regularizer is centred at, and training for large margins goes on from there.

mod form;
mod phones;

pub use form::HmmForm;

use super::begin::begin;
use super::builder::{models, taken};
use super::hold_out::{HeldOut, error_of, rows_of, split};
use super::mean::{Mean, counted};
use super::{Answer, Data, DataKind, Family, Settings, TrainError, Walk, Wanted, solvers};
use crate::hmm::{
    Covariance, Frames, Group, HmmRisk, HmmShape, Scaling, Tables, Task, Topology, Truth,
    maximum_likelihood,
};
use crate::options::Kind::{Choice, Pairs, Whole};
use crate::options::Range::Positive;
use crate::options::common::{EVERY_RUN, LOCALITY, REGULARIZED, SEED, VALIDATION_FRACTION};
use crate::options::{Named, OptionError, Probe, named, options, reading};
use crate::regularizer::L2;
use crate::risk::Cancel;
use crate::solver::{Method, Problem};
use minorant_data::{Label, LabelRows, LabelledBy, Recordings};
use serde_json::json;
use std::ops::Range;

named!(Task {
    Classify = "classify" "the class of a sequence, by `labels`",
    Label = "label" "the label of each frame, by `frame_labels`",
});
named!(Topology {
    LeftRight = "left-right" "stay or go on",
    Ergodic = "ergodic" "any state after any",
});
named!(Covariance {
    Diagonal = "diagonal" "each feature for itself",
    Full = "full" "features that go together, by Cholesky factors of the precisions",
});
named!(Group {
    Transitions = "transitions",
    Means = "means",
    Variances = "variances",
    Mixtures = "mixtures",
});

models! {
    regularized;
    /// recordings, by hidden Markov models with Gaussians
    LargeMarginHmm {
        name: "hmm",
        is_convex: false,
        example: "digits.npz --states 4 --mixtures 2 --lambda 0.01"
    }
}

options! {
    /// What to tell
    pub TASK: Task = ("task", "TASK", Choice(Task::CHOICES)).default("classify").probe("label");
    /// States of each class or label
    pub STATES: usize = ("states", "Q", Whole(1, u64::MAX)).default("3").probe("2");
    /// Gaussians of each state
    pub MIXTURES: usize = ("mixtures", "M", Whole(1, u64::MAX)).default("1").probe("2");
    /// Which states may follow each other
    pub TOPOLOGY: Topology = ("topology", "TOPOLOGY", Choice(Topology::CHOICES))
        .default("left-right").probe("ergodic");
    /// What Gaussians know of how the numbers of a frame go together
    pub COVARIANCE: Covariance = ("covariance", "COVARIANCE", Choice(Covariance::CHOICES))
        .default("diagonal").probe("full");
    /// Regularize transitions, means, variances or mixtures with this weight θ; may be given several
    /// times
    pub GROUP_WEIGHT: Vec<(Label, f64)> = ("group-weight", "GROUP=T", Pairs(Positive))
        .otherwise("1 each").probe_with("means=3", &["--lambda", "0.1"]);
}

const LOCALITY_PROBE: &[&str] = &["--solver", "nrbm", "--lambda", "0.1", "--max-evals", "40"];
const SEED_PROBE: &[&str] = &["--solver", "sgd", "--lambda", "10", "--max-evals", "12"];

taken! {
    OWN;
    (LargeMarginHmm) word task: TASK;
    (LargeMarginHmm) whole states: STATES;
    (LargeMarginHmm) whole mixtures: MIXTURES;
    (LargeMarginHmm) word topology: TOPOLOGY;
    (LargeMarginHmm) word covariance: COVARIANCE;
    (LargeMarginHmm) pair group_weight: GROUP_WEIGHT;
    (LargeMarginHmm) f64 validation_fraction: VALIDATION_FRACTION;
    (LargeMarginHmm) word locality: LOCALITY, Probe::with("squares", LOCALITY_PROBE);
    (LargeMarginHmm) whole seed: SEED, Probe::with("7", SEED_PROBE);
}

/// Most weights of a model, and most states.
const MOST_WEIGHTS: u128 = 1 << 31;

/// The family of hidden Markov models.
pub(super) static FAMILY: Family = Family {
    models: &[LargeMarginHmm::MODEL],
    options: &[REGULARIZED, OWN, EVERY_RUN, reading::RECORDINGS],
    solvers: |_| solvers::names(&[Method::Auto], &[]),
    data: |settings| DataKind::Recordings(labelled_by(settings.get(&TASK))),
    offers: &[Wanted::Labels, Wanted::Scores],
    fit,
    start_from: None,
    load: |facts, file| Ok(Box::new(HmmForm::read(facts, file)?)),
};

fn fit(data: Data<'_>, walk: &mut Walk<'_>) -> Result<Answer, TrainError> {
    let (data, settings) = (data.recordings()?, walk.settings);
    let labels = labels(data, settings.get(&TASK), "train on")?;
    check_lengths(data, settings)?;
    let shape = shape(data, settings)?;
    let weights = settings.example_weights();
    let weights = weights.as_deref();
    let examples = counted(weights, data.len(), "sequence")?;
    // Where sequences have classes, a share of each class is held out.
    let class = |i: usize| if shape.task == Task::Classify { labels[i] } else { 0 };
    let sides = split(examples, class, settings.get(&VALIDATION_FRACTION))?;
    let scaling = scaling(data, weights).map_err(|feature| {
        format!("the values of feature {} are too large to be squared", feature + 1)
    })?;
    let values = scaling.apply(&data.frames);
    let [seen, kept_apart] =
        sides.map(|of| Selection::new(data, &values, labels, weights, shape, &of));
    drop(values);
    let counts = seen.weights.as_deref();
    let (frames, truth) = (seen.frames(), seen.truth());
    let Walk { asked, observer, checkpoints } = walk;
    let make = |cancel: &Cancel| maximum_likelihood(&shape, frames, truth, counts, cancel);
    let (mut store, rules) = begin(*asked, &mut **checkpoints, shape.dim(), make)?;
    let start = store.carried.weights.clone();
    let units = seen.starts[1..].iter().map(|_| 1);
    let mean = Mean::new(counts, units, "sequence")?;
    let lambda = settings.lambda(mean.total)?;
    let group_weights = settings.get(&GROUP_WEIGHT);
    let regularizer = L2::new(lambda)?.with_center(start.clone())?;
    let regularizer = match thetas(&shape, &group_weights)? {
        Some(thetas) => regularizer.with_weights(thetas)?,
        None => regularizer,
    };
    let risk = HmmRisk::new(shape, frames, truth, mean.shares);
    let problem = Problem::new(&risk, &regularizer);
    let judge = |w: &[f64]| kept_apart.error(w);
    let has_judge = kept_apart.starts.len() > 1;
    let mut walk = Walk { asked: *asked, observer: &mut **observer, checkpoints: &mut store };
    let (outcome, method, chosen) =
        walk.minimise_judged(problem, rules, has_judge.then_some(&judge))?;
    let held_out = HeldOut::new(chosen);
    let penalty = regularizer.value(&outcome.point.w);
    let sizes = (data.len(), shape.features);
    let form = |weights| HmmForm {
        shape,
        classes: data.labels.classes.clone(),
        scaling,
        group_weights,
        frames: data.frames.rows(),
        held_out,
        weights,
        start,
    };
    let mut answer = Answer::of_run(outcome, method, sizes, lambda, form);
    let report = &mut answer.report;
    (report.regularizer, report.risk) = (penalty, report.certificate.objective - penalty);
    report.further = vec![("task", json!(shape.task.name()))];
    report.further.extend(held_out.keys());
    Ok(answer)
}

/// What has a label in the data of a task.
fn labelled_by(task: Task) -> LabelledBy {
    match task {
        Task::Classify => LabelledBy::Sequence,
        Task::Label => LabelledBy::Frame,
    }
}

/// Which labels are those of a sequence that has these frames.
fn labelled_units(task: Task, sequence: usize, frames: Range<usize>) -> Range<usize> {
    match task {
        Task::Classify => sequence..sequence + 1,
        Task::Label => frames,
    }
}

/// The labels of sequences or of frames, as the task has them, for a purpose.
fn labels<'d>(data: &'d Recordings, task: Task, purpose: &str) -> Result<&'d [u32], String> {
    let (expected, of) = match task {
        Task::Classify => (data.len(), "sequences"),
        Task::Label => (data.frames.rows(), "frames"),
    };
    match &data.labels.rows {
        LabelRows::None => Err(format!("the data has no labels to {purpose}")),
        LabelRows::Single(labels) if labels.len() == expected => Ok(labels),
        LabelRows::Single(labels) => {
            Err(format!("expected labels of {expected} {of}, found {}", labels.len()))
        }
        LabelRows::Numbers { .. } => Err("expected classes as labels, found targets".into()),
        LabelRows::Sets { .. } => Err(format!("expected one label for each of the {of}")),
    }
}

/// Refuses sequences that no path goes through.
fn check_lengths(data: &Recordings, settings: &Settings) -> Result<(), String> {
    let lengths = || data.starts.windows(2).map(|span| span[1] - span[0]);
    if let Some(at) = lengths().position(|length| length == 0) {
        return Err(format!("sequence {} has no frames", at + 1));
    }
    let passes =
        settings.get(&TASK) == Task::Classify && settings.get(&TOPOLOGY) == Topology::LeftRight;
    let states = settings.get(&STATES);
    match lengths().enumerate().find(|(_, length)| passes && *length < states) {
        None => Ok(()),
        Some((at, length)) => {
            let frames = if length == 1 { "frame" } else { "frames" };
            Err(format!(
                "sequence {} has {length} {frames}, fewer than the {states} states that a \
                 left-right model passes through; use fewer states or the ergodic topology",
                at + 1,
            ))
        }
    }
}

fn shape(data: &Recordings, settings: &Settings) -> Result<HmmShape, String> {
    let (units, features) = (data.labels.classes.len(), data.frames.cols());
    let (states, mixtures) = (settings.get(&STATES), settings.get(&MIXTURES));
    // Products saturate instead of overflowing: users may ask for any number of states.
    let times = |a: u128, b: usize| a.saturating_mul(b as u128);
    let gaussians = times(times(units as u128, states), mixtures);
    let arcs = times(times(units as u128, states.saturating_add(1)), states.saturating_add(1));
    let covariance = settings.get(&COVARIANCE);
    let each = match covariance {
        Covariance::Diagonal => 2 * (features as u128 + 1),
        Covariance::Full => times(features as u128 + 3, features + 1),
    };
    let weights = gaussians.saturating_mul(each).saturating_add(arcs);
    if weights > MOST_WEIGHTS {
        return Err(format!(
            "{units} units of {states} states with {mixtures} Gaussians have {weights} weights, more \
             than the {MOST_WEIGHTS} that a model may have"
        ));
    }
    let (task, topology) = (settings.get(&TASK), settings.get(&TOPOLOGY));
    Ok(HmmShape { task, topology, units, states, mixtures, features, covariance })
}

/// θ of each weight, where some group has its own.
fn thetas(
    shape: &HmmShape,
    group_weights: &[(Label, f64)],
) -> Result<Option<Vec<f64>>, OptionError> {
    let mut given = Vec::new();
    for (name, theta) in group_weights {
        let group = Group::named(&name.to_string()).ok_or_else(|| {
            let names: Vec<&str> = Group::all().iter().map(|group| group.name()).collect();
            let what = format!("names no group '{name}'; the groups are: {}", names.join(", "));
            OptionError::new(GROUP_WEIGHT.spec.name, what)
        })?;
        given.push((group, *theta));
    }
    let theta = |group: Group| {
        // Of several for one group the last one counts.
        let own = given.iter().rev().find(|(of, _)| *of == group);
        own.map_or(1.0, |(_, theta)| *theta)
    };
    Ok((!given.is_empty()).then(|| shape.groups().into_iter().map(theta).collect()))
}

/// How frames are standardised: those of a sequence count as it does.
fn scaling(data: &Recordings, example_weights: Option<&[f64]>) -> Result<Scaling, usize> {
    let Some(weights) = example_weights else { return Scaling::of(&data.frames) };
    let sequence = |frame: usize| data.starts.partition_point(|&start| start <= frame) - 1;
    Scaling::of_weighted(&data.frames, |frame| weights[sequence(frame)])
}

/// Sequences to train on or to judge by, standardised.
struct Selection {
    shape: HmmShape,
    values: Vec<f64>,
    starts: Vec<usize>,
    labels: Vec<u32>,
    weights: Option<Vec<f64>>,
}

impl Selection {
    /// These sequences, out of all standardised frames.
    fn new(
        data: &Recordings,
        values: &[f64],
        labels: &[u32],
        weights: Option<&[f64]>,
        shape: HmmShape,
        of: &[usize],
    ) -> Self {
        let (runs, starts) = rows_of(&data.starts, of);
        let of_frames =
            |run: &Range<usize>| &values[run.start * shape.features..run.end * shape.features];
        let labels_of = |(&i, run): (&usize, &Range<usize>)| {
            &labels[labelled_units(shape.task, i, run.clone())]
        };
        Selection {
            shape,
            values: runs.iter().flat_map(of_frames).copied().collect(),
            labels: of.iter().zip(&runs).flat_map(labels_of).copied().collect(),
            starts,
            weights: weights.map(|weights| of.iter().map(|&i| weights[i]).collect()),
        }
    }

    fn frames(&self) -> Frames<'_> {
        Frames { values: &self.values, starts: &self.starts, features: self.shape.features }
    }

    fn truth(&self) -> Truth<'_> {
        match self.shape.task {
            Task::Classify => Truth::Classes(&self.labels),
            Task::Label => Truth::FrameLabels(&self.labels),
        }
    }

    /// The error at these weights.
    fn error(&self, w: &[f64]) -> f64 {
        let predicted = form::predict_frames(&Tables::new(&self.shape, w), self.frames());
        let spans = self.starts.windows(2).map(|span| span[0]..span[1]).enumerate();
        let units = spans.map(|(i, span)| labelled_units(self.shape.task, i, span));
        error_of(units, self.weights.as_deref(), |unit| predicted[unit] != self.labels[unit])
    }
}
