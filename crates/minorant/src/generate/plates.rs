//! Number plates: rows of character templates with noise.

use super::Lcg;
use minorant_data::Plate;

/// What number plates are made of.
#[derive(Debug, Clone, PartialEq)]
pub struct PlatesOptions {
    /// Seed.
    pub seed: u64,
    /// Number of images.
    pub images: usize,
    /// Rows of an image.
    pub height: usize,
    /// Width of each character.
    pub widths: Vec<usize>,
    /// Size of the noise beside templates of size 1.
    pub noise: f64,
    /// Most characters of an image; the fewest are 2.
    pub longest: usize,
}

/// Images that are rows of noisy character templates.
pub fn plates(options: &PlatesOptions) -> Vec<Plate> {
    let mut rng = Lcg::new(options.seed);
    let height = options.height;
    let templates: Vec<Vec<f64>> = options
        .widths
        .iter()
        .map(|width| (0..width * height).map(|_| rng.signed()).collect())
        .collect();
    let plate = |rng: &mut Lcg| {
        let length = 2 + rng.below(options.longest.saturating_sub(1));
        let (mut pixels, mut characters) = (Vec::new(), Vec::new());
        for _ in 0..length {
            let a = rng.below(options.widths.len());
            pixels.extend(templates[a].iter().map(|pixel| pixel + options.noise * rng.signed()));
            characters.push(a as u16);
        }
        Plate { pixels, characters: characters.into() }
    };
    (0..options.images).map(|_| plate(&mut rng)).collect()
}
