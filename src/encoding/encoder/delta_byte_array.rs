//! DELTA_BYTE_ARRAY: how many bytes each value begins with as the one before, then the rest as DELTA_LENGTH_BYTE_ARRAY.

use crate::error::Result;
use crate::kernels::{Kernels, appended_room, kernels};

use super::delta_binary_packed::DeltaBinaryPackedEncoder;
use super::delta_length_byte_array::DeltaLengthByteArrayEncoder;
use super::{BATCH, batches};

/// An encoder of one DELTA_BYTE_ARRAY stream after the other, each of which begins with a whole value.
#[derive(Debug, Clone)]
pub struct DeltaByteArrayEncoder {
    kernels: &'static Kernels,
    prefixes: DeltaBinaryPackedEncoder<i32>,
    suffixes: DeltaLengthByteArrayEncoder,
    /// The last value.
    previous: Vec<u8>,
}

impl Default for DeltaByteArrayEncoder {
    fn default() -> Self {
        Self::new(kernels())
    }
}

impl DeltaByteArrayEncoder {
    /// No values, to be encoded by `kernels`.
    pub fn new(kernels: &'static Kernels) -> Self {
        let (prefixes, suffixes) = (DeltaBinaryPackedEncoder::new(kernels), DeltaLengthByteArrayEncoder::new(kernels));
        Self { kernels, prefixes, suffixes, previous: Vec::new() }
    }

    /// Values since the last page.
    pub fn count(&self) -> usize {
        self.prefixes.count()
    }

    /// Bytes that [`DeltaByteArrayEncoder::finish`] would append at most, and some 1000 fewer at the least.
    pub fn estimated_len(&self) -> usize {
        self.prefixes.estimated_len() + self.suffixes.estimated_len()
    }

    /// Takes values from anywhere, as those of [`super::views`] or [`super::slices`], or pieces of one width of
    /// FIXED_LEN_BYTE_ARRAY.
    ///
    /// # Errors
    /// Limit: a value is longer than 31 bits; then `clear` alone makes sense.
    pub fn put<'a>(&mut self, values: impl IntoIterator<Item = &'a [u8]>) -> Result<()> {
        let Self { kernels, prefixes, suffixes: rest, previous } = self;
        let mut last = None;
        let result = batches(values, |values, total| {
            let mut lengths = ([0; BATCH], [0; BATCH]);
            let (common, suffixes) = (&mut lengths.0[..values.len()], &mut lengths.1[..values.len()]);
            let out = rest.bytes.spare(appended_room(total));
            let len = kernels.front_code(last.unwrap_or(previous), values, (common, suffixes), out);
            rest.bytes.advance(len);
            prefixes.put(common);
            rest.lengths.put(suffixes);
            last = values.last().copied();
        });
        if let Some(last) = last {
            previous.clear();
            previous.extend_from_slice(last);
        }
        result
    }

    /// Appends the stream of all values to `out`, and starts over.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        out.reserve(self.estimated_len());
        self.prefixes.finish(out);
        self.suffixes.finish(out);
        self.clear();
    }

    /// Forgets all values, and keeps the memory.
    pub fn clear(&mut self) {
        self.prefixes.clear();
        self.suffixes.clear();
        self.previous.clear();
    }
}
