//! Byte arrays as Arrow views: 16 bytes a value, short values inside of the view.

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::error::{Error, Result};
use crate::kernels::{FrontCoded, MARGIN, Misfit, kernels};

/// The longest value that lives in its view.
pub const INLINE_LEN: usize = 12;

/// Views, and the bytes of those values that are longer than [`INLINE_LEN`].
#[derive(Debug, Clone)]
pub struct ViewBuffer {
    /// One view a value, in Arrow's layout: length (32 bits), then the bytes padded with zeros, or the first 4 bytes, the
    /// index of the buffer and the offset in it.
    pub views: Vec<u128>,
    /// The bytes of the long values.
    pub data: Vec<u8>,
    /// The index that the views give for `data`.
    pub buffer_index: u32,
    /// Bytes that `data` may hold, [`MAX_DATA`] at most.
    pub max_data: usize,
}

/// As far as Arrow's offsets into a buffer go.
pub const MAX_DATA: usize = i32::MAX as usize;

impl Default for ViewBuffer {
    fn default() -> Self {
        Self { views: Vec::new(), data: Vec::new(), buffer_index: 0, max_data: MAX_DATA }
    }
}

impl ViewBuffer {
    /// Appends a value.
    ///
    /// # Errors
    /// Limit: `data` is full.
    #[inline]
    pub fn push(&mut self, value: &[u8]) -> Result<()> {
        let view = match make_inline_view(value) {
            Some(view) => view,
            None => self.append(value)?,
        };
        self.views.push(view);
        Ok(())
    }

    /// Copies a long value to `data`; the view on it.
    ///
    /// # Errors
    /// Limit: `data` is full.
    pub fn append(&mut self, value: &[u8]) -> Result<u128> {
        let offset = self.reserve(value.len())?;
        let prefix = value.first_chunk::<4>().map_or(0, |prefix| u32::from_le_bytes(*prefix));
        self.data.extend_from_slice(value);
        // Lengths and offsets of a buffer fit in 31 bits.
        Ok(long_view(value.len() as u32, prefix, self.buffer_index, offset as u32))
    }

    /// Checks that `data` may grow by `len` bytes, and returns the offset at which they start.
    ///
    /// # Errors
    /// Limit: their end exceeds [`ViewBuffer::max_data`].
    pub(super) fn reserve(&self, len: usize) -> Result<usize> {
        match self.data.len().checked_add(len) {
            Some(end) if end <= self.max_data.min(MAX_DATA) => Ok(self.data.len()),
            _ if self.max_data >= MAX_DATA => Err(Error::limit("the bytes of one string buffer exceed 2 GiB")),
            _ => Err(Error::limit("the byte arrays of one batch are longer than max_batch_size allows")),
        }
    }

    /// Checks that `len` bytes more than `data` has may be held.
    ///
    /// # Errors
    /// Limit: they exceed [`ViewBuffer::max_data`].
    pub fn reserve_within(&self, len: usize) -> Result<()> {
        self.reserve(len).map(|_| ())
    }

    /// Appends `count` views of nothing, to be overwritten: a loop that pushes one by one keeps its state in memory.
    pub(super) fn grow(&mut self, count: usize) -> &mut [u128] {
        let len = self.views.len();
        self.views.resize(len + count, 0);
        &mut self.views[len..]
    }

    /// Appends values whose long bytes `write` puts into `room` bytes of memory: it gets these, where in `data` they begin, and
    /// `count` views to write, and says how many of the bytes it wrote, or nothing, and then nothing happens.
    ///
    /// # Errors
    /// Limit: `data` is full.
    ///
    /// # Safety
    /// As many bytes as `write` says are initialised by it, from the first on.
    pub(super) unsafe fn append_with(
        &mut self,
        count: usize,
        room: usize,
        write: impl FnOnce(&mut [MaybeUninit<u8>], u32, &mut [u128]) -> Option<usize>,
    ) -> Result<bool> {
        let offset = self.reserve(room)?;
        self.data.reserve(room);
        let len = self.views.len();
        self.views.resize(len + count, 0);
        // What is reserved ends below 2^31.
        let written = write(&mut self.data.spare_capacity_mut()[..room], offset as u32, &mut self.views[len..]);
        match written {
            // SAFETY: they were written, by the caller's word, and there is room for them.
            Some(written) => unsafe { self.data.set_len(offset + written.min(room)) },
            None => self.views.truncate(len),
        }
        Ok(written.is_some())
    }

    /// Forgets all values and keeps the allocations.
    pub fn clear(&mut self) {
        self.views.clear();
        self.data.clear();
    }
}

/// The length of the value of a view.
#[inline]
pub fn view_len(view: u128) -> usize {
    // The low 32 bits, on purpose.
    view as u32 as usize
}

/// The bytes of the value of a view; `data` is the buffer that long views point into.
///
/// # Panics
/// A long view points past `data`.
#[inline]
pub fn view_bytes<'a>(view: &'a u128, data: &'a [u8]) -> &'a [u8] {
    let len = view_len(*view);
    if len <= INLINE_LEN {
        &view_memory(view)[4..4 + len]
    } else {
        let offset = (*view >> 96) as usize;
        &data[offset..offset + len]
    }
}

