//! Sums: what a skip adds to the last value.
//!
//! A batch is added up in lanes that just hold its sum, and where all values of a lane are as far from bit 0 they are not
//! even shifted.

use super::*;
use crate::kernels::delta::{Batch, Engine, UNIT, Widths};

/// Classes of both lane types.
mod class {
    pub(super) const HALVES: usize = 0;
    pub(super) const PAIRS: usize = 1;
    pub(super) const FOURS: usize = 2;
    pub(super) const MIXED_PAIRS: usize = 3;
    pub(super) const MIXED_FOURS: usize = 4;
    pub(super) const WIDE: usize = 5;
    pub(super) const STRADDLING: usize = 6;
}

#[inline(always)]
fn class(widths: Widths) -> usize {
    match (widths.fit(16), widths.are_equal()) {
        (true, true) if widths.fit(8) => class::HALVES,
        (true, true) => class::PAIRS,
        (true, false) => class::MIXED_PAIRS,
        (false, true) if widths.fit(25) => class::FOURS,
        (false, false) if widths.fit(25) => class::MIXED_FOURS,
        _ if widths.fit(57) => class::WIDE,
        _ => class::STRADDLING,
    }
}

/// Units whose sum a lane holds: of 32 bits, four values of 25 bits from each.
const MAX_UNITS: usize = 32;

/// The sum of the deltas of a batch, up to 25 bits, in lanes of 32 bits.
///
/// # Safety
/// As [`Engine::batch`]; the batch has at most `MAX_UNITS` units.
#[inline(always)]
unsafe fn narrow_sum<const CLASS: usize>(packed: &[u8], batch: &Batch) -> __m256i {
    // Miniblocks of one width are one.
    let (miniblocks, units) =
        if CLASS <= class::FOURS { (1, batch.miniblocks * batch.units) } else { (batch.miniblocks, batch.units) };
    let mut at = batch.at;
    // SAFETY: the caller's.
    unsafe {
        let mut total = _mm256_setzero_si256();
        for miniblock in 0..miniblocks {
            let width = batch.widths.get(miniblock);
            let (mut even, mut odd) = (_mm256_setzero_si256(), _mm256_setzero_si256());
            for _ in 0..units {
                match CLASS {
                    class::HALVES => {
                        let (evens, odds) = unpack_halves(packed, at, width);
                        even = _mm256_add_epi16(even, evens);
                        odd = _mm256_add_epi16(odd, odds);
                    }
                    class::PAIRS | class::MIXED_PAIRS => {
                        let table = PAIRS.get_unchecked(width);
                        for eight in 0..2 {
                            let at = at + eight * width;
                            let bytes = load(packed, at, at + 2 * width);
                            let evens = _mm256_shuffle_epi8(bytes, constant(&table.even.bytes));
                            let odds = _mm256_shuffle_epi8(bytes, constant(&table.odd.bytes));
                            even = _mm256_add_epi32(even, _mm256_and_si256(evens, constant(&table.even_mask)));
                            odd = _mm256_add_epi32(odd, _mm256_and_si256(odds, constant(&table.odd_mask)));
                        }
                    }
                    _ => {
                        for four in 0..4 {
                            let deltas = unpack_fours::<false>(packed, at, width, four);
                            total = _mm256_add_epi32(total, deltas);
                        }
                    }
                }
                at += UNIT / 8 * width;
            }
            match CLASS {
                class::HALVES => total = _mm256_madd_epi16(_mm256_add_epi16(even, odd), _mm256_set1_epi16(1)),
                class::PAIRS | class::MIXED_PAIRS => {
                    let table = PAIRS.get_unchecked(width);
                    total = _mm256_add_epi32(total, _mm256_srlv_epi32(even, constant(&table.even.shifts)));
                    total = _mm256_add_epi32(total, _mm256_srlv_epi32(odd, constant(&table.odd.shifts)));
                }
                _ => {}
            }
        }
        total
    }
}

/// Adds up INT32, modulo 2^32.
pub(super) struct Sum32 {
    lanes: __m256i,
    min_deltas: i32,
}

impl Sum32 {
    #[inline(always)]
    pub(super) unsafe fn new() -> Self {
        // SAFETY: the features are the caller's.
        unsafe { Self { lanes: _mm256_setzero_si256(), min_deltas: 0 } }
    }

    #[inline(always)]
    pub(super) unsafe fn total(self) -> i32 {
        // SAFETY: the features are the caller's.
        let sum = unsafe {
            let halves = _mm_add_epi32(_mm256_castsi256_si128(self.lanes), _mm256_extracti128_si256::<1>(self.lanes));
            let pairs = _mm_add_epi32(halves, _mm_shuffle_epi32::<0x4e>(halves));
            _mm_cvtsi128_si32(_mm_add_epi32(pairs, _mm_shuffle_epi32::<0xb1>(pairs)))
        };
        sum.wrapping_add(self.min_deltas)
    }
}

