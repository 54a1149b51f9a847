//! INT32.

use super::*;
use crate::kernels::delta::{Batch, Engine, Store, UNIT, Units, Widths, each_unit};

/// Where values of 32 bits go.
///
/// # Safety of all functions
/// Units are of the batch that began, of at most `MAX_UNITS`; the processor has the features.
pub(super) trait Sink: Units {
    /// Whether [`Sink::quads`] wants the lanes as `quad` deals them.
    const DEALT: bool;

    /// The even and the odd values of a unit.
    unsafe fn pairs(&mut self, unit: usize, evens: __m512i, odds: __m512i, c: &Constants);

    /// Half of a unit.
    unsafe fn sixteen(&mut self, unit: usize, half: usize, values: __m512i);

    /// Two units, every fourth value each.
    unsafe fn quads(&mut self, unit: usize, values: [__m512i; 4]);
}

/// Classes, by the largest width.
pub(super) const PROGRESSION: usize = 0;
/// Of a block of four miniblocks of one width.
pub(super) const QUADS: usize = 1;
pub(super) const HALVES: usize = 2;
pub(super) const PAIRS: usize = 3;
pub(super) const NATURAL: usize = 4;
/// Of a block of four miniblocks of 32 bits.
pub(super) const WORDS: usize = 5;

/// Of such a block.
pub(super) const WORD_WIDTHS: Widths = Widths(0x2020_2020);

/// Decodes to a [`Sink`].
pub(super) struct Int32<S> {
    pub(super) c: Constants,
    pub(super) q: Quads,
    carry: __m512i,
    pub(super) sink: S,
}

/// Units of pairs on their way: while one is unpacked the one before it is scanned, and what is still before that ended, so that
/// no instruction waits long for another. A processor looks ahead by about a hundred that wait, which is one unit of two
/// streams.
#[derive(Clone, Copy)]
pub(super) struct Late {
    /// The running sums of one, and the pairs of the next; the second deltas of pairs; numbers.
    units: [(__m512i, __m512i, usize); 2],
}

impl Late {
    /// The number of a unit of zeros, which changes nothing, and has no verdicts.
    pub(super) const NONE: usize = usize::MAX / 8;

    #[inline(always)]
    pub(super) unsafe fn new() -> Self {
        // SAFETY: the features are the caller's.
        let none = unsafe { _mm512_setzero_si512() };
        Self { units: [(none, none, Self::NONE); 2] }
    }

    /// Whether any waits.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.units[1].2 == Self::NONE
    }
}

/// What units need.
#[derive(Clone, Copy)]
pub(super) struct Constants {
    scan: Scan,
    /// The last 32 bytes.
    pub(super) upper: __mmask64,
    /// Interleaves even and odd values.
    low: __m512i,
    high: __m512i,
    /// Factors of the halves of a lane: both, and the upper one.
    pub(super) both: __m512i,
    pub(super) second: __m512i,
    /// Of halves.
    pub(super) bias: __m512i,
}

/// What units of quads need.
#[derive(Clone, Copy)]
pub(super) struct Quads {
    moves: [__m512i; 4],
    /// Factors of one, two, three and four bytes of a lane.
    pub(super) factors: [__m512i; 4],
}

impl Constants {
    #[inline(always)]
    unsafe fn new() -> Self {
        // SAFETY: the features are the caller's.
        unsafe {
            Self {
                scan: Scan::new(),
                upper: opaque(0xffff_ffff_0000_0000),
                low: constant(opaque(&const { lanes!(u32, |i| i / 2 + i % 2 * 16) })),
                high: constant(opaque(&const { lanes!(u32, |i| 8 + i / 2 + i % 2 * 16) })),
                both: _mm512_set1_epi16(1),
                second: _mm512_set1_epi32(0x1_0000),
                bias: halves_bias(),
            }
        }
    }
}

/// For each lane the one whose quad is `$by` before its own, and zero where there is none.
macro_rules! quads_before {
    ($by:literal) => {
        constant(opaque(&const { lanes!(u32, |i| if quad(i) >= $by { quad(quad(i) - $by) } else { 16 }) }))
    };
}

