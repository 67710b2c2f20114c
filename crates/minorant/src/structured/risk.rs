//! The risk of any structured model: the weighted sum over examples of what each of them costs.
//! Passes, points and planes are written once, here; a [`Cost`] is what a margin or a likelihood
//! has of its own.

use super::layout::{At, Layout};
use super::{ScoreSizes, Scores, StructuredModel};
use crate::risk::chunk::ChunkPlane;
use crate::risk::{Cancel, ExampleWeights, Examples, Plane, Point, Risk, RiskError, WorkingSets};
use std::marker::PhantomData;
use std::ops::Range;

/// The risk of a structured model whose examples cost `C`.
#[derive(Debug)]
pub struct StructuredRisk<M, C> {
    pub(super) model: M,
    pub(super) weights: ExampleWeights,
    pub(super) layout: Layout,
    /// Sizes of scores, where the model knows them.
    sizes: Option<ScoreSizes>,
    cost: PhantomData<C>,
}

/// What an example costs, and how far rounding may have moved that.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Costs {
    pub(super) value: f64,
    pub(super) error: f64,
}

/// What an example costs, which is never negative.
pub(super) trait Cost<M: StructuredModel>: Sync + Sized {
    /// Whether it is differentiable everywhere.
    const IS_SMOOTH: bool;

    /// Whether it is convex.
    fn is_convex(model: &M) -> bool;

    /// What an example costs at its scores; its error is asked for where sizes of scores are not
    /// known.
    fn value(
        risk: &StructuredRisk<M, Self>,
        example: usize,
        scores: Scores<'_>,
        w: &[f64],
    ) -> Costs;

    /// The planes of a chunk of examples, added up.
    fn plane<'r>(
        risk: &'r StructuredRisk<M, Self>,
        chunk: Range<usize>,
        at: &At<'_, M>,
    ) -> ChunkPlane<'r>;

    /// Adds an example's subgradient times `step` to `gradient`; what the example costs.
    fn add_subgradient(
        model: &M,
        example: usize,
        at: &At<'_, M>,
        step: f64,
        gradient: &mut [f64],
    ) -> f64;

    /// Outputs already seen, where the cost is a maximum over outputs.
    fn working_sets(_risk: &StructuredRisk<M, Self>) -> Option<Box<dyn WorkingSets + '_>> {
        None
    }
}

impl<M: StructuredModel, C> StructuredRisk<M, C> {
    /// The risk of a model.
    pub fn new(model: M, weights: ExampleWeights) -> Self {
        let layout = Layout::new(&model);
        let sizes = model.sizes(&|example| weights.of(example));
        StructuredRisk { model, weights, layout, sizes, cost: PhantomData }
    }

    /// The model.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// How far rounding may have moved the score of `worst` less that of `truth` at weights `w`, by
    /// their features; 0 where the sizes of all scores are known, which tell it of all examples.
    pub(super) fn rise_error(
        &self,
        example: usize,
        worst: &M::Output,
        truth: &M::Output,
        w: &[f64],
    ) -> f64 {
        if self.sizes.is_some() {
            return 0.0;
        }
        let (mut size, mut terms) = (self.model.loss(example, worst), 4.0);
        for output in [worst, truth] {
            self.model.for_each_feature(example, output, |at, x| {
                size += (x * w[at]).abs();
                terms += 1.0;
            });
        }
        f64::EPSILON * terms * size
    }
}

impl<M: StructuredModel, C: Cost<M>> Risk for StructuredRisk<M, C> {
    fn dim(&self) -> usize {
        self.model.dim()
    }

    fn is_convex(&self) -> bool {
        C::is_convex(&self.model)
    }

    fn is_smooth(&self) -> bool {
        C::IS_SMOOTH
    }

    fn is_nonnegative(&self) -> bool {
        true
    }

    fn at(&self, w: Vec<f64>, cancel: &Cancel) -> Result<Point, RiskError> {
        self.layout.point(&self.model, w, cancel, |i, scores, w| {
            let (share, cost) = (self.weights.of(i), C::value(self, i, scores, w));
            Costs { value: share * cost.value, error: share * cost.error }
        })
    }

    fn value_error(&self, point: &Point) -> f64 {
        let of_scores = self.sizes.as_ref().map_or(0.0, |sizes| sizes.error(&point.w));
        of_scores + point.error + 8.0 * f64::EPSILON * point.value.abs()
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
        let plane = |chunk: Range<usize>, at: &At<'_, M>| C::plane(self, chunk, at);
        self.layout.point_with_planes(&self.model, w, parts, cancel, plane)
    }

    fn max_parts(&self) -> usize {
        self.layout.cut.max_parts()
    }

    fn is_streamed(&self) -> bool {
        self.model.is_streamed()
    }

    fn working_sets(&self) -> Option<Box<dyn WorkingSets + '_>> {
        if self.is_streamed() { None } else { C::working_sets(self) }
    }

    fn examples(&self) -> Option<&dyn Examples> {
        (!self.is_streamed()).then_some(self)
    }
}

impl<M: StructuredModel, C: Cost<M>> Examples for StructuredRisk<M, C> {
    fn len(&self) -> usize {
        self.model.len()
    }

    fn add_subgradient(&self, example: usize, w: &[f64], step: f64, gradient: &mut [f64]) -> f64 {
        let (at, weight) = (At::new(&self.model, w), self.weights.of(example));
        weight * C::add_subgradient(&self.model, example, &at, step * weight, gradient)
    }
}
