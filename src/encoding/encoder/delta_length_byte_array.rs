//! DELTA_LENGTH_BYTE_ARRAY: all lengths as DELTA_BINARY_PACKED, then all bytes.

use crate::error::{Error, Result};
use crate::kernels::{Kernels, appended_room, kernels};

use super::delta_binary_packed::DeltaBinaryPackedEncoder;
use super::{BATCH, Output, batches};

/// An encoder of one DELTA_LENGTH_BYTE_ARRAY stream after the other.
#[derive(Debug, Clone)]
pub struct DeltaLengthByteArrayEncoder {
    kernels: &'static Kernels,
    pub(super) lengths: DeltaBinaryPackedEncoder<i32>,
    pub(super) bytes: Output,
}

impl Default for DeltaLengthByteArrayEncoder {
    fn default() -> Self {
        Self::new(kernels())
    }
}

impl DeltaLengthByteArrayEncoder {
    /// No values, to be encoded by `kernels`.
    pub fn new(kernels: &'static Kernels) -> Self {
        Self { kernels, lengths: DeltaBinaryPackedEncoder::new(kernels), bytes: Output::default() }
    }

    /// Values since the last page.
    pub fn count(&self) -> usize {
        self.lengths.count()
    }

    /// Bytes that [`DeltaLengthByteArrayEncoder::finish`] would append at most, and some 500 fewer at the least.
    pub fn estimated_len(&self) -> usize {
        self.lengths.estimated_len() + self.bytes.len
    }

    /// Takes values from anywhere, as those of [`super::views`].
    ///
    /// # Errors
    /// Limit: a value is longer than 31 bits; then `clear` alone makes sense.
    pub fn put<'a>(&mut self, values: impl IntoIterator<Item = &'a [u8]>) -> Result<()> {
        batches(values, |values, total| {
            let mut lengths = [0; BATCH];
            for (length, value) in lengths.iter_mut().zip(values) {
                // No longer than 31 bits.
                *length = value.len() as i32;
            }
            self.lengths.put(&lengths[..values.len()]);
            let len = self.kernels.append(values, self.bytes.spare(appended_room(total)));
            self.bytes.advance(len);
        })
    }

    /// Takes values that follow each other: `offsets` say where in `bytes` each begins, and where the last one ends, as those of
    /// Arrow's arrays. Of these the bytes are copied as a whole.
    ///
    /// # Panics
    /// The offsets do not ascend, or end past `bytes`.
    ///
    /// # Errors
    /// Limit: a value is longer than 31 bits; then `clear` alone makes sense.
    pub fn put_offsets<O: Copy + Into<i64>>(&mut self, offsets: &[O], bytes: &[u8]) -> Result<()> {
        let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else { return Ok(()) };
        let to_usize = |offset: O| usize::try_from(offset.into()).unwrap_or(usize::MAX);
        let bytes = &bytes[to_usize(first)..to_usize(last)];
        let starts = &offsets[..offsets.len() - 1];
        for (starts, ends) in starts.chunks(BATCH).zip(offsets[1..].chunks(BATCH)) {
            let mut lengths = [0; BATCH];
            let mut any = 0;
            for ((length, &start), &end) in lengths.iter_mut().zip(starts).zip(ends) {
                let difference = end.into().wrapping_sub(start.into());
                any |= difference;
                *length = difference as i32;
            }
            assert!(any >= 0, "offsets ascend");
            if any > i64::from(i32::MAX) {
                return Err(Error::limit("a byte array is longer than 31 bits"));
            }
            self.lengths.put(&lengths[..starts.len()]);
        }
        self.bytes.spare(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.bytes.advance(bytes.len());
        Ok(())
    }

    /// Appends the stream of all values to `out`, and starts over.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        out.reserve(self.estimated_len());
        self.lengths.finish(out);
        out.extend_from_slice(self.bytes.written());
        self.clear();
    }

    /// Forgets all values, and keeps the memory.
    pub fn clear(&mut self) {
        self.lengths.clear();
        self.bytes.clear();
    }
}
