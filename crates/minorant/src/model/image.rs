//! A fitted model of images, `segment-svm` or `tree-svm`: outputs for images, how good they are,
//! and the file it is stored in.

use super::proof_arrays;
use crate::certificate::Certificate;
use crate::container::{Container, FileError};
use crate::images::Images;
use crate::proof::Proof;
use crate::structured::segment::{SegmentLoss, Segmentation};
use crate::structured::tree::{Tree, TreeShape};
use crate::structured::{Scores, StructuredModel};
use crate::train::ImageModelName;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What the images and their outputs look like.
#[derive(Debug, Clone, PartialEq)]
pub enum ImageShape {
    /// Characters from left to right.
    Plates {
        /// Rows of an image.
        height: usize,
        /// Width of each character.
        widths: Vec<usize>,
        /// How wrong a segmentation is.
        loss: SegmentLoss,
    },
    /// Parts on a grid.
    Parts(TreeShape),
}

impl ImageShape {
    /// The model's name.
    pub fn name(&self) -> ImageModelName {
        match self {
            ImageShape::Plates { .. } => ImageModelName::SegmentSvm,
            ImageShape::Parts(_) => ImageModelName::TreeSvm,
        }
    }

    /// Number of weights; nothing where it is out of all bounds.
    fn dim(&self) -> Option<usize> {
        match self {
            ImageShape::Plates { height, widths, .. } => {
                let total = widths.iter().try_fold(0usize, |sum, &width| sum.checked_add(width))?;
                total.checked_mul(*height)
            }
            ImageShape::Parts(shape) => {
                let parts = shape.parents.len().checked_add(1)?;
                parts.checked_mul(shape.channels)?.checked_add(4 * shape.parents.len())
            }
        }
    }
}

/// A trained model of images.
#[derive(Debug, Clone)]
pub struct ImageModel {
    /// What the images and their outputs look like.
    pub shape: ImageShape,
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
    /// Images of the training data.
    pub examples: usize,
    /// SHA-256 of the training data.
    pub data_sha256: String,
    /// The weights.
    pub weights: Vec<f64>,
    /// The dual point behind the bound.
    pub proof: Option<Proof>,
}

