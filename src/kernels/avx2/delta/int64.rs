//! INT64. Up to 26 bits the running sums of a unit fit into 32-bit lanes, and are widened afterwards.
//!
//! Above, four lanes of 64 bits are no faster than scalar code for one width, which is taken for blocks that have but one.

use std::mem::MaybeUninit;

use super::int32::{carry_on, sums_of_halves};
use super::*;
use crate::kernels::delta::{Batch, Engine, Store, UNIT, Units, Widths, decode_runs, each_unit};

/// Where values of 64 bits go.
///
/// # Safety of all functions
/// Units are of the batch that began, of at most `MAX_UNITS`; the processor has the features.
pub(super) trait Sink: Units {
    /// A unit in order.
    unsafe fn fours(&mut self, unit: usize, values: [__m256i; 8]);

    /// Half of a unit, of whose 8 values each half of a vector holds two.
    unsafe fn twos(&mut self, unit: usize, half: usize, values: [__m256i; 4]);
}

/// Decodes to units.
pub(super) struct Int64<'a> {
    vectors: Vectors<Store<'a, i64>>,
}

/// The class of blocks whose miniblocks are of one width that scalar code is faster at.
const SCALAR: usize = Vectors::<Store<'_, i64>>::CLASSES;

impl<'a> Int64<'a> {
    #[inline(always)]
    pub(super) unsafe fn new(last: i64, store: Store<'a, i64>) -> Self {
        // SAFETY: the features are the caller's.
        unsafe { Self { vectors: Vectors::new(last, store) } }
    }

    /// The value before the next one.
    #[inline(always)]
    pub(super) unsafe fn last(&self) -> i64 {
        // SAFETY: the features are the caller's.
        unsafe { self.vectors.last() }
    }
}

impl Engine for Int64<'_> {
    const MAX_WIDTH: u32 = 64;
    const MAX_UNITS: usize = <Store<'_, i64> as Units>::MAX_UNITS;
    const CLASSES: usize = SCALAR + 1;

    #[inline(always)]
    fn class(widths: Widths) -> usize {
        if widths.are_equal() && !widths.fit(MAX_UNSTRADDLED) {
            SCALAR
        } else {
            Vectors::<Store<'_, i64>>::class(widths)
        }
    }

    #[inline(always)]
    unsafe fn batch<const CLASS: usize>(&mut self, packed: &[u8], batch: Batch) {
        // SAFETY: the caller's.
        unsafe {
            if CLASS != SCALAR {
                self.vectors.batch::<CLASS>(packed, batch);
                return;
            }
            let last = self.vectors.last();
            let last = decode_runs(&mut self.vectors.sink, packed, &batch, last);
            self.vectors.set_last(last);
        }
    }
}

/// Decodes to a [`Sink`], in vectors.
pub(super) struct Vectors<S> {
    carry: __m256i,
    pub(super) sink: S,
}

/// Multiples of a `min_delta`.
#[derive(Clone, Copy)]
struct MinDelta {
    once: __m256i,
    /// By 1 to 4.
    first: __m256i,
    four: __m256i,
    sixteen: __m256i,
}

impl MinDelta {
    #[inline(always)]
    unsafe fn new(min_delta: i64) -> Self {
        // SAFETY: the features are the caller's.
        unsafe {
            let once = _mm256_set1_epi64x(min_delta);
            let twice = _mm256_add_epi64(once, once);
            let four = _mm256_add_epi64(twice, twice);
            let two = _mm256_blend_epi32::<0xcc>(once, twice);
            let first = _mm256_add_epi64(two, _mm256_blend_epi32::<0xf0>(_mm256_setzero_si256(), twice));
            Self { once, first, four, sixteen: _mm256_slli_epi64::<2>(four) }
        }
    }
}

/// The last lane in all lanes.
#[inline(always)]
unsafe fn last_lane(values: __m256i) -> __m256i {
    // SAFETY: the features are the caller's.
    unsafe { _mm256_permute4x64_epi64::<0xff>(values) }
}

/// Adds the total of the lower half to the sums of the upper one.
#[inline(always)]
unsafe fn add_low(mut sums: [__m256i; 4], totals: __m256i) -> [__m256i; 4] {
    // SAFETY: the features are the caller's.
    unsafe {
        let low = low_to_high(totals);
        for sums in &mut sums {
            *sums = _mm256_add_epi32(*sums, low);
        }
    }
    sums
}

