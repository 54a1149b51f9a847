//! DELTA_BINARY_PACKED: integers to blocks of bit-packed deltas.
//!
//! The kernels encode whole blocks from where the values lie. Here is what is left of them at the end of each call, which waits
//! for more, and the header, which needs the number of all.

use crate::kernels::{Kernels, Lane, MAX_ULEB, MINIBLOCKS, encoded_room, kernels, to_zigzag, write_uleb};

use super::Output;

/// Blocks that a kernel encodes in one call, so that there is no more room than for these beyond what is written.
const BLOCKS: usize = 16;

/// No type has more values in a block, and there is one before them.
const HELD: usize = 256 + 1;

/// Bytes of the longest header, or more.
const MAX_HEADER: usize = 4 * MAX_ULEB;

/// An encoder of one DELTA_BINARY_PACKED stream after the other.
///
/// Blocks have the shape that the parquet crate gives them: 4 miniblocks of 32 values of INT32, or of 64 values of INT64.
/// Deltas wrap at the width of the type, so that no width exceeds it. Widths of miniblocks without values are 0, and their
/// bytes are left out.
#[derive(Debug, Clone)]
pub struct DeltaBinaryPackedEncoder<T> {
    kernels: &'static Kernels,
    count: usize,
    first: T,
    /// The last value that is encoded, and those after it, which are no whole block.
    held: [T; HELD],
    /// How many are after it.
    pending: usize,
    blocks: Output,
}

impl<T: Lane> Default for DeltaBinaryPackedEncoder<T> {
    fn default() -> Self {
        Self::new(kernels())
    }
}

impl<T: Lane> DeltaBinaryPackedEncoder<T> {
    /// No values, to be encoded by `kernels`.
    pub fn new(kernels: &'static Kernels) -> Self {
        const { assert!(T::BLOCK < HELD) };
        let (first, held) = (T::default(), [T::default(); HELD]);
        Self { kernels, count: 0, first, held, pending: 0, blocks: Output::default() }
    }

    /// Values since the last page.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Bytes that [`DeltaBinaryPackedEncoder::finish`] would append at most: values that wait for a block count in full.
    pub fn estimated_len(&self) -> usize {
        let waiting = if self.pending > 0 { MAX_ULEB + MINIBLOCKS + T::BLOCK * size_of::<T>() } else { 0 };
        MAX_HEADER + self.blocks.len + waiting
    }

    /// Takes values.
    pub fn put(&mut self, values: &[T]) {
        let Some(&first) = values.first() else { return };
        let taken = if self.count == 0 {
            (self.first, self.held[0]) = (first, first);
            1
        } else {
            self.fill(values)
        };
        self.count += values.len();
        if taken == values.len() {
            return;
        }
        // Nothing waits, and the value before the rest is one of this call: blocks are encoded from where they lie.
        let mut at = taken - 1;
        let end = at + (values.len() - taken) / T::BLOCK * T::BLOCK;
        while at < end {
            let next = end.min(at + BLOCKS * T::BLOCK);
            encode(self.kernels, &values[at..=next], &mut self.blocks);
            at = next;
        }
        let rest = &values[at..];
        self.held[..rest.len()].copy_from_slice(rest);
        self.pending = rest.len() - 1;
    }

    /// Goes on with the block that is held, encodes it if that completes it, and returns how many values it took.
    fn fill(&mut self, values: &[T]) -> usize {
        let taken = values.len().min(T::BLOCK - self.pending);
        self.held[1 + self.pending..][..taken].copy_from_slice(&values[..taken]);
        self.pending += taken;
        if self.pending == T::BLOCK {
            self.encode_held();
        }
        taken
    }

    fn encode_held(&mut self) {
        encode(self.kernels, &self.held[..=T::BLOCK], &mut self.blocks);
        self.held[0] = self.held[T::BLOCK];
        self.pending = 0;
    }

    /// Appends the stream of all values to `out`, and starts over.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        if self.pending > 0 {
            // Deltas of the minimum fill the block: they are packed as zeros, and their miniblocks have no width.
            let held = &mut self.held[..=T::BLOCK];
            let deltas = held[..=self.pending].windows(2).map(|pair| pair[1].sub(pair[0]));
            let min_delta = deltas.min().unwrap_or_default();
            for index in self.pending + 1..held.len() {
                held[index] = held[index - 1].add(min_delta);
            }
            self.encode_held();
        }
        let mut header = [0; MAX_HEADER];
        let mut len = 0;
        for field in [T::BLOCK as u64, MINIBLOCKS as u64, self.count as u64, to_zigzag(self.first.widen())] {
            if let Some(room) = header[len..].first_chunk_mut() {
                len += write_uleb(field, room);
            }
        }
        out.reserve(len + self.blocks.len);
        out.extend_from_slice(&header[..len]);
        out.extend_from_slice(self.blocks.written());
        self.clear();
    }

    /// Forgets all values, and keeps the memory.
    pub fn clear(&mut self) {
        self.count = 0;
        self.first = T::default();
        self.pending = 0;
        self.blocks.clear();
    }
}

/// Encodes whole blocks after one value.
fn encode<T: Lane>(kernels: &Kernels, values: &[T], blocks: &mut Output) {
    let room = encoded_room::<T>(values.len() / T::BLOCK);
    let len = T::encode(kernels, values, blocks.spare(room));
    blocks.advance(len);
}
