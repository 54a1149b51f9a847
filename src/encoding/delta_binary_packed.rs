//! DELTA_BINARY_PACKED: blocks of miniblocks of bit-packed deltas.
//!
//! The unit of decoding is a group of 32 values. A miniblock holds a multiple of 32, and 32 values of any width are whole
//! bytes, so a window that ends inside of a miniblock leaves an overhang of one group at most, whatever the block's shape.
//! Miniblocks of equal width that follow each other in a block are one run, and one call of the kernel.
//!
//! Arithmetic wraps at the physical width. Writers that compute the deltas of INT32 in 64 bits produce widths over 32 and
//! minima outside of 32 bits: these wrap to the same values.

use crate::error::{Error, Result};
use crate::kernels::{Kernels, Lane, kernels};

use super::varint::{read_uleb, zigzag};

/// Values that are decoded together.
const GROUP: usize = 32;

/// A cursor over the values of one DELTA_BINARY_PACKED stream.
///
/// Each call takes the page of the last `reset`, and may panic on another.
#[derive(Debug, Clone)]
pub struct DeltaBinaryPacked<T> {
    runs: Runs,
    /// Values that the header promised and nobody took yet: a promise, not a reason to allocate.
    remaining: usize,
    /// The last value decoded, or the first one while it is pending.
    last: T,
    first_is_pending: bool,
    /// Decoded values that nobody took yet: the end of `overhang`.
    overhang: [T; GROUP],
    overhang_left: usize,
}

/// Walks over the block headers.
#[derive(Debug, Clone, Copy, Default)]
struct Runs {
    /// Deltas that no run holds yet.
    deltas: usize,
    miniblocks_per_block: usize,
    values_per_miniblock: usize,
    min_delta: i64,
    /// Where the bit widths of the miniblocks that follow in this block are.
    widths: usize,
    widths_end: usize,
    /// Where the rest of the run is.
    position: usize,
    bit_width: u32,
    /// Deltas that are left of the run.
    left: usize,
}

impl<T: Lane> Default for DeltaBinaryPacked<T> {
    fn default() -> Self {
        Self {
            runs: Runs::default(),
            remaining: 0,
            last: T::default(),
            first_is_pending: false,
            overhang: [T::default(); GROUP],
            overhang_left: 0,
        }
    }
}

impl<T: Lane> DeltaBinaryPacked<T> {
    /// Starts over with the stream at the start of `page`. No bytes are no values.
    ///
    /// # Errors
    /// Corrupt: the header is cut short, or describes blocks that cannot be.
    pub fn reset(&mut self, page: &[u8]) -> Result<()> {
        self.overhang_left = 0;
        self.remaining = 0;
        self.first_is_pending = false;
        self.runs = Runs::default();
        if page.is_empty() {
            return Ok(());
        }
        let mut position = 0;
        let block_size = read_uleb(page, &mut position)?;
        let miniblocks = read_uleb(page, &mut position)?;
        let count = read_uleb(page, &mut position)?;
        let first = zigzag(read_uleb(page, &mut position)?);
        let values_per_miniblock = block_size.checked_div(miniblocks).unwrap_or(0);
        // The specification wants a multiple of 32, and parquet-java writes multiples of 8 where it is told to.
        if values_per_miniblock == 0 || block_size % miniblocks != 0 || values_per_miniblock % 8 != 0 {
            return Err(Error::corrupt(format!("DELTA blocks of {block_size} values in {miniblocks} miniblocks")));
        }
        let to_usize =
            |value| usize::try_from(value).map_err(|_| Error::corrupt("DELTA header exceeds the address space"));
        self.remaining = to_usize(count)?;
        self.first_is_pending = count > 0;
        self.last = T::wrap(first);
        self.runs.deltas = self.remaining.saturating_sub(1);
        self.runs.miniblocks_per_block = to_usize(miniblocks)?;
        self.runs.values_per_miniblock = to_usize(values_per_miniblock)?;
        self.runs.position = position;
        Ok(())
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
        let kernels = kernels();
        let mut done = 0;
        if let (true, Some(slot)) = (self.first_is_pending, out.first_mut()) {
            *slot = self.last;
            self.first_is_pending = false;
            done = 1;
        }
        loop {
            let held = self.overhang_left.min(out.len() - done);
            let start = GROUP - self.overhang_left;
            out[done..done + held].copy_from_slice(&self.overhang[start..start + held]);
            self.overhang_left -= held;
            done += held;
            if done == out.len() {
                return Ok(());
            }
            if let Some(block) = self.runs.next_block() {
                let room = (out.len() - done).min(self.runs.deltas) / block * block;
                let out = &mut out[done..done + room];
                let values = self.runs.values_per_miniblock;
                let decoded = T::decode_blocks(kernels, page, &mut self.runs.position, values, &mut self.last, out);
                self.runs.deltas -= decoded;
                done += decoded;
                if decoded > 0 {
                    continue;
                }
            }
            self.runs.enter(page)?;
            let whole = (out.len() - done).min(self.runs.left) / GROUP * GROUP;
            self.decode(kernels, page, &mut out[done..done + whole]);
            done += whole;
            if done < out.len() && self.runs.left > 0 {
                self.decode_overhang(kernels, page);
            }
        }
    }

