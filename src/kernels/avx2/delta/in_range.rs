//! Verdicts on values, which go nowhere else.
//!
//! What is decoded are distances from the lower bound, so that one comparison with the span of the range decides both
//! bounds. There are signed comparisons only, so that distances are less by 2^31 or 2^63 than they are.

use super::*;
use crate::kernels::delta::{Batch, Engine, Rebased, UNIT, Units, Verdicts, Widths};

/// Compares INT32 with a range.
pub(super) struct InRange32<'a> {
    /// What distances are counted from.
    origin: i32,
    distances: Int32<Distances32<'a>>,
}

impl<'a> InRange32<'a> {
    #[inline(always)]
    pub(super) unsafe fn new(last: i32, low: i32, high: i32, verdicts: Verdicts<'a>) -> Self {
        let origin = low.wrapping_sub(i32::MIN);
        // SAFETY: the features are the caller's.
        unsafe {
            let sink = Distances32 { span: _mm256_set1_epi32(high.wrapping_sub(origin)), verdicts };
            Self { origin, distances: Int32::new(last.wrapping_sub(origin), sink) }
        }
    }

    /// Ends the verdicts on `units`, and returns the value before the next one.
    #[inline(always)]
    pub(super) unsafe fn finish(self, units: usize) -> i32 {
        // SAFETY: the features are the caller's.
        let last = unsafe { self.distances.last() };
        self.distances.sink.verdicts.finish(units);
        last.wrapping_add(self.origin)
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
struct Distances32<'a> {
    span: __m256i,
    verdicts: Verdicts<'a>,
}

impl Distances32<'_> {
    #[inline(always)]
    unsafe fn exceeds(&self, values: __m256i) -> __m256i {
        // SAFETY: the features are the caller's.
        unsafe { _mm256_cmpgt_epi32(values, self.span) }
    }

    /// Of 16-bit lanes that tell which values exceed the span: of the first 8 in each half, and of the others.
    #[inline(always)]
    unsafe fn push(&mut self, unit: usize, first: __m256i, second: __m256i) {
        // SAFETY: the features are the caller's.
        let exceeding = unsafe { _mm256_movemask_epi8(_mm256_packs_epi16(first, second)) };
        self.verdicts.set(unit, 0, (!exceeding).to_le_bytes());
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
    #[inline(always)]
    unsafe fn pairs(&mut self, unit: usize, evens: [__m256i; 2], odds: [__m256i; 2]) {
        // SAFETY: the features are the caller's.
        unsafe {
            let first = _mm256_blend_epi16::<0xaa>(self.exceeds(evens[0]), self.exceeds(odds[0]));
            let second = _mm256_blend_epi16::<0xaa>(self.exceeds(evens[1]), self.exceeds(odds[1]));
            self.push(unit, first, second);
        }
    }

    #[inline(always)]
    unsafe fn fours(&mut self, unit: usize, values: [__m256i; 4]) {
        // SAFETY: the features are the caller's.
        unsafe {
            let first = _mm256_packs_epi32(self.exceeds(values[0]), self.exceeds(values[1]));
            let second = _mm256_packs_epi32(self.exceeds(values[2]), self.exceeds(values[3]));
            self.push(unit, first, second);
        }
    }

    #[inline(always)]
    unsafe fn eights(&mut self, unit: usize, values: [__m256i; 4]) {
        let mut exceeding = 0;
        for (eight, values) in values.into_iter().enumerate() {
            // SAFETY: the features are the caller's.
            let mask = unsafe { _mm256_movemask_ps(_mm256_castsi256_ps(self.exceeds(values))) };
            exceeding |= mask.cast_unsigned() << (8 * eight);
        }
        self.verdicts.set(unit, 0, (!exceeding).to_le_bytes());
    }
}

/// Compares INT64 with a range: in lanes of 32 bits where all values of a batch lie within 2^32, as its header tells.
pub(super) struct InRange64<'a> {
    low: i64,
    high: i64,
    /// The value before the next one.
    last: i64,
    narrow: Int32<Distances32<'a>>,
    wide: int64::Vectors<Distances64<'a>>,
}

