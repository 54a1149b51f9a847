//! Sums: what a skip adds to the last value.

use super::*;
use crate::kernels::delta::{Batch, Engine, UNIT, Widths};

/// Accumulators that are used in turn: a dot product takes five cycles. By position, not by index, so that they stay in
/// registers.
#[derive(Clone, Copy)]
struct Lanes([__m512i; 4]);

impl Lanes {
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the features are the caller's.
        unsafe { Self([_mm512_setzero_si512(); 4]) }
    }

    #[inline(always)]
    fn next(&mut self, add: impl FnOnce(__m512i) -> __m512i) {
        let [a, b, c, d] = self.0;
        self.0 = [b, c, d, add(a)];
    }
}

/// Classes of both lane types.
mod class {
    pub(super) const BYTES: usize = 0;
    pub(super) const HALVES: usize = 1;
    pub(super) const NARROW: usize = 2;
    pub(super) const MIXED_HALVES: usize = 3;
    pub(super) const MIXED_NARROW: usize = 4;
    pub(super) const WIDE: usize = 5;
    pub(super) const STRADDLING: usize = 6;
}

#[inline(always)]
fn class(widths: Widths) -> usize {
    match (widths.fit(16), widths.are_equal()) {
        (true, true) if widths.fit(8) => class::BYTES,
        (true, true) => class::HALVES,
        (true, false) => class::MIXED_HALVES,
        (false, true) if widths.fit(25) => class::NARROW,
        (false, false) if widths.fit(25) => class::MIXED_NARROW,
        _ if widths.fit(57) => class::WIDE,
        _ => class::STRADDLING,
    }
}

/// The miniblocks of a batch and their units; those of one width are one miniblock, whose constants are loaded once.
#[inline(always)]
fn shape<const CLASS: usize>(batch: &Batch) -> (usize, usize) {
    if CLASS <= class::NARROW { (1, batch.miniblocks * batch.units) } else { (batch.miniblocks, batch.units) }
}

/// What is added for each delta beside what [`add_narrow`] does.
#[inline(always)]
fn min_delta<const CLASS: usize>(batch: &Batch) -> i64 {
    match CLASS {
        class::HALVES | class::MIXED_HALVES => batch.min_delta.wrapping_add(HALVES_BIAS),
        _ => batch.min_delta,
    }
}

/// Adds deltas of up to 25 bits, in lanes of 32 bits; halves less their bias.
///
/// # Safety
/// As [`Engine::batch`].
#[inline(always)]
unsafe fn add_narrow<const CLASS: usize>(lanes: &mut Lanes, packed: &[u8], batch: &Batch) {
    let (miniblocks, units) = shape::<CLASS>(batch);
    let mut at = batch.at;
    for miniblock in 0..miniblocks {
        let width = batch.widths.get(miniblock);
        // SAFETY: the caller's.
        unsafe {
            match CLASS {
                // Of one width is a block of four miniblocks, or one that has nothing to add up.
                class::BYTES => {
                    for _ in 0..units / 2 {
                        let bytes = unpack_bytes::<false>(packed, at, width);
                        lanes.next(|sum| dot_bytes(sum, bytes, _mm512_set1_epi8(1)));
                        at += UNIT / 4 * width;
                    }
                }
                class::HALVES | class::MIXED_HALVES => {
                    for _ in 0..units {
                        let halves = unpack_halves(packed, at, width, halves_bias());
                        lanes.next(|sum| dot_halves(sum, halves, _mm512_set1_epi16(1)));
                        at += UNIT / 8 * width;
                    }
                }
                _ => {
                    for _ in 0..2 * units {
                        let deltas = unpack_16::<false>(packed, at, width);
                        lanes.next(|sum| _mm512_add_epi32(sum, deltas));
                        at += UNIT / 16 * width;
                    }
                }
            }
        }
    }
}

/// Adds up INT32, modulo 2^32.
pub(super) struct Sum32 {
    lanes: Lanes,
    min_deltas: i32,
}

impl Sum32 {
    #[inline(always)]
    pub(super) unsafe fn new() -> Self {
        // SAFETY: the features are the caller's.
        unsafe { Self { lanes: Lanes::zero(), min_deltas: 0 } }
    }

    #[inline(always)]
    pub(super) unsafe fn total(self) -> i32 {
        let [a, b, c, d] = self.lanes.0;
        // SAFETY: the features are the caller's.
        let sum = unsafe { _mm512_reduce_add_epi32(_mm512_add_epi32(_mm512_add_epi32(a, b), _mm512_add_epi32(c, d))) };
        sum.wrapping_add(self.min_deltas)
    }
}

