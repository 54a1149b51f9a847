//! Verdicts on the values of two streams of INT64 that are decoded in step, and go nowhere else: for deltas that leave no room to
//! prove that values do not wrap.

use super::compare_decoded::canonical;
use super::int64::{self, Int64};
use super::*;
use crate::kernels::Comparison;
use crate::kernels::delta::{Batch, Pair, PairEngine, UNIT, Units, Verdicts, Widths, each_unit_of_pair};

/// Compares two streams of INT64.
pub(super) struct CompareDecoded64<'a> {
    left: Int64<Kept>,
    right: Int64<Kept>,
    deal: DealWide,
    op: Comparison,
    inverse: u32,
    /// What makes the least value the least signed one.
    bias: i64,
    /// Blocks of which it may be proved are left to others from this unit on.
    until: usize,
    verdicts: Verdicts<'a>,
}

/// Units that are decoded whatever they are, before it is tried again whether there is a quicker way.
const AT_LEAST: usize = 32;

/// Widths of values as they are.
const WORD_WIDTHS: Widths = Widths(0x4040_4040);

impl<'a> Comparer<'a> for CompareDecoded64<'a> {
    #[inline(always)]
    unsafe fn new(
        last: [i64; 2],
        (least, _): (i64, i64),
        op: Comparison,
        done: usize,
        verdicts: Verdicts<'a>,
    ) -> Result<Self, Verdicts<'a>> {
        let (op, inverse) = canonical(op);
        // Limits are closer than those of the type, but for the least unsigned value.
        let bias = if least == 0 { i64::MIN } else { 0 };
        let [left, right] = last.map(|last| last.wrapping_add(bias));
        // SAFETY: the features are the caller's.
        unsafe {
            let kept = Kept { evens: _mm512_setzero_si512(), odds: _mm512_setzero_si512() };
            let left = Int64::new(left, kept);
            let right = left.beside(right, kept);
            Ok(Self { left, right, deal: DealWide::new(), op, inverse, bias, until: done + AT_LEAST, verdicts })
        }
    }

    #[inline(always)]
    unsafe fn finish(self) -> ([i64; 2], Verdicts<'a>) {
        // SAFETY: the features are the caller's.
        let last = unsafe { [self.left.last(), self.right.last()] };
        (last.map(|last| last.wrapping_sub(self.bias)), self.verdicts)
    }
}

impl CompareDecoded64<'_> {
    /// Half of a unit: the even and the odd deltas of either side.
    #[inline(always)]
    unsafe fn pairs(&mut self, left: (__m512i, __m512i), right: (__m512i, __m512i), unit: usize, half: usize) {
        // SAFETY: the features are the caller's.
        let verdicts = unsafe {
            self.left.pairs(left.0, left.1, unit, half);
            self.right.pairs(right.0, right.1, unit, half);
            let evens = u32::from(holds(self.op, self.left.sink.evens, self.right.sink.evens));
            let odds = u32::from(holds(self.op, self.left.sink.odds, self.right.sink.odds));
            self.inverse ^ (_pdep_u32(evens, 0x5555) | _pdep_u32(odds, 0xaaaa))
        };
        self.verdicts.set(unit, UNIT / 2 * half, (verdicts as u16).to_le_bytes());
    }
}

/// Decodes each half of a unit of `$pair` by a function that unpacks it, and compares both sides. In place, since closures are not
/// always inlined.
macro_rules! by {
    ($self:ident, $pair:ident, $units:ident, |$packed:ident, $at:ident, $width:ident| $unpack:expr) => {{
        let left_min = _mm512_set1_epi64($pair.left.min_delta);
        let right_min = _mm512_set1_epi64($pair.right.min_delta);
        each_unit_of_pair!($pair, $units, |unit, [left_at, right_at], [left_width, right_width]| {
            for half in 0..2 {
                let ($packed, $at, $width) = ($pair.left.packed, left_at + 2 * left_width * half, left_width);
                fetch($packed, $at);
                fetch($packed, $at + $width);
                let left = $self.deal.deal($unpack);
                let ($packed, $at, $width) = ($pair.right.packed, right_at + 2 * right_width * half, right_width);
                fetch($packed, $at);
                fetch($packed, $at + $width);
                let right = $self.deal.deal($unpack);
                let left = (_mm512_add_epi64(left.0, left_min), _mm512_add_epi64(left.1, left_min));
                let right = (_mm512_add_epi64(right.0, right_min), _mm512_add_epi64(right.1, right_min));
                $self.pairs(left, right, unit, half);
            }
        });
    }};
}

impl PairEngine for CompareDecoded64<'_> {
    const MAX_WIDTH: u32 = 64;

    #[inline(always)]
    unsafe fn pair<const UNITS: usize>(&mut self, pair: Pair<'_>) -> bool {
        let fit = |max| pair.left.widths.fit(max) && pair.right.widths.fit(max);
        if pair.done >= self.until && fit(48) {
            return false;
        }
        // SAFETY: the caller's.
        unsafe {
            if [pair.left.widths, pair.right.widths] == [WORD_WIDTHS; 2] {
                by!(self, pair, UNITS, |packed, at, _width| [load(packed, at), load(packed, at + 64)]);
            } else if fit(57) {
                by!(self, pair, UNITS, |packed, at, width| unpack_16_wide::<false>(packed, at, width));
            } else {
                by!(self, pair, UNITS, |packed, at, width| unpack_16_wide::<true>(packed, at, width));
            }
        }
        true
    }
}

/// As [`Comparison::Eq`], [`Comparison::Lt`] or [`Comparison::Gt`].
#[inline(always)]
unsafe fn holds(op: Comparison, left: __m512i, right: __m512i) -> __mmask8 {
    // SAFETY: the features are the caller's.
    unsafe {
        match op {
            Comparison::Lt => _mm512_cmplt_epi64_mask(left, right),
            Comparison::Gt => _mm512_cmpgt_epi64_mask(left, right),
            _ => _mm512_cmpeq_epi64_mask(left, right),
        }
    }
}

/// The last half of a unit.
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

impl int64::Sink for Kept {
    #[inline(always)]
    unsafe fn pairs(&mut self, _: usize, _: usize, evens: __m512i, odds: __m512i, _: &int64::Constants) {
        *self = Self { evens, odds };
    }

    #[inline(always)]
    unsafe fn eight(&mut self, _: usize, _: usize, _: __m512i) {
        unreachable!("evens and odds are decoded, and nothing else");
    }
}
