//! Which files belong together: decides what the next file is, whether the one after it (or one
//! beside it) is its label file, and hands both to the right reader.

use crate::cache;
use crate::collect::Collector;
use crate::detect::{Format, Kind, detect};
use crate::error::ReadError;
use crate::formats::{arff::Arff, csv::Csv, idx, label_xml, libsvm::Libsvm, npy, npz};
use crate::read::ReadOptions;
use crate::source::Source;
use crate::text;
use std::path::PathBuf;

/// Reads the first of `sources` with what belongs to it; the result is how many files that was.
pub(crate) fn read_next<'a>(
    sources: &[Source<'a>],
    collector: &mut Collector<'_>,
) -> Result<usize, ReadError> {
    let [source, others @ ..] = sources else { return Ok(0) };
    let next = others.first();
    let format = match collector.options.format {
        Some(format) => format,
        None => match detect(source)? {
            Kind::Data(format) => format,
            Kind::Xml => {
                let found = "an XML file without an ARFF file before it";
                return Err(ReadError::whole(&source.name(), "a data file", found));
            }
        },
    };
    refuse_foreign(collector.options, source, format)?;
    match format {
        Format::Libsvm => {
            text::read(source, &mut Libsvm::new(collector.options), collector)?;
            Ok(1)
        }
        Format::Csv => {
            text::read(source, &mut Csv::new(collector.options), collector)?;
            Ok(1)
        }
        Format::Arff => read_arff(source, next, collector),
        Format::Npy => {
            let labels = next_of(next, &[Format::Npy, Format::Npz], npy::is_label_file)?;
            npy::read(source, labels, collector)?;
            Ok(1 + usize::from(labels.is_some()))
        }
        Format::Npz => {
            let labels = if npz::has_labels(source)? {
                None
            } else {
                next_of(next, &[Format::Npy, Format::Npz], npy::is_label_file)?
            };
            npz::read(source, labels, collector)?;
            Ok(1 + usize::from(labels.is_some()))
        }
        Format::Mnt => {
            cache::read(source, collector)?;
            Ok(1)
        }
        Format::Idx => {
            let labels = next_of(next, &[Format::Idx], idx::is_label_file)?;
            let beside = if labels.is_none() { idx_labels_beside(source) } else { None };
            idx::read(source, labels.or(beside.as_ref()), collector)?;
            Ok(1 + usize::from(labels.is_some()))
        }
    }
}

/// Refuses options that files of another format are read with.
fn refuse_foreign(
    options: &ReadOptions,
    source: &Source<'_>,
    format: Format,
) -> Result<(), ReadError> {
    let foreign = [
        ("--zero-based", options.zero_based, Format::Libsvm),
        ("--label-column", options.label_column.is_some(), Format::Csv),
        ("--label-xml", options.label_xml.is_some(), Format::Arff),
    ];
    for (option, is_given, of) in foreign {
        if is_given && format != of {
            let expected = format!("the format {}, which {option} goes with", of.name());
            let found = format!("the format {}", format.name());
            return Err(ReadError::whole(&source.name(), expected, found));
        }
    }
    Ok(())
}

/// The next file, if it has one of these formats and holds labels.
fn next_of<'n, 'a>(
    next: Option<&'n Source<'a>>,
    formats: &[Format],
    holds_labels: impl Fn(&Source<'a>) -> Result<bool, ReadError>,
) -> Result<Option<&'n Source<'a>>, ReadError> {
    let Some(next) = next else { return Ok(None) };
    let Kind::Data(format) = detect(next)? else { return Ok(None) };
    Ok((formats.contains(&format) && holds_labels(next)?).then_some(next))
}

fn read_arff(
    source: &Source<'_>,
    next: Option<&Source<'_>>,
    collector: &mut Collector<'_>,
) -> Result<usize, ReadError> {
    let follows = match next {
        Some(next) => detect(next)? == Kind::Xml,
        None => false,
    };
    let beside = match (source, &collector.options.label_xml) {
        (_, Some(given)) => Some(Source::at(given)?),
        (Source::Path(path), None) => label_xml::beside(path).map(Source::Path),
        (Source::Piped { .. } | Source::Bytes { .. }, None) => None,
    };
    let xml = if follows { next } else { beside.as_ref() };
    let names = xml.map(label_xml::read_names).transpose()?;
    let mut arff = Arff::new(names, collector)
        .map_err(|why| why.in_file(&xml.map_or_else(|| source.name(), Source::name)))?;
    text::read(source, &mut arff, collector)?;
    Ok(1 + usize::from(follows))
}

/// The label file that has the images' name but for `images` and the number of axes.
fn idx_labels_beside(source: &Source<'_>) -> Option<Source<'static>> {
    let Source::Path(path) = source else { return None };
    let name = path.file_name()?.to_str()?;
    if !name.contains("images") {
        return None;
    }
    let plain = name.strip_suffix(".gz").unwrap_or(name).replace("images", "labels");
    let plain = plain.replace("idx3", "idx1");
    let candidates: [PathBuf; 2] =
        [path.with_file_name(&plain), path.with_file_name(format!("{plain}.gz"))];
    candidates.into_iter().find(|path| path.is_file()).map(Source::Path)
}
