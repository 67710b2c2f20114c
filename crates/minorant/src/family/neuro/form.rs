//! A fitted network under a chain, in memory and in files: its weights, and those that training began
//! with, which the regularizer pulls towards. The form has no proof, for its risk is not convex.

use super::{ACTIVATION, HIDDEN, PRETRAIN, Pretrain};
use crate::container::Container;
use crate::family::hold_out::HeldOut;
use crate::family::sequence::{BOUNDARY, PER, Tagger, Vocabulary, kept};
use crate::family::{Description, Facts, Misfit, Settings};
use crate::neural::{Inputs, Network};
use crate::options::Named;
use crate::options::common::SEED;
use minorant_data::Sequences;

/// A fitted network under a chain.
#[derive(Debug, Clone)]
pub struct NeuroForm {
    /// Its shape.
    pub network: Network,
    /// What it knows of tokens.
    pub vocabulary: Vocabulary,
    /// How the weights to begin with were made.
    pub pretrain: Pretrain,
    /// The seed of the weights to begin with.
    pub seed: u64,
    /// What the weights were chosen by, where something was held out.
    pub held_out: HeldOut,
    /// The weights.
    pub weights: Vec<f64>,
    /// The weights w₀ that training began with and was regularised to.
    pub start: Vec<f64>,
}

impl NeuroForm {
    /// The network that a model file holds.
    pub(super) fn read(facts: &mut Facts, file: &mut Container) -> Result<Self, Misfit> {
        let vocabulary = Vocabulary::read(file)?;
        let hidden: Vec<usize> = file.key(HIDDEN.spec.name)?;
        if hidden.is_empty() || hidden.contains(&0) {
            return Err(Misfit::without("hidden layers of 1 unit or more"));
        }
        let (activation, boundary) = (kept(&ACTIVATION, file)?, file.key(BOUNDARY.spec.name)?);
        kept(&PER, file)?;
        let (inputs, labels) = (vocabulary.attributes.len(), vocabulary.classes.len());
        let network = Network::new(inputs, hidden, activation, labels, boundary);
        let dim = network.checked_dim();
        let seed = file.key(SEED.spec.name)?;
        facts.settings.put(&SEED, seed);
        Ok(NeuroForm {
            network,
            vocabulary,
            pretrain: kept(&PRETRAIN, file)?,
            seed,
            held_out: HeldOut::read(file)?,
            weights: file.weights("weights", dim)?,
            start: file.weights("start", dim)?,
        })
    }
}

impl Tagger for NeuroForm {
    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn weights(&self) -> &[f64] {
        &self.weights
    }

    fn write(&self, _settings: &Settings, file: &mut Container) {
        file.put_key(SEED.spec.name, self.seed);
        self.held_out.write(file);
        file.put_list("start", &self.start);
    }

    fn describe(&self, description: &mut Description) {
        let widths: Vec<String> = self.network.hidden.iter().map(ToString::to_string).collect();
        let (units, how) = (self.network.activation.name(), self.pretrain.name());
        let (widths, seed) = (widths.join(", "), self.seed);
        description
            .line("hidden", format!("{widths} {units} units, pretraining {how}, seed {seed}"));
        description.key("seed", self.seed);
        description.key("dim", self.weights.len());
        self.held_out.keys().into_iter().for_each(|(name, value)| description.key(name, value));
    }

    fn best(&self, data: &Sequences) -> Vec<u16> {
        self.network.best_labels(&self.weights, &self.scores(data), &data.starts)
    }

    fn scores(&self, data: &Sequences) -> Vec<f64> {
        let inputs: Inputs<'_, f64> = Inputs::new(&data.tokens);
        self.network.scores(&self.weights, &inputs, data.tokens.rows())
    }

    fn marginals(&self, data: &Sequences) -> Vec<f64> {
        self.network.marginals(&self.weights, &self.scores(data), &data.starts)
    }
}