impl Quads {
    #[inline(always)]
    unsafe fn new() -> Self {
        // SAFETY: the features are the caller's.
        unsafe {
            Self {
                moves: [quads_before!(1), quads_before!(2), quads_before!(4), quads_before!(8)],
                factors: [
                    _mm512_set1_epi32(1),
                    _mm512_set1_epi32(0x101),
                    _mm512_set1_epi32(0x1_0101),
                    _mm512_set1_epi32(0x101_0101),
                ],
            }
        }
    }

    /// The running sums of dealt lanes.
    #[inline(always)]
    unsafe fn sums(&self, mut sums: __m512i) -> __m512i {
        // SAFETY: the features are the caller's.
        unsafe {
            for before in self.moves {
                let before = _mm512_permutex2var_epi32(sums, before, _mm512_setzero_si512());
                sums = _mm512_add_epi32(sums, before);
            }
            complete(sums)
        }
    }
}

impl<S: Sink> Int32<S> {
    #[inline(always)]
    pub(super) unsafe fn new(last: i32, sink: S) -> Self {
        // SAFETY: the features are the caller's.
        unsafe { Self { c: Constants::new(), q: Quads::new(), carry: _mm512_set1_epi32(last), sink } }
    }

    /// Another one, which shares what units need.
    #[inline(always)]
    pub(super) unsafe fn beside(&self, last: i32, sink: S) -> Self {
        // SAFETY: the features are the caller's.
        unsafe { Self { c: self.c, q: self.q, carry: _mm512_set1_epi32(last), sink } }
    }

    #[inline(always)]
    pub(super) unsafe fn set_last(&mut self, last: i32) {
        // SAFETY: the features are the caller's.
        self.carry = unsafe { _mm512_set1_epi32(last) };
    }

    /// The value before the next one.
    #[inline(always)]
    pub(super) unsafe fn last(&self) -> i32 {
        // SAFETY: the features are the caller's.
        unsafe { _mm512_cvtsi512_si32(self.carry) }
    }

    /// Widths up to 8, two units: a lane holds four values.
    ///
    /// # Safety
    /// As [`unpack_bytes`].
    #[inline(always)]
    unsafe fn quads(&mut self, packed: &[u8], at: usize, width: usize, min_delta: &[__m512i; 4], unit: usize) {
        // SAFETY: the caller's.
        unsafe {
            let bytes = if S::DEALT {
                unpack_bytes::<true>(packed, at, width)
            } else {
                unpack_bytes::<false>(packed, at, width)
            };
            let sums = |count: usize| dot_bytes(min_delta[count], bytes, self.q.factors[count]);
            self.quads_of([sums(0), sums(1), sums(2), sums(3)], unit);
        }
    }

    /// Two units, of each four values of which the running sums are in a lane: the fourths are scanned, and the other three
    /// go back from them.
    #[inline(always)]
    pub(super) unsafe fn quads_of(&mut self, [first, second, third, fourth]: [__m512i; 4], unit: usize) {
        // SAFETY: the features are the caller's.
        unsafe {
            let sums = if S::DEALT { self.q.sums(fourth) } else { self.c.scan.sums(fourth) };
            let o3 = _mm512_add_epi32(sums, self.carry);
            self.carry = self.c.scan.carry(o3);
            let before = _mm512_sub_epi32(o3, fourth);
            let o0 = _mm512_add_epi32(before, first);
            let o1 = _mm512_add_epi32(before, second);
            let o2 = _mm512_add_epi32(before, third);
            self.sink.quads(unit, [o0, o1, o2, o3]);
        }
    }

    /// A unit of which `pairs` are the sums of two deltas each, and `odd` the second of the two.
    #[inline(always)]
    pub(super) unsafe fn pairs(&mut self, pairs: __m512i, odd: __m512i, unit: usize) {
        // SAFETY: the features are the caller's.
        unsafe { self.scanned(self.c.scan.sums(pairs), odd, unit) }
    }

    /// A unit of which `sums` are the running sums of pairs.
    #[inline(always)]
    unsafe fn scanned(&mut self, sums: __m512i, odd: __m512i, unit: usize) {
        // SAFETY: the features are the caller's.
        unsafe {
            let odds = _mm512_add_epi32(sums, self.carry);
            self.carry = self.c.scan.carry(odds);
            self.sink.pairs(unit, _mm512_sub_epi32(odds, odd), odds, &self.c);
        }
    }

