//! Verdicts on the values of two streams of INT64, by differences of 64 bits: for deltas that leave no room to prove that they
//! have 32.

use super::in_range::Distances64;
use super::int64::Int64;
use super::*;
use crate::kernels::Comparison;
use crate::kernels::delta::{Pair, PairEngine, Proof, UNIT, Verdicts, differences, each_unit_of_pair};

/// Compares two streams, where it is proved that neither wraps.
pub(super) struct CompareWide<'a> {
    proof: Proof,
    low: i64,
    /// Differences, as distances from `low`.
    distances: Int64<Distances64<'a>>,
    /// The last left value, when it was last looked.
    last: i64,
    /// The sum of the left deltas since then, less their minima.
    sums: __m512i,
    min_deltas: i64,
    deal: DealWide,
    /// Blocks that may be compared in 32 bits are left to that from this unit on.
    until: usize,
}

/// Units that are compared whatever they are, before it is tried again whether there is a quicker way.
const AT_LEAST: usize = 32;

impl<'a> Comparer<'a> for CompareWide<'a> {
    #[inline(always)]
    unsafe fn new(
        last: [i64; 2],
        limits: (i64, i64),
        op: Comparison,
        done: usize,
        verdicts: Verdicts<'a>,
    ) -> Result<Self, Verdicts<'a>> {
        let Some(proof) = Proof::new(last, limits, i64::MAX) else { return Err(verdicts) };
        let (low, span) = differences(op, 64);
        // SAFETY: the features are the caller's.
        unsafe {
            let sink = Distances64::new(span, verdicts);
            Ok(Self {
                proof,
                low,
                distances: Int64::new((last[0] - last[1]).wrapping_sub(low), sink),
                last: last[0],
                sums: _mm512_setzero_si512(),
                min_deltas: 0,
                deal: DealWide::new(),
                until: done + AT_LEAST,
            })
        }
    }

    #[inline(always)]
    unsafe fn finish(mut self) -> ([i64; 2], Verdicts<'a>) {
        // SAFETY: the features are the caller's.
        let last = unsafe { self.look() };
        (last, self.distances.sink.verdicts)
    }
}

impl CompareWide<'_> {
    /// Computes the last values.
    #[inline(always)]
    unsafe fn look(&mut self) -> [i64; 2] {
        // SAFETY: the features are the caller's.
        let (sum, difference) = unsafe {
            let sum = _mm512_reduce_add_epi64(self.sums);
            self.sums = _mm512_setzero_si512();
            (sum, self.distances.last().wrapping_add(self.low))
        };
        // Sums may wrap, and values do not.
        self.last = self.last.wrapping_add(sum).wrapping_add(self.min_deltas);
        self.min_deltas = 0;
        [self.last, self.last - difference]
    }
}

impl PairEngine for CompareWide<'_> {
    const MAX_WIDTH: u32 = 57;

    #[inline(always)]
    unsafe fn pair<const UNITS: usize>(&mut self, pair: Pair<'_>) -> bool {
        let Pair { left, right, done } = pair;
        if done >= self.until && left.widths.fit(20) && right.widths.fit(20) {
            return false;
        }
        let count = (4 * UNITS * UNIT) as i64;
        // SAFETY: the caller's.
        unsafe {
            if !self.proof.covers(&pair) {
                let Some(proof) = self.proof.renewed(self.look(), pair, count, i64::MAX) else { return false };
                self.proof = proof;
            }
            self.min_deltas = self.min_deltas.wrapping_add(left.min_delta.wrapping_mul(count));
            let min_delta = _mm512_set1_epi64(left.min_delta.wrapping_sub(right.min_delta));
            // Even and odd differences of half a unit; in place, since closures are not always inlined.
            macro_rules! by {
                (|$left:ident, $right:ident, $left_width:ident, $right_width:ident| $differences:expr) => {
                    each_unit_of_pair!(pair, UNITS, |unit, [left_at, right_at], [$left_width, $right_width]| {
                        for half in 0..2 {
                            let $left = left_at + 2 * $left_width * half;
                            let $right = right_at + 2 * $right_width * half;
                            fetch(left.packed, $left);
                            fetch(right.packed, $right);
                            let (even, odd) = $differences;
                            let (even, odd) = (_mm512_add_epi64(even, min_delta), _mm512_add_epi64(odd, min_delta));
                            self.distances.pairs(even, odd, unit, half);
                        }
                    })
                };
            }
            if left.widths.fit(32) && right.widths.fit(32) {
                by!(|left_at, right_at, left_width, right_width| {
                    let lefts = unpack_wide_pairs(left.packed, left_at, left_width);
                    let rights = unpack_wide_pairs(right.packed, right_at, right_width);
                    self.sums = _mm512_add_epi64(self.sums, _mm512_add_epi64(lefts.0, lefts.1));
                    (_mm512_sub_epi64(lefts.0, rights.0), _mm512_sub_epi64(lefts.1, rights.1))
                });
            } else {
                by!(|left_at, right_at, left_width, right_width| {
                    let lefts = unpack_16_wide::<false>(left.packed, left_at, left_width);
                    let rights = unpack_16_wide::<false>(right.packed, right_at, right_width);
                    self.sums = _mm512_add_epi64(self.sums, _mm512_add_epi64(lefts[0], lefts[1]));
                    let first = _mm512_sub_epi64(lefts[0], rights[0]);
                    let second = _mm512_sub_epi64(lefts[1], rights[1]);
                    self.deal.deal([first, second])
                });
            }
        }
        true
    }
}
