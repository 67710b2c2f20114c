//! Which files belong together: decides what the next file is, whether the one after it is its
//! label file, and hands both to the right reader.

use crate::collect::Collector;
use crate::detect::{Format, Kind, detect};
use crate::error::ReadError;
use crate::formats::libsvm::Libsvm;
use crate::source::Source;
use crate::text;

/// Reads the first of `sources` with what belongs to it; the result is how many files that was.
pub(crate) fn read_next(
    sources: &[Source<'_>],
    collector: &mut Collector<'_>,
) -> Result<usize, ReadError> {
    let Some(source) = sources.first() else { return Ok(0) };
    let format = match (collector.options.format, detect(source)?) {
        (Some(format), _) | (None, Kind::Data(format)) => format,
        (None, Kind::Xml) => {
            let found = "an XML file without an ARFF file before it";
            return Err(ReadError::whole(&source.name(), "a data file", found));
        }
    };
    match format {
        Format::Libsvm => {
            text::read(source, &mut Libsvm::new(collector.options), collector)?;
            Ok(1)
        }
        _ => Err(ReadError::whole(&source.name(), "LIBSVM text", "another format")),
    }
}
