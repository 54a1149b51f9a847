//! INT32.

use super::*;
use crate::kernels::delta::{Batch, Engine, Store, UNIT, Units, Widths, each_unit};
use std::mem::MaybeUninit;
use std::sync::atomic::{Ordering, compiler_fence};

/// Where values of 32 bits go.
///
/// # Safety of all functions
/// Units are of the batch that began, of at most `MAX_UNITS`; the processor has the features.
pub(super) trait Sink: Units {
    /// The even and the odd values of a unit: of the first 8 of each half, and of the others.
    unsafe fn pairs(&mut self, unit: usize, evens: [__m256i; 2], odds: [__m256i; 2]);

    /// A unit, of whose 16 values each half of a vector holds four.
    unsafe fn fours(&mut self, unit: usize, values: [__m256i; 4]);

    /// A unit in order.
    unsafe fn eights(&mut self, unit: usize, values: [__m256i; 4]);
}

/// Decodes to a [`Sink`].
pub(super) struct Int32<S> {
    carry: __m256i,
    pub(super) sink: S,
}

/// Multiples of a `min_delta`.
#[derive(Clone, Copy)]
struct MinDelta {
    once: __m256i,
    twice: __m256i,
    /// By 1 to 16 in each half, as fours.
    multiples: [__m256i; 4],
    half: __m256i,
}

impl MinDelta {
    #[inline(always)]
    unsafe fn new(min_delta: i32) -> Self {
        // SAFETY: the features are the caller's.
        unsafe {
            let once = _mm256_set1_epi32(min_delta);
            let four = _mm256_slli_epi32::<2>(once);
            let first = _mm256_mullo_epi32(once, _mm256_setr_epi32(1, 2, 3, 4, 1, 2, 3, 4));
            let second = _mm256_add_epi32(first, four);
            let third = _mm256_add_epi32(second, four);
            Self {
                once,
                twice: _mm256_add_epi32(once, once),
                multiples: [first, second, third, _mm256_add_epi32(third, four)],
                half: _mm256_slli_epi32::<4>(once),
            }
        }
    }
}

/// Adds the last sum of the vector before it, of each half, to `sums`.
#[inline(always)]
pub(super) unsafe fn carry_on(sums: __m256i, before: __m256i) -> __m256i {
    // SAFETY: the features are the caller's.
    unsafe { _mm256_add_epi32(sums, _mm256_shuffle_epi32::<0xff>(before)) }
}

/// Of 32 values up to 8 bits the running sums in each half, as fours, and the last one in all lanes of it.
///
/// # Safety
/// As [`unpack_halves`].
#[inline(always)]
pub(super) unsafe fn sums_of_halves(packed: &[u8], at: usize, width: usize) -> ([__m256i; 4], __m256i) {
    // SAFETY: the caller's.
    unsafe {
        let (even, odd) = unpack_halves(packed, at, width);
        // 16 bits hold the sum of 32 values.
        let odds = sums_of_8(_mm256_add_epi16(even, odd));
        let evens = _mm256_sub_epi16(odds, odd);
        let (low, high) = (_mm256_unpacklo_epi16(evens, odds), _mm256_unpackhi_epi16(evens, odds));
        let zero = _mm256_setzero_si256();
        let sums = [
            _mm256_unpacklo_epi16(low, zero),
            _mm256_unpackhi_epi16(low, zero),
            _mm256_unpacklo_epi16(high, zero),
            _mm256_unpackhi_epi16(high, zero),
        ];
        (sums, _mm256_shuffle_epi32::<0xff>(_mm256_srli_epi32::<16>(odds)))
    }
}

impl<S: Sink> Int32<S> {
    #[inline(always)]
    pub(super) unsafe fn new(last: i32, sink: S) -> Self {
        // SAFETY: the features are the caller's.
        unsafe { Self { carry: _mm256_set1_epi32(last), sink } }
    }

    #[inline(always)]
    pub(super) unsafe fn set_last(&mut self, last: i32) {
        // SAFETY: the features are the caller's.
        self.carry = unsafe { _mm256_set1_epi32(last) };
    }

