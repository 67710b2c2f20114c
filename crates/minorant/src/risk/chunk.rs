//! What a chunk of rows contributes to planes and values, and how chunks become planes: sums in
//! chunk order, with what rounding may have done to them.

use super::{Plane, Tie};
use minorant_linalg::parallel::{Spare, add_in_order};
use minorant_linalg::sum::Sum;

/// Sums over the rows of a block: plain within the block, compensated over blocks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BlockSums {
    /// Σ weight · loss.
    pub(crate) value: f64,
    /// Σ weight · offset of the tangent.
    pub(crate) offset: f64,
    /// Σ weight · |offset|.
    pub(crate) offset_size: f64,
    /// Σ |coefficients| · ‖x‖: what the normal's entries are summed from.
    pub(crate) normal_size: f64,
}

/// The share of one chunk in a plane.
#[derive(Debug, Default)]
pub(crate) struct ChunkPlane {
    pub(crate) normal: Vec<f64>,
    pub(crate) ties: Vec<Tie>,
    rows: usize,
    block_rows: usize,
    value: Sum,
    offset: Sum,
    offset_size: f64,
    normal_size: f64,
    /// Errors that were made before anything was summed up here.
    normal_error: f64,
    offset_error: f64,
    /// How far rounding may have moved the values that were summed up.
    pub(crate) value_error: f64,
}

impl ChunkPlane {
    /// Adds the sums of a block of `rows` rows.
    pub(crate) fn add(&mut self, rows: usize, block: BlockSums) {
        self.rows += rows;
        self.block_rows = self.block_rows.max(rows);
        self.value.add(block.value);
        self.offset.add(block.offset);
        self.offset_size += block.offset_size;
        self.normal_size += block.normal_size;
    }

    /// Tells how many terms the longest sum of an entry of the normal has, where that is not the
    /// number of rows.
    pub(crate) fn set_additions(&mut self, most: usize) {
        self.rows = most;
    }

    /// Tells of summands that were themselves rounded: those of the normal by `roundings` relative
    /// to their size (`more` of them, each of a size of 1, are not among the blocks'), those of
    /// the offset by an error in all.
    pub(crate) fn own_error(&mut self, roundings: f64, more: f64, offset_error: f64) {
        self.normal_error += f64::EPSILON * (roundings * self.normal_size + more);
        self.offset_error += offset_error;
    }
}

/// The value of the risk from the chunks' shares.
pub(crate) fn total_value(chunks: &[ChunkPlane]) -> f64 {
    let sum: Sum = chunks.iter().map(|chunk| chunk.value.value()).collect();
    sum.value()
}

/// How far rounding may have moved the values that the chunks summed up.
pub(crate) fn value_error(chunks: &[ChunkPlane]) -> f64 {
    chunks.iter().map(|chunk| chunk.value_error).sum()
}

/// The sum of the chunks' offsets, and how far rounding may have moved it.
pub(super) fn total_offset(chunks: &[ChunkPlane]) -> (f64, f64) {
    let sum: Sum = chunks.iter().map(|chunk| chunk.offset.value()).collect();
    // An offset is summed plainly within blocks only.
    let roundings = chunks.iter().map(|chunk| chunk.block_rows).max().unwrap_or(0) as f64 + 4.0;
    let size: f64 = chunks.iter().map(|chunk| chunk.offset_size).sum();
    (sum.value(), f64::EPSILON * roundings * size)
}

/// Adds the chunks of each part up in order: one plane for every `each` chunks. Buffers that are no
/// longer needed go to `spare`.
pub(crate) fn planes(chunks: Vec<ChunkPlane>, each: usize, spare: &Spare) -> Vec<Plane> {
    let mut planes = Vec::with_capacity(chunks.len() / each);
    let mut chunks = chunks.into_iter().peekable();
    while chunks.peek().is_some() {
        planes.push(plane(chunks.by_ref().take(each).collect(), spare));
    }
    planes
}

fn plane(chunks: Vec<ChunkPlane>, spare: &Spare) -> Plane {
    let (offset, offset_error) = total_offset(&chunks);
    // An entry of the normal is one sum over the rows of a chunk, then over the chunks; each
    // addition and each product rounds once.
    let most_rows = chunks.iter().map(|chunk| chunk.rows).max().unwrap_or(0);
    let normal_roundings = most_rows as f64 + chunks.len() as f64 + 4.0;
    let normal_size: f64 = chunks.iter().map(|chunk| chunk.normal_size).sum();
    let carried_normal: f64 = chunks.iter().map(|chunk| chunk.normal_error).sum();
    let carried_offset: f64 = chunks.iter().map(|chunk| chunk.offset_error).sum();
    let ties = chunks.iter().flat_map(|chunk| chunk.ties.iter().copied()).collect();
    Plane {
        normal: add_in_order(chunks.into_iter().map(|chunk| chunk.normal).collect(), spare),
        offset,
        normal_error: f64::EPSILON * normal_roundings * normal_size + carried_normal,
        offset_error: offset_error + carried_offset,
        ties,
    }
}
