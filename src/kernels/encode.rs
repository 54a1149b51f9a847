//! DELTA_BINARY_PACKED: blocks of deltas, packed.
//!
//! A block is encoded while its deltas are in the registers or the L1 cache: their minimum, then what they are above it, the
//! bits of which are gathered by `or` and say how wide each miniblock is, then the packed values.

use super::Lane;
use super::delta::UNIT;
use super::tools::Tools;
use super::varint::{MAX_ULEB, write_uleb};

/// Miniblocks of a block that [`Lane::encode`] writes.
pub const MINIBLOCKS: usize = 4;

/// Bytes after a block that kernels may write: they store whole vectors.
const SLACK: usize = 64;

/// Packs a unit of one width to the front of a slice.
pub(super) type Pack<T> = fn(&[T; UNIT], &mut [u8]);

/// Bytes that [`Lane::encode`] wants for so many blocks. It writes 64 fewer at the least.
pub const fn encoded_room<T: Lane>(blocks: usize) -> usize {
    blocks * (MAX_ULEB + MINIBLOCKS + T::BLOCK * size_of::<T>()) + SLACK
}

#[inline(always)]
pub(super) fn encode<T: Lane, B: Tools, const BLOCK: usize>(values: &[T], out: &mut [u8]) -> usize {
    let mut at = 0;
    let mut deltas = [T::default(); BLOCK];
    for first in (0..values.len() - 1).step_by(BLOCK) {
        let (before, values) = (&values[first..][..BLOCK], &values[first + 1..][..BLOCK]);
        for ((delta, &value), &before) in deltas.iter_mut().zip(values).zip(before) {
            *delta = value.sub(before);
        }
        at += encode_deltas::<T, B, BLOCK>(&mut deltas, &mut out[at..]);
    }
    at
}

#[inline(always)]
fn least<T: Lane, B: Tools, const BLOCK: usize>(deltas: &[T; BLOCK]) -> T {
    if T::BITS < 64 || B::ORDERS_64 {
        return deltas.iter().fold(deltas[0], |least, &delta| delta.min(least));
    }
    // Where vectors have to put such a comparison together, registers do better.
    let mut least = [deltas[0]; 8];
    for deltas in deltas.as_chunks::<8>().0 {
        for (least, &delta) in least.iter_mut().zip(deltas) {
            *least = delta.min(*least);
        }
    }
    least.iter().fold(least[0], |least, &delta| delta.min(least))
}

#[inline(always)]
fn encode_deltas<T: Lane, B: Tools, const BLOCK: usize>(deltas: &mut [T; BLOCK], out: &mut [u8]) -> usize {
    let min_delta = least::<T, B, BLOCK>(deltas);
    let Some(header) = out.first_chunk_mut() else { return 0 };
    let widths = write_uleb(min_delta.zigzag().into(), header);
    let mut at = widths + MINIBLOCKS;
    for (index, deltas) in deltas.chunks_exact_mut(BLOCK / MINIBLOCKS).enumerate() {
        let mut bits = 0;
        for delta in deltas.iter_mut() {
            *delta = delta.sub(min_delta);
            bits |= delta.unsigned().into();
        }
        let bit_width = (u64::BITS - bits.leading_zeros()) as usize;
        out[widths + index] = bit_width as u8;
        for unit in deltas.as_chunks().0 {
            T::pack()[bit_width](unit, &mut out[at..]);
            at += UNIT / 8 * bit_width;
        }
    }
    at
}

/// Writes the minimum of a block where it begins, and returns where it goes on.
///
/// # Safety
/// [`MAX_ULEB`] bytes from `out` on may be written.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn put_min_delta<T: Lane>(min_delta: T, out: *mut u8) -> *mut u8 {
    // SAFETY: the caller's.
    unsafe { out.add(write_uleb(min_delta.zigzag().into(), &mut *out.cast())) }
}

/// The body of one width. A word is put together in a register, and every step knows where its value goes.
pub(super) fn pack<T: Lane, const W: usize>(values: &[T; UNIT], out: &mut [u8]) {
    if W == 0 {
        return;
    }
    let out = &mut out[..UNIT / 8 * W];
    let mut word: u64 = 0;
    macro_rules! steps {
        ($($index:literal)*) => {$({
            let value: u64 = values[$index].unsigned().into();
            let (at, bit) = ($index * W / 64, $index * W % 64);
            word |= value << bit;
            if bit + W >= 64 {
                out[8 * at..][..8].copy_from_slice(&word.to_le_bytes());
                word = if bit + W == 64 { 0 } else { value >> (64 - bit) };
            }
        })*};
    }
    steps!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
    if W % 2 == 1 {
        // Half a word is left.
        out[UNIT / 8 * W - 4..].copy_from_slice(&(word as u32).to_le_bytes());
    }
}
