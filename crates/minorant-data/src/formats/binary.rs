//! Numbers stored in binary, as NPY and IDX files have them: streamed one by one, so that a
//! header's claims cost no memory before the bytes are there.

use crate::error::{ReadError, Refusal};
use crate::piece::Cells;
use crate::values::GrowingValues;
use minorant_linalg::Storage;
use std::io::Read;

/// Why binary data could not be read.
#[derive(Debug)]
pub(crate) enum Trouble {
    Io(std::io::Error),
    Refused(Refusal),
}

impl From<std::io::Error> for Trouble {
    fn from(why: std::io::Error) -> Trouble {
        Trouble::Io(why)
    }
}

impl From<Refusal> for Trouble {
    fn from(why: Refusal) -> Trouble {
        Trouble::Refused(why)
    }
}

impl Trouble {
    pub(crate) fn new(expected: impl Into<String>, found: impl Into<String>) -> Trouble {
        Trouble::Refused(Refusal::new(expected, found))
    }

    pub(crate) fn in_file(self, name: &str) -> ReadError {
        match self {
            Trouble::Io(why) => ReadError::io(name, why),
            Trouble::Refused(why) => why.in_file(name),
        }
    }
}

/// How one number is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberType {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl NumberType {
    pub(crate) fn size(self) -> usize {
        match self {
            NumberType::Bool | NumberType::I8 | NumberType::U8 => 1,
            NumberType::I16 | NumberType::U16 => 2,
            NumberType::I32 | NumberType::U32 | NumberType::F32 => 4,
            NumberType::I64 | NumberType::U64 | NumberType::F64 => 8,
        }
    }
}

/// A run of numbers in a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) kind: NumberType,
    pub(crate) big_endian: bool,
    pub(crate) count: u64,
}

/// Integers beyond this are not exactly an f64.
const EXACT: u64 = 1 << 53;
const BUFFER: usize = 64 << 10;

impl Run {
    /// Gives all numbers to `each`, which may refuse them; stops at the first refusal.
    pub(crate) fn stream(
        self,
        input: &mut dyn Read,
        each: impl FnMut(f64) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        self.stream_some(input, (0, self.count), each)
    }

    /// The same for so many of the numbers, behind those that came `before`.
    fn stream_some(
        self,
        input: &mut dyn Read,
        (before, some): (u64, u64),
        mut each: impl FnMut(f64) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let size = self.kind.size();
        let mut left = some;
        let mut buffer =
            vec![0; (BUFFER / size).min(usize::try_from(left).unwrap_or(BUFFER)) * size];
        while left > 0 {
            let wanted = (buffer.len() / size).min(usize::try_from(left).unwrap_or(usize::MAX));
            let filled = read_up_to(input, &mut buffer[..wanted * size])?;
            for (at, bytes) in buffer[..filled].chunks_exact(size).enumerate() {
                each(self.decode(bytes).map_err(|why| {
                    let number = before + some - left + at as u64 + 1;
                    let found = format!("{} as value {number} of {}", why.found, self.count);
                    Refusal::new(why.expected, found)
                })?)?;
            }
            left -= (filled / size) as u64;
            if filled < wanted * size {
                let found = format!("only {}", before + some - left);
                return Err(Trouble::new(format!("{} values", self.count), found));
            }
        }
        Ok(())
    }

    fn decode(self, bytes: &[u8]) -> Result<f64, Refusal> {
        let mut le = [0; 8];
        let size = bytes.len();
        le[..size].copy_from_slice(bytes);
        if self.big_endian {
            le[..size].reverse();
        }
        let bits = u64::from_le_bytes(le);
        // Shifts carry the sign of shorter integers up.
        let signed = |bits: u64| (bits << (64 - 8 * size)) as i64 >> (64 - 8 * size);
        match self.kind {
            NumberType::F32 => finite(f64::from(f32::from_bits(bits as u32))),
            NumberType::F64 => finite(f64::from_bits(bits)),
            NumberType::Bool => Ok(f64::from(u8::from(bits != 0))),
            NumberType::U8 | NumberType::U16 | NumberType::U32 | NumberType::U64 => {
                if bits > EXACT { Err(too_large(bits)) } else { Ok(bits as f64) }
            }
            NumberType::I8 | NumberType::I16 | NumberType::I32 | NumberType::I64 => {
                let number = signed(bits);
                if number.unsigned_abs() > EXACT {
                    Err(too_large(number))
                } else {
                    Ok(number as f64)
                }
            }
        }
    }
}

fn finite(number: f64) -> Result<f64, Refusal> {
    if number.is_finite() {
        return Ok(number);
    }
    Err(Refusal::new("finite values", number.to_string()))
}

