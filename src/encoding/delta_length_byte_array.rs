//! DELTA_LENGTH_BYTE_ARRAY: all lengths as DELTA_BINARY_PACKED, then all bytes.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::kernels::ones;

use super::byte_array::{ByteTest, HEADS, INLINE_LEN, LONG, PAYLOAD, ViewBuffer, load_payload, long_view};
use super::delta_binary_packed::DeltaBinaryPacked;

/// Values whose lengths are decoded together: whole words of a bitmap.
const BATCH: usize = HEADS;

/// A cursor over the values of one DELTA_LENGTH_BYTE_ARRAY stream.
///
/// Each call takes the page of the last `reset`, and may panic on another.
#[derive(Debug, Clone, Default)]
pub struct DeltaLengthByteArray {
    lengths: DeltaBinaryPacked<i32>,
    /// Where the bytes of the next value are.
    position: usize,
    scratch: Vec<i32>,
}

impl DeltaLengthByteArray {
    /// Starts over with the stream at the start of `page`, which it fills. No bytes are no values.
    ///
    /// # Errors
    /// Corrupt: the lengths are cut short, or break the specification.
    pub fn reset(&mut self, page: &[u8]) -> Result<()> {
        self.lengths.reset(page)?;
        self.position = self.lengths.end(page)?;
        self.scratch.resize(BATCH, 0);
        Ok(())
    }

    /// Whether all bytes of the values that are left are ASCII: each value is UTF-8 then.
    pub fn is_ascii(&self, page: &[u8]) -> bool {
        page[self.position..].is_ascii()
    }

    /// Values that are left, by the header's word.
    pub fn remaining(&self) -> usize {
        self.lengths.remaining()
    }

    /// Appends the next `count` values to `out`.
    ///
    /// # Errors
    /// Corrupt: fewer are left, or a length is negative or past the end of the page. Limit: `out` is full.
    pub fn read(&mut self, page: &[u8], count: usize, out: &mut ViewBuffer) -> Result<()> {
        let mut left = count;
        while left > 0 {
            let batch = left.min(BATCH);
            let start = self.position;
            let are_short = self.next_batch(page, batch)?;
            let lengths = &self.scratch[..batch];
            if are_short {
                read_short(page, start, lengths, out);
            } else {
                read_any(page, start..self.position, lengths, out)?;
            }
            left -= batch;
        }
        Ok(())
    }

    /// Moves past the next `count` values.
    ///
    /// # Errors
    /// As [`DeltaLengthByteArray::read`].
    pub fn skip(&mut self, page: &[u8], count: usize) -> Result<()> {
        let mut left = count;
        while left > 0 {
            let batch = left.min(BATCH);
            self.next_batch(page, batch)?;
            left -= batch;
        }
        Ok(())
    }

    /// Moves past the next `count` values, and appends those that are set in `words` to `out`.
    ///
    /// # Errors
    /// As [`DeltaLengthByteArray::read`].
    pub fn read_selected(&mut self, page: &[u8], count: usize, words: &[u64], out: &mut ViewBuffer) -> Result<()> {
        for first in (0..count).step_by(BATCH) {
            let batch = BATCH.min(count - first);
            let mut position = self.position;
            self.next_batch(page, batch)?;
            let mut done = 0;
            for index in ones(&words[first / 64..(first + batch).div_ceil(64)]) {
                // They do not exceed the page.
                position += self.scratch[done..index].iter().sum::<i32>() as usize;
                let end = position + self.scratch[index] as usize;
                out.push(&page[position..end])?;
                (position, done) = (end, index + 1);
            }
        }
        Ok(())
    }

    /// Moves past the next `count` values, and sets the bit of each that passes `test`; overwrites `words`, one for 64 values.
    /// `heads` is memory for [`HEADS`] of them.
    ///
    /// # Errors
    /// As [`DeltaLengthByteArray::read`].
    pub fn read_matches(
        &mut self,
        page: &[u8],
        count: usize,
        test: &impl ByteTest,
        heads: &mut [u128; HEADS],
        words: &mut [u64],
    ) -> Result<()> {
        for first in (0..count).step_by(BATCH) {
            let batch = BATCH.min(count - first);
            let mut position = self.position;
            self.next_batch(page, batch)?;
            let mut at = position;
            for (head, &length) in heads[..batch].iter_mut().zip(&self.scratch) {
                let length = length as usize;
                *head = load_payload(page, at, 0, length) & PAYLOAD[length.min(INLINE_LEN)] | length as u128;
                at += length;
            }
            let (words, mut open) = (&mut words[first / 64..(first + batch).div_ceil(64)], [0; BATCH / 64]);
            test.test_heads(&heads[..batch], words, &mut open[..words.len()]);
            let mut done = 0;
            for index in ones(&open) {
                position += self.scratch[done..index].iter().sum::<i32>() as usize;
                let end = position + self.scratch[index] as usize;
                words[index / 64] |= u64::from(test.test(&page[position..end])) << (index % 64);
                (position, done) = (end, index + 1);
            }
        }
        Ok(())
    }

    /// Decodes and checks the lengths of the next values into the scratch, and moves past their bytes; returns
    /// whether all fit in their views.
    fn next_batch(&mut self, page: &[u8], count: usize) -> Result<bool> {
        let lengths = &mut self.scratch[..count];
        self.lengths.read(page, lengths)?;
        // Sign bits: whether any length is negative, and whether any is longer than a view has room for.
        let (mut negative, mut long) = (0, 0);
        // A batch of 32-bit lengths cannot overflow 64 bits.
        let mut total = 0;
        for &length in &*lengths {
            negative |= length;
            long |= (INLINE_LEN as i32).wrapping_sub(length);
            total += i64::from(length);
        }
        if negative < 0 {
            return Err(Error::corrupt("negative byte array length"));
        }
        if total > (page.len() - self.position) as i64 {
            return Err(Error::corrupt("byte array lengths exceed the page"));
        }
        self.position += total as usize;
        Ok(long >= 0)
    }
}

/// Appends values of at most [`INLINE_LEN`] bytes.
fn read_short(page: &[u8], start: usize, lengths: &[i32], out: &mut ViewBuffer) {
    let mut position = start;
    for (slot, &length) in out.grow(lengths.len()).iter_mut().zip(lengths) {
        let length = length as usize;
        let payload = load_payload(page, position, 0, length) & PAYLOAD[length % PAYLOAD.len()];
        *slot = payload | length as u128;
        position += length;
    }
}

/// Appends values of any length. All their bytes are copied at once, those of the short ones too.
fn read_any(page: &[u8], bytes: Range<usize>, lengths: &[i32], out: &mut ViewBuffer) -> Result<()> {
    // The end of the bytes fits in 31 bits.
    let mut offset = out.reserve(bytes.len())? as u32;
    let mut position = bytes.start;
    let buffer_index = out.buffer_index;
    out.data.extend_from_slice(&page[bytes]);
    for (slot, &length) in out.grow(lengths.len()).iter_mut().zip(lengths) {
        let length = length as usize;
        let payload = load_payload(page, position, 0, length) & PAYLOAD[length.min(LONG)];
        let place = if length > INLINE_LEN { long_view(0, 0, buffer_index, offset) } else { 0 };
        *slot = payload | length as u128 | place;
        offset += length as u32;
        position += length;
    }
    Ok(())
}
