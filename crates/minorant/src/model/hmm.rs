//! A fitted hidden Markov model: classes of sequences or labels of frames, how good they are, and
//! the file it is stored in.

use super::metrics::{Evaluation, compare};
use super::tokens::{TokenEvaluation, compare as compare_tokens};
use crate::container::{Container, FileError};
use crate::hmm::{Frames, Group, HmmShape, Scaling, Tables, Task, Topology, best_path};
use minorant_data::{Label, LabelRows, Recordings};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The name that users type.
pub const HMM: &str = "hmm";

/// A trained hidden Markov model.
#[derive(Debug, Clone)]
pub struct HmmModel {
    /// What it looks like.
    pub shape: HmmShape,
    /// The classes or labels in order.
    pub classes: Vec<Label>,
    /// How frames are standardised.
    pub scaling: Scaling,
    /// θ of groups of weights that were not 1.
    pub group_weights: Vec<(Group, f64)>,
    /// The share of the sequences that was held out.
    pub validation_fraction: f64,
    /// The error on them.
    pub validation_error: Option<f64>,
    /// The evaluation at which the weights were found that did best on them.
    pub chosen_at: Option<u64>,
    /// λ.
    pub lambda: f64,
    /// The method that found the weights.
    pub solver: String,
    /// How its run ended.
    pub status: String,
    /// The relative local gap that was asked for.
    pub tol: f64,
    /// The objective.
    pub objective: f64,
    /// The gap of the last local model; it is no bound.
    pub local_gap: Option<f64>,
    /// Sequences of the training data.
    pub examples: usize,
    /// Frames of the training data.
    pub frames: usize,
    /// SHA-256 of the training data.
    pub data_sha256: String,
    /// The weights.
    pub weights: Vec<f64>,
    /// The maximum-likelihood weights that they were regularised to.
    pub start: Vec<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    model: String,
    task: String,
    topology: String,
    classes: Vec<super::file::JsonLabel>,
    states: usize,
    mixtures: usize,
    features: usize,
    group_weights: Vec<(String, f64)>,
    validation_fraction: f64,
    validation_error: Option<f64>,
    chosen_at: Option<u64>,
    lambda: f64,
    solver: String,
    status: String,
    tol: f64,
    objective: f64,
    local_gap: Option<f64>,
    examples: usize,
    frames: usize,
    data_sha256: String,
}

/// The scores of all classes for a sequence.
fn class_scores(tables: &Tables, shape: &HmmShape, sequence: &[f64]) -> Vec<f64> {
    let densities = tables.best_densities(sequence, 0..tables.shape().units);
    let score = |z: usize| best_path(tables, &densities, z..z + 1, |_, _| Some(0.0), None);
    (0..shape.units).map(score).collect()
}

/// The first of the highest.
fn argmax(scores: &[f64]) -> u32 {
    let better = |best: usize, z: usize| if scores[z] > scores[best] { z } else { best };
    (1..scores.len()).fold(0, better) as u32
}

/// The class of each sequence, or the label of each frame.
pub(crate) fn predict_frames(tables: &Tables, frames: Frames<'_>) -> Vec<u32> {
    let shape = tables.shape();
    let of = |i: usize| match shape.task {
        Task::Classify => vec![argmax(&class_scores(tables, &shape, frames.sequence(i)))],
        Task::Label => {
            let densities = tables.best_densities(frames.sequence(i), 0..shape.units);
            let mut path = Vec::new();
            best_path(tables, &densities, 0..shape.units, |_, _| Some(0.0), Some(&mut path));
            path.into_iter().map(|visit| (visit.state / shape.states) as u32).collect()
        }
    };
    (0..frames.len()).into_par_iter().map(of).collect::<Vec<_>>().concat()
}

impl HmmModel {
    /// The class of each sequence, or the label of each frame, as numbers of classes.
    pub fn predict(&self, data: &Recordings) -> Vec<u32> {
        let values = self.scaling.apply(&data.frames);
        let frames =
            Frames { values: &values, starts: &data.starts, features: self.shape.features };
        predict_frames(&Tables::new(&self.shape, &self.weights), frames)
    }

    /// The score of each class for each sequence: the logarithm of the density of its best path.
    pub fn scores(&self, data: &Recordings) -> Vec<f64> {
        let values = self.scaling.apply(&data.frames);
        let frames =
            Frames { values: &values, starts: &data.starts, features: self.shape.features };
        let tables = Tables::new(&self.shape, &self.weights);
        let of = |i: usize| class_scores(&tables, &self.shape, frames.sequence(i));
        (0..frames.len()).into_par_iter().map(of).collect::<Vec<_>>().concat()
    }

    /// Compares predicted classes with the true ones of the same sequences.
    pub fn evaluate_classes(&self, data: &Recordings) -> Evaluation {
        let known = data.labels.remap(&self.classes);
        let truth = |i: usize| known[data.labels.row(i)[0] as usize];
        let pairs = self.predict(data).into_iter().enumerate().map(|(i, said)| (said, truth(i)));
        compare(pairs, self.classes.len())
    }

