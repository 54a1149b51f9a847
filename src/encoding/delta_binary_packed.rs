//! DELTA_BINARY_PACKED: blocks of miniblocks of bit-packed deltas.
//!
//! The kernels walk over blocks and decode units of 32 values: 32 values of any width are whole bytes, and miniblocks hold
//! multiples of 32, so that a window which ends inside of a miniblock leaves an overhang of one unit at most. Here is what
//! they leave: the header, errors, and streams that are odd, whose miniblocks are no multiple of 32, or whose widths exceed
//! the type.
//!
//! Arithmetic wraps at the physical width. Writers that compute the deltas of INT32 in 64 bits produce widths over 32 and
//! minima outside of 32 bits: these wrap to the same values.

use crate::error::{Error, Result};
use crate::kernels::{Blocks, Comparison, Kernels, Lane, Stream, UNIT, copy_bits, kernels};

use super::varint::{read_uleb, zigzag};

mod bounds;

/// A cursor over the values of one DELTA_BINARY_PACKED stream.
///
/// Each call takes the page of the last `reset`, and may panic on another. After an error it takes a `reset` to go on.
#[derive(Debug, Clone)]
pub struct DeltaBinaryPacked<T> {
    kernels: &'static Kernels,
    stream: Stream<T>,
    /// Values that the header promised and nobody took yet: a promise, not a reason to allocate.
    remaining: usize,
}

impl<T: Lane> Default for DeltaBinaryPacked<T> {
    fn default() -> Self {
        Self::new(kernels())
    }
}

impl<T: Lane> DeltaBinaryPacked<T> {
    /// No values, to be decoded by `kernels`.
    pub fn new(kernels: &'static Kernels) -> Self {
        Self { kernels, stream: Stream::default(), remaining: 0 }
    }

    /// Starts over with the stream at the start of `page`. No bytes are no values.
    ///
    /// # Errors
    /// Corrupt: the header is cut short, or describes blocks that cannot be.
    pub fn reset(&mut self, page: &[u8]) -> Result<()> {
        self.remaining = 0;
        self.stream.held = 0;
        self.stream.blocks = Blocks::default();
        if page.is_empty() {
            return Ok(());
        }
        let mut position = 0;
        let block_size = read_uleb(page, &mut position)?;
        let miniblocks = read_uleb(page, &mut position)?;
        let count = read_uleb(page, &mut position)?;
        let first = zigzag(read_uleb(page, &mut position)?);
        let (values_per_miniblock, rest) = match miniblocks {
            0 => (0, 0),
            // What most writers write, without a division.
            4 => (block_size / 4, block_size % 4),
            _ => (block_size / miniblocks, block_size % miniblocks),
        };
        // The specification wants a multiple of 32, and parquet-java writes multiples of 8 where it is told to.
        if values_per_miniblock == 0 || rest != 0 || values_per_miniblock % 8 != 0 {
            return Err(Error::corrupt(format!("DELTA blocks of {block_size} values in {miniblocks} miniblocks")));
        }
        let to_usize =
            |value| usize::try_from(value).map_err(|_| Error::corrupt("DELTA header exceeds the address space"));
        self.remaining = to_usize(count)?;
        self.stream.blocks = Blocks {
            deltas: self.remaining.saturating_sub(1),
            miniblocks_per_block: to_usize(miniblocks)?,
            values_per_miniblock: to_usize(values_per_miniblock)?,
            position,
            ..Blocks::default()
        };
        self.stream.last = T::wrap(first);
        if count > 0 {
            self.stream.hold(&[T::wrap(first)]);
        }
        Ok(())
    }

    /// Values of a miniblock.
    pub fn values_per_miniblock(&self) -> usize {
        self.stream.blocks.values_per_miniblock
    }

    /// Values that are left, by the header's word: there may be bytes for fewer.
    pub fn remaining(&self) -> usize {
        self.remaining
    }

    /// Decodes the next `out.len()` values.
    ///
    /// # Errors
    /// Corrupt: fewer are left, or their bytes are cut short or break the specification.
    pub fn read(&mut self, page: &[u8], out: &mut [T]) -> Result<()> {
        self.take(out.len())?;
        self.decode(page, out)
    }

    fn decode(&mut self, page: &[u8], out: &mut [T]) -> Result<()> {
        let mut done = T::decode(self.kernels, page, &mut self.stream, out);
        while done < out.len() {
            self.decode_odd(page)?;
            done += T::decode(self.kernels, page, &mut self.stream, &mut out[done..]);
        }
        Ok(())
    }

