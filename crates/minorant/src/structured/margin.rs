//! The risk of margin rescaling, of any structured model: the weighted sum over examples of
//! max over y of Δ(y) + w · ψ(x, y) − w · ψ(x, truth). One oracle call an example is one
//! evaluation. Where outputs have hidden parts, the truth's score is the best one that the data
//! allows, and the risk is not convex.

use super::layout::{Layout, finite, scores};
use super::working_sets::OutputSets;
use super::{Scores, StructuredModel};
use crate::risk::chunk::{self, BlockSums, ChunkPlane};
use crate::risk::{Cancel, ExampleWeights, Examples, Plane, Point, Risk, RiskError, WorkingSets};
use minorant_linalg::sum::Sum;

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
}

impl<M: StructuredModel> Risk for MarginRisk<M> {
    fn dim(&self) -> usize {
        self.model.dim()
    }

    fn is_convex(&self) -> bool {
        !self.model.is_latent()
    }

    fn at(&self, w: Vec<f64>, cancel: &Cancel) -> Result<Point, RiskError> {
        let (outputs, sums, _) =
            self.layout.pass(&self.model, &w, 1, cancel, |chunk, shared, own| {
                let first = chunk.start;
                let value = |i: usize| {
                    let scores = scores(shared, &own[self.layout.span(first, i)]);
                    self.weights.of(i) * self.value_of(i, scores).0
                };
                chunk.map(value).collect::<Sum>().value()
            })?;
        let value = finite(sums.into_iter().collect::<Sum>().value())?;
        Ok(Point { w, outputs, value })
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
        let work = |chunk: std::ops::Range<usize>, shared: &[f64], own: &mut [f64]| {
            let mut plane = ChunkPlane::default();
            let mut normal = vec![0.0; self.model.dim()];
            let mut additions = vec![0u32; self.model.dim()];
            for i in chunk.clone() {
                let scores = scores(shared, &own[self.layout.span(chunk.start, i)]);
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
        };
        let (outputs, chunks, each) = self.layout.pass(&self.model, &w, parts, cancel, work)?;
        let value = finite(chunk::total_value(&chunks))?;
        Ok((Point { w, outputs, value }, chunk::planes(chunks, each)))
    }

    fn max_parts(&self) -> usize {
        self.model.len()
    }

    fn working_sets(&self) -> Option<Box<dyn WorkingSets + '_>> {
        let sets = || Box::new(OutputSets::new(&self.model, &self.weights)) as Box<dyn WorkingSets>;
        self.is_convex().then(sets)
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
        let mut shared = vec![0.0; self.layout.shared];
        self.model.write_shared(w, &mut shared);
        let shared = self.model.prepare(&shared);
        self.model.look_ahead(&shared, example..example + 1);
        let mut own = vec![0.0; self.model.own_scores(example)];
        self.model.write_own(example, w, &mut own);
        let scores = scores(&shared, &own);
        let weight = self.weights.of(example);
        let (value, worst) = self.value_of(example, scores);
        let anchor = self.anchor(example, scores);
        self.model.for_each_difference(example, &worst, &anchor, |at, x| {
            gradient[at] += step * weight * x;
        });
        weight * value
    }
}
