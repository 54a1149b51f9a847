//! Verdicts on the values of two streams: what is summed up is the difference of their deltas, once for both.

use super::in_range::Distances32;
use super::*;
use crate::kernels::Comparison;
use crate::kernels::delta::{Pair, PairEngine, Side, UNIT, Verdicts, Widths, differences, each_unit_of_pair};

/// Compares two streams, where it is proved that neither wraps and that their difference has 32 bits.
pub(super) struct Compare<'a> {
    low: i32,
    /// Differences, as distances from `low`.
    distances: Int32<Distances32<'a>>,
    /// The last values, when it was last looked.
    last: [i64; 2],
    /// The sum of the left deltas since then, less their minima and the bias of halves; in lanes of 32 bits.
    sums: __m512i,
    /// Of the minima and of the bias.
    min_deltas: i64,
    /// How much lanes of `sums` have room for.
    room: i64,
    /// How far both sides may go before it has to be looked again.
    way: i64,
    /// What values may be.
    limits: (i64, i64),
    minus_both: __m512i,
    minus_second: __m512i,
    /// Of one, two, three and four bytes of a lane.
    minus_factors: [__m512i; 4],
}

impl<'a> Compare<'a> {
    /// `last` are the values before the next ones, widened; the verdicts come back if they are far apart, or not in `limits`:
    /// these are no more than 2^61.
    #[inline(always)]
    pub(super) unsafe fn new(
        last: [i64; 2],
        limits: (i64, i64),
        op: Comparison,
        verdicts: Verdicts<'a>,
    ) -> Result<Self, Verdicts<'a>> {
        if last.iter().any(|last| !(limits.0..=limits.1).contains(last)) {
            return Err(verdicts);
        }
        let Ok(difference) = i32::try_from(last[0] - last[1]) else { return Err(verdicts) };
        let (low, span) = differences(op);
        // SAFETY: the features are the caller's.
        let mut compare = unsafe {
            let sink = Distances32::new(span, verdicts);
            Self {
                low,
                distances: Int32::new(difference.wrapping_sub(low), sink),
                last,
                sums: _mm512_setzero_si512(),
                min_deltas: 0,
                room: i32::MAX.into(),
                way: 0,
                limits,
                minus_both: _mm512_set1_epi16(-1),
                minus_second: _mm512_set1_epi32(-0x1_0000),
                minus_factors: [
                    _mm512_set1_epi32(0xff),
                    _mm512_set1_epi32(0xffff),
                    _mm512_set1_epi32(0xff_ffff),
                    _mm512_set1_epi32(-1),
                ],
            }
        };
        compare.measure();
        Ok(compare)
    }

    /// The values before the next ones, and the verdicts.
    #[inline(always)]
    pub(super) unsafe fn finish(mut self) -> ([i64; 2], Verdicts<'a>) {
        // SAFETY: the features are the caller's.
        unsafe { self.look() };
        (self.last, self.distances.sink.verdicts)
    }

    /// Computes the last values.
    #[inline(always)]
    unsafe fn look(&mut self) {
        // SAFETY: the features are the caller's.
        let (sum, difference) = unsafe {
            let difference = self.distances.last().wrapping_add(self.low);
            let sum = widen_sums(self.sums);
            self.sums = _mm512_setzero_si512();
            (_mm512_reduce_add_epi64(sum), difference)
        };
        let left = self.last[0] + sum + self.min_deltas;
        self.last = [left, left - i64::from(difference)];
        (self.min_deltas, self.room) = (0, i32::MAX.into());
        self.measure();
    }

    #[inline(always)]
    fn measure(&mut self) {
        let [left, right] = self.last;
        let inside = |value: i64| (value - self.limits.0).min(self.limits.1 - value);
        // Both may go apart.
        let apart = (i64::from(i32::MAX) - (left - right).abs()) / 2;
        self.way = inside(left).min(inside(right)).min(apart);
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

    /// How far values may go from the one before the block, if the deltas less their minimum are at most `largest`.
    #[inline(always)]
    fn way(side: &Side<'_>, largest: i64, count: i64) -> i64 {
        let up = side.min_delta.saturating_add(largest);
        side.min_delta.saturating_neg().max(up).saturating_mul(count)
    }
}

