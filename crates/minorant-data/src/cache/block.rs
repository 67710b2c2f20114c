//! A block of rows as bytes: how long each row is, its columns, its values, its labels. Values are f32
//! where all of the block are exactly that, else f64; where all values of each row are equal, one is kept
//! for each row. Labels stay as they were read: numbers as numbers, other words by the order in which the
//! file first has them.

use super::bytes::{Bytes, Put};
use super::summary::finite;
use crate::dataset::Label;
use crate::error::Refusal;
use crate::piece::Cells;
use crate::values::GrowingValues;
use minorant_linalg::{Storage, all_hold};

/// The labels of the rows of a block.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum BlockLabels {
    /// None.
    None,
    /// One number a row.
    Numbers(Vec<f64>),
    /// For each row how many, and numbers.
    NumberSets(Vec<u32>, Vec<f64>),
    /// One word a row, by its number.
    Words(Vec<u32>),
    /// For each row how many, and numbers of words.
    WordSets(Vec<u32>, Vec<u32>),
    /// Targets, so many a row.
    Targets(usize, Vec<f64>),
}

/// Rows with their labels.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) cells: Cells,
    pub(super) labels: BlockLabels,
    /// Words that the file has first here; they are numbered on from those of the blocks before.
    pub(super) new_words: Vec<Label>,
    /// Weights of the examples, where they have some.
    pub(super) weights: Option<Vec<f64>>,
    /// Where rows are the tokens of sequences, how many tokens each sequence has: a block has whole ones.
    pub(super) sequences: Option<Vec<u32>>,
}

/// How values are kept.
const SINGLE: u8 = 0;
const DOUBLE: u8 = 1;
const ONE_SINGLE_A_ROW: u8 = 2;
const ONE_DOUBLE_A_ROW: u8 = 3;

