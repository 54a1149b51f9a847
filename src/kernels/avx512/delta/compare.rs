//! Verdicts on the values of two streams: what is summed up is the difference of their deltas, once for both.

use super::in_range::Distances32;
use super::int32::Late;
use super::*;
use crate::kernels::Comparison;
use crate::kernels::delta::{Pair, PairEngine, Proof, UNIT, Verdicts, Widths, differences, each_unit_of_pair};

/// Compares two streams, where it is proved that neither wraps and that their difference has 32 bits.
pub(super) struct Compare<'a> {
    proof: Proof,
    low: i32,
    /// Differences, as distances from `low`.
    distances: Int32<Distances32<'a>>,
    late: Late,
    /// The last left value, when it was last looked.
    last: i64,
    /// The sum of the left deltas since then, less their minima and the bias of halves; in lanes of 32 bits.
    sums: __m512i,
    /// Of the minima and of the bias.
    min_deltas: i64,
    minus_both: __m512i,
    minus_second: __m512i,
    /// Of one, two, three and four bytes of a lane.
    minus_factors: [__m512i; 4],
    deal: Deal,
}

impl<'a> Comparer<'a> for Compare<'a> {
    #[inline(always)]
    unsafe fn new(
        last: [i64; 2],
        limits: (i64, i64),
        op: Comparison,
        _: usize,
        verdicts: Verdicts<'a>,
    ) -> Result<Self, Verdicts<'a>> {
        let Some(proof) = Proof::new(last, limits, i32::MAX.into()) else { return Err(verdicts) };
        let (low, span) = differences(op, 32);
        let low = low as i32;
        let difference = (last[0] - last[1]) as i32;
        // SAFETY: the features are the caller's.
        unsafe {
            let sink = Distances32::new(span as u32, verdicts);
            Ok(Self {
                proof,
                low,
                distances: Int32::new(difference.wrapping_sub(low), sink),
                late: Late::new(),
                last: last[0],
                sums: _mm512_setzero_si512(),
                min_deltas: 0,
                minus_both: _mm512_set1_epi16(-1),
                minus_second: _mm512_set1_epi32(-0x1_0000),
                minus_factors: [
                    _mm512_set1_epi32(0xff),
                    _mm512_set1_epi32(0xffff),
                    _mm512_set1_epi32(0xff_ffff),
                    _mm512_set1_epi32(-1),
                ],
                deal: Deal::new(),
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

impl Compare<'_> {
    /// Computes the last values.
    #[inline(always)]
    unsafe fn look(&mut self) -> [i64; 2] {
        // SAFETY: the features are the caller's.
        let (sum, difference) = unsafe {
            self.distances.end_late(&mut self.late);
            let difference = self.distances.last().wrapping_add(self.low);
            (_mm512_reduce_add_epi64(widen_sums(self.sums)), difference)
        };
        self.last += sum + self.min_deltas;
        // SAFETY: as above.
        self.sums = unsafe { _mm512_setzero_si512() };
        self.min_deltas = 0;
        [self.last, self.last - i64::from(difference)]
    }

    /// The running sums of the differences of four bytes in each lane, and of multiples of their minimum.
    #[inline(always)]
    unsafe fn sums_of_quads(&self, left: __m512i, right: __m512i, multiples: &[__m512i; 4]) -> [__m512i; 4] {
        let (plus, minus) = (&self.distances.q.factors, &self.minus_factors);
        // SAFETY: the features are the caller's.
        unsafe {
            [
                dot_bytes(dot_bytes(multiples[0], left, plus[0]), right, minus[0]),
                dot_bytes(dot_bytes(multiples[1], left, plus[1]), right, minus[1]),
                dot_bytes(dot_bytes(multiples[2], left, plus[2]), right, minus[2]),
                dot_bytes(dot_bytes(multiples[3], left, plus[3]), right, minus[3]),
            ]
        }
    }
}

impl PairEngine for Compare<'_> {
    const MAX_WIDTH: u32 = 25;

    #[inline(always)]
    unsafe fn pair<const UNITS: usize>(&mut self, pair: Pair<'_>) -> bool {
        let Pair { left, right, done } = pair;
        let count = (4 * UNITS * UNIT) as i64;
        // SAFETY: the caller's.
        unsafe {
            // Two deltas of each unit are added to a lane.
            let room = i64::from(i32::MAX) / (8 * UNITS as i64);
            if !self.proof.covers(&pair) {
                let Some(proof) = self.proof.renewed(self.look(), pair, count, room) else { return false };
                self.proof = proof;
            }
            self.min_deltas += left.min_delta * count;
            let min_delta = left.min_delta.wrapping_sub(right.min_delta) as i32;
            let times = |times: i32| _mm512_set1_epi32(min_delta.wrapping_mul(times));
            let (once, twice) = (times(1), times(2));
            let are_quads = |widths: Widths| widths.fit(8) && widths.are_equal();
            if are_quads(left.widths) && are_quads(right.widths) {
                if !self.late.is_empty() {
                    self.distances.end_late(&mut self.late);
                }
                let (left_width, right_width) = (left.widths.get(0), right.widths.get(0));
                let multiples = [once, twice, times(3), times(4)];
                let (mut left_at, mut right_at) = (0, 0);
                for pair in 0..2 * UNITS {
                    fetch(left.packed, left_at);
                    fetch(right.packed, right_at);
                    let left = unpack_bytes::<false>(left.packed, left_at, left_width);
                    let right = unpack_bytes::<false>(right.packed, right_at, right_width);
                    let sums = self.sums_of_quads(left, right, &multiples);
                    self.sums = dot_bytes(self.sums, left, self.distances.q.factors[3]);
                    self.distances.quads_of(sums, done + 2 * pair);
                    (left_at, right_at) = (left_at + UNIT / 4 * left_width, right_at + UNIT / 4 * right_width);
                }
            } else if left.widths.fit(16) && right.widths.fit(16) {
                self.min_deltas += HALVES_BIAS * count;
                each_unit_of_pair!(pair, UNITS, |unit, [left_at, right_at], [left_width, right_width]| {
                    let c = &self.distances.c;
                    fetch(left.packed, left_at);
                    fetch(right.packed, right_at);
                    // The bias is that of both.
                    let left = unpack_halves(left.packed, left_at, left_width, c.bias);
                    let right = unpack_halves(right.packed, right_at, right_width, c.bias);
                    let pairs = dot_halves(dot_halves(twice, left, c.both), right, self.minus_both);
                    let odd = dot_halves(dot_halves(once, left, c.second), right, self.minus_second);
                    self.sums = dot_halves(self.sums, left, c.both);
                    self.distances.pairs_late(&mut self.late, pairs, odd, unit);
                });
            } else {
                each_unit_of_pair!(pair, UNITS, |unit, [left_at, right_at], [left_width, right_width]| {
                    // In order, and taken apart when there is only one of both.
                    fetch(left.packed, left_at);
                    fetch(right.packed, right_at);
                    let lefts = unpack_32::<false>(left.packed, left_at, left_width);
                    let rights = unpack_32::<false>(right.packed, right_at, right_width);
                    self.sums = _mm512_add_epi32(self.sums, _mm512_add_epi32(lefts[0], lefts[1]));
                    let first = _mm512_sub_epi32(lefts[0], rights[0]);
                    let second = _mm512_sub_epi32(lefts[1], rights[1]);
                    let (even, odd) = self.deal.deal([first, second]);
                    let (even, odd) = (_mm512_add_epi32(even, once), _mm512_add_epi32(odd, once));
                    self.distances.pairs_late(&mut self.late, _mm512_add_epi32(even, odd), odd, unit);
                });
            }
        }
        true
    }
}
