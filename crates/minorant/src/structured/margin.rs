//! The risk of margin rescaling, of any structured model: the weighted sum over examples of
//! max over y of Δ(y) + w · ψ(x, y) − w · ψ(x, truth). One oracle call an example is one
//! evaluation. Where outputs have hidden parts, the truth's score is the best one that the data
//! allows, and the risk is not convex.

use super::layout::{At, Layout};
use super::working_sets::OutputSets;
use super::{Scores, StructuredModel};
use crate::risk::chunk::{BlockSums, ChunkPlane};
use crate::risk::{Cancel, ExampleWeights, Examples, Plane, Point, Risk, RiskError, WorkingSets};
use std::ops::Range;

/// Margin rescaling.
#[derive(Debug)]
pub struct MarginRisk<M> {
    model: M,
    weights: ExampleWeights,
    layout: Layout,
}

impl<M: StructuredModel> MarginRisk<M> {
    /// The risk of a model.
    pub fn new(model: M, weights: ExampleWeights) -> Self {
        let layout = Layout::new(&model);
        MarginRisk { model, weights, layout }
    }

    /// The model.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// What an example's score is measured against.
    fn anchor(&self, example: usize, scores: Scores<'_>) -> std::borrow::Cow<'_, M::Output> {
        if self.model.is_latent() {
            std::borrow::Cow::Owned(self.model.complete(example, scores))
        } else {
            std::borrow::Cow::Borrowed(self.model.truth(example))
        }
    }

    /// The value of one example, with its worst output.
    fn value_of(&self, example: usize, scores: Scores<'_>) -> (f64, M::Output) {
        let worst = self.model.worst(example, scores);
        let anchor = self.anchor(example, scores);
        let rise =
            self.model.score(example, &worst, scores) - self.model.score(example, &anchor, scores);
        (self.model.loss(example, &worst) + rise, worst)
    }

    fn chunk_plane(&self, chunk: Range<usize>, at: &At<'_, M>) -> ChunkPlane {
        let mut plane = ChunkPlane::default();
        let mut normal = self.layout.spare.zeros(self.model.dim());
        let mut additions = vec![0u32; self.model.dim()];
        let mut own = Vec::new();
        for i in chunk {
            let scores = at.scores(i, &mut own);
            let weight = self.weights.of(i);
            let (value, worst) = self.value_of(i, scores);
            let anchor = self.anchor(i, scores);
            let mut size = 0.0;
            self.model.for_each_difference(i, &worst, &anchor, |at, x| {
                normal[at] += weight * x;
                size += x.abs();
                additions[at] += 1;
            });
            let loss = self.model.loss(i, &worst);
            let sums = BlockSums {
                value: weight * value,
                offset: weight * loss,
                offset_size: weight * loss,
                normal_size: weight * size,
            };
            plane.add(1, sums);
        }
        plane.normal = normal;
        plane.set_additions(additions.into_iter().max().unwrap_or(0) as usize);
        plane
    }
}

impl<M: StructuredModel> Risk for MarginRisk<M> {
    fn dim(&self) -> usize {
        self.model.dim()
    }

    fn is_convex(&self) -> bool {
        !self.model.is_latent()
    }

    /// The truth itself, whose loss is 0, is among the outputs that are maximised over.
    fn is_nonnegative(&self) -> bool {
        true
    }

    fn at(&self, w: Vec<f64>, cancel: &Cancel) -> Result<Point, RiskError> {
        let value = |i, scores: Scores<'_>| self.weights.of(i) * self.value_of(i, scores).0;
        self.layout.point(&self.model, w, cancel, value)
    }

    fn planes(
        &self,
        point: &Point,
        parts: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Plane>, RiskError> {
        // From the weights, not from outputs that may have been combined: an audit, which knows
        // only the weights, must find the same outputs again.
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

    fn working_sets(&self) -> Option<Box<dyn WorkingSets + '_>> {
        let sets = || OutputSets::new(&self.model, &self.weights, &self.layout);
        self.is_convex().then(|| Box::new(sets()) as Box<dyn WorkingSets>)
    }

    fn examples(&self) -> Option<&dyn Examples> {
        Some(self)
    }
}

impl<M: StructuredModel> Examples for MarginRisk<M> {
    fn len(&self) -> usize {
        self.model.len()
    }

    fn add_subgradient(&self, example: usize, w: &[f64], step: f64, gradient: &mut [f64]) -> f64 {
        let at = At::new(&self.model, w);
        at.look_ahead(example..example + 1);
        let mut own = Vec::new();
        let scores = at.scores(example, &mut own);
        let weight = self.weights.of(example);
        let (value, worst) = self.value_of(example, scores);
        let anchor = self.anchor(example, scores);
        self.model.for_each_difference(example, &worst, &anchor, |at, x| {
            gradient[at] += step * weight * x;
        });
        weight * value
    }
}