impl Block {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.push(u8::from(self.sequences.is_some()));
        if let Some(lengths) = &self.sequences {
            out.put_u64(lengths.len());
            out.put_u32s(lengths);
        }
        out.put_u64(self.cells.rows());
        out.put_u64(self.cells.cols());
        out.put_u64(self.cells.entries());
        match &self.cells {
            Cells::Dense { values, from_text, .. } => {
                out.push(1 + u8::from(*from_text));
                put_values(&mut out, values);
            }
            Cells::Sparse { lengths, columns, values, .. } => {
                out.push(0);
                out.put_u32s(lengths);
                out.put_u32s(columns);
                match one_a_row(lengths, values) {
                    Some(each) => {
                        let is_single = matches!(values, GrowingValues::Narrow { .. });
                        out.push(if is_single { ONE_SINGLE_A_ROW } else { ONE_DOUBLE_A_ROW });
                        match is_single {
                            true => each.iter().for_each(|&x| out.extend((x as f32).to_le_bytes())),
                            false => out.put_f64s(&each),
                        }
                    }
                    None => put_values(&mut out, values),
                }
            }
        }
        out.put_u64(self.new_words.len());
        self.new_words.iter().for_each(|label| super::summary::put_label(&mut out, label));
        self.put_labels(&mut out);
        out.push(u8::from(self.weights.is_some()));
        out.put_f64s(self.weights.as_deref().unwrap_or_default());
        out
    }

    fn put_labels(&self, out: &mut Vec<u8>) {
        match &self.labels {
            BlockLabels::None => out.push(0),
            BlockLabels::Numbers(each) => {
                out.push(1);
                out.put_f64s(each);
            }
            BlockLabels::NumberSets(lengths, items) => {
                out.push(2);
                out.put_u32s(lengths);
                out.put_f64s(items);
            }
            BlockLabels::Words(each) => {
                out.push(3);
                out.put_u32s(each);
            }
            BlockLabels::WordSets(lengths, items) => {
                out.push(4);
                out.put_u32s(lengths);
                out.put_u32s(items);
            }
            BlockLabels::Targets(width, all) => {
                out.push(5);
                out.put_u64(*width);
                out.put_f64s(all);
            }
        }
    }

    /// The block in these bytes, with its values in this storage.
    pub(super) fn decode(body: &[u8], storage: Storage) -> Result<Self, Refusal> {
        let mut from = Bytes::new(body);
        let sequences = match from.u8()? {
            0 => None,
            _ => {
                let count = from.count()?;
                Some(from.u32s(count)?)
            }
        };
        let (rows, cols, entries) = (from.count()?, from.count()?, from.count()?);
        if cols > crate::collect::MOST_COLUMNS {
            return Err(Refusal::new("fewer than 2^31 columns", cols.to_string()));
        }
        let cells = match from.u8()? {
            0 => {
                let (lengths, columns) = (from.u32s(rows)?, from.u32s(entries)?);
                // The attributes of a token come in any order, and may come twice.
                check_rows(&lengths, &columns, cols, sequences.is_none())?;
                let kind = from.u8()?;
                let values = if kind == ONE_SINGLE_A_ROW || kind == ONE_DOUBLE_A_ROW {
                    let each = numbers(&mut from, kind - ONE_SINGLE_A_ROW, rows)?;
                    let all = lengths.iter().zip(each);
                    stored(all.flat_map(|(&n, x)| std::iter::repeat_n(x, n as usize)), storage)?
                } else {
                    values(&mut from, kind, entries, storage)?
                };
                Cells::Sparse { cols, lengths, columns, values }
            }
            layout @ (1 | 2) => {
                if rows.checked_mul(cols) != Some(entries) {
                    return Err(Refusal::new(
                        format!("{rows} x {cols} values"),
                        entries.to_string(),
                    ));
                }
                let kind = from.u8()?;
                let values = values(&mut from, kind, entries, storage)?;
                Cells::Dense { cols, rows, values, from_text: layout == 2 }
            }
            other => return Err(Refusal::new("dense or sparse rows", format!("layout {other}"))),
        };
        let new_words = from.count()?;
        let new_words =
            (0..new_words).map(|_| super::summary::label(&mut from)).collect::<Result<_, _>>()?;
        let labels = labels(&mut from, rows)?;
        let weights = match from.u8()? {
            0 => None,
            _ => Some(from.f64s(rows)?),
        };
        from.end()?;
        let tokens = |lengths: &[u32]| lengths.iter().map(|&n| u64::from(n)).sum::<u64>();
        match &sequences {
            Some(lengths) if tokens(lengths) != rows as u64 => {
                let expected = format!("{rows} tokens in the sequences of a block");
                Err(Refusal::new(expected, tokens(lengths).to_string()))
            }
            _ => Ok(Block { cells, labels, new_words, weights, sequences }),
        }
    }
}

/// Refuses rows that no reader would have made: lengths that do not add up, columns beyond the last or,
/// where they ascend, not in ascending order.
fn check_rows(lengths: &[u32], columns: &[u32], cols: usize, ascend: bool) -> Result<(), Refusal> {
    let total: u64 = lengths.iter().map(|&n| u64::from(n)).sum();
    if total != columns.len() as u64 {
        return Err(Refusal::new(format!("{total} columns"), columns.len().to_string()));
    }
    // Where columns do not ascend, a row must begin. Counting is quicker than looking at row by row.
    let descents = columns.windows(2).map(|pair| usize::from(pair[0] >= pair[1])).sum::<usize>();
    let (mut at, mut between_rows) = (0, 0);
    for &length in lengths.iter().filter(|&&length| length > 0) {
        between_rows += usize::from(at > 0 && columns[at - 1] >= columns[at]);
        at += length as usize;
    }
    if ascend && descents != between_rows || !all_hold(columns, |column| (column as usize) < cols) {
        let ascending = if ascend { "ascending " } else { "" };
        return Err(Refusal::new(format!("{ascending}columns below {cols}"), "others"));
    }
    Ok(())
}

