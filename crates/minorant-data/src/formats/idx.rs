//! IDX files, the format of MNIST: arrays of numbers with a short header, the first axis being the
//! examples. Images and labels are separate files; values are taken as they are.

use super::array_labels::{read_numbers, read_targets};
use super::binary::{
    NumberType, Run, Trouble, expect_end, read_matrix, read_matrix_in_pieces, read_up_to,
};
use crate::collect::Collector;
use crate::dataset::LabelKind;
use crate::error::{ReadError, quoted};
use crate::piece::{InTurn, Piece, PieceLabels};
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
    let mut input = source.open()?;
    let images = Images::begin(&mut input).map_err(|why| why.in_file(&name))?;
    let labels_of = |rows: u64, collector: &Collector<'_>| match labels {
        None => {
            let expected = "labels in the next file, or beside the images under their name";
            PieceLabels::missing(&name, expected, collector.options)
        }
        Some(labels) => read_labels(&mut labels.open()?, rows, collector)
            .map_err(|why| why.in_file(&labels.name())),
    };
    let storage = collector.options.storage;
    if collector.hands_on() {
        let mut labels = InTurn::new(labels_of(images.shape.0, collector)?);
        let done = read_matrix_in_pieces(&mut input, images.kind, images.shape, storage, |cells| {
            let labels = labels.next(cells.rows());
            Ok(collector.push(Piece { cells, labels, lines: 0, highest: None })?)
        });
        return done.and_then(|()| expect_end(&mut input)).map_err(|why| why.in_file(&name));
    }
    let cells = read_matrix(&mut input, images.kind, images.shape, false, storage)
        .and_then(|cells| expect_end(&mut input).map(|()| cells))
        .map_err(|why| why.in_file(&name))?;
    let labels = labels_of(cells.rows() as u64, collector)?;
    collector
        .push(Piece { cells, labels, lines: 0, highest: None })
        .map_err(|why| why.in_file(&name))
}

/// Images that begin here: how their numbers are stored, how many there are, and values of each.
struct Images {
    kind: (NumberType, bool),
    shape: (u64, u64),
}

impl Images {
    fn begin(input: &mut dyn Read) -> Result<Self, Trouble> {
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
        Ok(Images { kind: (header.kind, true), shape: (u64::from(*rows), cols) })
    }
}

fn read_labels(
    input: &mut dyn Read,
    rows: u64,
    collector: &Collector<'_>,
) -> Result<PieceLabels, Trouble> {
    let header = IdxHeader::read(input)?;
    if header.axes.len() != 1 || u64::from(header.axes[0]) != rows {
        let axes: Vec<String> = header.axes.iter().map(u32::to_string).collect();
        return Err(Trouble::new(format!("{rows} labels"), format!("shape {}", axes.join(" x "))));
    }
    let labels = match collector.options.label_kind {
        // What is handed on keeps numbers as such, whatever they will be taken for.
        kind if kind == Some(LabelKind::Targets) || collector.hands_on() => {
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
