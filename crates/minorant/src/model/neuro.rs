//! A fitted network under a chain, and the file it is stored in: its weights, and those it began
//! with, which the regularizer pulls towards. There is no proof in it: its risk is not convex.

use super::attributes::{AttributeHeader, describe};
use crate::container::{Container, FileError};
use crate::neural::{Activation, Inputs, Network};
use crate::train::{Per, Pretrain};
use minorant_data::{Attributes, Sequences, Template};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The name that users type.
pub const NEURO_CRF: &str = "neuro-crf";

/// A trained network under a chain.
#[derive(Debug, Clone)]
pub struct NeuroModel {
    /// Its shape.
    pub network: Network,
    /// The attributes of tokens.
    pub attributes: Attributes,
    /// The template that makes them of columns.
    pub template: Option<Template>,
    /// The labels in order.
    pub classes: Vec<String>,
    /// How the weights to begin with were made, and the seed of that.
    pub pretrain: Pretrain,
    /// The seed.
    pub seed: u64,
    /// What the risk is the mean over.
    pub per: Per,
    /// The share of the sequences that was held out.
    pub validation_fraction: f64,
    /// The error on them, and the evaluations after which it was lowest.
    pub validation_error: Option<f64>,
    /// See there.
    pub chosen_at: Option<u64>,
    /// λ.
    pub lambda: f64,
    /// The method that found the weights.
    pub solver: String,
    /// How its run ended.
    pub status: String,
    /// The relative gap that was asked for.
    pub tol: f64,
    /// The objective at the weights.
    pub objective: f64,
    /// The gap of the last local model, where the method has one.
    pub local_gap: Option<f64>,
    /// Sequences of the training data.
    pub examples: usize,
    /// Tokens of the training data.
    pub tokens: usize,
    /// SHA-256 of the training data.
    pub data_sha256: String,
    /// The weights.
    pub weights: Vec<f64>,
    /// The weights w₀ that training began with and was regularised to.
    pub start: Vec<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    model: String,
    labels: Vec<String>,
    #[serde(flatten)]
    attributes: AttributeHeader,
    hidden: Vec<usize>,
    activation: String,
    boundary: bool,
    pretrain: Pretrain,
    seed: u64,
    per: Per,
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
    tokens: usize,
    data_sha256: String,
}

impl NeuroModel {
    /// The score of each label at each token, transitions left out.
    pub fn scores(&self, data: &Sequences) -> Vec<f64> {
        let inputs: Inputs<'_, f64> = Inputs::new(&data.tokens);
        self.network.scores(&self.weights, &inputs, data.tokens.rows())
    }

    /// Saves the model.
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        self.container().write(path, super::file::KIND)
    }

    /// The bytes that [`NeuroModel::save`] writes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.container().to_bytes(super::file::KIND)
    }

    fn container(&self) -> Container {
        let (attributes, names) = describe(&self.attributes, self.template.as_ref());
        let mut container = Container::new(&Header {
            model: NEURO_CRF.into(),
            labels: self.classes.clone(),
            attributes,
            hidden: self.network.hidden.clone(),
            activation: self.network.activation.as_str().into(),
            boundary: self.network.top.boundary,
            pretrain: self.pretrain,
            seed: self.seed,
            per: self.per,
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
            tokens: self.tokens,
            data_sha256: self.data_sha256.clone(),
        });
        container.put_reals("weights", &[self.weights.len()], self.weights.clone());
        container.put_reals("start", &[self.start.len()], self.start.clone());
        container.put_integers("attributes", names);
        container
    }

    /// The model that [`NeuroModel::to_bytes`] gave; `path` is what errors call it.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, FileError> {
        Self::from_container(Container::from_bytes(path, super::file::KIND, bytes)?, path)
    }

    /// The model that a container holds; `path` stands for it in refusals.
    pub(super) fn from_container(
        mut container: Container,
        path: &Path,
    ) -> Result<NeuroModel, FileError> {
        let header: Header = container.header(path)?;
        let refuse = |expected: &str| FileError::content(path, expected, "another");
        let activation = Activation::from_name(&header.activation)
            .ok_or_else(|| refuse("an activation that this version knows"))?;
        let (attributes, template) = header.attributes.take(&mut container, path)?;
        let (inputs, labels) = (attributes.len(), header.labels.len());
        let network = Network::new(inputs, header.hidden, activation, labels, header.boundary);
        let is_whole = !network.hidden.is_empty()
            && !network.hidden.contains(&0)
            && labels > 0
            && header.lambda > 0.0
            && header.lambda.is_finite();
        let dim = network.checked_dim().filter(|_| is_whole);
        let dim = dim.ok_or_else(|| refuse("a network that can be"))?;
        let mut take = |name: &str| {
            let values = container.take_reals(name).map(|(_, values)| values);
            let values = values.filter(|w| w.len() == dim && w.iter().all(|w| w.is_finite()));
            values.ok_or_else(|| refuse("weights that fit"))
        };
        let (weights, start) = (take("weights")?, take("start")?);
        Ok(NeuroModel {
            network,
            attributes,
            template,
            classes: header.labels,
            pretrain: header.pretrain,
            seed: header.seed,
            per: header.per,
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
            tokens: header.tokens,
            data_sha256: header.data_sha256,
            weights,
            start,
        })
    }
}
