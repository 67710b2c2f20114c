//! Structured models: outputs that are sequences, segmentations, trees or whatever else has joint
//! features and an argmax. [`StructuredModel`] is all that a structure has to say about itself;
//! [`MarginRisk`] and [`LikelihoodRisk`] make risks of any such model, and no optimiser is written
//! here. Files and data sets stay outside.

pub mod chain;
pub mod graph;
mod layout;
mod likelihood;
mod margin;
mod max_flow;
mod risk;
pub mod segment;
mod slack;
mod template;
pub mod tree;
mod working_sets;

pub use likelihood::{LikelihoodRisk, LogLikelihood};
pub use margin::{Margin, MarginRisk};
pub use risk::StructuredRisk;
pub use slack::{MOST_OUTPUTS, SlackRescaled};

use std::fmt::Debug;
use std::hash::Hash;

/// What an argmax works on: numbers that are linear in the weights.
#[derive(Debug, Clone, Copy)]
pub struct Scores<'s> {
    /// Those of all examples together, as [`StructuredModel::prepare`] left them.
    pub shared: &'s [f64],
    /// Those of one example.
    pub own: &'s [f64],
}

/// Weights to read.
#[derive(Debug, Clone, Copy)]
pub struct Weights<'w> {
    /// All weights, as methods have them.
    pub folded: &'w [f64],
    /// What [`StructuredModel::unfold`] made of all weights; empty where only some examples are looked at.
    pub unfolded: &'w [f64],
}

/// A structure: examples with their true outputs, joint features ψ(x, y), and an argmax.
///
/// Scores are whatever the argmax works on, if it is linear in the weights: a chain's node scores
/// are its examples' own, its transition weights shared by all. Whoever implements none of the
/// four methods on scores gets the weights themselves as shared scores.
pub trait StructuredModel: Sync {
    /// An output. The same output must be equal to itself in every way: it is a key.
    type Output: Clone + Eq + Hash + Send + Sync + Debug;

    /// Number of weights.
    fn dim(&self) -> usize;

    /// Number of examples.
    fn len(&self) -> usize;

    /// Whether there are no examples.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The true output of an example.
    fn truth(&self, example: usize) -> &Self::Output;

    /// Calls `each` with the coordinates of ψ(x, y) that are not zero; one may come several times,
    /// and its values then add up.
    fn for_each_feature(&self, example: usize, output: &Self::Output, each: impl FnMut(usize, f64));

    /// The coordinates of ψ(x, plus) − ψ(x, minus), in the same way.
    #[inline]
    fn for_each_difference(
        &self,
        example: usize,
        plus: &Self::Output,
        minus: &Self::Output,
        mut each: impl FnMut(usize, f64),
    ) {
        self.for_each_feature(example, plus, &mut each);
        self.for_each_feature(example, minus, |at, x| each(at, -x));
    }

    /// Δ: what an output costs where the truth is another; 0 for the truth itself, never negative.
    fn loss(&self, example: usize, output: &Self::Output) -> f64;

