//! Two clouds in the plane that no line separates: moons and spirals. A few labels are enough for
//! whoever sees the clouds.

use super::points_with_labels;
use minorant_data::Dataset;
use minorant_linalg::elementary;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;
use std::f64::consts::PI;

/// The shape of the clouds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clouds {
    /// Two half circles that reach into each other.
    Moons,
    /// Two spirals of one and a half turns.
    Spirals,
}

/// What clouds are made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CloudsOptions {
    /// The shape of the clouds.
    pub clouds: Clouds,
    /// Number of points.
    pub examples: usize,
    /// Standard deviation of the noise in each coordinate.
    pub noise: f64,
    /// Points that keep their label, half of them of each class; all of them if not given.
    pub labeled: Option<usize>,
    /// Seed.
    pub seed: u64,
    /// Points to leave out first: others of the same seed, for testing.
    pub skip: usize,
}

impl Clouds {
    /// Noise that leaves the clouds apart.
    pub fn usual_noise(self) -> f64 {
        match self {
            Clouds::Moons => 0.1,
            Clouds::Spirals => 0.02,
        }
    }
}

/// The golden section.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// Draws the points; labels are −1 and 1, and 0 where they are left out.
pub fn clouds(options: &CloudsOptions) -> Dataset<'static> {
    let mut rng = Pcg64Mcg::seed_from_u64(options.seed);
    // Points lie evenly along the moons, as they usually do; by steps of the golden section any
    // stretch of them does.
    let mut along = match options.clouds {
        Clouds::Moons => [rng.random(), rng.random()],
        Clouds::Spirals => [0.0; 2],
    };
    let mut rows = Vec::with_capacity(options.examples);
    for i in 0..options.skip + options.examples {
        // The classes take turns, so that any stretch has as many of both.
        let positive = i % 2 == 1;
        let along = &mut along[usize::from(positive)];
        *along = match options.clouds {
            Clouds::Moons => (*along + GOLDEN).fract(),
            Clouds::Spirals => rng.random(),
        };
        let (x, y) = match options.clouds {
            Clouds::Moons => {
                let (sin, cos) = elementary::sin_cos(PI * *along);
                if positive { (cos, sin) } else { (1.0 - cos, 0.5 - sin) }
            }
            Clouds::Spirals => {
                // Points lie evenly along the arm, which grows longer outwards.
                let reach = 0.1 + 0.9 * along.sqrt();
                let turn = 3.0 * PI * reach + if positive { 0.0 } else { PI };
                let (sin, cos) = elementary::sin_cos(turn);
                (reach * cos, reach * sin)
            }
        };
        let mut noisy = |value: f64| {
            let draw: f64 = StandardNormal.sample(&mut rng);
            value + options.noise * draw
        };
        let point = [noisy(x), noisy(y)];
        if i >= options.skip {
            rows.push((point, positive));
        }
    }
    let keep = options.labeled.unwrap_or(options.examples);
    // The first points of each class keep their labels: they lie anywhere.
    let mut left = [keep / 2, keep - keep / 2];
    if options.labeled.is_none() {
        left = [keep; 2];
    }
    let labels: Vec<i8> = rows
        .iter()
        .map(|(_, positive)| {
            let left = &mut left[usize::from(*positive)];
            if *left == 0 {
                return 0;
            }
            *left -= 1;
            if *positive { 1 } else { -1 }
        })
        .collect();
    let values = rows.iter().flat_map(|(row, _)| *row).collect();
    points_with_labels(2, values, &labels)
}