impl<S: Sink> Vectors<S> {
    #[inline(always)]
    pub(super) unsafe fn new(last: i64, sink: S) -> Self {
        // SAFETY: the features are the caller's.
        unsafe { Self { carry: _mm256_set1_epi64x(last), sink } }
    }

    #[inline(always)]
    pub(super) unsafe fn set_last(&mut self, last: i64) {
        // SAFETY: the features are the caller's.
        self.carry = unsafe { _mm256_set1_epi64x(last) };
    }

    /// The value before the next one.
    #[inline(always)]
    pub(super) unsafe fn last(&self) -> i64 {
        // SAFETY: the features are the caller's.
        unsafe { _mm_cvtsi128_si64(_mm256_castsi256_si128(self.carry)) }
    }

    /// A unit whose deltas, less `min_delta`, have the running sums `sums`, as fours.
    #[inline(always)]
    unsafe fn widen(&mut self, sums: [__m256i; 4], min_delta: &MinDelta, unit: usize) {
        // SAFETY: the features are the caller's.
        unsafe {
            let zero = _mm256_setzero_si256();
            let mut low = _mm256_add_epi64(self.carry, min_delta.first);
            let mut high = _mm256_add_epi64(low, min_delta.sixteen);
            let mut values = [zero; 8];
            for four in 0..4 {
                // The unpacking takes turns in the halves of a vector.
                let sums = _mm256_permute4x64_epi64::<0b11_01_10_00>(sums[four]);
                values[four] = _mm256_add_epi64(_mm256_unpacklo_epi32(sums, zero), low);
                values[4 + four] = _mm256_add_epi64(_mm256_unpackhi_epi32(sums, zero), high);
                low = _mm256_add_epi64(low, min_delta.four);
                high = _mm256_add_epi64(high, min_delta.four);
            }
            self.carry = last_lane(values[7]);
            self.sink.fours(unit, values);
        }
    }

    /// Widths up to 8.
    ///
    /// # Safety
    /// As [`unpack_halves`].
    #[inline(always)]
    unsafe fn halves(&mut self, packed: &[u8], at: usize, width: usize, min_delta: &MinDelta, unit: usize) {
        // SAFETY: the caller's.
        unsafe {
            let (sums, totals) = sums_of_halves(packed, at, width);
            self.widen(add_low(sums, totals), min_delta, unit);
        }
    }

    /// Widths up to 16.
    ///
    /// # Safety
    /// As [`unpack_pairs`] for both halves.
    #[inline(always)]
    unsafe fn pairs(&mut self, packed: &[u8], at: usize, width: usize, min_delta: &MinDelta, unit: usize) {
        // SAFETY: the caller's.
        unsafe {
            let (even0, odd0) = unpack_pairs(packed, at, width);
            let (even1, odd1) = unpack_pairs(packed, at + width, width);
            let first = sums_of_4(_mm256_add_epi32(even0, odd0));
            let second = carry_on(sums_of_4(_mm256_add_epi32(even1, odd1)), first);
            let bases = low_to_high(_mm256_shuffle_epi32::<0xff>(second));
            let (first, second) = (_mm256_add_epi32(first, bases), _mm256_add_epi32(second, bases));
            let (evens0, evens1) = (_mm256_sub_epi32(first, odd0), _mm256_sub_epi32(second, odd1));
            let sums = [
                _mm256_unpacklo_epi32(evens0, first),
                _mm256_unpackhi_epi32(evens0, first),
                _mm256_unpacklo_epi32(evens1, second),
                _mm256_unpackhi_epi32(evens1, second),
            ];
            self.widen(sums, min_delta, unit);
        }
    }

    /// Widths up to 26.
    ///
    /// # Safety
    /// As [`unpack_fours`].
    #[inline(always)]
    unsafe fn fours(&mut self, packed: &[u8], at: usize, width: usize, min_delta: &MinDelta, unit: usize) {
        // SAFETY: the caller's.
        unsafe {
            let mut sums = [_mm256_setzero_si256(); 4];
            for four in 0..4 {
                sums[four] = sums_of_4(unpack_fours::<false>(packed, at, width, four));
                if four > 0 {
                    sums[four] = carry_on(sums[four], sums[four - 1]);
                }
            }
            let totals = _mm256_shuffle_epi32::<0xff>(sums[3]);
            self.widen(add_low(sums, totals), min_delta, unit);
        }
    }