    /// The output that maximises score + Δ. It must be a true maximiser: the certificate rests on
    /// it.
    fn worst(&self, example: usize, scores: Scores<'_>) -> Self::Output;

    /// Whether [`StructuredModel::worst_rescaled`] can be asked.
    fn rescales(&self) -> bool {
        false
    }

    /// The output that maximises Δ · (1 + score − score of the truth), for slack rescaling. Asked only of
    /// a model that says that it rescales; of others all outputs must be listed.
    fn worst_rescaled(&self, example: usize, _scores: Scores<'_>) -> Self::Output {
        self.truth(example).clone()
    }

    /// Tells that the worst outputs of these examples will be asked for at these shared scores. A
    /// structure that finds several of them sooner than one by one can look them up now.
    fn look_ahead(&self, _shared: &[f64], _examples: std::ops::Range<usize>) {}

    /// The output that maximises the score: what the model predicts.
    fn best(&self, example: usize, scores: Scores<'_>) -> Self::Output;

    /// Number of scores that all examples share.
    fn shared_scores(&self) -> usize {
        self.dim()
    }

    /// Computes them.
    fn write_shared(&self, w: &[f64], out: &mut [f64]) {
        out.copy_from_slice(w);
    }

    /// Number of an example's own scores.
    fn own_scores(&self, _example: usize) -> usize {
        0
    }

    /// Computes them.
    fn write_own(&self, _example: usize, _weights: Weights<'_>, _out: &mut [f64]) {}

    /// Number of entries of the weights' unfolded copy: a layout that own scores are computed from
    /// sooner, made once for all examples.
    fn unfolded(&self) -> usize {
        0
    }

    /// Makes that copy, in a place full of zeros.
    fn unfold(&self, _w: &[f64], _out: &mut [f64]) {}

    /// The shared scores as the argmax wants them, once for all examples.
    fn prepare(&self, shared: &[f64]) -> Vec<f64> {
        shared.to_vec()
    }

    /// The score w · ψ(x, y).
    #[inline]
    fn score(&self, example: usize, output: &Self::Output, scores: Scores<'_>) -> f64 {
        let mut sum = 0.0;
        self.for_each_feature(example, output, |at, x| sum += x * scores.shared[at]);
        sum
    }

    /// Whether outputs have hidden components that the data does not tell. The risk is then not convex.
    fn is_latent(&self) -> bool {
        false
    }

    /// The output with the highest score among those that the truth allows; the truth itself where
    /// nothing is hidden.
    fn complete(&self, example: usize, _scores: Scores<'_>) -> Self::Output {
        self.truth(example).clone()
    }

    /// Whether the true output of an example is known; where it is not, [`StructuredModel::rivals`] tells
    /// what the example costs instead, and the risk is not convex.
    fn has_truth(&self, _example: usize) -> bool {
        true
    }

    /// The best output of an example without a true one, and for each of its places the best output
    /// that is another one there.
    fn rivals(&self, example: usize, scores: Scores<'_>) -> (Self::Output, Vec<Self::Output>) {
        (self.best(example, scores), Vec::new())
    }

    /// Whether features are fetched anew whenever they are needed, so that examples are best asked for in
    /// their order.
    fn is_streamed(&self) -> bool {
        false
    }

    /// Roughly how many features all examples have together: how fine the work is worth cutting.
    fn entries(&self) -> usize {
        usize::MAX
    }

    /// Why the argmax cannot be found at scores like these, where it cannot: a run that comes there
    /// ends with this sentence.
    fn refusal(&self, _shared: &[f64]) -> Option<String> {
        None
    }

    /// The sizes of what scores and losses are sums of, where the model knows bounds on them; `share`
    /// is what each example counts. Without them, the features of the outputs that a value is made
    /// of are looked at.
    fn sizes(&self, _share: &dyn Fn(usize) -> f64) -> Option<ScoreSizes> {
        None
    }

    /// All outputs of an example, the first ones first; nothing where they are more than `most` or
    /// cannot be listed.
    fn all_outputs(&self, _example: usize, _most: usize) -> Option<Vec<Self::Output>> {
        None
    }

    /// An output as numbers, for proofs and checkpoints.
    fn encode(&self, _output: &Self::Output) -> Option<Vec<u32>> {
        None
    }

    /// The output of an example that numbers stand for; nothing if they are none's.
    fn decode(&self, _example: usize, _code: &[u32]) -> Option<Self::Output> {
        None
    }
}

/// How large the numbers are that scores and losses are sums of, over all outputs and as a weighted
/// sum over the examples: what rounding may do to them depends on it.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreSizes {
    /// Weights of which an output uses one for each feature, and the sum of the features' sizes.
    pub features: Vec<(std::ops::Range<usize>, f64)>,
    /// The sum of the largest losses.
    pub losses: f64,
    /// Roundings that the score of an output goes through.
    pub roundings: f64,
}

impl ScoreSizes {
    /// How far rounding may have moved differences of scores at weights `w` with losses added.
    pub(crate) fn error(&self, w: &[f64]) -> f64 {
        let largest = |w: &[f64]| w.iter().fold(0.0, |most: f64, w| most.max(w.abs()));
        let scores = self.features.iter().map(|(at, size)| size * largest(&w[at.clone()]));
        // One rounding is half of ε; two scores are subtracted from each other.
        f64::EPSILON * self.roundings * (scores.sum::<f64>() + 0.5 * self.losses)
    }
}

/// −log p of an example's truth, as a function of its scores.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LogLoss {
    /// Its value.
    pub value: f64,
    /// The constant term of its tangent: the entropy of the outputs' distribution.
    pub offset: f64,
    /// The size of the numbers that the offset was computed from.
    pub size: f64,
    /// How many roundings deep the derivatives are.
    pub roundings: f64,
    /// The sum of the sizes of the derivatives in the shared scores, or more.
    pub shared_size: f64,
}

/// A structure that can also sum over its outputs.
pub trait Likelihood: StructuredModel {
    /// log Σ_y exp score(y) − score(truth). Its derivatives in the example's own scores are
    /// written to `own`, those in the shared scores (times `weight`) added to `shared`.
    fn log_loss(
        &self,
        example: usize,
        scores: Scores<'_>,
        weight: f64,
        own: &mut [f64],
        shared: &mut [f64],
    ) -> LogLoss;

    /// The transposed of [`StructuredModel::write_own`], times `weight`: from derivatives in the
    /// scores to derivatives in the weights, or in their unfolded copy if `unfolded` is not empty.
    /// Returns the length of what was added, or more.
    fn add_back_own(
        &self,
        example: usize,
        weight: f64,
        own: &[f64],
        to: &mut [f64],
        unfolded: &mut [f64],
    ) -> f64;

    /// The transposed of [`StructuredModel::unfold`].
    fn fold_back(&self, _unfolded: &[f64], _to: &mut [f64]) {}

    /// The transposed of [`StructuredModel::write_shared`].
    fn add_back_shared(&self, shared: &[f64], to: &mut [f64]);
}
