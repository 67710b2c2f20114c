//! Images with structured outputs: `segment-svm` cuts them into characters, `tree-svm` finds the
//! parts of an object in them. The structures themselves are [`crate::structured`]'s.

mod convert;
mod form;
mod templates;

pub use form::{ImageForm, ImageShape};
pub use templates::Templates;

use super::builder::{models, taken};
use super::{
    Answer, Data, DataKind, Family, FittedModel, Settings, TrainError, Walk, Wanted, mean, refuse,
    solvers,
};
use crate::options::Kind::{Choice, Text, Wholes};
use crate::options::common::{self, PARTS, PROOF, PROX_DISTANCE, PROX_ITERATIONS, SEED, START};
use crate::options::{Named, Probe, named, options};
use crate::regularizer::L2;
use crate::solver::{Method, Problem};
use crate::structured::segment::SegmentLoss;

models! {
    regularized;
    /// images cut into characters of given widths
    SegmentSvm {
        name: "segment-svm",
        is_convex: true,
        example: "plates.npz --loss ak --lambda 0.1"
    }
    /// images with the parts of an object
    TreeSvm { name: "tree-svm", is_convex: true, example: "parts.npz --lambda 0.01" }
}

/// What the loss of an output scales.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rescaling {
    /// The margin: max over y of Δ + score − the truth's score.
    Margin,
    /// The slack: max over y of Δ (1 + score − the truth's score).
    Slack,
}

named!(Rescaling {
    Margin = "margin" "the margin that is asked for",
    Slack = "slack" "the shortfall of a margin of 1",
});
named!(SegmentLoss {
    Position = "ak" "columns whose segment, character and start, is not one of the truth's",
    Label = "label" "columns whose character is not the true one",
});

options! {
    /// What counts as wrong in a segmentation
    pub LOSS: SegmentLoss = ("loss", "LOSS", Choice(SegmentLoss::CHOICES))
        .default("ak").probe("label");
    /// Divide the loss of an image by the distance between the true places of these two parts,
    /// numbered from 1
    pub NORMALISE: Option<Vec<u64>> = ("normalise", "A,B", Wholes).otherwise("not").probe("2,4");
    /// What parts look at: columns x rows around their places, with the numbers of the image, or behind
    /// :lbp its local binary patterns; one for all parts, or one for each
    pub TEMPLATES: Templates =
        ("templates", "CxR[:lbp],...", Text(|text| text.parse::<Templates>().map(|_| ())))
        .default("1x1").probe("3x3:lbp");
    /// What the loss of a wrong answer scales
    pub RESCALING: Rescaling = ("rescaling", "WHAT", Choice(Rescaling::CHOICES))
        .default("margin").probe("slack");
}

/// Where the weights that a run begins with matter.
const PROX: &[&str] = &["--solver", "prox-bmrm"];

taken! {
    OWN;
    (SegmentSvm) word loss: LOSS;
    (SegmentSvm) word rescaling: RESCALING;
    (TreeSvm) wholes normalise: NORMALISE;
    (TreeSvm) word templates: TEMPLATES;
    (SegmentSvm TreeSvm) whole parts: PARTS;
    (SegmentSvm TreeSvm) whole seed: SEED;
    (SegmentSvm TreeSvm) f64 prox_distance: PROX_DISTANCE;
    (SegmentSvm TreeSvm) f64 prox_iterations: PROX_ITERATIONS;
    (SegmentSvm TreeSvm) file proof: PROOF;
    (SegmentSvm TreeSvm) file start: START, Probe::with("{FILE}", PROX);
}

/// The family of models of images.
pub(super) static FAMILY: Family = Family {
    models: &[SegmentSvm::MODEL, TreeSvm::MODEL],
    options: &[common::REGULARIZED, common::EVERY_RUN, OWN],
    solvers: |_| solvers::names(solvers::CONVEX, &[Method::Bcfw]),
    data: |settings| {
        if settings.model() == SegmentSvm::MODEL.name { DataKind::Plates } else { DataKind::Parts }
    },
    offers: &[Wanted::Labels],
    fit,
    start_from: Some(start_from),
    load: ImageForm::load,
};

/// The weights of a model of images of the same shape.
fn start_from(
    model: &FittedModel,
    data: Data<'_>,
    settings: &Settings,
) -> Result<Option<Vec<f64>>, TrainError> {
    let shape = ImageShape::of(data.images()?, settings)?;
    match model.form_as::<ImageForm>() {
        Some(form) if form.shape == shape => Ok(Some(form.weights.clone())),
        Some(_) => {
            refuse("expected start weights for images of this shape, found some for another")
        }
        None => Ok(None),
    }
}

fn fit(data: Data<'_>, walk: &mut Walk<'_>) -> Result<Answer, TrainError> {
    let (data, settings) = (data.images()?, walk.settings);
    if !data.are_labelled() {
        return refuse("the images have no labels to train on");
    }
    let weights = settings.example_weights();
    let mean = mean::Mean::new(weights.as_deref(), (0..data.len()).map(|_| 1), "image")?;
    let lambda = settings.lambda(mean.total)?;
    let regularizer = L2::new(lambda)?;
    let shape = ImageShape::of(data, settings)?;
    let is_rescaled =
        settings.model() == SegmentSvm::MODEL.name && settings.get(&RESCALING) == Rescaling::Slack;
    let unit = convert::unit(settings)?;
    let risk = convert::risk(data, &shape, mean.shares, (is_rescaled, unit))?;
    let problem = Problem::new(&*risk, &regularizer).starting_at(walk.start);
    let (outcome, method) = walk.minimise(problem, settings.rules())?;
    let sizes = (data.len(), outcome.point.w.len());
    let form = |weights| ImageForm { shape, unit, weights };
    Ok(Answer::of_run(outcome, method, sizes, lambda, form))
}
