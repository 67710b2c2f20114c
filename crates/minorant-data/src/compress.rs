//! Decompression by the file's first bytes: gzip, bzip2 and zstd, with several members one after
//! the other. Always a stream: nothing here holds more than a decoder's window, whatever the
//! compressed file expands to.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{BufRead, Error, ErrorKind, Read, Result};

/// The bytes of `input`, decompressed where its first bytes say that they are compressed.
pub(crate) fn decompressed<'a>(
    mut input: impl BufRead + Send + 'a,
) -> Result<Box<dyn Read + Send + 'a>> {
    // A buffered reader over a file gives its whole first block at once.
    let start = input.fill_buf()?;
    Ok(match start {
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Box::new(bzip2::bufread::MultiBzDecoder::new(input)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            Box::new(ZstdFrames { input, frame: None })
        }
        _ => Box::new(input),
    })
}

/// Zstandard frames one after the other.
struct ZstdFrames<R: BufRead> {
    input: R,
    /// The frame being read. Each has a fresh decoder: one that is used again would reserve the
    /// whole window that the next frame's header claims.
    frame: Option<Box<FrameDecoder>>,
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let Some(frame) = &mut self.frame else {
                if self.input.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                self.frame = next_frame(&mut self.input)?;
                continue;
            };
            while frame.can_collect() == 0 && !frame.is_finished() {
                frame
                    .decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(|why| damaged(&why.to_string()))?;
            }
            let read = frame.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            check_sum(frame)?;
            self.frame = None;
        }
    }
}

/// The decoder of the frame that begins here, or nothing where a frame without content was
/// skipped.
fn next_frame(input: &mut impl BufRead) -> Result<Option<Box<FrameDecoder>>> {
    let mut decoder = Box::new(FrameDecoder::new());
    match decoder.init(&mut *input) {
        Ok(()) => Ok(Some(decoder)),
        Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
            length,
            ..
        })) => {
            let length = u64::from(length);
            let skipped = std::io::copy(&mut input.take(length), &mut std::io::sink())?;
            if skipped < length {
                return Err(damaged("the file ends within a frame"));
            }
            Ok(None)
        }
        Err(why) => Err(damaged(&why.to_string())),
    }
}

fn check_sum(decoder: &FrameDecoder) -> Result<()> {
    match (decoder.get_checksum_from_data(), decoder.get_calculated_checksum()) {
        (Some(stored), Some(computed)) if stored != computed => {
            Err(damaged("the checksum does not match the content"))
        }
        _ => Ok(()),
    }
}

fn damaged(why: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("damaged zstd data: {why}"))
}