/// One value for each row, where all values of every row are equal and that is shorter.
fn one_a_row(lengths: &[u32], values: &GrowingValues) -> Option<Vec<f64>> {
    if lengths.len() >= values.len() {
        return None;
    }
    let mut at = 0;
    let mut each = Vec::with_capacity(lengths.len());
    for &length in lengths {
        let end = at + length as usize;
        let first = if length > 0 { values.get(at) } else { 0.0 };
        if !(at..end).all(|at| values.get(at).to_bits() == first.to_bits()) {
            return None;
        }
        each.push(first);
        at = end;
    }
    Some(each)
}

fn put_values(out: &mut Vec<u8>, values: &GrowingValues) {
    match values {
        GrowingValues::Narrow { values, .. } => {
            out.push(SINGLE);
            values.iter().for_each(|x| out.extend_from_slice(&x.to_le_bytes()));
        }
        GrowingValues::Wide(values) => {
            out.push(DOUBLE);
            out.put_f64s(values);
        }
    }
}

/// Finite values in this storage.
fn values(
    from: &mut Bytes<'_>,
    kind: u8,
    count: usize,
    storage: Storage,
) -> Result<GrowingValues, Refusal> {
    match (kind, storage) {
        // What is stored as it is kept needs no look at single values.
        (SINGLE, Storage::Exact | Storage::F32) => {
            let values = from.f32s(count)?;
            check_finite(&values, f64::from)?;
            Ok(GrowingValues::Narrow { values, rounds: storage == Storage::F32 })
        }
        (DOUBLE, Storage::F64) => Ok(GrowingValues::Wide(numbers(from, kind, count)?)),
        _ => stored(numbers(from, kind, count)?.into_iter(), storage),
    }
}

/// Refuses numbers that readers would not have let pass.
fn check_finite<T: Copy>(all: &[T], wide: impl Fn(T) -> f64) -> Result<(), Refusal> {
    if all_hold(all, |x| wide(x).is_finite()) {
        return Ok(());
    }
    all.iter().try_for_each(|&x| finite(wide(x)).map(drop))
}

/// Finite numbers as they are kept.
fn numbers(from: &mut Bytes<'_>, kind: u8, count: usize) -> Result<Vec<f64>, Refusal> {
    let all: Vec<f64> = match kind {
        SINGLE => from.f32s(count)?.into_iter().map(f64::from).collect(),
        DOUBLE => from.f64s(count)?,
        other => return Err(Refusal::new("f32 or f64 values", format!("kind {other}"))),
    };
    check_finite(&all, |x| x)?;
    Ok(all)
}

fn stored(all: impl Iterator<Item = f64>, storage: Storage) -> Result<GrowingValues, Refusal> {
    let mut values = GrowingValues::with_capacity(storage, all.size_hint().0);
    for x in all {
        if !values.push(x) {
            return Err(Refusal::new("values within the range of f32", x.to_string()));
        }
    }
    Ok(values)
}

fn labels(from: &mut Bytes<'_>, rows: usize) -> Result<BlockLabels, Refusal> {
    let sum = |lengths: &[u32]| lengths.iter().map(|&n| n as usize).fold(0, usize::saturating_add);
    let found = match from.u8()? {
        0 => BlockLabels::None,
        1 => BlockLabels::Numbers(from.f64s(rows)?),
        2 => {
            let lengths = from.u32s(rows)?;
            let items = from.f64s(sum(&lengths))?;
            BlockLabels::NumberSets(lengths, items)
        }
        3 => BlockLabels::Words(from.u32s(rows)?),
        4 => {
            let lengths = from.u32s(rows)?;
            let items = from.u32s(sum(&lengths))?;
            BlockLabels::WordSets(lengths, items)
        }
        5 => {
            let width = from.count()?;
            BlockLabels::Targets(width, from.f64s(rows.saturating_mul(width))?)
        }
        other => return Err(Refusal::new("labels of a known kind", format!("kind {other}"))),
    };
    match &found {
        BlockLabels::Numbers(all)
        | BlockLabels::NumberSets(_, all)
        | BlockLabels::Targets(_, all) => check_finite(all, |x| x)?,
        BlockLabels::None | BlockLabels::Words(_) | BlockLabels::WordSets(..) => {}
    }
    Ok(found)
}
