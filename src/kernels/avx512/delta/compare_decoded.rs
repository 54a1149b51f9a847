//! Verdicts on the values of two streams that are decoded in step, and go nowhere else: for deltas that leave no room to prove
//! that a difference has 32 bits.

use super::int32::{self, Int32, Late};
use super::*;
use crate::kernels::Comparison;
use crate::kernels::delta::{Batch, Pair, PairEngine, UNIT, Units, Verdicts, each_unit_of_pair};

/// Compares two streams of INT32.
pub(super) struct CompareDecoded32<'a> {
    left: Int32<Kept>,
    right: Int32<Kept>,
    left_late: Late,
    right_late: Late,
    deal: Deal,
    /// By [`canonical`].
    op: Comparison,
    inverse: u32,
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
        let (op, inverse) = canonical(op);
        let bias = (i64::from(i32::MIN) - least) as i32;
        let [left, right] = last.map(|last| (last as i32).wrapping_add(bias));
        // SAFETY: the features are the caller's.
        unsafe {
            let kept = Kept { unit: 0, evens: _mm512_setzero_si512(), odds: _mm512_setzero_si512() };
            let late = Late::new();
            let left = Int32::new(left, kept);
            let right = left.beside(right, kept);
            Ok(Self {
                left,
                right,
                left_late: late,
                right_late: late,
                deal: Deal::new(),
                op,
                inverse,
                least,
                until: done + AT_LEAST,
                verdicts,
            })
        }
    }

    #[inline(always)]
    unsafe fn finish(mut self) -> ([i64; 2], Verdicts<'a>) {
        // SAFETY: the features are the caller's.
        let last = unsafe {
            let none = _mm512_setzero_si512();
            for _ in 0..2 {
                self.pairs([none; 2], [none; 2], Late::NONE);
            }
            [self.left.last(), self.right.last()]
        };
        (last.map(|last| self.least + (i64::from(last) - i64::from(i32::MIN))), self.verdicts)
    }
}

impl CompareDecoded32<'_> {
    /// A unit of which there are the sums of pairs of deltas, and the second of each: waits, and one before it is compared.
    #[inline(always)]
    unsafe fn pairs(&mut self, pairs: [__m512i; 2], odd: [__m512i; 2], unit: usize) {
        // SAFETY: the features are the caller's.
        unsafe {
            self.left.pairs_late(&mut self.left_late, pairs[0], odd[0], unit);
            self.right.pairs_late(&mut self.right_late, pairs[1], odd[1], unit);
            self.compare();
        }
    }

    /// Compares the last unit of both.
    #[inline(always)]
    unsafe fn compare(&mut self) {
        let (left, right) = (self.left.sink, self.right.sink);
        // SAFETY: the features are the caller's.
        unsafe {
            let evens = u32::from(holds(self.op, left.evens, right.evens));
            let odds = u32::from(holds(self.op, left.odds, right.odds));
            let verdicts = self.inverse ^ (_pdep_u32(evens, 0x5555_5555) | _pdep_u32(odds, 0xaaaa_aaaa));
            self.verdicts.set(left.unit, 0, verdicts.to_le_bytes());
        }
    }
}

/// Decodes each unit of `$pair` by a function that unpacks it, and compares the one that is ended.
macro_rules! by {
    ($self:ident, $pair:ident, $units:ident, |$packed:ident, $at:ident, $width:ident| $unpack:expr) => {{
        let left_min = _mm512_set1_epi32($pair.left.min_delta as i32);
        let right_min = _mm512_set1_epi32($pair.right.min_delta as i32);
        each_unit_of_pair!($pair, $units, |unit, [left_at, right_at], [left_width, right_width]| {
            fetch($pair.left.packed, left_at);
            fetch($pair.left.packed, left_at + 2 * left_width);
            fetch($pair.right.packed, right_at);
            fetch($pair.right.packed, right_at + 2 * right_width);
            let ($packed, $at, $width) = ($pair.left.packed, left_at, left_width);
            let (left_even, left_odd) = $unpack;
            let ($packed, $at, $width) = ($pair.right.packed, right_at, right_width);
            let (even, odd) = $unpack;
            let (left_even, left_odd) = (_mm512_add_epi32(left_even, left_min), _mm512_add_epi32(left_odd, left_min));
            let (even, odd) = (_mm512_add_epi32(even, right_min), _mm512_add_epi32(odd, right_min));
            $self.pairs([_mm512_add_epi32(left_even, left_odd), _mm512_add_epi32(even, odd)], [left_odd, odd], unit);
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
            if [pair.left.widths, pair.right.widths] == [int32::WORD_WIDTHS; 2] {
                by!(self, pair, UNITS, |packed, at, _width| self.deal.deal([load(packed, at), load(packed, at + 64)]));
            } else if fit(25) {
                by!(self, pair, UNITS, |packed, at, width| self.deal.deal(unpack_32::<false>(packed, at, width)));
            } else {
                by!(self, pair, UNITS, |packed, at, width| unpack_words(packed, at, width));
            }
        }
        true
    }
}

/// One of the three that [`holds`] knows, and what inverts its verdicts to those that are wanted.
#[inline(always)]
pub(super) fn canonical(op: Comparison) -> (Comparison, u32) {
    match op {
        Comparison::NotEq => (Comparison::Eq, u32::MAX),
        Comparison::LtEq => (Comparison::Gt, u32::MAX),
        Comparison::GtEq => (Comparison::Lt, u32::MAX),
        op => (op, 0),
    }
}

/// As [`Comparison::Eq`], [`Comparison::Lt`] or [`Comparison::Gt`].
#[inline(always)]
unsafe fn holds(op: Comparison, left: __m512i, right: __m512i) -> __mmask16 {
    // SAFETY: the features are the caller's.
    unsafe {
        match op {
            Comparison::Lt => _mm512_cmplt_epi32_mask(left, right),
            Comparison::Gt => _mm512_cmpgt_epi32_mask(left, right),
            _ => _mm512_cmpeq_epi32_mask(left, right),
        }
    }
}

/// The last unit.
#[derive(Clone, Copy)]
struct Kept {
    unit: usize,
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
    unsafe fn pairs(&mut self, unit: usize, evens: __m512i, odds: __m512i, _: &int32::Constants) {
        *self = Self { unit, evens, odds };
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