/// How good outputs are.
#[derive(Debug, Clone, PartialEq)]
pub struct ImageEvaluation {
    /// Images.
    pub images: usize,
    /// Columns, or parts, of all images.
    pub units: usize,
    /// The share of columns that are wrong by the model's loss, or of parts not in their place.
    pub error: f64,
    /// The share of images with anything wrong.
    pub image_error: f64,
    /// The mean loss of an image.
    pub loss: f64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    plates: Option<PlatesHeader>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<PartsHeader>,
    lambda: f64,
    solver: String,
    status: String,
    tol: f64,
    objective: f64,
    lower_bound: Option<f64>,
    examples: usize,
    data_sha256: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct PlatesHeader {
    height: usize,
    widths: Vec<usize>,
    loss: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct PartsHeader {
    width: usize,
    height: usize,
    channels: usize,
    parents: Vec<usize>,
    scale: f64,
}

impl ImageModel {
    /// The best output of each image: characters from left to right, or places as column · rows +
    /// row. One sentence where the images are not of the model's shape.
    pub fn predict(&self, data: &Images) -> Result<Vec<Vec<u32>>, String> {
        match (&self.shape, data) {
            (
                ImageShape::Plates { height, widths, loss },
                Images::Plates { height: h, widths: w, plates, .. },
            ) if height == h && widths == w => {
                let model = Segmentation::unlabelled(*h, w.clone(), plates.clone(), *loss);
                Ok(self.best(&model))
            }
            (ImageShape::Parts(shape), Images::Parts { shape: found, images, .. })
                if shape == found =>
            {
                Ok(self.best(&Tree::unlabelled(shape.clone(), images.clone())?))
            }
            _ => Err("the images are not of the shape that the model was trained on (rows and \
                      widths of characters, or grid, channels and tree of parts)"
                .into()),
        }
    }

    fn best<M: StructuredModel>(&self, model: &M) -> Vec<Vec<u32>> {
        let scores = Scores { shared: &self.weights, own: &[] };
        let best = |image: usize| model.encode(&model.best(image, scores)).unwrap_or_default();
        (0..model.len()).into_par_iter().map(best).collect()
    }

    /// Compares predictions with the images' true outputs.
    pub fn evaluate(&self, data: &Images) -> Result<ImageEvaluation, String> {
        if !data.are_labelled() {
            return Err("the images have no labels to compare with".into());
        }
        let found = self.predict(data)?;
        let (mut loss, mut wrong, mut wrong_images, mut units) = (0.0, 0.0, 0, 0);
        let mut note = |of_image: f64, wrong_units: f64, of: usize| {
            loss += of_image;
            wrong += wrong_units;
            units += of;
            wrong_images += usize::from(wrong_units > 0.0);
        };
        match (&self.shape, data) {
            (ImageShape::Plates { loss, .. }, Images::Plates { height, widths, plates, .. }) => {
                let model = Segmentation::new(*height, widths.clone(), plates.clone(), *loss)?;
                for (image, code) in found.iter().enumerate() {
                    let output = code.iter().map(|&a| a as u16).collect();
                    let wrong = model.loss(image, &output);
                    note(wrong, wrong, plates[image].pixels.len() / height);
                }
            }
            (_, Images::Parts { shape, images, .. }) => {
                let model = Tree::new(shape.clone(), images.clone())?;
                for (image, code) in found.into_iter().enumerate() {
                    let truth = model.truth(image);
                    let astray = truth.iter().zip(&code).filter(|(a, b)| a != b).count();
                    let parts = truth.len();
                    note(model.loss(image, &code.into()), astray as f64, parts);
                }
            }
            _ => return Err("the images are not of the model's kind".into()),
        }
        let share = |part: f64, whole: usize| part / whole.max(1) as f64;
        Ok(ImageEvaluation {
            images: data.len(),
            units,
            error: share(wrong, units),
            image_error: share(wrong_images as f64, data.len()),
            loss: share(loss, data.len()),
        })
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
        let (plates, parts) = match &self.shape {
            ImageShape::Plates { height, widths, loss } => {
                let loss = loss.as_str().into();
                (Some(PlatesHeader { height: *height, widths: widths.clone(), loss }), None)
            }
            ImageShape::Parts(shape) => {
                let TreeShape { width, height, channels, parents, scale } = shape.clone();
                (None, Some(PartsHeader { width, height, channels, parents, scale }))
            }
        };
        let mut container = Container::new(&Header {
            model: self.shape.name().as_str().into(),
            plates,
            parts,
            lambda: self.lambda,
            solver: self.solver.clone(),
            status: self.status.clone(),
            tol: self.tol,
            objective: self.certificate.objective,
            lower_bound: self.certificate.lower_bound,
            examples: self.examples,
            data_sha256: self.data_sha256.clone(),
        });
        container.put_reals("weights", &[self.weights.len()], self.weights.clone());
        if with_proof {
            proof_arrays::put(self.proof.as_ref(), self.weights.len(), &mut container);
        }
        container.write(path, super::file::KIND)?;
        Ok(with_proof)
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

    /// The model that a container holds; `path` stands for it in refusals.
    pub(super) fn from_container(mut container: Container, path: &Path) -> Result<Self, FileError> {
        let header: Header = container.header(path)?;
        let refuse = |expected: &str| FileError::content(path, expected, "another");
        let shape = match (header.plates, header.parts) {
            (Some(PlatesHeader { height, widths, loss }), None) => {
                let loss = SegmentLoss::from_name(&loss);
                let fits =
                    height > 0 && !widths.contains(&0) && (1..=1 << 16).contains(&widths.len());
                loss.filter(|_| fits).map(|loss| ImageShape::Plates { height, widths, loss })
            }
            (None, Some(PartsHeader { width, height, channels, parents, scale })) => {
                let fits = scale > 0.0 && (0..parents.len()).all(|edge| parents[edge] <= edge);
                let shape = TreeShape { width, height, channels, parents, scale };
                fits.then_some(ImageShape::Parts(shape))
            }
            _ => None,
        };
        let shape = shape.filter(|shape| shape.name().as_str() == header.model);
        let shape = shape.ok_or_else(|| refuse("a model that this version knows"))?;
        let weights = container.take_reals("weights").map(|(_, weights)| weights);
        let weights = weights.filter(|w| Some(w.len()) == shape.dim());
        let weights = weights.filter(|w| w.iter().all(|w| w.is_finite()));
        let weights = weights
            .filter(|_| header.lambda > 0.0 && header.lambda.is_finite())
            .ok_or_else(|| refuse("weights that fit"))?;
        let proof = proof_arrays::take(&mut container, weights.len())
            .map_err(|_| refuse("a proof that fits"))?;
        Ok(ImageModel {
            shape,
            lambda: header.lambda,
            solver: header.solver,
            status: header.status,
            tol: header.tol,
            certificate: Certificate {
                objective: header.objective,
                lower_bound: header.lower_bound,
            },
            examples: header.examples,
            data_sha256: header.data_sha256,
            weights,
            proof,
        })
    }
}