    /// The value before the next one.
    #[inline(always)]
    pub(super) unsafe fn last(&self) -> i32 {
        // SAFETY: the features are the caller's.
        unsafe { _mm256_cvtsi256_si32(self.carry) }
    }

    /// What each half adds to its sums, whose last ones are `totals`; the carry is that of the next unit then.
    #[inline(always)]
    unsafe fn bases(&mut self, totals: __m256i) -> __m256i {
        // SAFETY: the features are the caller's.
        unsafe {
            let bases = _mm256_add_epi32(self.carry, low_to_high(totals));
            let ends = _mm256_add_epi32(bases, totals);
            self.carry = _mm256_permute2x128_si256::<0x11>(ends, ends);
            bases
        }
    }

    /// Widths up to 8: summed up in lanes of 16 bits.
    ///
    /// # Safety
    /// As [`unpack_halves`].
    #[inline(always)]
    unsafe fn halves(&mut self, packed: &[u8], at: usize, width: usize, min_delta: &MinDelta, unit: usize) {
        // SAFETY: the caller's.
        unsafe {
            let (mut values, totals) = sums_of_halves(packed, at, width);
            let bases = self.bases(_mm256_add_epi32(totals, min_delta.half));
            for (values, &multiples) in values.iter_mut().zip(&min_delta.multiples) {
                *values = _mm256_add_epi32(*values, _mm256_add_epi32(multiples, bases));
            }
            self.sink.fours(unit, values);
        }
    }

    /// Widths up to 16: the sums of two deltas each are scanned, and the evens go back from them.
    ///
    /// # Safety
    /// As [`unpack_pairs`] for both halves.
    #[inline(always)]
    unsafe fn pairs(&mut self, packed: &[u8], at: usize, width: usize, min_delta: &MinDelta, unit: usize) {
        // SAFETY: the caller's.
        unsafe {
            let (mut evens, mut odds) = ([_mm256_setzero_si256(); 2], [_mm256_setzero_si256(); 2]);
            for eight in 0..2 {
                let (even, odd) = unpack_pairs(packed, at + eight * width, width);
                let pairs = _mm256_add_epi32(_mm256_add_epi32(even, min_delta.twice), odd);
                odds[eight] = sums_of_4(pairs);
                if eight > 0 {
                    odds[eight] = carry_on(odds[eight], odds[eight - 1]);
                }
                evens[eight] = _mm256_sub_epi32(odds[eight], _mm256_add_epi32(odd, min_delta.once));
            }
            let bases = self.bases(_mm256_shuffle_epi32::<0xff>(odds[1]));
            for eight in 0..2 {
                evens[eight] = _mm256_add_epi32(evens[eight], bases);
                odds[eight] = _mm256_add_epi32(odds[eight], bases);
            }
            self.sink.pairs(unit, evens, odds);
        }
    }

    /// All widths: four values in each half at a time.
    ///
    /// # Safety
    /// As [`unpack_fours`].
    #[inline(always)]
    unsafe fn fours<const STRADDLING: bool>(
        &mut self,
        packed: &[u8],
        at: usize,
        width: usize,
        min_delta: &MinDelta,
        unit: usize,
    ) {
        // SAFETY: the caller's.
        unsafe {
            let mut values = [_mm256_setzero_si256(); 4];
            for four in 0..4 {
                let deltas = unpack_fours::<STRADDLING>(packed, at, width, four);
                values[four] = sums_of_4(_mm256_add_epi32(deltas, min_delta.once));
                if four > 0 {
                    values[four] = carry_on(values[four], values[four - 1]);
                }
            }
            let bases = self.bases(_mm256_shuffle_epi32::<0xff>(values[3]));
            for values in &mut values {
                *values = _mm256_add_epi32(*values, bases);
            }
            self.sink.fours(unit, values);
        }
    }

