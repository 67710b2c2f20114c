//! A fitted hidden Markov model: classes of sequences or labels of frames, how good they are, and
//! what its file holds.

use super::phones::phone_error;
use super::{GROUP_WEIGHT, MIXTURES, STATES, TASK, TOPOLOGY, labelled_by, labels};
use crate::container::Container;
use crate::family::hold_out::HeldOut;
use crate::family::predictions::argmax;
use crate::family::sequence::kept;
use crate::family::{
    Data, DataKind, Description, Evaluation, Facts, Form, Misfit, Numbers, Outputs, Predictions,
    Reading, Settings, Wanted, classes, tokens,
};
use crate::hmm::{Covariance, Frames, Group, HmmShape, Scaling, Tables, Task, best_path};
use crate::options::Named;
use minorant_data::{Label, Recordings};
use minorant_linalg::parallel;
use serde_json::{Map, Value as Json, json};

/// The form of hidden Markov models.
#[derive(Debug, Clone)]
pub struct HmmForm {
    /// What it looks like.
    pub shape: HmmShape,
    /// The classes or labels in order.
    pub classes: Vec<Label>,
    /// How frames are standardised.
    pub scaling: Scaling,
    /// θ of groups of weights that were given.
    pub group_weights: Vec<(Label, f64)>,
    /// Frames of the training data.
    pub frames: usize,
    /// What the weights were chosen by, where something was held out.
    pub held_out: HeldOut,
    /// The weights.
    pub weights: Vec<f64>,
    /// The maximum-likelihood weights that they were regularised to.
    pub start: Vec<f64>,
}

/// The scores of all classes for a sequence: the logarithms of the densities of their best paths.
fn class_scores(tables: &Tables, sequence: &[f64]) -> Vec<f64> {
    let units = tables.shape().units;
    let densities = tables.best_densities(sequence, 0..units);
    let score = |z: usize| best_path(tables, &densities, z..z + 1, |_, _| Some(0.0), None);
    (0..units).map(score).collect()
}

/// The class of each sequence, or the label of each frame.
pub(super) fn predict_frames(tables: &Tables, frames: Frames<'_>) -> Vec<u32> {
    let shape = tables.shape();
    let of = |i: usize| match shape.task {
        Task::Classify => vec![argmax(&class_scores(tables, frames.sequence(i)))],
        Task::Label => {
            let densities = tables.best_densities(frames.sequence(i), 0..shape.units);
            let mut path = Vec::new();
            best_path(tables, &densities, 0..shape.units, |_, _| Some(0.0), Some(&mut path));
            path.into_iter().map(|visit| (visit.state / shape.states) as u32).collect()
        }
    };
    parallel::map(frames.len(), of).concat()
}

impl HmmForm {
    /// The form that a model file holds.
    pub(super) fn read(facts: &mut Facts, file: &mut Container) -> Result<Self, Misfit> {
        let (task, topology) = (kept(&TASK, file)?, kept(&TOPOLOGY, file)?);
        let groups: Vec<(String, f64)> = file.key("group_weights")?;
        if facts.lambda.is_none() || groups.iter().any(|(name, _)| Group::named(name).is_none()) {
            return Err(Misfit::without("a lambda and groups of weights that this version knows"));
        }
        let of = |(name, theta): (String, f64)| (Label::Text(name), theta);
        let group_weights: Vec<(Label, f64)> = groups.into_iter().map(of).collect();
        facts.settings.put(&GROUP_WEIGHT, group_weights.clone());
        let classes = file.classes()?;
        let (units, features): (usize, usize) = (classes.len(), file.key("features")?);
        let states = file.key(STATES.spec.name)?;
        let mixtures = file.key(MIXTURES.spec.name)?;
        // Files of the first versions have diagonal ones.
        let covariance: Option<String> = file.key("covariance")?;
        let covariance = Covariance::named(covariance.as_deref().unwrap_or("diagonal"));
        let unknown = || Misfit::without("covariances that this version knows");
        let covariance = covariance.ok_or_else(unknown)?;
        let shape = HmmShape { task, topology, units, states, mixtures, features, covariance };
        let weights = file.take_reals("weights").map_or(Vec::new(), |(_, weights)| weights);
        let most = weights.len();
        let counts = [units, states, mixtures, features];
        // Sizes are multiplied only where each of them is backed by weights.
        let fits = counts.iter().all(|&count| count > 0 && count <= most)
            && counts.iter().map(|&count| count as u128).product::<u128>() <= most as u128
            && shape.dim() == most
            && weights.iter().all(|w| w.is_finite());
        if !fits {
            return Err(Misfit::without("finite weights that fit the model"));
        }
        let scales = file.weights("feature_scales", Some(features))?;
        if scales.iter().any(|scale| *scale <= 0.0) {
            return Err(Misfit::without("positive feature_scales"));
        }
        Ok(HmmForm {
            shape,
            classes,
            scaling: Scaling { means: file.weights("feature_means", Some(features))?, scales },
            group_weights,
            frames: file.key("frames")?,
            held_out: HeldOut::read(file)?,
            start: file.weights("start", Some(most))?,
            weights,
        })
    }

