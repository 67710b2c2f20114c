//! NPY files: a matrix of features, and a vector or matrix of labels in a file of its own.

use super::array_labels::read_labels;
use super::binary::{Trouble, expect_end, read_matrix};
use super::npy_header::{ArrayHeader, Element};
use crate::collect::Collector;
use crate::error::ReadError;
use crate::formats::npz;
use crate::piece::{Cells, Piece, PieceLabels};
use crate::source::Source;
use minorant_linalg::Storage;
use std::io::Read;

/// The features of an array that begins here.
pub(crate) fn read_features(input: &mut dyn Read, storage: Storage) -> Result<Cells, Trouble> {
    let header = ArrayHeader::read(input)?;
    let (Element::Number(kind), &[rows, cols]) = (header.element, &header.shape[..]) else {
        let found = match header.element {
            Element::Number(_) => header.shape_text(),
            Element::Text(_) | Element::Bytes(_) => "text".to_owned(),
        };
        return Err(Trouble::new("numbers in rows and columns", found));
    };
    let kind = (kind, header.big_endian);
    let cells = read_matrix(input, kind, (rows, cols), header.by_columns, storage)?;
    expect_end(input)?;
    Ok(cells)
}

/// Reads a file of features, with its labels from `labels` where there is such a file.
pub(crate) fn read(
    source: &Source<'_>,
    labels: Option<&Source<'_>>,
    collector: &mut Collector<'_>,
) -> Result<(), ReadError> {
    let name = source.name();
    let storage = collector.options.storage;
    let cells = read_features(&mut source.open()?, storage).map_err(|why| why.in_file(&name))?;
    let labels = match labels {
        Some(labels) => read_label_file(labels, cells.rows() as u64, collector)?,
        None => PieceLabels::missing(&name, "labels in the next file", collector.options)?,
    };
    collector
        .push(Piece { cells, labels, lines: 0, highest: None })
        .map_err(|why| why.in_file(&name))
}

/// Labels from a file that holds nothing else.
pub(crate) fn read_label_file(
    source: &Source<'_>,
    rows: u64,
    collector: &mut Collector<'_>,
) -> Result<PieceLabels, ReadError> {
    if npz::is_archive(source)? {
        return npz::read_label_file(source, rows, collector);
    }
    let mut input = source.open()?;
    ArrayHeader::read(&mut input)
        .and_then(|header| read_labels(&mut input, &header, rows, collector))
        .map_err(|why| why.in_file(&source.name()))
}

/// Whether the file holds labels only: a vector, or an archive with labels but no features.
pub(crate) fn is_label_file(source: &Source<'_>) -> Result<bool, ReadError> {
    if npz::is_archive(source)? {
        return npz::has_only_labels(source);
    }
    // What is no array will be refused when it is read.
    Ok(ArrayHeader::read(&mut source.open()?).is_ok_and(|header| header.shape.len() == 1))
}
