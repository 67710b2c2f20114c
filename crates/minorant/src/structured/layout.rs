//! How a pass over the examples of a model is cut: fixed chunks of examples, and parts of chunks. It
//! depends on the model's shape alone, never on threads. An example's own scores are computed when
//! it is its turn, and forgotten with it.

use super::risk::Costs;
use super::{Scores, StructuredModel, Weights};
use crate::risk::chunk::{self, ChunkPlane};
use crate::risk::{Cancel, Plane, Point, RiskError};
use minorant_linalg::parallel::{Spare, map_chunks, split_evenly};
use minorant_linalg::sum::Sum;
use std::ops::Range;

/// The chunks of a model's examples.
#[derive(Debug)]
pub(super) struct Layout {
    examples: usize,
    chunks: usize,
    /// Normals of chunks, to be used again.
    pub(super) spare: Spare,
}

/// Most chunks, and fewest where there are many weights.
const MOST: usize = 64;
const FEWEST: usize = 8;

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
        // No more gradient buffers than the data is worth.
        let by_buffers = model.entries() / (4 * model.dim()).max(1);
        let chunks = by_buffers.clamp(FEWEST, MOST).min(model.len().max(1));
        Layout { examples: model.len(), chunks, spare: Spare::default() }
    }

    /// The chunks of `parts` contiguous blocks of examples, and how many each block has.
    pub(super) fn chunks(&self, parts: usize) -> (Vec<Range<usize>>, usize) {
        let each = (self.chunks / parts).max(1);
        let blocks = split_evenly(self.examples, parts);
        let split = |block: Range<usize>| {
            let pieces = split_evenly(block.len(), each);
            pieces.into_iter().map(move |piece| block.start + piece.start..block.start + piece.end)
        };
        (blocks.into_iter().flat_map(split).collect(), each)
    }

    /// The point at `w`; `cost` gives an example's share of the risk.
    pub(super) fn point<M: StructuredModel>(
        &self,
        model: &M,
        w: Vec<f64>,
        cancel: &Cancel,
        cost: impl Fn(usize, Scores<'_>, &[f64]) -> Costs + Sync,
    ) -> Result<Point, RiskError> {
        let (sums, _) = self.pass(model, &w, 1, cancel, |chunk, at| {
            let (mut own, mut value, mut error) = (Vec::new(), Sum::new(), 0.0);
            for i in chunk {
                let cost = cost(i, at.scores(i, &mut own), at.w);
                value.add(cost.value);
                error += cost.error;
            }
            (value.value(), error)
        })?;
        let value = finite(sums.iter().map(|(value, _)| *value).collect::<Sum>().value())?;
        let error = sums.iter().map(|(_, error)| error).sum();
        Ok(Point { w, outputs: Vec::new(), value, error })
    }

    /// The point at `w` with planes there; `plane` gives a chunk's share of them.
    pub(super) fn point_with_planes<M: StructuredModel>(
        &self,
        model: &M,
        w: Vec<f64>,
        parts: usize,
        cancel: &Cancel,
        plane: impl Fn(Range<usize>, &At<'_, M>) -> ChunkPlane + Sync,
    ) -> Result<(Point, Vec<Plane>), RiskError> {
        let (chunks, each) = self.pass(model, &w, parts, cancel, plane)?;
        let (value, error) = (finite(chunk::total_value(&chunks))?, chunk::value_error(&chunks));
        let point = Point { w, outputs: Vec::new(), value, error };
        Ok((point, chunk::planes(chunks, each, &self.spare)))
    }

    /// Calls `work` for each chunk; results in chunk order, and how many a part has.
    fn pass<M: StructuredModel, T: Send>(
        &self,
        model: &M,
        w: &[f64],
        parts: usize,
        cancel: &Cancel,
        work: impl Fn(Range<usize>, &At<'_, M>) -> T + Sync,
    ) -> Result<(Vec<T>, usize), RiskError> {
        let at = At::asked(model, w, 0..self.examples)?;
        let (chunks, each) = self.chunks(parts);
        let one = |_, chunk: Range<usize>| {
            cancel.check()?;
            Ok(work(chunk, &at))
        };
        let results = map_chunks(&chunks, one);
        Ok((results.into_iter().collect::<Result<Vec<T>, RiskError>>()?, each))
    }
}

/// A value that a run can go on with.
fn finite(value: f64) -> Result<f64, RiskError> {
    if value.is_finite() {
        return Ok(value);
    }
    Err(RiskError::NotFinite(format!("its value is {value}")))
}
