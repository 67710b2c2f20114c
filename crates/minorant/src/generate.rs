//! Data sets that Minorant makes itself, for demonstrations and tests: seeded, the same on every
//! machine.

mod clouds;

pub use clouds::{Clouds, CloudsOptions, clouds};

use crate::structured::segment::Plate;
use crate::structured::tree::{PartsImage, TreeShape};
use minorant_data::{Dataset, Label, LabelRows, Labels};
use minorant_linalg::{Matrix, Storage};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;
use std::fmt::Write;

/// Two classes on either side of a plane through sparse features of very different scales, with a
/// tenth of the labels flipped: a problem on which the objective's kinks matter. Data sets of the
/// same `seed` share the plane; `part` draws other rows.
pub fn noisy_plane(rows: usize, features: usize, seed: u64, part: u64) -> Dataset<'static> {
    let mut plane_rng = Pcg64Mcg::seed_from_u64(seed);
    let plane: Vec<f64> = (0..features).map(|_| StandardNormal.sample(&mut plane_rng)).collect();
    let scales: Vec<f64> = (0..features).map(|j| 2f64.powi(-(j as i32 % 6))).collect();
    let mut rng = Pcg64Mcg::seed_from_u64(seed ^ (part + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let (mut row_starts, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
    let mut labels = Vec::with_capacity(rows);
    for _ in 0..rows {
        let mut side = 0.0;
        for j in 0..features {
            if rng.random::<f64>() < 0.3 {
                let draw: f64 = StandardNormal.sample(&mut rng);
                // Three decimals, so that the text files are short and exact.
                let x = (draw * scales[j] * 1000.0).round() / 1000.0;
                if x != 0.0 {
                    side += plane[j] * x;
                    columns.push(j as u32);
                    values.push(x);
                }
            }
        }
        row_starts.push(columns.len() as u64);
        let flip = rng.random::<f64>() < 0.1;
        labels.push(u32::from((side > 0.0) != flip));
    }
    let values = Storage::Exact.store(values);
    // The arrays are made to fit; an error here would be one of this function.
    let matrix = Matrix::csr(features, row_starts, columns, values);
    let features = matrix.unwrap_or_else(|error| unreachable!("generated matrix: {error}"));
    let classes = vec![Label::Number(-1.0), Label::Number(1.0)];
    Dataset { features, labels: Labels { classes, rows: LabelRows::Single(labels) } }
}

/// Rows of `features` values each, with labels −1, 0 and 1.
fn points_with_labels(features: usize, values: Vec<f64>, labels: &[i8]) -> Dataset<'static> {
    let present: Vec<i8> = [-1, 0, 1].into_iter().filter(|label| labels.contains(label)).collect();
    let number = |label: &i8| present.iter().position(|other| other == label).unwrap_or(0) as u32;
    let rows = labels.iter().map(number).collect();
    // The values are made to fit; an error here would be one of this module.
    let matrix = Matrix::dense(labels.len(), features, Storage::Exact.store(values));
    let features = matrix.unwrap_or_else(|error| unreachable!("generated matrix: {error}"));
    let classes = present.iter().map(|label| Label::Number(f64::from(*label))).collect();
    Dataset { features, labels: Labels { classes, rows: LabelRows::Single(rows) } }
}

/// A data set as LIBSVM text.
pub fn to_libsvm(data: &Dataset<'_>) -> String {
    let mut text = String::new();
    for i in 0..data.features.rows() {
        let labels =
            data.labels.row(i).iter().map(|&z| data.labels.classes[z as usize].to_string());
        text.push_str(&labels.collect::<Vec<_>>().join(","));
        for (j, x) in data.features.row(i).filter(|(_, x)| *x != 0.0) {
            // Writing to a string cannot fail.
            let _ = write!(text, " {}:{x}", j + 1);
        }
        text.push('\n');
    }
    text
}

/// A linear congruential generator that anybody can write again in a line.
#[derive(Debug, Clone)]
pub struct Lcg(u64);

impl Lcg {
    /// The generator that starts from `seed`.
    pub fn new(seed: u64) -> Self {
        Lcg(seed)
    }

    /// A number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number from −1 to 1.
    pub fn signed(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }

    /// A whole number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        (count as f64 * self.unit()) as usize
    }
}

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

/// The shape of [`parts`]: four parts on a grid of 5 by 5 places with three channels.
pub fn parts_shape() -> TreeShape {
    TreeShape { width: 5, height: 5, channels: 3, parents: vec![0, 0, 2], scale: 4.0 }
}

/// Images in which the parts of a face-like object stand out of noise.
pub fn parts(seed: u64, images: usize) -> Vec<PartsImage> {
    const OFFSETS: [(i64, i64); 4] = [(0, 0), (-1, -1), (1, -1), (1, 1)];
    let mut rng = Lcg::new(seed);
    let image = |rng: &mut Lcg| {
        let (cx, cy) = (1 + rng.below(3) as i64, 1 + rng.below(3) as i64);
        let mut places = Vec::new();
        for (part, (ox, oy)) in OFFSETS.into_iter().enumerate() {
            let (jx, jy) = (rng.below(3) as i64 - 1, rng.below(3) as i64 - 1);
            let (jx, jy) = if part == 0 { (0, 0) } else { (jx, jy) };
            let (x, y) = ((cx + ox + jx).clamp(0, 4), (cy + oy + jy).clamp(0, 4));
            places.push((x * 5 + y) as u32);
        }
        let mut pixels: Vec<f64> = (0..5 * 5 * 3).map(|_| rng.signed()).collect();
        for (part, &place) in places.iter().enumerate() {
            pixels[place as usize * 3 + part % 3] += 1.0;
        }
        PartsImage { pixels, places: places.into() }
    };
    (0..images).map(|_| image(&mut rng)).collect()
}
