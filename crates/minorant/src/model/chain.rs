//! A fitted chain: labels for sequences, how good they are, and the file it is stored in.

use super::attributes::{AttributeHeader, describe};
use super::{Penalty, proof_arrays};
use crate::certificate::Certificate;
use crate::container::{Container, FileError};
use crate::proof::Proof;
use crate::structured::chain::{ChainShape, Pairs};
use crate::train::{ChainName, Per};
use minorant_data::{Attributes, Sequences, Template};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A trained chain.
#[derive(Debug, Clone)]
pub struct ChainModel {
    /// The model's name.
    pub model: ChainName,
    /// How its weights are laid out.
    pub shape: ChainShape,
    /// The attributes of tokens.
    pub attributes: Attributes,
    /// The template that makes them of columns.
    pub template: Option<Template>,
    /// The labels in order.
    pub classes: Vec<String>,
    /// What label z costs where y is true, where that was given.
    pub label_loss: Option<Vec<f64>>,
    /// What the risk is the mean over.
    pub per: Per,
    /// How weights are penalised.
    pub penalty: Penalty,
    /// λ.
    pub lambda: f64,
    /// The method that found the weights.
    pub solver: String,
    /// How its run ended.
    pub status: String,
    /// The relative gap that was asked for.
    pub tol: f64,
    /// Objective and bound.
    pub certificate: Certificate,
    /// Sequences of the training data.
    pub examples: usize,
    /// Tokens of the training data.
    pub tokens: usize,
    /// SHA-256 of the training data.
    pub data_sha256: String,
    /// The weights.
    pub weights: Vec<f64>,
    /// The dual point behind the bound.
    pub proof: Option<Proof>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    model: String,
    labels: Vec<String>,
    #[serde(flatten)]
    attributes: AttributeHeader,
    observed_pairs: bool,
    boundary: bool,
    bias: Option<f64>,
    per: Per,
    penalty: Penalty,
    lambda: f64,
    solver: String,
    status: String,
    tol: f64,
    objective: f64,
    lower_bound: Option<f64>,
    examples: usize,
    tokens: usize,
    data_sha256: String,
}

impl ChainModel {
    /// The best labels of each token, sequence by sequence.
    pub fn predict(&self, data: &Sequences) -> Vec<u16> {
        let of = |span: &[usize]| self.shape.best(&data.tokens, span[0]..span[1], &self.weights).0;
        data.starts.par_windows(2).map(of).collect::<Vec<_>>().concat()
    }

    /// The probability of each label at each token.
    pub fn marginals(&self, data: &Sequences) -> Vec<f64> {
        let of =
            |span: &[usize]| self.shape.marginals(&data.tokens, span[0]..span[1], &self.weights);
        data.starts.par_windows(2).map(of).collect::<Vec<_>>().concat()
    }

    /// Whether its bound has a proof here.
    pub fn is_auditable(&self) -> bool {
        self.proof.is_some()
    }

    /// Saves the model, with its proof where that is at most `proof_bytes` long. Returns whether
    /// the proof is in the file.
    pub fn save(&self, path: &Path, proof_bytes: u64) -> Result<bool, FileError> {
        let size = self.proof.as_ref().map(|proof| 8 * proof.len() as u64);
        let with_proof = size.is_some_and(|size| size <= proof_bytes);
        self.container(with_proof).write(path, super::file::KIND)?;
        Ok(with_proof)
    }

    /// The bytes that [`ChainModel::save`] writes.
    pub fn to_bytes(&self, proof_bytes: u64) -> Vec<u8> {
        let size = self.proof.as_ref().map(|proof| 8 * proof.len() as u64);
        self.container(size.is_some_and(|size| size <= proof_bytes)).to_bytes(super::file::KIND)
    }

    /// Saves the proof alone. Returns whether there is one.
    pub fn save_proof(&self, path: &Path) -> Result<bool, FileError> {
        let (proof, dim) = (self.proof.as_ref(), self.weights.len());
        proof_arrays::save(proof, dim, &self.data_sha256, path)?;
        Ok(self.is_auditable())
    }

    /// Takes the proof from a file of its own.
    pub fn load_proof(&mut self, path: &Path) -> Result<(), FileError> {
        self.proof = Some(proof_arrays::load(self.weights.len(), &self.data_sha256, path)?);
        Ok(())
    }

