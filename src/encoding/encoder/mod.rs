//! Values to bytes: the DELTA encodings.
//!
//! An encoder takes the values of a page by as many calls of `put` as there are, and `finish` appends the page to a buffer
//! and starts over. It keeps its memory: once a page was as long as any, nothing is allocated. `estimated_len` tells a writer
//! when to cut.

use std::ops::Deref;

use crate::error::{Error, Result};

use super::byte_array::{INLINE_LEN, view_len, view_memory};

pub mod delta_binary_packed;
pub mod delta_byte_array;
pub mod delta_length_byte_array;

/// Byte arrays that are encoded together.
const BATCH: usize = 256;

/// Calls `encode` for some values after the other, with the bytes that they have together.
///
/// # Errors
/// Limit: a value is longer than 31 bits.
#[inline]
fn batches<'a>(values: impl IntoIterator<Item = &'a [u8]>, mut encode: impl FnMut(&[&'a [u8]], usize)) -> Result<()> {
    let mut values = values.into_iter();
    let mut batch: [&[u8]; BATCH] = [&[]; BATCH];
    loop {
        let (mut count, mut total, mut lengths) = (0, 0_usize, 0);
        for (slot, value) in batch.iter_mut().zip(values.by_ref()) {
            *slot = value;
            count += 1;
            total = total.saturating_add(value.len());
            lengths |= value.len();
        }
        if lengths > i32::MAX as usize {
            return Err(Error::limit("a byte array is longer than 31 bits"));
        }
        if count == 0 {
            return Ok(());
        }
        encode(&batch[..count], total);
        if count < BATCH {
            return Ok(());
        }
    }
}

/// The values of Arrow's views, `buffers` being those that long ones point into.
///
/// # Panics
/// As it goes on: a view points past its buffer.
pub fn views<'a, B: Deref<Target = [u8]>>(views: &'a [u128], buffers: &'a [B]) -> impl Iterator<Item = &'a [u8]> {
    views.iter().map(|view| {
        let len = view_len(*view);
        if len <= INLINE_LEN {
            &view_memory(view)[4..4 + len]
        } else {
            // 32 bits of each.
            let (buffer, offset) = ((view >> 64) as u32 as usize, (view >> 96) as usize);
            &buffers[buffer][offset..offset + len]
        }
    })
}

/// The values of Arrow's arrays with offsets: those say where in `bytes` each begins, and where the last one ends.
///
/// # Panics
/// As it goes on: the offsets do not ascend, or end past `bytes`.
pub fn slices<'a, O: Copy + Into<i64>>(offsets: &'a [O], bytes: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let to_usize = |offset: O| usize::try_from(offset.into()).unwrap_or(usize::MAX);
    offsets.array_windows().map(move |&[start, end]| &bytes[to_usize(start)..to_usize(end)])
}

/// Bytes that are written before it is known how many: memory that is made once, and a length apart from its own.
#[derive(Debug, Clone, Default)]
struct Output {
    bytes: Vec<u8>,
    len: usize,
}

impl Output {
    /// What follows the bytes that are written, at least `room` more.
    #[inline]
    fn spare(&mut self, room: usize) -> &mut [u8] {
        let end = self.len + room;
        if end > self.bytes.len() {
            self.grow(end);
        }
        &mut self.bytes[self.len..]
    }

    #[cold]
    fn grow(&mut self, end: usize) {
        self.bytes.resize(end.max(2 * self.bytes.len()), 0);
    }

    /// So many bytes of what is spare are written.
    #[inline]
    fn advance(&mut self, len: usize) {
        self.len += len;
    }

    fn written(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Nothing is written; the memory stays.
    fn clear(&mut self) {
        self.len = 0;
    }
}
