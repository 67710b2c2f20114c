//! The maximum-likelihood model, which large-margin training starts from and is regularised to:
//! equal shares of a sequence for each state, then rounds of Viterbi training, Gaussians split one
//! after the other until each state has all of its own, and rounds of EM in the end.

use super::forward::add_expectations;
use super::statistics::Statistics;
use super::tables::chunks;
use super::{Densities, Frames, HmmShape, Tables, Truth, Visit, best_path};
use crate::risk::{Cancel, RiskError};
use minorant_linalg::elementary;
use minorant_linalg::parallel::map_chunks;

/// Rounds of Viterbi training after each split, and in the end.
const ROUNDS_AFTER_SPLIT: usize = 4;
const ROUNDS: usize = 12;
/// Rounds of EM.
const EM_ROUNDS: usize = 6;
/// A Gaussian is split into two that lie this many standard deviations to either side.
const SPLIT: f64 = 0.2;

/// The weights that make the sequences most likely, each with its own class or labels; what the
/// sequences count is 1 each unless it is given. Where the time that `cancel` allows is over, they are
/// those of the rounds made by then, of which there is one at the least.
pub fn maximum_likelihood(
    shape: &HmmShape,
    frames: Frames<'_>,
    truth: Truth<'_>,
    counts: Option<&[f64]>,
    cancel: &Cancel,
) -> Result<Vec<f64>, RiskError> {
    let single = HmmShape { mixtures: 1, ..*shape };
    let users = cancel.of_any_length();
    let mut fitting = Fitting { shape: single, frames, truth, counts, cancel: &users };
    let mut w = vec![0.0; fitting.shape.dim()];
    fitting.round(&mut w, Fitting::add_equal_shares)?;
    fitting.cancel = cancel;
    fitting.fit(&mut w, shape.mixtures)?;
    Ok(w)
}

struct Fitting<'a> {
    shape: HmmShape,
    frames: Frames<'a>,
    truth: Truth<'a>,
    counts: Option<&'a [f64]>,
    cancel: &'a Cancel,
}

impl Fitting<'_> {
    /// All rounds but the first, or those that there is time for: Gaussians are split up to the last one
    /// all the same.
    fn fit(&mut self, w: &mut Vec<f64>, mixtures: usize) -> Result<(), RiskError> {
        self.rounds(w, ROUNDS_AFTER_SPLIT, Self::add_best_path)?;
        while self.shape.mixtures < mixtures {
            *w = split(&self.shape, w);
            self.shape.mixtures += 1;
            self.rounds(w, ROUNDS_AFTER_SPLIT, Self::add_best_path)?;
        }
        self.rounds(w, ROUNDS, Self::add_best_path)?;
        self.rounds(w, EM_ROUNDS, Self::add_all_paths)
    }

    /// One round: statistics of all sequences by `add`, then the most likely weights.
    fn round(
        &self,
        w: &mut [f64],
        add: impl Fn(&Self, &Tables, usize, &mut Statistics) + Sync,
    ) -> Result<(), RiskError> {
        let tables = Tables::new(&self.shape, w);
        let chunks = chunks(&self.frames, self.shape.dim());
        let of_chunk = |_: usize, chunk: std::ops::Range<usize>| {
            self.cancel.check()?;
            let mut statistics = Statistics::new(&self.shape);
            for sequence in chunk {
                statistics.weight = self.counts.map_or(1.0, |counts| counts[sequence]);
                add(self, &tables, sequence, &mut statistics);
            }
            Ok(statistics)
        };
        let mut all = Statistics::new(&self.shape);
        for statistics in map_chunks(&chunks, of_chunk) {
            all.add(&statistics?);
        }
        all.fit(&self.shape, w);
        Ok(())
    }

    /// So many rounds, or those that there is time for.
    fn rounds(
        &self,
        w: &mut [f64],
        rounds: usize,
        add: impl Fn(&Self, &Tables, usize, &mut Statistics) + Sync + Copy,
    ) -> Result<(), RiskError> {
        match (0..rounds).try_for_each(|_| self.round(w, add)) {
            Err(RiskError::Cancelled) => self.cancel.of_any_length().check(),
            ended => ended,
        }
    }

    /// The frames that a unit has in a row are shared out evenly among its states.
    fn add_equal_shares(&self, tables: &Tables, sequence: usize, statistics: &mut Statistics) {
        let q = self.shape.states;
        let frames = self.frames.sequence(sequence);
        let length = frames.len() / self.shape.features;
        let unit = |t: usize| self.truth.unit(&self.frames, sequence, t);
        let mut path = Vec::with_capacity(length);
        let mut begin = 0;
        while begin < length {
            let end = (begin..length).find(|&t| unit(t) != unit(begin)).unwrap_or(length);
            path.extend((begin..end).map(|t| Visit {
                state: unit(begin) * q + (t - begin) * q / (end - begin),
                enters: t == begin,
            }));
            begin = end;
        }
        statistics.add_path(tables, &path, frames);
    }

    /// Viterbi training.
    fn add_best_path(&self, tables: &Tables, sequence: usize, statistics: &mut Statistics) {
        let frames = self.frames.sequence(sequence);
        let units = self.truth.units(tables, sequence);
        let densities = tables.best_densities(frames, units);
        let mut path = Vec::new();
        let score =
            self.truth.best_path(tables, &self.frames, sequence, &densities, Some(&mut path));
        if score > f64::NEG_INFINITY {
            statistics.add_path(tables, &path, frames);
        }
    }

    /// EM.
    fn add_all_paths(&self, tables: &Tables, sequence: usize, statistics: &mut Statistics) {
        let unit = |t: usize| self.truth.unit(&self.frames, sequence, t);
        add_expectations(tables, self.frames.sequence(sequence), &unit, statistics);
    }
}