    /// Moves past the next `count` values without writing them: most by their sums alone.
    ///
    /// # Errors
    /// Corrupt: as [`DeltaBinaryPacked::read`], except that what is skipped to the end of the stream is not looked at.
    pub fn skip(&mut self, page: &[u8], count: usize) -> Result<()> {
        self.take(count)?;
        if self.remaining == 0 {
            return Ok(());
        }
        let mut done = T::skip(self.kernels, page, &mut self.stream, count);
        while done < count {
            self.decode_odd(page)?;
            done += T::skip(self.kernels, page, &mut self.stream, count - done);
        }
        Ok(())
    }

    /// Sets bit `i` where the `i`th of the next `count` values lies in `low..=high`, and clears it elsewhere, up to the end of
    /// the last word; the values go nowhere.
    ///
    /// # Panics
    /// `words` is shorter than `count.div_ceil(64)`; further words are untouched.
    ///
    /// # Errors
    /// As [`DeltaBinaryPacked::read`].
    pub fn read_in_range(&mut self, page: &[u8], count: usize, low: T, high: T, words: &mut [u64]) -> Result<()> {
        self.take(count)?;
        let words = &mut words[..count.div_ceil(64)];
        let mut done = T::decode_in_range(self.kernels, page, &mut self.stream, count, low, high, words);
        // What the kernels leave is decoded.
        words[done.div_ceil(64)..].fill(0);
        while done < count {
            let (mut values, mut word) = ([T::default(); 64], [0]);
            let values = &mut values[..(count - done).min(64)];
            self.decode(page, values)?;
            T::in_range(self.kernels, values, low, high, &mut word);
            copy_bits(&word, 0, words, done, values.len());
            done += values.len();
        }
        Ok(())
    }

    /// Compares the next `count` values with those of `other` as [`Lane::compare`] does.
    ///
    /// Where the kernels do not compare the streams as they are, both are decoded by pieces that stay in the L1 cache.
    ///
    /// # Panics
    /// `words` is shorter than `count.div_ceil(64)`; further words are untouched.
    ///
    /// # Errors
    /// As [`DeltaBinaryPacked::read`].
    pub fn compare(
        &mut self,
        page: &[u8],
        other: (&mut Self, &[u8]),
        count: usize,
        (op, signed): (Comparison, bool),
        words: &mut [u64],
    ) -> Result<()> {
        const PIECE: usize = 1024;
        let (other, other_page) = other;
        if other.remaining < count {
            return Err(other.too_few(count));
        }
        self.take(count)?;
        other.take(count)?;
        let words = &mut words[..count.div_ceil(64)];
        words.fill(0);
        let mut scratch = None;
        let (mut done, mut pieces) = (0, 1);
        while done < count {
            let streams = [(page, &mut self.stream), (other_page, &mut other.stream)];
            let compared = T::compare_streams(self.kernels, streams, count - done, (op, signed), words, done);
            done += compared;
            // The more often it was asked in vain, the later again.
            pieces = if compared > 0 { 1 } else { pieces * 2 };
            for _ in 0..pieces {
                let len = (count - done).min(PIECE);
                if len == 0 {
                    break;
                }
                let values = scratch.get_or_insert([[T::default(); PIECE]; 2]);
                let [ours, others] = values.each_mut().map(|values| &mut values[..len]);
                self.decode(page, ours)?;
                other.decode(other_page, others)?;
                let mut verdicts = [0; PIECE / 64];
                T::compare(self.kernels, ours, others, op, signed, &mut verdicts);
                copy_bits(&verdicts, 0, words, done, len);
                done += len;
            }
        }
        Ok(())
    }

    /// Where the stream ends in `page`: walks over the headers from here, and unpacks nothing.
    ///
    /// # Errors
    /// Corrupt: the stream is cut short, or breaks the specification.
    pub fn end(&self, page: &[u8]) -> Result<usize> {
        let mut blocks = self.stream.blocks;
        loop {
            pass_blocks(&mut blocks, page);
            blocks.position += packed_len(blocks.left, blocks.bit_width);
            blocks.deltas = blocks.deltas.saturating_sub(blocks.left);
            if blocks.deltas == 0 {
                return Ok(blocks.position);
            }
            blocks.left = 0;
            enter(&mut blocks, page)?;
        }
    }

    #[inline]
    fn take(&mut self, count: usize) -> Result<()> {
        match self.remaining.checked_sub(count) {
            Some(remaining) => {
                self.remaining = remaining;
                Ok(())
            }
            None => Err(self.too_few(count)),
        }
    }

