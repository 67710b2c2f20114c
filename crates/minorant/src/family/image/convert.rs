//! Images as they are read, and the structures that they are for the mathematics.

use super::{ImageShape, NORMALISE, TreeSvm};
use crate::family::Settings;
use crate::risk::{ExampleWeights, Risk};
use crate::structured::segment::{Plate, Segmentation};
use crate::structured::tree::{PartsImage, Tree, TreeShape};
use crate::structured::{MarginRisk, SlackRescaled};
use minorant_data::Images;

impl From<minorant_data::Plate> for Plate {
    fn from(plate: minorant_data::Plate) -> Self {
        Plate { pixels: plate.pixels, characters: plate.characters }
    }
}

impl From<minorant_data::PartsImage> for PartsImage {
    fn from(image: minorant_data::PartsImage) -> Self {
        PartsImage { pixels: image.pixels, places: image.places }
    }
}

impl From<minorant_data::TreeShape> for TreeShape {
    fn from(shape: minorant_data::TreeShape) -> Self {
        let minorant_data::TreeShape { width, height, channels, parents, scale } = shape;
        TreeShape { width, height, channels, parents, scale }
    }
}

/// Images as a structure.
pub(super) enum Structure {
    Plates(Segmentation),
    Parts(Tree),
}

fn all<T: Clone, U: From<T>>(images: &[T]) -> Vec<U> {
    images.iter().cloned().map(Into::into).collect()
}

/// The structure of images of this shape, with their true outputs where they are labelled.
pub(super) fn structure(data: &Images, shape: &ImageShape) -> Result<Structure, String> {
    Ok(match (shape, data) {
        (
            ImageShape::Plates { height, widths, loss },
            Images::Plates { height: h, widths: w, plates, labelled },
        ) if height == h && widths == w => Structure::Plates(match labelled {
            true => Segmentation::new(*h, w.clone(), all(plates), *loss)?,
            false => Segmentation::unlabelled(*h, w.clone(), all(plates), *loss),
        }),
        (
            ImageShape::Parts { shape, templates },
            Images::Parts { shape: found, images, labelled },
        ) if shape == found => {
            let tree = match labelled {
                true => Tree::new(shape.clone().into(), all(images))?,
                false => Tree::unlabelled(shape.clone().into(), all(images))?,
            };
            Structure::Parts(tree.looking_at(templates)?)
        }
        _ => {
            return Err("the images are not of the shape that the model was trained on (rows and \
                        widths of characters, or grid, channels and tree of parts)"
                .into());
        }
    })
}

/// The two parts, numbered from 0, by whose distance losses are divided.
pub(super) fn unit(settings: &Settings) -> Result<Option<[usize; 2]>, String> {
    if settings.model() != TreeSvm::MODEL.name {
        return Ok(None);
    }
    match settings.get(&NORMALISE).as_deref() {
        None => Ok(None),
        Some(&[a, b]) => Ok(Some([a as usize - 1, b as usize - 1])),
        Some(_) => Err("expected two parts, such as 1,2, to divide losses by".into()),
    }
}

/// The trees with their losses in units of these two parts' distance.
pub(super) fn in_units(model: Tree, unit: Option<[usize; 2]>) -> Result<Tree, String> {
    if let Some(unit) = unit { model.normalised_by(unit) } else { Ok(model) }
}

/// The risk of images, each with its share; with slack rescaling, or with losses divided by the distance
/// of two parts, where that is asked for.
pub(super) fn risk(
    data: &Images,
    shape: &ImageShape,
    shares: ExampleWeights,
    (is_rescaled, unit): (bool, Option<[usize; 2]>),
) -> Result<Box<dyn Risk>, String> {
    Ok(match structure(data, shape)? {
        Structure::Plates(model) if is_rescaled => {
            Box::new(MarginRisk::new(SlackRescaled::new(model)?, shares))
        }
        Structure::Plates(model) => Box::new(MarginRisk::new(model, shares)),
        Structure::Parts(model) => Box::new(MarginRisk::new(in_units(model, unit)?, shares)),
    })
}
