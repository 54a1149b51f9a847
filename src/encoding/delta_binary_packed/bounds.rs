//! What the headers of blocks say of the values, without unpacking any.
//!
//! After `j` deltas from `last`, a value lies in `last + j * min_delta ..= last + j * (min_delta + 2^w - 1)`. So the values of a
//! block lie in a cone, and the cones of the blocks that follow each other in one. Where it leaves the type, values wrap, and
//! nothing is said.

use super::{DeltaBinaryPacked, packed_len};
use crate::kernels::{Lane, read_uleb, zigzag};

/// The cone of the values so far, which is exact in 128 bits, and the least and the greatest value.
struct Cone {
    low: i128,
    high: i128,
    least: i128,
    greatest: i128,
}

impl Cone {
    /// Goes on by `count` deltas, at least one, of `min_delta` and up to `width` bits.
    #[inline(always)]
    fn extend(&mut self, count: usize, min_delta: i64, width: u32) {
        let (slowest, fastest) = (i128::from(min_delta), i128::from(min_delta) + ((1_i128 << width) - 1));
        let count = count as i128;
        self.least = self.least.min(self.low + slowest * if slowest < 0 { count } else { 1 });
        self.greatest = self.greatest.max(self.high + fastest * if fastest > 0 { count } else { 1 });
        self.low += slowest * count;
        self.high += fastest * count;
    }
}

impl<T: Lane> DeltaBinaryPacked<T> {
    /// Bounds of the next `count` values, which need not be tight; None where nothing can be said, or the stream is not of
    /// the shape that writers give it.
    pub fn bounds(&self, page: &[u8], count: usize) -> Option<(T, T)> {
        if count == 0 || count > self.remaining {
            return None;
        }
        let last = i128::from(self.stream.last.widen());
        let held = self.stream.held();
        let mut cone = Cone { low: last, high: last, least: i128::MAX, greatest: i128::MIN };
        for value in &held[..held.len().min(count)] {
            let value = i128::from(value.widen());
            cone.least = cone.least.min(value);
            cone.greatest = cone.greatest.max(value);
        }
        let mut left = count.saturating_sub(held.len());
        let mut blocks = self.stream.blocks;
        // The rest of the present miniblock, and those after it in its block.
        while left > 0 && (blocks.left > 0 || blocks.widths < blocks.widths_end) {
            if blocks.left == 0 {
                blocks.bit_width = u32::from(*page.get(blocks.widths)?);
                blocks.left = blocks.values_per_miniblock;
                blocks.widths += 1;
            }
            if blocks.bit_width > T::BITS || blocks.left == 0 {
                return None;
            }
            let some = left.min(blocks.left);
            cone.extend(some, blocks.min_delta, blocks.bit_width);
            blocks.position = blocks.position.checked_add(packed_len(blocks.left, blocks.bit_width))?;
            (left, blocks.left) = (left - some, 0);
        }
        let block = blocks.values_per_miniblock.checked_mul(4).filter(|_| blocks.miniblocks_per_block == 4)?;
        while left > 0 {
            let header: &[u8; 16] = page.get(blocks.position..)?.first_chunk()?;
            let (min_delta, len) = read_uleb(header)?;
            let widths: [u8; 4] = *header.get(len..)?.first_chunk()?;
            let width = u32::from(widths.into_iter().max()?);
            // The widths of miniblocks without a value may be anything.
            if width > T::BITS {
                return None;
            }
            let some = left.min(block);
            cone.extend(some, zigzag(min_delta), width);
            let packed: usize =
                widths.into_iter().map(|width| packed_len(blocks.values_per_miniblock, width.into())).sum();
            blocks.position += len + 4 + packed;
            left -= some;
        }
        let within =
            |value: i128| i64::try_from(value).ok().filter(|value| T::wrap(*value).widen() == *value).map(T::wrap);
        Some((within(cone.least)?, within(cone.greatest)?))
    }
}