    #[cold]
    fn too_few(&self, count: usize) -> Error {
        Error::corrupt(format!("DELTA stream has {} values left of {count} wanted", self.remaining))
    }

    /// Decodes some values that the kernels leave, and holds them.
    #[cold]
    fn decode_odd(&mut self, page: &[u8]) -> Result<()> {
        let Stream { blocks, last, .. } = &mut self.stream;
        enter(blocks, page)?;
        let mut values = [T::default(); UNIT];
        let values = &mut values[..blocks.left.min(UNIT)];
        let end = blocks.position + packed_len(values.len(), blocks.bit_width);
        let packed = &page[blocks.position..end];
        *last = T::decode_odd(packed, blocks.bit_width, blocks.min_delta, *last, values);
        blocks.position = end;
        blocks.left -= values.len();
        blocks.deltas = blocks.deltas.saturating_sub(values.len());
        if blocks.deltas == 0 {
            // Past the padding of the last miniblock.
            blocks.position += packed_len(blocks.left, blocks.bit_width);
            blocks.left = 0;
        }
        self.stream.hold(values);
        Ok(())
    }
}

/// Bytes of `count` values, a multiple of 8, that were found to be in the page.
fn packed_len(count: usize, bit_width: u32) -> usize {
    count / 8 * bit_width as usize
}

/// Passes over whole blocks of the usual kind: four miniblocks, and a `min_delta` of one byte. What is odd is left.
fn pass_blocks(blocks: &mut Blocks, page: &[u8]) {
    const MINIBLOCKS: usize = 4;
    let (per_miniblock, values) =
        (blocks.values_per_miniblock / 8, blocks.values_per_miniblock.saturating_mul(MINIBLOCKS));
    if blocks.miniblocks_per_block != MINIBLOCKS || blocks.left > 0 || blocks.widths != blocks.widths_end {
        return;
    }
    while blocks.deltas >= values
        && let Some([min_delta, widths @ ..]) = page.get(blocks.position..).and_then(<[u8]>::first_chunk::<5>)
        && *min_delta < 0x80
    {
        let widths = u32::from_le_bytes(*widths);
        // A byte over 64 has its upper bit set, or gets it.
        if (widths | ((widths & 0x7f7f_7f7f) + 0x3f3f_3f3f)) & 0x8080_8080 != 0 {
            return;
        }
        let pairs = (widths & 0x00ff_00ff) + (widths >> 8 & 0x00ff_00ff);
        let bytes = per_miniblock.saturating_mul((pairs as u16 as usize) + (pairs >> 16) as usize);
        let start = blocks.position + 1 + MINIBLOCKS;
        if bytes > page.len() - start {
            return;
        }
        blocks.position = start + bytes;
        blocks.deltas -= values;
    }
}

/// Goes on to the next miniblock where there is nothing left of the present one, and leaves at least one delta in it.
///
/// The kernels do this themselves, but say nothing of what is wrong.
fn enter(blocks: &mut Blocks, page: &[u8]) -> Result<()> {
    if blocks.left > 0 {
        return Ok(());
    }
    if blocks.deltas == 0 {
        return Err(Error::corrupt("DELTA stream has no values left"));
    }
    if blocks.widths == blocks.widths_end {
        blocks.min_delta = zigzag(read_uleb(page, &mut blocks.position)?);
        let widths_end = blocks.position.checked_add(blocks.miniblocks_per_block).filter(|&end| end <= page.len());
        let Some(widths_end) = widths_end else {
            return Err(Error::corrupt("data ends inside of the bit widths of a DELTA block"));
        };
        (blocks.widths, blocks.widths_end, blocks.position) = (blocks.position, widths_end, widths_end);
    }
    let Some(&bit_width) = page.get(blocks.widths) else {
        return Err(Error::corrupt("DELTA block has no bit widths"));
    };
    if bit_width > 64 {
        return Err(Error::corrupt(format!("DELTA bit width {bit_width}")));
    }
    // The widths of miniblocks after the last value are garbage, and their bytes may be missing: nobody comes here. What
    // saturates exceeds the page, unless the width is 0.
    let bytes = (blocks.values_per_miniblock / 8).saturating_mul(usize::from(bit_width));
    if bytes > page.len() - blocks.position {
        return Err(Error::corrupt("data ends inside of a DELTA miniblock"));
    }
    blocks.widths += 1;
    blocks.left = blocks.values_per_miniblock;
    blocks.bit_width = u32::from(bit_width);
    Ok(())
}
