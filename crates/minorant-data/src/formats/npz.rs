//! NPZ archives: features as `X` (or `features`), or a SciPy sparse matrix, and labels as `y` (or
//! `labels`), in the archive or in the next file.

use super::array_labels::read_labels;
use super::binary::Trouble;
use super::npy::{self, Features};
use super::npy_header::ArrayHeader;
use super::scipy;
use crate::collect::Collector;
use crate::error::{ReadError, quoted};
use crate::piece::{Piece, PieceLabels, PieceRows};
use crate::source::{ReadSeek, Source};
use std::io::Read;
use zip::ZipArchive;
use zip::result::ZipError;

const FEATURES: [&str; 2] = ["X", "features"];
const LABELS: [&str; 2] = ["y", "labels"];

/// An archive that is being read.
pub(crate) struct Archive<'a> {
    file: String,
    zip: ZipArchive<Box<dyn ReadSeek + 'a>>,
}

impl<'a> Archive<'a> {
    pub(crate) fn open(source: &Source<'a>) -> Result<Archive<'a>, ReadError> {
        let file = source.name();
        let mut input = source.open_seekable()?;
        let mut start = [0; 2];
        let got = super::binary::read_up_to(&mut input, &mut start);
        let got = got.map_err(|why| ReadError::io(&file, why))?;
        if &start != b"PK" {
            // An archive within a compressed file would have to be held in memory as a whole.
            let found = match &start[..got] {
                [0x1f, 0x8b] | [0x28, 0xb5] | b"BZ" => "one inside a compressed file".into(),
                [] => "an empty file".into(),
                other => format!("a file that begins with {}", quoted(other)),
            };
            return Err(ReadError::whole(&file, "an NPZ archive as it is", found));
        }
        let zip = ZipArchive::new(input).map_err(|why| broken(why).in_file(&file))?;
        Ok(Archive { file, zip })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(&format!("{name}.npy")).is_some()
    }

    /// Whether there is a SciPy sparse matrix.
    fn has_sparse(&self) -> bool {
        self.has("indptr") || (self.has("row") && self.has("col"))
    }

    fn first_of(&self, names: [&'static str; 2]) -> Option<&'static str> {
        names.into_iter().find(|name| self.has(name))
    }

    /// Reads one array with `read`; refusals name the array.
    pub(crate) fn member<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut dyn Read) -> Result<T, Trouble>,
    ) -> Result<T, ReadError> {
        let place = format!("{}/{name}.npy", self.file);
        let mut member = match self.zip.by_name(&format!("{name}.npy")) {
            Ok(member) => member,
            Err(ZipError::FileNotFound) => {
                let expected = format!("an array named {name}");
                return Err(ReadError::whole(&self.file, expected, "none"));
            }
            Err(why) => return Err(broken(why).in_file(&place)),
        };
        read(&mut member).map_err(|why| {
            match why {
                // Not the system's word but the decompressor's.
                Trouble::Io(why) if why.raw_os_error().is_none() => broken(ZipError::Io(why)),
                other => other,
            }
            .in_file(&place)
        })
    }
}

fn broken(why: ZipError) -> Trouble {
    match why {
        ZipError::Io(why) if why.raw_os_error().is_some() => Trouble::Io(why),
        ZipError::Io(why) => Trouble::new("an intact NPZ archive", format!("a broken one ({why})")),
        why => Trouble::new("an intact NPZ archive", format!("a broken one ({why})")),
    }
}

/// Reads an archive, with labels from `labels` where the archive itself has none.
pub(crate) fn read(
    source: &Source<'_>,
    labels: Option<&Source<'_>>,
    collector: &mut Collector<'_>,
) -> Result<(), ReadError> {
    let mut archive = Archive::open(source)?;
    let storage = collector.options.storage;
    if archive.has_sparse() {
        let shape = scipy::read_shape(&mut archive)?;
        // Labels first: they show that the number of rows is more than a claim.
        let labels = archive.labels(labels, shape.0, collector)?;
        let has_labels = !matches!(labels.rows, PieceRows::None);
        let cells = scipy::read_cells(&mut archive, shape, has_labels, collector.options)?;
        return push(Piece { cells, labels, lines: 0, highest: None }, &archive, collector);
    }
    let Some(name) = archive.first_of(FEATURES) else {
        let expected = "an array named X or features, or a SciPy sparse matrix";
        return Err(ReadError::whole(&archive.file, expected, "none"));
    };
    let rows =
        archive.member(name, |input| Ok(Features::begin(input)?.handed_on_rows(collector)))?;
    if let Some(rows) = rows {
        let labels = archive.labels(labels, rows, collector)?;
        return archive
            .member(name, |input| Features::begin(input)?.hand_on(input, labels, collector));
    }
    let cells = archive.member(name, |input| Features::begin(input)?.read(input, storage))?;
    let labels = archive.labels(labels, cells.rows() as u64, collector)?;
    push(Piece { cells, labels, lines: 0, highest: None }, &archive, collector)
}

fn push(
    piece: Piece,
    archive: &Archive<'_>,
    collector: &mut Collector<'_>,
) -> Result<(), ReadError> {
    collector.push(piece).map_err(|why| why.in_file(&archive.file))
}

impl Archive<'_> {
    fn labels(
        &mut self,
        next: Option<&Source<'_>>,
        rows: u64,
        collector: &mut Collector<'_>,
    ) -> Result<PieceLabels, ReadError> {
        if let Some(name) = self.first_of(LABELS) {
            return self.member(name, |input| {
                let header = ArrayHeader::read(input)?;
                read_labels(input, &header, rows, collector)
            });
        }
        match next {
            Some(next) => npy::read_label_file(next, rows, collector),
            None => {
                let expected = "labels in the archive (y or labels) or in the next file";
                PieceLabels::missing(&self.file, expected, collector.options)
            }
        }
    }
}

/// Labels from an archive that holds nothing else.
pub(crate) fn read_label_file(
    source: &Source<'_>,
    rows: u64,
    collector: &mut Collector<'_>,
) -> Result<PieceLabels, ReadError> {
    Archive::open(source)?.labels(None, rows, collector)
}

/// Whether the file begins as an archive does.
pub(crate) fn is_archive(source: &Source<'_>) -> Result<bool, ReadError> {
    Ok(source.beginning(2)? == b"PK")
}

/// Whether an archive has labels but no features.
pub(crate) fn has_only_labels(source: &Source<'_>) -> Result<bool, ReadError> {
    let archive = Archive::open(source)?;
    let has_features = archive.first_of(FEATURES).is_some() || archive.has_sparse();
    Ok(!has_features && archive.first_of(LABELS).is_some())
}

/// Whether an archive brings its own labels.
pub(crate) fn has_labels(source: &Source<'_>) -> Result<bool, ReadError> {
    Ok(Archive::open(source)?.first_of(LABELS).is_some())
}