    /// Moves past the next `count` values without writing them: whole groups by their sums alone.
    ///
    /// # Errors
    /// Corrupt: as [`DeltaBinaryPacked::read`], except that what is skipped to the end of the stream is not looked at.
    pub fn skip(&mut self, page: &[u8], count: usize) -> Result<()> {
        self.take(count)?;
        if self.remaining == 0 {
            return Ok(());
        }
        let kernels = kernels();
        let mut count = count;
        if self.first_is_pending && count > 0 {
            self.first_is_pending = false;
            count -= 1;
        }
        loop {
            let held = self.overhang_left.min(count);
            self.overhang_left -= held;
            count -= held;
            if count == 0 {
                return Ok(());
            }
            if let Some(block) = self.runs.next_block() {
                let blocks = count.min(self.runs.deltas) / block;
                let values = self.runs.values_per_miniblock;
                let skipped = T::skip_blocks(kernels, page, &mut self.runs.position, values, blocks, &mut self.last);
                self.runs.deltas -= skipped * block;
                count -= skipped * block;
                if skipped > 0 {
                    continue;
                }
            }
            self.runs.enter(page)?;
            let whole = count.min(self.runs.left) / GROUP * GROUP;
            self.sum(kernels, page, whole);
            count -= whole;
            if count > 0 && self.runs.left > 0 {
                self.decode_overhang(kernels, page);
            }
        }
    }

    /// Where the stream ends in `page`: walks over the headers from here, and unpacks nothing.
    ///
    /// # Errors
    /// Corrupt: the stream is cut short, or breaks the specification.
    pub fn end(&self, page: &[u8]) -> Result<usize> {
        let mut runs = self.runs;
        loop {
            runs.position += packed_len(runs.left, runs.bit_width);
            runs.left = 0;
            if runs.deltas == 0 {
                return Ok(runs.position);
            }
            runs.enter(page)?;
        }
    }

    #[inline]
    fn take(&mut self, count: usize) -> Result<()> {
        match self.remaining.checked_sub(count) {
            Some(remaining) => {
                self.remaining = remaining;
                Ok(())
            }
            None => Err(Error::corrupt(format!("DELTA stream has {} values left of {count} wanted", self.remaining))),
        }
    }

    /// Decodes whole groups of the run.
    fn decode(&mut self, kernels: &Kernels, page: &[u8], out: &mut [T]) {
        let Runs { min_delta, bit_width, .. } = self.runs;
        let packed = self.runs.advance(page, out.len());
        if bit_width <= T::BITS {
            self.last = T::decode(kernels, packed, bit_width, T::wrap(min_delta), self.last, out);
            return;
        }
        let mut wide = [0; GROUP];
        let mut last = self.last.widen();
        for (packed, out) in packed.chunks_exact(GROUP / 8 * bit_width as usize).zip(out.as_chunks_mut::<GROUP>().0) {
            last = i64::decode(kernels, packed, bit_width, min_delta, last, &mut wide);
            *out = wide.map(T::wrap);
        }
        self.last = T::wrap(last);
    }