    fn tables(&self) -> Tables {
        Tables::new(&self.shape, &self.weights)
    }

    /// The class of each sequence or the label of each frame, and the scores of classes.
    fn answers(&self, data: &Recordings, scored: bool) -> Result<(Vec<u32>, Vec<f64>), String> {
        let (found, features) = (data.frames.cols(), self.shape.features);
        if found != features {
            return Err(format!("expected frames of {features} features, found {found}"));
        }
        let (values, tables) = (self.scaling.apply(&data.frames), self.tables());
        let frames = Frames { values: &values, starts: &data.starts, features };
        if !scored {
            return Ok((predict_frames(&tables, frames), Vec::new()));
        }
        let of = |i: usize| class_scores(&tables, frames.sequence(i));
        let scores = parallel::map(frames.len(), of);
        Ok((scores.iter().map(|scores| argmax(scores)).collect(), scores.concat()))
    }
}

impl Form for HmmForm {
    fn write(&self, _settings: &Settings, file: &mut Container) {
        file.put_classes(&self.classes);
        file.put_key("features", self.shape.features);
        let groups = self.group_weights.iter().map(|(group, theta)| (group.to_string(), theta));
        file.put_key("group_weights", groups.collect::<Vec<_>>());
        file.put_key("frames", self.frames);
        self.held_out.write(file);
        for (name, values) in [
            ("weights", &self.weights),
            ("start", &self.start),
            ("feature_means", &self.scaling.means),
            ("feature_scales", &self.scaling.scales),
        ] {
            file.put_list(name, values);
        }
    }

    fn weights(&self) -> Vec<&[f64]> {
        vec![&self.weights]
    }

    fn reading(&self) -> Reading<'_> {
        let kind = DataKind::Recordings(labelled_by(self.shape.task));
        Reading { features: Some(self.shape.features), ..kind.into() }
    }

    fn predict(&self, data: Data<'_>, wanted: Wanted) -> Result<Predictions, String> {
        let scored = wanted == Wanted::Scores;
        if scored && self.shape.task == Task::Label {
            return Err("decision values (--scores) go with classes of sequences; this model \
                        labels frames"
                .into());
        }
        let data = data.recordings()?;
        let (labels, values) = self.answers(data, scored)?;
        let outputs = match self.shape.task {
            Task::Classify => Outputs::Labels(labels),
            Task::Label => Outputs::Tokens { starts: data.starts.clone(), labels },
        };
        let mut predictions = Predictions::new(self.classes.clone(), outputs);
        predictions.numbers = scored.then_some(Numbers { width: self.classes.len(), values });
        Ok(predictions)
    }

    fn evaluate(&self, data: Data<'_>) -> Result<Evaluation, String> {
        let data = data.recordings()?;
        let truth = labels(data, self.shape.task, "compare with")?;
        let (said, _) = self.answers(data, false)?;
        Ok(match self.shape.task {
            Task::Classify => classes::compare(&self.classes, &said, &data.labels, false),
            Task::Label => {
                let names = |all: &[Label]| all.iter().map(Label::to_string).collect::<Vec<_>>();
                let (own, theirs) = (names(&self.classes), names(&data.labels.classes));
                let mut found = tokens::compare((&own, &said), (&theirs, truth), &data.starts);
                let phones = phone_error((&own, &said), (&theirs, truth), &data.starts);
                let on = "runs of equal labels, by edit distance".into();
                found.measure("phone_error", "phone error", phones, on);
                found
            }
        })
    }

    fn describe(&self) -> Description {
        let HmmShape { task, topology, states, mixtures, features, covariance, .. } = self.shape;
        let (least, most) = self.tables().variances();
        let mut about = Description {
            variant: format!("{}, {}", task.name(), topology.name()),
            trained_on: format!("sequences of {} frames", self.frames),
            ..Description::default()
        };
        about.classes(&self.classes);
        about.features("features", features);
        about.line("states", format!("{states} a class, {mixtures} Gaussians a state"));
        about.line("covariances", covariance.name().to_string());
        about.line("variances", format!("{least:.3} to {most:.3} of the features' own"));
        about.key("dim", self.weights.len());
        about.key("frames", self.frames);
        let groups = self.group_weights.iter().map(|(group, t)| (group.to_string(), json!(t)));
        about.key("group_weights", groups.collect::<Map<String, Json>>());
        about.key("validation_error", self.held_out.error);
        about.key("variances", vec![least, most]);
        about
    }

    fn at_start(&self) -> Option<Box<dyn Form>> {
        Some(Box::new(HmmForm { weights: self.start.clone(), ..self.clone() }))
    }
}
