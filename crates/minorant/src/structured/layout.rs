//! A pass over the examples of a model, chunk by chunk: how it is cut depends on the model's shape alone,
//! never on threads. An example's own scores are computed when it is its turn, and forgotten with it.

use super::risk::Costs;
use super::{Scores, StructuredModel, Weights};
use crate::risk::chunk::{self, ChunkPlane};
use crate::risk::cut::Cut;
use crate::risk::{Cancel, Plane, Point, RiskError};
use minorant_linalg::parallel::{Spare, map_chunks};
use minorant_linalg::sum::Sum;
use minorant_linalg::tree::sum_chunks;
use std::ops::Range;

/// The chunks of a model's examples.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) cut: Cut,
    /// Normals of chunks, to be used again.
    pub(super) spare: Spare,
}

/// A model at some weights.
#[derive(Debug)]
pub(super) struct At<'c, M> {
    model: &'c M,
    pub(super) w: &'c [f64],
    /// The weights unfolded, where all examples are looked at.
    unfolded: Vec<f64>,
    /// The shared scores there, prepared.
    shared: Vec<f64>,
}

impl<'c, M: StructuredModel> At<'c, M> {
    /// The model at `w`.
    pub(super) fn new(model: &'c M, w: &'c [f64]) -> Self {
        let shared = model.prepare(&shared_scores(model, w));
        At { model, w, unfolded: Vec::new(), shared }
    }

    /// The same, about to be asked for the worst outputs of some examples; an error where it
    /// cannot be asked at these weights.
    pub(super) fn asked(
        model: &'c M,
        w: &'c [f64],
        examples: Range<usize>,
    ) -> Result<Self, RiskError> {
        let shared = shared_scores(model, w);
        if let Some(why) = model.refusal(&shared) {
            return Err(RiskError::Failed(why));
        }
        let mut unfolded = Vec::new();
        if examples.len() == model.len() {
            unfolded.resize(model.unfolded(), 0.0);
            model.unfold(w, &mut unfolded);
        }
        let at = At { model, w, unfolded, shared: model.prepare(&shared) };
        at.look_ahead(examples);
        Ok(at)
    }

    /// Tells the model that the worst outputs of these examples will be asked for here.
    pub(super) fn look_ahead(&self, examples: Range<usize>) {
        self.model.look_ahead(&self.shared, examples);
    }

    /// The scores of an example; `own` is made to hold its own ones.
    pub(super) fn scores<'s>(&'s self, example: usize, own: &'s mut Vec<f64>) -> Scores<'s> {
        own.resize(self.model.own_scores(example), 0.0);
        let weights = Weights { folded: self.w, unfolded: &self.unfolded };
        self.model.write_own(example, weights, own);
        Scores { shared: &self.shared, own }
    }
}

fn shared_scores(model: &impl StructuredModel, w: &[f64]) -> Vec<f64> {
    let mut shared = vec![0.0; model.shared_scores()];
    model.write_shared(w, &mut shared);
    shared
}

impl Layout {
    pub(super) fn new(model: &impl StructuredModel) -> Self {
        let cut = Cut::of_examples(model.len(), model.entries(), model.dim());
        Layout { cut, spare: Spare::default() }
    }

    /// The examples of each chunk.
    pub(super) fn chunks(&self) -> Vec<Range<usize>> {
        self.cut.ranges(self.cut.chunks())
    }

    /// The point at `w`; `cost` gives an example's share of the risk.
    pub(super) fn point<M: StructuredModel>(
        &self,
        model: &M,
        w: Vec<f64>,
        cancel: &Cancel,
        cost: impl Fn(usize, Scores<'_>, &[f64]) -> Costs + Sync,
    ) -> Result<Point, RiskError> {
        let at = At::asked(model, &w, 0..model.len())?;
        let sums = map_chunks(&self.chunks(), |_, chunk| {
            cancel.check()?;
            let (mut own, mut value, mut error) = (Vec::new(), Sum::new(), 0.0);
            for i in chunk {
                let cost = cost(i, at.scores(i, &mut own), at.w);
                value.add(cost.value);
                error += cost.error;
            }
            Ok((value.value(), error))
        });
        drop(at);
        let sums = sums.into_iter().collect::<Result<Vec<(f64, f64)>, RiskError>>()?;
        let value = finite(sums.iter().map(|(value, _)| *value).collect::<Sum>().value())?;
        let error = sums.iter().map(|(_, error)| error).sum();
        Ok(Point { error, ..Point::bare(w, value) })
    }

    /// The point at `w` with planes there; `plane` gives a chunk's share of them.
    pub(super) fn point_with_planes<'c, M: StructuredModel>(
        &self,
        model: &M,
        w: Vec<f64>,
        parts: usize,
        cancel: &Cancel,
        plane: impl Fn(Range<usize>, &At<'_, M>) -> ChunkPlane<'c> + Sync,
    ) -> Result<(Point, Vec<Plane>), RiskError> {
        let at = At::asked(model, &w, 0..model.len())?;
        let count = self.cut.chunks_of_parts(parts);
        let chunks = self.cut.ranges(count);
        let tree = sum_chunks(0..count, self.cut.level_of_parts(parts), |chunk| {
            cancel.check()?;
            Ok(plane(chunks[chunk].clone(), &at))
        })?;
        drop(at);
        let sums = chunk::whole([tree], count)?;
        let (value, error) = chunk::total_value(&sums);
        let point = Point { error, ..Point::bare(w, finite(value)?) };
        Ok((point, chunk::planes(sums)))
    }
}

/// A value that a run can go on with.
fn finite(value: f64) -> Result<f64, RiskError> {
    if value.is_finite() {
        return Ok(value);
    }
    Err(RiskError::NotFinite(format!("its value is {value}")))
}