    /// All widths, from 58 bits on `STRADDLING`: 16 values at a time, two in each half of a vector.
    ///
    /// # Safety
    /// As [`unpack_twos`] for both halves.
    #[inline(always)]
    unsafe fn twos<const STRADDLING: bool>(
        &mut self,
        packed: &[u8],
        at: usize,
        width: usize,
        min_delta: &MinDelta,
        unit: usize,
    ) {
        // SAFETY: the caller's.
        unsafe {
            for half in 0..2 {
                let mut values = [_mm256_setzero_si256(); 4];
                let mut totals = _mm256_setzero_si256();
                for (two, values) in values.iter_mut().enumerate() {
                    let deltas = unpack_twos::<STRADDLING>(packed, at + 2 * width * half, width, two);
                    let deltas = _mm256_add_epi64(deltas, min_delta.once);
                    let sums = _mm256_add_epi64(deltas, _mm256_slli_si256::<8>(deltas));
                    *values = _mm256_add_epi64(sums, totals);
                    totals = _mm256_unpackhi_epi64(*values, *values);
                }
                let bases = _mm256_add_epi64(self.carry, low_to_high(totals));
                for values in &mut values {
                    *values = _mm256_add_epi64(*values, bases);
                }
                self.carry = last_lane(values[3]);
                self.sink.twos(unit, half, values);
            }
        }
    }

    /// Width 0.
    #[inline(always)]
    unsafe fn progression(&mut self, min_delta: &MinDelta, units: std::ops::Range<usize>) {
        // SAFETY: the features are the caller's.
        unsafe {
            for unit in units {
                self.widen([_mm256_setzero_si256(); 4], min_delta, unit);
            }
        }
    }
}

impl<S: Sink> Engine for Vectors<S> {
    const MAX_WIDTH: u32 = 64;
    const MAX_UNITS: usize = S::MAX_UNITS;
    const CLASSES: usize = 6;

    #[inline(always)]
    fn class(widths: Widths) -> usize {
        if widths.fit(8) {
            (widths != Widths(0)).into()
        } else if widths.fit(16) {
            2
        } else if widths.fit(MAX_UNSTRADDLED) {
            3
        } else if widths.fit(57) {
            4
        } else {
            5
        }
    }

    #[inline(always)]
    unsafe fn batch<const CLASS: usize>(&mut self, packed: &[u8], batch: Batch) {
        // SAFETY: the caller's.
        unsafe {
            let min_delta = &MinDelta::new(batch.min_delta);
            self.sink.begin(&batch);
            match CLASS {
                0 => self.progression(min_delta, batch.range()),
                1 => each_unit!(batch, |at, width, unit| Self::halves(self, packed, at, width, min_delta, unit)),
                2 => each_unit!(batch, |at, width, unit| Self::pairs(self, packed, at, width, min_delta, unit)),
                3 => each_unit!(batch, |at, width, unit| Self::fours(self, packed, at, width, min_delta, unit)),
                4 => each_unit!(batch, |at, width, unit| Self::twos::<false>(self, packed, at, width, min_delta, unit)),
                _ => each_unit!(batch, |at, width, unit| Self::twos::<true>(self, packed, at, width, min_delta, unit)),
            }
            self.sink.end(&batch);
        }
    }
}

impl Sink for Store<'_, i64> {
    #[inline(always)]
    unsafe fn fours(&mut self, unit: usize, values: [__m256i; 8]) {
        // SAFETY: the caller's.
        unsafe {
            for (out, values) in self.unit(unit).as_chunks_mut().0.iter_mut().zip(values) {
                store(out, values);
            }
        }
    }

    #[inline(always)]
    unsafe fn twos(&mut self, unit: usize, half: usize, [a, b, c, d]: [__m256i; 4]) {
        // SAFETY: the caller's.
        unsafe {
            let (fours, _) = self.unit(unit)[UNIT / 2 * half..].as_chunks_mut();
            store(&mut fours[0], _mm256_permute2x128_si256::<0x20>(a, b));
            store(&mut fours[1], _mm256_permute2x128_si256::<0x20>(c, d));
            store(&mut fours[2], _mm256_permute2x128_si256::<0x31>(a, b));
            store(&mut fours[3], _mm256_permute2x128_si256::<0x31>(c, d));
        }
    }
}

#[inline(always)]
unsafe fn store(out: &mut [MaybeUninit<i64>; 4], values: __m256i) {
    // SAFETY: 32 bytes; the features are the caller's.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), values) }
}
