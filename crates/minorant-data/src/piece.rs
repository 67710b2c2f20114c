//! A run of consecutive rows as one parser leaves it. Pieces of a file are parsed independently
//! and joined in order by `collect`.

use crate::error::{ReadError, Refusal};
use crate::label_table::LabelTable;
use crate::read::ReadOptions;
use crate::values::GrowingValues;
use std::ops::Range;

/// Some consecutive rows with their labels.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) cells: Cells,
    pub(crate) labels: PieceLabels,
    /// Lines of text that the piece was read from.
    pub(crate) lines: u64,
    /// The highest column that the text names, whatever its value, with its line: sparse rows may
    /// claim any number of columns, and `text` checks the claim once the whole file is known. With
    /// a model, columns that no matrix could have all count as the last u32.
    pub(crate) highest: Option<(u32, u64)>,
}

/// The features of a piece.
#[derive(Debug)]
pub(crate) enum Cells {
    /// Every row has a value in each of `cols` columns. Text tables may become sparse later when
    /// few values differ from 0.
    Dense { cols: usize, rows: usize, values: GrowingValues, from_text: bool },
    /// Row `i` has `lengths[i]` entries.
    Sparse { cols: usize, lengths: Vec<u32>, columns: Vec<u32>, values: GrowingValues },
}

impl Cells {
    pub(crate) fn rows(&self) -> usize {
        match self {
            Cells::Dense { rows, .. } => *rows,
            Cells::Sparse { lengths, .. } => lengths.len(),
        }
    }

    pub(crate) fn cols(&self) -> usize {
        match self {
            Cells::Dense { cols, .. } | Cells::Sparse { cols, .. } => *cols,
        }
    }

    /// Entries of some rows.
    pub(crate) fn entries_of(&self, rows: Range<usize>) -> usize {
        match self {
            Cells::Dense { cols, .. } => rows.len() * cols,
            Cells::Sparse { lengths, .. } => lengths[rows].iter().map(|&n| n as usize).sum(),
        }
    }

    pub(crate) fn entries(&self) -> usize {
        match self {
            Cells::Dense { values, .. } | Cells::Sparse { values, .. } => values.len(),
        }
    }

    /// Appends rows of the same layout; gives back those of another.
    pub(crate) fn append(&mut self, other: Cells) -> Result<(), Cells> {
        match (self, other) {
            (
                Cells::Dense { cols, rows, values, from_text },
                Cells::Dense { cols: c, rows: r, values: v, from_text: t },
            ) if *cols == c && *from_text == t => {
                *rows += r;
                values.append(v);
            }
            (
                Cells::Sparse { cols, lengths, columns, values },
                Cells::Sparse { cols: c, lengths: l, columns: cs, values: v },
            ) => {
                *cols = c.max(*cols);
                lengths.extend_from_slice(&l);
                columns.extend_from_slice(&cs);
                values.append(v);
            }
            (_, other) => return Err(other),
        }
        Ok(())
    }

    /// Gives back memory that was reserved in vain.
    pub(crate) fn shrink(&mut self) {
        match self {
            Cells::Dense { values, .. } => values.shrink(),
            Cells::Sparse { lengths, columns, values, .. } => {
                lengths.shrink_to_fit();
                columns.shrink_to_fit();
                values.shrink();
            }
        }
    }

    /// Drops the entries of sparse rows from column `known` on; the result is their number.
    pub(crate) fn drop_columns_from(&mut self, known: usize) -> usize {
        if self.cols() <= known {
            return 0;
        }
        self.renumber(known, |column| ((column as usize) < known).then_some(column))
    }

    /// Gives the entries of sparse rows other columns, of `of` ones, and drops those that get none; the
    /// result is their number.
    pub(crate) fn renumber(&mut self, of: usize, new: impl Fn(u32) -> Option<u32>) -> usize {
        let Cells::Sparse { cols, lengths, columns, values } = self else { return 0 };
        *cols = of;
        let all = columns.len();
        let (mut from, mut kept) = (0, 0);
        for length in lengths {
            let (end, kept_before) = (from + *length as usize, kept);
            for at in from..end {
                if let Some(column) = new(columns[at]) {
                    columns[kept] = column;
                    values.copy_down(at, kept);
                    kept += 1;
                }
            }
            from = end;
            *length = (kept - kept_before) as u32;
        }
        columns.truncate(kept);
        values.truncate(kept);
        all - kept
    }

    /// The same rows with their non-zero entries only.
    pub(crate) fn into_sparse(self, storage: minorant_linalg::Storage) -> Cells {
        let Cells::Dense { cols, rows, values, .. } = self else { return self };
        let nonzeros = (0..values.len()).filter(|&at| values.get(at) != 0.0).count();
        let mut lengths = Vec::with_capacity(rows);
        let mut columns = Vec::with_capacity(nonzeros);
        let mut kept = GrowingValues::with_capacity(storage, nonzeros);
        for row in 0..rows {
            let before = columns.len();
            for col in 0..cols {
                let value = values.get(row * cols + col);
                if value != 0.0 {
                    columns.push(col as u32);
                    // It was stored once already, so it fits the storage.
                    let _ = kept.push(value);
                }
            }
            lengths.push((columns.len() - before) as u32);
        }
        Cells::Sparse { cols, lengths, columns, values: kept }
    }
}

