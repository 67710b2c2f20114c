//! From labelled images to a fitted `segment-svm` or `tree-svm`. No mathematics is done here.

use super::example_weights::Mean;
use super::{Lambda, TrainError, TrainReport};
use crate::fingerprint::Fingerprint;
use crate::images::Images;
use crate::model::{ImageModel, ImageShape};
use crate::regularizer::L2;
use crate::risk::{Cancel, Risk};
use crate::solver::{self, Checkpoints, Method, MethodOptions, Problem, StopRules};
use crate::structured::MarginRisk;
use crate::structured::segment::{SegmentLoss, Segmentation};
use crate::structured::tree::Tree;
use crate::trace::Observer;

/// The models of images by the names that users type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageModelName {
    /// Characters of given widths from left to right.
    SegmentSvm,
    /// Parts of an object on a grid.
    TreeSvm,
}

impl ImageModelName {
    /// All of them.
    pub const ALL: [ImageModelName; 2] = [ImageModelName::SegmentSvm, ImageModelName::TreeSvm];

    /// The name that users type.
    pub fn as_str(self) -> &'static str {
        match self {
            ImageModelName::SegmentSvm => "segment-svm",
            ImageModelName::TreeSvm => "tree-svm",
        }
    }

    /// The model with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        ImageModelName::ALL.into_iter().find(|model| model.as_str() == name)
    }
}

/// Everything that training on images depends on besides the data, which says which model it is.
#[derive(Debug, Clone)]
pub struct ImageOptions {
    /// Plates: how wrong a segmentation is.
    pub loss: SegmentLoss,
    /// One weight for each image.
    pub example_weights: Option<Vec<f64>>,
    /// λ or C; 1/Σ sᵢ if not given.
    pub lambda: Option<Lambda>,
    /// The method.
    pub method: Method,
    /// Its settings.
    pub method_options: MethodOptions,
    /// When to stop.
    pub rules: StopRules,
}

impl Default for ImageOptions {
    fn default() -> Self {
        ImageOptions {
            loss: SegmentLoss::default(),
            example_weights: None,
            lambda: None,
            method: Method::Auto,
            method_options: MethodOptions {
                proof_bytes: crate::model::PROOF_BYTES,
                ..MethodOptions::default()
            },
            rules: StopRules::default(),
        }
    }
}

impl ImageOptions {
    /// All settings that the iterates depend on besides the example weights, for checkpoints.
    pub fn settings(&self) -> String {
        let of_method = (self.method_options.memory, self.method_options.parts);
        format!("{:?}", (self.loss, self.lambda, self.method, of_method))
    }
}

/// Trains on images: `segment-svm` on plates, `tree-svm` on images with parts.
pub fn train_images(
    data: &Images,
    options: &ImageOptions,
    cancel: &Cancel,
    observer: &mut dyn Observer,
    checkpoints: &mut dyn Checkpoints,
) -> Result<(ImageModel, TrainReport), TrainError> {
    if !data.are_labelled() {
        return Err(TrainError::Setting("the images have no labels to train on".into()));
    }
    let example_weights = options.example_weights.as_deref();
    let mean = Mean::new(example_weights, (0..data.len()).map(|_| 1), "image")?;
    let lambda = Lambda::value(options.lambda, mean.total)?;
    let regularizer = L2::new(lambda)?;
    let weights = mean.shares;
    let (shape, risk): (ImageShape, Box<dyn Risk>) = match data {
        Images::Plates { height, widths, plates, .. } => {
            let shape =
                ImageShape::Plates { height: *height, widths: widths.clone(), loss: options.loss };
            let model = Segmentation::new(*height, widths.clone(), plates.clone(), options.loss);
            (shape, Box::new(MarginRisk::new(model.map_err(TrainError::Setting)?, weights)))
        }
        Images::Parts { shape, images, .. } => {
            let model = Tree::new(shape.clone(), images.clone()).map_err(TrainError::Setting)?;
            (ImageShape::Parts(shape.clone()), Box::new(MarginRisk::new(model, weights)))
        }
    };
    let problem = Problem::new(&*risk, &regularizer);
    let method = options.method.resolve(problem);
    let mut solver = options.method.build(problem, &options.method_options)?;
    let outcome = solver::run(&mut *solver, problem, options.rules, cancel, observer, checkpoints)?;
    let features = outcome.point.w.len();
    let report = TrainReport::of_run(method.name(), (data.len(), features), lambda, &outcome);
    let model = ImageModel {
        shape,
        lambda,
        solver: method.name().into(),
        status: report.status.as_str().into(),
        tol: options.rules.tol,
        certificate: report.certificate,
        examples: data.len(),
        data_sha256: data.sha256_with(example_weights),
        weights: outcome.point.w,
        proof: outcome.proof,
    };
    Ok((model, report))
}
