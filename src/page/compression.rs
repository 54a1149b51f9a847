//! Decompression of pages into buffers that are reused.
//!
//! The size after decompression is known from the page header: a page that yields more is stopped there, a page that
//! yields less is refused. What the header promises is held against a limit, and against what the codec can possibly
//! make of the bytes that are there, before memory is taken for it.

use brotli::enc::StandardAlloc;
use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};
use flate2::{Crc, Decompress, FlushDecompress, Status};
use parquet::basic::Compression;
use std::io::Read;

use super::Limits;
use crate::error::{Error, Result};

/// The codecs of parquet.thrift that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// UNCOMPRESSED.
    Uncompressed,
    /// SNAPPY: one raw block.
    Snappy,
    /// GZIP: one or more members.
    Gzip,
    /// BROTLI.
    Brotli,
    /// LZ4: deprecated, in the framing of Hadoop, as a frame or as one raw block.
    Lz4,
    /// ZSTD.
    Zstd,
    /// LZ4_RAW: one raw block.
    Lz4Raw,
}

impl TryFrom<Compression> for Codec {
    type Error = Error;

    fn try_from(compression: Compression) -> Result<Self> {
        Ok(match compression {
            Compression::UNCOMPRESSED => Self::Uncompressed,
            Compression::SNAPPY => Self::Snappy,
            Compression::GZIP(_) => Self::Gzip,
            Compression::BROTLI(_) => Self::Brotli,
            Compression::LZ4 => Self::Lz4,
            Compression::ZSTD(_) => Self::Zstd,
            Compression::LZ4_RAW => Self::Lz4Raw,
            Compression::LZO => return Err(Error::unsupported("compression codec LZO")),
        })
    }
}

impl Codec {
    /// The most bytes that `compressed` bytes can become, where the format bounds it.
    pub(super) fn max_uncompressed(self, compressed: usize) -> usize {
        let ratio = match self {
            Self::Uncompressed => 1,
            // A copy of 64 bytes takes three.
            Self::Snappy => 22,
            // A byte of a length adds 255.
            Self::Lz4 | Self::Lz4Raw => 255,
            // A match of 258 bytes takes two bits.
            Self::Gzip => 1032,
            Self::Brotli | Self::Zstd => return usize::MAX,
        };
        compressed.saturating_mul(ratio)
    }
}

/// The contexts of the codecs, made when first needed and reused for each page.
#[derive(Default)]
pub struct Decompressor {
    zstd: Option<zstd::bulk::Decompressor<'static>>,
    inflate: Option<Decompress>,
}

impl std::fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decompressor").finish_non_exhaustive()
    }
}

impl Decompressor {
    /// Makes `out` the `uncompressed_size` bytes that `compressed` stands for. After an error `out` is empty.
    ///
    /// # Errors
    /// `compressed` is malformed or does not yield exactly `uncompressed_size` bytes, or that is over the limit.
    pub fn decompress(
        &mut self,
        codec: Codec,
        compressed: &[u8],
        uncompressed_size: usize,
        limits: Limits,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let result = self.fill(codec, compressed, uncompressed_size, limits, out);
        if result.is_err() {
            out.clear();
        }
        result
    }

    fn fill(
        &mut self,
        codec: Codec,
        compressed: &[u8],
        uncompressed_size: usize,
        limits: Limits,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if uncompressed_size == 0 && compressed.is_empty() {
            // Writers that compress nothing to nothing, whatever the codec says.
            out.clear();
            return Ok(());
        }
        limits.check_page(codec, compressed.len(), uncompressed_size)?;
        // What was there is overwritten: zeros are only written where the page is longer than the one before.
        out.resize(uncompressed_size, 0);
        let written = match codec {
            Codec::Uncompressed => {
                let written = compressed.len();
                if written == out.len() {
                    out.copy_from_slice(compressed);
                }
                written
            }
            Codec::Snappy => snappy(compressed, out)?,
            Codec::Zstd => {
                let context = match &mut self.zstd {
                    Some(context) => context,
                    none => none.insert(zstd::bulk::Decompressor::new().map_err(|e| failed("ZSTD", e))?),
                };
                context.decompress_to_buffer(compressed, out.as_mut_slice()).map_err(|e| failed("ZSTD", e))?
            }
            Codec::Gzip => {
                let inflate = self.inflate.get_or_insert_with(|| Decompress::new(false));
                gzip(inflate, compressed, out)?
            }
            Codec::Lz4Raw => lz4_block(compressed, out)?,
            Codec::Lz4 => lz4(compressed, out)?,
            Codec::Brotli => brotli(compressed, out)?,
        };
        if written != uncompressed_size {
            return Err(Error::corrupt(format!(
                "page of {written} bytes after decompression, {uncompressed_size} by its header"
            )));
        }
        Ok(())
    }
}

#[cold]
fn failed(codec: &str, cause: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("{codec} page does not decompress: {cause}"))
}

fn snappy(compressed: &[u8], out: &mut [u8]) -> Result<usize> {
    snap::raw::Decoder::new().decompress(compressed, out).map_err(|e| failed("SNAPPY", e))
}

fn lz4_block(compressed: &[u8], out: &mut [u8]) -> Result<usize> {
    lz4_flex::block::decompress_into(compressed, out).map_err(|e| failed("LZ4", e))
}

