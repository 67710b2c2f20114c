//! The risk of maximum likelihood, of any structured model that can sum over its outputs: the
//! weighted sum over examples of −log p(truth). Smooth and convex; one sum over the outputs of
//! each example is one evaluation.

use super::layout::At;
use super::risk::{Cost, Costs, StructuredRisk};
use super::{Likelihood, LogLoss, Scores};
use crate::risk::chunk::{BlockSums, ChunkPlane};
use std::ops::Range;

/// Maximum likelihood.
pub type LikelihoodRisk<M> = StructuredRisk<M, LogLikelihood>;

/// An example costs −log p(truth).
#[derive(Debug)]
pub struct LogLikelihood;

/// How far rounding may have moved a loss: it is the difference of two numbers of its size.
fn error_of(loss: &LogLoss) -> f64 {
    f64::EPSILON * loss.roundings * (2.0 * loss.size + loss.value.abs())
}

impl<M: Likelihood> Cost<M> for LogLikelihood {
    const IS_SMOOTH: bool = true;

    fn is_convex(_model: &M) -> bool {
        true
    }

    fn value(risk: &LikelihoodRisk<M>, example: usize, scores: Scores<'_>, _w: &[f64]) -> Costs {
        let mut of_own = vec![0.0; scores.own.len()];
        let mut of_shared = vec![0.0; risk.model.shared_scores()];
        let loss = risk.model.log_loss(example, scores, 0.0, &mut of_own, &mut of_shared);
        Costs { value: loss.value, error: error_of(&loss) }
    }

    fn plane<'r>(
        risk: &'r LikelihoodRisk<M>,
        chunk: Range<usize>,
        at: &At<'_, M>,
    ) -> ChunkPlane<'r> {
        let model = &risk.model;
        let mut plane = ChunkPlane::new(&risk.layout.spare);
        let mut normal = risk.layout.spare.zeros(model.dim());
        let (mut own, mut of_own) = (Vec::new(), Vec::new());
        let mut of_shared = vec![0.0; model.shared_scores()];
        let mut unfolded = vec![0.0; model.unfolded()];
        let (mut roundings, mut offset_error, mut shared_size) = (0.0f64, 0.0, 0.0);
        for i in chunk {
            let scores = at.scores(i, &mut own);
            of_own.resize(scores.own.len(), 0.0);
            let weight = risk.weights.of(i);
            let loss = model.log_loss(i, scores, weight, &mut of_own, &mut of_shared);
            let length = model.add_back_own(i, weight, &of_own, &mut normal, &mut unfolded);
            plane.add_value_error(weight * error_of(&loss));
            roundings = roundings.max(loss.roundings);
            offset_error += f64::EPSILON * loss.roundings * weight * loss.size;
            shared_size += weight * loss.roundings * loss.shared_size;
            let sums = BlockSums {
                value: weight * loss.value,
                offset: weight * loss.offset,
                offset_size: weight * loss.size,
                normal_size: length,
            };
            plane.add_block(1, sums);
        }
        model.fold_back(&unfolded, &mut normal);
        model.add_back_shared(&of_shared, &mut normal);
        plane.normal = normal;
        plane.own_error(roundings, shared_size, offset_error);
        plane
    }

    fn add_subgradient(
        model: &M,
        example: usize,
        at: &At<'_, M>,
        step: f64,
        gradient: &mut [f64],
    ) -> f64 {
        let mut own = Vec::new();
        let scores = at.scores(example, &mut own);
        let mut of_own = vec![0.0; scores.own.len()];
        let mut of_shared = vec![0.0; model.shared_scores()];
        let loss = model.log_loss(example, scores, step, &mut of_own, &mut of_shared);
        model.add_back_own(example, step, &of_own, gradient, &mut []);
        model.add_back_shared(&of_shared, gradient);
        loss.value
    }
}