#[cold]
fn too_large(number: impl std::fmt::Display) -> Refusal {
    Refusal::new("integers of at most 2^53", number.to_string())
}

/// Fills the buffer, or as much of it as the input has left.
pub(crate) fn read_up_to(input: &mut dyn Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(why) if why.kind() == std::io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
    Ok(filled)
}

/// Refuses bytes after the end of the data; also makes archives check their sums.
pub(crate) fn expect_end(input: &mut dyn Read) -> Result<(), Trouble> {
    if read_up_to(input, &mut [0])? == 0 {
        return Ok(());
    }
    Err(Trouble::new("the end of the file after the values", "more bytes"))
}

/// A dense matrix of `rows` times `cols` values, stored row by row or column by column.
pub(crate) fn read_matrix(
    input: &mut dyn Read,
    kind: (NumberType, bool),
    (rows, cols): (u64, u64),
    by_columns: bool,
    storage: Storage,
) -> Result<Cells, Trouble> {
    let count = matrix_size(rows, cols)?;
    let mut values = read_values(input, kind, count, (0, count), storage)?;
    // Every value has been read, so that both sizes are backed by bytes.
    let (rows, cols) = (rows as usize, cols as usize);
    if by_columns {
        let mut turned = GrowingValues::with_capacity(storage, values.len());
        for row in 0..rows {
            for col in 0..cols {
                // It was stored once already, so it fits the storage.
                let _ = turned.push(values.get(col * rows + row));
            }
        }
        values = turned;
    }
    Ok(Cells::Dense { cols, rows, values, from_text: false })
}

/// Bytes of the rows that are read at a time where rows are handed on.
const PIECE: u64 = 4 << 20;

/// The same where it is stored row by row, some rows at a time.
pub(crate) fn read_matrix_in_pieces(
    input: &mut dyn Read,
    kind: (NumberType, bool),
    (rows, cols): (u64, u64),
    storage: Storage,
    mut take: impl FnMut(Cells) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let count = matrix_size(rows, cols)?;
    let at_a_time = (PIECE / (8 * cols)).max(1);
    let mut row = 0;
    while row < rows {
        let some = at_a_time.min(rows - row);
        let values = read_values(input, kind, count, (row * cols, some * cols), storage)?;
        row += some;
        let (cols, rows) = (cols as usize, some as usize);
        take(Cells::Dense { cols, rows, values, from_text: false })?;
    }
    Ok(())
}

/// Some of so many values, behind those that came before.
fn read_values(
    input: &mut dyn Read,
    (kind, big_endian): (NumberType, bool),
    count: u64,
    some: (u64, u64),
    storage: Storage,
) -> Result<GrowingValues, Trouble> {
    let mut values = GrowingValues::new(storage);
    Run { kind, big_endian, count }.stream_some(input, some, |value| {
        if values.push(value) {
            return Ok(());
        }
        Err(Trouble::new("values within the range of f32", value.to_string()))
    })?;
    values.shrink();
    Ok(values)
}

fn matrix_size(rows: u64, cols: u64) -> Result<u64, Trouble> {
    let found = || format!("{rows} x {cols}");
    if rows == 0 || cols == 0 {
        return Err(Trouble::new("at least one row and one column", found()));
    }
    if cols > crate::collect::MOST_COLUMNS as u64 {
        return Err(Trouble::new("fewer than 2^31 columns", found()));
    }
    rows.checked_mul(cols)
        .filter(|&count| count < 1 << 56)
        .ok_or_else(|| Trouble::new("a matrix that a file can hold", found()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(kind: NumberType, big_endian: bool, mut bytes: &[u8]) -> Result<Vec<f64>, Trouble> {
        let mut all = Vec::new();
        let count = (bytes.len() / kind.size()) as u64;
        Run { kind, big_endian, count }.stream(&mut bytes, |value| {
            all.push(value);
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn types_and_byte_orders() {
        assert_eq!(numbers(NumberType::I8, false, &[255, 1]).unwrap(), [-1.0, 1.0]);
        assert_eq!(numbers(NumberType::I16, true, &[255, 254]).unwrap(), [-2.0]);
        assert_eq!(numbers(NumberType::U16, false, &[1, 2]).unwrap(), [513.0]);
        assert_eq!(numbers(NumberType::F32, true, &1.5f32.to_be_bytes()).unwrap(), [1.5]);
        assert_eq!(numbers(NumberType::F64, false, &0.1f64.to_le_bytes()).unwrap(), [0.1]);
        assert_eq!(numbers(NumberType::I64, false, &(-7i64).to_le_bytes()).unwrap(), [-7.0]);
        assert!(numbers(NumberType::U64, false, &u64::MAX.to_le_bytes()).is_err());
        assert!(numbers(NumberType::F64, false, &f64::NAN.to_le_bytes()).is_err());
    }
}
