//! Rows that are not in memory: somebody fetches them block by block, and a matrix of such rows is used like
//! any other by whoever goes through rows in their order. Sums over them have the bits of the same rows in
//! memory, for every row is added in the same order whatever block it came in. How blocks are fetched,
//! kept and thrown away is the business of who fetches them.

use crate::Matrix;
use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is known of rows without fetching them.
#[derive(Debug, Clone)]
pub struct BlocksShape {
    /// The first row of each block, and the number of rows.
    pub starts: Vec<usize>,
    /// Columns.
    pub cols: usize,
    /// Stored entries.
    pub entries: usize,
    /// Whether rows are stored sparse.
    pub is_sparse: bool,
    /// Bytes of a value.
    pub width: usize,
    /// Σ_j x_ij² of each row i, summed in the order of its entries.
    pub squares: Vec<f64>,
    /// Seconds that finding this out took.
    pub seconds: f64,
}

/// What fetching took so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes that were read from where the rows are.
    pub bytes_read: u64,
    /// Bytes of the rows that stay in memory.
    pub resident_bytes: u64,
}

/// Who fetches blocks of rows.
pub trait RowBlocks: Send + Sync + fmt::Debug {
    /// What is known of all rows.
    fn shape(&self) -> &BlocksShape;

    /// The rows of a block, as many and as wide as the shape says. Where they cannot be had, these are rows
    /// of zeros, and [`RowBlocks::failure`] tells why from then on: what was computed must be thrown away.
    fn fetch(&self, block: usize) -> Arc<Matrix<'static>>;

    /// Why some rows could not be had.
    fn failure(&self) -> Option<String>;

    /// What fetching took so far.
    fn traffic(&self) -> Traffic;

    /// Allows so many bytes for rows that stay in memory.
    fn keep(&self, bytes: u64);
}

/// The rows of a matrix that are elsewhere.
#[derive(Debug, Clone)]
pub(crate) struct Elsewhere {
    pub(crate) source: Arc<dyn RowBlocks>,
    /// What tells these rows from all others that were ever asked for.
    id: u64,
}

static NEXT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The block that this thread asked for last: a caller that goes forward and backward over a few rows
    /// comes back to it many times.
    static LAST: RefCell<Option<(u64, usize, Arc<Matrix<'static>>)>> = const { RefCell::new(None) };
}

