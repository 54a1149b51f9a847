//! INT64. Up to 25 bits the running sums of a unit fit into 32-bit lanes, and are widened afterwards.

use super::*;
use crate::kernels::delta::{Batch, Engine, Store, UNIT, Units, Widths, each_unit};

/// Where values of 64 bits go.
///
/// # Safety of all functions
/// Units are of the batch that began, of at most `MAX_UNITS`; the processor has the features.
pub(super) trait Sink: Units {
    /// Half of a unit: the even and the odd values.
    unsafe fn pairs(&mut self, unit: usize, half: usize, evens: __m512i, odds: __m512i, c: &Constants);

    /// A quarter of a unit.
    unsafe fn eight(&mut self, unit: usize, quarter: usize, values: __m512i);
}

/// Decodes to a [`Sink`].
pub(super) struct Int64<S> {
    c: Constants,
    carry: __m512i,
    pub(super) sink: S,
}

/// What units need.
#[derive(Clone, Copy)]
pub(super) struct Constants {
    scan: Scan,
    /// The last 32 bytes.
    upper: __mmask64,
    /// Factors of the halves of a lane: both, and the upper one.
    both: __m512i,
    second: __m512i,
    /// Of halves.
    bias: __m512i,
    /// For each eight of 32 values, where they stand among 16 even and 16 odd ones; the upper halves are masked off.
    widen: [__m512i; 4],
    lower: __mmask16,
    /// Interleave eight even and eight odd values.
    low: __m512i,
    high: __m512i,
    last: __m512i,
}

impl Constants {
    #[inline(always)]
    unsafe fn new() -> Self {
        macro_rules! widen {
            ($eight:literal) => {
                constant(opaque(&const { lanes!(u32, |i| (8 * $eight + i / 2) / 2 + i / 2 % 2 * 16) }))
            };
        }
        // SAFETY: the features are the caller's.
        unsafe {
            Self {
                scan: Scan::new(),
                upper: opaque(0xffff_ffff_0000_0000),
                both: _mm512_set1_epi16(1),
                second: _mm512_set1_epi32(0x1_0000),
                bias: halves_bias(),
                widen: [widen!(0), widen!(1), widen!(2), widen!(3)],
                lower: opaque(0x5555),
                low: constant(opaque(&const { lanes!(u64, |i| i / 2 + i % 2 * 8) })),
                high: constant(opaque(&const { lanes!(u64, |i| 4 + i / 2 + i % 2 * 8) })),
                last: opaque(_mm512_set1_epi64(7)),
            }
        }
    }

    /// The last lane in all lanes.
    #[inline(always)]
    unsafe fn carry(&self, values: __m512i) -> __m512i {
        // SAFETY: the features are the caller's.
        unsafe { _mm512_permutexvar_epi64(self.last, values) }
    }
}

/// The running sums of 8 lanes.
#[inline(always)]
unsafe fn sums(values: __m512i) -> __m512i {
    // SAFETY: the features are the caller's.
    unsafe {
        let zero = _mm512_setzero_si512();
        let sums = _mm512_add_epi64(values, _mm512_alignr_epi64::<7>(values, zero));
        let sums = _mm512_add_epi64(sums, _mm512_alignr_epi64::<6>(sums, zero));
        _mm512_add_epi64(sums, _mm512_alignr_epi64::<4>(sums, zero))
    }
}

/// Multiples of a `min_delta`.
#[derive(Clone, Copy)]
struct MinDelta {
    once: __m512i,
    /// By 1 to 32.
    multiples: [__m512i; 4],
}

impl MinDelta {
    #[inline(always)]
    unsafe fn new(min_delta: i64) -> Self {
        // SAFETY: the features are the caller's.
        unsafe {
            let once = _mm512_set1_epi64(min_delta);
            let first = _mm512_mullo_epi64(once, constant(&const { lanes!(u64, |i| i + 1) }));
            let eight = _mm512_slli_epi64::<3>(once);
            let second = _mm512_add_epi64(first, eight);
            let third = _mm512_add_epi64(second, eight);
            Self { once, multiples: [first, second, third, _mm512_add_epi64(third, eight)] }
        }
    }
}

