//! Joins the pieces of all files into one data set: one storage, one number of columns, one order
//! of classes. Refuses what only the whole can show, such as a single class.

use crate::dataset::{Dataset, Label, LabelKind, LabelRows, Labels};
use crate::error::{ReadError, Refusal};
use crate::label_table::LabelTable;
use crate::piece::{Cells, Piece, PieceRows};
use crate::read::ReadOptions;
use crate::values::GrowingValues;
use minorant_linalg::{Matrix, MatrixError};

/// Text tables with fewer non-zeros than this share of their cells are stored sparse.
const DENSE_SHARE: f64 = 0.3;

/// The most columns a matrix can have.
pub(crate) const MOST_COLUMNS: usize = i32::MAX as usize;

/// Where pieces go that are not kept in memory.
pub(crate) trait Outlet {
    /// Takes a piece; `table` has the labels of pieces that bring none.
    fn take(&mut self, piece: Piece, table: &LabelTable) -> Result<(), Refusal>;

    /// Rows that it has taken.
    fn rows(&self) -> usize;
}

/// What has been read so far. Pieces are appended as they come, so that no more than one of them
/// is in memory twice.
pub(crate) struct Collector<'o> {
    pub(crate) options: &'o ReadOptions,
    pub(crate) table: LabelTable,
    /// One, unless files differ in their layout.
    cells: Vec<Cells>,
    rows: Option<PieceRows>,
    some_without_labels: bool,
    declared_classes: bool,
    /// Entries in columns that the model does not know.
    ignored: usize,
    /// Where pieces go instead of into memory.
    outlet: Option<&'o mut dyn Outlet>,
    /// Rows that stay where they are, and are fetched when they are used.
    elsewhere: Option<Matrix<'static>>,
}