    /// Compares predicted labels with the true ones of the same frames.
    pub fn evaluate_labels(&self, data: &Recordings) -> TokenEvaluation {
        let names = |labels: &[Label]| labels.iter().map(ToString::to_string).collect::<Vec<_>>();
        let narrow = |numbers: &[u32]| numbers.iter().map(|&z| z as u16).collect::<Vec<_>>();
        let labels = match &data.labels.rows {
            LabelRows::Single(labels) => narrow(labels),
            _ => Vec::new(),
        };
        let (own, theirs) = (names(&self.classes), names(&data.labels.classes));
        let predicted = narrow(&self.predict(data));
        compare_tokens((&own, &predicted), (&theirs, &labels), &data.starts)
    }

    /// The smallest and the largest variance of its Gaussians, in units of the features' own.
    pub fn variances(&self) -> (f64, f64) {
        Tables::new(&self.shape, &self.weights).variances()
    }

    /// Saves the model.
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        self.container().write(path, super::file::KIND)
    }

    /// The bytes that [`HmmModel::save`] writes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.container().to_bytes(super::file::KIND)
    }

    /// The model that [`HmmModel::to_bytes`] gave; `path` is what errors call it.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, FileError> {
        Self::from_container(Container::from_bytes(path, super::file::KIND, bytes)?, path)
    }

    fn container(&self) -> Container {
        let groups = self.group_weights.iter().map(|(group, t)| (group.as_str().into(), *t));
        let mut container = Container::new(&Header {
            model: HMM.into(),
            task: self.shape.task.as_str().into(),
            topology: self.shape.topology.as_str().into(),
            classes: self.classes.iter().map(Into::into).collect(),
            states: self.shape.states,
            mixtures: self.shape.mixtures,
            features: self.shape.features,
            group_weights: groups.collect(),
            validation_fraction: self.validation_fraction,
            validation_error: self.validation_error,
            chosen_at: self.chosen_at,
            lambda: self.lambda,
            solver: self.solver.clone(),
            status: self.status.clone(),
            tol: self.tol,
            objective: self.objective,
            local_gap: self.local_gap,
            examples: self.examples,
            frames: self.frames,
            data_sha256: self.data_sha256.clone(),
        });
        let arrays = [
            ("weights", &self.weights),
            ("start", &self.start),
            ("feature_means", &self.scaling.means),
            ("feature_scales", &self.scaling.scales),
        ];
        for (name, values) in arrays {
            container.put_reals(name, &[values.len()], values.clone());
        }
        container
    }

    /// The model that a container holds; `path` stands for it in refusals.
    pub(super) fn from_container(mut container: Container, path: &Path) -> Result<Self, FileError> {
        let header: Header = container.header(path)?;
        let refuse = |expected: &str| FileError::content(path, expected, "another");
        let task = Task::ALL.into_iter().find(|task| task.as_str() == header.task);
        let topology = Topology::ALL.into_iter().find(|t| t.as_str() == header.topology);
        let group = |(name, theta): (String, f64)| {
            Some((Group::ALL.into_iter().find(|group| group.as_str() == name)?, theta))
        };
        let groups = header.group_weights.into_iter().map(group).collect::<Option<Vec<_>>>();
        let (Some(task), Some(topology), Some(group_weights)) = (task, topology, groups) else {
            return Err(refuse("a model that this version knows"));
        };
        let (units, states, mixtures) = (header.classes.len(), header.states, header.mixtures);
        let features = header.features;
        let shape = HmmShape { task, topology, units, states, mixtures, features };
        let mut take = |name: &str, fits: &dyn Fn(&f64) -> bool| {
            let values = container.take_reals(name).map(|(_, values)| values);
            values
                .filter(|values| values.iter().all(fits))
                .ok_or_else(|| refuse("weights that fit"))
        };
        let finite = |x: &f64| x.is_finite();
        let (weights, start) = (take("weights", &finite)?, take("start", &finite)?);
        let means = take("feature_means", &finite)?;
        let scales = take("feature_scales", &|scale| scale.is_finite() && *scale > 0.0)?;
        let counts = [units, states, mixtures, features];
        let most = weights.len();
        // Sizes are multiplied only where each of them is backed by weights.
        let fits = counts.iter().all(|&count| count > 0 && count <= most)
            && counts.iter().map(|&count| count as u128).product::<u128>() <= most as u128
            && shape.dim() == most
            && start.len() == most
            && means.len() == features
            && scales.len() == features;
        if !fits {
            return Err(refuse("weights that fit"));
        }
        Ok(HmmModel {
            shape,
            classes: header.classes.into_iter().map(Label::from).collect(),
            scaling: Scaling { means, scales },
            group_weights,
            validation_fraction: header.validation_fraction,
            validation_error: header.validation_error,
            chosen_at: header.chosen_at,
            lambda: header.lambda,
            solver: header.solver,
            status: header.status,
            tol: header.tol,
            objective: header.objective,
            local_gap: header.local_gap,
            examples: header.examples,
            frames: header.frames,
            data_sha256: header.data_sha256,
            weights,
            start,
        })
    }
}
