//! Joins the pieces of all files into one data set: one storage, one number of columns, one order
//! of classes. Refuses what only the whole can show, such as a single class.

use crate::dataset::{Dataset, Label, LabelKind, LabelRows, Labels};
use crate::error::ReadError;
use crate::label_table::LabelTable;
use crate::piece::{Cells, Piece, PieceRows};
use crate::read::ReadOptions;
use crate::values::GrowingValues;
use minorant_linalg::{Matrix, MatrixError};

/// Text tables with fewer non-zeros than this share of their cells are stored sparse.
const DENSE_SHARE: f64 = 0.3;

/// The most columns a matrix can have.
pub(crate) const MOST_COLUMNS: usize = i32::MAX as usize;

/// What has been read so far.
#[derive(Debug)]
pub(crate) struct Collector<'o> {
    pub(crate) options: &'o ReadOptions,
    pub(crate) table: LabelTable,
    cells: Vec<Cells>,
    rows: Vec<PieceRows>,
    declared_classes: bool,
}

impl<'o> Collector<'o> {
    pub(crate) fn new(options: &'o ReadOptions) -> Collector<'o> {
        Collector {
            options,
            table: LabelTable::default(),
            cells: Vec::new(),
            rows: Vec::new(),
            declared_classes: false,
        }
    }

    /// Takes a piece that follows those before it.
    pub(crate) fn push(&mut self, piece: Piece) {
        let mut labels = piece.labels;
        if let Some(table) = labels.table {
            let translation = self.table.absorb(table);
            for id in labels.rows.items_mut() {
                *id = translation[*id as usize];
            }
        }
        self.cells.push(piece.cells);
        self.rows.push(labels.rows);
    }

    /// Registers classes that exist even if no row has them; the result is their numbers.
    pub(crate) fn declare(&mut self, labels: impl Iterator<Item = Label>) -> Vec<u32> {
        self.declared_classes = true;
        labels.map(|label| self.table.insert(&label)).collect()
    }

    pub(crate) fn total_rows(&self) -> usize {
        self.cells.iter().map(Cells::rows).sum()
    }

    /// The whole; `name` stands for the files in refusals.
    pub(crate) fn finish(self, name: &str) -> Result<Dataset, ReadError> {
        let options = self.options;
        if self.total_rows() == 0 {
            return Err(ReadError::whole(name, "at least one example", "none"));
        }
        let has_columns = self.cells.iter().any(|cells| cells.cols() > 0);
        if !has_columns && options.features.is_none() && !options.for_prediction {
            return Err(ReadError::whole(name, "at least one feature", "none"));
        }
        let labels = join_labels(name, options, self.rows, self.table, self.declared_classes)?;
        let features = join_cells(options, self.cells)
            .map_err(|why| ReadError::whole(name, "a feature matrix", why.to_string()))?;
        Ok(Dataset { features, labels })
    }
}

fn join_labels(
    name: &str,
    options: &ReadOptions,
    mut pieces: Vec<PieceRows>,
    table: LabelTable,
    declared: bool,
) -> Result<Labels, ReadError> {
    let without = pieces.iter().filter(|piece| matches!(piece, PieceRows::None)).count();
    if without == pieces.len() && options.for_prediction {
        return Ok(Labels { classes: Vec::new(), rows: LabelRows::None });
    }
    if without > 0 {
        return Err(ReadError::whole(name, "labels for all rows", "rows without labels"));
    }
    let has_sets = pieces.iter().any(|piece| matches!(piece, PieceRows::Sets { .. }));
    let multilabel = has_sets || options.label_kind == Some(LabelKind::Multilabel);
    if has_sets && matches!(options.label_kind, Some(LabelKind::Binary | LabelKind::Multiclass)) {
        return Err(ReadError::whole(name, "one label per row", "sets of labels"));
    }
    if multilabel {
        pieces = pieces.into_iter().map(PieceRows::into_sets).collect();
    }
    let (classes, new_numbers) = ordered_classes(&mut pieces, table, declared && multilabel);
    for piece in &mut pieces {
        for id in piece.items_mut() {
            *id = new_numbers[*id as usize];
        }
    }
    check_classes(name, options, &classes, &pieces, multilabel)?;
    let rows = if multilabel { join_sets(pieces) } else { join_singles(pieces) };
    Ok(Labels { classes, rows })
}

/// The classes in their final order, and the final numbers of all labels met. Labels that were
/// only declared are classes of multilabel data, for every row says of each label whether it has
/// it; elsewhere they are not.
fn ordered_classes(
    pieces: &mut [PieceRows],
    table: LabelTable,
    keep_unused: bool,
) -> (Vec<Label>, Vec<u32>) {
    let mut used = vec![keep_unused; table.len()];
    for piece in pieces {
        for &id in piece.items_mut().iter() {
            used[id as usize] = true;
        }
    }
    let mut labels = table.into_labels();
    let mut new_numbers = vec![0; used.len()];
    labels.retain(|&(_, id)| used[id as usize]);
    if labels.iter().all(|(label, _)| matches!(label, Label::Number(_))) {
        labels.sort_unstable_by(|a, b| a.0.in_order(&b.0));
    } else {
        // All as text, or numbers and text together would have no one order. Equal spellings
        // cannot meet: a number's spelling never reads as text.
        labels.sort_by(|a, b| match (&a.0, &b.0) {
            (Label::Text(a), Label::Text(b)) => a.cmp(b),
            (a, b) => a.to_string().cmp(&b.to_string()),
        });
    }
    for (number, &(_, id)) in labels.iter().enumerate() {
        new_numbers[id as usize] = number as u32;
    }
    (labels.into_iter().map(|(label, _)| label).collect(), new_numbers)
}

fn check_classes(
    name: &str,
    options: &ReadOptions,
    classes: &[Label],
    pieces: &[PieceRows],
    multilabel: bool,
) -> Result<(), ReadError> {
    if options.label_kind == Some(LabelKind::Binary) && classes.len() > 2 {
        let shown: Vec<String> = classes.iter().take(3).map(shown_label).collect();
        let more = if classes.len() > 3 { ", …" } else { "" };
        let found = format!("{} ({}{more})", classes.len(), shown.join(", "));
        return Err(ReadError::whole(name, "two distinct labels", found));
    }
    if options.for_prediction {
        return Ok(());
    }
    if multilabel {
        let occurs = pieces
            .iter()
            .any(|piece| matches!(piece, PieceRows::Sets { items, .. } if !items.is_empty()));
        if !occurs {
            let found = "empty label sets only";
            return Err(ReadError::whole(name, "at least one label", found));
        }
    } else if let [only] = classes {
        let found = format!("only {}", shown_label(only));
        return Err(ReadError::whole(name, "at least two distinct labels", found));
    }
    Ok(())
}

fn shown_label(label: &Label) -> String {
    match label {
        Label::Number(_) => label.to_string(),
        Label::Text(text) => crate::error::quoted(text.as_bytes()),
    }
}

fn join_singles(mut pieces: Vec<PieceRows>) -> LabelRows {
    if pieces.len() == 1
        && let Some(PieceRows::Single(ids)) = pieces.pop()
    {
        return LabelRows::Single(ids);
    }
    let total = pieces.iter_mut().map(|piece| piece.items_mut().len()).sum();
    let mut all = Vec::with_capacity(total);
    for piece in pieces {
        if let PieceRows::Single(ids) = piece {
            all.extend_from_slice(&ids);
        }
    }
    LabelRows::Single(all)
}

fn join_sets(pieces: Vec<PieceRows>) -> LabelRows {
    let sizes = pieces.iter().map(|piece| match piece {
        PieceRows::Sets { lengths, items } => (lengths.len(), items.len()),
        PieceRows::Single(_) | PieceRows::None => (0, 0),
    });
    let (rows, total) = sizes.fold((0, 0), |(r, t), (rows, items)| (r + rows, t + items));
    let mut starts = Vec::with_capacity(rows + 1);
    let mut all: Vec<u32> = Vec::with_capacity(total);
    starts.push(0);
    for piece in pieces {
        if let PieceRows::Sets { lengths, mut items } = piece {
            let mut from = 0;
            for length in lengths {
                let to = from + length as usize;
                items[from..to].sort_unstable();
                starts.push((all.len() + to) as u64);
                from = to;
            }
            all.extend_from_slice(&items);
        }
    }
    LabelRows::Sets { starts, items: all }
}

fn join_cells(options: &ReadOptions, pieces: Vec<Cells>) -> Result<Matrix<'static>, MatrixError> {
    let cols = pieces.iter().map(Cells::cols).max().unwrap_or(0);
    let cols = cols.max(options.features.unwrap_or(0));
    let same_width = pieces.iter().all(|piece| piece.cols() == cols);
    let all_dense = pieces.iter().all(|piece| matches!(piece, Cells::Dense { .. }));
    if all_dense && same_width && !is_thin(&pieces) {
        let rows = pieces.iter().map(Cells::rows).sum();
        let values = pieces.into_iter().map(|piece| match piece {
            Cells::Dense { values, .. } | Cells::Sparse { values, .. } => values,
        });
        return Matrix::dense(rows, cols, GrowingValues::concatenate(values.collect()));
    }
    let rows: usize = pieces.iter().map(Cells::rows).sum();
    let mut starts = Vec::with_capacity(rows + 1);
    let mut all_columns = Vec::with_capacity(pieces.len());
    let mut all_values = Vec::with_capacity(pieces.len());
    starts.push(0);
    let mut end = 0;
    for piece in pieces {
        if let Cells::Sparse { lengths, columns, values, .. } = piece.into_sparse(options.storage) {
            for length in lengths {
                end += u64::from(length);
                starts.push(end);
            }
            all_columns.push(columns);
            all_values.push(values);
        }
    }
    let columns = concatenated(all_columns);
    Matrix::csr(cols, starts, columns, GrowingValues::concatenate(all_values))
}

fn concatenated(mut parts: Vec<Vec<u32>>) -> Vec<u32> {
    if parts.len() == 1
        && let Some(only) = parts.pop()
    {
        return only;
    }
    let mut all = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    for part in parts {
        all.extend_from_slice(&part);
    }
    all
}

/// Whether all the pieces are text tables that consist mostly of zeros.
fn is_thin(pieces: &[Cells]) -> bool {
    let mut nonzeros = 0;
    let mut total = 0;
    for piece in pieces {
        let Cells::Dense { values, from_text: true, .. } = piece else { return false };
        nonzeros += (0..values.len()).filter(|&at| values.get(at) != 0.0).count();
        total += values.len();
    }
    (nonzeros as f64) < DENSE_SHARE * total as f64
}