impl Elsewhere {
    pub(crate) fn new(source: Arc<dyn RowBlocks>) -> Self {
        Elsewhere { source, id: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    pub(crate) fn shape(&self) -> &BlocksShape {
        self.source.shape()
    }

    pub(crate) fn rows(&self) -> usize {
        self.shape().starts.last().copied().unwrap_or(0)
    }

    fn block(&self, block: usize) -> Arc<Matrix<'static>> {
        LAST.with_borrow_mut(|last| match last {
            Some((id, at, rows)) if (*id, *at) == (self.id, block) => rows.clone(),
            _ => {
                // What is let go first makes room for what comes.
                *last = None;
                let rows = self.source.fetch(block);
                *last = Some((self.id, block, rows.clone()));
                rows
            }
        })
    }

    /// Calls `each` with the matrix that holds some of the rows, their numbers in it, and the number of
    /// rows of the range that came before; runs for which `wanted` says no are not fetched.
    pub(crate) fn for_each_run(
        &self,
        rows: Range<usize>,
        wanted: impl Fn(Range<usize>) -> bool,
        mut each: impl FnMut(&Matrix<'static>, Range<usize>, usize),
    ) {
        let starts = &self.shape().starts;
        let mut at = rows.start;
        let mut block = starts.partition_point(|&start| start <= at).saturating_sub(1);
        while at < rows.end {
            let end = starts[block + 1].min(rows.end);
            let before = at - rows.start;
            if wanted(before..before + end - at) {
                each(&self.block(block), at - starts[block]..end - starts[block], before);
            }
            (at, block) = (end, block + 1);
        }
    }

    /// The block of a row, and its number there.
    pub(crate) fn row(&self, row: usize) -> (Arc<Matrix<'static>>, usize) {
        let starts = &self.shape().starts;
        let block = starts.partition_point(|&start| start <= row) - 1;
        (self.block(block), row - starts[block])
    }
}

/// Rows of a source under other numbers, or in other columns: each block is made of one of the source's.
#[derive(Debug)]
pub(crate) struct Derived {
    source: Arc<dyn RowBlocks>,
    shape: BlocksShape,
    change: Change,
}

/// How a block follows from one of the source's.
#[derive(Debug)]
enum Change {
    /// Some of its rows, by their numbers in it; the number of the block comes along.
    Select(Vec<(usize, Vec<usize>)>),
    /// So many columns.
    Columns(usize),
    /// Columns of other numbers.
    Numbers(Vec<u32>),
}

impl Derived {
    /// The rows with these numbers, which ascend.
    pub(crate) fn select(of: &Elsewhere, rows: &[usize]) -> Self {
        let from = of.shape();
        let mut starts = vec![0];
        let mut chosen: Vec<(usize, Vec<usize>)> = Vec::new();
        let (mut rest, mut entries) = (rows, 0);
        for (block, ends) in from.starts.windows(2).enumerate() {
            let (here, others) = rest.split_at(rest.partition_point(|&row| row < ends[1]));
            rest = others;
            if !here.is_empty() {
                starts.push(starts[chosen.len()] + here.len());
                chosen.push((block, here.iter().map(|row| row - ends[0]).collect()));
            }
        }
        if from.is_sparse {
            for (block, rows) in &chosen {
                let matrix = of.source.fetch(*block);
                entries += rows.iter().map(|&row| matrix.row(row).count()).sum::<usize>();
            }
        } else {
            entries = rows.len() * from.cols;
        }
        let squares = rows.iter().map(|&row| from.squares[row]).collect();
        let shape = BlocksShape { starts, entries, squares, ..*from };
        Derived { source: of.source.clone(), shape, change: Change::Select(chosen) }
    }

    /// The same rows with other numbers for their columns.
    pub(crate) fn renumbered(of: &Elsewhere, numbers: Vec<u32>, cols: usize) -> Self {
        let shape = BlocksShape { cols, ..of.shape().clone() };
        Derived { source: of.source.clone(), shape, change: Change::Numbers(numbers) }
    }

    /// The same rows with so many columns, and how many entries other than 0 are left out.
    pub(crate) fn with_cols(of: &Elsewhere, cols: usize) -> (Self, usize) {
        let from = of.shape();
        let (mut entries, mut dropped) = (0, 0);
        let mut squares = Vec::with_capacity(from.squares.len());
        for block in 0..from.starts.len() - 1 {
            let (matrix, left_out) = of.source.fetch(block).with_cols(cols);
            entries += matrix.entries();
            dropped += left_out;
            squares.extend((0..matrix.rows()).map(|row| matrix.row_square(row)));
        }
        let starts = from.starts.clone();
        let shape = BlocksShape { starts, cols, entries, is_sparse: true, squares, ..*from };
        (Derived { source: of.source.clone(), shape, change: Change::Columns(cols) }, dropped)
    }
}

impl RowBlocks for Derived {
    fn shape(&self) -> &BlocksShape {
        &self.shape
    }

    fn fetch(&self, block: usize) -> Arc<Matrix<'static>> {
        Arc::new(match &self.change {
            Change::Select(chosen) => {
                let (block, rows) = &chosen[block];
                self.source.fetch(*block).select_rows(rows)
            }
            Change::Columns(cols) => self.source.fetch(block).with_cols(*cols).0,
            Change::Numbers(numbers) => {
                self.source.fetch(block).with_numbers(numbers, self.shape.cols)
            }
        })
    }

    fn failure(&self) -> Option<String> {
        self.source.failure()
    }

    fn traffic(&self) -> Traffic {
        self.source.traffic()
    }

    fn keep(&self, bytes: u64) {
        self.source.keep(bytes);
    }
}
