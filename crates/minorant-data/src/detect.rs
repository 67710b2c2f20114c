//! Which format a file has: by its content where the content says it, then by its name.

use crate::error::ReadError;
use crate::number;
use crate::source::Source;
use std::path::Path;

/// The file formats that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// LIBSVM or SVMlight text.
    Libsvm,
    /// Text tables with commas, semicolons, tabs or blanks.
    Csv,
    /// One NumPy array.
    Npy,
    /// NumPy archives, also of SciPy sparse matrices.
    Npz,
    /// Weka's format, with Mulan's label file where the data is multilabel.
    Arff,
    /// The MNIST files' format.
    Idx,
    /// A cache of rows of any of the other formats.
    Mnt,
}

impl Format {
    /// All formats of rows, by the names that users type.
    pub const ALL: [(&'static str, Format); 7] = [
        ("libsvm", Format::Libsvm),
        ("csv", Format::Csv),
        ("npy", Format::Npy),
        ("npz", Format::Npz),
        ("arff", Format::Arff),
        ("idx", Format::Idx),
        ("mnt", Format::Mnt),
    ];

    /// The name that users type.
    pub(crate) fn name(self) -> &'static str {
        Format::ALL.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| *name)
    }
}

/// What a file turns out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Data(Format),
    /// An XML file, which can only be the label file of an ARFF file.
    Xml,
}

/// How much of a file is looked at.
const LOOKED_AT: u64 = 16 << 10;

/// Finds out what `source` is.
pub(crate) fn detect(source: &Source<'_>) -> Result<Kind, ReadError> {
    let start = source.beginning(LOOKED_AT)?;
    source.refuse_foreign(&start)?;
    Ok(kind_of(&start, source.path()))
}

fn kind_of(start: &[u8], path: &Path) -> Kind {
    let format = match start {
        _ if crate::cache::is_cache(start) => Format::Mnt,
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Format::Npy,
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Format::Npz,
        [0, 0, 8 | 9 | 11..=14, 1..=255, ..] => Format::Idx,
        _ => return kind_of_text(start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start), path),
    };
    Kind::Data(format)
}

fn kind_of_text(start: &[u8], path: &Path) -> Kind {
    let mut lines = start.split(|&b| b == b'\n').map(|line| line.trim_ascii_end());
    let Some(first) = lines.clone().find(|line| !line.is_empty()) else {
        return Kind::Data(by_name(path).unwrap_or(Format::Libsvm));
    };
    let first = first.trim_ascii_start();
    if first[0] == b'<' {
        return Kind::Xml;
    }
    if first[0] == b'%' || starts_with_word(first, b"@relation") {
        return Kind::Data(Format::Arff);
    }
    // One line of LIBSVM text may be a bare label, so that several have to be looked at.
    if lines.clone().take(100).any(is_libsvm_row) {
        return Kind::Data(Format::Libsvm);
    }
    if let Some(format) = by_name(path) {
        return Kind::Data(format);
    }
    let is_table = lines.find(|line| !line.is_empty() && line[0] != b'#').is_some_and(|line| {
        let cells = line.split(|b| b" \t,;".contains(b)).filter(|cell| !cell.is_empty());
        cells.count() > 1
    });
    // What is no table either is refused by the LIBSVM reader, with the line.
    Kind::Data(if is_table { Format::Csv } else { Format::Libsvm })
}

pub(crate) fn starts_with_word(line: &[u8], word: &[u8]) -> bool {
    line.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// Whether a line has labels and then something with a colon, or begins with a blank and then has
/// something with a colon.
fn is_libsvm_row(line: &[u8]) -> bool {
    let line = &line[..line.iter().position(|&b| b == b'#').unwrap_or(line.len())];
    let mut tokens = line.split(u8::is_ascii_whitespace).filter(|token| !token.is_empty());
    let Some(first) = tokens.next() else { return false };
    if line[0].is_ascii_whitespace() && first.contains(&b':') {
        return true;
    }
    let labels = first.split(|&b| b == b',').all(|label| number::parse(label).is_ok());
    let no_separators = !line.iter().any(|b| b",;\t".contains(b));
    (labels || no_separators) && tokens.next().is_some_and(|token| token.contains(&b':'))
}

fn by_name(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let mut parts: Vec<&str> = name.split('.').collect();
    if let Some(&("gz" | "bz2" | "zst" | "zstd")) = parts.last() {
        parts.pop();
    }
    match parts.last().filter(|_| parts.len() > 1)? {
        &("libsvm" | "svm" | "svmlight" | "t") => Some(Format::Libsvm),
        &("csv" | "tsv") => Some(Format::Csv),
        &"arff" => Some(Format::Arff),
        &"npy" => Some(Format::Npy),
        &"npz" => Some(Format::Npz),
        extension if extension.contains("idx") || extension.ends_with("ubyte") => Some(Format::Idx),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str, text: &[u8]) -> Kind {
        kind_of(text, Path::new(name))
    }

    #[test]
    fn content_comes_first() {
        use Format::*;
        for (name, text, format) in [
            ("a", &b"1 1:2\n"[..], Libsvm),
            ("a.csv", b"# c\n1\n+1 1:2\n", Libsvm),
            ("a", b" 1:2\n", Libsvm),
            ("a", b"1 a:b\n", Libsvm),
            ("a", b"1,2 3:4\n", Libsvm),
            ("a", b"1\n2\n", Libsvm),
            ("a", b"", Libsvm),
            ("a", b"1 2 3\n", Csv),
            ("a", b"when,what\n12:30 today,1\n", Csv),
            ("a.csv", b"1\n2\n", Csv),
            ("a", b"\n% hello\n@relation x\n", Arff),
            ("a", b"@RELATION x\n", Arff),
            ("a.txt", b"\x93NUMPY\x01\x00", Npy),
            ("a", b"PK\x03\x04", Npz),
            ("a", b"\x00\x00\x08\x03", Idx),
        ] {
            assert_eq!(kind(name, text), Kind::Data(format), "{name} {text:?}");
        }
        assert_eq!(kind("a", b"<labels>"), Kind::Xml);
    }
}
