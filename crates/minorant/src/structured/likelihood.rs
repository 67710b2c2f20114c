//! The risk of maximum likelihood, of any structured model that can sum over its outputs: the
//! weighted sum over examples of −log p(truth). Smooth and convex; one sum over the outputs of
//! each example is one evaluation.

use super::Likelihood;
use super::layout::{Layout, finite, scores};
use crate::risk::chunk::{self, BlockSums, ChunkPlane};
use crate::risk::{Cancel, ExampleWeights, Examples, Plane, Point, Risk, RiskError};
use minorant_linalg::sum::Sum;
use std::ops::Range;

/// Maximum likelihood.
#[derive(Debug)]
pub struct LikelihoodRisk<M> {
    model: M,
    weights: ExampleWeights,
    layout: Layout,
    /// The longest stretch of own scores.
    longest: usize,
}

impl<M: Likelihood> LikelihoodRisk<M> {
    /// The risk of a model.
    pub fn new(model: M, weights: ExampleWeights) -> Self {
        let layout = Layout::new(&model);
        let longest = (0..model.len()).map(|i| model.own_scores(i)).max().unwrap_or(0);
        LikelihoodRisk { model, weights, layout, longest }
    }

    /// The model.
    pub fn model(&self) -> &M {
        &self.model
    }

    fn chunk_plane(&self, chunk: Range<usize>, shared: &[f64], own: &[f64]) -> ChunkPlane {
        let mut plane = ChunkPlane::default();
        let mut normal = vec![0.0; self.model.dim()];
        let mut of_own = vec![0.0; self.longest];
        let mut of_shared = vec![0.0; self.layout.shared];
        let (mut roundings, mut offset_error, mut shared_size) = (0.0f64, 0.0, 0.0);
        for i in chunk.clone() {
            let own = &own[self.layout.span(chunk.start, i)];
            let of_own = &mut of_own[..own.len()];
            let weight = self.weights.of(i);
            let loss = self.model.log_loss(i, scores(shared, own), weight, of_own, &mut of_shared);
            let length = self.model.add_back_own(i, weight, of_own, &mut normal);
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
        let work = |chunk: Range<usize>, shared: &[f64], own: &mut [f64]| {
            let mut of_own = vec![0.0; self.longest];
            let mut of_shared = vec![0.0; self.layout.shared];
            let first = chunk.start;
            let value = |i: usize| {
                let own = &own[self.layout.span(first, i)];
                let of_own = &mut of_own[..own.len()];
                let weight = self.weights.of(i);
                let scores = scores(shared, own);
                weight * self.model.log_loss(i, scores, weight, of_own, &mut of_shared).value
            };
            chunk.map(value).collect::<Sum>().value()
        };
        let (outputs, sums, _) = self.layout.pass(&self.model, &w, 1, cancel, work)?;
        let value = finite(sums.into_iter().collect::<Sum>().value())?;
        Ok(Point { w, outputs, value })
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
        let work = |chunk, shared: &[f64], own: &mut [f64]| self.chunk_plane(chunk, shared, own);
        let (outputs, chunks, each) = self.layout.pass(&self.model, &w, parts, cancel, work)?;
        let value = finite(chunk::total_value(&chunks))?;
        Ok((Point { w, outputs, value }, chunk::planes(chunks, each)))
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
        let mut shared = vec![0.0; self.layout.shared];
        self.model.write_shared(w, &mut shared);
        let shared = self.model.prepare(&shared);
        let mut own = vec![0.0; self.model.own_scores(example)];
        self.model.write_own(example, w, &mut own);
        let (mut of_own, mut of_shared) = (vec![0.0; own.len()], vec![0.0; self.layout.shared]);
        let weight = self.weights.of(example);
        let scores = scores(&shared, &own);
        let loss = self.model.log_loss(example, scores, step * weight, &mut of_own, &mut of_shared);
        self.model.add_back_own(example, step * weight, &of_own, gradient);
        self.model.add_back_shared(&of_shared, gradient);
        weight * loss.value
    }
}