impl Truth<'_> {
    /// The units that true paths of a sequence may pass through.
    fn units(&self, tables: &Tables, sequence: usize) -> std::ops::Range<usize> {
        match self {
            Truth::Classes(classes) => {
                let class = classes[sequence] as usize;
                class..class + 1
            }
            Truth::FrameLabels(_) => 0..tables.shape.units,
        }
    }

    /// The best path through the units that are true.
    pub(super) fn best_path(
        &self,
        tables: &Tables,
        frames: &Frames<'_>,
        sequence: usize,
        densities: &Densities,
        path: Option<&mut Vec<Visit>>,
    ) -> f64 {
        let units = self.units(tables, sequence);
        let is_true = |t: usize, unit: usize| self.unit(frames, sequence, t) == unit;
        best_path(tables, densities, units, |t, unit| is_true(t, unit).then_some(0.0), path)
    }
}

/// The weights of a model with one Gaussian more in each state: its heaviest is split in two.
fn split(shape: &HmmShape, w: &[f64]) -> Vec<f64> {
    let more = HmmShape { mixtures: shape.mixtures + 1, ..*shape };
    let m = shape.mixtures;
    let mut new = vec![0.0; more.dim()];
    let (old_choices, new_choices) = (shape.choices(), more.choices());
    for (old, choice) in old_choices.iter().zip(&new_choices) {
        if old.slots.len() == choice.slots.len() {
            new[choice.weights.clone()].copy_from_slice(&w[old.weights.clone()]);
        }
    }
    // The mixtures' choices come in the order of the states.
    let is_mixture = |choice: &super::shape::Choice| {
        let (first, last) = (shape.slots().mixture(0), shape.slots().len());
        (first..last).contains(&choice.slots[0])
    };
    let mixtures = old_choices.iter().zip(&new_choices).filter(|(old, _)| is_mixture(old));
    for (state, (old, choice)) in mixtures.enumerate() {
        let logits = &w[old.weights.clone()];
        let heaviest = (1..m).fold(0, |best, c| if logits[c] > logits[best] { c } else { best });
        for c in 0..=m {
            let from = if c == m { heaviest } else { c };
            let is_half = from == heaviest;
            let side = if c == m { 1.0 } else { -1.0 };
            new[choice.weights.start + c] =
                logits[from] - if is_half { std::f64::consts::LN_2 } else { 0.0 };
            let (old_g, new_g) = (state * m + from, state * (m + 1) + c);
            let rhos = shape.log_precisions(old_g).zip(more.log_precisions(new_g));
            for ((old_mean, new_mean), (old_rho, new_rho)) in
                shape.means(old_g).zip(more.means(new_g)).zip(rhos)
            {
                let deviation = elementary::exp(-0.5 * w[old_rho]);
                let away = if is_half { side * SPLIT * deviation } else { 0.0 };
                new[new_mean] = w[old_mean] + away;
                new[new_rho] = w[old_rho];
            }
            new[more.factor(new_g)].copy_from_slice(&w[shape.factor(old_g)]);
        }
    }
    new
}