/// The memory of a view, which on a little-endian machine is Arrow's layout.
#[inline]
pub(super) fn view_memory(view: &u128) -> &[u8; 16] {
    const { assert!(cfg!(target_endian = "little"), "views are built as integers") };
    // SAFETY: 16 bytes of plain data, and bytes have no alignment.
    unsafe { &*std::ptr::from_ref(view).cast() }
}

/// The view of a value of at most [`INLINE_LEN`] bytes.
#[inline]
pub fn make_inline_view(value: &[u8]) -> Option<u128> {
    if value.len() > INLINE_LEN {
        return None;
    }
    const { assert!(cfg!(target_endian = "little"), "views are built as integers") };
    let mut bytes = [0; 16];
    bytes[4..4 + value.len()].copy_from_slice(value);
    Some(u128::from_le_bytes(bytes) | value.len() as u128)
}

/// The head of a value: its length and its first [`INLINE_LEN`] bytes, where the view of a short one has them. That is the view
/// of a short value.
#[inline]
pub fn make_head(value: &[u8]) -> u128 {
    // Lengths have 32 bits.
    let beginning = make_inline_view(&value[..value.len().min(INLINE_LEN)]).unwrap_or_default();
    beginning & PAYLOAD[INLINE_LEN] | u128::from(value.len() as u32)
}

/// Values whose heads are tested together: whole words of a bitmap.
pub const HEADS: usize = 1024;

/// Values whose views point into their page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InPlace {
    /// Where in the page all their bytes are; the views count from its start.
    pub range: Range<usize>,
    /// How many of the bytes are those of long values.
    pub long: usize,
}

/// A test of byte arrays, by their heads first.
pub trait ByteTest {
    /// Sets the bit of each value, of [`HEADS`] at most, in `passed` if its head says that it passes, and in `open` if the head does
    /// not tell, which that of a short value always does. Overwrites both, one word for 64 values.
    fn test_heads(&self, heads: &[u128], passed: &mut [u64], open: &mut [u64]);

    /// Whether a value passes.
    fn test(&self, value: &[u8]) -> bool;

    /// Borders between values that pass and such that do not, if they are few, and whether values below all of them pass.
    fn borders(&self) -> Option<(&[Border], bool)>;
}

/// A byte string at which a test changes its mind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Border {
    /// The string.
    pub value: Vec<u8>,
    /// Whether it is judged otherwise than those below it.
    pub at: bool,
    /// Whether those above are judged otherwise than it is.
    pub above: bool,
}

/// The view of a value of more than [`INLINE_LEN`] bytes, `prefix` its first four.
#[inline]
pub(super) fn long_view(len: u32, prefix: u32, buffer_index: u32, offset: u32) -> u128 {
    u128::from(len) | u128::from(prefix) << 32 | u128::from(buffer_index) << 64 | u128::from(offset) << 96
}

/// The bits of a view that hold bytes of a value: by its length up to [`INLINE_LEN`], and the first four bytes for
/// [`LONG`] and above, which is where longer values go.
pub(super) static PAYLOAD: [u128; 16] = {
    let mut masks = [(u32::MAX as u128) << 32; 16];
    let mut len = 0;
    while len <= INLINE_LEN {
        masks[len] = ((1 << (8 * len)) - 1) << 32;
        len += 1;
    }
    masks
};

/// Where the mask of long values is in [`PAYLOAD`].
pub(super) const LONG: usize = INLINE_LEN + 1;

/// 16 bytes such that `bytes[position]` is where a view has its first byte, `before` bytes further on: with a mask of
/// [`PAYLOAD`] these are the payload of a view, and nothing has to be shifted.
///
/// Reads what precedes and follows the value where the slice has it. `len` bytes from `position` on are in the slice.
#[inline(always)]
pub(super) fn load_payload(bytes: &[u8], position: usize, before: usize, len: usize) -> u128 {
    load_at(bytes, position, before + 4, len)
}

/// 16 bytes, of which the one `before` bytes from the start is `bytes[position]`; as [`load_payload`] otherwise.
#[inline(always)]
pub(super) fn load_at(bytes: &[u8], position: usize, before: usize, len: usize) -> u128 {
    let start = position.wrapping_sub(before);
    match bytes.get(start..).and_then(|bytes| bytes.first_chunk::<16>()) {
        Some(chunk) => u128::from_le_bytes(*chunk),
        None => load_border(bytes, position, before, len),
    }
}

/// [`load_at`] at the borders of the slice.
#[cold]
fn load_border(bytes: &[u8], position: usize, before: usize, len: usize) -> u128 {
    let mut chunk = [0; 16];
    let from = before.min(16);
    let len = len.min(16 - from);
    chunk[from..from + len].copy_from_slice(&bytes[position..position + len]);
    u128::from_le_bytes(chunk)
}

