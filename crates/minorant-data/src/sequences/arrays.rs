//! NPZ arrays: `values` (tokens by columns), `offsets` (where each sequence begins, and where the
//! last one ends) and `labels` (one a token, numbers or text; may be missing at prediction).

use super::builder::Builder;
use crate::collect::Collector;
use crate::error::{ReadError, Refusal};
use crate::formats::array_labels::read_labels;
use crate::formats::binary::{Run, Trouble, expect_end};
use crate::formats::npy::Features;
use crate::formats::npy_header::{ArrayHeader, Element};
use crate::formats::npz::Archive;
use crate::piece::{Cells, PieceRows};
use crate::read::ReadOptions;
use crate::source::Source;

pub(super) fn read(source: &Source<'_>, builder: &mut Builder<'_>) -> Result<(), ReadError> {
    let name = source.name();
    let mut archive = Archive::open(source)?;
    let storage = builder.options.storage;
    let cells = archive.member("values", |input| Features::begin(input)?.read(input, storage))?;
    let Cells::Dense { rows, cols, values, .. } = cells else {
        return Err(ReadError::whole(&name, "values in rows and columns", "others"));
    };
    let offsets = read_offsets(&mut archive, &name, rows)?;
    let labels = if archive.has("labels") || builder.options.known.is_none() {
        let options = ReadOptions::default();
        let mut collector = Collector::new(&options);
        let read = archive.member("labels", |input| {
            let header = ArrayHeader::read(input)?;
            read_labels(input, &header, rows as u64, &mut collector)
        })?;
        let (Some(table), PieceRows::Single(ids)) = (read.table, read.rows) else {
            return Err(ReadError::whole(&name, "one label for each token", "others"));
        };
        let mut names = vec![String::new(); table.len()];
        for (label, id) in table.into_labels() {
            names[id as usize] = label.to_string();
        }
        Some((names, ids))
    } else {
        None
    };
    let whole = |why: Refusal| why.in_file(&name);
    builder.set_width(cols).map_err(whole)?;
    for span in offsets.windows(2) {
        for token in span[0]..span[1] {
            for column in 0..cols {
                builder.cell(column, values.get(token * cols + column)).map_err(whole)?;
            }
            let label = labels.as_ref().map(|(names, ids)| names[ids[token] as usize].as_str());
            builder.end_token(label, "").map_err(whole)?;
        }
        builder.end_even_empty_sequence();
    }
    Ok(())
}

/// Where each sequence of `rows` rows begins, and where the last one ends.
pub(super) fn read_offsets(
    archive: &mut Archive<'_>,
    name: &str,
    rows: usize,
) -> Result<Vec<usize>, ReadError> {
    let offsets = archive.member("offsets", |input| {
        let header = ArrayHeader::read(input)?;
        let (Element::Number(kind), &[count]) = (header.element, &header.shape[..]) else {
            return Err(Trouble::new("a vector of numbers", header.shape_text()));
        };
        let mut offsets: Vec<usize> = Vec::new();
        Run { kind, big_endian: header.big_endian, count }.stream(input, |offset| {
            let last = offsets.last().copied().unwrap_or(0) as f64;
            let first = offsets.is_empty();
            if offset.fract() != 0.0
                || offset < last
                || offset > rows as f64
                || (first && offset != 0.0)
            {
                let expected = format!("offsets from 0 to {rows} that never descend");
                return Err(Trouble::new(expected, offset.to_string()));
            }
            offsets.push(offset as usize);
            Ok(())
        })?;
        expect_end(input)?;
        Ok(offsets)
    })?;
    if offsets.last() != Some(&rows) {
        let found = offsets.last().map_or("none".into(), ToString::to_string);
        return Err(ReadError::whole(name, format!("offsets that end at {rows}"), found));
    }
    Ok(offsets)
}
