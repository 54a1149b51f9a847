//! DELTA_LENGTH_BYTE_ARRAY: all lengths as DELTA_BINARY_PACKED, then all bytes.

use crate::error::Result;
use crate::kernels::{FrontCoded, kernels, ones};

use super::byte_array::{
    ByteTest, HEADS, INLINE_LEN, InPlace, LONG, PAYLOAD, ViewBuffer, has_margins, load_payload, long_view, make_heads,
    make_short_views, misfit,
};
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
        for first in (0..count).step_by(BATCH) {
            let values = self.next_batch(page, BATCH.min(count - first))?;
            if values.longest() <= INLINE_LEN {
                make_short_views(values, 0, out.grow(values.count()));
                continue;
            }
            // All bytes are copied at once, those of short values too.
            let bytes = &page[values.start()..values.end()];
            let offset = out.reserve(bytes.len())?;
            out.data.extend_from_slice(bytes);
            append_views(values, (out.buffer_index, offset), &mut out.views);
        }
        Ok(())
    }

    /// Appends the views of the next `count` values, as they are in the page, which is buffer `buffer_index` from the first of them
    /// on.
    ///
    /// # Errors
    /// As [`DeltaLengthByteArray::read`].
    pub fn read_in_place(
        &mut self,
        page: &[u8],
        count: usize,
        buffer_index: u32,
        views: &mut Vec<u128>,
    ) -> Result<InPlace> {
        let (start, mut long) = (self.position, 0);
        for first in (0..count).step_by(BATCH) {
            let values = self.next_batch(page, BATCH.min(count - first))?;
            if values.longest() <= INLINE_LEN {
                let done = views.len();
                views.resize(done + values.count(), 0);
                make_short_views(values, 0, &mut views[done..]);
            } else {
                long += append_views(values, (buffer_index, values.start() - start), views);
            }
        }
        Ok(InPlace { range: start..self.position, long })
    }

    /// Moves past the next `count` values.
    ///
    /// # Errors
    /// As [`DeltaLengthByteArray::read`].
    pub fn skip(&mut self, page: &[u8], count: usize) -> Result<()> {
        for first in (0..count).step_by(BATCH) {
            self.next_batch(page, BATCH.min(count - first))?;
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
            let values = self.next_batch(page, batch)?;
            visit(values, &words[first / 64..(first + batch).div_ceil(64)], |_, value| out.push(value))?;
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
            let values = self.next_batch(page, batch)?;
            make_heads(values, 0, &mut heads[..batch]);
            let (words, mut open) = (&mut words[first / 64..(first + batch).div_ceil(64)], [0; BATCH / 64]);
            test.test_heads(&heads[..batch], words, &mut open[..words.len()]);
            visit(values, &open, |index, value| {
                words[index / 64] |= u64::from(test.test(value)) << (index % 64);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Decodes and checks the lengths of the next values, and moves past their bytes.
    fn next_batch<'a>(&'a mut self, page: &'a [u8], count: usize) -> Result<FrontCoded<'a>> {
        let lengths = &mut self.scratch[..count];
        self.lengths.read(page, lengths)?;
        let values = FrontCoded::new(kernels(), (&NO_PREFIXES[..count], lengths), 0, page, self.position);
        let values = values.map_err(misfit)?;
        self.position = values.end();
        Ok(values)
    }
}

/// No value begins as the one before.
static NO_PREFIXES: [i32; BATCH] = [0; BATCH];

/// Calls `visit` with each value that is set in `words`.
fn visit(values: FrontCoded<'_>, words: &[u64], mut visit: impl FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
    let (mut done, mut position) = (0, values.start());
    for index in ones(words) {
        let end = position + values.suffixes(done..index + 1);
        let length = values.suffixes(index..index + 1);
        visit(index, &values.bytes()[end - length..end])?;
        (position, done) = (end, index + 1);
    }
    Ok(())
}

/// Appends views of values that are in the buffer with the given index from the given offset on; how many of the bytes are those of
/// long values.
fn append_views(values: FrontCoded<'_>, (buffer_index, offset): (u32, usize), views: &mut Vec<u128>) -> usize {
    let done = views.len();
    views.resize(done + values.count(), 0);
    let views = &mut views[done..];
    if has_margins(values) {
        return kernels().views_in_place(values, (buffer_index, offset), views);
    }
    let (mut position, mut long) = (values.start(), 0);
    for (view, (_, length)) in views.iter_mut().zip(values.lengths()) {
        *view = load_payload(values.bytes(), position, 0, length) & PAYLOAD[length.min(LONG)] | length as u128;
        if length > INLINE_LEN {
            // The end of a buffer fits in 31 bits.
            *view |= long_view(0, 0, buffer_index, (offset + position - values.start()) as u32);
            long += length;
        }
        position += length;
    }
    long
}