    /// Width 0.
    #[inline(always)]
    unsafe fn progression(&mut self, min_delta: &MinDelta, units: std::ops::Range<usize>) {
        // SAFETY: the features are the caller's.
        unsafe {
            let first = _mm256_mullo_epi32(min_delta.once, _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8));
            let eight = _mm256_slli_epi32::<3>(min_delta.once);
            for unit in units {
                let mut next = _mm256_add_epi32(self.carry, first);
                let mut values = [next; 4];
                for values in &mut values {
                    *values = next;
                    next = _mm256_add_epi32(next, eight);
                }
                self.carry = _mm256_add_epi32(self.carry, _mm256_slli_epi32::<2>(eight));
                self.sink.eights(unit, values);
            }
        }
    }
}

impl<S: Sink> Engine for Int32<S> {
    const MAX_WIDTH: u32 = 32;
    const MAX_UNITS: usize = S::MAX_UNITS;
    const CLASSES: usize = 5;

    #[inline(always)]
    fn class(widths: Widths) -> usize {
        if widths.fit(8) {
            (widths != Widths(0)).into()
        } else if widths.fit(16) {
            2
        } else if widths.fit(MAX_UNSTRADDLED) {
            3
        } else {
            4
        }
    }

    #[inline(always)]
    unsafe fn batch<const CLASS: usize>(&mut self, packed: &[u8], batch: Batch) {
        // SAFETY: the caller's.
        unsafe {
            let min_delta = &MinDelta::new(batch.min_delta as i32);
            self.sink.begin(&batch);
            match CLASS {
                0 => self.progression(min_delta, batch.range()),
                1 => each_unit!(batch, |at, width, unit| Self::halves(self, packed, at, width, min_delta, unit)),
                2 => each_unit!(batch, |at, width, unit| Self::pairs(self, packed, at, width, min_delta, unit)),
                3 => {
                    each_unit!(batch, |at, width, unit| Self::fours::<false>(self, packed, at, width, min_delta, unit))
                }
                _ => each_unit!(batch, |at, width, unit| Self::fours::<true>(self, packed, at, width, min_delta, unit)),
            }
            self.sink.end(&batch);
        }
    }
}

impl Sink for Store<'_, i32> {
    #[inline(always)]
    unsafe fn pairs(&mut self, unit: usize, evens: [__m256i; 2], odds: [__m256i; 2]) {
        // SAFETY: the features are the caller's.
        unsafe {
            let values = [
                _mm256_unpacklo_epi32(evens[0], odds[0]),
                _mm256_unpackhi_epi32(evens[0], odds[0]),
                _mm256_unpacklo_epi32(evens[1], odds[1]),
                _mm256_unpackhi_epi32(evens[1], odds[1]),
            ];
            self.fours(unit, values);
        }
    }

    #[inline(always)]
    unsafe fn fours(&mut self, unit: usize, values: [__m256i; 4]) {
        // SAFETY: the caller's.
        let (low, high) = unsafe { self.unit(unit) }.split_at_mut(UNIT / 2);
        for (four, values) in values.into_iter().enumerate() {
            // SAFETY: the features are the caller's.
            unsafe { store(&mut low[4 * four..][..4], &mut high[4 * four..][..4], values) }
        }
    }

    #[inline(always)]
    unsafe fn eights(&mut self, unit: usize, values: [__m256i; 4]) {
        // SAFETY: 32 bytes each; the rest is the caller's.
        unsafe {
            for (out, values) in self.unit(unit).as_chunks_mut::<8>().0.iter_mut().zip(values) {
                _mm256_storeu_si256(out.as_mut_ptr().cast(), values);
            }
        }
    }
}

/// Writes the lower half to `low`, and the upper one to `high`.
#[inline(always)]
unsafe fn store(low: &mut [MaybeUninit<i32>], high: &mut [MaybeUninit<i32>], values: __m256i) {
    assert!(low.len() == 4 && high.len() == 4);
    // SAFETY: 16 bytes each, as the assertion says; the features are the caller's.
    unsafe { _mm256_storeu2_m128i(high.as_mut_ptr().cast(), low.as_mut_ptr().cast(), values) }
    // The compiler would make one store of two that are adjacent, and shuffle for it.
    compiler_fence(Ordering::Release);
}
