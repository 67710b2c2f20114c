//! The fingerprint that files of Minorant 0.1 have: one SHA-256 over everything from the first row to
//! the last. Such files are audited and resumed by it; nothing new is written with it.

use crate::container::hex;
use minorant_data::{Dataset, Images, LabelRows, Recordings, Sequences};
use minorant_linalg::Matrix;
use sha2::{Digest, Sha256};

/// Data that files of 0.1 were made of.
pub trait InOneStream {
    /// The SHA-256 of all that is in the data, and of the weights of its examples where there are any.
    fn sha256_of_0_1(&self, example_weights: Option<&[f64]>) -> String;
}

impl InOneStream for Dataset<'_> {
    fn sha256_of_0_1(&self, example_weights: Option<&[f64]>) -> String {
        let mut hash = Sha256::new();
        add_rows(&mut hash, &self.features);
        for class in &self.labels.classes {
            hash.update(class.to_string());
            hash.update([0]);
        }
        let mut numbers = |values: &[u32]| values.iter().for_each(|v| hash.update(v.to_le_bytes()));
        match &self.labels.rows {
            // There was no regression in 0.1.
            LabelRows::None | LabelRows::Numbers { .. } => {}
            LabelRows::Single(rows) => numbers(rows),
            LabelRows::Sets { starts, items } => {
                numbers(items);
                starts.iter().for_each(|v| hash.update(v.to_le_bytes()));
            }
        }
        finish(hash, example_weights)
    }
}

impl InOneStream for Sequences {
    fn sha256_of_0_1(&self, example_weights: Option<&[f64]>) -> String {
        let mut hash = Sha256::new();
        add_rows(&mut hash, &self.tokens);
        self.starts.iter().for_each(|&start| hash.update((start as u64).to_le_bytes()));
        for class in &self.classes {
            hash.update(class);
            hash.update([0]);
        }
        self.labels.iter().for_each(|label| hash.update(label.to_le_bytes()));
        finish(hash, example_weights)
    }
}

impl InOneStream for Recordings {
    fn sha256_of_0_1(&self, example_weights: Option<&[f64]>) -> String {
        let mut hash = Sha256::new();
        add_rows(&mut hash, &self.frames);
        self.starts.iter().for_each(|&start| hash.update((start as u64).to_le_bytes()));
        for class in &self.labels.classes {
            hash.update(class.to_string());
            hash.update([0]);
        }
        if let LabelRows::Single(labels) = &self.labels.rows {
            labels.iter().for_each(|label| hash.update(label.to_le_bytes()));
        }
        finish(hash, example_weights)
    }
}

/// The fingerprint of images is that of the arrays which they are written as.
impl InOneStream for Images {
    fn sha256_of_0_1(&self, example_weights: Option<&[f64]>) -> String {
        let mut hash = Sha256::new();
        for named in self.arrays() {
            hash.update(named.name);
            hash.update([0]);
            named.array.shape.iter().for_each(|&axis| hash.update((axis as u64).to_le_bytes()));
            named.array.values.iter().for_each(|value| hash.update(value.to_le_bytes()));
        }
        finish(hash, example_weights)
    }
}

fn finish(mut hash: Sha256, example_weights: Option<&[f64]>) -> String {
    for weight in example_weights.unwrap_or_default() {
        hash.update(weight.to_le_bytes());
    }
    hex(&hash.finalize())
}

fn add_rows(hash: &mut Sha256, matrix: &Matrix<'_>) {
    hash.update((matrix.rows() as u64).to_le_bytes());
    hash.update((matrix.cols() as u64).to_le_bytes());
    let mut buffer = Vec::new();
    for i in 0..matrix.rows() {
        // Zeros are left out, so that dense and sparse storage of the same rows agree.
        for (j, x) in matrix.row(i).filter(|(_, x)| *x != 0.0) {
            buffer.extend_from_slice(&(j as u32).to_le_bytes());
            buffer.extend_from_slice(&x.to_le_bytes());
        }
        buffer.extend_from_slice(&u32::MAX.to_le_bytes());
        if buffer.len() >= 1 << 16 {
            hash.update(&buffer);
            buffer.clear();
        }
    }
    hash.update(&buffer);
}