impl<'a> InRange64<'a> {
    #[inline(always)]
    pub(super) unsafe fn new(last: i64, low: i64, high: i64, verdicts: Verdicts<'a>) -> Self {
        // SAFETY: the features are the caller's.
        unsafe {
            let span = _mm256_set1_epi64x(high.wrapping_sub(low).wrapping_add(i64::MIN));
            let wide = Distances64 { span, verdicts: Verdicts::default() };
            let narrow = Distances32 { span: _mm256_setzero_si256(), verdicts };
            Self { low, high, last, narrow: Int32::new(0, narrow), wide: int64::Vectors::new(0, wide) }
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
    const CLASSES: usize = int64::Vectors::<Distances64<'_>>::CLASSES;

    #[inline(always)]
    fn class(widths: Widths) -> usize {
        int64::Vectors::<Distances64<'_>>::class(widths)
    }

    #[inline(always)]
    unsafe fn batch<const CLASS: usize>(&mut self, packed: &[u8], batch: Batch) {
        // Up to there the classes of both lane types are the same.
        if CLASS <= 3
            && let Some(rebased) = Rebased::new(&batch, self.last, self.low, self.high)
        {
            const BIAS: u32 = 1 << 31;
            let last = rebased.narrow(self.last).wrapping_add(BIAS);
            // SAFETY: the caller's.
            unsafe {
                self.narrow.set_last(last.cast_signed());
                self.narrow.sink.span = _mm256_set1_epi32(rebased.span.wrapping_add(BIAS).cast_signed());
                self.narrow.batch::<CLASS>(packed, batch);
                self.last = rebased.widen(self.narrow.last().cast_unsigned().wrapping_sub(BIAS));
            }
            return;
        }
        let origin = self.low.wrapping_sub(i64::MIN);
        let verdicts = std::mem::take(&mut self.narrow.sink.verdicts);
        // SAFETY: the caller's.
        unsafe {
            self.wide.sink.verdicts = verdicts;
            self.wide.set_last(self.last.wrapping_sub(origin));
            self.wide.batch::<CLASS>(packed, batch);
            self.last = self.wide.last().wrapping_add(origin);
        }
        self.narrow.sink.verdicts = std::mem::take(&mut self.wide.sink.verdicts);
    }
}

/// Compares distances from the lower bound of a range with its span.
struct Distances64<'a> {
    span: __m256i,
    verdicts: Verdicts<'a>,
}

impl Distances64<'_> {
    /// Which of four values exceed the span.
    #[inline(always)]
    unsafe fn exceed(&self, values: __m256i) -> __m256i {
        // SAFETY: the features are the caller's.
        unsafe { _mm256_cmpgt_epi64(values, self.span) }
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
    unsafe fn fours(&mut self, unit: usize, values: [__m256i; 8]) {
        let mut exceeding = 0;
        for (four, values) in values.into_iter().enumerate() {
            // SAFETY: the features are the caller's.
            let mask = unsafe { _mm256_movemask_pd(_mm256_castsi256_pd(self.exceed(values))) };
            exceeding |= mask.cast_unsigned() << (4 * four);
        }
        self.verdicts.set(unit, 0, (!exceeding).to_le_bytes());
    }

    #[inline(always)]
    unsafe fn twos(&mut self, unit: usize, half: usize, [a, b, c, d]: [__m256i; 4]) {
        // SAFETY: the features are the caller's.
        let exceeding = unsafe {
            // Each value in two lanes of 16 bits, then in one.
            let first = _mm256_packs_epi32(self.exceed(a), self.exceed(b));
            let second = _mm256_packs_epi32(self.exceed(c), self.exceed(d));
            let lanes = _mm256_packs_epi32(first, second);
            let bytes = _mm_packs_epi16(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256::<1>(lanes));
            _mm_movemask_epi8(bytes).cast_unsigned()
        };
        self.verdicts.set(unit, UNIT / 2 * half, (!exceeding as u16).to_le_bytes());
    }
}
