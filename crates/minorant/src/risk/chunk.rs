//! What a chunk of examples contributes to planes and values, and how chunks become planes: normals are
//! added up in the order of a tree over the chunks, scalars are kept chunk by chunk and added up in the
//! chunks' order, with what rounding may have done to them.

use super::loss::Tangent;
use super::{Plane, RiskError, Tie};
use minorant_linalg::dense;
use minorant_linalg::parallel::Spare;
use minorant_linalg::sum::Sum;
use minorant_linalg::tree::{Summand, TreeError, TreeSum};

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

impl BlockSums {
    /// Adds a row's tangent, which counts by its weight, and what its normal's entries are summed from.
    #[inline(always)]
    pub(super) fn add_tangent(
        &mut self,
        tangent: &Tangent,
        weight: f64,
        normal_size: f64,
        is_smooth: bool,
    ) {
        self.value += weight * tangent.value;
        self.offset += weight * tangent.offset;
        // A smooth loss has its offset as a difference of numbers that may be larger.
        let of_offset = if is_smooth {
            tangent.value.abs() + (tangent.value - tangent.offset).abs()
        } else {
            tangent.offset.abs()
        };
        self.offset_size += weight * of_offset;
        self.normal_size += normal_size;
    }
}

/// The scalars of one chunk.
#[derive(Debug, Clone, Copy, Default)]
struct ChunkSums {
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
    value_error: f64,
}

/// The share of one chunk in a plane, or of several chunks that lie side by side.
#[derive(Debug)]
pub(crate) struct ChunkPlane<'s> {
    pub(crate) normal: Vec<f64>,
    pub(crate) ties: Vec<Tie>,
    /// The slopes of the examples' minorants, where planes tell them.
    pub(crate) slopes: Vec<f64>,
    chunks: Vec<ChunkSums>,
    /// Where normals go that are no longer needed.
    spare: &'s Spare,
}

/// Chunks whose sums find room beside those of the first one without being moved.
const BESIDE: usize = 8;

impl Summand for ChunkPlane<'_> {
    fn add(&mut self, right: Self) {
        dense::axpy(1.0, &right.normal, &mut self.normal);
        self.spare.keep(right.normal);
        self.ties.extend(right.ties);
        self.slopes.extend(right.slopes);
        self.chunks.extend(right.chunks);
    }
}

impl<'s> ChunkPlane<'s> {
    /// An empty chunk.
    pub(crate) fn new(spare: &'s Spare) -> Self {
        let mut chunks = Vec::with_capacity(BESIDE);
        chunks.push(ChunkSums::default());
        ChunkPlane { normal: Vec::new(), ties: Vec::new(), slopes: Vec::new(), chunks, spare }
    }

    /// Adds the sums of a block of `rows` rows.
    pub(crate) fn add_block(&mut self, rows: usize, block: BlockSums) {
        let sums = &mut self.chunks[0];
        sums.rows += rows;
        sums.block_rows = sums.block_rows.max(rows);
        sums.value.add(block.value);
        sums.offset.add(block.offset);
        sums.offset_size += block.offset_size;
        sums.normal_size += block.normal_size;
    }

    /// Tells how far rounding may have moved a value that was summed up.
    pub(crate) fn add_value_error(&mut self, error: f64) {
        self.chunks[0].value_error += error;
    }

    /// Tells how many terms the longest sum of an entry of the normal has, where that is not the
    /// number of rows.
    pub(crate) fn set_additions(&mut self, most: usize) {
        self.chunks[0].rows = most;
    }

    /// Tells of summands that were themselves rounded: those of the normal by `roundings` relative
    /// to their size (`more` of them, each of a size of 1, are not among the blocks'), those of
    /// the offset by an error in all.
    pub(crate) fn own_error(&mut self, roundings: f64, more: f64, offset_error: f64) {
        let sums = &mut self.chunks[0];
        sums.normal_error += f64::EPSILON * (roundings * sums.normal_size + more);
        sums.offset_error += offset_error;
    }

    /// The sum of the chunks' offsets, and how far rounding may have moved it.
    pub(super) fn total_offset(&self) -> (f64, f64) {
        let sum: Sum = self.chunks.iter().map(|chunk| chunk.offset.value()).collect();
        // An offset is summed plainly within blocks only. Of a logistic loss a term's value is off by
        // 2 ε itself (`elementary::ERROR_OF_COMPOSED`), and product, sum and weight by ε / 2 each.
        let most = self.chunks.iter().map(|chunk| chunk.block_rows).max();
        let roundings = most.unwrap_or(0) as f64 + 4.0;
        (sum.value(), f64::EPSILON * roundings * self.total(|chunk| chunk.offset_size))
    }

    fn total(&self, of: impl Fn(&ChunkSums) -> f64) -> f64 {
        self.chunks.iter().map(of).sum()
    }

    /// The plane that the chunks add up to.
    fn plane(self) -> Plane {
        let (offset, offset_error) = self.total_offset();
        // An entry of the normal is one sum over the rows of a chunk, then over the levels of the tree
        // of chunks; each addition and each product rounds once.
        let most_rows = self.chunks.iter().map(|chunk| chunk.rows).max().unwrap_or(0);
        let levels = self.chunks.len().next_power_of_two().trailing_zeros();
        let normal_roundings = most_rows as f64 + f64::from(levels) + 4.0;
        let normal_size = self.total(|chunk| chunk.normal_size);
        Plane {
            offset,
            normal_error: f64::EPSILON * normal_roundings * normal_size
                + self.total(|chunk| chunk.normal_error),
            offset_error: offset_error + self.total(|chunk| chunk.offset_error),
            normal: self.normal,
            ties: self.ties,
            slopes: self.slopes,
        }
    }
}

/// The value of the risk from the parts' shares, and how far rounding may have moved what they summed up.
pub(crate) fn total_value(parts: &[ChunkPlane<'_>]) -> (f64, f64) {
    let chunks = || parts.iter().flat_map(|part| &part.chunks);
    let sum: Sum = chunks().map(|chunk| chunk.value.value()).collect();
    (sum.value(), chunks().map(|chunk| chunk.value_error).sum())
}

/// One plane for each part.
pub(crate) fn planes(parts: Vec<ChunkPlane<'_>>) -> Vec<Plane> {
    parts.into_iter().map(ChunkPlane::plane).collect()
}

/// The sums of all parts over `chunks` chunks, from the trees of those who hold them.
pub(crate) fn whole<T: Summand>(
    holders: impl IntoIterator<Item = TreeSum<T>>,
    chunks: usize,
) -> Result<Vec<T>, RiskError> {
    let mut holders = holders.into_iter();
    let failed = |error: TreeError| RiskError::Failed(error.to_string());
    let Some(mut all) = holders.next() else { return Err(failed(TreeError::Missing(0))) };
    holders.try_for_each(|tree| all.merge(tree)).map_err(failed)?;
    all.whole(chunks).map_err(failed)
}
