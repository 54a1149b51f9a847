//! Verdicts on the values of two streams that are decoded in step, and go nowhere else: for deltas that leave no room to prove
//! that a difference has 32 bits.

use super::int32::{self, Int32};
use super::*;
use crate::kernels::Comparison;
use crate::kernels::delta::{Batch, Pair, PairEngine, UNIT, Units, Verdicts, each_unit_of_pair};

/// Compares two streams of INT32.
pub(super) struct CompareDecoded32<'a> {
    left: Int32<Kept>,
    right: Int32<Kept>,
    op: Comparison,
    /// The least value, which is decoded as the least signed one.
    least: i64,
    /// Blocks of widths up to 16 are left to others from this unit on.
    until: usize,
    verdicts: Verdicts<'a>,
}

/// Units that are decoded whatever they are, before it is tried again whether there is a quicker way.
const AT_LEAST: usize = 32;

impl<'a> Comparer<'a> for CompareDecoded32<'a> {
    #[inline(always)]
    unsafe fn new(
        last: [i64; 2],
        (least, _): (i64, i64),
        op: Comparison,
        done: usize,
        verdicts: Verdicts<'a>,
    ) -> Result<Self, Verdicts<'a>> {
        let bias = (i64::from(i32::MIN) - least) as i32;
        let [left, right] = last.map(|last| (last as i32).wrapping_add(bias));
        // SAFETY: the features are the caller's.
        unsafe {
            let kept = Kept { evens: _mm512_setzero_si512(), odds: _mm512_setzero_si512() };
            let left = Int32::new(left, kept);
            let right = left.beside(right, kept);
            Ok(Self { left, right, op, least, until: done + AT_LEAST, verdicts })
        }
    }

    #[inline(always)]
    unsafe fn finish(self) -> ([i64; 2], Verdicts<'a>) {
        // SAFETY: the features are the caller's.
        let last = unsafe { [self.left.last(), self.right.last()] };
        (last.map(|last| self.least + (i64::from(last) - i64::from(i32::MIN))), self.verdicts)
    }
}

impl CompareDecoded32<'_> {
    /// Compares the last unit of both.
    #[inline(always)]
    unsafe fn compare(&mut self, unit: usize) {
        let (left, right) = (self.left.sink, self.right.sink);
        // SAFETY: the features are the caller's.
        unsafe {
            let evens = u32::from(holds(self.op, left.evens, right.evens));
            let odds = u32::from(holds(self.op, left.odds, right.odds));
            let verdicts = _pdep_u32(evens, 0x5555_5555) | _pdep_u32(odds, 0xaaaa_aaaa);
            self.verdicts.set(unit, 0, verdicts.to_le_bytes());
        }
    }
}

/// Decodes and compares each unit of `$pair` by a function of [`Int32`].
macro_rules! by {
    ($self:ident, $pair:ident, $units:ident, |$side:ident, $packed:ident, $at:ident, $width:ident, $min:ident, $unit:ident| $decode:expr) => {{
        let left_min = _mm512_set1_epi32($pair.left.min_delta as i32);
        let right_min = _mm512_set1_epi32($pair.right.min_delta as i32);
        each_unit_of_pair!($pair, $units, |$unit, [left_at, right_at], [left_width, right_width]| {
            let ($side, $packed, $at, $width, $min) =
                (&mut $self.left, $pair.left.packed, left_at, left_width, left_min);
            $decode;
            let ($side, $packed, $at, $width, $min) =
                (&mut $self.right, $pair.right.packed, right_at, right_width, right_min);
            $decode;
            $self.compare($unit);
        });
    }};
}

impl PairEngine for CompareDecoded32<'_> {
    const MAX_WIDTH: u32 = 32;

    #[inline(always)]
    unsafe fn pair<const UNITS: usize>(&mut self, pair: Pair<'_>) -> bool {
        let fit = |max| pair.left.widths.fit(max) && pair.right.widths.fit(max);
        if pair.done >= self.until && fit(16) {
            return false;
        }
        // SAFETY: the caller's.
        unsafe {
            if fit(25) {
                by!(self, pair, UNITS, |side, packed, at, width, min, unit| side
                    .evens_and_odds::<false>(packed, at, width, &[min; 4], unit));
            } else if [pair.left.widths, pair.right.widths] == [int32::WORD_WIDTHS; 2] {
                by!(self, pair, UNITS, |side, packed, at, _width, min, unit| side
                    .pairs_of_words(packed, at, min, unit));
            } else {
                by!(self, pair, UNITS, |side, packed, at, width, min, unit| side
                    .evens_and_odds::<true>(packed, at, width, &[min; 4], unit));
            }
        }
        true
    }
}

#[inline(always)]
unsafe fn holds(op: Comparison, left: __m512i, right: __m512i) -> __mmask16 {
    // SAFETY: the features are the caller's.
    unsafe {
        match op {
            Comparison::Eq => _mm512_cmpeq_epi32_mask(left, right),
            Comparison::NotEq => _mm512_cmpneq_epi32_mask(left, right),
            Comparison::Lt => _mm512_cmplt_epi32_mask(left, right),
            Comparison::LtEq => _mm512_cmple_epi32_mask(left, right),
            Comparison::Gt => _mm512_cmpgt_epi32_mask(left, right),
            Comparison::GtEq => _mm512_cmpge_epi32_mask(left, right),
        }
    }
}

/// The last unit.
#[derive(Clone, Copy)]
struct Kept {
    evens: __m512i,
    odds: __m512i,
}

impl Units for Kept {
    const MAX_UNITS: usize = usize::MAX;

    #[inline(always)]
    fn begin(&mut self, _: &Batch) {}

    #[inline(always)]
    unsafe fn end(&mut self, _: &Batch) {}
}

impl int32::Sink for Kept {
    const DEALT: bool = false;

    #[inline(always)]
    unsafe fn pairs(&mut self, _: usize, evens: __m512i, odds: __m512i, _: &int32::Constants) {
        *self = Self { evens, odds };
    }

    #[inline(always)]
    unsafe fn sixteen(&mut self, _: usize, _: usize, _: __m512i) {
        unreachable!("evens and odds are decoded, and nothing else");
    }

    #[inline(always)]
    unsafe fn quads(&mut self, _: usize, _: [__m512i; 4]) {
        unreachable!("evens and odds are decoded, and nothing else");
    }
}
