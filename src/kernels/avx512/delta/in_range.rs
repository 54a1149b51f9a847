//! Verdicts on values, which go nowhere else.
//!
//! What is decoded are distances from the lower bound, so that one unsigned comparison with the span of the range decides
//! both bounds.

use super::*;
use crate::kernels::delta::{Batch, Engine, Rebased, UNIT, Units, Verdicts, Widths};

/// Compares INT32 with a range.
pub(super) struct InRange32<'a> {
    low: i32,
    distances: Int32<Distances32<'a>>,
}

impl<'a> InRange32<'a> {
    #[inline(always)]
    pub(super) unsafe fn new(last: i32, low: i32, high: i32, verdicts: Verdicts<'a>) -> Self {
        // SAFETY: the features are the caller's.
        unsafe {
            let sink = Distances32::new(high.wrapping_sub(low).cast_unsigned(), verdicts);
            Self { low, distances: Int32::new(last.wrapping_sub(low), sink) }
        }
    }

    /// Ends the verdicts on `units`, and returns the value before the next one.
    #[inline(always)]
    pub(super) unsafe fn finish(self, units: usize) -> i32 {
        // SAFETY: the features are the caller's.
        let last = unsafe { self.distances.last() };
        self.distances.sink.verdicts.finish(units);
        last.wrapping_add(self.low)
    }
}

impl Engine for InRange32<'_> {
    const MAX_WIDTH: u32 = 32;
    const CLASSES: usize = Int32::<Distances32<'_>>::CLASSES;

    #[inline(always)]
    fn class(widths: Widths) -> usize {
        Int32::<Distances32<'_>>::class(widths)
    }

    #[inline(always)]
    unsafe fn batch<const CLASS: usize>(&mut self, packed: &[u8], batch: Batch) {
        // SAFETY: the caller's.
        unsafe { self.distances.batch::<CLASS>(packed, batch) }
    }
}

/// Compares distances from the lower bound of a range with its span.
pub(super) struct Distances32<'a> {
    span: __m512i,
    pub(super) verdicts: Verdicts<'a>,
}

impl<'a> Distances32<'a> {
    #[inline(always)]
    pub(super) unsafe fn new(span: u32, verdicts: Verdicts<'a>) -> Self {
        // SAFETY: the features are the caller's.
        Self { span: unsafe { _mm512_set1_epi32(span.cast_signed()) }, verdicts }
    }

    #[inline(always)]
    unsafe fn holds(&self, values: __m512i) -> __mmask16 {
        // SAFETY: the features are the caller's.
        unsafe { _mm512_cmple_epu32_mask(values, self.span) }
    }
}

impl Units for Distances32<'_> {
    const MAX_UNITS: usize = usize::MAX;

    #[inline(always)]
    fn begin(&mut self, _: &Batch) {}

    #[inline(always)]
    unsafe fn end(&mut self, _: &Batch) {}
}

impl int32::Sink for Distances32<'_> {
    const DEALT: bool = false;

    #[inline(always)]
    unsafe fn pairs(&mut self, unit: usize, evens: __m512i, odds: __m512i, _: &int32::Constants) {
        // SAFETY: the features are the caller's.
        unsafe {
            let (evens, odds) = (u32::from(self.holds(evens)), u32::from(self.holds(odds)));
            let verdicts = _pdep_u32(evens, 0x5555_5555) | _pdep_u32(odds, 0xaaaa_aaaa);
            self.verdicts.set(unit, 0, verdicts.to_le_bytes());
        }
    }

    #[inline(always)]
    unsafe fn sixteen(&mut self, unit: usize, half: usize, values: __m512i) {
        // SAFETY: the features are the caller's.
        let mask = unsafe { self.holds(values) };
        self.verdicts.set(unit, UNIT / 2 * half, mask.to_le_bytes());
    }

    #[inline(always)]
    unsafe fn quads(&mut self, unit: usize, [o0, o1, o2, o3]: [__m512i; 4]) {
        // SAFETY: the features are the caller's.
        unsafe {
            // The sign bits of the bytes of lanes are one mask for all four; the compiler would see that nothing else is
            // set, and test for that.
            let or = |verdicts, values, sign| {
                _mm512_mask_or_epi32(verdicts, self.holds(values), verdicts, _mm512_set1_epi32(sign))
            };
            let verdicts = _mm512_maskz_set1_epi32(self.holds(o0), 0x80);
            let verdicts = or(or(or(verdicts, o1, 0x8000), o2, 0x80_0000), o3, i32::MIN);
            let mask: __mmask64 = _mm512_movepi8_mask(complete(verdicts));
            self.verdicts.set(unit, 0, mask.to_le_bytes());
        }
    }
}

