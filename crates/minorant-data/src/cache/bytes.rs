//! Numbers to and from little-endian bytes. Whoever takes numbers from bytes asks for no more of them than
//! there are bytes, whatever a file claims.

use crate::error::Refusal;

/// Bytes that are being taken apart, from the front.
#[derive(Debug)]
pub(super) struct Bytes<'b> {
    rest: &'b [u8],
}

impl<'b> Bytes<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Bytes { rest: bytes }
    }

    /// The next `count` bytes.
    pub(super) fn take(&mut self, count: usize) -> Result<&'b [u8], Refusal> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            let expected = format!("{count} more bytes of a block");
            return Err(Refusal::new(expected, self.rest.len().to_string()));
        };
        self.rest = rest;
        Ok(taken)
    }

    /// The next items, each of `N` bytes.
    pub(super) fn items<const N: usize, T>(
        &mut self,
        count: usize,
        item: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<T>, Refusal> {
        let bytes = self.take(count.saturating_mul(N))?;
        Ok(bytes.as_chunks::<N>().0.iter().map(|bytes| item(*bytes)).collect())
    }

    pub(super) fn u8(&mut self) -> Result<u8, Refusal> {
        Ok(self.take(1)?[0])
    }

    pub(super) fn u64(&mut self) -> Result<u64, Refusal> {
        Ok(self.items(1, u64::from_le_bytes)?[0])
    }

    /// A number of things of which each takes a byte or more, here or in the file.
    pub(super) fn count(&mut self) -> Result<usize, Refusal> {
        let count = self.u64()?;
        usize::try_from(count)
            .map_err(|_| Refusal::new("a count that memory can hold", count.to_string()))
    }

    pub(super) fn u32s(&mut self, count: usize) -> Result<Vec<u32>, Refusal> {
        self.items(count, u32::from_le_bytes)
    }

    pub(super) fn f32s(&mut self, count: usize) -> Result<Vec<f32>, Refusal> {
        self.items(count, f32::from_le_bytes)
    }

    pub(super) fn f64s(&mut self, count: usize) -> Result<Vec<f64>, Refusal> {
        self.items(count, f64::from_le_bytes)
    }

    /// A text behind its length.
    pub(super) fn text(&mut self) -> Result<String, Refusal> {
        let length = self.count()?;
        let bytes = self.take(length)?;
        String::from_utf8(bytes.to_vec())
            .map_err(|_| Refusal::new("text in UTF-8", crate::error::quoted(bytes)))
    }

    /// Refuses bytes that nothing has asked for.
    pub(super) fn end(self) -> Result<(), Refusal> {
        match self.rest.len() {
            0 => Ok(()),
            more => Err(Refusal::new("the end of a block", format!("{more} more bytes"))),
        }
    }
}

/// Appends numbers.
pub(super) trait Put {
    fn put_u64(&mut self, number: usize);
    fn put_u32s(&mut self, numbers: &[u32]);
    fn put_f64s(&mut self, numbers: &[f64]);
    fn put_text(&mut self, text: &str);
}

impl Put for Vec<u8> {
    fn put_u64(&mut self, number: usize) {
        self.extend_from_slice(&(number as u64).to_le_bytes());
    }

    fn put_u32s(&mut self, numbers: &[u32]) {
        numbers.iter().for_each(|n| self.extend_from_slice(&n.to_le_bytes()));
    }

    fn put_f64s(&mut self, numbers: &[f64]) {
        numbers.iter().for_each(|n| self.extend_from_slice(&n.to_le_bytes()));
    }

    fn put_text(&mut self, text: &str) {
        self.put_u64(text.len());
        self.extend_from_slice(text.as_bytes());
    }
}
