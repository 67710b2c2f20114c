//! A fitted model of images: what the images look like, weights, outputs for images, and how good
//! they are.

use super::convert::{Structure, in_units, structure, unit};
use super::{LOSS, RESCALING, Rescaling, SegmentSvm, TEMPLATES, Templates};
use crate::audit::image::{PlainParts, PlainPlates};
use crate::audit::{Penalty, Plain, PlainLoss};
use crate::container::Container;
use crate::family::classes::share;
use crate::family::{
    Audited, Data, DataKind, Description, Evaluation, Facts, Form, Loaded, Misfit, Outputs,
    Predictions, Reading, Settings, Style, Wanted,
};
use crate::options::Named;
use crate::structured::segment::SegmentLoss;
use crate::structured::tree::Template;
use crate::structured::{Scores, StructuredModel};
use minorant_data::{Images, TreeShape};
use minorant_linalg::parallel;
use serde::{Deserialize, Serialize};

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
    Parts {
        /// Grid and tree.
        shape: TreeShape,
        /// What each part looks at.
        templates: Vec<Template>,
    },
}

/// Plates in the header of a model file.
#[derive(Debug, Serialize, Deserialize)]
struct PlatesKey {
    height: usize,
    widths: Vec<usize>,
    loss: String,
}

/// Parts in the header of a model file.
#[derive(Debug, Serialize, Deserialize)]
struct PartsKey {
    width: usize,
    height: usize,
    channels: usize,
    parents: Vec<usize>,
    scale: f64,
}

impl ImageShape {
    /// The shape of images that a model is to be trained on.
    pub(super) fn of(data: &Images, settings: &Settings) -> Result<Self, String> {
        match (settings.model() == SegmentSvm::MODEL.name, data) {
            (true, Images::Plates { height, widths, .. }) => {
                let loss = settings.get(&LOSS);
                Ok(ImageShape::Plates { height: *height, widths: widths.clone(), loss })
            }
            (false, Images::Parts { shape, .. }) => ImageShape::parts(shape.clone(), settings),
            (true, _) => Err("segment-svm cuts plates, but these images have parts".into()),
            (false, _) => Err("tree-svm finds parts, but these images are plates".into()),
        }
    }

    /// Parts of this shape that look at what is asked for.
    fn parts(shape: TreeShape, settings: &Settings) -> Result<Self, String> {
        let Templates(asked) = settings.get(&TEMPLATES);
        let parts = shape.parents.len() + 1;
        let templates = match &asked[..] {
            [all] => vec![*all; parts],
            _ if asked.len() == parts => asked,
            _ => {
                return Err(format!(
                    "expected templates of {parts} parts, or one for all of them, found {}",
                    asked.len()
                ));
            }
        };
        Ok(ImageShape::Parts { shape, templates })
    }

    /// Number of weights; nothing where it is out of all bounds.
    fn dim(&self) -> Option<usize> {
        match self {
            ImageShape::Plates { height, widths, .. } => {
                let total = widths.iter().try_fold(0usize, |sum, &width| sum.checked_add(width))?;
                total.checked_mul(*height)
            }
            ImageShape::Parts { shape, templates } => {
                let features = |t: &Template| t.checked_features(shape.channels);
                let sum = |sum: usize, template| sum.checked_add(features(template)?);
                templates.iter().try_fold(0, sum)?.checked_add(4 * shape.parents.len())
            }
        }
    }

    /// The shape that a model file holds.
    fn load(facts: &mut Facts, file: &Container) -> Result<Self, Misfit> {
        let shape = if facts.model() == SegmentSvm::MODEL.name {
            let PlatesKey { height, widths, loss } = file.key("plates")?;
            let fits = height > 0 && !widths.contains(&0) && (1..=1 << 16).contains(&widths.len());
            SegmentLoss::named(&loss).filter(|_| fits).map(|loss| {
                facts.settings.put(&LOSS, loss);
                ImageShape::Plates { height, widths, loss }
            })
        } else {
            let PartsKey { width, height, channels, parents, scale } = file.key("parts")?;
            let fits = scale > 0.0 && (0..parents.len()).all(|edge| parents[edge] <= edge);
            let shape = TreeShape { width, height, channels, parents, scale };
            fits.then(|| ImageShape::parts(shape, &facts.settings).ok()).flatten()
        };
        shape.ok_or_else(|| Misfit::without("images of a shape that this version knows"))
    }
}

/// The form of models of images.
#[derive(Debug, Clone)]
pub struct ImageForm {
    /// What the images and their outputs look like.
    pub shape: ImageShape,
    /// Two parts by whose distance losses are divided.
    pub unit: Option<[usize; 2]>,
    /// The weights.
    pub weights: Vec<f64>,
}

impl ImageForm {
    /// The form that a model file holds.
    pub(super) fn load(facts: &mut Facts, file: &mut Container) -> Loaded {
        let shape = ImageShape::load(facts, file)?;
        facts.lambda.ok_or_else(|| Misfit::without("a positive lambda"))?;
        let weights = file.weights("weights", shape.dim())?;
        let unit = unit(&facts.settings);
        let unit = unit.map_err(|_| Misfit::without("two parts to divide losses by"))?;
        Ok(Box::new(ImageForm { shape, unit, weights }))
    }

    /// The best output of each image: characters, or places as column · rows + row.
    fn best<M: StructuredModel>(&self, model: &M) -> Vec<M::Output> {
        let scores = Scores { shared: &self.weights, own: &[] };
        parallel::map(model.len(), |image| model.best(image, scores))
    }
}