/// The labels of a piece: numbers into `table`, or into the collector's table where `table` is
/// not given.
#[derive(Debug)]
pub(crate) struct PieceLabels {
    pub(crate) table: Option<LabelTable>,
    pub(crate) rows: PieceRows,
}

impl PieceLabels {
    /// No labels, where the options allow that.
    pub(crate) fn missing(
        name: &str,
        expected: &str,
        options: &ReadOptions,
    ) -> Result<PieceLabels, ReadError> {
        if options.for_prediction {
            return Ok(PieceLabels { table: None, rows: PieceRows::None });
        }
        Err(ReadError::whole(name, expected, "none"))
    }
}

/// Labels that are handed out with the rows, some rows at a time.
#[derive(Debug)]
pub(crate) struct InTurn {
    labels: PieceLabels,
    /// Rows that have theirs, and the items of sets of these.
    row: usize,
    item: usize,
}

impl InTurn {
    pub(crate) fn new(labels: PieceLabels) -> Self {
        InTurn { labels, row: 0, item: 0 }
    }

    /// Those of the next rows.
    pub(crate) fn next(&mut self, count: usize) -> PieceLabels {
        let span = self.row..self.row + count;
        self.row = span.end;
        let rows = match &self.labels.rows {
            PieceRows::None => PieceRows::None,
            PieceRows::Single(ids) => PieceRows::Single(ids[span].to_vec()),
            PieceRows::Numbers { width, values } => {
                let values = values[span.start * width..span.end * width].to_vec();
                PieceRows::Numbers { width: *width, values }
            }
            PieceRows::Sets { lengths, items } => {
                let lengths = lengths[span].to_vec();
                let first = self.item;
                self.item += lengths.iter().map(|&n| n as usize).sum::<usize>();
                PieceRows::Sets { lengths, items: items[first..self.item].to_vec() }
            }
        };
        PieceLabels { table: self.labels.table.clone(), rows }
    }
}

/// Label numbers by row, not yet in the final order of classes.
#[derive(Debug)]
pub(crate) enum PieceRows {
    Single(Vec<u32>),
    Sets {
        lengths: Vec<u32>,
        items: Vec<u32>,
    },
    /// Targets, so many a row; a width of 0 says that no row has come yet.
    Numbers {
        width: usize,
        values: Vec<f64>,
    },
    None,
}

impl PieceRows {
    /// Targets of one row after the other.
    pub(crate) fn targets() -> PieceRows {
        PieceRows::Numbers { width: 0, values: Vec::new() }
    }

    /// Appends the targets of a row; refuses a row that has more or fewer of them than the first.
    pub(crate) fn push_targets(&mut self, targets: &[f64]) -> Result<(), Refusal> {
        let PieceRows::Numbers { width, values } = self else { return Ok(()) };
        if *width == 0 {
            *width = targets.len();
        } else if *width != targets.len() {
            let expected = format!("{} targets, as in the rows before", *width);
            return Err(Refusal::new(expected, targets.len().to_string()));
        }
        values.extend_from_slice(targets);
        Ok(())
    }

    /// The rows from this one on.
    pub(crate) fn behind(self, first: usize) -> PieceRows {
        match self {
            PieceRows::Single(mut ids) => PieceRows::Single(ids.split_off(first)),
            PieceRows::Sets { mut lengths, mut items } => {
                let rest = lengths.split_off(first);
                let before = lengths.iter().map(|&n| n as usize).sum();
                PieceRows::Sets { lengths: rest, items: items.split_off(before) }
            }
            PieceRows::Numbers { width, mut values } => {
                PieceRows::Numbers { width, values: values.split_off(first * width) }
            }
            PieceRows::None => PieceRows::None,
        }
    }

    /// Every label number, to be translated.
    pub(crate) fn items_mut(&mut self) -> &mut [u32] {
        match self {
            PieceRows::Single(ids) => ids,
            PieceRows::Sets { items, .. } => items,
            PieceRows::Numbers { .. } | PieceRows::None => &mut [],
        }
    }

    /// Appends rows; where either has sets, all become sets.
    pub(crate) fn append(&mut self, other: PieceRows) -> Result<(), PieceRows> {
        match (&mut *self, other) {
            (PieceRows::Single(ids), PieceRows::Single(others)) => ids.extend_from_slice(&others),
            (
                PieceRows::Sets { lengths, items },
                PieceRows::Sets { lengths: others, items: more },
            ) => {
                lengths.extend_from_slice(&others);
                items.extend_from_slice(&more);
            }
            (PieceRows::None, PieceRows::None) => {}
            // Rows with another number of targets are told of by their file.
            (
                PieceRows::Numbers { width, values },
                PieceRows::Numbers { width: of_others, values: others },
            ) if *width == of_others || values.is_empty() || others.is_empty() => {
                *width = of_others.max(*width);
                values.extend_from_slice(&others);
            }
            (PieceRows::Single(_), sets @ PieceRows::Sets { .. }) => {
                *self = std::mem::replace(self, PieceRows::None).into_sets();
                return self.append(sets);
            }
            (PieceRows::Sets { .. }, single @ PieceRows::Single(_)) => {
                return self.append(single.into_sets());
            }
            (_, other) => return Err(other),
        }
        Ok(())
    }

    /// A single label becomes a set of one.
    pub(crate) fn into_sets(self) -> PieceRows {
        match self {
            PieceRows::Single(ids) => PieceRows::Sets { lengths: vec![1; ids.len()], items: ids },
            other => other,
        }
    }
}
