//! Decompression by the file's first bytes: gzip, bzip2 and zstd, with several members one after
//! the other. Always a stream: nothing here holds more than a decoder's window, whatever the
//! compressed file expands to. A bzip2 decoder takes up to 4 MiB from its first byte on, a zstd
//! decoder up to 2 MiB besides the window; both are the formats' own.

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
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
        [0x1f, 0x8b, ..] => Box::new(Intact::new("gzip", MultiGzDecoder::new(input))),
        // A decoder for bzip2 takes megabytes at once, so that the first block has to be there.
        [b'B', b'Z', b'h', b'1'..=b'9', block @ ..]
            if block.starts_with(b"1AY&SY") || block.starts_with(b"\x17rE8P\x90") =>
        {
            Box::new(Intact::new("bzip2", MultiBzDecoder::new(input)))
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            Box::new(Intact::new("zstd", ZstdFrames { input, frame: None }))
        }
        _ => Box::new(input),
    })
}

/// A decoder whose errors read like the other refusals.
struct Intact<D> {
    format: &'static str,
    decoder: D,
}

impl<D> Intact<D> {
    fn new(format: &'static str, decoder: D) -> Intact<D> {
        Intact { format, decoder }
    }
}

impl<D: Read> Read for Intact<D> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.decoder.read(buffer).map_err(|why| {
            // The system's own errors are not about compression.
            if why.raw_os_error().is_some() || why.kind() == ErrorKind::Interrupted {
                return why;
            }
            let format = self.format;
            let sentence = format!("expected intact {format} data, found damage ({why})");
            Error::new(ErrorKind::InvalidData, sentence)
        })
    }
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
                    .map_err(|_| damaged("an unreadable or incomplete block"))?;
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
                return Err(damaged("the end of the file within a frame"));
            }
            Ok(None)
        }
        Err(_) => Err(damaged("an unreadable or incomplete frame header")),
    }
}

fn check_sum(decoder: &FrameDecoder) -> Result<()> {
    match (decoder.get_checksum_from_data(), decoder.get_calculated_checksum()) {
        (Some(stored), Some(computed)) if stored != computed => {
            Err(damaged("a checksum that does not match"))
        }
        _ => Ok(()),
    }
}

fn damaged(why: &'static str) -> Error {
    Error::new(ErrorKind::InvalidData, why)
}
