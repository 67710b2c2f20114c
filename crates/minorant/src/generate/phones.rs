//! Phone-like recordings: sequences of labels, each spoken as three sounds in a row, with frames
//! that overlap between sounds. Neighbouring frames and features are correlated, as in speech, so
//! that hidden Markov models with diagonal Gaussians are not the truth.

use minorant_data::{Label, LabelRows, Labels, Recordings};
use minorant_linalg::elementary;
use minorant_linalg::{Matrix, Storage};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;

/// The sizes of the recordings that are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phones {
    /// Sequences.
    pub sequences: usize,
    /// Labels.
    pub labels: usize,
    /// Numbers in a frame.
    pub features: usize,
    /// How far frames stray from their sound, where sounds are 1 apart from the middle.
    pub noise: f64,
}

impl Default for Phones {
    fn default() -> Self {
        Phones { sequences: 100, labels: 8, features: 6, noise: 1.5 }
    }
}

/// Sounds of a label.
const SOUNDS: usize = 3;
/// Labels in a sequence.
const LENGTH: std::ops::RangeInclusive<usize> = 5..=12;
/// The probability that a sound goes on for another frame.
const STAY: f64 = 0.6;
/// How much of a frame's noise the next one has too.
const MEMORY: f64 = 0.6;
/// How loud the noise of the channel is, which all features hear.
const CHANNEL: f64 = 2.5;

/// Recordings with a label for each frame. Those of the same `seed` share their sounds; `part`
/// draws other sequences.
pub fn phones(size: Phones, seed: u64, part: u64) -> Recordings {
    let normal = |rng: &mut Pcg64Mcg| -> f64 { StandardNormal.sample(rng) };
    let d = size.features;
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let sounds: Vec<f64> = (0..size.labels * SOUNDS * d).map(|_| normal(&mut rng)).collect();
    // Each label is loud in its own features; the channel is heard in all of them.
    let loudness: Vec<f64> = (0..size.labels * d)
        .map(|_| size.noise * elementary::exp(0.4 * normal(&mut rng)))
        .collect();
    let channel: Vec<f64> = (0..d).map(|_| CHANNEL * size.noise * normal(&mut rng)).collect();
    // Some labels follow a label more often than others.
    let follows: Vec<f64> =
        (0..size.labels * size.labels).map(|_| elementary::repeated(rng.random(), 3)).collect();
    let mut rng = Pcg64Mcg::seed_from_u64(seed ^ (part + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let (mut values, mut starts, mut labels) = (Vec::new(), vec![0], Vec::new());
    for _ in 0..size.sequences {
        let mut label = rng.random_range(0..size.labels);
        let (mut noise, mut hum) = (vec![0.0; d], 0.0);
        for _ in 0..rng.random_range(LENGTH) {
            for sound in 0..SOUNDS {
                loop {
                    hum = MEMORY * hum + (1.0 - MEMORY) * normal(&mut rng);
                    for j in 0..d {
                        noise[j] = MEMORY * noise[j] + (1.0 - MEMORY) * normal(&mut rng);
                        let center = sounds[(label * SOUNDS + sound) * d + j];
                        let x = center + loudness[label * d + j] * noise[j] + hum * channel[j];
                        // Three decimals, so that the values are those of a file of text too.
                        values.push((1000.0 * x).round() / 1000.0);
                    }
                    labels.push(label as u32);
                    if rng.random::<f64>() >= STAY {
                        break;
                    }
                }
            }
            label = draw(&follows[label * size.labels..(label + 1) * size.labels], &mut rng);
        }
        starts.push(labels.len());
    }
    // The arrays are made to fit; an error here would be one of this function.
    let frames = Matrix::dense(labels.len(), d, Storage::Exact.store(values));
    let frames = frames.unwrap_or_else(|error| unreachable!("generated matrix: {error}"));
    let classes = (0..size.labels).map(|label| Label::Number(label as f64)).collect();
    Recordings { frames, starts, labels: Labels { classes, rows: LabelRows::Single(labels) } }
}

/// A number drawn by weights.
fn draw(weights: &[f64], rng: &mut Pcg64Mcg) -> usize {
    let mut left = rng.random::<f64>() * weights.iter().sum::<f64>();
    for (at, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return at;
        }
    }
    weights.len() - 1
}
