//! Hidden Markov models of real-valued frames, trained for large margins (Do and Artières, §5.5):
//! a unit of a few states with mixtures of Gaussians for each class or label, paths
//! through them, the maximum-likelihood start, and the risk of Eq. 21. Every weight is free: means,
//! logarithms of precisions, factors, and logits of choices, so that variances stay positive and
//! probabilities add up to 1 wherever a method goes. No optimiser and no files are in here.

mod forward;
mod risk;
mod scaling;
mod shape;
mod start;
mod statistics;
mod tables;
mod viterbi;

pub use forward::log_likelihood;
pub use risk::{HmmRisk, Truth};
pub use scaling::Scaling;
pub use shape::{Covariance, Group, HmmShape, Task, Topology};
pub use start::maximum_likelihood;
pub use tables::{Densities, Tables, VARIANCES};
pub use viterbi::{Visit, best_path};

/// Sequences of frames as the models see them.
#[derive(Debug, Clone, Copy)]
pub struct Frames<'a> {
    /// The frames, row by row.
    pub values: &'a [f64],
    /// Sequence i has the frames `starts[i]..starts[i + 1]`.
    pub starts: &'a [usize],
    /// Numbers in a frame.
    pub features: usize,
}

impl<'a> Frames<'a> {
    /// Number of sequences.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The frames of one sequence.
    pub fn sequence(&self, at: usize) -> &'a [f64] {
        &self.values[self.starts[at] * self.features..self.starts[at + 1] * self.features]
    }
}
