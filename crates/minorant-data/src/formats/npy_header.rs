//! The header of an NPY file: a Python dictionary with the type, the order and the shape. Only
//! what NumPy itself writes is understood; pickled objects and structured types are refused.

use super::binary::{NumberType, Trouble, read_up_to};
use crate::error::{Refusal, quoted};
use std::io::Read;

/// No header that describes plain arrays is longer.
const LONGEST: u32 = 64 << 10;
/// NumPy's own limit.
const MOST_AXES: usize = 32;

/// What an array's elements are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    Number(NumberType),
    /// Text of this many UTF-32 characters.
    Text(u64),
    /// Text of this many bytes.
    Bytes(u64),
}

/// What the header says.
#[derive(Debug)]
pub(crate) struct ArrayHeader {
    pub(crate) element: Element,
    pub(crate) big_endian: bool,
    pub(crate) by_columns: bool,
    pub(crate) shape: Vec<u64>,
}

impl ArrayHeader {
    /// Reads the header, leaving `input` at the first element.
    pub(crate) fn read(input: &mut dyn Read) -> Result<ArrayHeader, Trouble> {
        let mut start = [0; 8];
        let got = read_up_to(input, &mut start)?;
        if got < 8 || &start[..6] != b"\x93NUMPY" {
            return Err(Trouble::new("an NPY file", quoted(&start[..got])));
        }
        let length_bytes = match start[6] {
            1 => 2,
            2 | 3 => 4,
            version => {
                let found = format!("version {version}");
                return Err(Trouble::new("version 1, 2 or 3 of the NPY format", found));
            }
        };
        let mut length = [0; 4];
        read_up_to(input, &mut length[..length_bytes])?;
        let length = u32::from_le_bytes(length);
        if length > LONGEST {
            let expected = format!("an NPY header of at most {LONGEST} bytes");
            return Err(Trouble::new(expected, length.to_string()));
        }
        let mut text = Vec::new();
        input.take(u64::from(length)).read_to_end(&mut text)?;
        if text.len() < length as usize {
            let expected = format!("an NPY header of {length} bytes");
            return Err(Trouble::new(expected, text.len().to_string()));
        }
        Ok(parse(&text)?)
    }

    /// The number of elements, where that fits.
    pub(crate) fn shape_text(&self) -> String {
        let axes: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        if axes.is_empty() {
            "a single value".to_owned()
        } else {
            format!("shape {}", axes.join(" x "))
        }
    }
}

fn parse(text: &[u8]) -> Result<ArrayHeader, Refusal> {
    let mut parser = Parser { text, at: 0 };
    let (mut descr, mut by_columns, mut shape) = (None, None, None);
    parser.expect(b'{')?;
    while !parser.accept(b'}') {
        let key = parser.string()?;
        parser.expect(b':')?;
        match key {
            b"descr" => descr = Some(element(parser.string()?)?),
            b"fortran_order" => by_columns = Some(parser.boolean()?),
            b"shape" => shape = Some(parser.shape()?),
            _ => return Err(Refusal::new("descr, fortran_order or shape", quoted(key))),
        }
        if !parser.accept(b',') {
            parser.expect(b'}')?;
            break;
        }
    }
    let Some((element, big_endian)) = descr else { return Err(missing("descr")) };
    Ok(ArrayHeader {
        element,
        big_endian,
        by_columns: by_columns.ok_or_else(|| missing("fortran_order"))?,
        shape: shape.ok_or_else(|| missing("shape"))?,
    })
}

fn missing(key: &str) -> Refusal {
    Refusal::new(format!("{key} in the NPY header"), "none")
}

/// The element type that a `descr` such as `<f8` names, and whether it is big-endian.
fn element(descr: &[u8]) -> Result<(Element, bool), Refusal> {
    let unknown = || Refusal::new("an array of numbers or text", format!("type {}", quoted(descr)));
    let (big_endian, name) = match descr {
        [b'>', name @ ..] => (true, name),
        [b'<' | b'|' | b'=', name @ ..] => (false, name),
        name => (false, name),
    };
    let number = match name {
        b"b1" | b"?" => NumberType::Bool,
        b"i1" => NumberType::I8,
        b"i2" => NumberType::I16,
        b"i4" => NumberType::I32,
        b"i8" => NumberType::I64,
        b"u1" => NumberType::U8,
        b"u2" => NumberType::U16,
        b"u4" => NumberType::U32,
        b"u8" => NumberType::U64,
        b"f4" => NumberType::F32,
        b"f8" => NumberType::F64,
        [kind @ (b'U' | b'S' | b'a'), digits @ ..] => {
            let digits = std::str::from_utf8(digits).map_err(|_| unknown())?;
            let length = digits.parse().ok().filter(|&n: &u64| (1..1 << 32).contains(&n));
            let length = length.ok_or_else(unknown)?;
            let text = if *kind == b'U' { Element::Text(length) } else { Element::Bytes(length) };
            return Ok((text, big_endian));
        }
        _ => return Err(unknown()),
    };
    Ok((Element::Number(number), big_endian))
}

struct Parser<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t [u8] {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        while self.rest().first().is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn accept(&mut self, byte: u8) -> bool {
        self.skip_blanks();
        let there = self.rest().first() == Some(&byte);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, byte: u8) -> Result<(), Refusal> {
        if self.accept(byte) {
            return Ok(());
        }
        let expected = format!("'{}' in the NPY header", char::from(byte));
        Err(Refusal::new(expected, quoted(self.rest())))
    }

    fn string(&mut self) -> Result<&'t [u8], Refusal> {
        self.skip_blanks();
        let rest = self.rest();
        if let [quote @ (b'\'' | b'"'), inner @ ..] = rest
            && let Some(end) = inner.iter().position(|b| b == quote)
        {
            self.at += end + 2;
            return Ok(&inner[..end]);
        }
        Err(Refusal::new("a quoted string in the NPY header", quoted(rest)))
    }

    fn boolean(&mut self) -> Result<bool, Refusal> {
        self.skip_blanks();
        for (word, value) in [(&b"True"[..], true), (b"False", false)] {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(Refusal::new("True or False in the NPY header", quoted(self.rest())))
    }

    fn shape(&mut self) -> Result<Vec<u64>, Refusal> {
        self.expect(b'(')?;
        let mut shape = Vec::new();
        while !self.accept(b')') {
            let digits = self.rest().iter().take_while(|b| b.is_ascii_digit()).count();
            let number = std::str::from_utf8(&self.rest()[..digits]).ok();
            let Some(number) = number.and_then(|number| number.parse().ok()) else {
                return Err(Refusal::new("a shape in the NPY header", quoted(self.rest())));
            };
            if shape.len() == MOST_AXES {
                return Err(Refusal::new(format!("at most {MOST_AXES} axes"), "more"));
            }
            shape.push(number);
            self.at += digits;
            if !self.accept(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_as_numpy_writes_them() {
        let text = b"{'descr': '>f4', 'fortran_order': True, 'shape': (3, 4), }      \n";
        let header = parse(text).unwrap();
        assert_eq!(header.element, Element::Number(NumberType::F32));
        assert!(header.big_endian && header.by_columns);
        assert_eq!(header.shape, [3, 4]);
        let text = b"{'descr': '<U7', 'fortran_order': False, 'shape': (3,)}";
        let header = parse(text).unwrap();
        assert_eq!((header.element, header.shape), (Element::Text(7), vec![3]));
        assert!(parse(b"{'descr': '|O', 'fortran_order': False, 'shape': (3,)}").is_err());
        assert!(parse(b"{'descr': [('a', '<f8')], 'fortran_order': False}").is_err());
    }
}
