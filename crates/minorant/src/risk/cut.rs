//! How sums over examples are cut: into chunks, a power of two of them, whose sums are added up in the
//! order of a fixed binary tree (`minorant_linalg::tree`), and within chunks into blocks. Parts are runs
//! of chunks, and so is what a shard holds. A cut follows from the shape of the whole data alone: all
//! who hold rows of the same data cut them at the same places, and get the same bits.

use super::Shape;
use minorant_linalg::parallel::{split_at, split_evenly};
use minorant_linalg::tree::level_of_parts;
use std::ops::Range;

/// Chunks and blocks of the examples of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    examples: usize,
    chunks: usize,
    block: usize,
}

/// Most chunks of data that is not large, and of any data.
const USUAL: usize = 64;
const MOST: usize = 256;
/// Fewest chunks of examples that cost much more than their share of a gradient.
const FEWEST: usize = 8;
/// Rows that are worth a chunk.
const ROWS: usize = 32;
/// Blocks of rows that fit the second-level cache between a forward and a backward product.
const BLOCK_BYTES: usize = 256 << 10;

impl Cut {
    /// The cut of the rows of a linear model.
    pub(crate) fn of_rows(shape: Shape) -> Self {
        let by_buffers = worthwhile(shape.entries, shape.features);
        let chunks = by_buffers.clamp(1, most(shape.entries)).min((shape.rows / ROWS).max(1));
        let block = BLOCK_BYTES.saturating_mul(shape.rows.max(1)) / shape.bytes.max(1);
        Cut { examples: shape.rows, chunks: power_of_two(chunks), block: block.clamp(4, 512) }
    }

    /// The cut of examples that cost much more than their share of a gradient of `dim` numbers.
    pub(crate) fn of_examples(examples: usize, entries: usize, dim: usize) -> Self {
        let by_buffers = worthwhile(entries, dim).clamp(FEWEST, most(entries));
        Cut::of_at_most(examples, by_buffers)
    }

    /// The cut of examples into at most so many chunks.
    pub(crate) fn of_at_most(examples: usize, chunks: usize) -> Self {
        Cut { examples, chunks: power_of_two(chunks.min(examples).max(1)), block: 1 }
    }

    /// Number of examples.
    pub(crate) fn examples(&self) -> usize {
        self.examples
    }

    /// Number of chunks.
    pub(crate) fn chunks(&self) -> usize {
        self.chunks
    }

    /// Rows of a block.
    pub(crate) fn block(&self) -> usize {
        self.block
    }

    /// The most parts that the examples can be cut into.
    pub(crate) fn max_parts(&self) -> usize {
        power_of_two(self.examples.max(1))
    }

    /// Number of chunks where there are `parts` parts: each has one at least.
    pub(crate) fn chunks_of_parts(&self, parts: usize) -> usize {
        assert!(parts.is_power_of_two(), "the number of parts is a power of two, not {parts}");
        self.chunks.max(parts)
    }

    /// The level of the tree at which sums of chunks are those of parts.
    pub(crate) fn level_of_parts(&self, parts: usize) -> u32 {
        level_of_parts(self.chunks_of_parts(parts), parts)
    }

    /// The examples of each of `chunks` chunks.
    pub(crate) fn ranges(&self, chunks: usize) -> Vec<Range<usize>> {
        split_evenly(self.examples, chunks)
    }

    /// The chunks of each of several holders: runs that are as even as chunks allow.
    pub(super) fn hands(&self, holders: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let chunks = self.chunks;
        (0..holders).map(move |at| split_at(chunks, holders, at)..split_at(chunks, holders, at + 1))
    }

    /// The numbers that a run of the cut's chunks has where there are `chunks`, at least as many as the
    /// cut's.
    pub(super) fn finer(&self, held: Range<usize>, chunks: usize) -> Range<usize> {
        let each = chunks / self.chunks;
        held.start * each..held.end * each
    }

    /// The first example of one of the cut's chunks, or the number of examples after the last.
    pub(super) fn first_row(&self, chunk: usize) -> usize {
        split_at(self.examples, self.chunks, chunk)
    }

    /// The examples of a run of the cut's chunks, which is cut into as many as it has of `chunks`; counted
    /// from the first of them.
    pub(super) fn ranges_of(&self, held: Range<usize>, chunks: usize) -> Vec<Range<usize>> {
        let first = self.first_row(held.start);
        let at = |chunk| split_at(self.examples, chunks, chunk) - first;
        self.finer(held, chunks).map(|chunk| at(chunk)..at(chunk + 1)).collect()
    }
}

/// Chunks whose gradients take no more numbers than a share of the data's.
fn worthwhile(entries: usize, dim: usize) -> usize {
    entries / (4 * dim).max(1)
}

/// The most chunks of data with so many entries.
fn most(entries: usize) -> usize {
    (entries >> 24).clamp(USUAL, MOST)
}

/// The largest power of two that is at most `count`.
pub(crate) fn power_of_two(count: usize) -> usize {
    1 << count.ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_runs_of_chunks() {
        for rows in [1, 2, 31, 32, 100, 1000, 4097, 123_457] {
            let entries = 10 * rows;
            let cut = Cut::of_rows(Shape { rows, features: 7, entries, bytes: 8 * entries });
            let borders = cut.ranges(cut.chunks());
            for parts in (0..8).map(|p| 1 << p).filter(|&parts| parts <= cut.chunks()) {
                let each = cut.chunks() / parts;
                for (part, rows) in cut.ranges(parts).into_iter().enumerate() {
                    let (first, last) = (&borders[part * each], &borders[(part + 1) * each - 1]);
                    assert_eq!(rows, first.start..last.end);
                }
            }
        }
    }

    #[test]
    fn many_weights_have_few_chunks_and_large_data_many() {
        let shape = |rows, features, entries| Shape { rows, features, entries, bytes: 8 * entries };
        assert_eq!(Cut::of_rows(shape(10_000, 1_000_000, 450_000)).chunks(), 1);
        assert_eq!(Cut::of_rows(shape(32_561, 124, 451_592)).chunks(), 64);
        assert_eq!(Cut::of_rows(shape(1 << 28, 100, 1 << 34)).chunks(), 256);
    }
}
