//! Columns in which no row has an entry: their weights rest at 0 whatever the others do. Where data is
//! much wider than what occurs in it, a problem is solved over the columns that occur, and what was found
//! is spread out over all of them again. Which problem that is and how it is solved stands elsewhere.

use super::Rows;
use crate::options::common::BOUNDS;
use crate::proof::Proof;
use crate::solver::{MANY_WEIGHTS, Outcome};
use crate::trace::{Observer, TraceRecord};
use minorant_data::Dataset;

/// Columns at least for each one that occurs: with fewer there is little to save.
const WIDE: usize = 2;

/// The columns that occur in data that is much wider.
#[derive(Debug)]
pub(super) struct Occurring {
    columns: Vec<u32>,
    /// Columns of the data.
    all: usize,
    has_bias: bool,
}

impl Occurring {
    /// The columns that occur, where these are few. Bounds may keep the weights of the others from 0.
    pub(super) fn of(rows: &Rows<'_>) -> Option<Self> {
        let features = &rows.data.features;
        let all = features.cols();
        if !features.is_sparse() || all < MANY_WEIGHTS || rows.settings.get(&BOUNDS).is_some() {
            return None;
        }
        let columns = features.filled_columns();
        let is_wide = !columns.is_empty() && WIDE * columns.len() <= all;
        is_wide.then(|| Occurring { columns, all, has_bias: rows.design.bias().is_some() })
    }

    /// The rows with these columns alone.
    pub(super) fn narrowed<'d>(&self, data: &'d Dataset<'_>) -> Dataset<'d> {
        let features = data.features.narrowed(&self.columns);
        Dataset { features, labels: data.labels.clone() }
    }

    /// Features of the narrow problem, and of the whole.
    fn features(&self) -> [usize; 2] {
        [self.columns.len(), self.all].map(|columns| columns + usize::from(self.has_bias))
    }

    /// The share of the whole that the narrow problem is.
    pub(super) fn share_of(&self, bytes: u64) -> u64 {
        let [narrow, whole] = self.features();
        (u128::from(bytes) * narrow as u128 / whole as u128) as u64
    }

    /// Where each narrow feature is in the whole.
    fn places(&self) -> impl Iterator<Item = usize> {
        let bias = self.has_bias.then_some(self.all);
        self.columns.iter().map(|&column| column as usize).chain(bias)
    }

    /// The weights of the columns that occur, of `problems` problems one after the other.
    pub(super) fn gather(&self, weights: &[f64], problems: usize) -> Vec<f64> {
        let k = weights.len() / (problems * self.features()[1]);
        let of_problem = |w: &[f64]| -> Vec<f64> {
            self.places().flat_map(|at| w[at * k..(at + 1) * k].to_vec()).collect()
        };
        weights.chunks_exact(weights.len() / problems).flat_map(of_problem).collect()
    }

    /// Weights with those of all columns.
    fn spread(&self, weights: &[f64]) -> Vec<f64> {
        let [narrow, whole] = self.features();
        let k = weights.len() / narrow;
        let mut all = vec![0.0; whole * k];
        for (at, w) in self.places().zip(weights.chunks_exact(k)) {
            all[at * k..(at + 1) * k].copy_from_slice(w);
        }
        all
    }

    /// The outcome of a narrow problem as one of the whole.
    pub(super) fn spread_outcome(&self, mut outcome: Outcome) -> Outcome {
        outcome.point.w = self.spread(&outcome.point.w);
        if let Some(Proof::Points(points)) = &mut outcome.proof {
            points.iter_mut().for_each(|point| point.w = self.spread(&point.w).into());
        }
        outcome
    }
}

/// Shows the runs on narrow problems to somebody who watches the whole.
pub(super) struct Spreading<'o> {
    pub(super) occurring: &'o Occurring,
    pub(super) observer: &'o mut dyn Observer,
}

impl Observer for Spreading<'_> {
    fn best(&mut self, w: &[f64]) {
        if self.observer.wants_best() {
            self.observer.best(&self.occurring.spread(w));
        }
    }

    fn iteration(&mut self, record: &TraceRecord) {
        self.observer.iteration(record);
    }

    fn preparing(&mut self, what: &str) {
        self.observer.preparing(what);
    }

    fn wants_best(&self) -> bool {
        self.observer.wants_best()
    }
}