    /// As [`Int32::pairs`], of the unit that was given before the last one: this one waits in `late`.
    #[inline(always)]
    pub(super) unsafe fn pairs_late(&mut self, late: &mut Late, pairs: __m512i, odd: __m512i, unit: usize) {
        // SAFETY: the features are the caller's.
        unsafe {
            let [(sums, odd_before, before), (pairs_next, odd_next, next)] = late.units;
            late.units = [(self.c.scan.sums(pairs_next), odd_next, next), (pairs, odd, unit)];
            self.scanned(sums, odd_before, before);
        }
    }

    /// What waits.
    #[inline(always)]
    pub(super) unsafe fn end_late(&mut self, late: &mut Late) {
        // SAFETY: the features are the caller's.
        unsafe {
            let none = _mm512_setzero_si512();
            self.pairs_late(late, none, none, Late::NONE);
            self.pairs_late(late, none, none, Late::NONE);
        }
    }

    /// Widths up to 16: a lane holds two values, whose sum is a dot product.
    ///
    /// # Safety
    /// As [`unpack_halves`].
    #[inline(always)]
    unsafe fn halves(&mut self, packed: &[u8], at: usize, width: usize, min_delta: &[__m512i; 4], unit: usize) {
        // SAFETY: the caller's.
        unsafe {
            let halves = unpack_halves(packed, at, width, self.c.bias);
            let sums = dot_halves(min_delta[1], halves, self.c.both);
            let odd = dot_halves(min_delta[0], halves, self.c.second);
            self.pairs(sums, odd, unit);
        }
    }

    /// Widths up to 25, or all by `WORDS`: even and odd values in vectors of their own.
    ///
    /// # Safety
    /// As [`unpack_evens_and_odds`], or [`unpack_words`].
    #[inline(always)]
    unsafe fn evens_and_odds<const WORDS: bool>(
        &mut self,
        packed: &[u8],
        at: usize,
        width: usize,
        min_delta: &[__m512i; 4],
        unit: usize,
    ) {
        // SAFETY: the caller's.
        unsafe {
            let (even, odd) = if WORDS {
                unpack_words(packed, at, width)
            } else {
                unpack_evens_and_odds(packed, at, width, self.c.upper)
            };
            let (even, odd) = (_mm512_add_epi32(even, min_delta[0]), _mm512_add_epi32(odd, min_delta[0]));
            self.pairs(_mm512_add_epi32(even, odd), odd, unit);
        }
    }

    /// All widths: 16 values at a time.
    ///
    /// # Safety
    /// As [`unpack_16`] for both halves.
    #[inline(always)]
    unsafe fn natural(&mut self, packed: &[u8], at: usize, width: usize, min_delta: &[__m512i; 4], unit: usize) {
        // SAFETY: the caller's.
        unsafe {
            for half in 0..2 {
                let deltas = unpack_16::<true>(packed, at + 2 * width * half, width);
                self.sixteen(_mm512_add_epi32(deltas, min_delta[0]), unit, half);
            }
        }
    }

    /// Width 32: nothing is to be unpacked.
    ///
    /// # Safety
    /// 128 bytes from `at` on lie in `packed`.
    #[inline(always)]
    unsafe fn words(&mut self, packed: &[u8], at: usize, min_delta: &[__m512i; 4], unit: usize) {
        // SAFETY: the caller's.
        unsafe {
            for half in 0..2 {
                let deltas = _mm512_add_epi32(load(packed, at + 64 * half), min_delta[0]);
                self.sixteen(deltas, unit, half);
            }
        }
    }

    /// Half of a unit.
    #[inline(always)]
    unsafe fn sixteen(&mut self, deltas: __m512i, unit: usize, half: usize) {
        // SAFETY: the features are the caller's.
        unsafe {
            let values = _mm512_add_epi32(self.c.scan.sums(deltas), self.carry);
            self.carry = self.c.scan.carry(values);
            self.sink.sixteen(unit, half, values);
        }
    }

    /// Width 0.
    #[inline(always)]
    unsafe fn progression(&mut self, min_delta: i32, units: std::ops::Range<usize>) {
        // SAFETY: the features are the caller's.
        unsafe {
            let counts = constant(&const { lanes!(u32, |i| i + 1) });
            let mut values = _mm512_add_epi32(self.carry, _mm512_mullo_epi32(_mm512_set1_epi32(min_delta), counts));
            let step = _mm512_set1_epi32(min_delta.wrapping_mul(16));
            for unit in units {
                for half in 0..2 {
                    self.sink.sixteen(unit, half, values);
                    self.carry = values;
                    values = _mm512_add_epi32(values, step);
                }
            }
            self.carry = self.c.scan.carry(self.carry);
        }
    }
}

