//! Labels from arrays: a vector of numbers or text is one label a row, a matrix of 0 and 1 says
//! for each label (numbered from 0) whether the row has it.

use super::binary::{NumberType, Run, Trouble, expect_end};
use super::npy_header::{ArrayHeader, Element};
use crate::collect::Collector;
use crate::dataset::{Label, LabelKind};
use crate::error::quoted;
use crate::label_table::LabelTable;
use crate::piece::{PieceLabels, PieceRows};
use std::io::Read;

/// Reads the labels of `rows` rows.
pub(crate) fn read_labels(
    input: &mut dyn Read,
    header: &ArrayHeader,
    rows: u64,
    collector: &mut Collector<'_>,
) -> Result<PieceLabels, Trouble> {
    // What is handed on keeps numbers as such, whatever they will be taken for: a table of them might have
    // as many entries as there are rows.
    let wants_targets = collector.options.label_kind == Some(LabelKind::Targets)
        || (collector.hands_on() && header.shape.len() == 1);
    let labels = match (header.element, &header.shape[..]) {
        (Element::Number(kind), shape @ (&[n] | &[n, _])) if n == rows && wants_targets => {
            let width = shape.get(1).copied().unwrap_or(1);
            let run = Run { kind, big_endian: header.big_endian, count: 0 };
            read_targets(input, run, (rows, width), header.by_columns)?
        }
        (Element::Text(_) | Element::Bytes(_), &[n] | &[n, 1])
            if n == rows && wants_targets && !collector.hands_on() =>
        {
            return Err(Trouble::new("numbers as targets", "text"));
        }
        (Element::Number(kind), &[n] | &[n, 1]) if n == rows => {
            read_numbers(input, kind, header.big_endian, rows)?
        }
        (Element::Text(length), &[n] | &[n, 1]) if n == rows => {
            let big_endian = header.big_endian;
            read_texts(input, rows, 4 * length, |bytes| decode_utf32(bytes, big_endian))?
        }
        (Element::Bytes(length), &[n] | &[n, 1]) if n == rows => {
            read_texts(input, rows, length, |bytes| Ok(without_end(bytes, 1).to_vec()))?
        }
        (Element::Number(kind), &[n, labels]) if n == rows && labels > 0 => {
            let run = Run { kind, big_endian: header.big_endian, count: 0 };
            read_indicators(input, run, (rows, labels), header.by_columns, collector)?
        }
        _ => {
            let expected = format!("one label, or one row of 0 and 1, for each of {rows} rows");
            return Err(Trouble::new(expected, header.shape_text()));
        }
    };
    expect_end(input)?;
    Ok(labels)
}

/// A vector of numbers, each the label of a row.
pub(crate) fn read_numbers(
    input: &mut dyn Read,
    kind: NumberType,
    big_endian: bool,
    rows: u64,
) -> Result<PieceLabels, Trouble> {
    let mut table = LabelTable::default();
    let mut ids = Vec::new();
    Run { kind, big_endian, count: rows }.stream(input, |label| {
        ids.push(table.insert_number(label));
        Ok(())
    })?;
    ids.shrink_to_fit();
    Ok(PieceLabels { table: Some(table), rows: PieceRows::Single(ids) })
}

/// The targets of rows, so many each.
pub(crate) fn read_targets(
    input: &mut dyn Read,
    run: Run,
    (rows, width): (u64, u64),
    by_columns: bool,
) -> Result<PieceLabels, Trouble> {
    let Some(count) = rows.checked_mul(width).filter(|_| width > 0) else {
        return Err(Trouble::new("targets that a file can hold", format!("{rows} x {width}")));
    };
    let mut values = Vec::new();
    Run { count, ..run }.stream(input, |target| {
        if !target.is_finite() {
            return Err(Trouble::new("finite targets", target.to_string()));
        }
        values.push(target + 0.0);
        Ok(())
    })?;
    // Only now are both sizes backed by bytes.
    let (rows, width) = (rows as usize, width as usize);
    if by_columns && width > 1 {
        let row_by_row = (0..rows).flat_map(|i| (0..width).map(move |k| k * rows + i));
        values = row_by_row.map(|at| values[at]).collect();
    }
    values.shrink_to_fit();
    Ok(PieceLabels { table: None, rows: PieceRows::Numbers { width, values } })
}

fn read_texts(
    input: &mut dyn Read,
    rows: u64,
    width: u64,
    decode: impl Fn(&[u8]) -> Result<Vec<u8>, Trouble>,
) -> Result<PieceLabels, Trouble> {
    let mut table = LabelTable::default();
    let mut ids = Vec::new();
    let mut item = Vec::new();
    for row in 0..rows {
        item.clear();
        (&mut *input).take(width).read_to_end(&mut item)?;
        if (item.len() as u64) < width {
            return Err(Trouble::new(format!("{rows} labels"), format!("only {row}")));
        }
        ids.push(table.insert_spelled(&decode(&item)?)?);
    }
    Ok(PieceLabels { table: Some(table), rows: PieceRows::Single(ids) })
}

/// The item without the NUL characters (of `size` bytes) that fill it up.
fn without_end(mut item: &[u8], size: usize) -> &[u8] {
    while item.len() >= size && item[item.len() - size..].iter().all(|&b| b == 0) {
        item = &item[..item.len() - size];
    }
    item
}

fn decode_utf32(item: &[u8], big_endian: bool) -> Result<Vec<u8>, Trouble> {
    let mut text = String::new();
    for bytes in without_end(item, 4).chunks_exact(4) {
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        let code = if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
        let Some(character) = char::from_u32(code) else {
            return Err(Trouble::new("Unicode text", quoted(&bytes)));
        };
        text.push(character);
    }
    Ok(text.into_bytes())
}

fn read_indicators(
    input: &mut dyn Read,
    run: Run,
    (rows, labels): (u64, u64),
    by_columns: bool,
    collector: &mut Collector<'_>,
) -> Result<PieceLabels, Trouble> {
    let Some(count) = rows.checked_mul(labels) else {
        return Err(Trouble::new("labels that a file can hold", format!("{rows} x {labels}")));
    };
    let mut cells: Vec<bool> = Vec::new();
    Run { count, ..run }.stream(input, |value| {
        if value != 0.0 && value != 1.0 {
            return Err(Trouble::new("0 or 1 for each label", value.to_string()));
        }
        cells.push(value == 1.0);
        Ok(())
    })?;
    // Only now are both sizes backed by bytes.
    let (rows, labels) = (rows as usize, labels as usize);
    let ids = collector.declare((0..labels).map(|number| Label::Number(number as f64)));
    let mut lengths = Vec::with_capacity(rows);
    let mut items = Vec::with_capacity(cells.iter().filter(|&&has| has).count());
    for row in 0..rows {
        let before = items.len();
        items.extend((0..labels).filter_map(|label| {
            let at = if by_columns { label * rows + row } else { row * labels + label };
            cells[at].then_some(ids[label])
        }));
        lengths.push((items.len() - before) as u32);
    }
    Ok(PieceLabels { table: None, rows: PieceRows::Sets { lengths, items } })
}
