//! Verdicts on the values of two streams: what is summed up is the difference of their deltas, once for both.

use super::in_range::Distances32;
use super::*;
use crate::kernels::Comparison;
use crate::kernels::delta::{Pair, PairEngine, Side, UNIT, Verdicts, differences};

/// Compares two streams, where it is proved that neither wraps and that their difference has 32 bits.
pub(super) struct Compare<'a> {
    low: i32,
    /// Differences, as distances from `low`.
    distances: Int32<Distances32<'a>>,
    /// The sum of the left deltas, less their minima, since `left` was computed; in lanes of 32 bits.
    sums: __m512i,
    /// Of the minima.
    min_deltas: i64,
    /// Units since then.
    units: usize,
    left: i64,
    /// What the last values may be.
    bounds: [Bounds; 2],
    /// What values may be.
    limits: Bounds,
    minus_both: __m512i,
    minus_second: __m512i,
}

#[derive(Clone, Copy)]
struct Bounds {
    low: i64,
    high: i64,
}

impl Bounds {
    /// Of all values of a block, and of the last one.
    #[inline(always)]
    fn after(self, side: &Side<'_>, count: i64) -> Option<Self> {
        let min_delta = i64::from(i32::try_from(side.min_delta).ok()?);
        let max_delta = min_delta + (1 << side.widths.largest()) - 1;
        Some(Self { low: self.low + count * min_delta.min(0), high: self.high + count * max_delta.max(0) })
    }

    #[inline(always)]
    fn contain(self, other: Self) -> bool {
        self.low <= other.low && other.high <= self.high
    }
}

/// Units whose left deltas a lane holds: two of 25 bits from each.
const MAX_UNITS: usize = 63;

impl<'a> Compare<'a> {
    /// `left` and `right` are the values before the next ones, in an order of 64-bit integers; all lie in `limits`, which is
    /// no more than 2^62.
    #[inline(always)]
    pub(super) unsafe fn new(
        [left, right]: [i64; 2],
        limits: (i64, i64),
        op: Comparison,
        verdicts: Verdicts<'a>,
    ) -> Option<Self> {
        let difference = i32::try_from(left.checked_sub(right)?).ok()?;
        let (low, span) = differences(op);
        // SAFETY: the features are the caller's.
        unsafe {
            let sink = Distances32::new(span, verdicts);
            Some(Self {
                low,
                distances: Int32::new(difference.wrapping_sub(low), sink),
                sums: _mm512_setzero_si512(),
                min_deltas: 0,
                units: 0,
                left,
                bounds: [Bounds { low: left, high: left }, Bounds { low: right, high: right }],
                limits: Bounds { low: limits.0, high: limits.1 },
                minus_both: _mm512_set1_epi16(-1),
                minus_second: _mm512_set1_epi32(-0x1_0000),
            })
        }
    }

    /// The values before the next ones; writes the last word.
    #[inline(always)]
    pub(super) unsafe fn finish(mut self) -> [i64; 2] {
        // SAFETY: the features are the caller's.
        unsafe { self.settle() };
        self.distances.sink.finish();
        self.bounds.map(|bounds| bounds.low)
    }

    /// Computes the last values.
    #[inline(always)]
    unsafe fn settle(&mut self) {
        // SAFETY: the features are the caller's.
        let (sum, difference) = unsafe {
            let odd = _mm512_srli_epi64::<32>(self.sums);
            let even = _mm512_and_si512(self.sums, _mm512_set1_epi64(0xffff_ffff));
            (_mm512_reduce_add_epi64(_mm512_add_epi64(even, odd)), self.distances.last().wrapping_add(self.low))
        };
        self.left += sum + self.min_deltas;
        let right = self.left - i64::from(difference);
        self.bounds = [self.left, right].map(|last| Bounds { low: last, high: last });
        // SAFETY: the features are the caller's.
        self.sums = unsafe { _mm512_setzero_si512() };
        (self.min_deltas, self.units) = (0, 0);
    }

    /// The bounds after `pair`, if they prove what is needed.
    #[inline(always)]
    fn prove(&self, pair: &Pair<'_>, count: i64) -> Option<[Bounds; 2]> {
        let left = self.bounds[0].after(&pair.left, count)?;
        let right = self.bounds[1].after(&pair.right, count)?;
        let difference = Bounds { low: left.low - right.high, high: left.high - right.low };
        let fits = Bounds { low: i32::MIN.into(), high: i32::MAX.into() };
        let holds = self.limits.contain(left) && self.limits.contain(right) && fits.contain(difference);
        holds.then_some([left, right])
    }
}

impl PairEngine for Compare<'_> {
    const MAX_WIDTH: u32 = 25;

    #[inline(always)]
    unsafe fn pair(&mut self, pair: Pair<'_>) -> bool {
        let Pair { left, right, units, done } = pair;
        let count = (4 * units * UNIT) as i64;
        // SAFETY: the caller's.
        unsafe {
            if self.units + 4 * units > MAX_UNITS {
                self.settle();
            }
            let mut bounds = self.prove(&pair, count);
            if bounds.is_none() {
                // What was known of the last values is less than what can be.
                self.settle();
                bounds = self.prove(&pair, count);
            }
            let Some(bounds) = bounds else { return false };
            self.bounds = bounds;
            self.min_deltas += left.min_delta * count;
            self.units += 4 * units;
            let min_delta = left.min_delta.wrapping_sub(right.min_delta) as i32;
            let (once, twice) = (_mm512_set1_epi32(min_delta), _mm512_set1_epi32(min_delta.wrapping_mul(2)));
            let (mut left_at, mut right_at) = (left.at, right.at);
            let narrow = left.widths.fit(15) && right.widths.fit(15);
            self.distances.sink.begin_at(done);
            for miniblock in 0..4 {
                let (left_width, right_width) = (left.widths.get(miniblock), right.widths.get(miniblock));
                for unit in 0..units {
                    let unit = done + miniblock * units + unit;
                    if narrow {
                        let c = &self.distances.c;
                        let left = unpack_halves(left.packed, left_at, left_width);
                        let right = unpack_halves(right.packed, right_at, right_width);
                        let pairs = dot_halves(dot_halves(twice, left, c.both), right, self.minus_both);
                        let odd = dot_halves(dot_halves(once, left, c.second), right, self.minus_second);
                        self.sums = dot_halves(self.sums, left, c.both);
                        self.distances.pairs(pairs, odd, unit);
                    } else {
                        let upper = self.distances.c.upper;
                        let (left_even, left_odd) = unpack_evens_and_odds(left.packed, left_at, left_width, upper);
                        let (even, odd) = unpack_evens_and_odds(right.packed, right_at, right_width, upper);
                        self.sums = _mm512_add_epi32(self.sums, _mm512_add_epi32(left_even, left_odd));
                        let even = _mm512_add_epi32(_mm512_sub_epi32(left_even, even), once);
                        let odd = _mm512_add_epi32(_mm512_sub_epi32(left_odd, odd), once);
                        self.distances.pairs(_mm512_add_epi32(even, odd), odd, unit);
                    }
                    left_at += UNIT / 8 * left_width;
                    right_at += UNIT / 8 * right_width;
                }
            }
        }
        true
    }
}