impl Form for ImageForm {
    fn write(&self, _settings: &Settings, file: &mut Container) {
        match &self.shape {
            ImageShape::Plates { height, widths, loss } => {
                let loss = loss.name().into();
                file.put_key("plates", PlatesKey { height: *height, widths: widths.clone(), loss });
            }
            ImageShape::Parts { shape, .. } => {
                let TreeShape { width, height, channels, parents, scale } = shape.clone();
                file.put_key("parts", PartsKey { width, height, channels, parents, scale });
            }
        }
        file.put_list("weights", &self.weights);
    }

    fn weights(&self) -> Vec<&[f64]> {
        vec![&self.weights]
    }

    fn reading(&self) -> Reading<'_> {
        Reading::from(match self.shape {
            ImageShape::Plates { .. } => DataKind::Plates,
            ImageShape::Parts { .. } => DataKind::Parts,
        })
    }

    fn predict(&self, data: Data<'_>, _wanted: Wanted) -> Result<Predictions, String> {
        let outputs = match structure(data.images()?, &self.shape)? {
            Structure::Plates(model) => {
                let items = |output: &[u16]| output.iter().map(|&a| vec![u32::from(a)]).collect();
                self.best(&model).iter().map(|output| items(output)).collect()
            }
            Structure::Parts(model) => {
                let height = model.shape().height as u32;
                let items = |output: &[u32]| {
                    output.iter().map(|place| vec![place / height, place % height]).collect()
                };
                self.best(&model).iter().map(|output| items(output)).collect()
            }
        };
        Ok(Predictions::new(Vec::new(), Outputs::Structures(outputs)))
    }

    fn evaluate(&self, data: Data<'_>) -> Result<Evaluation, String> {
        let data = data.images()?;
        if !data.are_labelled() {
            return Err("the images have no labels to compare with".into());
        }
        // The loss, the wrong columns or parts, and all columns or parts of each image.
        let (found, [unit, loss]): (Vec<(f64, f64, usize)>, _) = match structure(data, &self.shape)?
        {
            Structure::Plates(model) => {
                let compare = |(image, output): (usize, _)| {
                    let wrong = model.loss(image, output);
                    (wrong, wrong, model.columns(image))
                };
                let found = self.best(&model).iter().enumerate().map(compare).collect();
                (found, ["columns", "wrong columns an image"])
            }
            Structure::Parts(model) => {
                let model = in_units(model, self.unit)?;
                let outputs = self.best(&model);
                let compare = |image: usize| {
                    let (truth, output) = (model.truth(image), &outputs[image]);
                    let astray = truth.iter().zip(output).filter(|(a, b)| a != b).count();
                    (model.loss(image, output), astray as f64, truth.len())
                };
                let found = (0..outputs.len()).map(compare).collect();
                (found, ["parts", "mean deviation"])
            }
        };
        let images = found.len();
        let units = found.iter().map(|image| image.2).sum();
        let sum = |of: fn(&(f64, f64, usize)) -> f64| found.iter().map(of).sum::<f64>();
        let wrong_images = found.iter().filter(|image| image.1 > 0.0).count() as f64;
        let mut evaluation =
            Evaluation { counts: vec![("examples", images), (unit, units)], ..Default::default() };
        let error = share(sum(|image| image.1), units);
        evaluation.measure("error", "error", error, format!("on {units} {unit}"));
        let error = share(wrong_images, images);
        evaluation.measure("image_error", "image error", error, format!("on {images} images"));
        let mean = share(sum(|image| image.0), images);
        evaluation.number("loss", loss, Some(mean), Style::Number);
        Ok(evaluation)
    }

    fn describe(&self) -> Description {
        let mut about = Description { trained_on: "images".into(), ..Description::default() };
        about.key("features", self.weights.len());
        let images = match &self.shape {
            ImageShape::Plates { height, widths, loss } => {
                about.key("height", *height);
                about.key("widths", widths.clone());
                format!("{} characters on {height} rows, loss {}", widths.len(), loss.name())
            }
            ImageShape::Parts { shape, templates } => {
                about.key("grid", vec![shape.width, shape.height]);
                about.key("channels", shape.channels);
                about.key("parents", shape.parents.clone());
                let looks: Vec<String> = templates.iter().map(Template::to_string).collect();
                about.key("part_templates", looks.clone());
                let seen = match templates.iter().all(|template| *template == Template::default()) {
                    true => String::new(),
                    false => format!(", templates {}", looks.join(" ")),
                };
                format!(
                    "{} parts on {} x {} places with {} channels{seen}",
                    shape.parents.len() + 1,
                    shape.width,
                    shape.height,
                    shape.channels
                )
            }
        };
        about.line("images", images);
        about
    }

    fn plain<'a>(&'a self, audited: Audited<'a>) -> Result<Vec<Plain<'a>>, String> {
        let data = audited.data.images()?;
        let losses: Box<dyn PlainLoss + 'a> = match (&self.shape, data) {
            (
                ImageShape::Plates { height, widths, loss },
                Images::Plates { height: h, widths: w, plates, labelled: true },
            ) if height == h && widths == w => {
                let by_label = *loss == SegmentLoss::Label;
                let is_rescaled = audited.facts.settings.get(&RESCALING) == Rescaling::Slack;
                Box::new(PlainPlates { height: *h, widths: w, plates, by_label, is_rescaled })
            }
            (
                ImageShape::Parts { shape, templates },
                Images::Parts { shape: found, images, labelled: true },
            ) if shape == found => {
                Box::new(PlainParts { shape, templates, images, unit: self.unit })
            }
            _ => {
                let what =
                    "the images are not of the kind and shape that the model's weights are for";
                return Err(what.into());
            }
        };
        audited.problem(losses, &vec![1; data.len()], Penalty::of, &self.weights)
    }
}