    fn container(&self, with_proof: bool) -> Container {
        let (attributes, names) = describe(&self.attributes, self.template.as_ref());
        let observed = matches!(self.shape.pairs, Pairs::Observed { .. });
        let mut container = Container::new(&Header {
            model: self.model.as_str().into(),
            labels: self.classes.clone(),
            attributes,
            observed_pairs: observed,
            boundary: self.shape.boundary,
            bias: self.shape.bias,
            per: self.per,
            penalty: self.penalty,
            lambda: self.lambda,
            solver: self.solver.clone(),
            status: self.status.clone(),
            tol: self.tol,
            objective: self.certificate.objective,
            lower_bound: self.certificate.lower_bound,
            examples: self.examples,
            tokens: self.tokens,
            data_sha256: self.data_sha256.clone(),
        });
        container.put_reals("weights", &[self.weights.len()], self.weights.clone());
        container.put_integers("attributes", names);
        if let Pairs::Observed { starts, labels, transitions } = &self.shape.pairs {
            container.put_integers("pairs.starts", starts.iter().map(|&s| s as u64).collect());
            let labels = labels.iter().map(|&z| u64::from(z)).collect();
            container.put_integers("pairs.labels", labels);
            let transitions = transitions.iter().map(|&t| u64::from(t)).collect();
            container.put_integers("pairs.transitions", transitions);
        }
        if let Some(costs) = &self.label_loss {
            container.put_reals("label_loss", &[costs.len()], costs.clone());
        }
        if with_proof {
            proof_arrays::put(self.proof.as_ref(), self.weights.len(), &mut container);
        }
        container
    }

    /// The model that a container holds; `path` stands for it in refusals.
    pub(super) fn from_container(
        mut container: Container,
        path: &Path,
    ) -> Result<ChainModel, FileError> {
        let header: Header = container.header(path)?;
        let refuse = |expected: &str| FileError::content(path, expected, "another");
        let model = ChainName::from_name(&header.model)
            .ok_or_else(|| refuse("a model that this version knows"))?;
        let (attributes, template) = header.attributes.take(&mut container, path)?;
        let pairs = take_pairs(
            &mut container,
            header.observed_pairs,
            attributes.len(),
            header.labels.len(),
        )
        .ok_or_else(|| refuse("pairs of attributes and labels that fit together"))?;
        let shape = ChainShape {
            attributes: attributes.len(),
            labels: header.labels.len(),
            pairs,
            bias: header.bias,
            boundary: header.boundary,
        };
        let label_loss = container.take_reals("label_loss").map(|(_, costs)| costs);
        let weights = container.take_reals("weights").map(|(_, weights)| weights);
        let weights = weights
            .filter(|w| Some(w.len()) == shape.checked_dim() && w.iter().all(|w| w.is_finite()));
        let whole = header.lambda > 0.0
            && header.lambda.is_finite()
            && !header.labels.is_empty()
            && header.bias.is_none_or(f64::is_finite)
            && label_loss.as_ref().is_none_or(|c| c.len() == shape.labels * shape.labels);
        let weights = weights.filter(|_| whole).ok_or_else(|| refuse("weights that fit"))?;
        let proof = proof_arrays::take(&mut container, weights.len())
            .map_err(|_| refuse("a proof that fits"))?;
        Ok(ChainModel {
            model,
            shape,
            attributes,
            template,
            classes: header.labels,
            label_loss,
            per: header.per,
            penalty: header.penalty,
            lambda: header.lambda,
            solver: header.solver,
            status: header.status,
            tol: header.tol,
            certificate: Certificate {
                objective: header.objective,
                lower_bound: header.lower_bound,
            },
            examples: header.examples,
            tokens: header.tokens,
            data_sha256: header.data_sha256,
            weights,
            proof,
        })
    }
}

fn take_pairs(
    container: &mut Container,
    observed: bool,
    columns: usize,
    classes: usize,
) -> Option<Pairs> {
    if !observed {
        return Some(Pairs::All);
    }
    let starts: Vec<usize> =
        container.take_integers("pairs.starts")?.into_iter().map(|s| s as usize).collect();
    let labels = container.take_integers("pairs.labels")?;
    let labels: Vec<u16> =
        labels.into_iter().map(|z| u16::try_from(z).ok()).collect::<Option<_>>()?;
    let transitions = container.take_integers("pairs.transitions")?;
    let transitions: Vec<u32> =
        transitions.into_iter().map(|t| u32::try_from(t).ok()).collect::<Option<_>>()?;
    let fits = columns.checked_add(1) == Some(starts.len())
        && starts.first() == Some(&0)
        && starts.last() == Some(&labels.len())
        && starts.windows(2).all(|s| s[0] <= s[1])
        && labels.iter().all(|&z| (z as usize) < classes)
        && transitions.windows(2).all(|t| t[0] < t[1])
        && transitions.last().is_none_or(|&t| (t as usize) < classes * classes);
    fits.then_some(Pairs::Observed { starts, labels, transitions })
}