impl<S: Sink> Engine for Int32<S> {
    const MAX_WIDTH: u32 = 32;
    const MAX_UNITS: usize = S::MAX_UNITS;
    const CLASSES: usize = 6;

    #[inline(always)]
    fn class(widths: Widths) -> usize {
        if widths.fit(16) {
            match widths {
                Widths(0) => PROGRESSION,
                equal if equal.fit(8) && equal.are_equal() => QUADS,
                _ => HALVES,
            }
        } else if widths.fit(25) {
            PAIRS
        } else if widths == WORD_WIDTHS {
            WORDS
        } else {
            NATURAL
        }
    }

    #[inline(always)]
    unsafe fn batch<const CLASS: usize>(&mut self, packed: &[u8], batch: Batch) {
        let min_delta = batch.min_delta as i32;
        // SAFETY: the caller's.
        unsafe {
            let step = if CLASS == HALVES { min_delta.wrapping_add(HALVES_BIAS as i32) } else { min_delta };
            let times = |times: i32| _mm512_set1_epi32(step.wrapping_mul(times));
            let multiples = &[times(1), times(2), times(3), times(4)];
            self.sink.begin(&batch);
            match CLASS {
                PROGRESSION => self.progression(min_delta, batch.range()),
                QUADS => {
                    let (mut at, width) = (batch.at, batch.widths.get(0));
                    for pair in 0..batch.miniblocks * batch.units / 2 {
                        self.quads(packed, at, width, multiples, batch.done + 2 * pair);
                        at += UNIT / 4 * width;
                    }
                }
                HALVES => each_unit!(batch, |at, width, unit| Self::halves(self, packed, at, width, multiples, unit)),
                PAIRS => each_unit!(batch, |at, width, unit| Self::evens_and_odds::<false>(
                    self, packed, at, width, multiples, unit
                )),
                WORDS => each_unit!(batch, |at, width, unit| Self::words(self, packed, at, multiples, unit)),
                // Nothing is stored in order.
                _ if !S::DEALT => each_unit!(batch, |at, width, unit| Self::evens_and_odds::<true>(
                    self, packed, at, width, multiples, unit
                )),
                _ => each_unit!(batch, |at, width, unit| Self::natural(self, packed, at, width, multiples, unit)),
            }
            self.sink.end(&batch);
        }
    }
}

impl Sink for Store<'_, i32> {
    const DEALT: bool = true;

    #[inline(always)]
    unsafe fn pairs(&mut self, unit: usize, evens: __m512i, odds: __m512i, c: &Constants) {
        // SAFETY: the caller's.
        unsafe {
            let out = self.unit(unit);
            store(&mut out[..16], _mm512_permutex2var_epi32(evens, c.low, odds));
            store(&mut out[16..], _mm512_permutex2var_epi32(evens, c.high, odds));
        }
    }

    #[inline(always)]
    unsafe fn sixteen(&mut self, unit: usize, half: usize, values: __m512i) {
        // SAFETY: the features are the caller's.
        unsafe { store(&mut self.unit(unit)[16 * half..][..16], values) }
    }

    #[inline(always)]
    unsafe fn quads(&mut self, unit: usize, [o0, o1, o2, o3]: [__m512i; 4]) {
        // SAFETY: the features are the caller's.
        unsafe {
            // Lanes were dealt such that a transposition within 128 bits puts all values in order.
            let (a0, a1) = (_mm512_unpacklo_epi32(o0, o1), _mm512_unpackhi_epi32(o0, o1));
            let (b0, b1) = (_mm512_unpacklo_epi32(o2, o3), _mm512_unpackhi_epi32(o2, o3));
            let out = self.unit(unit);
            store(&mut out[..16], _mm512_unpacklo_epi64(a0, b0));
            store(&mut out[16..], _mm512_unpackhi_epi64(a0, b0));
            let out = self.unit(unit + 1);
            store(&mut out[..16], _mm512_unpacklo_epi64(a1, b1));
            store(&mut out[16..], _mm512_unpackhi_epi64(a1, b1));
        }
    }
}
