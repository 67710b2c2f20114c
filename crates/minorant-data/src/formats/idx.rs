//! IDX files, the format of MNIST: arrays of numbers with a short header, the first axis being the
//! examples. Images and labels are separate files; values are taken as they are.

use super::array_labels::{read_numbers, read_targets};
use super::binary::{NumberType, Run, Trouble, expect_end, read_matrix, read_up_to};
use crate::collect::Collector;
use crate::dataset::LabelKind;
use crate::error::{ReadError, quoted};
use crate::piece::{Piece, PieceLabels};
use crate::read::ReadOptions;
use crate::source::Source;
use std::io::Read;

/// What an IDX header says.
struct IdxHeader {
    kind: NumberType,
    axes: Vec<u32>,
}

impl IdxHeader {
    fn read(input: &mut dyn Read) -> Result<IdxHeader, Trouble> {
        let mut start = [0; 4];
        let got = read_up_to(input, &mut start)?;
        if got < 4 || start[..2] != [0, 0] {
            return Err(Trouble::new("an IDX file", quoted(&start[..got])));
        }
        let kind = match start[2] {
            0x08 => NumberType::U8,
            0x09 => NumberType::I8,
            0x0b => NumberType::I16,
            0x0c => NumberType::I32,
            0x0d => NumberType::F32,
            0x0e => NumberType::F64,
            other => return Err(Trouble::new("an IDX number type", format!("{other:#04x}"))),
        };
        let mut axes = Vec::new();
        for at in 0..start[3] {
            let mut size = [0; 4];
            if read_up_to(input, &mut size)? < 4 {
                let expected = format!("the sizes of {} axes", start[3]);
                return Err(Trouble::new(expected, at.to_string()));
            }
            axes.push(u32::from_be_bytes(size));
        }
        Ok(IdxHeader { kind, axes })
    }
}

/// Reads images, with their labels from `labels` where there is such a file.
pub(crate) fn read(
    source: &Source<'_>,
    labels: Option<&Source<'_>>,
    collector: &mut Collector<'_>,
) -> Result<(), ReadError> {
    let name = source.name();
    let cells = read_images(&mut source.open()?, collector).map_err(|why| why.in_file(&name))?;
    let labels = match labels {
        None => {
            let expected = "labels in the next file, or beside the images under their name";
            PieceLabels::missing(&name, expected, collector.options)?
        }
        Some(labels) => read_labels(&mut labels.open()?, cells.rows() as u64, collector.options)
            .map_err(|why| why.in_file(&labels.name()))?,
    };
    collector
        .push(Piece { cells, labels, lines: 0, highest: None })
        .map_err(|why| why.in_file(&name))
}

fn read_images(
    input: &mut dyn Read,
    collector: &Collector<'_>,
) -> Result<crate::piece::Cells, Trouble> {
    let header = IdxHeader::read(input)?;
    let [rows, others @ ..] = &header.axes[..] else {
        return Err(Trouble::new("examples along the first axis", "no axes"));
    };
    if others.is_empty() {
        let found = "one axis, as label files have";
        return Err(Trouble::new("images (two axes or more)", found));
    }
    let cols = others.iter().try_fold(1u64, |cols, &axis| cols.checked_mul(u64::from(axis)));
    let Some(cols) = cols else {
        return Err(Trouble::new("fewer than 2^31 values per example", "more"));
    };
    let shape = (u64::from(*rows), cols);
    let cells = read_matrix(input, (header.kind, true), shape, false, collector.options.storage)?;
    expect_end(input)?;
    Ok(cells)
}

fn read_labels(
    input: &mut dyn Read,
    rows: u64,
    options: &ReadOptions,
) -> Result<PieceLabels, Trouble> {
    let header = IdxHeader::read(input)?;
    if header.axes.len() != 1 || u64::from(header.axes[0]) != rows {
        let axes: Vec<String> = header.axes.iter().map(u32::to_string).collect();
        return Err(Trouble::new(format!("{rows} labels"), format!("shape {}", axes.join(" x "))));
    }
    let labels = match options.label_kind {
        Some(LabelKind::Targets) => {
            let run = Run { kind: header.kind, big_endian: true, count: rows };
            read_targets(input, run, (rows, 1), false)?
        }
        _ => read_numbers(input, header.kind, true, rows)?,
    };
    expect_end(input)?;
    Ok(labels)
}

/// Whether the file has one axis, as labels do.
pub(crate) fn is_label_file(source: &Source<'_>) -> Result<bool, ReadError> {
    Ok(IdxHeader::read(&mut source.open()?).is_ok_and(|header| header.axes.len() == 1))
}