/// The codec LZ4 was never specified: Hadoop's framing came first, then frames, then raw blocks.
fn lz4(compressed: &[u8], out: &mut [u8]) -> Result<usize> {
    const FRAME_MAGIC: [u8; 4] = 0x184d_2204_u32.to_le_bytes();
    if compressed.starts_with(&FRAME_MAGIC) {
        let mut frame = lz4_flex::frame::FrameDecoder::new(compressed);
        frame.read_exact(out).map_err(|e| failed("LZ4", e))?;
        let more = frame.read(&mut [0]).map_err(|e| failed("LZ4", e))?;
        return Ok(out.len() + more);
    }
    match lz4_hadoop(compressed, out) {
        Some(written) => Ok(written),
        None => lz4_block(compressed, out),
    }
}

/// Hadoop's framing: per block the sizes after and before decompression, big endian, then a raw block.
fn lz4_hadoop(mut compressed: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut written = 0usize;
    while !compressed.is_empty() {
        let (sizes, rest) = compressed.split_first_chunk::<8>()?;
        let sizes = u64::from_be_bytes(*sizes);
        let uncompressed_size = usize::try_from(sizes >> 32).ok()?;
        let compressed_size = usize::try_from(sizes & u64::from(u32::MAX)).ok()?;
        let block = rest.get(..compressed_size)?;
        let target = out.get_mut(written..written.checked_add(uncompressed_size)?)?;
        if lz4_flex::block::decompress_into(block, target).ok()? != uncompressed_size {
            return None;
        }
        written += uncompressed_size;
        compressed = &rest[compressed_size..];
    }
    Some(written)
}

fn brotli(compressed: &[u8], out: &mut [u8]) -> Result<usize> {
    let alloc = StandardAlloc::default;
    // Strict: windows of at most 16 MiB, as in RFC 7932.
    let mut state = BrotliState::new_strict(alloc(), alloc(), alloc());
    let (mut available_in, mut input_offset) = (compressed.len(), 0);
    let (mut available_out, mut output_offset, mut total_out) = (out.len(), 0, 0);
    let result = BrotliDecompressStream(
        &mut available_in,
        &mut input_offset,
        compressed,
        &mut available_out,
        &mut output_offset,
        out,
        &mut total_out,
        &mut state,
    );
    match result {
        BrotliResult::ResultSuccess => Ok(output_offset),
        BrotliResult::NeedsMoreInput => Err(failed("BROTLI", "it is cut short")),
        BrotliResult::NeedsMoreOutput => Err(failed("BROTLI", "it is longer than its header says")),
        BrotliResult::ResultFailure => Err(failed("BROTLI", "it is malformed")),
    }
}

/// RFC 1952: members one after the other, each with a header, a deflate stream, a CRC-32 and a size.
fn gzip(inflate: &mut Decompress, mut compressed: &[u8], out: &mut [u8]) -> Result<usize> {
    let mut written = 0;
    while !compressed.is_empty() {
        let Some(stream) = gzip_header(compressed).and_then(|size| compressed.get(size..)) else {
            return Err(failed("GZIP", "a member's header is malformed"));
        };
        inflate.reset(false);
        let target = &mut out[written..];
        let status = inflate.decompress(stream, target, FlushDecompress::Finish).map_err(|e| failed("GZIP", e))?;
        let (Ok(read), Ok(wrote)) = (usize::try_from(inflate.total_in()), usize::try_from(inflate.total_out())) else {
            return Err(failed("GZIP", "it is too long"));
        };
        if status != Status::StreamEnd {
            return Err(failed("GZIP", "it is cut short, or longer than its header says"));
        }
        let Some((trailer, rest)) = stream.get(read..).and_then(|rest| rest.split_first_chunk::<8>()) else {
            return Err(failed("GZIP", "a member's trailer is cut short"));
        };
        let mut crc = Crc::new();
        crc.update(&target[..wrote]);
        // The trailer has the size modulo 2^32 behind the CRC, as `amount` counts.
        if u64::from_le_bytes(*trailer) != u64::from(crc.amount()) << 32 | u64::from(crc.sum()) {
            return Err(failed("GZIP", "the checksum of a member is wrong"));
        }
        written += wrote;
        compressed = rest;
    }
    Ok(written)
}

/// Size of the header of a gzip member.
fn gzip_header(bytes: &[u8]) -> Option<usize> {
    const HEADER_CRC: u8 = 1 << 1;
    const EXTRA: u8 = 1 << 2;
    const NAME: u8 = 1 << 3;
    const COMMENT: u8 = 1 << 4;
    const RESERVED: u8 = 0b1110_0000;

    let fixed = bytes.first_chunk::<10>()?;
    let flags = fixed[3];
    if fixed[..3] != [0x1f, 0x8b, 8] || flags & RESERVED != 0 {
        return None;
    }
    let mut size = fixed.len();
    if flags & EXTRA != 0 {
        let len = bytes.get(size..)?.first_chunk::<2>()?;
        size += 2 + usize::from(u16::from_le_bytes(*len));
    }
    for flag in [NAME, COMMENT] {
        if flags & flag != 0 {
            size += bytes.get(size..)?.iter().position(|&byte| byte == 0)? + 1;
        }
    }
    if flags & HEADER_CRC != 0 {
        size += 2;
    }
    Some(size)
}

#[cfg(test)]
mod tests;