impl<S: Sink> Int64<S> {
    #[inline(always)]
    pub(super) unsafe fn new(last: i64, sink: S) -> Self {
        // SAFETY: the features are the caller's.
        unsafe { Self { c: Constants::new(), carry: _mm512_set1_epi64(last), sink } }
    }

    /// Another stream, by the same constants, which are then in the same registers.
    #[inline(always)]
    pub(super) unsafe fn beside(&self, last: i64, sink: S) -> Self {
        // SAFETY: the features are the caller's.
        unsafe { Self { c: self.c, carry: _mm512_set1_epi64(last), sink } }
    }

    #[inline(always)]
    pub(super) unsafe fn set_last(&mut self, last: i64) {
        // SAFETY: the features are the caller's.
        self.carry = unsafe { _mm512_set1_epi64(last) };
    }

    /// The value before the next one.
    #[inline(always)]
    pub(super) unsafe fn last(&self) -> i64 {
        // SAFETY: the features are the caller's.
        unsafe { _mm_cvtsi128_si64(_mm512_castsi512_si128(self.carry)) }
    }

    /// A unit of whose deltas, less `min_delta`, `pairs` are the sums of two each, and `odd` the second of the two.
    #[inline(always)]
    unsafe fn narrow_pairs(&mut self, pairs: __m512i, odd: __m512i, min_delta: &MinDelta, unit: usize) {
        // SAFETY: the features are the caller's.
        unsafe {
            let odds = self.c.scan.sums(pairs);
            let evens = _mm512_sub_epi32(odds, odd);
            for quarter in 0..4 {
                let sums = _mm512_maskz_permutex2var_epi32(self.c.lower, evens, self.c.widen[quarter], odds);
                let values = _mm512_add_epi64(_mm512_add_epi64(sums, min_delta.multiples[quarter]), self.carry);
                self.sink.eight(unit, quarter, values);
                if quarter == 3 {
                    self.carry = self.c.carry(values);
                }
            }
        }
    }

    /// Widths up to 16.
    ///
    /// # Safety
    /// As [`unpack_halves`].
    #[inline(always)]
    unsafe fn halves(&mut self, packed: &[u8], at: usize, width: usize, min_delta: &MinDelta, unit: usize) {
        // SAFETY: the caller's.
        unsafe {
            let halves = unpack_halves(packed, at, width, self.c.bias);
            let sums = dot_halves(_mm512_set1_epi32(2 * HALVES_BIAS as i32), halves, self.c.both);
            let odd = dot_halves(_mm512_set1_epi32(HALVES_BIAS as i32), halves, self.c.second);
            self.narrow_pairs(sums, odd, min_delta, unit);
        }
    }

    /// Widths up to 25.
    ///
    /// # Safety
    /// As [`unpack_evens_and_odds`].
    #[inline(always)]
    unsafe fn evens_and_odds(&mut self, packed: &[u8], at: usize, width: usize, min_delta: &MinDelta, unit: usize) {
        // SAFETY: the caller's.
        unsafe {
            let (even, odd) = unpack_evens_and_odds(packed, at, width, self.c.upper);
            self.narrow_pairs(_mm512_add_epi32(even, odd), odd, min_delta, unit);
        }
    }

    /// Widths up to 32: 16 values at a time.
    ///
    /// # Safety
    /// 64 bytes from `at + 2 * width` on lie in `packed`; `width` is at most 32.
    #[inline(always)]
    unsafe fn wide_pairs(&mut self, packed: &[u8], at: usize, width: usize, min_delta: &MinDelta, unit: usize) {
        // SAFETY: the caller's.
        unsafe {
            for half in 0..2 {
                let (even, odd) = unpack_wide_pairs(packed, at + 2 * width * half, width);
                self.pairs(_mm512_add_epi64(even, min_delta.once), _mm512_add_epi64(odd, min_delta.once), unit, half);
            }
        }
    }

    /// Width 32.
    ///
    /// # Safety
    /// 64 bytes from `at + 64` on lie in `packed`.
    #[inline(always)]
    unsafe fn words(&mut self, packed: &[u8], at: usize, min_delta: &MinDelta, unit: usize) {
        // SAFETY: the caller's.
        unsafe {
            for half in 0..2 {
                let words = load(packed, at + 64 * half);
                let (even, odd) = (_mm512_maskz_mov_epi32(self.c.lower, words), _mm512_srli_epi64::<32>(words));
                self.pairs(_mm512_add_epi64(even, min_delta.once), _mm512_add_epi64(odd, min_delta.once), unit, half);
            }
        }
    }

