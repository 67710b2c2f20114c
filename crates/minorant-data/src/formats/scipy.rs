//! Sparse matrices as SciPy saves them: compressed rows (`csr`) or columns (`csc`) in the arrays
//! `data`, `indices`, `indptr` and `shape`, or coordinates (`coo`) in `data`, `row`, `col` and
//! `shape`. Indices may come in any order within a row, but not twice.

use super::binary::{NumberType, Run, Trouble, expect_end};
use super::npy_header::{ArrayHeader, Element};
use super::npz::Archive;
use crate::error::{ReadError, quoted};
use crate::piece::Cells;
use crate::read::ReadOptions;
use crate::text::check_claimed_columns;
use crate::values::GrowingValues;
use std::io::Read;

/// Rows without entries cost a file of columns or coordinates nothing, or the byte of a label; beyond
/// these numbers they are not believed.
const FREE_EMPTY_ROWS: u64 = 1 << 14;
const LABELLED_ROWS_PER_ENTRY: u64 = 16;
/// Stands for all columns that no matrix could have.
const BEYOND: u32 = u32::MAX;

/// The numbers of rows and columns.
pub(crate) fn read_shape(archive: &mut Archive<'_>) -> Result<(u64, u64), ReadError> {
    archive.member("shape", |input| {
        let mut shape = Vec::new();
        stream_integers(input, |size| {
            if shape.len() == 2 {
                return Err(Trouble::new("two sizes", "more"));
            }
            shape.push(size);
            Ok(())
        })?;
        match shape[..] {
            [rows, cols] if rows > 0 && cols > 0 => Ok((rows, cols)),
            _ => Err(Trouble::new("the numbers of rows and columns", format!("{shape:?}"))),
        }
    })
}

/// The matrix itself.
pub(crate) fn read_cells(
    archive: &mut Archive<'_>,
    (rows, cols): (u64, u64),
    has_labels: bool,
    options: &ReadOptions,
) -> Result<Cells, ReadError> {
    let layout = archive.member("format", read_layout)?;
    let most_rows = rows.min(u64::from(BEYOND));
    let (places, indices) = match layout {
        Layout::Rows | Layout::Columns => {
            let by_columns = layout == Layout::Columns;
            let (lines, across) = if by_columns { (cols, most_rows) } else { (rows, cols) };
            let starts = archive.member("indptr", |input| read_starts(input, lines))?;
            let entries = starts.last().copied().unwrap_or(0);
            let read = |input: &mut dyn Read| read_indices(input, Some(entries), across);
            (Places::Starts(starts), archive.member("indices", read)?)
        }
        Layout::Coordinates => {
            let rows = archive.member("row", |input| read_indices(input, None, most_rows))?;
            let entries = Some(rows.len() as u64);
            let columns = archive.member("col", |input| read_indices(input, entries, cols))?;
            (Places::Columns(columns), rows)
        }
    };
    let entries = indices.len() as u64;
    let storage = options.storage;
    let values = archive.member("data", |input| read_values(input, entries, storage))?;
    archive.member("shape", |_| {
        // With a model, columns beyond its own cost nothing: their entries will be dropped.
        let cols = match options.model_columns() {
            Some(_) => usize::try_from(cols).unwrap_or(usize::MAX),
            None => check_claimed_columns(cols, entries, options.features)?,
        };
        let places = match places {
            Places::Starts(starts) if layout == Layout::Rows => {
                return Rows { starts, columns: indices, values }.into_cells(cols, options);
            }
            places => places,
        };
        let rows_per_entry = if has_labels { LABELLED_ROWS_PER_ENTRY } else { 1 };
        if rows > FREE_EMPTY_ROWS + entries.saturating_mul(rows_per_entry) {
            let expected = format!("fewer empty rows among {rows} (compressed rows have no limit)");
            return Err(Trouble::new(expected, format!("only {entries} entries")));
        }
        let rows = rows as usize;
        match places {
            Places::Columns(columns) => by_rows(rows, indices, columns.into_iter(), values),
            Places::Starts(starts) => {
                let lines = starts.windows(2).enumerate();
                let columns = lines.flat_map(|(column, range)| {
                    let column = column.min(BEYOND as usize) as u32;
                    std::iter::repeat_n(column, (range[1] - range[0]) as usize)
                });
                by_rows(rows, indices, columns, values)
            }
        }
        .into_cells(cols, options)
    })
}

/// How the entries are laid out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Rows,
    Columns,
    Coordinates,
}

/// Where entries are, beside the index that each has.
enum Places {
    /// Where each compressed row or column starts, and where the last one ends.
    Starts(Vec<u64>),
    /// The column of each entry.
    Columns(Vec<u32>),
}

/// Entries in the order of their rows, which `rows_of` tells.
fn by_rows(
    rows: usize,
    rows_of: Vec<u32>,
    columns_of: impl Iterator<Item = u32>,
    values_of: GrowingValues,
) -> Rows {
    let mut starts = vec![0u64; rows + 1];
    for &row in &rows_of {
        starts[row as usize + 1] += 1;
    }
    for row in 0..rows {
        starts[row + 1] += starts[row];
    }
    let mut from = vec![0usize; rows_of.len()];
    let mut columns = vec![0u32; rows_of.len()];
    for (at, column) in columns_of.enumerate() {
        // A row's start moves along as the row fills, up to where the next row starts.
        let slot = &mut starts[rows_of[at] as usize];
        from[*slot as usize] = at;
        columns[*slot as usize] = column;
        *slot += 1;
    }
    starts.rotate_right(1);
    starts[0] = 0;
    let storage = minorant_linalg::Storage::Exact;
    let mut values = GrowingValues::with_capacity(storage, from.len());
    for at in from {
        // Already stored once; narrowed again only where nothing is lost.
        let _ = values.push(values_of.get(at));
    }
    Rows { starts, columns, values }
}