/// Makes the views of values of at most [`INLINE_LEN`] bytes, after one with the view `view`: the views themselves are the state, and
/// the last one comes back.
pub(super) fn make_short_views(values: FrontCoded<'_>, mut view: u128, out: &mut [u128]) -> u128 {
    if has_margins(values) {
        return kernels().front_coded(values, view, out);
    }
    let mut position = values.start();
    for (slot, (prefix, suffix)) in out.iter_mut().zip(values.lengths()) {
        let length = prefix + suffix;
        let kept = PAYLOAD[prefix % PAYLOAD.len()];
        // The mask of the prefix is part of that of the value.
        let added = PAYLOAD[length % PAYLOAD.len()] ^ kept;
        let payload = load_payload(values.bytes(), position, prefix, suffix) & added;
        // Two steps are on the chain from value to value.
        view = (view & kept) | (payload | length as u128);
        *slot = view;
        position += suffix;
    }
    view
}

/// Makes the heads of values, after one with the head `head`.
pub(super) fn make_heads(values: FrontCoded<'_>, mut head: u128, out: &mut [u128]) {
    if has_margins(values) {
        return kernels().front_coded_heads(values, head, out);
    }
    let mut position = values.start();
    for (slot, (prefix, suffix)) in out.iter_mut().zip(values.lengths()) {
        let (kept, length) = (prefix.min(INLINE_LEN), prefix + suffix);
        let added = PAYLOAD[length.min(INLINE_LEN)] ^ PAYLOAD[kept];
        head = head & PAYLOAD[kept] | load_payload(values.bytes(), position, kept, suffix) & added | length as u128;
        *slot = head;
        position += suffix;
    }
}

/// Whether kernels can read before and after the suffixes.
pub(super) fn has_margins(values: FrontCoded<'_>) -> bool {
    values.start() >= MARGIN && values.bytes().len() - values.end() >= MARGIN
}

#[cold]
pub(super) fn misfit(misfit: Misfit) -> Error {
    Error::corrupt(match misfit {
        Misfit::Length => "byte array length is negative, or exceeds 31 bits",
        Misfit::Prefix => "prefix is longer than the value before",
        Misfit::End => "byte array lengths exceed the page",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_those_of_arrow() {
        let values: Vec<Vec<u8>> = (0..40).map(|len| (0..len).map(|i| i as u8 + 200).collect()).collect();
        let mut buffer = ViewBuffer { buffer_index: 3, ..ViewBuffer::default() };
        for value in &values {
            buffer.push(value).unwrap();
        }
        let mut offset = 0;
        for (&view, value) in buffer.views.iter().zip(&values) {
            assert_eq!(view_len(view), value.len());
            assert_eq!(view_bytes(&view, &buffer.data), value);
            let bytes = view.to_le_bytes();
            assert_eq!(bytes[..4], (value.len() as u32).to_le_bytes());
            if value.len() <= INLINE_LEN {
                assert_eq!(&bytes[4..4 + value.len()], value);
                assert!(bytes[4 + value.len()..].iter().all(|&byte| byte == 0));
                assert_eq!(make_inline_view(value), Some(view));
            } else {
                assert_eq!(bytes[4..8], value[..4]);
                assert_eq!(bytes[8..12], 3u32.to_le_bytes());
                assert_eq!(bytes[12..], (offset as u32).to_le_bytes());
                assert_eq!(make_inline_view(value), None);
                offset += value.len();
            }
        }
        assert_eq!(buffer.data.len(), offset);
        buffer.clear();
        assert!(buffer.views.is_empty() && buffer.data.is_empty());
    }

    #[test]
    fn offsets_fit_in_31_bits() {
        let buffer = ViewBuffer { data: vec![0; 100], ..ViewBuffer::default() };
        assert_eq!(buffer.reserve(i32::MAX as usize - 100).unwrap(), 100);
        assert!(matches!(buffer.reserve(i32::MAX as usize - 99), Err(Error::Limit(_))));
        assert!(matches!(buffer.reserve(usize::MAX), Err(Error::Limit(_))));
    }

    #[test]
    fn no_more_bytes_than_allowed() {
        let mut buffer = ViewBuffer { max_data: 50, ..ViewBuffer::default() };
        buffer.push(&[1; 30]).unwrap();
        buffer.push(&[1; 12]).unwrap();
        buffer.push(&[1; 20]).unwrap();
        let error = buffer.push(&[1; 13]).unwrap_err();
        assert!(matches!(error, Error::Limit(_)) && error.to_string().contains("max_batch_size"), "{error}");
        assert_eq!(buffer.data.len(), 50);
    }

    #[test]
    fn payloads_at_every_place() {
        let bytes: Vec<u8> = (1..=40).collect();
        for end in 0..=bytes.len() {
            let bytes = &bytes[..end];
            for position in 0..=end {
                for before in 0..=INLINE_LEN {
                    for len in 0..=(INLINE_LEN - before).min(end - position) {
                        let mask = PAYLOAD[before + len] & !PAYLOAD[before];
                        let payload = (load_payload(bytes, position, before, len) & mask).to_le_bytes();
                        assert_eq!(payload[4 + before..][..len], bytes[position..position + len]);
                    }
                }
            }
        }
    }
}