impl Engine for Sum32 {
    const MAX_WIDTH: u32 = 32;
    const MAX_UNITS: usize = MAX_UNITS;
    const CLASSES: usize = 6;
    const IS_SHORT: bool = true;

    #[inline(always)]
    fn class(widths: Widths) -> usize {
        class(widths)
    }

    #[inline(always)]
    unsafe fn batch<const CLASS: usize>(&mut self, packed: &[u8], batch: Batch) {
        let count = (batch.miniblocks * batch.units * UNIT) as i32;
        self.min_deltas = self.min_deltas.wrapping_add((batch.min_delta as i32).wrapping_mul(count));
        if batch.widths == Widths(0) {
            return;
        }
        // SAFETY: the caller's.
        unsafe {
            if CLASS < class::WIDE {
                self.lanes = _mm256_add_epi32(self.lanes, narrow_sum::<CLASS>(packed, &batch));
                return;
            }
            let mut at = batch.at;
            for miniblock in 0..batch.miniblocks {
                let width = batch.widths.get(miniblock);
                for _ in 0..batch.units {
                    for four in 0..4 {
                        self.lanes = _mm256_add_epi32(self.lanes, unpack_fours::<true>(packed, at, width, four));
                    }
                    at += UNIT / 8 * width;
                }
            }
        }
    }
}

/// Adds up INT64, modulo 2^64.
pub(super) struct Sum64 {
    lanes: __m256i,
    min_deltas: i64,
}

impl Sum64 {
    #[inline(always)]
    pub(super) unsafe fn new() -> Self {
        // SAFETY: the features are the caller's.
        unsafe { Self { lanes: _mm256_setzero_si256(), min_deltas: 0 } }
    }

    #[inline(always)]
    pub(super) unsafe fn total(self) -> i64 {
        // SAFETY: the features are the caller's.
        let sum = unsafe {
            let halves = _mm_add_epi64(_mm256_castsi256_si128(self.lanes), _mm256_extracti128_si256::<1>(self.lanes));
            _mm_cvtsi128_si64(_mm_add_epi64(halves, _mm_unpackhi_epi64(halves, halves)))
        };
        sum.wrapping_add(self.min_deltas)
    }

    /// # Safety
    /// As [`Engine::batch`].
    #[inline(always)]
    unsafe fn add_wide<const STRADDLING: bool>(&mut self, packed: &[u8], batch: &Batch) {
        let mut at = batch.at;
        for miniblock in 0..batch.miniblocks {
            let width = batch.widths.get(miniblock);
            for _ in 0..2 * batch.units {
                if STRADDLING && width == 64 {
                    for four in 0..4 {
                        // SAFETY: the caller's.
                        let deltas = unsafe { load(packed, at + 32 * four, at + 32 * four + 16) };
                        // SAFETY: the features are the caller's.
                        self.lanes = unsafe { _mm256_add_epi64(self.lanes, deltas) };
                    }
                    at += UNIT / 16 * width;
                    continue;
                }
                for two in 0..4 {
                    // SAFETY: the caller's.
                    unsafe {
                        let deltas = unpack_twos::<STRADDLING>(packed, at, width, two);
                        self.lanes = _mm256_add_epi64(self.lanes, deltas);
                    }
                }
                at += UNIT / 16 * width;
            }
        }
    }
}

impl Engine for Sum64 {
    const MAX_WIDTH: u32 = 64;
    const MAX_UNITS: usize = MAX_UNITS;
    const CLASSES: usize = 7;
    const IS_SHORT: bool = true;

    #[inline(always)]
    fn class(widths: Widths) -> usize {
        class(widths)
    }

    #[inline(always)]
    unsafe fn batch<const CLASS: usize>(&mut self, packed: &[u8], batch: Batch) {
        let count = (batch.miniblocks * batch.units * UNIT) as i64;
        self.min_deltas = self.min_deltas.wrapping_add(batch.min_delta.wrapping_mul(count));
        if batch.widths == Widths(0) {
            return;
        }
        // SAFETY: the caller's.
        unsafe {
            match CLASS {
                class::STRADDLING => self.add_wide::<true>(packed, &batch),
                class::WIDE => self.add_wide::<false>(packed, &batch),
                _ => {
                    let sum = narrow_sum::<CLASS>(packed, &batch);
                    let low = _mm256_and_si256(sum, _mm256_set1_epi64x(0xffff_ffff));
                    self.lanes = _mm256_add_epi64(self.lanes, _mm256_add_epi64(low, _mm256_srli_epi64::<32>(sum)));
                }
            }
        }
    }
}
