//! NPY files: a matrix of features, and a vector or matrix of labels in a file of its own.

use super::array_labels::read_labels;
use super::binary::{NumberType, Trouble, expect_end, read_matrix, read_matrix_in_pieces};
use super::npy_header::{ArrayHeader, Element};
use crate::collect::Collector;
use crate::error::ReadError;
use crate::formats::npz;
use crate::piece::{Cells, InTurn, Piece, PieceLabels};
use crate::source::Source;
use minorant_linalg::Storage;
use std::io::Read;

/// An array of features that begins here: how its numbers are stored, and its shape.
pub(crate) struct Features {
    kind: (NumberType, bool),
    shape: (u64, u64),
    by_columns: bool,
}

impl Features {
    pub(crate) fn begin(input: &mut dyn Read) -> Result<Self, Trouble> {
        let header = ArrayHeader::read(input)?;
        let (Element::Number(kind), &[rows, cols]) = (header.element, &header.shape[..]) else {
            let found = match header.element {
                Element::Number(_) => header.shape_text(),
                Element::Text(_) | Element::Bytes(_) => "text".to_owned(),
            };
            return Err(Trouble::new("numbers in rows and columns", found));
        };
        let (kind, by_columns) = ((kind, header.big_endian), header.by_columns);
        Ok(Features { kind, shape: (rows, cols), by_columns })
    }

    /// The rows that the array claims, if they are to be handed on some at a time: where they lie one behind
    /// the other, and somebody takes them that way.
    pub(crate) fn handed_on_rows(&self, collector: &Collector<'_>) -> Option<u64> {
        (collector.hands_on() && !self.by_columns).then_some(self.shape.0)
    }

    /// All of the array.
    pub(crate) fn read(self, input: &mut dyn Read, storage: Storage) -> Result<Cells, Trouble> {
        let cells = read_matrix(input, self.kind, self.shape, self.by_columns, storage)?;
        expect_end(input)?;
        Ok(cells)
    }

    /// Some rows at a time, with their labels, into a collector that hands them on.
    pub(crate) fn hand_on(
        self,
        input: &mut dyn Read,
        labels: PieceLabels,
        collector: &mut Collector<'_>,
    ) -> Result<(), Trouble> {
        let (mut labels, storage) = (InTurn::new(labels), collector.options.storage);
        read_matrix_in_pieces(input, self.kind, self.shape, storage, |cells| {
            let labels = labels.next(cells.rows());
            Ok(collector.push(Piece { cells, labels, lines: 0, highest: None })?)
        })?;
        expect_end(input)
    }
}

/// Reads a file of features, with its labels from `labels` where there is such a file.
pub(crate) fn read(
    source: &Source<'_>,
    labels: Option<&Source<'_>>,
    collector: &mut Collector<'_>,
) -> Result<(), ReadError> {
    let name = source.name();
    let storage = collector.options.storage;
    let mut input = source.open()?;
    let features = Features::begin(&mut input).map_err(|why| why.in_file(&name))?;
    let labels_of = |rows: u64, collector: &mut Collector<'_>| match labels {
        Some(labels) => read_label_file(labels, rows, collector),
        None => PieceLabels::missing(&name, "labels in the next file", collector.options),
    };
    if let Some(rows) = features.handed_on_rows(collector) {
        let labels = labels_of(rows, collector)?;
        let done = features.hand_on(&mut input, labels, collector);
        return done.map_err(|why| why.in_file(&name));
    }
    let cells = features.read(&mut input, storage).map_err(|why| why.in_file(&name))?;
    let labels = labels_of(cells.rows() as u64, collector)?;
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
