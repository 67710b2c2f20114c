//! Named arrays of numbers in an NPZ archive, whatever they mean: what models that are neither
//! tables nor sequences are read from, and what generators write. Meaning is given elsewhere.

use crate::error::ReadError;
use crate::formats::binary::{Run, Trouble, expect_end};
use crate::formats::npy_header::{ArrayHeader, Element};
use crate::formats::npz::Archive;
use crate::source::Source;
use std::io::{Cursor, Write};
use std::path::Path;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Numbers with a shape, the last axis running fastest.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// Lengths of the axes; none for a single number.
    pub shape: Vec<usize>,
    /// The numbers.
    pub values: Vec<f64>,
}

/// An archive of arrays that are asked for by their names.
pub struct Arrays<'a> {
    archive: Archive<'a>,
    name: String,
}

impl std::fmt::Debug for Arrays<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arrays").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<'a> Arrays<'a> {
    /// Opens an archive.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::from_source(&Source::at(path)?)
    }

    /// Opens an archive that is already in memory; `name` stands for it in refusals.
    pub fn in_bytes(name: &'a str, bytes: &'a [u8]) -> Result<Self, ReadError> {
        Self::from_source(&Source::Bytes { name, bytes })
    }

    fn from_source(source: &Source<'a>) -> Result<Self, ReadError> {
        if source.beginning(2)? != b"PK" {
            return Err(ReadError::whole(&source.name(), "an NPZ archive", "another file"));
        }
        Ok(Arrays { archive: Archive::open(source)?, name: source.name() })
    }

    /// The file's name, for refusals.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether there is an array of this name.
    pub fn has(&self, name: &str) -> bool {
        self.archive.has(name)
    }

    /// Reads an array that must have as many axes as `axes` names.
    pub fn numbers(&mut self, name: &str, axes: &[&str]) -> Result<Array, ReadError> {
        self.archive.member(name, |input| {
            let header = ArrayHeader::read(input)?;
            let expected = || match axes {
                [] => "one number".to_owned(),
                axes => format!("numbers by {}", axes.join(" x ")),
            };
            let Element::Number(kind) = header.element else {
                return Err(Trouble::new(expected(), "text"));
            };
            if header.shape.len() != axes.len() {
                return Err(Trouble::new(expected(), header.shape_text()));
            }
            if header.by_columns && axes.len() > 1 {
                let found = "an array in Fortran order";
                return Err(Trouble::new(format!("{} in C order", expected()), found));
            }
            let count = header.shape.iter().try_fold(1u64, |count, axis| count.checked_mul(*axis));
            let count =
                count.ok_or_else(|| Trouble::new("an array of bytes", header.shape_text()))?;
            let mut values = Vec::new();
            Run { kind, big_endian: header.big_endian, count }.stream(input, |value| {
                values.push(value);
                Ok(())
            })?;
            expect_end(input)?;
            // Their product is the number of values, but one of them may be 0.
            let axis = |&axis: &u64| usize::try_from(axis);
            let shape = header.shape.iter().map(axis).collect::<Result<_, _>>();
            let shape = shape.map_err(|_| Trouble::new(expected(), header.shape_text()))?;
            Ok(Array { shape, values })
        })
    }

    /// Reads an array of whole numbers below `end`.
    pub fn whole_numbers(
        &mut self,
        name: &str,
        axes: &[&str],
        end: u64,
    ) -> Result<(Vec<usize>, Vec<u64>), ReadError> {
        let array = self.numbers(name, axes)?;
        let fits = |value: &f64| value.fract() == 0.0 && *value >= 0.0 && *value < end as f64;
        if let Some(value) = array.values.iter().find(|value| !fits(value)) {
            let expected = format!("whole numbers below {end} in {name}");
            return Err(ReadError::whole(&self.name, expected, value.to_string()));
        }
        Ok((array.shape, array.values.into_iter().map(|value| value as u64).collect()))
    }

    /// Reads where the items of several examples begin, and where the last ones end: from 0 to
    /// `items`, never descending.
    pub fn offsets(&mut self, name: &str, items: usize) -> Result<Vec<usize>, ReadError> {
        let (_, offsets) = self.whole_numbers(name, &["examples + 1"], items as u64 + 1)?;
        let descends = offsets.windows(2).any(|pair| pair[0] > pair[1]);
        if descends || offsets.first() != Some(&0) || offsets.last() != Some(&(items as u64)) {
            let expected = format!("offsets from 0 to {items} that never descend in {name}");
            return Err(ReadError::whole(&self.name, expected, "others"));
        }
        Ok(offsets.into_iter().map(|offset| offset as usize).collect())
    }

    /// The refusal of no file at all.
    pub fn none() -> ReadError {
        ReadError::whole("no files", "at least one data file", "none")
    }

    /// Refuses the file with what was expected in it and what was found.
    pub fn refuse(&self, expected: impl Into<String>, found: impl Into<String>) -> ReadError {
        ReadError::whole(&self.name, expected, found)
    }
}

/// An array to be written: numbers, or whole numbers as such.
#[derive(Debug, Clone)]
pub struct NamedArray {
    /// Its name.
    pub name: &'static str,
    /// Shape and numbers.
    pub array: Array,
    /// Whether they are written as 64-bit integers.
    pub whole: bool,
}

impl NamedArray {
    /// Numbers with a fraction.
    pub fn reals(name: &'static str, shape: &[usize], values: Vec<f64>) -> Self {
        NamedArray { name, array: Array { shape: shape.to_vec(), values }, whole: false }
    }

    /// Whole numbers below 2⁵³.
    pub fn whole(
        name: &'static str,
        shape: &[usize],
        values: impl IntoIterator<Item = u64>,
    ) -> Self {
        let values = values.into_iter().map(|value| value as f64).collect();
        NamedArray { name, array: Array { shape: shape.to_vec(), values }, whole: true }
    }
}

/// The bytes of an NPZ archive with these arrays, as NumPy writes them; no time in it.
pub fn npz_bytes(arrays: &[NamedArray]) -> std::io::Result<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated)
        .last_modified_time(zip::DateTime::default())
        .large_file(false);
    for NamedArray { name, array, whole } in arrays {
        zip.start_file(format!("{name}.npy"), options)?;
        let axes: Vec<String> = array.shape.iter().map(usize::to_string).collect();
        let shape = match &axes[..] {
            [one] => format!("({one},)"),
            axes => format!("({})", axes.join(", ")),
        };
        let kind = if *whole { "<i8" } else { "<f8" };
        let mut header =
            format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
        // Magic, version, length, header and its line end fill a multiple of 64 bytes.
        while (10 + header.len() + 1) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        zip.write_all(b"\x93NUMPY\x01\x00")?;
        zip.write_all(&(header.len() as u16).to_le_bytes())?;
        zip.write_all(header.as_bytes())?;
        let mut bytes = Vec::with_capacity(8 * array.values.len());
        for &value in &array.values {
            let eight = if *whole { (value as i64).to_le_bytes() } else { value.to_le_bytes() };
            bytes.extend_from_slice(&eight);
        }
        zip.write_all(&bytes)?;
    }
    Ok(zip.finish()?.into_inner())
}