/// Compressed rows.
struct Rows {
    starts: Vec<u64>,
    columns: Vec<u32>,
    values: GrowingValues,
}

impl Rows {
    /// Rows in ascending order of columns, without stored zeros.
    fn into_cells(self, cols: usize, options: &ReadOptions) -> Result<Cells, Trouble> {
        let mut lengths = Vec::with_capacity(self.starts.len().saturating_sub(1));
        let mut columns = Vec::with_capacity(self.columns.len());
        let mut values = GrowingValues::with_capacity(options.storage, self.columns.len());
        let mut row: Vec<(u32, f64)> = Vec::new();
        for range in self.starts.windows(2) {
            row.clear();
            let range = range[0] as usize..range[1] as usize;
            if range.len() > cols {
                let expected = format!("at most {cols} entries in row {}", lengths.len());
                return Err(Trouble::new(expected, range.len().to_string()));
            }
            row.extend(range.map(|at| (self.columns[at], self.values.get(at))));
            row.sort_unstable_by_key(|&(column, _)| column);
            let is_twice = |pair: &&[(u32, f64)]| pair[0].0 == pair[1].0 && pair[0].0 < BEYOND;
            if let Some(pair) = row.windows(2).find(is_twice) {
                let found = format!("column {} twice in row {}", pair[0].0, lengths.len());
                return Err(Trouble::new("each column once in a row", found));
            }
            let before = columns.len();
            for &(column, value) in row.iter().filter(|(_, value)| *value != 0.0) {
                columns.push(column);
                let _ = values.push(value);
            }
            lengths.push((columns.len() - before) as u32);
        }
        Ok(Cells::Sparse { cols, lengths, columns, values })
    }
}

fn read_layout(input: &mut dyn Read) -> Result<Layout, Trouble> {
    let header = ArrayHeader::read(input)?;
    let (Element::Text(_) | Element::Bytes(_), []) = (header.element, &header.shape[..]) else {
        return Err(Trouble::new("csr, csc or coo", header.shape_text()));
    };
    let mut name = Vec::new();
    input.take(64).read_to_end(&mut name)?;
    // The same letters, whatever the width of a character and the byte order.
    name.retain(|&b| b != 0);
    match &name[..] {
        b"csr" => Ok(Layout::Rows),
        b"csc" => Ok(Layout::Columns),
        b"coo" => Ok(Layout::Coordinates),
        other => Err(Trouble::new("csr, csc or coo", quoted(other))),
    }
}

fn read_starts(input: &mut dyn Read, lines: u64) -> Result<Vec<u64>, Trouble> {
    let mut starts: Vec<u64> = Vec::new();
    stream_integers(input, |start| {
        let last = starts.last().copied();
        if start < last.unwrap_or(0) || (last.is_none() && start != 0) {
            let found = format!("{start} after {}", last.unwrap_or(0));
            return Err(Trouble::new("starts that begin at 0 and never descend", found));
        }
        starts.push(start);
        Ok(())
    })?;
    if starts.len() as u64 != lines.saturating_add(1) {
        let expected = format!("{} starts", lines.saturating_add(1));
        return Err(Trouble::new(expected, starts.len().to_string()));
    }
    Ok(starts)
}

/// Indices below `across`, as many as there are entries where that is known.
fn read_indices(
    input: &mut dyn Read,
    entries: Option<u64>,
    across: u64,
) -> Result<Vec<u32>, Trouble> {
    let mut indices = Vec::new();
    stream_integers(input, |index| {
        if index >= across {
            return Err(Trouble::new(format!("indices below {across}"), index.to_string()));
        }
        indices.push(index.min(u64::from(BEYOND)) as u32);
        Ok(())
    })?;
    match entries {
        Some(entries) if indices.len() as u64 != entries => {
            Err(Trouble::new(format!("{entries} indices"), indices.len().to_string()))
        }
        _ => Ok(indices),
    }
}

fn read_values(
    input: &mut dyn Read,
    entries: u64,
    storage: minorant_linalg::Storage,
) -> Result<GrowingValues, Trouble> {
    let (header, kind) = vector_header(input)?;
    if header.shape[0] != entries {
        return Err(Trouble::new(format!("{entries} values"), header.shape[0].to_string()));
    }
    let mut values = GrowingValues::new(storage);
    Run { kind, big_endian: header.big_endian, count: entries }.stream(input, |value| {
        if values.push(value) {
            return Ok(());
        }
        Err(Trouble::new("values within the range of f32", value.to_string()))
    })?;
    expect_end(input)?;
    Ok(values)
}

fn vector_header(input: &mut dyn Read) -> Result<(ArrayHeader, NumberType), Trouble> {
    let header = ArrayHeader::read(input)?;
    match (header.element, header.shape.len()) {
        (Element::Number(kind), 1) => Ok((header, kind)),
        _ => Err(Trouble::new("a vector of numbers", header.shape_text())),
    }
}

/// All elements of a vector of integers that are at least 0.
fn stream_integers(
    input: &mut dyn Read,
    mut each: impl FnMut(u64) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let (header, kind) = vector_header(input)?;
    // SciPy writes no others, and shorter ones would need many times their size in memory.
    if !matches!(kind, NumberType::I32 | NumberType::I64) {
        return Err(Trouble::new("integers of 32 or 64 bits", format!("{kind:?}")));
    }
    let run = Run { kind, big_endian: header.big_endian, count: header.shape[0] };
    run.stream(input, |value| {
        if value < 0.0 {
            return Err(Trouble::new("integers from 0 on", value.to_string()));
        }
        each(value as u64)
    })?;
    expect_end(input)
}