impl PairEngine for Compare<'_> {
    const MAX_WIDTH: u32 = 25;

    #[inline(always)]
    unsafe fn pair<const UNITS: usize>(&mut self, pair: Pair<'_>) -> bool {
        let Pair { left, right, done } = pair;
        let count = (4 * UNITS * UNIT) as i64;
        let is_narrow = left.widths.fit(16) && right.widths.fit(16);
        let largest = if is_narrow { 0xffff } else { (1 << left.widths.largest().max(right.widths.largest())) - 1 };
        let way = Self::way(&left, largest, count).max(Self::way(&right, largest, count));
        // Two deltas of each unit are added to a lane.
        let room = 8 * UNITS as i64 * (largest + 1);
        // SAFETY: the caller's.
        unsafe {
            if way > self.way || room > self.room {
                self.look();
                if way > self.way {
                    return false;
                }
            }
            self.way -= way;
            self.room -= room;
            self.min_deltas += left.min_delta * count;
            let min_delta = left.min_delta.wrapping_sub(right.min_delta) as i32;
            let times = |times: i32| _mm512_set1_epi32(min_delta.wrapping_mul(times));
            let (once, twice) = (times(1), times(2));
            let are_quads = |widths: Widths| widths.fit(8) && widths.are_equal();
            if are_quads(left.widths) && are_quads(right.widths) {
                let (left_width, right_width) = (left.widths.get(0), right.widths.get(0));
                let multiples = [once, twice, times(3), times(4)];
                let (mut left_at, mut right_at) = (left.at, right.at);
                for pair in 0..2 * UNITS {
                    let left = unpack_bytes::<false>(left.packed, left_at, left_width);
                    let right = unpack_bytes::<false>(right.packed, right_at, right_width);
                    let sums = self.sums_of_quads(left, right, &multiples);
                    self.sums = dot_bytes(self.sums, left, self.distances.q.factors[3]);
                    self.distances.quads_of(sums, done + 2 * pair);
                    (left_at, right_at) = (left_at + UNIT / 4 * left_width, right_at + UNIT / 4 * right_width);
                }
            } else if is_narrow {
                self.min_deltas += HALVES_BIAS * count;
                each_unit_of_pair!(pair, UNITS, |unit, [left_at, right_at], [left_width, right_width]| {
                    let c = &self.distances.c;
                    // The bias is that of both.
                    let left = unpack_halves(left.packed, left_at, left_width, c.bias);
                    let right = unpack_halves(right.packed, right_at, right_width, c.bias);
                    let pairs = dot_halves(dot_halves(twice, left, c.both), right, self.minus_both);
                    let odd = dot_halves(dot_halves(once, left, c.second), right, self.minus_second);
                    self.sums = dot_halves(self.sums, left, c.both);
                    self.distances.pairs(pairs, odd, unit);
                });
            } else {
                each_unit_of_pair!(pair, UNITS, |unit, [left_at, right_at], [left_width, right_width]| {
                    let upper = self.distances.c.upper;
                    let (left_even, left_odd) = unpack_evens_and_odds::<false>(left.packed, left_at, left_width, upper);
                    let (even, odd) = unpack_evens_and_odds::<false>(right.packed, right_at, right_width, upper);
                    self.sums = _mm512_add_epi32(self.sums, _mm512_add_epi32(left_even, left_odd));
                    let even = _mm512_add_epi32(_mm512_sub_epi32(left_even, even), once);
                    let odd = _mm512_add_epi32(_mm512_sub_epi32(left_odd, odd), once);
                    self.distances.pairs(_mm512_add_epi32(even, odd), odd, unit);
                });
            }
        }
        true
    }
}