    /// Half of a unit: its even and its odd deltas.
    #[inline(always)]
    pub(super) unsafe fn pairs(&mut self, even: __m512i, odd: __m512i, unit: usize, half: usize) {
        // SAFETY: the features are the caller's.
        unsafe {
            let odds = _mm512_add_epi64(sums(_mm512_add_epi64(even, odd)), self.carry);
            self.carry = self.c.carry(odds);
            self.sink.pairs(unit, half, _mm512_sub_epi64(odds, odd), odds, &self.c);
        }
    }

    /// All widths, from 58 bits on `STRADDLING`: 8 values at a time.
    ///
    /// # Safety
    /// As [`unpack_8`] for all quarters.
    #[inline(always)]
    unsafe fn natural<const STRADDLING: bool>(
        &mut self,
        packed: &[u8],
        at: usize,
        width: usize,
        min_delta: &MinDelta,
        unit: usize,
    ) {
        // SAFETY: the caller's.
        unsafe {
            for quarter in 0..4 {
                let deltas = unpack_8::<STRADDLING>(packed, at + width * quarter, width);
                let values = _mm512_add_epi64(sums(_mm512_add_epi64(deltas, min_delta.once)), self.carry);
                self.carry = self.c.carry(values);
                self.sink.eight(unit, quarter, values);
            }
        }
    }

    /// Width 0.
    #[inline(always)]
    unsafe fn progression(&mut self, min_delta: &MinDelta, units: std::ops::Range<usize>) {
        // SAFETY: the features are the caller's.
        unsafe {
            let mut values = _mm512_add_epi64(self.carry, min_delta.multiples[0]);
            let step = _mm512_slli_epi64::<3>(min_delta.once);
            for unit in units {
                for quarter in 0..4 {
                    self.sink.eight(unit, quarter, values);
                    self.carry = values;
                    values = _mm512_add_epi64(values, step);
                }
            }
            self.carry = self.c.carry(self.carry);
        }
    }
}

impl<S: Sink> Engine for Int64<S> {
    const MAX_WIDTH: u32 = 64;
    const MAX_UNITS: usize = S::MAX_UNITS;
    const CLASSES: usize = 6;

    #[inline(always)]
    fn class(widths: Widths) -> usize {
        if widths.fit(16) {
            (widths != Widths(0)).into()
        } else if widths.fit(25) {
            2
        } else if widths.fit(32) {
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
                2 => {
                    each_unit!(batch, |at, width, unit| Self::evens_and_odds(self, packed, at, width, min_delta, unit))
                }
                3 if batch.widths == int32::WORD_WIDTHS => {
                    each_unit!(batch, |at, _width, unit| Self::words(self, packed, at, min_delta, unit))
                }
                3 => each_unit!(batch, |at, width, unit| Self::wide_pairs(self, packed, at, width, min_delta, unit)),
                4 => each_unit!(batch, |at, width, unit| Self::natural::<false>(
                    self, packed, at, width, min_delta, unit
                )),
                _ => {
                    each_unit!(batch, |at, width, unit| Self::natural::<true>(self, packed, at, width, min_delta, unit))
                }
            }
            self.sink.end(&batch);
        }
    }
}

impl Sink for Store<'_, i64> {
    #[inline(always)]
    unsafe fn pairs(&mut self, unit: usize, half: usize, evens: __m512i, odds: __m512i, c: &Constants) {
        // SAFETY: the caller's.
        unsafe {
            self.eight(unit, 2 * half, _mm512_permutex2var_epi64(evens, c.low, odds));
            self.eight(unit, 2 * half + 1, _mm512_permutex2var_epi64(evens, c.high, odds));
        }
    }

    #[inline(always)]
    unsafe fn eight(&mut self, unit: usize, quarter: usize, values: __m512i) {
        // SAFETY: the features are the caller's.
        unsafe { store(&mut self.unit(unit)[8 * quarter..][..8], values) }
    }
}