/// Compares INT64 with a range: in lanes of 32 bits where all values of a batch lie within 2^32, as its header tells.
pub(super) struct InRange64<'a> {
    low: i64,
    high: i64,
    /// The value before the next one.
    last: i64,
    narrow: Int32<Distances32<'a>>,
    wide: Int64<Distances64<'a>>,
}

impl<'a> InRange64<'a> {
    #[inline(always)]
    pub(super) unsafe fn new(last: i64, low: i64, high: i64, verdicts: Verdicts<'a>) -> Self {
        // SAFETY: the features are the caller's.
        unsafe {
            let wide = Distances64::new(high.wrapping_sub(low).cast_unsigned(), Verdicts::default());
            let narrow = Distances32::new(0, verdicts);
            Self { low, high, last, narrow: Int32::new(0, narrow), wide: Int64::new(0, wide) }
        }
    }

    /// Ends the verdicts on `units`, and returns the value before the next one.
    #[inline(always)]
    pub(super) unsafe fn finish(self, units: usize) -> i64 {
        self.narrow.sink.verdicts.finish(units);
        self.last
    }
}

impl Engine for InRange64<'_> {
    const MAX_WIDTH: u32 = 64;
    const MAX_UNITS: usize = Rebased::MAX_UNITS;
    const CLASSES: usize = 7;

    #[inline(always)]
    fn class(widths: Widths) -> usize {
        if widths.fit(25) {
            Int32::<Distances32<'_>>::class(widths)
        } else {
            1 + Int64::<Distances64<'_>>::class(widths)
        }
    }

    #[inline(always)]
    unsafe fn batch<const CLASS: usize>(&mut self, packed: &[u8], batch: Batch) {
        if CLASS <= 3
            && let Some(rebased) = Rebased::new(&batch, self.last, self.low, self.high)
        {
            // SAFETY: the caller's.
            unsafe {
                self.narrow.set_last(rebased.narrow(self.last).cast_signed());
                self.narrow.sink.span = _mm512_set1_epi32(rebased.span.cast_signed());
                self.narrow.batch::<CLASS>(packed, batch);
                self.last = rebased.widen(self.narrow.last().cast_unsigned());
            }
            return;
        }
        let verdicts = std::mem::take(&mut self.narrow.sink.verdicts);
        // SAFETY: the caller's.
        unsafe {
            self.wide.sink.verdicts = verdicts;
            self.wide.set_last(self.last.wrapping_sub(self.low));
            match CLASS {
                0 => self.wide.batch::<0>(packed, batch),
                1 | 2 => self.wide.batch::<1>(packed, batch),
                3 => self.wide.batch::<2>(packed, batch),
                4 => self.wide.batch::<3>(packed, batch),
                5 => self.wide.batch::<4>(packed, batch),
                _ => self.wide.batch::<5>(packed, batch),
            }
            self.last = self.wide.last().wrapping_add(self.low);
        }
        self.narrow.sink.verdicts = std::mem::take(&mut self.wide.sink.verdicts);
    }
}

/// Compares distances from the lower bound of a range with its span.
pub(super) struct Distances64<'a> {
    span: __m512i,
    pub(super) verdicts: Verdicts<'a>,
}

impl<'a> Distances64<'a> {
    #[inline(always)]
    pub(super) unsafe fn new(span: u64, verdicts: Verdicts<'a>) -> Self {
        // SAFETY: the features are the caller's.
        Self { span: unsafe { _mm512_set1_epi64(span.cast_signed()) }, verdicts }
    }
}

impl Units for Distances64<'_> {
    const MAX_UNITS: usize = usize::MAX;

    #[inline(always)]
    fn begin(&mut self, _: &Batch) {}

    #[inline(always)]
    unsafe fn end(&mut self, _: &Batch) {}
}

impl int64::Sink for Distances64<'_> {
    #[inline(always)]
    unsafe fn pairs(&mut self, unit: usize, half: usize, evens: __m512i, odds: __m512i, _: &int64::Constants) {
        // SAFETY: the features are the caller's.
        let verdicts = unsafe {
            let evens = _mm512_cmple_epu64_mask(evens, self.span);
            let odds = _mm512_cmple_epu64_mask(odds, self.span);
            _pdep_u32(evens.into(), 0x5555) | _pdep_u32(odds.into(), 0xaaaa)
        };
        self.verdicts.set(unit, UNIT / 2 * half, (verdicts as u16).to_le_bytes());
    }

    #[inline(always)]
    unsafe fn eight(&mut self, unit: usize, quarter: usize, values: __m512i) {
        // SAFETY: the features are the caller's.
        let mask: __mmask8 = unsafe { _mm512_cmple_epu64_mask(values, self.span) };
        self.verdicts.set(unit, UNIT / 4 * quarter, mask.to_le_bytes());
    }
}