    /// Adds up whole groups of the run.
    fn sum(&mut self, kernels: &Kernels, page: &[u8], count: usize) {
        let Runs { min_delta, bit_width, .. } = self.runs;
        let packed = self.runs.advance(page, count);
        let sum = if bit_width <= T::BITS {
            T::sum(kernels, packed, bit_width, T::wrap(min_delta), count)
        } else {
            T::wrap(i64::sum(kernels, packed, bit_width, min_delta, count))
        };
        self.last = self.last.add(sum);
    }

    /// Decodes the next group of the run, or what is left of the run, into the overhang.
    fn decode_overhang(&mut self, kernels: &Kernels, page: &[u8]) {
        let mut group = [T::default(); GROUP];
        let count = self.runs.left.min(GROUP);
        if count == GROUP {
            self.decode(kernels, page, &mut group);
            self.overhang = group;
        } else {
            // A miniblock that is no multiple of 32, padded with deltas that nobody asks for.
            let mut padded = [0; GROUP / 8 * 64];
            let packed = self.runs.advance(page, count);
            padded[..packed.len()].copy_from_slice(packed);
            let mut runs = Runs { position: 0, left: GROUP, ..self.runs };
            std::mem::swap(&mut runs, &mut self.runs);
            self.decode(kernels, &padded, &mut group);
            self.runs = runs;
            self.overhang[GROUP - count..].copy_from_slice(&group[..count]);
            self.last = group[count - 1];
        }
        self.overhang_left = count;
    }
}

/// Bytes of `count` values, a multiple of 8, that were found to be in the page.
fn packed_len(count: usize, bit_width: u32) -> usize {
    count / 8 * bit_width as usize
}

impl Runs {
    /// The size of the block that begins here, if one does and the kernels may know its shape.
    #[inline]
    fn next_block(&self) -> Option<usize> {
        let begins = self.left == 0 && self.widths == self.widths_end && self.miniblocks_per_block == 4;
        begins.then(|| self.values_per_miniblock.saturating_mul(4)).filter(|&block| block <= self.deltas)
    }

    /// Goes on to the next run where this one is used up. Leaves at least one delta in the run.
    #[inline]
    fn enter(&mut self, page: &[u8]) -> Result<()> {
        if self.left > 0 { Ok(()) } else { self.next(page) }
    }

    fn next(&mut self, page: &[u8]) -> Result<()> {
        if self.deltas == 0 {
            return Err(Error::corrupt("DELTA stream has no values left"));
        }
        if self.widths == self.widths_end {
            self.min_delta = zigzag(read_uleb(page, &mut self.position)?);
            let widths_end = self.position.checked_add(self.miniblocks_per_block).filter(|&end| end <= page.len());
            let Some(widths_end) = widths_end else {
                return Err(Error::corrupt("data ends inside of the bit widths of a DELTA block"));
            };
            (self.widths, self.widths_end, self.position) = (self.position, widths_end, widths_end);
        }
        let Some(&bit_width) = page.get(self.widths) else {
            return Err(Error::corrupt("DELTA block has no bit widths"));
        };
        if bit_width > 64 {
            return Err(Error::corrupt(format!("DELTA bit width {bit_width}")));
        }
        // What saturates exceeds the page, unless its width is 0.
        let miniblock_bytes = (self.values_per_miniblock / 8).saturating_mul(usize::from(bit_width));
        let (mut left, mut bytes) = (self.values_per_miniblock, miniblock_bytes);
        self.widths += 1;
        // The widths of miniblocks after the last value are garbage, and their bytes may be missing.
        while left < self.deltas && self.widths < self.widths_end && page.get(self.widths) == Some(&bit_width) {
            left = left.saturating_add(self.values_per_miniblock);
            bytes = bytes.saturating_add(miniblock_bytes);
            self.widths += 1;
        }
        if bytes > page.len() - self.position {
            return Err(Error::corrupt("data ends inside of a DELTA miniblock"));
        }
        self.left = left;
        self.deltas = self.deltas.saturating_sub(left);
        self.bit_width = u32::from(bit_width);
        Ok(())
    }

    /// Takes `count` packed deltas off the run, which has them.
    #[inline]
    fn advance<'a>(&mut self, page: &'a [u8], count: usize) -> &'a [u8] {
        let end = self.position + packed_len(count, self.bit_width);
        let packed = &page[self.position..end];
        self.position = end;
        self.left -= count;
        packed
    }
}
