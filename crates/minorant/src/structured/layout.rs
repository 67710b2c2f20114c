//! Where examples and their scores lie: fixed chunks of examples, parts, and the stretch of a
//! point's outputs that belongs to each example. It depends on the model's shape alone, never on
//! threads.

use super::{Scores, StructuredModel};
use crate::risk::{Cancel, RiskError};
use minorant_linalg::parallel::split_evenly;
use rayon::prelude::*;
use std::ops::Range;

/// A point's outputs are the shared scores, then those of one example after the other.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) shared: usize,
    /// Where each example's scores begin, and where the last ones end.
    starts: Vec<usize>,
    chunks: usize,
}

/// Most chunks, and fewest where there are many weights.
const MOST: usize = 64;
const FEWEST: usize = 8;

impl Layout {
    pub(super) fn new(model: &impl StructuredModel) -> Self {
        let shared = model.shared_scores();
        let mut starts = Vec::with_capacity(model.len() + 1);
        let mut at = shared;
        starts.push(at);
        for example in 0..model.len() {
            at += model.own_scores(example);
            starts.push(at);
        }
        // No more gradient buffers than the data is worth.
        let by_buffers = model.entries() / (4 * model.dim()).max(1);
        let chunks = by_buffers.clamp(FEWEST, MOST).min(model.len().max(1));
        Layout { shared, starts, chunks }
    }

    pub(super) fn examples(&self) -> usize {
        self.starts.len() - 1
    }

    /// The chunks of `parts` contiguous blocks of examples, and how many each block has.
    pub(super) fn chunks(&self, parts: usize) -> (Vec<Range<usize>>, usize) {
        let each = (self.chunks / parts).max(1);
        let blocks = split_evenly(self.examples(), parts);
        let split = |block: Range<usize>| {
            let pieces = split_evenly(block.len(), each);
            pieces.into_iter().map(move |piece| block.start + piece.start..block.start + piece.end)
        };
        (blocks.into_iter().flat_map(split).collect(), each)
    }

    /// Where an example's scores lie among those of examples `first` and later.
    pub(super) fn span(&self, first: usize, example: usize) -> Range<usize> {
        self.starts[example] - self.starts[first]..self.starts[example + 1] - self.starts[first]
    }

    /// Calls `work` for each chunk with its examples' stretch of fresh outputs; results in chunk
    /// order.
    pub(super) fn pass<M: StructuredModel, T: Send>(
        &self,
        model: &M,
        w: &[f64],
        parts: usize,
        cancel: &Cancel,
        work: impl Fn(Range<usize>, &[f64], &mut [f64]) -> T + Sync,
    ) -> Result<(Vec<f64>, Vec<T>, usize), RiskError> {
        let mut outputs = vec![0.0; self.starts[self.examples()]];
        let (shared, mut rest) = outputs.split_at_mut(self.shared);
        model.write_shared(w, shared);
        if let Some(why) = model.refusal(shared) {
            return Err(RiskError::Failed(why));
        }
        let prepared = model.prepare(shared);
        model.look_ahead(&prepared, 0..self.examples());
        let (chunks, each) = self.chunks(parts);
        let mut stretches = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let (stretch, tail) =
                rest.split_at_mut(self.starts[chunk.end] - self.starts[chunk.start]);
            stretches.push((chunk, stretch));
            rest = tail;
        }
        let one = |(chunk, stretch): (Range<usize>, &mut [f64])| {
            cancel.check()?;
            for example in chunk.clone() {
                model.write_own(example, w, &mut stretch[self.span(chunk.start, example)]);
            }
            Ok(work(chunk, &prepared, stretch))
        };
        let results = stretches.into_par_iter().with_max_len(1).map(one);
        let results = results.collect::<Result<Vec<T>, RiskError>>()?;
        Ok((outputs, results, each))
    }
}

/// A value that a run can go on with.
pub(super) fn finite(value: f64) -> Result<f64, RiskError> {
    if value.is_finite() {
        return Ok(value);
    }
    Err(RiskError::NotFinite(format!("its value is {value}")))
}

/// The scores of one example of a chunk.
pub(super) fn scores<'s>(shared: &'s [f64], own: &'s [f64]) -> Scores<'s> {
    Scores { shared, own }
}