impl<'o> Collector<'o> {
    pub(crate) fn new(options: &'o ReadOptions) -> Collector<'o> {
        Collector {
            options,
            table: LabelTable::default(),
            cells: Vec::new(),
            rows: None,
            some_without_labels: false,
            declared_classes: false,
            ignored: 0,
            outlet: None,
            elsewhere: None,
        }
    }

    /// The rows are fetched when they are used, and pieces bring labels alone; so many entries of the rows
    /// are left out.
    pub(crate) fn leave_elsewhere(&mut self, rows: Matrix<'static>, ignored: usize) {
        self.elsewhere = Some(rows);
        self.ignored = ignored;
    }

    /// A collector that hands everything on.
    pub(crate) fn with_outlet(options: &'o ReadOptions, outlet: &'o mut dyn Outlet) -> Self {
        Collector { outlet: Some(outlet), ..Collector::new(options) }
    }

    /// Whether pieces are handed on, so that large ones had better come in several.
    pub(crate) fn hands_on(&self) -> bool {
        self.outlet.is_some()
    }

    /// The classes that exist even where no row has them.
    pub(crate) fn declared(&self) -> Vec<Label> {
        if self.declared_classes { self.table.labels() } else { Vec::new() }
    }

    /// Takes a piece that follows those before it. Refuses dense tables that lack columns of the
    /// model: nothing says that the missing ones are the last, or zero.
    pub(crate) fn push(&mut self, mut piece: Piece) -> Result<(), Refusal> {
        if let Some(known) = self.options.model_columns() {
            let cols = piece.cells.cols().max(self.options.features.unwrap_or(0));
            if matches!(piece.cells, Cells::Dense { .. }) {
                refuse_narrow(cols, known)?;
            }
            self.ignored += piece.cells.drop_columns_from(known);
        }
        if let Some(outlet) = &mut self.outlet {
            return outlet.take(piece, &self.table);
        }
        let mut labels = piece.labels;
        if let Some(table) = labels.table {
            let translation = self.table.absorb(table);
            for id in labels.rows.items_mut() {
                *id = translation[*id as usize];
            }
        }
        let apart = match self.cells.last_mut() {
            Some(last) => last.append(piece.cells).err(),
            None => Some(piece.cells),
        };
        self.cells.extend(apart);
        match &mut self.rows {
            Some(rows) => match rows.append(labels.rows) {
                Err(PieceRows::Numbers { width, .. })
                    if matches!(rows, PieceRows::Numbers { .. }) =>
                {
                    let expected = "as many targets as the rows before";
                    return Err(Refusal::new(expected, width.to_string()));
                }
                found => self.some_without_labels |= found.is_err(),
            },
            None => self.rows = Some(labels.rows),
        }
        Ok(())
    }

    /// Registers classes that exist even if no row has them; the result is their numbers.
    pub(crate) fn declare(&mut self, labels: impl Iterator<Item = Label>) -> Vec<u32> {
        self.declared_classes = true;
        labels.map(|label| self.table.insert(&label)).collect()
    }

    pub(crate) fn total_rows(&self) -> usize {
        let kept: usize = self.cells.iter().map(Cells::rows).sum();
        let elsewhere = self.elsewhere.as_ref().map_or(0, Matrix::rows);
        kept + elsewhere + self.outlet.as_ref().map_or(0, |outlet| outlet.rows())
    }

    /// The whole, and how many entries were dropped; `name` stands for the files in refusals.
    pub(crate) fn finish(mut self, name: &str) -> Result<(Dataset<'static>, usize), ReadError> {
        let options = self.options;
        if self.total_rows() == 0 {
            return Err(ReadError::whole(name, "at least one example", "none"));
        }
        let cols = self.elsewhere.as_ref().map_or(0, Matrix::cols);
        let has_columns = cols > 0 || self.cells.iter().any(|cells| cells.cols() > 0);
        if !has_columns && options.features.is_none() && !options.for_prediction {
            return Err(ReadError::whole(name, "at least one feature", "none"));
        }
        let features = match self.elsewhere.take() {
            Some(rows) => rows,
            None => join_cells(options, std::mem::take(&mut self.cells))
                .map_err(|why| ReadError::whole(name, "a feature matrix", why.to_string()))?,
        };
        let ignored = self.ignored;
        Ok((Dataset { features, labels: self.finish_labels(name)? }, ignored))
    }

    /// The labels alone.
    pub(crate) fn finish_labels(self, name: &str) -> Result<Labels, ReadError> {
        if self.some_without_labels {
            return Err(ReadError::whole(name, "labels for all rows", "rows without labels"));
        }
        let rows = self.rows.unwrap_or(PieceRows::None);
        join_labels(name, self.options, rows, self.table, self.declared_classes)
    }
}

/// Refuses dense tables that lack columns of the model.
pub(crate) fn refuse_narrow(cols: usize, known: usize) -> Result<(), Refusal> {
    if cols >= known {
        return Ok(());
    }
    let expected =
        format!("the model's {known} feature columns (--features {known} takes missing ones as 0)");
    Err(Refusal::new(expected, cols.to_string()))
}

/// The labels of all rows, with the classes in their final order.
pub(crate) fn join_labels(
    name: &str,
    options: &ReadOptions,
    mut rows: PieceRows,
    table: LabelTable,
    declared: bool,
) -> Result<Labels, ReadError> {
    if let PieceRows::None = rows {
        if options.for_prediction {
            return Ok(Labels { classes: Vec::new(), rows: LabelRows::None });
        }
        return Err(ReadError::whole(name, "labels for all rows", "rows without labels"));
    }
    let has_sets = matches!(rows, PieceRows::Sets { .. });
    if has_sets && matches!(options.label_kind, Some(LabelKind::Binary | LabelKind::Multiclass)) {
        return Err(ReadError::whole(name, "one label per row", "sets of labels"));
    }
    if options.label_kind == Some(LabelKind::Multilabel) {
        rows = rows.into_sets();
    }
    let (classes, new_numbers) = ordered_classes(&mut rows, table, declared);
    for id in rows.items_mut() {
        *id = new_numbers[*id as usize];
    }
    check_classes(name, options, &classes, &rows)?;
    Ok(Labels { classes, rows: final_rows(rows) })
}

/// The classes in their final order, and the final numbers of all labels met. Labels that were
/// only declared are classes of multilabel data, for every row says of each label whether it has
/// it; elsewhere they are not.
fn ordered_classes(
    rows: &mut PieceRows,
    table: LabelTable,
    declared: bool,
) -> (Vec<Label>, Vec<u32>) {
    let keep_unused = declared && matches!(rows, PieceRows::Sets { .. });
    let mut used = vec![keep_unused; table.len()];
    for &mut id in rows.items_mut() {
        used[id as usize] = true;
    }
    let mut labels = table.into_labels();
    labels.retain(|&(_, id)| used[id as usize]);
    order_classes(labels, used.len())
}

/// The labels in the order of classes, and the final numbers of so many labels that were met.
pub(crate) fn order_classes(mut labels: Vec<(Label, u32)>, met: usize) -> (Vec<Label>, Vec<u32>) {
    let mut new_numbers = vec![0; met];
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
    rows: &PieceRows,
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
    if let PieceRows::Sets { items, .. } = rows {
        if items.is_empty() {
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

fn final_rows(rows: PieceRows) -> LabelRows {
    match rows {
        PieceRows::None => LabelRows::None,
        PieceRows::Numbers { width, mut values } => {
            values.shrink_to_fit();
            LabelRows::Numbers { width, values }
        }
        PieceRows::Single(mut ids) => {
            ids.shrink_to_fit();
            LabelRows::Single(ids)
        }
        PieceRows::Sets { lengths, mut items } => {
            items.shrink_to_fit();
            let starts = starts_of(&lengths);
            for range in starts.windows(2) {
                items[range[0] as usize..range[1] as usize].sort_unstable();
            }
            LabelRows::Sets { starts, items }
        }
    }
}

/// Where each row begins, and the end.
pub(crate) fn starts_of(lengths: &[u32]) -> Vec<u64> {
    let mut starts = Vec::with_capacity(lengths.len() + 1);
    let mut end = 0;
    starts.push(end);
    for &length in lengths {
        end += u64::from(length);
        starts.push(end);
    }
    starts
}

fn join_cells(options: &ReadOptions, pieces: Vec<Cells>) -> Result<Matrix<'static>, MatrixError> {
    let cols = pieces.iter().map(Cells::cols).max().unwrap_or(0);
    let cols = cols.max(options.features.unwrap_or(0));
    let same_width = pieces.iter().all(|piece| piece.cols() == cols);
    let all_dense = pieces.iter().all(|piece| matches!(piece, Cells::Dense { .. }));
    if all_dense && same_width && !all_thin(&pieces) {
        let mut rows = 0;
        let mut all = GrowingValues::new(options.storage);
        for piece in pieces {
            rows += piece.rows();
            match piece {
                Cells::Dense { values, .. } if all.len() == 0 => all = values,
                Cells::Dense { values, .. } => all.append(values),
                Cells::Sparse { .. } => {}
            }
        }
        return Matrix::dense(rows, cols, all.into_values());
    }
    let mut all: Option<Cells> = None;
    for piece in pieces {
        let sparse = piece.into_sparse(options.storage);
        match &mut all {
            // Both are sparse, so that nothing comes back.
            Some(all) => drop(all.append(sparse)),
            None => all = Some(sparse),
        }
    }
    let Some(Cells::Sparse { lengths, mut columns, values, .. }) = all else {
        return Matrix::csr(cols, vec![0], vec![], Vec::<f32>::new().into());
    };
    columns.shrink_to_fit();
    let starts = starts_of(&lengths);
    drop(lengths);
    Matrix::csr(cols, starts, columns, values.into_values())
}

/// Whether all the pieces are text tables that consist mostly of zeros.
fn all_thin(pieces: &[Cells]) -> bool {
    let (mut nonzeros, mut total) = (0, 0);
    for piece in pieces {
        let Cells::Dense { values, from_text: true, .. } = piece else { return false };
        nonzeros += (0..values.len()).filter(|&at| values.get(at) != 0.0).count() as u64;
        total += values.len() as u64;
    }
    is_thin(nonzeros, total)
}

/// Whether values of text tables are stored sparse: most of them are zeros.
pub(crate) fn is_thin(nonzeros: u64, total: u64) -> bool {
    (nonzeros as f64) < DENSE_SHARE * total as f64
}
