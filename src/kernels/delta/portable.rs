//! Units by the compiler: an instance for each width, which it vectorises.

#[cfg(target_arch = "x86_64")]
use super::octets::Octets;
use super::{Batch, Engine, Shells, Store, UNIT, Units, Verdicts, Widths, shells};
use crate::kernels::Lane;
use crate::kernels::compare::in_range;
use crate::kernels::tools;
use crate::kernels::unpack::{load, unpack8};

/// Decodes packed deltas of one width: `min_delta` and the value before them are given, the last value is returned. They are
/// a multiple of 8.
pub(in crate::kernels) type Decode<T> = fn(&[u8], T, T, &mut [T]) -> T;

/// Adds up packed deltas of one width, modulo 2^64: a number of them that is a multiple of 32.
pub(in crate::kernels) type Sum = fn(&[u8], usize) -> u64;

/// The instances for all widths.
pub(in crate::kernels) struct Runs<T: 'static> {
    pub(in crate::kernels) decode: &'static [Decode<T>],
    pub(in crate::kernels) sum: &'static [Sum],
}

#[cfg(target_arch = "x86_64")]
pub(in crate::kernels) const PORTABLE_I32: Shells<i32> = shells!(i32, Octets, PortableSum, PortableInRange);
#[cfg(not(target_arch = "x86_64"))]
pub(in crate::kernels) const PORTABLE_I32: Shells<i32> = shells!(i32, Portable, PortableSum, PortableInRange);
pub(in crate::kernels) const PORTABLE_I64: Shells<i64> = shells!(i64, Portable, PortableSum, PortableInRange);

/// Decodes to units.
struct Portable<'a, T> {
    last: T,
    store: Store<'a, T>,
}

impl<'a, T: Lane> Portable<'a, T> {
    #[inline(always)]
    fn new(last: T, store: Store<'a, T>) -> Self {
        Self { last, store }
    }

    /// The value before the next one.
    #[inline(always)]
    fn last(&self) -> T {
        self.last
    }
}

impl<T: Lane> Engine for Portable<'_, T> {
    const MAX_WIDTH: u32 = T::BITS;
    const MAX_UNITS: usize = <Store<'_, T> as Units>::MAX_UNITS;
    const CLASSES: usize = 1;

    #[inline(always)]
    fn class(_: Widths) -> usize {
        0
    }

    #[inline(always)]
    unsafe fn batch<const CLASS: usize>(&mut self, packed: &[u8], batch: Batch) {
        // SAFETY: the caller's.
        self.last = unsafe { decode_runs(&mut self.store, packed, &batch, self.last) };
    }
}

/// Decodes a batch, after `last`, and returns its last value.
///
/// # Safety
/// As [`Engine::batch`], of at most the `MAX_UNITS` of a [`Store`].
#[inline(always)]
pub(in crate::kernels) unsafe fn decode_runs<T: Lane>(
    store: &mut Store<'_, T>,
    packed: &[u8],
    batch: &Batch,
    mut last: T,
) -> T {
    store.begin(batch);
    let mut unit = batch.done;
    for (width, run) in batch.runs(packed) {
        // SAFETY: of this batch, whose runs are all of its units.
        let out = unsafe { store.units(unit, run.units) };
        last = T::runs().decode[width](run.bytes, T::wrap(batch.min_delta), last, out.as_flattened_mut());
        unit += run.units;
    }
    // SAFETY: all units were written.
    unsafe { store.end(batch) };
    last
}

/// Units that are decoded before they are compared.
const MAX_UNITS: usize = 8;

/// Compares decoded values with a range.
struct PortableInRange<'a, T> {
    last: T,
    low: T,
    high: T,
    verdicts: Verdicts<'a>,
}

impl<'a, T: Lane> PortableInRange<'a, T> {
    #[inline(always)]
    fn new(last: T, low: T, high: T, verdicts: Verdicts<'a>) -> Self {
        Self { last, low, high, verdicts }
    }

    /// Ends the verdicts on `units`, and returns the value before the next one.
    #[inline(always)]
    fn finish(self, units: usize) -> T {
        self.verdicts.finish(units);
        self.last
    }
}

impl<T: Lane> Engine for PortableInRange<'_, T> {
    const MAX_WIDTH: u32 = T::BITS;
    const MAX_UNITS: usize = MAX_UNITS;
    const CLASSES: usize = 1;

    #[inline(always)]
    fn class(_: Widths) -> usize {
        0
    }

    #[inline(always)]
    unsafe fn batch<const CLASS: usize>(&mut self, packed: &[u8], batch: Batch) {
        let min_delta = T::wrap(batch.min_delta);
        let mut values = [[T::default(); UNIT]; MAX_UNITS];
        let units = batch.range().len();
        // Whole words: to compare what is left of one takes longer.
        let values = &mut values[..units.next_multiple_of(2)];
        let mut rest = &mut *values;
        for (width, run) in batch.runs(packed) {
            let out;
            (out, rest) = rest.split_at_mut(run.units);
            self.last = T::runs().decode[width](run.bytes, min_delta, self.last, out.as_flattened_mut());
        }
        let mut words = [0; MAX_UNITS / 2];
        in_range::<T, tools::Portable>(values.as_flattened(), self.low, self.high, &mut words);
        for unit in 0..units {
            self.verdicts.set_unit(batch.done + unit, (words[unit / 2] >> (unit % 2 * 32)) as u32);
        }
    }
}

/// Adds up deltas.
struct PortableSum<T> {
    total: T,
}

impl<T: Lane> PortableSum<T> {
    #[inline(always)]
    fn new() -> Self {
        Self { total: T::default() }
    }

    /// The sum, modulo 2^32 or 2^64.
    #[inline(always)]
    fn total(&self) -> T {
        self.total
    }
}

impl<T: Lane> Engine for PortableSum<T> {
    const MAX_WIDTH: u32 = T::BITS;
    const CLASSES: usize = 1;

    #[inline(always)]
    fn class(_: Widths) -> usize {
        0
    }

    #[inline(always)]
    unsafe fn batch<const CLASS: usize>(&mut self, packed: &[u8], batch: Batch) {
        let units = batch.miniblocks * batch.units;
        let min_deltas = T::wrap(batch.min_delta).mul(T::wrap((units * UNIT) as i64));
        self.total = self.total.add(min_deltas);
        for (width, packed) in batch.runs(packed) {
            self.total = self.total.add(T::truncate(T::runs().sum[width](packed.bytes, packed.units * UNIT)));
        }
    }
}

#[inline(always)]
pub(in crate::kernels) fn decode<T: Lane, const W: usize>(
    packed: &[u8],
    min_delta: T,
    mut last: T,
    out: &mut [T],
) -> T {
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
pub(super) fn progression<T: Lane>(step: T, last: T, out: &mut [T]) -> T {
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
pub(in crate::kernels) fn sum<const W: usize>(packed: &[u8], count: usize) -> u64 {
    if W == 0 {
        return 0;
    }
    let packed = &packed[..count / 8 * W];
    let groups = packed.chunks_exact(UNIT / 8 * W);
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
    for index in 0..UNIT / 4 {
        // Half of the fours start in the middle of a byte.
        let bit = index * 4 * W;
        let start = (bit / 8).min(4 * W - 8);
        let word = load(group, start) >> (bit - 8 * start);
        twos += (word & mask) + (word >> W & mask);
    }
    let mask = const { every_second(2 * W, 1) };
    (twos & mask) + (twos >> (2 * W) & mask)
}
