//! The risk of maximum likelihood, of any structured model that can sum over its outputs: the
//! weighted sum over examples of −log p(truth). Smooth and convex; one sum over the outputs of
//! each example is one evaluation.

use super::Likelihood;
use super::layout::{At, Layout};
use crate::risk::chunk::{BlockSums, ChunkPlane};
use crate::risk::{Cancel, ExampleWeights, Examples, Plane, Point, Risk, RiskError};
use std::ops::Range;

/// Maximum likelihood.
#[derive(Debug)]
pub struct LikelihoodRisk<M> {
    model: M,
    weights: ExampleWeights,
    layout: Layout,
}

impl<M: Likelihood> LikelihoodRisk<M> {
    /// The risk of a model.
    pub fn new(model: M, weights: ExampleWeights) -> Self {
        let layout = Layout::new(&model);
        LikelihoodRisk { model, weights, layout }
    }

    /// The model.
    pub fn model(&self) -> &M {
        &self.model
    }

    fn chunk_plane(&self, chunk: Range<usize>, at: &At<'_, M>) -> ChunkPlane {
        let mut plane = ChunkPlane::default();
        let mut normal = self.layout.spare.zeros(self.model.dim());
        let (mut own, mut of_own) = (Vec::new(), Vec::new());
        let mut of_shared = vec![0.0; self.model.shared_scores()];
        let mut unfolded = vec![0.0; self.model.unfolded()];
        let (mut roundings, mut offset_error, mut shared_size) = (0.0f64, 0.0, 0.0);
        for i in chunk {
            let scores = at.scores(i, &mut own);
            of_own.resize(scores.own.len(), 0.0);
            let weight = self.weights.of(i);
            let loss = self.model.log_loss(i, scores, weight, &mut of_own, &mut of_shared);
            let length = self.model.add_back_own(i, weight, &of_own, &mut normal, &mut unfolded);
            roundings = roundings.max(loss.roundings);
            offset_error += f64::EPSILON * loss.roundings * weight * loss.size;
            shared_size += weight * loss.roundings * loss.shared_size;
            let sums = BlockSums {
                value: weight * loss.value,
                offset: weight * loss.offset,
                offset_size: weight * loss.size,
                normal_size: length,
            };
            plane.add(1, sums);
        }
        self.model.fold_back(&unfolded, &mut normal);
        self.model.add_back_shared(&of_shared, &mut normal);
        plane.normal = normal;
        plane.own_error(roundings, shared_size, offset_error);
        plane
    }
}

impl<M: Likelihood> Risk for LikelihoodRisk<M> {
    fn dim(&self) -> usize {
        self.model.dim()
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn is_smooth(&self) -> bool {
        true
    }

    fn is_nonnegative(&self) -> bool {
        true
    }

    fn at(&self, w: Vec<f64>, cancel: &Cancel) -> Result<Point, RiskError> {
        self.layout.point(&self.model, w, cancel, |i, scores| {
            let mut of_own = vec![0.0; scores.own.len()];
            let mut of_shared = vec![0.0; self.model.shared_scores()];
            let loss = self.model.log_loss(i, scores, 0.0, &mut of_own, &mut of_shared);
            self.weights.of(i) * loss.value
        })
    }

    fn planes(
        &self,
        point: &Point,
        parts: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Plane>, RiskError> {
        Ok(self.at_with_planes(point.w.clone(), parts, cancel)?.1)
    }

    fn at_with_planes(
        &self,
        w: Vec<f64>,
        parts: usize,
        cancel: &Cancel,
    ) -> Result<(Point, Vec<Plane>), RiskError> {
        let plane = |chunk: Range<usize>, at: &At<'_, M>| self.chunk_plane(chunk, at);
        self.layout.point_with_planes(&self.model, w, parts, cancel, plane)
    }

    fn max_parts(&self) -> usize {
        self.model.len()
    }

    fn examples(&self) -> Option<&dyn Examples> {
        Some(self)
    }
}

impl<M: Likelihood> Examples for LikelihoodRisk<M> {
    fn len(&self) -> usize {
        self.model.len()
    }

    fn add_subgradient(&self, example: usize, w: &[f64], step: f64, gradient: &mut [f64]) -> f64 {
        let at = At::new(&self.model, w);
        let mut own = Vec::new();
        let scores = at.scores(example, &mut own);
        let mut of_own = vec![0.0; scores.own.len()];
        let mut of_shared = vec![0.0; self.model.shared_scores()];
        let weight = self.weights.of(example);
        let loss = self.model.log_loss(example, scores, step * weight, &mut of_own, &mut of_shared);
        self.model.add_back_own(example, step * weight, &of_own, gradient, &mut []);
        self.model.add_back_shared(&of_shared, gradient);
        weight * loss.value
    }
}