impl Engine for Sum32 {
    const MAX_WIDTH: u32 = 32;
    const CLASSES: usize = 6;
    const IS_SHORT: bool = true;

    #[inline(always)]
    fn class(widths: Widths) -> usize {
        class(widths).min(class::WIDE)
    }

    #[inline(always)]
    unsafe fn batch<const CLASS: usize>(&mut self, packed: &[u8], batch: Batch) {
        let count = batch.miniblocks * batch.units * UNIT;
        self.min_deltas = self.min_deltas.wrapping_add(min_delta::<CLASS>(&batch).wrapping_mul(count as i64) as i32);
        if batch.widths == Widths(0) {
            return;
        }
        if CLASS < class::WIDE {
            // SAFETY: the caller's.
            unsafe { add_narrow::<CLASS>(&mut self.lanes, packed, &batch) };
            return;
        }
        let mut at = batch.at;
        for miniblock in 0..batch.miniblocks {
            let width = batch.widths.get(miniblock);
            for _ in 0..2 * batch.units {
                // SAFETY: the caller's.
                unsafe {
                    let deltas = unpack_16::<true>(packed, at, width);
                    self.lanes.next(|sum| _mm512_add_epi32(sum, deltas));
                }
                at += UNIT / 16 * width;
            }
        }
    }
}

/// Adds up INT64, modulo 2^64.
pub(super) struct Sum64 {
    narrow: Lanes,
    /// Units in `narrow`.
    units: usize,
    wide: Lanes,
    min_deltas: i64,
}

/// Units that cannot overflow a signed lane of 32 bits: each adds two values of 25 bits at most.
const NARROW_UNITS: usize = 31;

impl Sum64 {
    #[inline(always)]
    pub(super) unsafe fn new() -> Self {
        // SAFETY: the features are the caller's.
        unsafe { Self { narrow: Lanes::zero(), units: 0, wide: Lanes::zero(), min_deltas: 0 } }
    }

    /// Moves the narrow sums to the wide ones.
    #[inline(always)]
    unsafe fn widen(&mut self) {
        // SAFETY: the features are the caller's.
        unsafe {
            for sum in self.narrow.0 {
                let sum = widen_sums(sum);
                self.wide.next(|wide| _mm512_add_epi64(wide, sum));
            }
            self.narrow = Lanes::zero();
        }
        self.units = 0;
    }

    #[inline(always)]
    pub(super) unsafe fn total(mut self) -> i64 {
        // SAFETY: the features are the caller's.
        let sum = unsafe {
            self.widen();
            let [a, b, c, d] = self.wide.0;
            _mm512_reduce_add_epi64(_mm512_add_epi64(_mm512_add_epi64(a, b), _mm512_add_epi64(c, d)))
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
            for _ in 0..4 * batch.units {
                // SAFETY: the caller's.
                unsafe {
                    let deltas = unpack_8::<STRADDLING>(packed, at, width);
                    self.wide.next(|sum| _mm512_add_epi64(sum, deltas));
                }
                at += UNIT / 32 * width;
            }
        }
    }
}

impl Engine for Sum64 {
    const MAX_WIDTH: u32 = 64;
    const MAX_UNITS: usize = NARROW_UNITS;
    const CLASSES: usize = 7;
    const IS_SHORT: bool = true;

    #[inline(always)]
    fn class(widths: Widths) -> usize {
        class(widths)
    }

    #[inline(always)]
    unsafe fn batch<const CLASS: usize>(&mut self, packed: &[u8], batch: Batch) {
        let units = batch.miniblocks * batch.units;
        let min_delta = min_delta::<CLASS>(&batch);
        self.min_deltas = self.min_deltas.wrapping_add(min_delta.wrapping_mul((units * UNIT) as i64));
        if batch.widths == Widths(0) {
            return;
        }
        // SAFETY: the caller's.
        unsafe {
            match CLASS {
                class::STRADDLING => self.add_wide::<true>(packed, &batch),
                class::WIDE => self.add_wide::<false>(packed, &batch),
                _ => {
                    if self.units + units > NARROW_UNITS {
                        self.widen();
                    }
                    self.units += units;
                    add_narrow::<CLASS>(&mut self.narrow, packed, &batch);
                }
            }
        }
    }
}
