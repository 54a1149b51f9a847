//! DELTA_BINARY_PACKED miniblocks: unpack, add, running sum, in one pass.

use super::Lane;
use super::unpack::{load, unpack8};

/// Values that are decoded together: 32 values of any width are whole bytes.
pub(super) const GROUP: usize = 32;

#[inline(always)]
pub(super) fn decode<T: Lane, const W: usize>(packed: &[u8], min_delta: T, mut last: T, out: &mut [T]) -> T {
    if W == 0 {
        return progression(min_delta, last, out);
    }
    let packed = &packed[..out.len() / 8 * W];
    for (packed, out) in packed.chunks_exact(W).zip(out.as_chunks_mut::<8>().0) {
        let deltas = unpack8::<W>(packed);
        for (slot, delta) in out.iter_mut().zip(deltas) {
            // The inner sum is off the chain from value to value, which is then one addition long.
            last = last.add(min_delta.add(T::truncate(delta)));
            *slot = last;
        }
    }
    last
}

/// Width 0: an arithmetic progression.
#[inline(always)]
fn progression<T: Lane>(step: T, last: T, out: &mut [T]) -> T {
    let mut next = last;
    for slot in out {
        next = next.add(step);
        *slot = next;
    }
    next
}

/// The sum of `count` packed values, modulo 2^64.
///
/// Up to 16 bits, values are added several at a time inside of a word: the even ones and the odd ones apart, so that each
/// has twice its width to grow into, which is enough for the 32 values of a group.
#[inline(always)]
pub(super) fn sum<const W: usize>(packed: &[u8], count: usize) -> u64 {
    if W == 0 {
        return 0;
    }
    let packed = &packed[..count / 8 * W];
    let groups = packed.chunks_exact(GROUP / 8 * W);
    match W {
        1 => groups.map(|group| u64::from(word(group).count_ones())).sum(),
        2 => groups.map(sum_of_pairs).sum(),
        3..=8 => groups.map(sum_of_eights::<W>).sum(),
        9..=16 => groups.map(sum_of_fours::<W>).sum(),
        _ => {
            let mut sums = [0u64; 8];
            for packed in packed.chunks_exact(W) {
                for (sum, delta) in sums.iter_mut().zip(unpack8::<W>(packed)) {
                    *sum = sum.wrapping_add(delta);
                }
            }
            sums.into_iter().fold(0, u64::wrapping_add)
        }
    }
}

/// A mask of every second one of `count` fields of `width` bits.
const fn every_second(width: usize, count: usize) -> u64 {
    let mut mask = 0;
    let mut index = 0;
    // A kernel is compiled for widths that it is not called with, too.
    while index < count && width > 0 && (index + 1) * width <= 64 {
        mask |= (u64::MAX >> (64 - width)) << (index * width);
        index += 2;
    }
    mask
}

/// Up to 8 bytes as a word.
#[inline(always)]
fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// 32 values of 2 bits.
#[inline(always)]
fn sum_of_pairs(group: &[u8]) -> u64 {
    let word = word(group);
    let nibbles = (word & every_second(2, 32)) + (word >> 2 & every_second(2, 32));
    let bytes = (nibbles & every_second(4, 16)) + (nibbles >> 4 & every_second(4, 16));
    // At most 96: the bytes' sum is the highest byte of this product.
    bytes.wrapping_mul(0x0101_0101_0101_0101) >> 56
}

/// 32 values of 3 to 8 bits, 8 in a word.
#[inline(always)]
fn sum_of_eights<const W: usize>(group: &[u8]) -> u64 {
    let mask = const { every_second(W, 8) };
    let mut twos = 0;
    for bytes in group.chunks_exact(W) {
        let word = word(bytes);
        twos += (word & mask) + (word >> W & mask);
    }
    let mask = const { every_second(2 * W, 4) };
    let fours = (twos & mask) + (twos >> (2 * W) & mask);
    (fours & every_second(4 * W, 1)) + (fours >> (4 * W))
}

/// 32 values of 9 to 16 bits, 4 in a word.
#[inline(always)]
fn sum_of_fours<const W: usize>(group: &[u8]) -> u64 {
    let mask = const { every_second(W, 4) };
    let mut twos = 0;
    for index in 0..GROUP / 4 {
        // Half of the fours start in the middle of a byte.
        let bit = index * 4 * W;
        let start = (bit / 8).min(4 * W - 8);
        let word = load(group, start) >> (bit - 8 * start);
        twos += (word & mask) + (word >> W & mask);
    }
    let mask = const { every_second(2 * W, 1) };
    (twos & mask) + (twos >> (2 * W) & mask)
}
