//! How the rows of a cache are laid out in memory: in the storage and layout that readers would have chosen
//! for the whole, whatever a single block looks like.

use super::block::Block;
use super::summary::Summary;
use crate::collect::{is_thin, refuse_narrow, starts_of};
use crate::error::Refusal;
use crate::piece::Cells;
use crate::read::ReadOptions;
use crate::values::GrowingValues;
use minorant_linalg::{Matrix, Storage, Values};

/// Which columns of a file there are in memory.
#[derive(Debug, Clone)]
pub(crate) enum Kept {
    /// All.
    All,
    /// Those below this one, which a model knows.
    Below(usize),
    /// Those that have a number here, under that number.
    Numbered(Vec<Option<u32>>),
}

impl Kept {
    /// The number of a column in memory, where it is kept.
    pub(crate) fn number(&self, column: u32) -> Option<u32> {
        match self {
            Kept::All => Some(column),
            Kept::Below(known) => Some(column).filter(|&column| (column as usize) < *known),
            Kept::Numbered(numbers) => numbers.get(column as usize).copied().flatten(),
        }
    }
}

/// Layout and storage of all rows.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) cols: usize,
    pub(super) is_dense: bool,
    pub(super) storage: Storage,
    /// Bytes of a value.
    pub(super) width: usize,
    /// The columns that are kept of sparse entries.
    columns: Kept,
}

impl Layout {
    /// The layout that readers choose for the rows of a cache.
    pub(super) fn of(summary: &Summary, options: &ReadOptions) -> Result<Self, Refusal> {
        let (stored, asked) = (summary.columns as usize, options.features.unwrap_or(0));
        let known = options.model_columns();
        if let Some(known) = known.filter(|_| summary.is_dense) {
            refuse_narrow(stored.max(asked), known)?;
        }
        let is_thin = summary.is_text && is_thin(summary.nonzeros, summary.entries);
        let is_dense = summary.is_dense && !is_thin && asked <= stored;
        let kept = known.filter(|_| !summary.is_dense).map_or(stored, |known| stored.min(known));
        let width = width_of(summary, options.storage);
        let (cols, storage) = (kept.max(asked), options.storage);
        let columns = known.map_or(Kept::All, Kept::Below);
        Ok(Layout { cols, is_dense, storage, width, columns })
    }

    /// The layout of tokens, which have so many columns.
    pub(super) fn of_tokens(
        summary: &Summary,
        storage: Storage,
        cols: usize,
        columns: Kept,
    ) -> Self {
        let width = width_of(summary, storage);
        Layout { cols, is_dense: false, storage, width, columns }
    }

    /// Bytes that so many rows with so many entries take.
    pub(super) fn bytes(&self, rows: u64, entries: u64) -> u64 {
        match self.is_dense {
            true => entries * self.width as u64,
            false => 8 * (rows + 1) + entries * (4 + self.width as u64),
        }
    }

    /// The rows of a block, and how many entries were left out.
    pub(super) fn arranged(&self, block: Block) -> Result<(Matrix<'static>, usize), Refusal> {
        let mut cells = block.cells;
        let dropped = match &self.columns {
            Kept::All => 0,
            Kept::Below(known) => cells.drop_columns_from(*known),
            numbered => cells.renumber(self.cols, |column| numbered.number(column)),
        };
        let wrong = |why: minorant_linalg::MatrixError| {
            Refusal::new("rows that fit the summary", why.to_string())
        };
        if self.is_dense {
            let rows = cells.rows();
            let Cells::Dense { values, .. } = cells else {
                return Err(Refusal::new("dense rows", "sparse ones"));
            };
            let matrix = Matrix::dense(rows, self.cols, self.stored(values)?).map_err(wrong)?;
            return Ok((matrix, dropped));
        }
        let Cells::Sparse { lengths, columns, values, .. } = cells.into_sparse(self.storage) else {
            unreachable!("cells that were made sparse are sparse");
        };
        let (starts, values) = (starts_of(&lengths), self.stored(values)?);
        Ok((Matrix::csr(self.cols, starts, columns, values).map_err(wrong)?, dropped))
    }

    /// Values in the precision of the whole.
    fn stored(&self, values: GrowingValues) -> Result<Values<'static>, Refusal> {
        match (values, self.width) {
            (GrowingValues::Narrow { values, .. }, 8) => {
                Ok(values.into_iter().map(f64::from).collect::<Vec<_>>().into())
            }
            (GrowingValues::Wide(_), 4) => {
                Err(Refusal::new("values that are exactly f32", "others"))
            }
            (values, _) => Ok(values.into_values()),
        }
    }

    /// Rows without entries, or of zeros: what stands for rows that cannot be had.
    pub(super) fn zeros(&self, rows: usize) -> Matrix<'static> {
        let none = |count: usize| -> Values<'static> {
            if self.width == 4 { vec![0f32; count].into() } else { vec![0f64; count].into() }
        };
        let made = match self.is_dense {
            true => Matrix::dense(rows, self.cols, none(rows * self.cols)),
            false => Matrix::csr(self.cols, vec![0; rows + 1], vec![], none(0)),
        };
        made.unwrap_or_else(|_| unreachable!("rows of zeros fit together"))
    }
}

/// Bytes of a value of these rows.
fn width_of(summary: &Summary, storage: Storage) -> usize {
    match storage {
        Storage::Exact if summary.is_single => 4,
        Storage::F32 => 4,
        Storage::Exact | Storage::F64 => 8,
    }
}
