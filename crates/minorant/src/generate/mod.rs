//! Data sets that Minorant makes itself, for demonstrations and tests: seeded, the same on every
//! machine. One file a kind; the common ones stand here.

mod clouds;
mod parts;
mod phones;
mod plates;

pub use clouds::{Clouds, CloudsOptions, clouds};
pub use parts::{parts, parts_shape};
pub use phones::{Phones, phones};
pub use plates::{PlatesOptions, plates};

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
